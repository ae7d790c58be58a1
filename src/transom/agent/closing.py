"""Who may still use an agent that is closed, or about to be: the program, and none of the tasks that it left behind.

Such a task would open again what is closed, and nobody would close it any more. A task was left behind where it was
there when the agent was closed. What is part of a message that is under way comes to its end before that.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from transom.errors import RunError

_COUNT = itertools.count(1)
_THERE: WeakKeyDictionary[asyncio.Task[Any], int] = WeakKeyDictionary()
"""Of each task that was there when any agent was closed, the first time that one was; see `Closing.last`."""


class Closing:
    """That of one agent and its sub-conversations.

    Attributes:
        last: when it was closed last, of all agents' closings as they are counted; 0 while it never was.
    """

    def __init__(self) -> None:
        self.last = 0
        self._own = WeakSet[asyncio.Task[Any]]()  # tasks that made it, entered it, or closed it
        self._under_way = 0
        self._has_maker = self._is_owned = self.is_used()

    def is_used(self) -> bool:
        """The program uses it in this task, again or for the first time; False where there is no task."""
        try:
            task = asyncio.current_task()
        except RuntimeError:  # no event loop
            return False
        if task is not None:
            self._own.add(task)
        return task is not None

    @contextmanager
    def closes(self) -> Iterator[None]:
        """It is closed inside."""
        self.is_used()
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._is_owned = self._has_maker
            self.last = next(_COUNT)
            for task in asyncio.all_tasks():
                _THERE.setdefault(task, self.last)

    def check(self, where: str, *, part: bool, since: int | None) -> None:
        """Let nobody use it who was left behind.

        Args:
            where: it is used.
            part: whether that is part of a message that is under way in it.
            since: where it is a sub-conversation, when it was opened, see `last`.

        Raises:
            RunError: it is closed, and whoever uses it was there by then; or it is about to be.
        """
        self._check(where, part=part, since=since)
        if not self._is_owned:  # it was made where there is no task: whoever uses it first stands for that
            self._is_owned = self.is_used()

    def _check(self, where: str, *, part: bool, since: int | None) -> None:
        if not (self._under_way or self.last) or (part and self._under_way):
            return
        if since is not None and since != self.last:
            hint = "open it again: a kept one of the same purpose goes on"
            raise RunError("the agent that opened it is closed", where=where, hint=hint)
        task = asyncio.current_task()
        left = task is not None and task not in self._own and _THERE.get(task, self.last + 1) <= self.last
        if self._under_way or left:
            what = "the agent was closed while this task was under way" if left else "the agent is being closed"
            hint = "await all that talks in it before that; who goes on enters it (async with), or makes another one"
            raise RunError(what, where=where, hint=hint)
