"""YAML 1.2 files that people write: plain data with a line for every value, and errors that say what to write.

The text is composed into nodes, never constructed: no tag can make an object, a date stays the text that it is, and
`010` or `20.10` can be read as it was written (`YamlFile.written`).
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError, YAMLWarning
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from transom.canonical import Json
from transom.errors import InputError

Key: TypeAlias = str | int

MAX_BYTES = 4 * 1024 * 1024
MAX_NODES = 200_000
MAX_DEPTH = 40

_DEEP = re.compile(rf"(?:[\[{{]\s*){{{MAX_DEPTH}}}")
_TAG = "tag:yaml.org,2002:"
_TAGS = ("str", "int", "float", "bool", "null", "timestamp", "merge", "map", "seq")
_HINTS = (
    ("undefined alias", 'a text that begins with * stands in quotes: "*SPEF*"'),
    ("for alias", 'a text that begins with * stands in quotes: "*SPEF*"'),
    ("anchor", "a text that begins with & stands in quotes"),
    ("'\\t'", "indent with spaces, not with tabs"),
    ("mapping values are not allowed", 'a text that holds ": " stands in quotes'),
    ("cannot start any token", "put the text in quotes"),
    ("found another document", "one file holds one document; remove the line ---"),
    ("quoted scalar", "close the quotation mark"),
    ("'<stream end>'", "close the bracket"),
    ("could not find expected ':'", "write `key: value`; a text that goes on in the next line stands in quotes"),
    ("block collection", "put it on a line of its own, indented like its neighbours"),
    ("block mapping", "indent it like the keys beside it, and close every bracket and quotation above"),
    ("unknown escape", "a text with a backslash stands in single quotes: 'regex:\\d{4}'"),
)


_HINT = "mend that line: `key: value`, entries of a list after `- `, special characters in quotes"


@dataclass(frozen=True)
class YamlFile:
    """A YAML file's data, and where each value stands.

    Attributes:
        path: as the person named it.
        text: the whole text.
        data: plain values; a mapping's keys are texts.
        lines: `("waivers", "waive_items", 0)` -> 1-based line.
        written: the same for scalars -> the text as written, e.g. `"010"` for the integer 10.
    """

    path: Path
    text: str
    data: Json
    lines: Mapping[tuple[Key, ...], int]
    written: Mapping[tuple[Key, ...], str]

    def line_of(self, *at: Key) -> int:
        """Line of a value, or of the nearest thing around it that is there."""
        for length in range(len(at), -1, -1):
            if at[:length] in self.lines:
                return self.lines[at[:length]]
        return 1

    def where(self, *at: Key) -> str:
        return f"{self.path}:{self.line_of(*at)}"


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Bytes of a small file that a person named.

    Raises:
        InputError: missing, a folder, not a regular file, unreadable, larger than `limit` bytes.
    """
    where = str(path)
    try:
        if path.is_dir():
            raise InputError("is a folder, not a file", where=where, hint="name the file in it")
        if not path.exists():
            raise InputError("no such file", where=where, hint="check the path")
        if not path.is_file():
            raise InputError("is not a regular file", where=where, hint="name a file on disk")
        size = path.stat().st_size
        if size > limit:
            raise InputError(f"is {size} bytes long, the limit is {limit}", where=where, hint="split it")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read: {reason}", where=where, hint="check the path and its permissions") from error


def load_yaml(path: Path) -> YamlFile:
    """Read one YAML 1.2 document.

    Raises:
        InputError: with file:line and what to write instead; also for an empty file.
    """
    return parse_yaml(read_text(path), path)


