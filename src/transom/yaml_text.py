"""Parser of YAML 1.2: plain data with a line for every value, and errors that say what to write.

Only the parser's events are used, never a constructor: no tag can make an object, a date stays a
text, and `010` or
`20.10` can be read as written (`YamlFile.written`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from transom.canonical import Json
from transom.errors import InputError

Key: TypeAlias = str | int

MAX_NODES = 200_000
MAX_DEPTH = 40

_TAG = "tag:yaml.org,2002:"
_TAGS = ("str", "int", "float", "bool", "null", "map", "seq")
# The core schema of YAML 1.2.
_PLAIN: Final = {
    "null": re.compile(r"~|null|Null|NULL|"),
    "bool": re.compile(r"true|True|TRUE|false|False|FALSE"),
    "int": re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"),
    "float": re.compile(
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
    ),
}
_TEXT: Final = re.compile(r"[^-+.~0-9nNtTfF]")  # what begins so is of no other kind
_HINTS = (
    ("scanning an alias", 'put a text that begins with * in quotes: "*SPEF*"'),
    ("undefined alias", 'put a text that begins with * in quotes: "*SPEF*"'),
    ("anchor", "put a text that begins with & in quotes"),
    ("tab", "indent with spaces, not with tabs"),
    ("mapping values are not allowed", 'put a text with ": " in quotes'),
    ("cannot start any token", "put the text in quotes"),
    ("a second document", "a file has one document; remove the line ---"),
    ("quoted scalar: found unexpected end", "close the quotation mark"),
    ("flow ", "close the bracket"),
    (
        "could not find expected ':'",
        "write `key: value`, with quotes around a text of several lines",
    ),
    ("block ", "indent it like the keys beside it, and close every bracket and quotation above"),
    ("unknown escape", "put a text with a backslash in single quotes: 'regex:\\d{4}'"),
)
_HINT = (
    "correct that line: `key: value`, entries of a list after `- `, special characters in quotes"
)


@dataclass(frozen=True)
class YamlFile:
    """A YAML file's data, and the place of each value.

    Attributes:
        path: the path as the user gave it.
        text: the whole text.
        data: plain values; keys of mappings are texts.
        lines: `("waivers", "waive_items", 0)` -> 1-based line.
        written: the same key of a scalar -> the text as written, e.g. `"010"` for the integer 10.
    """

    path: Path
    text: str
    data: Json
    lines: Mapping[tuple[Key, ...], int]
    written: Mapping[tuple[Key, ...], str]

    def line_of(self, *at: Key) -> int:
        """Return the line of a value, or of the nearest enclosing one that exists."""
        for length in range(len(at), -1, -1):
            if at[:length] in self.lines:
                return self.lines[at[:length]]
        return 1

    def where(self, *at: Key) -> str:
        return f"{self.path}:{self.line_of(*at)}"


def parse_yaml(text: str, path: Path) -> YamlFile:
    """Parse one YAML 1.2 document.

    Args:
        text: the document.
        path: its file, for errors.

    Raises:
        InputError: the YAML is wrong or empty, with file:line and what to write instead.
    """
    from yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415  (slow, and not every command reads YAML)

    try:
        node = _Composer(text, path).document()
    except MarkedYAMLError as error:
        raise _broken(text, path, error) from error
    except (YAMLError, UnicodeEncodeError) as error:
        position = getattr(error, "position", None) or getattr(error, "start", 0)
        line = text.count("\n", 0, position) + 1
        hint = "remove it; the file must be plain text"
        raise InputError("holds a control character", where=f"{path}:{line}", hint=hint) from error
    if node is None:
        raise InputError("is empty", where=str(path), hint="write at least one `key: value` line")
    reader = _Reader(path)
    data = reader.convert(node, ())
    return YamlFile(path, text, data, reader.lines, reader.written)


def _broken(text: str, path: Path, error: Any) -> InputError:
    mark, opened = error.problem_mark or error.context_mark, error.context_mark
    problem = ": ".join(part for part in (error.context, error.problem) if part)
    line = mark.line + 1 if mark else 1
    if mark and text[mark.index : mark.index + 1] == "\t":
        problem = "found a tab in the indentation"
    # An unclosed bracket or quotation is noticed at the end; the place to correct is its start.
    elif opened and (
        "end of stream" in problem
        or (mark and "flow" in problem and mark.index >= len(text.rstrip()))
    ):
        line = opened.line + 1
    return _invalid(problem, path, min(line, text.rstrip("\n").count("\n") + 1))


def _invalid(problem: str, path: Path, line: int) -> InputError:
    hint = next((hint for part, hint in _HINTS if part in problem), _HINT)
    return InputError(f"is not valid YAML: {problem}", where=f"{path}:{line}", hint=hint)


class _Node(NamedTuple):
    """A value as written: a scalar has a text, a mapping's nodes are alternately keys and
    values.
    """

    line: int
    tag: str
    text: str | None
    nodes: list[_Node]
    is_mapping: bool = False


class _Composer:
    """Composer of nodes from the parser's events. An alias is the node that it names.

    `yaml.compose` would do, but its C version overflows the stack on deeply nested input, and the
    process dies. Here `MAX_DEPTH` ends in an error.
    """

    def __init__(self, text: str, path: Path) -> None:
        import yaml  # noqa: PLC0415  (slow, and not every command reads YAML)

        self.path = path
        self.events: Iterator[Any] = yaml.parse(
            text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        )
        self.anchors: dict[str, _Node] = {}

    def document(self) -> _Node | None:
        """Return the one document, or None."""
        node = None
        for event in self.events:
            if type(event).__name__ == "DocumentStartEvent":
                if node:
                    raise _invalid("a second document begins", self.path, event.start_mark.line + 1)
                node = self.node(next(self.events), 0)
        return node

    def node(self, event: Any, depth: int) -> _Node:
        """Return the value that begins with an event."""
        line, kind, anchor = (
            event.start_mark.line + 1,
            type(event).__name__,
            getattr(event, "anchor", None),
        )
        if depth > MAX_DEPTH:
            raise InputError(
                "is nested too deeply",
                where=f"{self.path}:{line}",
                hint="write it with fewer brackets",
            )
        if kind == "AliasEvent":
            if anchor not in self.anchors:
                raise _invalid(f"undefined alias {anchor!r}", self.path, line)
            return self.anchors[anchor]
        if anchor in self.anchors:
            raise _invalid(f"the anchor {anchor!r} is defined twice", self.path, line)
        node = (
            self._scalar(event, line)
            if kind == "ScalarEvent"
            else self._collection(event, line, depth)
        )
        if anchor is not None:
            self.anchors[anchor] = node
        return node

    def _scalar(self, event: Any, line: int) -> _Node:
        if event.tag:
            return _Node(line, event.tag, event.value, [])
        return _Node(
            line, _TAG + (plain_kind(event.value) if event.implicit[0] else "str"), event.value, []
        )

    def _collection(self, event: Any, line: int, depth: int) -> _Node:
        nodes = list[_Node]()
        for one in self.events:
            if type(one).__name__ in ("SequenceEndEvent", "MappingEndEvent"):
                break
            nodes.append(self.node(one, depth + 1))
        is_mapping = type(event).__name__ == "MappingStartEvent"
        return _Node(
            line, event.tag or f"{_TAG}{'map' if is_mapping else 'seq'}", None, nodes, is_mapping
        )


class _Reader:
    """Converts nodes to plain values and records their lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[tuple[Key, ...], int] = {}
        self.written: dict[tuple[Key, ...], str] = {}
        self.nodes = 0

    def convert(self, node: _Node, at: tuple[Key, ...]) -> Json:
        self.lines.setdefault(at, node.line)
        self.nodes += 1
        # a few lines of aliases can mean billions
        if self.nodes > MAX_NODES or len(at) > MAX_DEPTH:
            raise self._error(
                node,
                "grows too large when its aliases (*name) are followed",
                "write the values out",
            )
        if node.tag.removeprefix(_TAG) not in _TAGS:
            raise self._error(
                node, f"the tag {node.tag} is not supported", "remove it, or put the text in quotes"
            )
        if node.text is not None:
            self.written[at] = node.text
            return _value(node.tag.removeprefix(_TAG), node.text)
        if node.is_mapping:
            own = {key: self.convert(value, (*at, key)) for key, value in self._pairs(node, at)}
            merged = own.pop("<<", None) if isinstance(own.get("<<"), dict) else None
            return {**merged, **own} if isinstance(merged, dict) else own
        return [self.convert(value, (*at, index)) for index, value in enumerate(node.nodes)]

    def _pairs(self, node: _Node, at: tuple[Key, ...]) -> Iterator[tuple[str, _Node]]:
        seen: dict[str, int] = {}
        for key_node, value in zip(node.nodes[::2], node.nodes[1::2], strict=True):
            key, line = key_node.text, key_node.line
            if key is None:
                raise self._error(
                    key_node, "a key must be a text", "put text with { or [ in quotes"
                )
            if key_node.tag == f"{_TAG}null":
                raise self._error(
                    key_node, "a key is empty (null)", "name the key before the colon"
                )
            if key in seen:
                raise self._error(
                    key_node, f"the key {key!r} is already in line {seen[key]}", "keep one of them"
                )
            seen[key] = line
            self.lines[(*at, key)] = line
            yield key, value

    def _error(self, node: _Node, what: str, hint: str) -> InputError:
        return InputError(what, where=f"{self.path}:{node.line}", hint=hint)


def plain_kind(text: str) -> str:
    """Return the kind of an unquoted scalar: null, bool, int, float or str."""
    if _TEXT.match(text):
        return "str"
    return next((name for name, form in _PLAIN.items() if form.fullmatch(text)), "str")


def _value(kind: str, text: str) -> Json:
    """Convert a scalar by the YAML 1.2 core schema; values that JSON cannot express stay text."""
    if kind == "null":
        return None
    if kind == "bool" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind == "int" and re.fullmatch(r"[-+]?\d{1,300}", text):
        return int(text, 10)
    if kind == "int" and re.fullmatch(r"0x[0-9a-fA-F]{1,64}|0o[0-7]{1,64}", text):
        return int(text, 0)
    if kind == "float" and re.fullmatch(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,2})?", text):
        return float(text)
    return text
