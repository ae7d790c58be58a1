"""What real servers send: the same replies and errors in each vendor's words."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from transom.llm import Text, ToolCallPart, Usage
from transom.llm.hosted import HostedProvider, Server, Vendor
from transom.llm.hosted.anthropic import AnthropicVendor
from transom.llm.hosted.models import known_model
from transom.llm.hosted.ollama import OllamaVendor
from transom.llm.hosted.openai import OpenAIVendor

Part = Text | ToolCallPart
SAID = "said by the server"


class Dialect(ABC):
    """One vendor's side of the wire.

    Args:
        plain: input tokens of its replies beside the five that it says were cached.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """What it is called in a table."""
    service: ClassVar[str]
    """By which what is known of its models is found."""
    vendor: ClassVar[type[Vendor]]
    usage: ClassVar[Usage]
    """What the counts in its replies come to."""
    stream_type: ClassVar[str] = "text/event-stream; charset=utf-8"
    suffix: ClassVar[str] = ""

    def __init__(self, plain: int = 7) -> None:
        self._plain = plain

    def provider(
        self, url: str, *, seconds: float, stream: bool, max_body: int = 65_536
    ) -> HostedProvider:
        server = Server(
            url + self.suffix, "planted-key", seconds=seconds, stream=stream, max_body=max_body
        )
        return HostedProvider(self.vendor(server), "m-1", server, known_model(self.service, "m-1"))

    @abstractmethod
    def whole(self, parts: Sequence[Part], stop: str | None = None) -> dict[str, Any]:
        """A reply in one piece; `stop` in place of the right word, "" for none."""

    @abstractmethod
    def pieces(self, parts: Sequence[Part], stop: str | None = None) -> list[bytes]:
        """The same reply as the frames of a stream."""

    @property
    @abstractmethod
    def last(self) -> int:
        """How many of a stream's frames only say that it is over, when the stop reason and the
        usage have been told.
        """

    @abstractmethod
    def error(self, kind: str, said: str) -> dict[str, Any]:
        """The body of an error."""

    @abstractmethod
    def schema(self, body: Any) -> tuple[dict[str, Any] | None, bool]:
        """What a request asks the server to hold the answer to, and whether strictly."""

    @abstractmethod
    def overflow(self) -> dict[str, Any]:
        """What is said of a request of 9,000 tokens where 8,192 fit."""

    @abstractmethod
    def failure(self) -> dict[str, Any]:
        """What is said where a server breaks off."""

    @abstractmethod
    def error_frame(self, error: dict[str, Any]) -> bytes:
        """The body of an error as it is told inside a stream."""


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [text[:middle], text[middle:]]


