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
from transom.telemetry.address import checked, secret_parts, shown
from transom.tools.definition import Arguments, Effect, ToolDefinition, ToolLimits
from transom.tools.mcp_connection import Refused, Server, ServerConnection, Unanswered, first
from transom.tools.schema import AT_THE_TOP

_URLS = ("http://", "https://")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 64
_NOT_SENT = "nothing was asked of it; the next call of its tools starts it again"
_REPEATED: Mapping[Effect, str] = {
    "once": "do not make the same call again before a person has said whether it was",
    "unknown": "check before you call it again",
}


@dataclass(frozen=True)
class ToolTerms:
    """Terms for the tools of a server: for all of them, or by their names on the server.

    Attributes:
        only: those that are taken; all where None.
        limits: of each of them.
        effect: what a repetition does; what the server says of it where a tool is not named here.
        needs_approval: those of which a person has to approve each call; True for all.
        trust: of what they yield.
        egress: `local` where what they yield must not reach a remote provider.

    Raises:
        InputError: a mark or an effect that there is not.
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
            # one name, and not a collection of its letters
            if isinstance(one := getattr(self, field_name), str):
                object.__setattr__(self, field_name, (one,))
        for effect in self.effect.values() if isinstance(self.effect, Mapping) else (self.effect,):
            if effect is not None:
                check_choice(effect, get_args(Effect), "effect", "ToolTerms")

    def check_named(self, there: Collection[str], where: str) -> None:
        """Refuse a misspelled name with a ToolError: a tool would be left without what is asked
        for it.
        """
        for field_name in ("only", "effect", "needs_approval"):
            given = getattr(self, field_name)
            names = given if isinstance(given, Collection) and not isinstance(given, str) else ()
            if missing := [name for name in names if name not in there]:
                said = f"it has no tool {', '.join(map(repr, missing))}, which {field_name} names"
                raise ToolError(said, where=where, hint=f"it has {', '.join(there) or 'none'}")


class McpServer:
    """A server and its tools, as an async context manager. Its annotations are hints; the terms
    decide.

    A server that dies, also in the middle of a call, makes that call fail with a result for the
    model. The next call starts it again, or connects again, once. Where a call was sent and its
    outcome is unknown, an equal call of a `once` tool waits for a person. The server checks
    arguments: it knows its own schemas.

    Args:
        server: a command with its arguments, which is started and spoken to over stdio, or a URL.
        terms: which of its tools are taken, and what holds for them.
        prefix: before each name, where several servers have tools of one name.
        headers: of each request to a URL, such as `Authorization`. Their values stand in no result
            and no error.
        environ: variables of a command, beside the few that it is given anyhow. Keys among them
            stand in no result.
        seconds: that it may take to answer at all, and then to name its tools.

    Raises:
        ToolError: neither a command nor a URL; headers for a command.
        InputError: a header that is no text.
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
            raise ToolError("a command is sent no headers", where=self._server[0], hint=hint)
        for name, value in self._headers.items():
            check_kind(value, str, f"header {name}", "McpServer", "is its variable set?")
        self._terms = terms or ToolTerms()
        self._prefix = prefix
        self._seconds = seconds
        self._redact = Redactor(
            {**os.environ, **self._environ}, _secrets(self._server, self._headers)
        )
        self._connection: ServerConnection
        self.tools: tuple[ToolDefinition, ...] = ()

    @property
    def name(self) -> str:
        """Its name in errors."""
        return self._redact(
            self._server if isinstance(self._server, str) else " ".join(self._server)
        )

    async def __aenter__(self) -> Self:
        """Connect, and ask for its tools; ToolError where that fails, or a name in its terms is
        not among them.
        """
        try:
            import mcp  # type: ignore[import-not-found,unused-ignore]  # noqa: F401, PLC0415  only to see it is there
        except ImportError as error:
            raise ToolError(
                "tools of MCP servers need the extra mcp", hint=install_hint("mcp")
            ) from error
        self._connection = ServerConnection(
            self._server, self._headers, self._environ, self._seconds
        )
        try:
            found = await self._connection.ask(self._listed)
            self._terms.check_named([one.name for one in found], self.name)
            only = self._terms.only
            self.tools = tuple(self._tool(one) for one in found if only is None or one.name in only)
        except BaseException as error:
            await self._connection.close()
            if isinstance(error, ToolError) or not isinstance(error, Exception):
                raise
            late = isinstance(first(error), TimeoutError)
            said = (
                f"it did not name its tools within {self._seconds:g} s"
                if late
                else self._said(error)
            )
            raise ToolError(f"the MCP server cannot be used: {said}", where=self.name) from error
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._connection.close()

    async def _listed(self, client: Any) -> list[Any]:
        """Its tools, of all pages."""
        found: list[Any] = []
        cursor: str | None = None
        async with asyncio.timeout(self._seconds):
            while True:
                page = await client.list_tools(cursor=cursor)
                found += page.tools
                cursor = page.next_cursor
                if cursor is None:
                    return found

    def _tool(self, tool: Any) -> ToolDefinition:
        given: Any = self._redact.inside(tool.input_schema)
        schema, more = _shown(given)
        terms, asks, told = self._terms, self._terms.needs_approval, self._terms.effect
        effect = (told.get(tool.name) if isinstance(told, Mapping) else told) or _effect(
            tool.annotations
        )
        return ToolDefinition(
            _named(self._prefix + tool.name),
            self._redact(f"{tool.description or tool.name}{more}"),
            schema,
            self._handler(tool.name, effect),
            effect,
            terms.limits,
            needs_approval=asks if isinstance(asks, bool) else tool.name in asks,
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
            except Unanswered as lost:
                again = _REPEATED.get(effect, "the same call may be made again")
                hint = f"what was asked may be done or not; {again}"
                raise ToolInDoubtError(
                    f"the MCP server failed: {self._said(lost)}", hint=hint
                ) from lost
            except Exception as error:
                hint = (
                    "try other arguments, or go on without it"
                    if isinstance(error, Refused)
                    else _NOT_SENT
                )
                hint = "go on without it" if self._connection.closed else hint
                raise ToolExecutionError(
                    f"the MCP server failed: {self._said(error)}", hint=hint
                ) from error
            text = self._redact("\n".join(_text(part) for part in result.content))
            if result.is_error:
                raise ToolExecutionError(
                    text or "the tool failed and did not say why", hint="try other arguments"
                )
            return (
                text
                if text or result.structured_content is None
                else self._redact.inside(result.structured_content)
            )

        return run

    def _said(self, error: BaseException) -> str:
        """The error that broke it, in a line."""
        leaf = first(error)
        return (
            self._redact(f"{type(leaf).__name__}: {leaf}")
            .partition("\n")[0][:500]
            .removesuffix(": ")
        )


def _checked(server: object) -> Server:
    """A URL or a command; ToolError for anything else."""
    if isinstance(server, str):
        try:
            checked(server)
        except ValueError as error:
            what = f"{shown(server)!r} is no URL of an MCP server: {error}"
            hint = "say http://HOST:PORT/PATH or https://HOST/PATH, or give a command as a list"
            raise ToolError(what, hint=hint) from None
        return server
    words = tuple(server) if isinstance(server, Sequence) else ()
    if (
        not words
        or not all(isinstance(word, str) and word for word in words)
        or words[0].startswith(_URLS)
    ):
        what = f"{server!r} is no command of an MCP server"
        raise ToolError(what, hint="give a command and its arguments as a list, or a URL by itself")
    return words


def _secrets(server: Server, headers: Mapping[str, str]) -> list[str]:
    """Secrets for the server alone: values of headers, also without a scheme such as `Bearer`,
    and of its URL.
    """
    found = [part for value in headers.values() for part in (value, value.partition(" ")[2])]
    if isinstance(server, str):
        found += [*secret_parts(server), *(value for _, value in parse_qsl(urlsplit(server).query))]
    return found


def _named(whole: str) -> str:
    """A name as models take it; of one that is too long the beginning, and a digest of all of
    it.
    """
    name = _NOT_IN_NAMES.sub("_", whole)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 9]}_{digest(whole)[:8]}"


