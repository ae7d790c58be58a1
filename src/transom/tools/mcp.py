"""Tools of an MCP server, over stdio or HTTP, as tool definitions. Needs the extra `mcp`."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, get_args
from urllib.parse import parse_qsl, urlsplit

from transom.canonical import Json, digest
from transom.errors import ToolError, ToolExecutionError, ToolInDoubtError, install_hint
from transom.llm.checked import check_choice, check_kind
from transom.llm.turns import Egress, Trust, check_marks
from transom.telemetry import Redactor
from transom.telemetry.address import parse_address, safe_address, secret_parts
from transom.tools.definition import Arguments, Effect, ToolDefinition, ToolLimits
from transom.tools.mcp_connection import CallInDoubt, Refused, Server, ServerConnection, first
from transom.tools.schema import AT_THE_TOP

_URLS = ("http://", "https://")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 64
# What a server says of its tools stands in every window.
_LONGEST_DESCRIPTION = 16_384  # characters, with the parts of a schema that move into it
_MOST_TOOLS = 500
_NOT_SENT = "nothing was asked of it; the next call of its tools starts it again"
_REPEATED: Mapping[Effect, str] = {
    "once": "do not make the same call again before a person has said whether it was",
    "unknown": "check before you call it again",
}


@dataclass(frozen=True)
class ToolTerms:
    """Terms for the tools of a server: for all of them, or by their names on the server.

    Attributes:
        only: names of the tools that are taken; None for all.
        limits: of each tool.
        effect: what a repetition does; the server's own word counts for a tool that is not named.
        needs_approval: names of the tools whose calls a person has to approve; True for all.
        trust: of the results.
        egress: `local` if results must not reach a remote provider.

    Raises:
        InputError: an unknown mark or effect.
    """

    only: Collection[str] | None = None
    limits: ToolLimits = field(default_factory=ToolLimits)
    effect: Effect | Mapping[str, Effect] | None = None
    needs_approval: bool | Collection[str] = False
    trust: Trust = "untrusted"
    egress: Egress = "any"

    def __post_init__(self) -> None:
        check_marks("ToolTerms", trust=self.trust, egress=self.egress)
        for field_name in ("only", "needs_approval"):
            # A text is a collection of its letters; here it means a name.
            value = getattr(self, field_name)
            if isinstance(value, str):
                object.__setattr__(self, field_name, (value,))
        effects = self.effect.values() if isinstance(self.effect, Mapping) else (self.effect,)
        for effect in effects:
            if effect is not None:
                check_choice(effect, get_args(Effect), "effect", "ToolTerms")

    def check_named(self, tools: Collection[str], server: str) -> None:
        """Refuse a name that is not among the server's tools with a ToolError."""
        # A misspelled name would leave a tool without its approval or its effect.
        for field_name in ("only", "effect", "needs_approval"):
            names = getattr(self, field_name)
            if isinstance(names, str) or not isinstance(names, Collection):
                continue
            if missing := [name for name in names if name not in tools]:
                raise ToolError(
                    f"it has no tool {', '.join(map(repr, missing))}, which {field_name} names",
                    place=server,
                    hint=f"it has {', '.join(tools) or 'none'}",
                )


