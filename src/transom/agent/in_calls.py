"""What handlers of tools said in conversations that they did not open: a call that is tried again says it once.

Several may talk in one conversation, calls beside each other and a program. So each call has a course of its own there:
what it said first, then, and so on. What was left without an answer, and has something else behind it, is said anew at
the conversation's end, and takes the place of the one that was left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from transom.canonical import Json

if TYPE_CHECKING:
    from transom.agent.views import Response
    from transom.llm import Block, Turn
    from transom.runs.opened import Call

Place: TypeAlias = tuple[Json, ...]
"""Of a call in its stage, see `Call.in_stage`."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A response without what its conversation has anyway: each one has all that was said before it."""

    bare: Response
    turns: int
    seen: int | None  # how many of them the last call saw, from the first on; None where its window keeps its own

    @classmethod
    def of(cls, response: Response) -> _Answer:
        window, turns, seen = response.window, response.turns, None
        if window and window.turns == turns[: len(window.turns)]:
            window, seen = replace(window, turns=()), len(window.turns)
        return cls(replace(response, turns=(), window=window), len(turns), seen)

    def whole(self, turns: Sequence[Turn]) -> Response:
        window = self.bare.window
        if window and self.seen is not None:
            window = replace(window, turns=tuple(turns[: self.seen]))
        return replace(self.bare, turns=tuple(turns[: self.turns]), window=window)


@dataclass(eq=False)
class InCall:
    """One message, and its answer.

    Attributes:
        told: it, as it is journaled.
        call: whose handler says it; None where that opened the conversation, or a program does.
        blocks: what it came with, as long as it has no answer.
        left: what it ended with instead, in the course of the code that ran before.
    """

    told: Any
    call: Place | None
    blocks: tuple[Block, ...] = ()
    left: BaseException | None = None
    _answer: _Answer | None = None

    @property
    def is_answered(self) -> bool:
        return self._answer is not None

    def says(self, told: Any) -> bool:
        """Whether that is the same message."""
        return all(self.told.get(name) == told.get(name) for name in ("text", "blocks"))

    def take(self, response: Response) -> None:
        """It has its answer."""
        self._answer, self.blocks = _Answer.of(response), ()

    def answer(self, turns: Sequence[Turn]) -> Response | None:
        """It, where it has one, in a conversation of those turns."""
        return self._answer.whole(turns) if self._answer else None


@dataclass
class InCalls:
    """Those of one conversation, by the calls that said them.

    Attributes:
        last: what was said last, by whomever.
        ahead: what the journal has of a program, and it has not said yet in this life: calls that are tried again go
            to the end of what stands there.
    """

    last: InCall | None = None
    ahead: deque[InCall] = field(default_factory=deque)
    _of: dict[Place, list[InCall]] = field(default_factory=dict)

    def say(self, told: Any, blocks: tuple[Block, ...], is_over: Callable[[Place], bool]) -> None:
        """Something is said.

        Args:
            told: it, as it is journaled; `again` says in whose place of the call's course it stands.
            blocks: what it comes with.
            is_over: whether a call came to its end: what it said is of no more use.
        """
        self._of = {call: said for call, said in self._of.items() if not is_over(call)}
        call = tuple(told["call"]) if told.get("call") else None
        self.last = InCall(told, call, blocks)
        if call is None or is_over(call):
            return
        said, number = self._of.setdefault(call, []), told.get("again")
        if number is None or number >= len(said):
            said.append(self.last)
        elif said[number].says(told):
            said[number] = self.last
        else:  # another course from there on
            said[number:] = [self.last]

    def answered(self, response: Response) -> Response:
        """What was said last has its answer."""
        if self.last and (self.last.call or self.last in self.ahead):
            self.last.take(response)
        return response

    def again(self, where: str, call: Call) -> dict[str, Json]:
        """What is journaled with what a call says now, where it is in the place of what it said in an earlier try."""
        number = call.said.get(where, 0)
        return {"again": number} if number < len(self._of.get(tuple(call.in_stage), ())) else {}

    def before(self, where: str, told: Any, call: Call, *, at_rest: bool) -> InCall | None:
        """What a call said at the same place of its course, when it was tried before.

        Without an answer it is gone on with where it was said last of all, by whomever, and waits for one still.

        Args:
            where: the conversation's name.
            told: what it says now, as it would be journaled.
            call: see above.
            at_rest: whether all that was said there has its answer.
        """
        said, number = self._of.get(tuple(call.in_stage), ()), call.said.get(where, 0)
        if number >= len(said) or not said[number].says(told):
            return None
        waits = said[number] is self.last and not at_rest
        return said[number] if waits or said[number].is_answered else None
