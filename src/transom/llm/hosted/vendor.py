"""The adapter interface for vendors, and the code that adapters share."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Any, ClassVar, cast

from transom.errors import NetworkFailed
from transom.llm.capabilities import Capabilities
from transom.llm.hosted.draft import ReplyAssembler
from transom.llm.hosted.failures import connection_failed, from_status, own_error, parsed
from transom.llm.hosted.server import HEADERS, Server
from transom.llm.hosted.wire import Document, body_guard, documents
from transom.llm.loops import PerLoop
from transom.llm.proxies import transport
from transom.llm.render import Rendered
from transom.llm.reply import Stop
from transom.llm.shapes import Block, Request
from transom.llm.turns import AssistantMessage, Text, Turn


class Vendor:
    """An adapter: it builds a request body, sends it, and adds the documents that come to a reply.

    Attributes:
        kind: `anthropic`, `openai`, `ollama`; its SDK's name.
        tells_overflow: whether its server refuses a request that is too long; otherwise the server
            cuts the request silently.
        may_be_silent: whether its models end without text when they have nothing to add, so that
            another attempt is of no use.
        stops: its words for why a model stops.
    """

    kind: ClassVar[str]
    tells_overflow: ClassVar[bool] = True
    may_be_silent: ClassVar[bool] = False
    stops: ClassVar[Mapping[str, Stop]]

    def __init__(self, server: Server) -> None:
        self._server = server
        # Connections of one event loop are of no use to another.
        self._client = PerLoop(self._connect)

    def body(self, request: Request, model: str, caps: Capabilities) -> dict[str, object]:
        """Return the request in the vendor's form."""
        raise NotImplementedError

    def send(self, body: Mapping[str, object], *, stream: bool) -> AsyncGenerator[Document]:
        """Send a body once, and yield the documents of the reply.

        Raises:
            ProviderError: for every error of the SDK.
        """
        raise NotImplementedError

    def take(self, document: Document, draft: ReplyAssembler) -> bool:
        """Add a document to a reply; return False if it holds no part of a reply."""
        raise NotImplementedError

    def connect(self) -> None:
        """Make the client of this event loop."""
        # In a step of its own: an SDK's import takes seconds, which must not count as the server's.
        self._client.get()

    async def aclose(self) -> None:
        """Close the connections of this event loop; those of others are in use there."""
        if client := self._client.pop():
            await client.close()

    def _connect(self) -> Any:
        """Return a client of the SDK."""
        raise NotImplementedError


class StainlessVendor(Vendor):
    """A vendor whose SDK is made by Stainless.

    Attributes:
        failure: the name of the class that all errors of the SDK have.
    """

    failure: ClassVar[str]

    def _own_headers(self) -> dict[str, str]:
        """Return the headers that no environment variable may change, by lower-case names."""
        raise NotImplementedError

    def _client_of(self, name: str, **options: Any) -> Any:
        """Return a client of the SDK's class of that name."""
        import httpx2  # noqa: PLC0415  only if a server is asked

        sdk: Any = import_module(self.kind)  # 1.4 to 3 s of CPU
        guard = body_guard(httpx2.AsyncByteStream, self._server.max_body)
        return getattr(sdk, name)(
            api_key=self._server.api_key,
            max_retries=0,
            timeout=self._server.seconds,
            default_headers=HEADERS,
            http_client=sdk.DefaultAsyncHttpxClient(
                transport=transport(httpx2, self._server.proxy),
                follow_redirects=False,
                event_hooks={"request": [self._restore_headers], "response": [guard]},
            ),
            **options,
        )

    async def _restore_headers(self, request: Any) -> None:
        """Undo what the SDK's environment variable has changed in a request's headers.

        The variable is meant for somebody's gateway; the SDK sends its headers, a key among them
        perhaps, to any server that it is given.
        """
        own_headers = self._own_headers()
        for line in os.environ.get(f"{self.kind.upper()}_CUSTOM_HEADERS", "").split("\n"):
            name = line.partition(":")[0].strip().lower()
            request.headers.pop(name, None)
            if name in own_headers:
                request.headers[name] = own_headers[name]

    async def _documents(
        self,
        create: Callable[..., AbstractAsyncContextManager[Any]],
        body: Mapping[str, Any],
        is_last: Callable[[Document], bool] = lambda _: False,
    ) -> AsyncGenerator[Document]:
        """Send a body with a function of the client's `with_streaming_response`; see `send`."""
        from httpx2 import HTTPError  # noqa: PLC0415  the SDK has imported it

        sdk: Any = import_module(self.kind)
        try:
            async with create(**body) as response:
                content_type = response.headers.get("content-type", "")
                async for document in documents(response.iter_bytes(), content_type, is_last):
                    yield document
        except (getattr(sdk, self.failure), HTTPError) as error:
            if ours := own_error(error):
                raise ours from error
            if isinstance(error, sdk.APIStatusError):
                response = cast(Any, error).response
                raise from_status(
                    response.status_code, parsed(response.text), response.headers
                ) from error
            if isinstance(error, sdk.APITimeoutError):
                problem = "the server did not answer in time"
                raise NetworkFailed(problem, reason=problem) from error
            raise connection_failed(error) from error


def chat_messages(
    rendered: Rendered,
    system: str,
    messages_of: Callable[[Turn], list[Any]],
    attach: Callable[[dict[str, Any], Sequence[Block]], None],
) -> list[dict[str, Any]]:
    """Return a request as messages of one role each.

    Args:
        rendered: the request.
        system: the system message; empty for none.
        messages_of: makes the messages of a turn.
        attach: adds images and files to a message of the user.
    """
    messages: list[Any] = []
    if system:
        messages.append({"role": "system", "content": system})
    # Text that stays the same comes first, so that a cache knows it; this call's own text is last.
    beginning = [rendered.user]
    if not rendered.turns:
        beginning.append(rendered.tail)
        media = (*rendered.user_media, *rendered.tail_media)
    else:
        media = rendered.user_media
    if text := "\n\n".join(filter(None, beginning)):
        messages.append(_user_message(text, media, attach))
    for turn in rendered.turns:
        messages += messages_of(turn)
    if rendered.turns and rendered.tail:
        messages.append(_user_message(rendered.tail, rendered.tail_media, attach))
    return messages


def _user_message(
    text: str,
    media: Sequence[Block],
    attach: Callable[[dict[str, Any], Sequence[Block]], None],
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "user", "content": text}
    if media:
        attach(message, media)
    return message


def text_of(turn: AssistantMessage) -> str:
    """Return the text of a message, without calls and thinking."""
    return "".join([part.text for part in turn.parts if isinstance(part, Text)])


def function(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool in OpenAI's format."""
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }
