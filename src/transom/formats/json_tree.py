"""JSON documents as trees of nodes that know their place, and the strict parser of outside JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Self

from transom.canonical import Json, compact_json
from transom.errors import InputError

_MAX_DEPTH = 60
_MOST_QUOTED = 240


class JsonNode:
    """A value in a JSON document.

    Attributes:
        value: the value.
        key: its key in an object; for a list entry the list's key.
        pointer: JSON pointer (RFC 6901).
        parent: the parent node; None for the document.
        place: its position in a list, or -1.
    """

    def __init__(
        self,
        value: Json,
        key: str = "",
        pointer: str = "",
        parent: Self | None = None,
        place: int = -1,
    ) -> None:
        self.value = value
        self.key = key
        self.pointer = pointer
        self.parent = parent
        self.place = place

    @cached_property
    def children(self) -> tuple[Self, ...]:
        """The values of an object or a list."""
        # Nodes of a derived class have children of that class.
        node_class = type(self)
        children = list[Self]()
        if isinstance(self.value, dict):
            for key, value in self.value.items():
                children.append(node_class(value, key, f"{self.pointer}/{escape(key)}", self))
        elif isinstance(self.value, list):
            for place, value in enumerate(self.value):
                children.append(node_class(value, self.key, f"{self.pointer}/{place}", self, place))
        return tuple(children)

    @cached_property
    def nodes(self) -> tuple[Self, ...]:
        """This node and all nodes below it, from the top; made once for all readers of a tree."""
        return tuple(self._all_nodes())

    def walk(self) -> Iterator[Self]:
        """Yield this node and all nodes below it, from the top."""
        # Only the document remembers its nodes: kept at each level they would fill the memory.
        return iter(self.nodes) if self.parent is None else self._all_nodes()

    def _all_nodes(self) -> Iterator[Self]:
        yield self
        for child in self.children:
            yield from child._all_nodes()

    def find(self, pointer: str) -> Self | None:
        """Return the node at a pointer, or None."""
        node = self
        # RFC 6901: a pointer is empty for the whole document, and otherwise begins with a slash.
        for step in pointer.split("/")[1:]:
            # In this order: `~01` is a tilde and a one, and no slash.
            key = step.replace("~1", "/").replace("~0", "~")
            matches = [
                child
                for child in node.children
                if (str(child.place) if child.place >= 0 else child.key) == key
            ]
            if not matches:
                return None
            node = matches[0]
        return node

    @property
    def is_leaf(self) -> bool:
        """Whether it is neither an object nor a list."""
        return not isinstance(self.value, dict | list)


def quote_of(node: JsonNode) -> str:
    """Return a node as written, `"failed": 14`, cut if it is long."""
    text = compact_json(node.value)
    if len(text) > _MOST_QUOTED:
        text = f"{text[:_MOST_QUOTED]}…"
    return f'"{node.key}": {text}' if node.place < 0 and node.key else text


def escape(key: str) -> str:
    """Escape a key as a step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def elements_of(value: object) -> list[Any]:
    """Return the elements of an array; anything else has none."""
    return value if isinstance(value, list) else []


def members_of(value: object) -> dict[str, Any]:
    """Return the members of an object; anything else has none."""
    return value if isinstance(value, dict) else {}


def parse_json(text: str, place: str) -> Json:
    """Parse JSON, or JSON lines as a list.

    Raises:
        InputError: the text is neither, is nested too deeply, or gives one key two values; with the
            line.
    """
    try:
        value: Json = json.loads(
            # NaN and Infinity are no JSON, but tools write them: they count as missing numbers.
            text,
            parse_constant=lambda _: None,
            object_pairs_hook=_object_of_pairs,
        )
    except json.JSONDecodeError as error:
        # A text of several documents fails as one document, so lines are tried second.
        rows = _json_lines(text, place)
        if rows is not None:
            return rows
        problem = f"is not JSON: {error.msg}"
        raise InputError(
            problem, place=f"{place}:{error.lineno}", hint="write the report again"
        ) from error
    except RecursionError as error:
        raise InputError(
            "is nested too deeply", place=place, hint="write the report again"
        ) from error
    except _TwoValuesError as error:
        problem = f"gives the key {error.key!r} two values in one object"
        raise InputError(problem, place=place, hint="write the report again") from error
    if _depth(value) > _MAX_DEPTH:
        raise InputError(
            f"is nested more than {_MAX_DEPTH} levels deep",
            place=place,
            hint="write the report again",
        )
    return value


class _TwoValuesError(Exception):
    """An object has a key twice with values that differ."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _object_of_pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Return an object; of two values of one key nobody can say which one counts."""
    members = dict[str, Json]()
    for key, value in pairs:
        if key in members and members[key] != value:
            raise _TwoValuesError(key)
        members[key] = value
    return members


def _json_lines(text: str, place: str) -> list[Json] | None:
    """Return the values of JSON lines; None if the text is something else."""
    lines = [line for line in text.splitlines() if line.strip()]
    # A broken document of many lines must not be read as rows, so the lines have to look like it.
    is_named = PurePosixPath(place).suffix in (".jsonl", ".ndjson")
    if not lines or (not is_named and not (len(lines) > 1 and _are_objects(lines))):
        return None
    rows = list[Json]()
    for number, line in enumerate(lines, 1):
        # This line is what could not be parsed just now, and would come back here for ever.
        if len(lines) == 1 and line.strip() == text.strip():
            return None
        rows.append(parse_json(line, f"{place}:{number}"))
    return rows


def _are_objects(lines: list[str]) -> bool:
    """Return whether each of the first and last lines is an object by itself."""
    return all(
        line.strip().startswith("{") and line.strip().endswith("}")
        for line in (lines[0], lines[1], lines[-1])
    )


def _depth(value: Json) -> int:
    # Level by level: a recursive count would itself fail at the depth that it looks for.
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > _MAX_DEPTH:
            break
        deeper = list[Json]()
        for item in level:
            if isinstance(item, dict):
                deeper += item.values()
            elif isinstance(item, list):
                deeper += item
        level = deeper
    return depth
