"""Tools of an MCP server, over stdio or HTTP, as tools of ours. Needs the extra `mcp`."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from transom.canonical import Json, digest
from transom.errors import ToolError, ToolExecutionError, ToolInDoubtError, install_hint
from transom.telemetry import Redactor
from transom.tools.definition import Arguments, Effect, ToolDefinition
from transom.tools.mcp_address import McpAddress
from transom.tools.mcp_connection import Connection, Unanswered, first
from transom.tools.mcp_terms import ToolTerms
from transom.tools.schema import AT_THE_TOP

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 64
_MOST_PAGES = 100
_AGAIN = "the next call of its tools starts it again"
_ASKED_NOTHING = f"nothing was asked of it; {_AGAIN}"
_OTHERWISE = "try other arguments, or go on without it"
_CLOSED = "go on without it"
_ASKS = "do not make the same call again before a person has said whether it was"
_REPEATS = "the same call may be made again"
_CHECK = "check before you call it again"


class McpServer:
    """A server and its tools, while it is entered. What it says of them is a hint: what holds is in its terms.

    A server that dies, now or in the middle of a call, is a failed tool call that the model is told of. The next call
    starts it again, or connects again, once; it has `seconds` for that, however little its tools have.
    Where a call was sent and nobody knows what came of it, an equal one of a `once` tool waits for a person.
    Arguments are the server's to check: it knows its own schemas.

    Args:
        server: a command with its arguments, which is started and spoken to over stdio, or a URL.
        terms: which of its tools are taken, and what holds for them.
        prefix: before each name, where several servers have tools of one name.
        headers: of each request to a URL, such as `Authorization`. Their values stand in no result and no error.
        environ: variables of a command, beside the few that it is given anyhow. Keys among them stand in no result.
        seconds: that it may take to answer at all, and then to name its tools.

    Raises:
        ToolError: neither a command nor a URL; headers for a command, or one that is none.
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
        self._address = McpAddress.of(server, headers or {}, environ or {})
        self._terms = terms or ToolTerms()
        self._prefix = prefix
        self._seconds = seconds
        self._redact = Redactor({**os.environ, **self._address.environ}, self._address.secrets)
        self._connection: Connection
        self.tools: tuple[ToolDefinition, ...] = ()

    @property
    def name(self) -> str:
        """As it is called in errors."""
        return self._redact(self._address.name)

    async def __aenter__(self) -> Self:
        """Connect, and ask for its tools.

        Raises:
            ToolError: the extra is missing; the server cannot be reached, or does not answer as one, or not in time; it
                has no tool of a name that its terms have.
        """
        try:
            import mcp  # type: ignore[import-not-found,unused-ignore]  # noqa: F401, PLC0415  only to see it is there
        except ImportError as error:
            raise ToolError("tools of MCP servers need the extra mcp", hint=install_hint("mcp")) from error
        self._connection = Connection(self._address.client, self._seconds, remote=self._address.remote)
        try:
            found = await self._connection.ask(self._listed)
            self._check_named([one.name for one in found])
            self.tools = tuple(self._tool(one) for one in found if self._terms.takes(one.name))
        except ToolError:
            await self._connection.close()
            raise
        except Exception as error:
            await self._connection.close()
            late = isinstance(first(error), TimeoutError)
            said = f"it did not name its tools within {self._seconds:g} s" if late else self._said(error)
            raise ToolError(f"the MCP server cannot be used: {said}", where=self.name) from error
        except BaseException:
            await self._connection.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.close()

    async def _listed(self, client: Any) -> list[Any]:
        """Its tools, of all pages.

        Raises:
            ConnectionError: its pages come to no end.
        """
        found: list[Any] = []
        cursor: str | None = None
        async with asyncio.timeout(self._seconds):
            for _ in range(_MOST_PAGES):
                page = await client.list_tools(cursor=cursor)
                found += page.tools
                cursor = page.next_cursor
                if cursor is None:
                    return found
        raise ConnectionError(f"its list of tools has more than {_MOST_PAGES} pages")

    def _check_named(self, there: Collection[str]) -> None:
        """A name that is misspelled would leave a tool without what is asked for it.

        Raises:
            ToolError: the server has no tool of that name.
        """
        for what, names in self._terms.named.items():
            if missing := [name for name in names if name not in there]:
                said = f"it has no tool {', '.join(map(repr, missing))}, which {what} names"
                raise ToolError(said, where=self.name, hint=f"it has {', '.join(there) or 'none'}")

    def _tool(self, tool: Any) -> ToolDefinition:
        told: Any = self._redact.inside(tool.input_schema)
        schema, more = _shown(told)
        terms = self._terms
        effect = terms.effect_of(tool.name) or _effect(tool.annotations)
        return ToolDefinition(
            _named(self._prefix + tool.name),
            self._redact(f"{tool.description or tool.name}{more}"),
            schema,
            self._handler(tool.name, effect),
            effect,
            terms.limits,
            needs_approval=terms.approves(tool.name),
            fresh=True,
            trust=terms.trust,
            egress=terms.egress,
            ready=self._ready,
            foreign=True,
        )

    async def _ready(self) -> None:
        """Wait until it is there. A call that it was never asked for is no call that may have been carried out.

        Raises:
            ToolExecutionError: it cannot be started.
        """
        try:
            await self._connection.open()
        except Exception as error:
            raise self._failed(error, _ASKED_NOTHING) from error

    def _handler(self, name: str, effect: Effect) -> Any:
        async def run(arguments: Arguments) -> Json:
            try:
                result = await self._connection.ask(lambda client: client.call_tool(name, arguments))
            except Unanswered as lost:
                raise self._in_doubt(lost, effect) from lost
            except Exception as error:
                raise self._failed(error, _ASKED_NOTHING if isinstance(error, OSError) else _OTHERWISE) from error
            text = self._redact("\n".join(_text(part) for part in result.content))
            if result.is_error:
                raise ToolExecutionError(text or "the tool failed and did not say why", hint="try other arguments")
            return text if text or result.structured_content is None else self._redact.inside(result.structured_content)

        return run

    def _failed(self, error: Exception, hint: str) -> ToolExecutionError:
        return ToolExecutionError(self._what(error), hint=_CLOSED if self._connection.closed else hint)

    def _in_doubt(self, error: BaseException, effect: Effect) -> ToolInDoubtError:
        again = _ASKS if effect == "once" else _CHECK if effect == "unknown" else _REPEATS
        return ToolInDoubtError(self._what(error), hint=f"what was asked may be done or not; {again}")

    def _what(self, error: BaseException) -> str:
        return f"the MCP server failed: {self._said(error)}"

    def _said(self, error: BaseException) -> str:
        """What broke, in a line."""
        leaf = first(error)
        return self._redact(f"{type(leaf).__name__}: {leaf}").partition("\n")[0][:500].removesuffix(": ")


