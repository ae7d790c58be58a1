"""The texts of the sources that a ledger cites: their passages, rows, figures and counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal

from transom.canonical import Json
from transom.errors import InputError
from transom.evidence.claims import Support
from transom.evidence.facts import Fact, FactSource
from transom.formats.data_text import parse_data
from transom.formats.office_text import text_bytes
from transom.formats.places import PlaceIndex
from transom.formats.text_decoding import decode_text
from transom.investigator.source_rows import rows_of

MOST_CONTENT = 30_000
"""Characters of a source that its reader sees whole."""
_MOST_OPEN = 4  # sources kept in memory
_MOST_ROW = 800  # characters of a row of a document
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_ITEM = re.compile(r"^\s*(?:[-*+](?=\s)|\||<\w+)", re.MULTILINE)


class SourceTexts:
    """The texts of sources, each parsed once.

    Args:
        read: returns the bytes of a source by its name.
    """

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._read = read
        self._places: dict[str, PlaceIndex] = {}
        self._facts: dict[str, FactSource] = {}
        self._rows: dict[str, tuple[str, ...]] = {}
        self._counts: dict[str, frozenset[Decimal]] = {}

    def at(self, source: str, locator: str) -> str:
        """Return the passage at a place.

        Raises:
            InputError: the source or the place is unknown.
        """
        if source not in self._places:
            # An index of places is several times as large as its source.
            if len(self._places) >= _MOST_OPEN:
                self._places.pop(next(iter(self._places)))
            self._places[source] = PlaceIndex(self._read(source), source)
        return self._places[source].at(locator)

    def passage(self, source: str, locator: str) -> str:
        """Return the passage at a place; "" if there is none."""
        try:
            return self.at(source, locator)
        except InputError:
            return ""

    def row_at(self, source: str, locator: str) -> str:
        """Return the row around a single value; "" if the place is a row itself, or a long one."""
        above = locator.rpartition("/")[0]
        # The row of a top-level member would be the whole document.
        if above.count("/") == 0 or "{" in self.passage(source, locator):
            return ""
        passage = self.passage(source, above)
        return passage if len(passage) <= _MOST_ROW else ""

    def whole(self, source: str) -> Support | None:
        """Return a source as what its reader's sentences are about; None if it is very long."""
        text = self._text(source)
        return Support(None, text=text) if len(text) <= MOST_CONTENT else None

    def rows(self, source: str) -> tuple[str, ...]:
        """Return the rows of a source; see `transom.investigator.source_rows`."""
        if source not in self._rows:
            self._rows[source] = rows_of(self._text(source), source)
        return self._rows[source]

    def has(self, source: str, fact: Fact) -> bool:
        """Return whether a source has a number, an id or a passage, or so many entries."""
        if source not in self._facts:
            self._facts[source] = FactSource(self._text(source))
        if self._facts[source].has(fact):
            return True
        # A source mostly prints a day as the beginning of a time: 2026-09-14T11:00:00Z.
        if _DAY.fullmatch(fact.text):
            return fact.text in self._text(source)
        if fact.value is None:
            return False
        # A number may stand in a key, `last_30_days`, and a year in a day of another notation.
        figure = re.escape(fact.text)
        elsewhere = rf"(?<=[A-Za-z]_){figure}(?=_[A-Za-z])|(?<![\d-]){figure}(?=-\d\d-\d\d)"
        is_in_key = re.search(elsewhere, self._text(source)) is not None
        return is_in_key or fact.value in self._counts_in(source)

    def _text(self, source: str) -> str:
        try:
            return decode_text(text_bytes(self._read(source), source))
        except (InputError, OSError):
            return ""

    def _counts_in(self, source: str) -> frozenset[Decimal]:
        if source not in self._counts:
            text = self._text(source)
            try:
                self._counts[source] = counts_of(parse_data(text, source))
            except InputError:
                self._counts[source] = counts_of(text)
        return self._counts[source]


def _leaf_pairs(row: Json) -> Iterator[str]:
    """Yield each value of an entry with the keys above it."""
    pending: list[tuple[str, Json]] = [("", row)]
    while pending:
        path, node = pending.pop()
        if isinstance(node, dict):
            for key, child in node.items():
                pending.append((f"{path}/{key}", child))
        elif path and not isinstance(node, list):
            yield f"{path}={node}"


def counts_of(data: Json) -> frozenset[Decimal]:
    """Return the numbers that somebody who counts the entries of a source may come to.

    These are the lengths of all lists, and how often an entry of a list has each value. A text
    counts as its list items, its rows of tables and its elements of XML.
    """
    counts = set[int]()
    pending: list[Json] = [data]
    if isinstance(data, str):
        marks = Counter(_ITEM.findall(data)).values()
        # The first rows of a table are its heading and the line below it.
        for count in marks:
            for extra in (0, 1, 2):
                counts.add(count - extra)
    while pending:
        node = pending.pop()
        children = list(node.values()) if isinstance(node, dict) else node
        if not isinstance(children, list):
            continue
        pending += children
        # `endpoints: {a: {...}, b: {...}}` is a list, too.
        if all(isinstance(child, dict) for child in children):
            counts.add(len(children))
        if isinstance(node, list):
            counts.add(len(node))
            # "Three of four subtasks are done" counts a status that may stand deep in each.
            pairs = Counter[str]()
            for row in node:
                pairs.update(set(_leaf_pairs(row)))
            counts |= set(pairs.values())
    return frozenset(Decimal(count) for count in counts if count > 1)
