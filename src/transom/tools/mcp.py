"""Tools of an MCP server, over stdio or HTTP, as tools of ours. Needs the extra `mcp`."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, Self

from transom.canonical import Json
from transom.errors import ToolError, ToolExecutionError
from transom.llm.turns import Egress
from transom.telemetry import Redactor
from transom.tools.definition import Arguments, Effect, ToolDefinition, ToolLimits
from transom.tools.mcp_link import Link
from transom.tools.schema import AT_THE_TOP, Check

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_MOST_PAGES = 100
_URLS = ("http://", "https://")


class McpServer:
    """A server and its tools, while it is entered. What it yields is untrusted, whatever it says of itself.

    A server that dies, now or in the middle of a call, is a failed tool call that the model is told of. The next call
    starts it again, or connects again, three times at most.

    Args:
        server: a command with its arguments, which is started and spoken to over stdio, or a URL.
        limits: of each of its tools.
        only: names of the tools that are taken; all where None.
        prefix: before each name, where several servers have tools of one name.
        egress: `local` where what it yields must not reach a remote provider.
        environ: variables of a command, beside the few that it is given anyhow. Keys among them stand in no result.
        seconds: that it may take to answer at all, and then to name its tools.

    Raises:
        ToolError: neither a command nor a URL.
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
        seconds: float = 30.0,
    ) -> None:
        self._server = _checked(server)
        self._limits = limits or ToolLimits()
        self._only = only
        self._prefix = prefix
        self._egress = egress
        self._environ = dict(environ or {})
        self._seconds = seconds
        self._redact = Redactor({**os.environ, **self._environ})
        self._link = Link(self._client, seconds)
        self.tools: tuple[ToolDefinition, ...] = ()

    @property
    def name(self) -> str:
        """As it is called in errors."""
        return self._server if isinstance(self._server, str) else " ".join(self._server)

    async def __aenter__(self) -> Self:
        """Connect, and ask for its tools.

        Raises:
            ToolError: the extra is missing, the server cannot be reached, does not answer as one or not in time, or has
                a tool that cannot be one here.
        """
        try:
            import mcp  # type: ignore[import-not-found,unused-ignore]  # noqa: F401, PLC0415
        except ImportError as error:
            raise ToolError("tools of MCP servers need the extra mcp", hint="pip install 'transom[mcp]'") from error
        try:
            self.tools = self._tools(await self._link.ask(self._listed))
        except ToolError:
            await self._link.close()
            raise
        except Exception as error:
            await self._link.close()
            late = isinstance(error, TimeoutError)
            said = f"it did not name its tools within {self._seconds:g} s" if late else self._said(error)
            raise ToolError(f"the MCP server cannot be used: {said}", where=self.name) from error
        except BaseException:
            await self._link.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._link.close()

    def _client(self) -> Any:
        import mcp  # noqa: PLC0415  an extra

        target: Any = self._server
        if not isinstance(self._server, str):
            command, *arguments = self._server
            target = mcp.StdioServerParameters(command=command, args=arguments, env=self._environ or None)
        return mcp.Client(target, cache=None)

    async def _listed(self, client: Any) -> list[Any]:
        """Its tools, of all pages.

        Raises:
            ConnectionError: its pages come to no end.
        """
        found: list[Any] = []
        cursors: list[str | None] = [None]
        async with asyncio.timeout(self._seconds):
            while len(cursors) <= _MOST_PAGES:
                page = await client.list_tools(cursor=cursors[-1])
                found += page.tools
                if page.next_cursor is None:
                    return [one for one in found if self._only is None or one.name in self._only]
                if page.next_cursor in cursors:
                    raise ConnectionError(f"its list of tools goes round: page {page.next_cursor!r} comes twice")
                cursors.append(page.next_cursor)
        raise ConnectionError(f"its list of tools has more than {_MOST_PAGES} pages")

    def _tools(self, found: Sequence[Any]) -> tuple[ToolDefinition, ...]:
        """Tools of ours.

        Raises:
            ToolError: one cannot be one, or two of them would have one name.
        """
        tools: dict[str, tuple[str, ToolDefinition]] = {}
        for one in found:
            tool = self._tool(one)
            if tool.name in tools:
                what = f"its tools {tools[tool.name][0]!r} and {one.name!r} would both be called {tool.name!r}"
                raise ToolError(what, where=self.name, hint="take one of them: only={'NAME', ...}")
            try:
                _ = tool.check
            except ToolError as error:
                what = f"its tool {one.name!r} cannot be used: {error.what}"
                raise ToolError(what, where=self.name, hint="take the others: only={'NAME', ...}") from error
            tools[tool.name] = one.name, tool
        return tuple(tool for _, tool in tools.values())

    def _tool(self, tool: Any) -> ToolDefinition:
        schema, more = _shown(tool.input_schema)
        return _ServerTool(
            _NOT_IN_NAMES.sub("_", self._prefix + tool.name)[:64],
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
                result = await self._link.ask(lambda client: client.call_tool(name, arguments))
            except Exception as error:
                raise ToolExecutionError(f"the MCP server failed: {self._said(error)}", hint=self._hint()) from error
            text = self._redact("\n".join(_text(part) for part in result.content))
            if result.is_error:
                raise ToolExecutionError(text or "the tool failed and did not say why", hint="try other arguments")
            return text if text or result.structured_content is None else self._redact.inside(result.structured_content)

        return run

    def _hint(self) -> str:
        if self._link.spent:
            return "it is not started again: go on without it"
        if self._link.alive:
            return "try other arguments, or go on without it"
        return "what was asked may be done or not; the next call of its tools starts it again"

    def _said(self, error: BaseException) -> str:
        """The first error of a group, in a line."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        return self._redact(f"{type(error).__name__}: {error}").partition("\n")[0][:500].removesuffix(": ")


def _checked(server: object) -> str | tuple[str, ...]:
    """A URL or a command.

    Raises:
        ToolError: it is neither.
    """
    if isinstance(server, str):
        if server.startswith(_URLS):
            return server
        hint = f"a command is a list: {server.split()}" if server.strip() else "give a command as a list, or a URL"
        raise ToolError(f"{server!r} is no URL of an MCP server", hint=hint)
    words = tuple(server) if isinstance(server, Sequence) else ()
    if not words or not all(isinstance(word, str) and word for word in words):
        raise ToolError(f"{server!r} is no command of an MCP server", hint="give a command as a list, or a URL")
    if words[0].startswith(_URLS):
        raise ToolError(f"{words[0]!r} is a URL and no command", hint="give it by itself, not in a list")
    return words


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
