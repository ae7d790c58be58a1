"""Decoding of a response's bytes to JSON documents: one for a whole reply, many for a stream."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from transom.errors import ProviderError
from transom.llm.hosted.failures import from_error_in_reply, unreadable
from transom.llm.strict_json import read_document

Document = dict[str, Any]
"""An object that a server sent; nothing about its fields is certain."""

_FIELDS = ("data:", "event:", "id:", "retry:", ":")
"""Beginnings of an event's lines; no JSON begins so."""
GRACE = 0.5
"""Seconds that a server has to close what it has sent whole."""

_LONGEST_FIELD = max(map(len, _FIELDS))


async def documents(
    body: AsyncIterable[bytes],
    content_type: str,
    is_last: Callable[[Document], bool] = lambda _: False,
) -> AsyncIterator[Document]:
    """Yield the JSON objects of a response.

    Vendors' own decoders pass over what they do not know, and over a plain JSON body in place of a
    stream, which is how many servers report an error.

    Args:
        body: the response's bytes.
        content_type: its header; many servers send events and do not name them there.
        is_last: whether the vendor sends nothing behind a document, as behind `[DONE]`.

    Raises:
        ProviderError: no JSON, no object, or an error in place of a reply.
    """
    texts = _texts(body)
    is_named_stream = "event-stream" in content_type.lower()
    head = await _beginning(texts)
    # JSON under the name of a stream is an error, which proxies pass on with the wrong name.
    if head.startswith(_FIELDS) or (is_named_stream and not head.startswith("{")):
        events = _events(_after(head, texts))
        async for name, data in events:
            if data == "[DONE]":
                break
            document = _document(data, is_error=name == "error")
            yield document
            if is_last(document):
                break
        await drain(events)
        return
    yield _document("".join([text async for text in _after(head, texts)]))


async def drain(documents: AsyncIterable[object], seconds: float = GRACE) -> None:
    """Read the rest behind a whole reply, so that the connection can be used again.

    This ends after `seconds`, and raises nothing: some servers, and proxies before them, leave the
    connection open or tear it, and the reply is whole all the same.
    """
    with suppress(Exception):
        async with asyncio.timeout(seconds):
            async for _ in documents:
                pass


def _document(text: str, *, is_error: bool = False) -> Document:
    try:
        value = read_document(text)
    except ValueError as error:
        if is_error:
            raise from_error_in_reply(text) from error
        raise unreadable("the reply is no JSON", str(error)) from error
    if not isinstance(value, dict):
        raise unreadable("the reply is JSON, but no object")
    if value.get("error") or is_error:
        raise from_error_in_reply(value.get("error") or value)
    return value


async def _beginning(texts: AsyncIterable[str]) -> str:
    """Return the beginning of a body, enough of it to recognise events."""
    head = ""
    async for text in texts:
        head = (head + text).lstrip()
        # Go on while it may still become a field: a stream must not wait for more than that.
        may_become_field = any(field.startswith(head) for field in _FIELDS)
        if len(head) >= _LONGEST_FIELD or not may_become_field:
            break
    return head


async def _after(head: str, texts: AsyncIterable[str]) -> AsyncIterator[str]:
    yield head
    async for text in texts:
        yield text


async def _events(texts: AsyncIterable[str]) -> AsyncIterator[tuple[str, str]]:
    """Yield name and data of the server-sent events; half an event at the end is left out."""
    name, data = "", list[str]()
    async for line in _lines(texts):
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value
        elif not line:
            if data:
                yield name, "\n".join(data)
            name, data = "", []


async def _lines(texts: AsyncIterable[str]) -> AsyncIterator[str]:
    """Yield lines that end in LF, CR or CRLF; an unfinished last line is left out."""
    pending = ""
    async for text in texts:
        pending += text
        # A CR at the very end may be the first half of a CRLF, so it waits for the next piece.
        last_cr = "\r" if pending.endswith("\r") else ""
        complete = pending.removesuffix("\r")
        *lines, last = complete.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        pending = last + last_cr
        for line in lines:
            yield line
    if pending.endswith("\r"):
        yield pending[:-1]


async def _texts(body: AsyncIterable[bytes]) -> AsyncIterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    async for piece in body:
        yield decoder.decode(piece)


def body_guard(byte_stream: type[Any], limit: int) -> Callable[[Any], Awaitable[None]]:
    """Return a response hook for an HTTP client that reads no more than `limit` bytes of a body.

    Args:
        byte_stream: the client's class of bodies.
        limit: bytes.
    """

    class LimitedBody(byte_stream):  # type: ignore[misc]  # the class differs by library
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            received = 0
            async for piece in self._inner:
                received += len(piece)
                if received > limit:
                    raise ProviderError(f"the reply has more than {limit} bytes")
                yield piece

        async def aclose(self) -> None:
            await self._inner.aclose()

    async def guard(response: Any) -> None:
        if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            # Plain bytes are asked for: a small compressed body may unpack to any size.
            raise ProviderError("the reply is compressed, which was not asked for")
        response.stream = LimitedBody(response.stream)

    return guard