class McpServer:
    """A server and its tools, as an async context manager.

    The server's annotations are hints; the terms decide. If a server dies, also in the middle of a
    call, that call fails with a result for the model, and the next call starts or connects it
    again, once. If a call was sent and its outcome is unknown, an equal call of a `once` tool waits
    for a person. The server checks arguments: it knows its own schemas.

    Args:
        server: a command with its arguments, for a server over stdio, or a URL.
        terms: which of its tools are taken, and on what terms.
        prefix: put before each name, if several servers have tools of the same name.
        headers: of each request to a URL, such as `Authorization`. Their values stand in no result
            and no error.
        environ: variables of a command, in addition to the few that every command gets. Keys among
            them stand in no result.
        seconds: limit for the first answer, and then for the list of tools.

    Raises:
        ToolError: neither a command nor a URL; headers for a command.
        InputError: a header's value is not text.
    """

    def __init__(
        self,
        server: str | Sequence[str],
        *,
        terms: ToolTerms | None = None,
        prefix: str = "",
        headers: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        seconds: float = 30.0,
    ) -> None:
        self._server = _checked(server)
        self._headers, self._environ = dict(headers or {}), dict(environ or {})
        if headers and not isinstance(self._server, str):
            hint = "give it variables: environ={...}"
            raise ToolError("a command is sent no headers", place=self._server[0], hint=hint)
        for name, value in self._headers.items():
            check_kind(value, str, f"header {name}", "McpServer", "is its variable set?")
        self._terms = terms or ToolTerms()
        self._prefix = prefix
        self._seconds = seconds
        self._redact = Redactor(
            {**os.environ, **self._environ}, _secrets(self._server, self._headers)
        )
        self._connection: ServerConnection
        self._tools: tuple[ToolDefinition, ...] | None = None

    @property
    def name(self) -> str:
        """Its name in errors."""
        return self._redact(
            self._server if isinstance(self._server, str) else " ".join(self._server)
        )

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools that are taken from the server.

        Raises:
            ToolError: it was not connected yet.
        """
        if self._tools is None:
            hint = "write async with McpServer(...) as server, and read server.tools inside"
            raise ToolError("the MCP server is not connected", place=self.name, hint=hint)
        return self._tools

    async def __aenter__(self) -> Self:
        """Connect, and ask for its tools.

        Raises:
            ToolError: the server cannot be used, or the terms name a tool that it does not have.
        """
        try:
            # Only to see whether it is installed.
            import mcp  # type: ignore[import-not-found,unused-ignore]  # noqa: F401, PLC0415
        except ImportError as error:
            raise ToolError(
                "tools of MCP servers need the extra mcp", hint=install_hint("mcp")
            ) from error
        self._connection = ServerConnection(
            self._server, self._headers, self._environ, self._seconds
        )
        try:
            tools = await self._connection.ask(self._list_tools)
            self._terms.check_named([tool.name for tool in tools], self.name)
            only = self._terms.only
            if only is not None:
                tools = [tool for tool in tools if tool.name in only]
            if len(tools) > _MOST_TOOLS:
                problem = f"it has {len(tools)} tools, and {_MOST_TOOLS} may be taken"
                hint = "name those that you need: ToolTerms(only=[...])"
                raise ToolError(problem, place=self.name, hint=hint)
            self._tools = tuple([self._tool(tool) for tool in tools])
        except BaseException as error:
            # Also if the task was cancelled: a started process must not outlive it.
            await self._connection.close()
            if isinstance(error, ToolError) or not isinstance(error, Exception):
                raise
            reason = self._error_line(error)
            if isinstance(first(error), TimeoutError):
                reason = f"it did not name its tools within {self._seconds:g} s"
            raise ToolError(f"the MCP server cannot be used: {reason}", place=self.name) from error
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._connection.close()

    async def _list_tools(self, client: Any) -> list[Any]:
        """Return the server's tools, of all pages."""
        tools: list[Any] = []
        cursor: str | None = None
        async with asyncio.timeout(self._seconds):
            while True:
                page = await client.list_tools(cursor=cursor)
                tools += page.tools
                cursor = page.next_cursor
                if cursor is None:
                    return tools

    def _tool(self, tool: Any) -> ToolDefinition:
        """Return a tool of the server as a definition, on our terms."""
        server_schema: Any = self._redact.inside(tool.input_schema)
        schema, addition = _vendor_schema(server_schema)
        description = self._redact(f"{tool.description or tool.name}{addition}")
        if len(description) > _LONGEST_DESCRIPTION:
            length = len(description)
            problem = f"its description has {length} characters, and {_LONGEST_DESCRIPTION} may be"
            hint = "a model reads all of it; take other tools: ToolTerms(only=[...])"
            raise ToolError(f"{tool.name[:_LONGEST]}: {problem}", place=self.name, hint=hint)
        terms, approval = self._terms, self._terms.needs_approval
        effect = terms.effect
        if isinstance(effect, Mapping):
            effect = effect.get(tool.name)
        effect = effect or _effect(tool.annotations)
        return ToolDefinition(
            _valid_name(self._prefix + tool.name),
            description,
            schema,
            self._handler(tool.name, effect),
            effect,
            terms.limits,
            needs_approval=approval if isinstance(approval, bool) else tool.name in approval,
            fresh=True,
            trust=terms.trust,
            egress=terms.egress,
            checks=lambda _: [],
            fills=False,
        )

    def _handler(self, name: str, effect: Effect) -> Any:
        async def run(arguments: Arguments) -> Json:
            try:
                result = await self._connection.ask(
                    lambda client: client.call_tool(name, arguments)
                )
            except CallInDoubt as error:
                advice = _REPEATED.get(effect, "the same call may be made again")
                problem = f"the MCP server failed: {self._error_line(error)}"
                hint = f"the call may have been carried out or not; {advice}"
                raise ToolInDoubtError(problem, hint=hint) from error
            except Exception as error:
                hint = _NOT_SENT
                if self._connection.closed:
                    hint = "go on without it"
                elif isinstance(error, Refused):
                    hint = "try other arguments, or go on without it"
                problem = f"the MCP server failed: {self._error_line(error)}"
                raise ToolExecutionError(problem, hint=hint) from error
            text = self._redact("\n".join([_text(part) for part in result.content]))
            if result.is_error:
                raise ToolExecutionError(
                    text or "the tool failed and gave no reason", hint="try other arguments"
                )
            # The protocol wants structured content repeated as text, but not all servers do it.
            if text or result.structured_content is None:
                return text
            return self._redact.inside(result.structured_content)

        return run

    def _error_line(self, error: BaseException) -> str:
        """Return the error that broke the connection, in one line and without secrets."""
        cause = first(error)
        text = self._redact(f"{type(cause).__name__}: {cause}")
        return text.partition("\n")[0][:500].removesuffix(": ")