def _effect(annotations: Any) -> Effect:
    """The effect of a tool, as far as the server declares it."""
    if annotations is not None and annotations.read_only_hint:
        return "pure"
    return "idempotent" if annotations is not None and annotations.idempotent_hint else "unknown"


def _text(part: Any) -> str:
    """A part of a result in words: its text, also that of a resource in it; of anything else
    what and where it is.
    """
    kind, inner = getattr(part, "type", "something"), getattr(part, "resource", part)
    if hasattr(inner, "text"):
        return str(inner.text) if inner is part else f"[{inner.uri}]\n{inner.text}"
    found = (getattr(inner, name, None) for name in ("name", "uri", "mime_type", "description"))
    about = ", ".join(str(one) for one in found if one)
    note = "" if kind == "resource_link" else " that is no text"
    return f"[{kind}{note}: {about}]" if about else f"[{kind}{note}]"


def _shown(schema: Mapping[str, Any]) -> tuple[dict[str, Json], str]:
    """A schema as hosted models take it, and what its description says of the rest, which the
    server checks.
    """
    kept = {
        "type": "object",
        **{key: value for key, value in schema.items() if key not in AT_THE_TOP},
    }
    if kept.keys() >= schema.keys():
        return kept, ""
    return kept, f"\nIts parameters in full: {json.dumps(schema, ensure_ascii=False)}"
