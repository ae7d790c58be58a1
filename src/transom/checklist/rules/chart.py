"""Recognisers: what of a row of words a piece of grammar can cover, from each place, and what was
said by it.

Every node answers `reach(row, at)` with all places where it may end, so a grammar is never taken
apart by luck of
order: whoever asks sees every reading. A node that is shared is asked once for each place of a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

# Punctuation that structures a sentence for the eye; it may follow any word.
SOFT: Final = frozenset({",", ":", "(", ")"})

# Stands among the first words of what can begin with a number.
NUMBER: Final = "#"

_NUMBER: Final = re.compile(r"[-+]?\d+(?:\.\d+)?")

Choice = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Span:
    """End of a node, the things that were named on the way, and the choices (name, value)."""

    end: int
    things: frozenset[str] = frozenset()
    choices: frozenset[Choice] = frozenset()


class Row:
    """The words of one sentence, with what was already found in them."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = (*words, "")
        self.memo: dict[tuple[int, int], tuple[Span, ...]] = {}
        self._after: list[tuple[Span, ...]] = [()] * len(self.words)
        for at in range(len(words) - 1, -1, -1):
            following = self._after[at + 1] if self.words[at + 1] in SOFT else ()
            self._after[at] = (Span(at + 1), *following)

    def number(self, at: int) -> bool:
        return is_number(self.words[at])

    def begins(self, at: int, first: frozenset[str]) -> bool:
        """Whether what has these first words can begin at this place."""
        return self.words[at] in first or (NUMBER in first and self.number(at))

    def after(self, at: int) -> tuple[Span, ...]:
        """Behind the word at this place, and behind the soft punctuation that follows it."""
        return self._after[at]


def is_number(word: str) -> bool:
    """Whether a word of a sentence is a number."""
    return _NUMBER.fullmatch(word) is not None


class Node:
    """A piece of grammar.

    Attributes:
        parts: of which it is made.
        first: the words that it can begin with; none where it can match nothing at all.
        empty: whether it may cover no word.
    """

    parts: tuple[Node, ...] = ()
    first: frozenset[str] = frozenset()
    empty: bool = False

    def reach(self, row: Row, at: int) -> tuple[Span, ...]:
        raise NotImplementedError

    def words(self) -> frozenset[str]:
        """Every word by which it can be said."""
        told = () if self.dead else self.parts
        return frozenset().union(*(part.words() for part in told)) if told else self.first

    @property
    def dead(self) -> bool:
        return not self.empty and not self.first


class Word(Node):
    """A word as it stands."""

    def __init__(self, word: str) -> None:
        self._word = word
        self.first = frozenset({word})

    def reach(self, row: Row, at: int) -> tuple[Span, ...]:
        return row.after(at) if row.words[at] == self._word else ()


class Number(Node):
    """Any number but zero, which is a choice of its own text."""

    first = frozenset({NUMBER})

    def __init__(self, name: str) -> None:
        self.name = name

    def reach(self, row: Row, at: int) -> tuple[Span, ...]:
        if not row.number(at) or not float(row.words[at]):
            return ()
        chosen = frozenset({(self.name, row.words[at].removeprefix("+"))})
        return tuple(Span(span.end, span.things, chosen) for span in row.after(at))


class Chain(Node):
    """Its parts, one after the other."""

    def __init__(self, parts: Sequence[Node]) -> None:
        self.parts = tuple(parts)
        self.empty = all(part.empty for part in parts)
        if any(part.dead for part in parts):
            return
        for part in parts:
            self.first |= part.first
            if not part.empty:
                break

    def reach(self, row: Row, at: int) -> tuple[Span, ...]:
        spans: Iterable[Span] = (Span(at),)
        for part in self.parts:
            spans = _step(row, spans, part)
            if not spans:
                return ()
        return tuple(spans)


class OneOf(Node):
    """Any of its branches; asked once for each place of a row."""

    def __init__(self, branches: Iterable[Node]) -> None:
        self.parts = tuple(branch for branch in branches if not branch.dead)
        self._free = tuple(branch for branch in self.parts if branch.empty)
        self._by_word: dict[str, list[Node]] = {}
        for branch in self.parts:
            self.first |= branch.first
            for word in () if branch.empty else branch.first:
                self._by_word.setdefault(word, []).append(branch)
        self.empty = bool(self._free)
        self._words: frozenset[str] | None = None

    def reach(self, row: Row, at: int) -> tuple[Span, ...]:
        key = (id(self), at)
        if key not in row.memo:
            numeric = self._by_word.get(NUMBER, ()) if row.number(at) else ()
            asked = (*self._by_word.get(row.words[at], ()), *numeric, *self._free)
            row.memo[key] = tuple(
                dict.fromkeys(span for branch in asked for span in branch.reach(row, at))
            )
        return row.memo[key]

    def words(self) -> frozenset[str]:
        if self._words is None:
            self._words = super().words()
        return self._words


class Maybe(Node):
    """Its part, or nothing."""

    empty = True

    def __init__(self, part: Node) -> None:
        self.parts, self.first = (part,), part.first

    def reach(self, row: Row, at: int) -> tuple[Span, ...]:
        found = self.parts[0].reach(row, at) if row.begins(at, self.first) else ()
        return (Span(at), *found)


class Often(Node):
    """Its part as often as it fits, or not at all."""

    empty = True

    def __init__(self, part: Node) -> None:
        self.parts, self.first = (part,), part.first

    def reach(self, row: Row, at: int) -> tuple[Span, ...]:
        found = {Span(at)}
        new = found
        while new := {span for span in _step(row, new, self.parts[0]) if span.end > at} - found:
            found = found | new
        return tuple(found)


class Said(Node):
    """Its part; who says it names a thing, or makes a choice."""

    def __init__(self, part: Node, thing: str | None = None, choice: Choice | None = None) -> None:
        self.parts = (part,)
        self._things = frozenset(() if thing is None else (thing,))
        self.choices = frozenset(() if choice is None else (choice,))
        self.first, self.empty = part.first, part.empty

    def reach(self, row: Row, at: int) -> tuple[Span, ...]:
        own = Span(at, self._things, self.choices)
        return tuple(
            both
            for span in self.parts[0].reach(row, at)
            if (both := _joined(own, span)) is not None
        )


def _step(row: Row, spans: Iterable[Span], part: Node) -> set[Span]:
    found: set[Span] = set()
    for span in spans:
        if part.empty or row.begins(span.end, part.first):
            found.update(
                both
                for new in part.reach(row, span.end)
                if (both := _joined(span, new)) is not None
            )
    return found


def _joined(old: Span, new: Span) -> Span | None:
    """Both, one after the other; None where they choose differently."""
    if not new.choices and not new.things:
        return Span(new.end, old.things, old.choices)
    choices = old.choices | new.choices
    if len({name for name, _ in choices}) != len(choices):
        return None
    return Span(new.end, old.things | new.things, choices)