def _checked(server: object) -> Server:
    """Return a URL or a command; ToolError for anything else."""
    if isinstance(server, str):
        try:
            parse_address(server)
        except ValueError as error:
            problem = f"{safe_address(server)!r} is no URL of an MCP server: {error}"
            hint = "write http://HOST:PORT/PATH or https://HOST/PATH, or give a command as a list"
            raise ToolError(problem, hint=hint) from None
        return server
    words = tuple(server) if isinstance(server, Sequence) else ()
    is_command = bool(words) and all(isinstance(word, str) and word for word in words)
    # A URL in a list is a slip: there is no program of that name.
    if not is_command or words[0].startswith(_URLS):
        problem = f"{server!r} is no command of an MCP server"
        hint = "give a command and its arguments as a list, or a URL by itself"
        raise ToolError(problem, hint=hint)
    return words


def _secrets(server: Server, headers: Mapping[str, str]) -> list[str]:
    """Return the secrets of a server: values of headers, and secret parts of its URL."""
    secrets = []
    for value in headers.values():
        # Also without a scheme such as `Bearer`: an error may quote the key alone.
        secrets += [value, value.partition(" ")[2]]
    if isinstance(server, str):
        secrets += secret_parts(server)
        secrets += [value for _, value in parse_qsl(urlsplit(server).query)]
    return secrets


def _valid_name(server_name: str) -> str:
    """Return a name as models take it."""
    name = _NOT_IN_NAMES.sub("_", server_name)
    if len(name) <= _LONGEST:
        return name
    # With a digest, since long names often differ at their ends only.
    return f"{name[: _LONGEST - 9]}_{digest(server_name)[:8]}"


def _effect(annotations: Any) -> Effect:
    """Return the effect of a tool, as far as the server declares it."""
    if annotations is None:
        return "unknown"
    if annotations.read_only_hint:
        return "pure"
    return "idempotent" if annotations.idempotent_hint else "unknown"


def _text(part: Any) -> str:
    """Return a part of a result as text: its own text, or a note on what it is."""
    kind, inner = getattr(part, "type", "something"), getattr(part, "resource", part)
    if hasattr(inner, "text"):
        return str(inner.text) if inner is part else f"[{inner.uri}]\n{inner.text}"
    # A model cannot read a picture here, but it can name it in its answer.
    values = [getattr(inner, name, None) for name in ("name", "uri", "mime_type", "description")]
    details = ", ".join([str(value) for value in values if value])
    note = kind if kind == "resource_link" else f"{kind} that is no text"
    return f"[{note}: {details}]" if details else f"[{note}]"


def _vendor_schema(schema: Mapping[str, Any]) -> tuple[dict[str, Json], str]:
    """Return a schema as hosted models take it, and an addition to the tool's description.

    The addition holds what the schema lacks; the server checks it in any case.
    """
    accepted: dict[str, Json] = {"type": "object"}
    for key, value in schema.items():
        if key not in AT_THE_TOP:
            accepted[key] = value
    if accepted.keys() >= schema.keys():
        return accepted, ""
    return accepted, f"\nIts parameters in full: {json.dumps(schema, ensure_ascii=False)}"