def read_text(path: Path) -> str:
    """Text of a small file that a person wrote.

    Raises:
        InputError: as `read_bytes`, and where it is not UTF-8, with file:line.
    """
    raw = read_bytes(path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InputError(
            f"is not UTF-8 (byte 0x{raw[error.start]:02x})", where=f"{path}:{line}", hint="save the file as UTF-8"
        ) from error


def parse_yaml(text: str, path: Path) -> YamlFile:
    """As `load_yaml`, for a text that is already there; `path` only names it in errors."""
    node = _compose(text, path)
    if node is None:
        raise InputError("is empty", where=str(path), hint="write at least one `key: value` line")
    reader = _Reader(path)
    reader.weigh(node, {}, 0)
    data = reader.convert(node, ())
    return YamlFile(path, text, data, reader.lines, reader.written)


def _compose(text: str, path: Path) -> Node | None:
    # The scanner's time grows with the square of the open brackets.
    deep = _DEEP.search(text)
    if deep is not None:
        line = text.count("\n", 0, deep.start()) + 1
        raise InputError("is nested too deeply", where=f"{path}:{line}", hint="write it with less brackets")
    yaml = YAML(typ="safe", pure=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", YAMLWarning)
            return yaml.compose(text)  # type: ignore[no-any-return]  # ruamel leaves it untyped
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        problem = " ".join(str(error.problem or error.context or "cannot be parsed").split())
        # An unclosed bracket or quotation is noticed at the end; the place to mend is where it opened.
        if error.context_mark and "stream end" in problem.replace("end of stream", "stream end"):
            line = error.context_mark.line + 1
            problem = f"{error.context}: {problem}"
        raise _broken(problem, path, min(line, text.count("\n") + 1)) from error
    except YAMLWarning as error:
        name = re.search(r"anchor '([^']*)'", str(error))
        shown = name.group(1) if name else ""
        raise _broken(f"the anchor {shown!r} is defined twice", path, 1) from error
    except YAMLError as error:
        position = getattr(error, "position", 0)
        line = text.count("\n", 0, position if isinstance(position, int) else 0) + 1
        raise InputError(
            "holds a control character", where=f"{path}:{line}", hint="remove it; the file must be plain text"
        ) from error
    except (RecursionError, ValueError) as error:
        raise InputError("is nested too deeply or malformed", where=str(path), hint="simplify it") from error


def _broken(problem: str, path: Path, line: int) -> InputError:
    hint = next((hint for part, hint in _HINTS if part in problem), _HINT)
    return InputError(f"is not valid YAML: {problem}", where=f"{path}:{line}", hint=hint)


class _Reader:
    """Turns nodes into plain values and notes where each one stands."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[tuple[Key, ...], int] = {}
        self.written: dict[tuple[Key, ...], str] = {}

    def weigh(self, node: Node, known: dict[int, int], depth: int) -> int:
        """How many values a node stands for. Aliases share nodes, so a few lines can mean billions, or themselves."""
        weight = known.get(id(node), 0)
        if not weight:
            known[id(node)] = MAX_NODES + 1  # until it is known: a node within itself has no end
            children = node.value if isinstance(node, MappingNode | SequenceNode) else []
            flat = [one for child in children for one in (child if isinstance(child, tuple) else (child,))]
            weight = 1 + sum(self.weigh(child, known, depth + 1) for child in flat)
            known[id(node)] = weight
        if weight > MAX_NODES or depth > MAX_DEPTH:
            raise self._error(node, "grows too large when its aliases (*name) are followed", "write the values out")
        return weight

    def convert(self, node: Node, at: tuple[Key, ...]) -> Json:
        self.lines.setdefault(at, node.start_mark.line + 1)
        if str(node.tag).removeprefix(_TAG) not in _TAGS:
            raise self._error(node, f"the tag {node.tag} is not supported", "remove it, or put the text in quotes")
        if isinstance(node, MappingNode):
            return {key: self.convert(value, (*at, key)) for key, value in self._pairs(node, at)}
        if isinstance(node, SequenceNode):
            return [self.convert(value, (*at, index)) for index, value in enumerate(node.value)]
        return self._scalar(node, at)

    def _pairs(self, node: MappingNode, at: tuple[Key, ...]) -> Iterator[tuple[str, Node]]:
        seen: dict[str, int] = {}
        for key_node, value in node.value:
            if not isinstance(key_node, ScalarNode):
                raise self._error(key_node, "a key must be a text", "put text with { or [ in quotes")
            key = str(key_node.value)
            line = key_node.start_mark.line + 1
            if key_node.tag == f"{_TAG}null":
                raise self._error(key_node, "a key is empty (null)", "name the key before the colon")
            if key in seen:
                raise self._error(key_node, f"the key {key!r} stands in line {seen[key]} already", "keep one of them")
            seen[key] = line
            self.lines[(*at, key)] = line
            yield key, value

    def _scalar(self, node: Node, at: tuple[Key, ...]) -> Json:
        self.written[at] = str(node.value)
        return _value(str(node.tag).removeprefix(_TAG), self.written[at])

    def _error(self, node: Node, what: str, hint: str) -> InputError:
        return InputError(what, where=f"{self.path}:{node.start_mark.line + 1}", hint=hint)


def _value(kind: str, text: str) -> Json:
    """A scalar by the YAML 1.2 core schema; what JSON cannot hold stays text."""
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


def add_key(file: YamlFile, key: str, value: Json, comment: str = "") -> str:
    """The text of a mapping with one more key at its end; every character that stands there stays as it is.

    Args:
        file: whose text; it must not have the key.
        key: which, at the left edge.
        value: its value.
        comment: one line above it.

    Raises:
        InputError: the file does not end in such a way that a key can follow.
    """
    end = "\r\n" if "\r\n" in file.text else "\n"
    above = f"# {' '.join(comment.split())}\n" if comment else ""
    added = f"{above}{dump_yaml({key: value})}".replace("\n", end)
    text = file.text + ("" if file.text.endswith("\n") else end) + added
    try:
        now = parse_yaml(text, file.path).data
    except InputError:
        now = None
    if not isinstance(file.data, dict) or now != {**file.data, key: value}:
        raise InputError(
            f"{key} cannot be added", where=str(file.path), hint=f"write it yourself: {' '.join(added.split())}"
        )
    return text


def dump_yaml(data: object) -> str:
    """Plain data as block-style YAML, keys in the order given, long texts on one line."""
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # declared None
    writer.width = 10_000
    writer.allow_unicode = True
    out = io.StringIO()
    writer.dump(data, out)
    return out.getvalue()
