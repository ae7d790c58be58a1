"""Spellings of the values behind an ItemSpec's labels, and their meanings."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, TypeVar

from pydantic import JsonValue, TypeAdapter

from transom.canonical import Json
from transom.checklist.atoms import OPERATORS, Condition, Count, Operator
from transom.checklist.writing.shapes import Example
from transom.formats.labels import Label
from transom.formats.markdown import Fence

V = TypeVar("V")

_DATA: Final[TypeAdapter[Json]] = TypeAdapter(JsonValue)
FIELD_TYPES: Final = ("String", "Boolean", "Integer", "Number", "List", "Object")

_TYPE_WORDS: Final = {
    "string": "String",
    "str": "String",
    "text": "String",
    "date": "String",
    "datetime": "String",
    "path": "String",
    "boolean": "Boolean",
    "bool": "Boolean",
    "flag": "Boolean",
    "integer": "Integer",
    "int": "Integer",
    "number": "Number",
    "float": "Number",
    "real": "Number",
    "decimal": "Number",
    "list": "List",
    "array": "List",
    "object": "Object",
    "dict": "Object",
    "dictionary": "Object",
    "map": "Object",
}
VALIDATIONS: Final[Mapping[str, Literal["existence", "pattern"]]] = {
    "existence": "existence",
    "pattern": "pattern",
    "completeness": "existence",
}
MODES: Final[Mapping[str, Literal["require", "forbid", "allow"]]] = {
    "requires?": "require",
    "required": "require",
    "forbids?": "forbid",
    "forbidden": "forbid",
    "allow": "allow",
}
QUANTIFIERS: Final[Mapping[str, Literal["exists", "each", "per_file"]]] = {
    "per file": "per_file",
    "each file": "per_file",
    "exists?": "exists",
    "each": "each",
}
TAKES: Final[Mapping[str, Literal["first", "last"]]] = {"first": "first", "last": "last"}
"""Meanings of the words behind a label; a text may say more than the word."""

_DOTTED = re.compile(r"(?<![\w./])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?![\w/])")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_ITEM_ID = re.compile(r"(?<![\d.])2\.(\d+)(?![\d]|\.\d)")
_ITEM_RANGE = re.compile(r"(?<![\d.])2\.(\d+)\s*(?:-|–|—|to|through)\s*2\.(\d+)(?![\d]|\.\d)")
_QUOTED = re.compile(r"[\"“”]([^\"“”]+)[\"“”]")
_NONE = re.compile(
    r"(?:none|no|n/a|not applicable|not needed|nothing|never|-|—)\b[\s.:;,(]*|(?:-|—)$",
    re.IGNORECASE,
)
_COMPARISON = re.compile(
    r"(?P<field>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*"
    r"(?P<op>==|!=|<=|>=|<|>|=|\bis"
    r" not\b|\bis\b|\bin\b|\bmatches\b|\bequals\b|\bexists\b)\s*(?P<value>.*)",
    re.DOTALL,
)
_COUNT = re.compile(r"(?P<op>==|!=|<=|>=|<|>|=)\s*(?P<value>\d{1,9})")
# JSON's, in an otherwise Python literal
_NAMES = re.compile(r"(?<=[:\[,\s])(?:true|false|null)(?=\s*[,}\]])")


def is_none(text: str) -> bool:
    """Return whether a value says that there is none: `none`, `N/A`, `not applicable, ...`."""
    return bool(_NONE.match(text.strip().strip("`*\"'")))


def field_type(word: str) -> str | None:
    """Return the type of `FIELD_TYPES` that a word such as `str` or `Boolean` means."""
    match = re.match(r"[A-Za-z]+", word.strip())
    if match:
        return _TYPE_WORDS.get(match[0].casefold())
    return None


def dotted_fields(texts: Iterable[str]) -> tuple[str, ...]:
    """Return dotted names in the texts, each once, without a leading `parsed_fields.`."""
    names = []
    for text in texts:
        for name in _DOTTED.findall(text):
            names.append(name.removeprefix("parsed_fields."))
    return tuple(dict.fromkeys(names))


def identifiers(codes: Iterable[str]) -> tuple[str, ...]:
    """Return the code spans that are plain names, each once."""
    return tuple(dict.fromkeys(code for code in codes if _IDENTIFIER.fullmatch(code)))


def item_ids(text: str, all_ids: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the item ids named in a text, ranges written out; `all items` means all of them."""
    occurrences: list[tuple[int, str]] = []
    for match in _ITEM_RANGE.finditer(text):
        # A mistyped range must not name thousands of items.
        for n in range(int(match[1]), min(int(match[2]), int(match[1]) + 20) + 1):
            occurrences.append((match.start(), f"2.{n}"))
    for match in _ITEM_ID.finditer(text):
        occurrences.append((match.start(), match[0]))
    ids = tuple(dict.fromkeys(name for _, name in sorted(occurrences)))
    if not ids and re.search(r"\b(?:all|every|each)\b[^.]{0,20}\bitems?\b", text, re.IGNORECASE):
        return tuple(all_ids)
    return ids


