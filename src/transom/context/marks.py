"""Marks that code sets on an event of a conversation. They never come from a model's text."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from transom.canonical import Json
from transom.errors import InputError

_LONGEST = 200
_MOST = sys.float_info.max


@dataclass(frozen=True)
class Mark:
    """Facts about an event that survive when the older part of its conversation is folded.

    Attributes:
        milestone: what was reached; the event then stays word for word.
        preserve: it stays for another reason.
        values: what was measured in it, e.g. a trial's objective; their figures stay exact when it
            is gone.

    Raises:
        InputError: a milestone or a name that is no short line, which is all that a note has room
            for; a value that is no finite number.
    """

    milestone: str = ""
    preserve: bool = False
    values: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for text in (self.milestone, *self.values):
            # The note of a folded conversation repeats it in our own name, so it must be a line.
            argument: object = text
            if (
                not isinstance(argument, str)
                or len(argument) > _LONGEST
                or not argument.isprintable()
            ):
                hint = f"write a line of at most {_LONGEST} characters"
                raise InputError(f"{text!r:.80} is no short line", place="Mark", hint=hint)
        for name, value in self.values.items():
            # Sums are exact fractions, and an infinity or NaN has none.
            number: object = value
            if (
                not isinstance(number, int | float)
                or isinstance(number, bool)
                or not abs(number) <= _MOST
            ):
                raise InputError(
                    f"{name} is {value!r}, no finite number", place="Mark", hint="leave it out"
                )

    def __bool__(self) -> bool:
        """Whether it marks anything."""
        return bool(self.milestone or self.preserve or self.values)

    def to_json(self) -> dict[str, Json]:
        return {"milestone": self.milestone, "preserve": self.preserve, "values": {**self.values}}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read the JSON of `to_json`; None is no mark."""
        return cls(**data) if data else cls()


UNMARKED = Mark()
