"""Decoding of a response's bytes to JSON documents: one for a whole reply, many for a stream."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from transom.errors import ProviderError
from transom.llm.hosted.failures import from_error_in_reply, unreadable
from transom.llm.reading import read_document

Document = dict[str, Any]
"""Somebody else's JSON: nothing in it is what it should be until it was looked at."""

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
    """The JSON objects of a response.

    Vendors' own decoders pass over what they do not know, and over a plain JSON body where a stream
    was asked for, which is how many servers tell an error. Many also send events and do not say so.
    The vendor sends nothing behind a document of which `is_last` is true, as behind `[DONE]`.

    Raises:
        ProviderError: no JSON, no object, or an error in place of a reply.
    """
    texts = _texts(body)
    named = "event-stream" in content_type.lower()
    head = await _beginning(texts)
    # What is named so and is JSON is an error, which proxies hand on under the name that was asked
    # for.
    if head.startswith(_FIELDS) or (named and not head.startswith("{")):
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


async def drain(rest: AsyncIterable[object], seconds: float = GRACE) -> None:
    """Read the rest behind a whole reply, for a bounded time, so that the connection can be used
    again.

    Some servers, and proxies before them, leave the connection open, or tear it: the reply is whole
    all the same.
    """
    with suppress(Exception):
        async with asyncio.timeout(seconds):
            async for _ in rest:
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
    """The beginning of a body, enough of it to recognise events."""
    head = ""
    async for text in texts:
        head = (head + text).lstrip()
        if head and (
            len(head) >= _LONGEST_FIELD or not any(field.startswith(head) for field in _FIELDS)
        ):
            break
    return head


async def _after(head: str, texts: AsyncIterable[str]) -> AsyncIterator[str]:
    yield head
    async for text in texts:
        yield text


async def _events(texts: AsyncIterable[str]) -> AsyncIterator[tuple[str, str]]:
    """Name and data of the server-sent events that are complete; half an event at the end is
    none.
    """
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
    """Lines that end in LF, CR or CRLF; an unfinished last line is left out."""
    rest = ""
    async for text in texts:
        rest += text
        # A CR at the very end may be the first half of a CRLF.
        whole, rest = (rest[:-1], "\r") if rest.endswith("\r") else (rest, "")
        *lines, last = whole.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        rest = last + rest
        for line in lines:
            yield line
    if rest.endswith("\r"):
        yield rest[:-1]


async def _texts(body: AsyncIterable[bytes]) -> AsyncIterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    async for piece in body:
        yield decoder.decode(piece)


def body_guard(byte_stream: type[Any], limit: int) -> Callable[[Any], Awaitable[None]]:
    """A response hook for an HTTP client with that class of bodies: nothing is read beyond
    `limit` bytes.
    """

    class Capped(byte_stream):  # type: ignore[misc]  # the class differs by library
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            seen = 0
            async for piece in self._inner:
                seen += len(piece)
                if seen > limit:
                    raise ProviderError(f"the reply has more than {limit} bytes")
                yield piece

        async def aclose(self) -> None:
            await self._inner.aclose()

    async def guard(response: Any) -> None:
        if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            # Plain bytes are asked for: a small compressed body may unpack to any size.
            raise ProviderError("the reply is compressed, which was not asked for")
        response.stream = Capped(response.stream)

    return guard
