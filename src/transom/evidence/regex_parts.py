"""The parts of a regular expression: what may be repeated in it, and texts that lead up to that.

Only what `regex_growth` needs is read: characters and classes, groups, repeats. The expression has
been compiled before, so it is known to be valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Final, Literal, TypeAlias

_MANY: Final = 20
"""Repeats up to this number are as good as none: their cost has a bound."""
_GROUP_HEAD: Final = re.compile(
    r"\(\?(?:P<\w+>|P=\w+\)|[:=!>]|<[=!]|#[^)]*\)|\(\w+\)|[aiLmsux]*(?:-[imsx]+)?[:)])"
)
_REPEAT: Final = re.compile(r"(?:(?P<sign>[*+?])|\{(?P<low>\d*)(?P<range>,(?P<high>\d*))?\})[?+]?")
_ESCAPES_LONGER_THAN_TWO: Final = {"x": 4, "u": 6, "U": 10}
_FLAGS: Final = {"i": re.IGNORECASE, "s": re.DOTALL, "a": re.ASCII}

Branch: TypeAlias = "list[RegexPart]"


@dataclass
class RegexPart:
    """A part of an expression.

    Attributes:
        kind: `character` is one character of a class; `group` has branches; `around` is a group
            that looks ahead or behind; `empty` takes no text that is known beforehand.
        source: the expression of a character, without its repeat.
        branches: the alternatives of a group.
        low: how often it must be there.
        is_repeated: whether it may be there more than a few times.
    """

    kind: Literal["character", "group", "around", "empty"]
    source: str = ""
    branches: tuple[Branch, ...] = ()
    low: int = 1
    is_repeated: bool = False


class PartReader:
    """The parts of a compiled expression.

    Args:
        pattern: the expression.

    Attributes:
        branches: its alternatives.
        flags: the flags under which a character of it is compared, those within the text included.
    """

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._text, self._position = pattern.pattern, 0
        self._is_verbose = bool(pattern.flags & re.VERBOSE)
        self.flags = pattern.flags & (re.IGNORECASE | re.DOTALL | re.ASCII)
        self.branches = self._branches()

    def characters(self) -> Iterator[RegexPart]:
        """Yield all characters, those within groups included."""
        return _characters(self.branches)

    def _branches(self) -> tuple[Branch, ...]:
        branches: list[Branch] = [[]]
        while self._position < len(self._text) and self._text[self._position] != ")":
            if self._text[self._position] == "|":
                self._position += 1
                branches.append([])
            elif self._is_verbose and self._skip_blank():
                continue
            elif part := self._part():
                self._repeat(part)
                branches[-1].append(part)
        return tuple(branches)

    def _skip_blank(self) -> bool:
        character = self._text[self._position]
        if character.isspace():
            self._position += 1
        elif character == "#":
            self._position += len(
                list(takewhile(lambda sign: sign != "\n", self._text[self._position :]))
            )
        else:
            return False
        return True

    def _part(self) -> RegexPart | None:
        """Return the next part, None if it is a comment or sets flags."""
        start, character = self._position, self._text[self._position]
        if character == "(":
            return self._group()
        if character == "\\":
            return self._escape()
        if character == "[":
            self._position += 1
            self._position += self._text[self._position] == "^"
            # A bracket at the beginning closes nothing.
            self._position += self._text[self._position] == "]"
            while self._text[self._position] != "]":
                self._position += 2 if self._text[self._position] == "\\" else 1
        self._position += 1
        if character in "^$":
            return RegexPart("empty")
        source = self._text[start : self._position]
        return RegexPart("character", source if character in ".[" else re.escape(character))

    def _escape(self) -> RegexPart:
        start, letter = self._position, self._text[self._position + 1]
        self._position += _ESCAPES_LONGER_THAN_TWO.get(letter, 2)
        if letter == "N":
            self._position = self._text.index("}", start) + 1
        if letter in "AZbB":
            return RegexPart("empty")
        if letter in "123456789":
            while self._text[self._position : self._position + 1].isdigit():
                self._position += 1
            return RegexPart("empty")
        return RegexPart("character", self._text[start : self._position])

    def _group(self) -> RegexPart | None:
        head = _GROUP_HEAD.match(self._text, self._position)
        opening = head[0] if head else "("
        self._position += len(opening)
        if opening.startswith("(?P="):
            return RegexPart("empty")
        if opening.startswith("(?") and opening[2] in "aiLmsux-":
            for letter in opening[2:].partition("-")[0]:
                self.flags |= _FLAGS.get(letter, 0)
                self._is_verbose = self._is_verbose or letter == "x"
        if opening.endswith(")") and not opening.startswith("(?("):
            return None
        branches = self._branches()
        self._position += 1
        is_around = opening in ("(?=", "(?!", "(?<=", "(?<!")
        return RegexPart("around" if is_around else "group", branches=branches)

    def _repeat(self, part: RegexPart) -> None:
        repeat = _REPEAT.match(self._text, self._position)
        if repeat is None or repeat[0] in ("{}", "{,}"):
            return
        self._position = repeat.end()
        if sign := repeat["sign"]:
            part.low, part.is_repeated = int(sign == "+"), sign != "?"
            return
        part.low = int(repeat["low"] or 0)
        highest = repeat["high"] if repeat["range"] else repeat["low"]
        part.is_repeated = not highest or int(highest) > _MANY


def _characters(branches: tuple[Branch, ...]) -> Iterator[RegexPart]:
    for branch in branches:
        for part in branch:
            if part.kind == "character":
                yield part
            yield from _characters(part.branches)
