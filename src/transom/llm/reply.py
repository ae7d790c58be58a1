"""A model's reply, its usage, and the sources that it rests on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from transom.canonical import Json
from transom.llm.turns import Egress, Part, Text, ToolCallPart, calls_of
from transom.once import once

Stop = Literal["end", "tool_calls", "length", "refusal", "pause"]
"""Why a model stopped. `pause`: without any text, or its server paused in the middle."""


@dataclass(frozen=True)
class Usage:
    """Tokens of one call.

    Attributes:
        input_tokens: all that was read, the cached ones included.
        output_tokens: all that was written, thinking included.
        cached_tokens: those of the input that were read from a cache.
        cache_write_tokens: those of the input that were written into a cache, where the vendor
            reports them.
        cost: in US dollars, where the server reports it; it overrides any price list. Of several
            calls, the sum of what was reported.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float | None = None

    def __add__(self, other: Usage) -> Usage:
        # A call of unknown cost adds nothing to the sum of the reported ones.
        cost = self.cost
        if cost is None:
            cost = other.cost
        elif other.cost is not None:
            cost += other.cost
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            cost,
        )

    def to_json(self) -> dict[str, Json]:
        data: dict[str, Json] = {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_tokens": self.cached_tokens,
            "cache_write_tokens": self.cache_write_tokens,
        }
        if self.cost is not None:
            data["cost"] = self.cost
        return data


@dataclass(frozen=True)
class AnsweredFrom:
    """Something outside the request that an answer rests on: a knowledge file, by name and
    digest.
    """

    name: str
    digest: str

    def to_json(self) -> dict[str, Json]:
        return {"name": self.name, "digest": self.digest}


@dataclass(frozen=True)
class Reply:
    """The reply to a request.

    Attributes:
        parts: texts, tool calls and opaque pieces, in order.
        stop: why it stopped; `length` is a truncated reply.
        usage: tokens.
        by: the provider: `rules`, `replay`, `anthropic:NAME`, ...
        answered_from: what else the answer rests on; when any of it changes, the answer is void.
        egress: of what was asked; an answer may repeat it.
    """

    parts: tuple[Part, ...]
    stop: Stop = "end"
    usage: Usage = field(default_factory=Usage)
    by: str = ""
    answered_from: tuple[AnsweredFrom, ...] = ()
    egress: Egress = "any"

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @once
    def calls(self) -> tuple[ToolCallPart, ...]:
        return calls_of(self.parts)

    def to_json(self) -> dict[str, Json]:
        data: dict[str, Json] = {
            "parts": [part.to_json() for part in self.parts],
            "stop": self.stop,
            "usage": self.usage.to_json(),
            "by": self.by,
            "answered_from": [source.to_json() for source in self.answered_from],
        }
        # Left out by default, so that replies journaled before this mark existed stay the same.
        if self.egress != "any":
            data["egress"] = self.egress
        return data
