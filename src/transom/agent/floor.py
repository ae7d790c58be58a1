"""Who has the floor in a conversation: one message at a time, and what the tools of that one do is part of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import TypeAlias

from transom.errors import RunError
from transom.runs.opened import Call, calls_under_way, check_not_over

_PART_OF: ContextVar[tuple[object, ...]] = ContextVar("part_of", default=())
Part: TypeAlias = Token[tuple[object, ...]]

_HINT = "return what you found, or talk in a sub-conversation; what comes next is sent when this message is answered"


class Floor:
    """A lock that says so, instead of waiting, where who asks for it is part of what has it: that wait has no end.

    Tools may run in tasks and threads of their own, which have the variables of the context that they came from. Who
    outlives the message that it was part of waits like everybody else.
    """

    def __init__(self, where: str = "") -> None:
        self._where = where
        self._lock = asyncio.Lock()
        self._holder: object | None = None
        self._calls: list[Call] = []  # that who has it is part of

    @property
    def is_ours(self) -> bool:
        """Whether who asks is part of what has it."""
        return self._holder is not None and self._holder in _PART_OF.get()

    @property
    def is_taken(self) -> bool:
        """Whether anybody has it."""
        return self._holder is not None

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody has it, of whom who asks is no part."""
        return self._holder is not None and not self.is_ours

    def begin(self) -> Part:
        """What is done from here on is part of what has it, until `end`."""
        return _PART_OF.set((*_PART_OF.get(), self._holder))

    @staticmethod
    def end(part: Part) -> None:
        """What is done from here on is as it was before `begin`."""
        _PART_OF.reset(part)

    async def over(self) -> None:
        """Wait until what has it is over; not where who waits is part of that."""
        if self.is_waited_for:
            await self._lock.acquire()
            self._lock.release()

    @contextmanager
    def part(self) -> Iterator[None]:
        """What is done inside is part of what has it."""
        part = self.begin()
        try:
            yield
        finally:
            self.end(part)

    async def __aenter__(self) -> None:
        """Wait for it.

        Raises:
            RunError: who waits is part of what has it, or of a tool call that failed.
        """
        if self.is_ours:
            what = "a message is under way in it, of which whoever says this is part"
            raise RunError(what, where=self._where, hint=_HINT)
        await self._lock.acquire()
        try:
            check_not_over(self._where)
        except RunError:
            self._lock.release()
            raise
        self._holder = object()
        self._calls, task = calls_under_way(), asyncio.current_task()
        for call in self._calls:
            call.busy[self] = task

    async def __aexit__(self, *_: object) -> None:
        for call in self._calls:
            call.busy.pop(self, None)
        self._holder = None
        self._lock.release()


def is_part_of(floors: Iterable[Floor]) -> bool:
    """Whether what is done here is part of what has one of them: a handler runs in it."""
    return bool(_PART_OF.get()) and any(floor.is_ours for floor in floors)