class Anthropic(Dialect):
    name = title = service = "anthropic"
    vendor = AnthropicVendor
    last = 1
    usage = Usage(12, 5, 3, 2)

    def _block(self, part: Part) -> dict[str, Any]:
        if isinstance(part, Text):
            return {"type": "text", "text": part.text}
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}

    def _message(self, parts: Sequence[Part], stop: str | None, out: int) -> dict[str, Any]:
        counts = {
            "input_tokens": self._plain,
            "cache_read_input_tokens": 3,
            "cache_creation_input_tokens": 2,
        }
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m-1",
            "content": [self._block(part) for part in parts],
            "stop_reason": stop or None,
            "stop_sequence": None,
            "usage": {**counts, "output_tokens": out},
        }

    def _stop(self, parts: Sequence[Part], stop: str | None) -> str:
        return (
            stop
            if stop is not None
            else "tool_use"
            if isinstance(parts[-1], ToolCallPart)
            else "end_turn"
        )

    def whole(self, parts: Sequence[Part], stop: str | None = None) -> dict[str, Any]:
        return self._message(parts, self._stop(parts, stop), 5)

    def pieces(self, parts: Sequence[Part], stop: str | None = None) -> list[bytes]:
        return [
            _event(event["type"], event) for event in self._events(parts, self._stop(parts, stop))
        ]

    def _events(self, parts: Sequence[Part], stop: str) -> Iterator[dict[str, Any]]:
        yield {"type": "message_start", "message": self._message([], None, 1)}
        yield {"type": "ping"}
        for index, part in enumerate(parts):
            if isinstance(part, Text):
                begin: dict[str, Any] = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": half} for half in _halves(part.text)]
            else:
                begin = {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
                halves = _halves(json.dumps(part.arguments))
                deltas = [{"type": "input_json_delta", "partial_json": half} for half in halves]
            yield {"type": "content_block_start", "index": index, "content_block": begin}
            for piece in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": piece}
            yield {"type": "content_block_stop", "index": index}
        if stop:
            delta: dict[str, Any] = {"stop_reason": stop, "stop_sequence": None}
            yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}
            yield {"type": "message_stop"}

    def error(self, kind: str, said: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": kind, "message": said}}

    def overflow(self) -> dict[str, Any]:
        return self.error("invalid_request_error", "prompt is too long: 9000 tokens > 8192 maximum")

    def schema(self, body: Any) -> tuple[dict[str, Any] | None, bool]:
        told = body.get("output_config")
        return told["format"]["schema"] if told else None, True

    def failure(self) -> dict[str, Any]:
        return self.error("overloaded_error", SAID)

    def error_frame(self, error: dict[str, Any]) -> bytes:
        return _event("error", error)


class OpenAI(Dialect):
    name = title = service = "openai"
    vendor = OpenAIVendor
    last = 1
    usage = Usage(12, 5, 3)
    suffix = "/v1"

    def _counts(self) -> dict[str, Any]:
        asked = self._plain + 5
        counts = {"prompt_tokens": asked, "completion_tokens": 5, "total_tokens": asked + 5}
        return {**counts, "prompt_tokens_details": {"cached_tokens": 3}}

    def _stop(self, parts: Sequence[Part], stop: str | None) -> str:
        return (
            stop
            if stop is not None
            else "tool_calls"
            if isinstance(parts[-1], ToolCallPart)
            else "stop"
        )

    def whole(self, parts: Sequence[Part], stop: str | None = None) -> dict[str, Any]:
        text = "".join(part.text for part in parts if isinstance(part, Text))
        message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": None}
        calls = [part for part in parts if isinstance(part, ToolCallPart)]
        if calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for call in calls
            ]
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": self._stop(parts, stop) or None,
            "logprobs": None,
        }
        return {
            "id": "c1",
            "object": "chat.completion",
            "created": 1,
            "model": "m-1",
            "choices": [choice],
        } | {"usage": self._counts()}

    def pieces(self, parts: Sequence[Part], stop: str | None = None) -> list[bytes]:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        calls = 0
        for part in parts:
            if isinstance(part, Text):
                deltas += [{"content": half} for half in _halves(part.text)]
                continue
            begin = {"name": part.name, "arguments": ""}
            deltas.append(
                {
                    "tool_calls": [
                        {"index": calls, "id": part.id, "type": "function", "function": begin}
                    ]
                }
            )
            for half in _halves(json.dumps(part.arguments)):
                deltas.append({"tool_calls": [{"index": calls, "function": {"arguments": half}}]})
            calls += 1
        frames = [
            self._chunk([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas
        ]
        word = self._stop(parts, stop)
        if word:
            frames.append(self._chunk([{"index": 0, "delta": {}, "finish_reason": word}]))
            frames.append(self._chunk([], usage=self._counts()))
            frames.append(b"data: [DONE]\n\n")
        return frames

    def _chunk(self, choices: list[Any], **more: Any) -> bytes:
        made = {
            "id": "c1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m-1",
            "choices": choices,
        }
        return _event(None, {**made, **more})

    def error(self, kind: str, said: str) -> dict[str, Any]:
        return {"error": {"message": said, "type": kind, "param": None, "code": None}}

    def overflow(self) -> dict[str, Any]:
        said = (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in"
            " 9000 tokens."
        )
        return {
            "error": {
                "message": said,
                "type": "invalid_request_error",
                "code": "context_length_exceeded",
            }
        }

    def schema(self, body: Any) -> tuple[dict[str, Any] | None, bool]:
        told = body.get("response_format")
        return (
            (told["json_schema"]["schema"], told["json_schema"]["strict"])
            if told
            else (None, False)
        )

    def failure(self) -> dict[str, Any]:
        return self.error("server_error", SAID)

    def error_frame(self, error: dict[str, Any]) -> bytes:
        return _event(None, error)


class Ollama(Dialect):
    name = title = service = "ollama"
    vendor = OllamaVendor
    last = 0
    usage = Usage(12, 5)
    stream_type = "application/x-ndjson"

    def _message(self, content: str, calls: Sequence[ToolCallPart]) -> dict[str, Any]:
        made: dict[str, Any] = {"role": "assistant", "content": content}
        if calls:
            made["tool_calls"] = [
                {"function": {"name": call.name, "arguments": call.arguments}} for call in calls
            ]
        return made

    def _piece(self, message: dict[str, Any], stop: str = "") -> dict[str, Any]:
        made = {
            "model": "m-1",
            "created_at": "2026-11-21T00:00:00Z",
            "message": message,
            "done": bool(stop),
        }
        return made | (
            {"done_reason": stop, "prompt_eval_count": self._plain + 5, "eval_count": 5}
            if stop
            else {}
        )

    def whole(self, parts: Sequence[Part], stop: str | None = None) -> dict[str, Any]:
        text = "".join(part.text for part in parts if isinstance(part, Text))
        calls = [part for part in parts if isinstance(part, ToolCallPart)]
        return self._piece(self._message(text, calls), "stop" if stop is None else stop)

    def pieces(self, parts: Sequence[Part], stop: str | None = None) -> list[bytes]:
        made: list[dict[str, Any]] = []
        for part in parts:
            if isinstance(part, Text):
                made += [self._piece(self._message(half, [])) for half in _halves(part.text)]
            else:
                made.append(self._piece(self._message("", [part])))
        word = "stop" if stop is None else stop
        if word:
            made.append(self._piece(self._message("", []), word))
        return [json.dumps(piece).encode() + b"\n" for piece in made]

    def error(self, kind: str, said: str) -> dict[str, Any]:
        return {"error": said}

    def overflow(self) -> dict[str, Any]:
        return {"error": "input (9000 tokens) exceeds the available context size (8192 tokens)"}

    def schema(self, body: Any) -> tuple[dict[str, Any] | None, bool]:
        return body.get("format"), False

    def failure(self) -> dict[str, Any]:
        return self.error("", SAID)

    def error_frame(self, error: dict[str, Any]) -> bytes:
        return json.dumps(error).encode() + b"\n"


def _event(name: str | None, data: Any) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


DIALECTS: tuple[Dialect, ...] = (Anthropic(), OpenAI(), Ollama())
