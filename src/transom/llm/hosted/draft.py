"""Assembly of a reply, from one document or from many."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from transom.canonical import Json, whole_text, whole_texts
from transom.errors import NetworkFailed, ProviderError
from transom.llm.deltas import OnDelta
from transom.llm.hosted.failures import unreadable
from transom.llm.reading import held_arguments, read_json
from transom.llm.reply import Reply, Stop, Usage
from transom.llm.turns import Opaque, Part, Text, ToolCall

_MOST = 10**9  # tokens; no model reads or writes more in one call
_GAVE_UP = frozenset({"error", "abort", "insufficient_system_resource"})
"""Stop reasons of servers that gave up: OpenRouter, vLLM and SGLang, DeepSeek."""


@dataclass
class _Piece:
    kind: Literal["text", "call", "opaque"]
    texts: list[str] = field(default_factory=list)
    id: str = ""
    name: str = ""
    data: Json = None


class ReplyAssembler:
    """A reply that is being assembled.

    Args:
        on_delta: is called with text as it comes, and with each call once the reply is whole.

    Attributes:
        stop: why the model stopped, in the vendor's word; None while nothing says so.
        usage: as far as it was reported.
        counts: token counts so far, for a vendor that reports them bit by bit.
        in_pieces: whether it came in pieces so far, for a vendor that may send it whole behind
            them.
    """

    def __init__(self, on_delta: OnDelta | None = None) -> None:
        self.stop: str | None = None
        self.usage: Usage | None = None
        self.counts: dict[str, int] = {}
        self.in_pieces = False
        self._on_delta = on_delta
        self._pieces: dict[Hashable, _Piece] = {}
        self._latest: dict[Hashable, Hashable] = {}

    def text(self, key: Hashable, text: str) -> None:
        """Append text. `key` identifies a piece of the reply; pieces keep the order in which
        they began.
        """
        self._pieces.setdefault(key, _Piece("text")).texts.append(text)
        if text and self._on_delta:
            self._on_delta(Text(text))

    def call(self, key: Hashable, *, ident: str = "", name: str = "", arguments: Json = "") -> None:
        """Add to a tool call; its arguments come as pieces of text, or whole.

        Some servers give every call the same place, and some no id either: another id begins
        another call, so does another name, and so does the name again where nothing has an id.
        """
        at = self._latest.get(key, key)
        piece = self._pieces.setdefault(at, _Piece("call"))
        again = name == piece.name and not ident and not piece.id
        if (ident and piece.id not in ("", ident)) or (
            name and piece.name and (name != piece.name or again)
        ):
            at = self._latest[key] = (key, len(self._pieces))
            piece = self._pieces[at] = _Piece("call")
        piece.id, piece.name = ident or piece.id, name or piece.name
        if isinstance(arguments, str):
            piece.texts.append(arguments)
        else:
            piece.data = arguments

    def opaque(self, key: Hashable, data: Json) -> None:
        """Set data that must go back unchanged; the last value counts."""
        self._pieces.setdefault(key, _Piece("opaque")).data = data

    def opaque_text(self, key: Hashable, vendor: str, name: str, text: str) -> None:
        """Append to a text within such data."""
        block = self._opaque_block(key, vendor)
        block[name] = f"{block.get(name) or ''}{text}"

    def opaque_items(self, key: Hashable, vendor: str, name: str, items: list[Json]) -> None:
        """Append to a list within such data."""
        block = self._opaque_block(key, vendor)
        before = block.get(name)
        block[name] = [*before, *items] if isinstance(before, list) else items

    def _opaque_block(self, key: Hashable, vendor: str) -> dict[str, Json]:
        piece = self._pieces.setdefault(key, _Piece("opaque", data={vendor: {}}))
        block = piece.data.get(vendor) if isinstance(piece.data, dict) else None
        return block if isinstance(block, dict) else {}

    @property
    def calls(self) -> int:
        """The number of calls so far."""
        return sum(piece.kind == "call" for piece in self._pieces.values())

    def reply(
        self,
        by: str,
        stops: Mapping[str, Stop],
        *,
        calls_before: int,
        usage: Usage,
        silent: bool = False,
    ) -> Reply:
        """The reply, if it is whole.

        Args:
            by: who answered.
            stops: the vendor's words for why a model stops.
            calls_before: calls in the conversation so far; numbers the ids of a server that gives
                none.
            usage: an estimate, for a server that reports none.
            silent: whether the model may end without a word, which is a pause; else such a reply is
                broken.

        Raises:
            NetworkFailed: nothing said that it was over.
            ProviderError: its server gave up, it stopped for a reason that is not known here, or
                there is nothing in it.
        """
        if self.stop is None:
            raise NetworkFailed(
                "the reply broke off: nothing says why the model stopped",
                reason="the reply broke off",
            )
        if self.stop in _GAVE_UP:
            raise unreadable("the server gave up in the middle of the reply", repr(self.stop))
        if self.stop not in stops:
            raise ProviderError(
                f"the model stopped for a reason that is not known here: {self.stop[:60]!r}",
                hint=(
                    "it is unknown whether the reply is whole; use another model, or a newer"
                    " transom"
                ),
            )
        stop, parts = stops[self.stop], self._parts(calls_before)
        called = any(isinstance(part, ToolCall) for part in parts)
        if stop == "tool_calls" and not called:
            raise unreadable("the reply announces tool calls and has none")
        if stop == "end" and all(isinstance(part, Opaque) for part in parts):
            if not silent:
                raise unreadable("the reply is empty")
            stop, parts = "pause", ()
        if any(isinstance(part, ToolCall) and not part.name for part in parts):
            raise unreadable("the reply calls a tool and does not name it")
        ended = "tool_calls" if called and stop in ("end", "pause") else stop
        whole = Reply(parts, ended, self._usage(usage), by)
        for call in whole.calls if self._on_delta else ():
            self._on_delta(call)  # type: ignore[misc]  # called only where there is one
        return whole

    def used(self, estimate: Usage) -> Usage | None:
        """Return what a reply took that broke off; None if nothing of it came.

        Args:
            estimate: of what was read, for a server that has not reported it yet.
        """
        if self.usage is None and not self._pieces:
            return None
        usage = self._usage(estimate)
        # A server that reports at the end has not counted yet what it wrote.
        return replace(usage, output_tokens=max(usage.output_tokens, self._written))

    @property
    def _written(self) -> int:
        """The tokens of the text so far, as estimated."""
        characters = sum(len(text) for piece in self._pieces.values() for text in piece.texts)
        return -(-characters // 3)

    def _usage(self, estimate: Usage) -> Usage:
        """The reported usage where it is plausible: some input, no negative count, not more
        cached than read.
        """
        guess = replace(estimate, output_tokens=self._written)
        reported = self.usage
        if reported is None:
            return guess
        read, written = reported.cached_tokens, reported.cache_write_tokens
        sane = 0 < reported.input_tokens <= _MOST and 0 <= reported.output_tokens <= _MOST
        sane = sane and min(read, written) >= 0 and read + written <= reported.input_tokens
        return reported if sane else replace(guess, cost=reported.cost)

    def _parts(self, calls_before: int) -> tuple[Part, ...]:
        parts: list[Part] = []
        ids: set[str] = set()
        for piece in self._pieces.values():
            if piece.kind == "opaque":
                parts.append(Opaque(piece.data))
            elif piece.kind == "call":
                calls_before += 1
                ident = f"call_{calls_before}" if not piece.id or piece.id in ids else piece.id
                ids.add(ident)
                parts.append(
                    ToolCall(
                        whole_text(ident), whole_text(piece.name), whole_texts(_arguments(piece))
                    )
                )
            elif text := "".join(piece.texts):
                parts.append(Text(whole_text(text)))
        return tuple(parts)


def whole_number(value: object) -> int | None:
    """A count that a server sent; None for anything else, `true` included."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _arguments(piece: _Piece) -> Json:
    """Arguments as JSON, null as no arguments; the raw text where it is no JSON, so that the
    model can be corrected.
    """
    text = "".join(piece.texts)
    if not text.strip():  # what an SDK has read is held to the same as what is read here
        held = held_arguments({} if piece.data is None else piece.data)
        text = held if isinstance(held, str) else json.dumps(held)
    try:
        given = read_json(text)
    except ValueError:
        return text
    return {} if given is None else given
