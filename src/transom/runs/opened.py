"""What a tool call opened: its handler may talk in conversations of its own, and those are the call's.

A call that came to no outcome is tried again, in this life of the program or in a later one. It has to find what it
opened the last time, and nothing that another call did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from transom.errors import RunError
from transom.llm import ToolCall
from transom.llm.turns import Egress, strictest
from transom.runs.doubts import mark_of
from transom.runs.journal import ToolKey, tool_key
from transom.runs.windows import CallKey

if TYPE_CHECKING:
    from transom.runs.stage import Stage

_UNDER_WAY: ContextVar[tuple[Call, ...]] = ContextVar("under_way", default=())
Entered: TypeAlias = "Token[tuple[Call, ...]]"


class Heard(Protocol):
    """What a handler talks in, or reads; it may become local meanwhile."""

    @property
    def egress(self) -> Egress:
        """How local it is by now."""
        ...


class Call:
    """A tool call that is being carried out.

    Attributes:
        stage: in whose journal its outcome will be.
        key: see `Stage.called`.
        egress: of the conversation that makes it.
        over: whether it came to its end.
        failed: whether that was an error, or none at all.
        rewinds: by the names of what it opened, each begins that anew for the next try.
        named: those of them that its handler gave a name of their own in the stage.
        said: how much it said, or said again, in conversations that it did not open, by their names.
        heard: the conversations that its handler talked in, wherever they live, by their ids in Python.
        busy: its tasks that have the floor somewhere, by the floors: one that has several is in each of them.

    Args:
        stage: see above.
        key: see above.
        call: what is asked for.
        egress: see above.
    """

    def __init__(self, stage: Stage, key: CallKey, call: ToolCall, egress: Egress = "any") -> None:
        self.stage = stage
        self.key = key
        self.egress = egress
        self.over = self.failed = False
        self.rewinds: dict[str, Callable[[], None]] = {}
        self.named: set[str] = set()
        self.said: dict[str, int] = {}
        self.heard: dict[int, Heard] = {}
        self.busy: dict[object, asyncio.Task[Any] | None] = {}
        self._call = call

    @cached_property
    def place(self) -> ToolKey:
        """What its outcome is found by."""
        return tool_key(self.key)

    @cached_property
    def in_stage(self) -> list[Any]:
        """The same, as far as it tells the calls of one stage apart, and as it is journaled."""
        return [*self.place[2:]]

    @cached_property
    def mark(self) -> str:
        """Equal for calls that ask for the same."""
        return mark_of(self._call)

    def told(self) -> dict[str, Any]:
        """As what it opens is journaled with."""
        return {"call": self.in_stage, "wanted": self.mark}

    @property
    def talked(self) -> bool:
        """Whether its handler opened a conversation, or said anything in one."""
        return bool(self.rewinds or self.said)

    @property
    def heard_egress(self) -> Egress:
        """How local that is which its handler yields: as all that it heard."""
        return strictest(*[one.egress for one in self.heard.values()])

    def enter(self) -> Entered:
        """What is done from here on is done in it, until `leave`."""
        return _UNDER_WAY.set((*_UNDER_WAY.get(), self))

    @staticmethod
    def leave(entered: Entered) -> None:
        """What is done from here on is as it was before `enter`."""
        _UNDER_WAY.reset(entered)

    async def end(self) -> None:
        """It ended in an error, which is journaled: what is still under way is stopped, and its names are free."""
        self.failed = True
        if self.busy:
            await self._stop()
        for name in self.named:  # what has no name of its own is found, or not, by which call it is of
            self.rewinds[name]()

    async def fail(self) -> None:
        """It came to no outcome, and is tried again: what it opened is found in the journal then, from the start."""
        self.over = self.failed = True
        try:
            if self.busy:
                await self._stop()
        finally:
            for rewind in list(self.rewinds.values()):
                rewind()

    async def _stop(self) -> None:
        """Stop what its handler began and does not wait for, and wait until that is over."""
        others = {task for task in self.busy.values() if task is not None and task is not asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others)


@contextmanager
def in_no_call() -> Iterator[None]:
    """What is done inside is done for others than the calls that this is done in."""
    entered = _UNDER_WAY.set(())
    try:
        yield
    finally:
        _UNDER_WAY.reset(entered)


def calls_under_way() -> list[Call]:
    """All calls that this is done in, whosever they are."""
    return [one for one in _UNDER_WAY.get() if not one.over]


def hear_in_calls(heard: Heard) -> None:
    """Have what the handlers yield, in whose calls this is done, be as local as what they talk in."""
    for call in calls_under_way():
        call.heard[id(heard)] = heard


def egress_in_calls() -> Egress:
    """How local that is which a handler says or opens here: as its conversation, and as all that it heard by now."""
    calls = calls_under_way()
    return strictest(*[one.egress for one in calls], *[one.heard_egress for one in calls])


def check_not_over(where: str) -> None:
    """Let nothing be said any more by what the handler of a failed call began, and did not wait for.

    Args:
        where: it would be said.

    Raises:
        RunError: it is part of such a call.
    """
    if any(one.failed for one in _UNDER_WAY.get()):
        hint = "await in the tool's handler whatever it begins"
        what = "the tool call that this is part of failed, and what it began ends with it"
        raise RunError(what, where=where, hint=hint)


def call_in(stage: Stage) -> Call | None:
    """The innermost call of a stage that this is done in; None where a program does it, or the call is over by now."""
    return next((one for one in reversed(_UNDER_WAY.get()) if one.stage is stage and not one.over), None)