def keywords(label: Label | None) -> tuple[str, ...]:
    """Return a label's keywords: what stands in quotes, else in code, else between commas."""
    if label is None or (is_none(label.text()) and not _QUOTED.search(label.text())):
        return ()
    text = label.text()
    # Quoted words may hold commas; plain ones are divided by them.
    candidates = _QUOTED.findall(text) or list(label.codes())
    if not candidates:
        candidates = re.split(r"[,;]", text.rstrip(" ."))
    return tuple(dict.fromkeys(word.strip() for word in candidates if word.strip()))


def choice(text: str, words: Mapping[str, V]) -> V | None:
    """Return the value of the word that begins the text, or of the only one that it contains.

    Longer words are looked for first.
    """
    plain = re.sub(r"[`*_\s-]+", " ", text.casefold()).strip()
    for word, value in words.items():
        if re.match(rf"{word}\b", plain):
            return value
    # Two words of different meaning contradict each other, so neither counts.
    values = set()
    for word, value in words.items():
        plain, times = re.subn(rf"\b{word}\b", " ", plain)
        if times:
            values.add(value)
    if len(values) == 1:
        return values.pop()
    return None


def count(text: str) -> Count | None:
    """Return a count such as `<= 5` or `== 3`, or None."""
    match = _COUNT.fullmatch(text.strip().strip("`").strip())
    if match:
        return Count.model_validate({"op": OPERATORS[match["op"]], "value": int(match["value"])})
    return None


def yes_no(text: str) -> bool | None:
    """Return True or False by the first word, or None if the text begins with neither."""
    plain = text.casefold().strip(" `*_.:—–-")
    if re.match(r"(?:no\b|not\b|never\b|non-?waivable|false\b|n/a|✗|❌)", plain):
        return False
    if re.match(r"(?:yes\b|waivable\b|true\b|applicable\b|supported\b|✓|✔|✅)", plain):
        return True
    return None


def capability(text: str) -> int | None:
    """Return the type 1 to 4 with which a text begins: `4 (...)`, `Type 4`, `` `4` ``."""
    match = re.match(r"[\s`*]*(?:type\s*)?([1-4])(?![\d.])", text, re.IGNORECASE)
    if match:
        return int(match[1])
    return None


def condition(text: str) -> Condition | None:
    """Return one comparison such as `netlist.loaded == True` or `x.slack >= 0`, or None."""
    match = _COMPARISON.fullmatch(text.strip().strip("`").strip())
    if match is None:
        return None
    name = match["field"].removeprefix("parsed_fields.")
    op = OPERATORS[match["op"]]
    if op is Operator.EXISTS:
        if match["value"].strip():
            return None
        return Condition(field=name, op=op)
    if op is Operator.MATCHES:
        regex = re.fullmatch(r"r?([\"'])(.+)\1", match["value"].strip())
        if regex:
            return Condition(field=name, op=op, value=regex[2])
        return None
    try:
        value = literal(match["value"].strip())
    except ValueError:
        return None
    # A single value after "in" is more likely a mistake than a text to search.
    if op is Operator.IN and not isinstance(value, list):
        return None
    return Condition(field=name, op=op, value=value)


def literal(text: str) -> Json:
    """Read a JSON or Python literal as JSON data; an assignment counts as its value.

    Raises:
        ValueError: it is neither, with the reason.
    """
    bare, reason = re.sub(r"^\s*\w+\s*=(?!=)", "", text).strip(), ""
    python = _NAMES.sub(
        lambda match: {"true": "True", "false": "False", "null": "None"}[match[0]], bare
    )
    # JSON first, then Python, then Python with the names of JSON in it.
    for read, written in ((json.loads, bare), (ast.literal_eval, bare), (ast.literal_eval, python)):
        try:
            with warnings.catch_warnings():
                # A pattern in a plain string has escapes that Python warns of; the text is data,
                # not code of ours.
                warnings.simplefilter("ignore")
                return _DATA.validate_python(read(written))
        except SyntaxError as error:
            reason = f"{error.msg}, line {error.lineno}"
        # a set of dictionaries is a TypeError
        except (ValueError, TypeError, MemoryError, RecursionError) as error:
            reason = str(error).split(" on line")[0].split("\n")[-1].strip()
    raise ValueError(f"neither a Python nor a JSON literal ({reason})")


def example(fence: Fence | None) -> Example | None:
    """Return the literal of a fence, or why it is none."""
    if fence is None:
        return None
    try:
        return Example(fence.text, literal(fence.text), fence.line)
    except ValueError as error:
        return Example(fence.text, None, fence.line, str(error))