def _named(whole: str) -> str:
    """A name as models take it; of one that is too long the beginning, and a digest of all of it."""
    name = _NOT_IN_NAMES.sub("_", whole)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 9]}_{digest(whole)[:8]}"


def _effect(annotations: Any) -> Effect:
    """What a repetition does, as far as the server says."""
    if annotations is not None and annotations.read_only_hint:
        return "pure"
    return "idempotent" if annotations is not None and annotations.idempotent_hint else "unknown"


def _text(part: Any) -> str:
    """A part of a result in words: its text, also that of a resource in it; of anything else what and where it is."""
    kind, inner = getattr(part, "type", "something"), getattr(part, "resource", part)
    if hasattr(inner, "text"):
        return str(inner.text) if inner is part else f"[{inner.uri}]\n{inner.text}"
    found = (getattr(inner, name, None) for name in ("name", "uri", "mime_type", "description"))
    told = ", ".join(str(one) for one in found if one)
    return f"[{kind}{'' if kind == 'resource_link' else ' that is no text'}{': ' if told else ''}{told}]"


def _shown(schema: Mapping[str, Any]) -> tuple[dict[str, Json], str]:
    """A schema as hosted models take it, and what its description says of the rest, which the server checks."""
    kept = {"type": "object", **{key: value for key, value in schema.items() if key not in AT_THE_TOP}}
    if kept.keys() >= schema.keys():
        return kept, ""
    return kept, f"\nIts parameters in full: {json.dumps(schema, ensure_ascii=False)}"
