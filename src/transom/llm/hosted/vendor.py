"""The adapter interface for vendors, and the code that adapters share."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Any, ClassVar

from transom.errors import NetworkFailed, ProviderError, install_hint
from transom.llm.capabilities import Capabilities
from transom.llm.hosted.draft import ReplyAssembler
from transom.llm.hosted.failures import connection_failed, from_status, own_error, parsed
from transom.llm.hosted.server import HEADERS, Server
from transom.llm.hosted.wire import Document, body_guard, documents
from transom.llm.loops import PerLoop
from transom.llm.proxies import transport
from transom.llm.render import Rendered
from transom.llm.reply import Stop
from transom.llm.shapes import Request
from transom.llm.turns import AssistantMessage, Text, Turn


class Vendor:
    """An adapter: it builds a request body, sends it, and turns the documents that come into a
    reply.

    Attributes:
        kind: `anthropic`, `openai`, `ollama`; its SDK's name.
        tells_overflow: whether its server says so where a request is too long; else it cuts what
            does not fit without a word.
        may_be_silent: whether its models end without a word where they have nothing to add, which
            asking again does not mend.
        stops: its words for why a model stops.
    """

    kind: ClassVar[str]
    tells_overflow: ClassVar[bool] = True
    may_be_silent: ClassVar[bool] = False
    stops: ClassVar[Mapping[str, Stop]]

    def __init__(self, server: Server) -> None:
        self._server = server
        # connections of one event loop are of no use to another
        self._client = PerLoop(self._connect)

    def body(self, request: Request, model: str, caps: Capabilities) -> dict[str, object]:
        """The request as it wants it. Pure."""
        raise NotImplementedError

    def send(self, body: Mapping[str, object], *, stream: bool) -> AsyncGenerator[Document]:
        """Send it once, and yield what comes. Errors of its SDK come out as `ProviderError`s."""
        raise NotImplementedError

    def take(self, document: Document, draft: ReplyAssembler) -> bool:
        """Add a document to a reply; False where it holds no part of one."""
        raise NotImplementedError

    def connect(self) -> None:
        """Make the client of this event loop. An SDK's import takes seconds, which must not
        count as the server's.
        """
        self._client.get()

    async def aclose(self) -> None:
        """Close the connections of this event loop; those of others are in use there."""
        if client := self._client.pop():
            await client.close()

    def _connect(self) -> Any:
        """A client of its SDK."""
        raise NotImplementedError


class StainlessVendor(Vendor):
    """A vendor whose SDK is made by Stainless; all errors of that are of its class `failure`."""

    failure: ClassVar[str]

    def _client_of(self, name: str, **more: Any) -> Any:
        """A client of the SDK's class of that name, which sends no headers but ours."""
        import httpx2  # noqa: PLC0415  only where it is asked

        sdk: Any = import_module(self.kind)  # 1.4 to 3 s of CPU
        guard = body_guard(httpx2.AsyncByteStream, self._server.max_body)
        client = getattr(sdk, name)(
            api_key=self._server.api_key,
            max_retries=0,
            timeout=self._server.seconds,
            default_headers=HEADERS,
            http_client=sdk.DefaultAsyncHttpxClient(
                transport=transport(httpx2, self._server.proxy),
                follow_redirects=False,
                event_hooks={"response": [guard]},
            ),
            **more,
        )
        # An SDK sends headers of a variable, meant for somebody's gateway, to whatever server it is
        # given.
        if not hasattr(client, "_custom_headers"):
            what = f"this release of the SDK {self.kind} keeps headers where they cannot be cleared"
            raise ProviderError(what, where=self.kind, hint=f"run: {install_hint(self.kind)}")
        client._custom_headers = dict(HEADERS)
        return client

    async def _sent(
        self,
        create: Callable[..., AbstractAsyncContextManager[Any]],
        asked: Mapping[str, Any],
        is_last: Callable[[Document], bool] = lambda _: False,
    ) -> AsyncGenerator[Document]:
        """See `send`; `create`: of the client's `with_streaming_response`."""
        from httpx2 import HTTPError  # noqa: PLC0415  (imported by now)

        sdk: Any = import_module(self.kind)
        try:
            async with create(**asked) as response:
                content_type = response.headers.get("content-type", "")
                async for document in documents(response.iter_bytes(), content_type, is_last):
                    yield document
        except (getattr(sdk, self.failure), HTTPError) as error:
            if ours := own_error(error):
                raise ours from error
            if isinstance(error, sdk.APIStatusError):
                said: Any = error
                raise from_status(
                    said.status_code, parsed(said.response.text), said.response.headers
                ) from error
            if isinstance(error, sdk.APITimeoutError):
                what = "the server did not answer in time"
                raise NetworkFailed(what, reason=what) from error
            raise connection_failed(error) from error


def chat_messages(
    shown: Rendered, system: str, put: Callable[[Turn], list[Any]]
) -> list[dict[str, Any]]:
    """A request as messages of one role each; what stays comes first, and what is asked now
    last.
    """
    messages: list[Any] = [{"role": "system", "content": system}] if system else []
    first = [shown.user] if shown.turns else [shown.user, shown.tail]
    if asked := "\n\n".join(text for text in first if text):
        messages.append({"role": "user", "content": asked})
    messages += [message for turn in shown.turns for message in put(turn)]
    if shown.turns and shown.tail:
        messages.append({"role": "user", "content": shown.tail})
    return messages


def said(turn: AssistantMessage) -> str:
    """The text of a message, without calls and thinking."""
    return "".join(part.text for part in turn.parts if isinstance(part, Text))


def function(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A tool in OpenAI's format."""
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }
