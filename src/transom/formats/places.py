"""Looks up the passage at a place of a source, and checks whether a value is in a passage."""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import islice
from xml.etree.ElementTree import Element

from transom.formats.data_text import parse_data
from transom.formats.json_tree import JsonNode, quote_of
from transom.formats.text_decoding import decode_text
from transom.formats.xml_paths import read_xml, value_at

_MOST_PASSAGE = 20_000
_MAY_BE_CUT = 200  # a longer quotation may end within a word
_SPACES = r"\s*"
_UNQUOTED = str.maketrans("", "", '"\\')


class PlaceIndex:
    """A source for looking up places; it is parsed once.

    Args:
        data: the source's bytes.
        name: the source's name, for messages.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self._data, self._name = data, name

    def at(self, locator: str) -> str:
        """Return the passage at a locator; "" if there is none.

        Raises:
            InputError: the source cannot be read.
        """
        # Lines can be looked up in any text, also in one that is no well-formed document.
        if locator.startswith(("line:", "lines:")):
            return self._lines(locator.partition(":")[2])
        if isinstance(self._root, Element):
            return (value_at(self._root, locator) or "")[:_MOST_PASSAGE]
        node = self._root.find(locator)
        if node is None:
            return ""
        # With its key, since a quotation is often `"failed": 14`.
        named = f'"{node.key}": ' if node.place < 0 and node.key else ""
        if isinstance(node.value, str):
            return f"{named}{node.value}"[:_MOST_PASSAGE]
        if isinstance(node.value, dict | list):
            return f"{named}{json.dumps(node.value, ensure_ascii=False)}"[:_MOST_PASSAGE]
        return quote_of(node)

    def _lines(self, span: str) -> str:
        first, _, last = span.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            return ""
        lines = islice(self._text.splitlines(), int(first) - 1, int(last or first))
        return "\n".join(lines)[:_MOST_PASSAGE]

    @cached_property
    def _text(self) -> str:
        return decode_text(self._data)

    @cached_property
    def _root(self) -> JsonNode | Element:
        text = self._text.strip()
        return (
            read_xml(text, self._name)
            if text.startswith("<")
            else JsonNode(parse_data(text, self._name))
        )


def stands_in(value: str, passage: str) -> bool:
    """Whether a passage contains a value: a number as a number, whole words, exactly but for
    spaces.
    """
    # White space and quotation marks differ between a source and what is quoted from it.
    signs = "".join(value.translate(_UNQUOTED).split())
    if not signs:
        return False
    # `1.50` stands for `1.5`, which no comparison of texts finds.
    if _number_in(value, passage):
        return True
    end = "" if signs.endswith("…") or len(value) > _MAY_BE_CUT else r"(?!\w|[.,]\d)"
    # Whole words and whole numbers: 4 does not stand in 14, nor in 4.5 or 1.4.
    pattern = rf"(?<!\w)(?<!\d[.,]){_SPACES.join(map(re.escape, signs.rstrip('…')))}{end}"
    return re.search(pattern, passage.translate(_UNQUOTED)) is not None


def _number_in(value: str, text: str) -> bool:
    try:
        return any(
            Decimal(word.strip('",:')) == Decimal(value)
            for word in text.split()
            if word.strip('",:')[:1].isdigit()
        )
    except InvalidOperation:
        return False
