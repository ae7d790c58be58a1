"""The names of a stage's conversations: what the journal has of one is found by its name when the code runs again."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from transom.errors import InputError, RunError

if TYPE_CHECKING:
    from transom.runs.stage import Stage

MAIN = "main"
_NUMBER = re.compile(r"#\d+$")
_Tasks = WeakSet[asyncio.Task[Any]]


@dataclass(frozen=True)
class Named:
    """A conversation of a stage by a name of its own, see `Stage.named`."""

    stage: Stage
    name: str


class Names:
    """Those of one attempt of a stage; each is given once.

    Conversations without a name of their own are numbered as they come. That is the same whenever the code runs again
    as long as the code says who comes first. Where tasks are under way at once the event loop does.

    Args:
        where: the run and the stage.
        asked: names of those that the stage's function asks in by itself.
    """

    def __init__(self, where: str, asked: Container[str]) -> None:
        self._where, self._asked = where, asked
        self._given: set[str] = set()
        self._over: set[str] = set()
        self._next: Counter[str] = Counter()
        self._root = _Tasks(_current())
        self._openers = _Tasks()
        self._beside = _Tasks()  # under way while another task opened one

    def is_free(self, name: str) -> bool:
        """Whether nobody has that name in this life, and none that came to its end in an earlier one."""
        return name not in self._given and name not in self._asked and name not in self._over

    def is_over(self, name: str) -> None:
        """A conversation of an earlier life came to its end, and is not opened again: its name is given to nobody."""
        self._over.add(name)

    def was_over(self, name: str) -> bool:
        """Whether it came to its end, in this life or in an earlier one, and is not opened again."""
        return name in self._over

    def give_back(self, name: str) -> None:
        """A conversation that was left in the middle is begun anew, and so are its sub-conversations."""
        self._given, self._over = (
            {one for one in names if not is_within(one, name)} for names in (self._given, self._over)
        )
        self._next.pop(_NUMBER.sub("", name), None)  # numbers are given from the first one again

    def free(self, name: str) -> str:
        """That name, or else the next one with a number: `main`, `main#2`, ..."""
        while True:
            number = self._next[name] + 1
            found = name if number == 1 else f"{name}#{number}"
            if self.is_free(found):
                return found
            self._next[name] = number

    def claim(self, name: str) -> str:
        """Give a name to a conversation that begins.

        Raises:
            RunError: another one has it.
        """
        if not self.is_free(name):
            hint = "say something in the agent that has it, or give this one a name of its own"
            raise RunError(f"a conversation {name!r} was opened in this stage already", where=self._where, hint=hint)
        self._given.add(name)
        return name

    def unnamed(self) -> str:
        """The name of a conversation that was given none.

        Raises:
            RunError: which one gets which name is up to the event loop.
        """
        me = _current()
        for task in me:
            others = any(not one.done() for one in self._openers if one is not task)
            if task in self._beside and (others or task not in self._root):  # the stage's own waits for those it begins
                what = "agents without names are opened in it by tasks that are under way at once, so which of them"
                what += " the journal's replies and results belong to may be another one when the code runs again"
                hint = 'give each one a name: Agent(role, at=stage.named("..."))'
                raise RunError(what, where=self._where, hint=hint)
            self._beside.update(asyncio.all_tasks() - {task})
        self._openers.update(me)
        return self.claim(self.free(MAIN))


def is_within(name: str, outer: str) -> bool:
    """Whether a conversation is that one, or one of its sub-conversations."""
    return name.startswith(outer) and name[len(outer) : len(outer) + 1] in ("", "/")


def checked(name: object, where: str) -> str:
    """A name that a program gives to a conversation.

    Raises:
        InputError: it is no name, or one that stands for something else.
    """
    hint = 'say stage.named("q0")'
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InputError(f"a conversation's name is a line of text, and this is {name!r}", where=where, hint=hint)
    if name == MAIN or "/" in name or "#" in name:
        what = f"a conversation cannot be named {name!r}: {MAIN!r} and names with a number sign are of those without"
        raise InputError(f"{what} a name, names with a slash of sub-conversations", where=where, hint=hint)
    return name


def _current() -> set[asyncio.Task[Any]]:
    """The task that runs now, if any does."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop
        return set()
    return set() if task is None else {task}
