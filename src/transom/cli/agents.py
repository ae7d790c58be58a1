"""`transom agent show`: what an agent is made of."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from contextvars import copy_context
from dataclasses import asdict
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.agent import Agent
from transom.agent.outline import AgentOutline, mermaid_of
from transom.cli.app import group
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.output import print_text
from transom.errors import InputError, TransomError
from transom.llm.naming import imported

if TYPE_CHECKING:
    from transom.server import Door  # the extra `server`

agent_app = group("agent")

_FORMS = (
    "name an Agent, a function that returns it, or a function with @asynccontextmanager that yields"
    " it"
)
AgentName = Annotated[
    str, typer.Argument(metavar="MODULE:AGENT", help="Agent, or a function that returns it.")
]
Mermaid = Annotated[bool, typer.Option("--mermaid", help="Print a flowchart for Mermaid.")]


@asynccontextmanager
async def opened_agent(session: Session, name: str, place: str) -> AsyncIterator[Agent[Any, Any]]:
    """Yield an agent of the user's by its name.

    An agent whose tools need a connection is named by an async context manager that yields it; it
    is left when the command ends.

    Args:
        session: has the working folder.
        name: `package.module:agent`; a function is called without arguments.
        place: where the name was given, for an error.

    Raises:
        InputError: no agent has that name, or it cannot be made.
    """
    if ":" not in name:
        raise InputError(f"{name!r} names no agent", place=place, hint="write MODULE:AGENT")
    # The user's modules lie in the working folder, as a program there would import them.
    value = imported(name, session.cwd, place)
    async with AsyncExitStack() as stack:
        # An agent is an async context manager as well, and is opened by its first message.
        if not isinstance(value, Agent) and isinstance(value, AbstractAsyncContextManager):
            value = await stack.enter_async_context(_OwnManager(value, name, place))
        if not isinstance(value, Agent):
            if inspect.iscoroutine(value):
                value.close()
            problem = f"{name} is a {type(value).__name__}, and no agent"
            raise InputError(problem, place=place, hint=_FORMS)
        yield value


class _OwnManager:
    """An async context manager of the user's; an error in it becomes one line.

    Args:
        manager: the manager.
        name: its name.
        place: where the name was given.
    """

    def __init__(self, manager: AbstractAsyncContextManager[Any], name: str, place: str) -> None:
        self._manager = manager
        self._name = name
        self._place = place

    async def __aenter__(self) -> Any:
        try:
            return await self._manager.__aenter__()
        except Exception as error:
            hint = "correct what stands before its yield"
            raise self._explained(error, "cannot be opened", hint) from error

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        try:
            return await self._manager.__aexit__(kind, error, trace)
        except Exception as own_error:
            cause = _cause_of(own_error)
            # A task group wraps the error that came from inside; that one is what happened.
            if cause is error:
                raise cause from None
            # A task of its own may have failed at any time.
            raise self._explained(own_error, "failed", "correct its code") from own_error

    def _explained(self, error: Exception, outcome: str, hint: str) -> TransomError:
        cause = _cause_of(error)
        if isinstance(cause, TransomError):
            return cause
        problem = f"{self._name} {outcome}: {type(cause).__name__}: {cause}"
        return InputError(problem, place=self._place, hint=hint)


def _cause_of(error: BaseException) -> BaseException:
    """Return the first error that a task group has put into a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class HeldAgent:
    """An agent of the user's that is open while a loop runs now and then, as a context manager.

    One task opens and closes it: what it was opened with, such as a task group or a time limit of
    its own, may not be left by another task.

    Args:
        runner: the loop.
        opened: see `opened_agent`.

    Attributes:
        context: the context variables as they were set before the agent was yielded.
    """

    def __init__(
        self, runner: asyncio.Runner, opened: AbstractAsyncContextManager[Agent[Any, Any]]
    ) -> None:
        self.context = copy_context()
        self._runner = runner
        self._opened = opened
        self._is_over = asyncio.Event()
        self._holder: asyncio.Task[None] | None = None

    def __enter__(self) -> Agent[Any, Any]:
        return self._runner.run(self._open())

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._close())

    async def _open(self) -> Agent[Any, Any]:
        loop = asyncio.get_running_loop()
        agent: asyncio.Future[Agent[Any, Any]] = loop.create_future()
        holder = loop.create_task(self._hold(agent), context=self.context)
        self._holder = holder
        try:
            either: list[asyncio.Future[Any]] = [agent, holder]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            holder.cancel()
            await asyncio.wait([holder])
            raise
        if not agent.done():
            await holder  # raises its error
        return agent.result()

    async def _hold(self, agent: asyncio.Future[Agent[Any, Any]]) -> None:
        async with self._opened as value:
            agent.set_result(value)
            await self._is_over.wait()

    async def _close(self) -> None:
        self._is_over.set()
        if self._holder:
            await self._holder


@asynccontextmanager
async def serve_agent(
    session: Session, name: str, host: str, url: str, token: str, proxy_name: str
) -> AsyncIterator[Door]:
    """Yield an application that serves an agent by OpenAI's API of chat completions.

    Args:
        session: has the workspace.
        name: `package.module:agent`.
        host: the name or address that the server listens on.
        url: its address.
        token: the API key of clients.
        proxy_name: the name of the proxy in front of it; "" if there is none.
    """
    from transom import server  # the extra `server`

    model = name.rpartition(":")[2]
    async with opened_agent(session, name, "--agent") as agent:
        # Each conversation of a client is a run of the workspace.
        store = session.open_store()
        document = {"schema": "transom.serve/1", "url": f"{url}/v1", "token": token, "model": model}
        session.show(document, f"url    {url}/v1", f"key    {token}", f"model  {model}")
        sys.stdout.flush()
        try:
            yield server.build_agent_app(
                agent, model, session.workspace, store, token, host, proxy_name
            )
        finally:
            await store.close()


@command(agent_app, "show", example="transom agent show shop:clerk --mermaid")
def show(session: Session, name: AgentName, mermaid: Mermaid = False) -> int:
    """Show what an agent is made of: its role, what the role sees, its tools and sub-agents."""

    async def outline_of() -> AgentOutline:
        async with opened_agent(session, name, "MODULE:AGENT") as agent:
            return agent.outline()

    outline = asyncio.run(outline_of())
    if mermaid:
        print_text(*mermaid_of(outline).splitlines())
        return 0
    # JSON has all fields of an outline; the lines for people leave out empty ones.
    return session.show({"schema": "transom.agent/1", **asdict(outline)}, *_lines(outline, ""))


def _lines(outline: AgentOutline, margin: str) -> Iterator[str]:
    """Yield the lines of an agent, and those of its sub-agents below it."""
    # An agent without a model of its own is answered by that of its caller.
    model = f"  answered by {outline.provider}" if outline.provider else ""
    yield f"{margin}{outline.role}{model}"
    yield f"{margin}  sees: {', '.join(outline.sees)}"
    if outline.output:
        yield f"{margin}  answers as: {outline.output}"
    for tool in outline.tools:
        call = f"{tool.name}({', '.join(tool.parameters)})"
        yield f"{margin}  tool {call}  {', '.join(tool.terms)}: {tool.description}"
    for name, sub_agent in outline.sub_agents.items():
        yield f"{margin}  sub-agent {name}"
        yield from _lines(sub_agent, f"{margin}    ")
