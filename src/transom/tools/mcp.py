"""Tools of an MCP server, over stdio or HTTP, as tools of ours. Needs the extra `mcp`."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, Self, TypeVar

from transom.canonical import Json
from transom.errors import ToolError, ToolExecutionError
from transom.llm.turns import Egress
from transom.telemetry import Redactor
from transom.tools.definition import Arguments, Effect, ToolDefinition, ToolLimits
from transom.tools.schema import AT_THE_TOP, Check

T = TypeVar("T")

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_GO_ON = "go on without it; it may be there again later"


class McpServer:
    """A server and its tools, while it is entered. What it yields is untrusted, whatever it says of itself.

    A server that dies, now or in the middle of a call, is a failed tool call that the model is told of.

    Args:
        server: a command with its arguments, which is started and spoken to over stdio, or a URL.
        limits: of each of its tools.
        only: names of the tools that are taken; all where None.
        prefix: before each name, where several servers have tools of one name.
        egress: `local` where what it yields must not reach a remote provider.
        environ: variables of a command, beside the few that it is given anyhow. Keys among them stand in no result.
    """

    def __init__(
        self,
        server: str | Sequence[str],
        *,
        limits: ToolLimits | None = None,
        only: Collection[str] | None = None,
        prefix: str = "",
        egress: Egress = "any",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._server = server
        self._limits = limits or ToolLimits()
        self._only = only
        self._prefix = prefix
        self._egress = egress
        self._environ = dict(environ or {})
        self._redact = Redactor({**os.environ, **self._environ})
        self._client: Any = None
        self._leave = asyncio.Event()
        self._life: asyncio.Task[None] | None = None
        self.tools: tuple[ToolDefinition, ...] = ()

    @property
    def name(self) -> str:
        """As it is called in errors."""
        return self._server if isinstance(self._server, str) else " ".join(self._server)

    async def __aenter__(self) -> Self:
        """Connect, and ask for its tools.

        Raises:
            ToolError: the extra is missing, or the server cannot be reached or does not answer as one.
        """
        try:
            import mcp  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
        except ImportError as error:
            raise ToolError("tools of MCP servers need the extra mcp", hint="pip install 'transom[mcp]'") from error
        target: Any = self._server
        if not isinstance(self._server, str):
            command, *arguments = self._server
            target = mcp.StdioServerParameters(command=command, args=arguments, env=self._environ or None)
        ready = asyncio.Event()
        self._life = asyncio.create_task(self._live(mcp.Client(target, cache=None), ready))
        begun = asyncio.create_task(ready.wait())
        await asyncio.wait({begun, self._life}, return_when=asyncio.FIRST_COMPLETED)
        begun.cancel()
        try:
            if self._client is None:
                raise self._life.exception() or ConnectionError("it does not answer")
            self.tools = tuple(self._tool(one) for one in await self._while_alive(self._listed()))
        except Exception as error:
            await self._end()
            raise ToolError(f"the MCP server cannot be used: {self._said(error)}", where=self.name) from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    async def _live(self, client: Any, ready: asyncio.Event) -> None:
        """The connection, in a task of its own: when it breaks, the library cancels the task that opened it."""
        async with client:
            self._client = client
            ready.set()
            await self._leave.wait()

    async def _end(self) -> None:
        """Say goodbye; a server that has died does not answer, and nothing is lost by that."""
        self._leave.set()
        if self._life:
            await asyncio.gather(self._life, return_exceptions=True)

    async def _while_alive(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for an answer, but not longer than there is somebody to give it."""
        assert self._life is not None
        answer = asyncio.ensure_future(work)
        try:
            await asyncio.wait({answer, self._life}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise ConnectionError("it is gone")
            return answer.result()
        finally:
            answer.cancel()

    async def _listed(self) -> list[Any]:
        found: list[Any] = []
        cursor = None
        while True:
            page = await self._client.list_tools(cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
            if cursor is None:
                return [one for one in found if self._only is None or one.name in self._only]

    def _tool(self, tool: Any) -> ToolDefinition:
        schema, more = _shown(tool.input_schema)
        return _ServerTool(
            self._prefix + _NOT_IN_NAMES.sub("_", tool.name)[:64],
            f"{tool.description or tool.name}{more}",
            schema,
            self._handler(tool.name),
            _effect(tool.annotations),
            self._limits,
            fresh=True,
            egress=self._egress,
        )

    def _handler(self, name: str) -> Any:
        async def run(arguments: Arguments) -> Json:
            try:
                result = await self._while_alive(self._client.call_tool(name, arguments))
            except Exception as error:
                raise ToolExecutionError(f"the MCP server failed: {self._said(error)}", hint=_GO_ON) from error
            text = self._redact("\n".join(_text(part) for part in result.content))
            if result.is_error:
                raise ToolExecutionError(text or "the tool failed and did not say why", hint="try other arguments")
            return text if text or result.structured_content is None else self._redact.inside(result.structured_content)

        return run

    def _said(self, error: BaseException) -> str:
        """The first error of a group, in a line."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        return self._redact(f"{type(error).__name__}: {error}").partition("\n")[0][:500].removesuffix(": ")


def _effect(annotations: Any) -> Effect:
    """What a repetition does, as far as the server says; what it does not say must not be done twice."""
    if annotations is not None and annotations.read_only_hint:
        return "pure"
    return "idempotent" if annotations is not None and annotations.idempotent_hint else "once"


def _text(part: Any) -> str:
    return str(part.text) if hasattr(part, "text") else f"[{getattr(part, 'type', 'something')} that is no text]"


def _shown(schema: Mapping[str, Any]) -> tuple[dict[str, Json], str]:
    """A schema as hosted models take it, and what its description says of the rest, which the server checks."""
    kept = {"type": "object", **{key: value for key, value in schema.items() if key not in AT_THE_TOP}}
    if kept.keys() >= schema.keys():
        return kept, ""
    return kept, f"\nIts parameters in full: {json.dumps(schema, ensure_ascii=False)}"


@dataclass(frozen=True)
class _ServerTool(ToolDefinition):
    """A tool whose server fills in defaults, and checks the arguments once more."""

    @cached_property
    def check(self) -> Check:
        return Check(self.parameters, self.name, foreign=True)

    @cached_property
    def defaults(self) -> Arguments:
        return {}
