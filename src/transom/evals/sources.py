"""Checks of an outcome's citations and numbers against its sources."""

from __future__ import annotations

from pathlib import Path

from transom.errors import InputError
from transom.evals.shapes import Evidence, Outcome
from transom.evidence.facts import Source, facts_of
from transom.formats.places import Source as Place
from transom.formats.places import stands_in
from transom.formats.text_files import TextFile
from transom.once import once


class Sources:
    """The texts that an outcome may cite: files of the data, and its own `sources`."""

    def __init__(self, data: Path | None, outcome: Outcome) -> None:
        self._data = data.resolve() if data else None
        self._outcome = outcome
        self._texts: dict[str, str | None] = {}

    def text(self, name: str) -> str | None:
        """Return the text of a source; None if it is not a file of the data."""
        if name not in self._texts:
            self._texts[name] = self._outcome.sources.get(name, self._read(name))
        return self._texts[name]

    def _read(self, name: str) -> str | None:
        if self._data is None:
            return None
        try:
            path = (self._data / name).resolve()
            return TextFile(path).whole() if path.is_relative_to(self._data) else None
        except (InputError, ValueError, OSError):
            return None

    def holds(self, piece: Evidence) -> bool:
        """Whether a citation's locator has its value and its quotation. A calculated value has a
        formula.
        """
        text = self.text(piece.source)
        if text is None:
            return piece.formula is not None
        place = _located(text, piece.locator, piece.source)
        if piece.formula or not place:
            return bool(place)
        return _has(place, piece.value) and (
            _has(place, piece.quote) or (not piece.value and _has(text, piece.quote))
        )

    @once
    def everything(self) -> Source:
        """All cited texts as one source, for looking numbers up."""
        cited = {piece.source: None for piece in self._outcome.evidence}
        texts = [self.text(name) or "" for name in (*cited, *self._outcome.sources)]
        pieces = [f"{piece.value}\n{piece.quote}" for piece in self._outcome.evidence]
        return Source("\n".join([*pieces, *texts]))


def _located(text: str, locator: str, name: str) -> str:
    """Return the text at a line (`12`, `line:12`, `lines:12-14`) or JSON pointer; without a
    locator the whole.
    """
    if not locator:
        return text
    try:
        return Place(text.encode(), name).at(f"line:{locator}" if locator.isdecimal() else locator)
    except InputError:
        return ""


def _has(text: str, said: str) -> bool:
    """Whether a text contains another: exactly but for white space, or the same numbers in
    another notation.
    """
    words = " ".join(said.split())
    if not words or stands_in(words, text):
        return True
    facts = list(facts_of(words))
    only_numbers = bool(facts) and all(fact.value is not None for fact in facts) and len(words) < 40
    return only_numbers and all(Source(text).has(fact) for fact in facts)
