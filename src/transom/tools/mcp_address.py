"""Where an MCP server is: a command that is started, or a URL and what it is shown."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from transom.errors import ToolError
from transom.llm.proxies import proxy_of, transport
from transom.telemetry.address import checked, secret_parts, shown

_URLS = ("http://", "https://")
_SECONDS = 30.0  # to connect and to send, as the library's own clients have it
_SILENCE = 300.0  # seconds between two pieces of a stream


@dataclass(frozen=True)
class McpAddress:
    """A server, before anybody speaks to it.

    Attributes:
        server: a URL, or a command with its arguments.
        headers: of each request to a URL.
        environ: variables of a command.
    """

    server: str | tuple[str, ...]
    headers: dict[str, str]
    environ: dict[str, str]

    @classmethod
    def of(cls, server: object, headers: Mapping[str, str], environ: Mapping[str, str]) -> Self:
        """What somebody gave.

        Raises:
            ToolError: neither a command nor a URL; headers for a command, or one that is none.
        """
        checked = _checked(server)
        _check_headers(checked, headers)
        return cls(checked, dict(headers), dict(environ))

    @property
    def remote(self) -> bool:
        """Whether it is a URL."""
        return isinstance(self.server, str)

    @property
    def name(self) -> str:
        return self.server if isinstance(self.server, str) else " ".join(self.server)

    @property
    def secrets(self) -> list[str]:
        """What the server alone is told: values of headers, without a scheme such as `Bearer` too, and of its URL."""
        found = [part for value in self.headers.values() for part in (value, value.partition(" ")[2])]
        if isinstance(self.server, str):
            url = urlsplit(self.server)
            found += [*secret_parts(self.server), *(value for _, value in parse_qsl(url.query))]
        return found

    def client(self) -> Any:
        """A client of the library that is not entered yet."""
        import mcp  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  an extra

        if isinstance(self.server, str):
            return mcp.Client(_over_http(self.server, self.headers), cache=None)
        command, *arguments = self.server
        return mcp.Client(
            mcp.StdioServerParameters(command=command, args=arguments, env=self.environ or None), cache=None
        )


@asynccontextmanager
async def _over_http(url: str, headers: dict[str, str]) -> AsyncIterator[Any]:
    """A connection that shows these headers. The library follows no redirect to another server with them."""
    import httpx2  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  (an extra)
    from mcp.client.streamable_http import streamable_http_client  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  (an extra)

    client = httpx2.AsyncClient(
        headers=headers,
        timeout=httpx2.Timeout(_SECONDS, read=_SILENCE),
        transport=transport(httpx2, proxy_of(url)),
    )
    async with client, streamable_http_client(url, http_client=client) as streams:
        yield streams


def _checked(server: object) -> str | tuple[str, ...]:
    """A URL or a command.

    Raises:
        ToolError: it is neither.
    """
    if isinstance(server, str):
        try:
            checked(server)
        except ValueError as error:
            what = f"{shown(server)!r} is no URL of an MCP server: {error}"
            hint = "say http://HOST:PORT/PATH or https://HOST/PATH, or give a command as a list"
            raise ToolError(what, hint=hint) from None
        return server
    words = tuple(server) if isinstance(server, Sequence) else ()
    if not words or not all(isinstance(word, str) and word for word in words) or words[0].startswith(_URLS):
        what = f"{server!r} is no command of an MCP server"
        raise ToolError(what, hint="give a command and its arguments as a list, or a URL by itself")
    return words


def _check_headers(server: str | tuple[str, ...], headers: Mapping[str, object]) -> None:
    """Whether they are headers, and for a URL.

    Raises:
        ToolError: the server is a command, or one of them is no header; its value is not told.
    """
    if headers and not isinstance(server, str):
        raise ToolError("a command is sent no headers", where=server[0], hint="give it variables: environ={...}")
    for name, value in headers.items():
        text = f"{name}{value}" if isinstance(value, str) else ""
        if not text.isascii() or not text.isprintable() or not text:
            hint = "a header is plain text in one line; is its variable set, and without a line end?"
            raise ToolError(f"the value of {name} is none of a header", where="headers", hint=hint)
