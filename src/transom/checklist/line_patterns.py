"""Common forms of log lines: what stays a word, and what may be another number or name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal

Mark = Literal["good", "bad", "beside"]

_TOKEN: Final = re.compile(
    r"(?P<number>(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?%?(?![\w.]*\w))"
    r"|(?P<word>[A-Za-z]+(?![\w/.\[\]$-]*[\w/\]]))"
    r"|(?P<name>[A-Za-z_\\$][\w/.\[\]$:\\-]*[\w/\]]|\w+[\w/.\[\]$-]*)"
    r"|(?P<blank>\s+)|(?P<sign>.)"
)
_NUMBERS: Final = {
    "zero": r"[-+]?0+(?:\.0+)?(?:[eE][-+]?\d+)?%?",
    "more": r"\+?(?=[\d.]*[1-9])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?%?",
    "less": r"-(?=[\d.]*[1-9])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?%?",
}
NUMBER: Final = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?%?"
NAME: Final = r"[\w/.\[\]$:\\-]+"
DENIES: Final = (
    r"(?:not?|never|without|un\w+|in\w+|fail\w*|errors?|abort\w*|skip\w*|violat\w*|missing|warning)"
)
WORD: Final = rf"(?i:(?!{DENIES}\b)[a-z]+)"
ALARM: Final = (
    r"(?i)\b(?:error|errors|fatal|fail|fails|failed|failure|failures|abort|aborted"
    r"|violat\w*|illegal)\b"
)


@dataclass(frozen=True)
class LineToken:
    """A piece of a line, and its kind: `number`, `word`, `name`, `blank` or `sign`."""

    kind: str
    text: str

    @property
    def sign(self) -> str:
        """Return the sign of a number: `less`, `zero` or `more`."""
        value = float(self.text.rstrip("%"))
        if value < 0:
            return "less"
        if value:
            return "more"
        return "zero"


@dataclass
class LinePattern:
    """Common form of lines of one mark: at each place the texts that were seen there."""

    mark: Mark
    places: list[list[LineToken]]
    signed: set[int] = field(default_factory=set)
    fixed: set[int] = field(default_factory=set)
    limits: dict[int, str] = field(default_factory=dict)

    @property
    def subject(self) -> int | None:
        """Return the index of what the line is about."""
        return next(iter(self._indexes_of("name")), None)

    def regex(self) -> str:
        text = "".join(self._place(index) for index in range(len(self.places)))
        return rf"^\s*{text}\s*$"

    def _place(self, index: int) -> str:
        variants = list(dict.fromkeys(token.text for token in self.places[index]))
        kind = self.places[index][0].kind
        if kind == "blank":
            return r"\s+"
        # A limit was stated, so the numbers that were seen do not matter.
        if index in self.limits:
            return self.limits[index]
        if kind == "number":
            signs = self.signs_at(index)
            if len(signs) < len(_NUMBERS):
                return f"(?:{'|'.join(_NUMBERS[sign] for sign in sorted(signs))})"
            return NUMBER
        free = index not in self.fixed and (
            kind == "name" or (kind == "word" and len(variants) > 1)
        )
        text = NAME if kind == "name" else WORD
        text = text if free else "|".join(map(re.escape, variants))
        if index == self.subject:
            return f"(?P<name>{text})"
        if free or len(variants) == 1:
            return text
        return f"(?:{text})"

    def signs_at(self, index: int) -> frozenset[str]:
        """Return the signs of numbers that fit.

        Of what is counted only those that were seen fit, so that 0 errors stay 0.
        """
        counted = self.alarms or self._is_counted(index)
        if counted or index in self.signed:
            return self.seen_signs(index)
        return frozenset(_NUMBERS)

    def seen_signs(self, index: int) -> frozenset[str]:
        return frozenset(token.sign for token in self.places[index])

    @property
    def alarms(self) -> bool:
        return any(re.match(ALARM, token.text) for variants in self.places for token in variants)

    def _is_counted(self, index: int) -> bool:
        """Return whether a number counts something.

        It then stands before a word, or behind a colon or an equals sign; a coordinate does not.
        """
        near = [variants[0] for variants in self.places]
        for token in reversed(near[max(0, index - 2) : index]):
            if token.kind != "blank":
                if token.text in (":", "="):
                    return True
                break
        return self.kinds[index + 1 : index + 3] == ["blank", "word"]

    def narrow(self, line: str) -> bool:
        """Make it not fit a line of another mark; return False if nothing tells them apart."""
        other = tokens(line)
        if [token.kind for token in other] != self.kinds:  # a name may be read as several tokens
            self.fixed.update(self._indexes_of("name"))
            return not re.match(self.regex(), line)
        for index in self._indexes_of("number"):
            if other[index].sign not in self.seen_signs(index):
                self.signed.add(index)
        # Words first: a name that is fixed reads no other name.
        for kind in ("word", "name"):
            if not re.match(self.regex(), line):
                return True
            for index in self._indexes_of(kind):
                if other[index].text not in {token.text for token in self.places[index]}:
                    self.fixed.add(index)
        return not re.match(self.regex(), line)

    def _indexes_of(self, kind: str) -> list[int]:
        return [index for index, kind_of_place in enumerate(self.kinds) if kind_of_place == kind]

    @property
    def kinds(self) -> list[str]:
        return [variants[0].kind for variants in self.places]


def tokens(line: str) -> list[LineToken]:
    """Return a line in pieces: numbers, words, names of a design, blanks, signs."""
    return [LineToken(str(match.lastgroup), match[0]) for match in _TOKEN.finditer(line.strip())]
