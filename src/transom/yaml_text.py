"""Parser of YAML 1.2: plain data with a line for every value, and errors that say what to write.

Only the events of PyYAML's parser are used, never a constructor: no tag can create an object, a
date stays a text, and `010` or `20.10` can be read as written (`YamlFile.written`).
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

# Far above real files; below what exhausts memory or the stack.
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
# Most scalars begin in this way, and need no other pattern.
_TEXT: Final = re.compile(r"[^-+.~0-9nNtTfF]")
# A part of the parser's message, and the hint for it; the first part that occurs counts.
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

    def line_of(self, *keys: Key) -> int:
        """Return the line of a value, or of the nearest value around it that exists.

        Args:
            keys: the way to the value: keys of mappings and indexes of lists.
        """
        for length in range(len(keys), -1, -1):
            if keys[:length] in self.lines:
                return self.lines[keys[:length]]
        return 1

    def place_of(self, *keys: Key) -> str:
        """Return `file:line` of a value, for messages; see `line_of`."""
        return f"{self.path}:{self.line_of(*keys)}"


def parse_yaml(text: str, path: Path) -> YamlFile:
    """Parse one YAML 1.2 document.

    Args:
        text: the document.
        path: its file, for errors.

    Raises:
        InputError: the YAML is wrong or empty, with file:line and what to write instead.
    """
    # Imported here: it is slow, and not every command reads YAML.
    from yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415

    try:
        node = _Composer(text, path).document()
    except MarkedYAMLError as error:
        raise _syntax_error(text, path, error) from error
    except (YAMLError, UnicodeEncodeError) as error:
        # A character that YAML forbids, or half of a surrogate pair. Their errors have no line.
        position = getattr(error, "position", None) or getattr(error, "start", 0)
        line = text.count("\n", 0, position) + 1
        hint = "remove it; the file must be plain text"
        raise InputError("holds a control character", place=f"{path}:{line}", hint=hint) from error
    if node is None:
        raise InputError("is empty", place=str(path), hint="write at least one `key: value` line")
    reader = _Reader(path)
    data = reader.convert(node, ())
    return YamlFile(path, text, data, reader.lines, reader.written)


def _syntax_error(text: str, path: Path, error: Any) -> InputError:
    """Return the error for a `MarkedYAMLError`, with the line that has to be corrected."""
    start = error.context_mark
    mark = error.problem_mark or start
    problem = ": ".join(filter(None, (error.context, error.problem)))
    line = mark.line + 1 if mark else 1
    if mark and text[mark.index : mark.index + 1] == "\t":
        problem = "found a tab in the indentation"
    # An unclosed bracket or quotation is noticed at the end of the text, and is to be corrected at
    # its start.
    elif start:
        is_at_end = mark.index >= len(text.rstrip())
        if "end of stream" in problem or ("flow" in problem and is_at_end):
            line = start.line + 1
    # The end of the text may be in a line after the last one.
    return _invalid(problem, path, min(line, text.rstrip("\n").count("\n") + 1))


def _invalid(problem: str, path: Path, line: int) -> InputError:
    hint = _HINT
    for part, special_hint in _HINTS:
        if part in problem:
            hint = special_hint
            break
    return InputError(f"is not valid YAML: {problem}", place=f"{path}:{line}", hint=hint)


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
        import yaml  # noqa: PLC0415

        self.path = path
        # PyYAML may be installed without its C library.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self.events: Iterator[Any] = yaml.parse(text, Loader=loader)
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
        line = event.start_mark.line + 1
        kind = type(event).__name__
        anchor = getattr(event, "anchor", None)
        if depth > MAX_DEPTH:
            raise InputError(
                "is nested too deeply",
                place=f"{self.path}:{line}",
                hint="write it with fewer brackets",
            )
        if kind == "AliasEvent":
            if anchor not in self.anchors:
                raise _invalid(f"undefined alias {anchor!r}", self.path, line)
            return self.anchors[anchor]
        if anchor in self.anchors:
            raise _invalid(f"the anchor {anchor!r} is defined twice", self.path, line)
        if kind == "ScalarEvent":
            node = self._scalar(event, line)
        else:
            node = self._collection(event, line, depth)
        if anchor is not None:
            self.anchors[anchor] = node
        return node

    def _scalar(self, event: Any, line: int) -> _Node:
        tag = event.tag
        if not tag:
            # Text in quotes is text, whatever it looks like.
            is_plain = event.implicit[0]
            tag = _TAG + (plain_kind(event.value) if is_plain else "str")
        return _Node(line, tag, event.value, [])

    def _collection(self, event: Any, line: int, depth: int) -> _Node:
        nodes = list[_Node]()
        for next_event in self.events:
            if type(next_event).__name__ in ("SequenceEndEvent", "MappingEndEvent"):
                break
            nodes.append(self.node(next_event, depth + 1))
        is_mapping = type(event).__name__ == "MappingStartEvent"
        tag = event.tag or _TAG + ("map" if is_mapping else "seq")
        return _Node(line, tag, None, nodes, is_mapping)


class _Reader:
    """A conversion of nodes to plain values, which records their lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[tuple[Key, ...], int] = {}
        self.written: dict[tuple[Key, ...], str] = {}
        self.nodes = 0

    def convert(self, node: _Node, keys: tuple[Key, ...]) -> Json:
        """Return the value of a node, and record its line and its text under its keys.

        Raises:
            InputError: the value cannot be represented, or is too large.
        """
        self.lines.setdefault(keys, node.line)
        self.nodes += 1
        # A few lines of aliases to aliases can mean billions of values.
        if self.nodes > MAX_NODES or len(keys) > MAX_DEPTH:
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
            self.written[keys] = node.text
            return _value(node.tag.removeprefix(_TAG), node.text)
        if not node.is_mapping:
            return [self.convert(value, (*keys, index)) for index, value in enumerate(node.nodes)]
        mapping: dict[str, Json] = {}
        for key, value in self._pairs(node, keys):
            mapping[key] = self.convert(value, (*keys, key))
        # `<<: *defaults` is no part of YAML 1.2, and files that use it are common.
        defaults = mapping.get("<<")
        if isinstance(defaults, dict):
            del mapping["<<"]
            return {**defaults, **mapping}
        return mapping

    def _pairs(self, node: _Node, keys: tuple[Key, ...]) -> Iterator[tuple[str, _Node]]:
        """Yield the keys and values of a mapping.

        Raises:
            InputError: a key is not a text, or occurs twice.
        """
        key_lines: dict[str, int] = {}
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
            if key in key_lines:
                raise self._error(
                    key_node,
                    f"the key {key!r} is already in line {key_lines[key]}",
                    "keep one of them",
                )
            key_lines[key] = line
            # The line of the key, which a reader looks for; a value may begin in a later one.
            self.lines[(*keys, key)] = line
            yield key, value

    def _error(self, node: _Node, problem: str, hint: str) -> InputError:
        return InputError(problem, place=f"{self.path}:{node.line}", hint=hint)


def plain_kind(text: str) -> str:
    """Return the kind of an unquoted scalar: null, bool, int, float or str."""
    if _TEXT.match(text):
        return "str"
    for kind, pattern in _PLAIN.items():
        if pattern.fullmatch(text):
            return kind
    return "str"


def _value(kind: str, text: str) -> Json:
    """Return the value of a scalar by the core schema of YAML 1.2.

    Values that JSON cannot express stay text.
    """
    if kind == "null":
        return None
    if kind == "bool" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    # Longer integers would be slow to convert.
    if kind == "int" and re.fullmatch(r"[-+]?\d{1,300}", text):
        return int(text, 10)
    if kind == "int" and re.fullmatch(r"0x[0-9a-fA-F]{1,64}|0o[0-7]{1,64}", text):
        return int(text, 0)
    if kind == "float" and re.fullmatch(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,2})?", text):
        return float(text)
    return text
