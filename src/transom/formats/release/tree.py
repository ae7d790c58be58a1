"""A JSON document as a tree whose nodes know their pointer, the words of their key, and what their numbers are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePosixPath

from transom.canonical import Json
from transom.errors import InputError
from transom.formats.release.words import Nature, key_words, plain_words, word_list, words

_NAMES = word_list(
    "name title endpoint cve vulnerability_id id key ref scenario test test_case suite module metric area stakeholder "
    "reviewer role stage operation path url summary description text component package"
)
_DATES = word_list(
    "timestamp date started_at start_time created created_at finished_at completed_at run_date "
    "executed_at time end_time ended_at started finished run_at when"
)
_RUN_LISTS = {"run", "build", "execution", "pipeline", "cycle", "round"}
_MAX_DEPTH = 60


class Node:
    """A value in a JSON document.

    Attributes:
        value: the value.
        key: its key in an object, the key of its list for an entry.
        pointer: JSON pointer (RFC 6901).
        parent: None for the document.
    """

    def __init__(
        self, value: Json, key: str = "", pointer: str = "", parent: Node | None = None, place: int = -1
    ) -> None:
        self.value, self.key, self.pointer, self.parent, self.place = value, key, pointer, parent, place

    @cached_property
    def children(self) -> tuple[Node, ...]:
        if isinstance(self.value, dict):
            return tuple(Node(value, key, f"{self.pointer}/{escape(key)}", self) for key, value in self.value.items())
        if isinstance(self.value, list):
            return tuple(Node(one, self.key, f"{self.pointer}/{n}", self, n) for n, one in enumerate(self.value))
        return ()

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the key, in the singular."""
        return key_words(self.key)

    def walk(self) -> Iterator[Node]:
        """This node and all below it, from the top."""
        yield self
        for child in self.children:
            yield from child.walk()

    def get(self, *keys: str) -> Node | None:
        """The child whose key has the words of one of these, the first that is there."""
        wanted = [key_words(key) for key in keys]
        for one in wanted:
            for child in self.children if isinstance(self.value, dict) else ():
                if child.words == one:
                    return child
        return None

    def find(self, pointer: str) -> Node | None:
        """The node that a pointer names."""
        node = self
        for step in pointer.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            fitting = [one for one in node.children if (str(one.place) if one.place >= 0 else one.key) == key]
            if not fitting:
                return None
            node = fitting[0]
        return node

    @cached_property
    def number(self) -> float | None:
        """Its number, also one that is written as text without a unit: `"1,204"`."""
        if isinstance(self.value, bool):
            return None
        if isinstance(self.value, int | float):
            return float(self.value)
        if isinstance(self.value, str) and self.value.strip()[:1].isdigit():
            try:
                return float(self.value.strip().replace(",", "").removesuffix("%"))
            except ValueError:
                return None
        return None

    @property
    def label(self) -> str:
        """A name for people: of an entry its own name, else its key."""
        for name in _NAMES if isinstance(self.value, dict) else ():
            child = self.get(name)
            if child is not None and isinstance(child.value, str) and child.value.strip():
                return child.value.strip()[:80]
        return self.key or "the document"

    @cached_property
    def nature(self) -> Nature:
        """What numbers in it are: a measurement, an estimate, a plan, of an earlier day, or a limit."""
        own = self._own_nature
        if own is not None:
            return own
        return self.parent.nature if self.parent else "measured"

    @cached_property
    def _own_nature(self) -> Nature | None:
        if self.place < 0 or self.parent is None:
            found = next(iter(words().natures.find(self.words)), None)
            if found is not None:
                return found  # type: ignore[return-value]  # a kind of `Words.natures`
        if isinstance(self.value, dict):
            return self._said_nature()
        return "history" if self._is_older_run() else None

    def _said_nature(self) -> Nature | None:
        """What an object says of its own numbers, in a status, a flag or a note."""
        if self._is_older_run():
            return "history"
        told = words().nature
        for child in self.children:
            text = " ".join(child.words)
            if isinstance(child.value, bool):
                if (child.value and text in told.state_flags_true) or (
                    not child.value and text in told.state_flags_false
                ):
                    return "estimate" if "estimat" in text else "planned"
            elif isinstance(child.value, str):
                if text in told.state_keys and _waits(child.value):
                    return "planned"
                if text in told.note_keys and words().estimates.search(child.value):
                    return "estimate"
        return None

    def _is_older_run(self) -> bool:
        """Whether it is an entry of a list of runs that has a later one."""
        if self.parent is None or self.place < 0 or not _RUN_LISTS & set(self.words):
            return False
        return self.parent.latest is not None and self.parent.latest != self.place

    @cached_property
    def latest(self) -> int | None:
        """Of a list of runs the place of the last one by date or number; None where nothing tells it."""
        for names in (_DATES, ("number", "run_number", "build_number", "run", "build", "run_id", "id")):
            found = [(one.place, one.get(*names)) for one in self.children if isinstance(one.value, dict)]
            keys = [(place, _rank(node.value)) for place, node in found if node is not None]
            ranks = [(rank, place) for place, rank in keys if rank is not None]
            if len(ranks) == len(self.children) > 0 and len({rank for rank, _ in ranks}) == len(ranks):
                return max(ranks)[1]
        return None


def _waits(status: str) -> bool:
    """Whether something did not happen yet; an open issue is no plan."""
    return words().status_of(status) == "pending" and not words().is_open(status)


def _rank(value: Json) -> tuple[float, str] | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value), ""
    if isinstance(value, str) and any(sign.isdigit() for sign in value):
        digits = value.lstrip("#")
        return (float(digits), "") if digits.isdigit() else (0.0, value)
    return None


def escape(key: str) -> str:
    """A key as a step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def parse_json(text: str, where: str) -> Json:
    """JSON, or one document a line (JSON lines) as a list.

    Raises:
        InputError: it is neither, or nested too deeply; with the line.
    """
    try:
        value: Json = json.loads(text, parse_constant=lambda _: None)
    except json.JSONDecodeError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if PurePosixPath(where).suffix == ".jsonl" and lines:
            return [parse_json(line, f"{where}:{number}") for number, line in enumerate(lines, 1)]
        what = f"is not JSON: {error.msg}"
        raise InputError(what, where=f"{where}:{error.lineno}", hint="write the report again") from error
    except RecursionError as error:
        raise InputError("is nested too deeply", where=where, hint="write the report again") from error
    if _depth(value) > _MAX_DEPTH:
        raise InputError(f"is nested more than {_MAX_DEPTH} levels deep", where=where, hint="write the report again")
    return value


def _depth(value: Json) -> int:
    level, deep = [value], 0
    while level:
        deep += 1
        if deep > _MAX_DEPTH:
            break
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
        ]
    return deep


def said(text: str) -> str:
    """Words of a text in lower case, for comparing."""
    return " ".join(plain_words(text))
