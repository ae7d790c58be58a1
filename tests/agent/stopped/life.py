"""One process's worth of a program: its own store, agents and tasks, and what the world does to
it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.agent.helpers import approve
from tests.agent.stopped.world import Scene, Stop, World
from transom.agent import Agent, Budget, Home
from transom.agent.models import Response
from transom.errors import NetworkFailed, Paused, StoreError, TransomError
from transom.llm import Provider, Reply, Request, ScriptedProvider, UserMessage
from transom.store import SqliteStore

MOST = 14
"""Tries to go on, after which a message is taken to have no end."""


class Deaf(Exception):
    """The error that a listener raises."""


class Gone(BaseException):
    """The life is over: another one follows."""


@dataclass
class Life:
    """One process's worth of a scene."""

    scene: Scene
    world: World
    stop: Stop = field(default_factory=Stop)
    resumes: bool = False
    answers: dict[str, Any] = field(default_factory=dict)
    agent: Any = None
    inner: dict[str, Any] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    stopped: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    under_way: asyncio.Task[Any] | None = None
    store: Any = None
    lost: int = 0
    killed: Callable[[int], None] | None = None

    # what the world does to it

    def comes(self, what: str) -> bool:
        """True where the next one of a kind is where it is stopped."""
        self.counts[what] += 1
        return self.stop.what == what and self.counts[what] == self.stop.at

    def cancel(self) -> None:
        if self.under_way and not self.stopped:
            self.stopped = True
            self.under_way.cancel()

    async def did(self, line: str) -> None:
        """A tool did something."""
        self.world.note(f"did {line}")
        if self.comes("cancel tool"):
            asyncio.get_running_loop().call_soon(self.cancel)
        for _ in range(2):
            await asyncio.sleep(0)

    def provider(self) -> Provider:
        async def answer(request: Request) -> Reply | str:
            self.world.note(f"ask {request.role} {request.digest[:12]}")
            if self.comes("fail"):
                self.stopped = True
                self.lost += 1
                self.world.note(f"failed {request.role}")
                raise NetworkFailed("the line is dead")
            if self.comes("cap"):
                self.stopped, self.agent.budget = True, Budget(tokens=0)
            if self.comes("cancel asked"):
                asyncio.get_running_loop().call_soon(self.cancel)
            await asyncio.sleep(0)
            made = self.scene.answer(request)
            return made if isinstance(made, Reply | str) else await made

        return self.scene.wrap(ScriptedProvider(answer))

    def open_store(self) -> SqliteStore:
        loop = asyncio.get_running_loop()

        def after(number: int) -> None:
            if self.killed:
                self.killed(number)
            if self.stop.what == "cancel" and number == self.stop.at:
                loop.call_soon_threadsafe(self.cancel)

        store = SqliteStore.open(self.world.database, after_append=after)
        writer: Any = store._writer
        submit, soon = writer.submit, writer.hand_over_soon

        def held(work: Any) -> Any:
            stop, self.counts["write"] = self.stop, self.counts["write"] + 1
            at = self.counts["write"]
            if not (
                (stop.what == "refuse" and at == stop.at)
                or (stop.what == "full" and at >= stop.at > 0)
            ):
                return work
            self.stopped = True
            return _no_room

        writer.submit = lambda work, **more: submit(held(work), **more)
        writer.hand_over_soon = lambda work, **more: soon(held(work), **more)
        return store

    def hear(self, event: object) -> None:
        if self.scene.heard:
            self.inner.setdefault("heard", []).append(event)
        if self.comes("hear"):
            self.stopped = True
            raise Deaf("no")

    # what it does

    async def live(self) -> Life:
        """To its end, or to its stop where another life follows."""
        async with self.open_store() as store:
            self.store = store
            try:
                await (self.scene.program or kept)(self)
            except Gone:
                self.wrong.append("gone") if not self.stopped else None
            except TransomError as error:
                # which the program is begun again after
                if not (self.stopped and isinstance(error, StoreError)):
                    self.wrong.append(
                        f"out of the program: {type(error).__name__}: {str(error)[:150]}"
                    )
        return self

    def agent_at(self, at: Any, **more: Any) -> Agent:
        """The scene's, which handlers open sub-conversations in."""
        self.agent = agent = Agent(
            self.scene.role, tools=self.scene.tools(self), at=at, on_event=self.hear, **more
        )
        return agent

    async def talk(
        self, agent: Agent, messages: Iterable[str] | None = None, name: str = "main"
    ) -> Response | None:
        """Say all of it in an agent, in each life that resumes what was not said yet."""
        last, said = None, list(messages or self.scene.messages)
        if self.resumes:
            last = await self.until(agent, agent.resume, "")
            before = [
                turn.text
                for turn in agent._session.log.state.turns  # type: ignore[union-attr]  # something was said
                if isinstance(turn, UserMessage)
            ]
            said = [message for message in said if message not in before]
        for message in said:
            last = await self.until(agent, lambda: agent.send(message), message)  # noqa: B023  # awaited at once
        if last is not None:
            turns = [turn.to_json() for turn in last.turns]
            self.answers[name] = {
                "text": last.text,
                "ended": last.ended,
                "usage": last.usage,
                "turns": turns,
            }
        return last

    async def until(
        self, agent: Agent, step: Callable[[], Awaitable[Response | None]], message: str
    ) -> Any:
        """Until it is answered: whoever is asked something says it, and what was stopped is gone
        on with.
        """
        for _ in range(MOST):
            work: asyncio.Task[Any] = asyncio.ensure_future(step())
            self.under_way = work
            try:
                response = await work
                if response is None or response.ended != "tokens" or not self.stopped:
                    return response
                agent.budget = Budget()
            except (asyncio.CancelledError, TransomError, Deaf) as error:
                await self.take(agent, error)
            finally:
                self.under_way = None
            self.inner.get("heard", []).append("stopped")
            if self.stopped and self.stop.then == "new":
                raise Gone
            await self.note_lost()
            talk: Any = agent._session
            if message and (talk is None or _asked(talk.log.state) != message):
                step = lambda: agent.send(message)  # noqa: E731  # as short as the others
            else:
                step = agent.resume
        self.wrong.append(f"no end: {message!r}")
        raise Gone

    async def again(self, step: Callable[[], Awaitable[Any]]) -> Any:
        """Until it is done: what was stopped is tried again."""
        for _ in range(MOST):
            self.under_way = asyncio.ensure_future(step())
            try:
                return await self.under_way
            except (asyncio.CancelledError, TransomError, Deaf) as error:
                await self.take(self.agent, error)
            if self.stop.then == "new" and self.stopped:
                raise Gone
            await self.note_lost()
        self.wrong.append("no end of what is tried again")
        raise Gone

    async def take(self, agent: Agent, error: BaseException) -> None:
        """Take the end of a try: a person answers what is asked; the stop is as it should be,
        all else is not.
        """
        if isinstance(error, Paused) and error.question and error.question["kind"] == "approval":
            await approve(agent, error)
        elif isinstance(error, Paused):
            await self.decide(agent)
        elif not self.stopped or not isinstance(
            error, asyncio.CancelledError | NetworkFailed | StoreError | Deaf
        ):
            raise error

    async def note_lost(self) -> None:
        with suppress(sqlite3.Error):
            self.lost = len(self.world.lines("ask")) - self.world.replies().total()

    async def decide(self, agent: Agent) -> None:
        """A person answers all that was begun."""
        host: Any = agent._session.log.host  # type: ignore[union-attr]  # something was said
        for choice in list(host.state.waiting.values()):
            if choice.get("kind") == "begun":
                self.world.note(f"{self.stop.answer} {choice['tool']} {choice['arguments']}")
                await host.decide(self.stop.answer, choice["fingerprint"])


def _asked(state: Any) -> str:
    """The last message of the program."""
    return str(state.messages[-1].text) if state.messages else ""


def _no_room(connection: sqlite3.Connection) -> None:
    del connection
    raise sqlite3.OperationalError("database or disk is full")


async def kept(life: Life) -> None:
    """All messages of the scene in one agent that is kept."""
    home = Home(life.world.folder / "w", life.world.name, life.store)
    async with life.agent_at(home, provider=life.provider()) as agent:
        await life.talk(agent)
