"""The stop of a program, the world that outlives it, and the program.

A kill costs no process: the database is copied as it is on disk right after a record was committed,
and that copy is what a process that was killed there leaves behind.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from transom.llm import Provider, Reply, Request, Role
from transom.runs import Workspace
from transom.tools import ToolDefinition

if TYPE_CHECKING:
    from tests.agent.stopped.life import Life

What = Literal[
    "kill",
    "cancel",
    "cancel asked",
    "cancel tool",
    "cancel tick",
    "fail",
    "refuse",
    "full",
    "cap",
    "hear",
]
Answer = Literal["redo", "keep"]
Then = Literal["same", "new"]


@dataclass(frozen=True)
class Stop:
    """The place where a life is stopped.

    Attributes:
        what: `kill` and `cancel` as the k-th record is committed; `cancel asked` and `cancel tool`
            while the k-th request or tool is under way; `cancel tick` at the k-th turn of the event
            loop; `fail`: the k-th request; `refuse`: the store the k-th write; `full`: it and all
            that follow in that life; `cap`: what may be used is used up with the k-th reply;
            `hear`: the listener raises at the k-th event.
        at: k, from 1; 0 for never.
        then: `same`: the same life goes on; `new`: another one does.
        answer: of the person who is asked about a tool that was begun.
        resumes: a later life begins with `resume`, and does not say everything again.
        twice: of a kill, the record at which the next life is killed, too; 0 for none.
    """

    what: What = "kill"
    at: int = 0
    then: Then = "same"
    answer: Answer = "redo"
    resumes: bool = False
    twice: int = 0

    def at_place(self, at: int) -> Stop:
        return replace(self, at=at)


class World:
    """All that outlives a process: the folder, and a log of what was asked and done, a line each.

    Args:
        folder: where it lies.
        name: of the conversation; several may share a database.
    """

    def __init__(self, folder: Path, name: str = "talk") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.name, self.log = folder, name, folder / f"{name}.txt"
        self.database = Workspace.at(folder / "w").database

    def note(self, line: str) -> None:
        with self.log.open("a", encoding="utf-8") as out:
            out.write(line + "\n")

    def lines(self, first: str = "") -> list[str]:
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return [line for line in lines if line.startswith(first)]

    def copy(self, to: Path) -> World:
        """A copy as it is on disk now; the log first, since what is logged later may follow from
        a later record.
        """
        lines = self.log.read_bytes() if self.log.exists() else b""
        there = World(to, self.name)
        there.log.write_bytes(lines)
        for name in ("", "-wal"):
            if (file := Path(f"{self.database}{name}")).exists():
                shutil.copyfile(file, f"{there.database}{name}")
        if (files := self.folder / "w" / "runs").is_dir():
            # what is being written now, or is for people alone
            halves = shutil.ignore_patterns(".*")
            shutil.copytree(
                files,
                there.folder / "w" / "runs",
                ignore=halves,
                dirs_exist_ok=True,
                copy_function=_copy_unless_removed,
            )
        return there

    def journal(self) -> list[tuple[str, Any]]:
        """All records of the conversation's run."""
        with closing(sqlite3.connect(self.database)) as connection:
            rows = connection.execute("SELECT value FROM documents WHERE name = 'runs'").fetchall()
            mine = [
                one["id"]
                for one in map(json.loads, (value for (value,) in rows))
                if one["name"] == self.name
            ]
            found = "SELECT kind, data FROM records WHERE stream = ? ORDER BY seq"
            return [
                (kind, json.loads(data))
                for one in mine
                for kind, data in connection.execute(found, [f"run/{one}"])
            ]

    def replies(self) -> Counter[str]:
        """The replies of the journal, by what they answer."""
        return Counter(
            data["request"][:12] for kind, data in self.journal() if kind == "model_reply"
        )


@dataclass(frozen=True)
class Scene:
    """A program.

    Attributes:
        name: of the scenario.
        role: who is talked with.
        messages: what is said.
        answer: what a model says to a request.
        tools: made anew for each life.
        program: what it does instead of saying all messages in one agent that is kept.
        wrap: has the provider be asked by another one.
        lasting: whether a later life may begin with `resume`.
        heard: whether what a listener hears is held to what was said.
        folds: whether its windows are folded: after a restart that is done anew, so that requests
            differ.
    """

    name: str
    role: Role
    messages: tuple[str, ...]
    answer: Callable[[Request], Reply | str | Awaitable[Reply | str]]
    tools: Callable[[Life], list[ToolDefinition]] = lambda life: []
    program: Callable[[Life], Awaitable[None]] | None = None
    wrap: Callable[[Provider], Provider] = lambda provider: provider
    lasting: bool = True
    heard: bool = False
    folds: bool = False


def _copy_unless_removed(source: str, target: str) -> None:
    """Copy a file; a thread may remove an old checkpoint while its folder is being copied."""
    with suppress(FileNotFoundError):
        shutil.copy2(source, target)
