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
from transom.llm.reply import Reply, Stop, Usage
from transom.llm.strict_json import bounded_arguments, read_json
from transom.llm.turns import Opaque, Part, Text, ToolCallPart, calls_of

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
        on_delta: called with text as it comes, and with each call once the reply is whole.

    Attributes:
        stop: why the model stopped, in the vendor's word; None until the server reports it.
        usage: as far as it was reported.
        counts: token counts so far, for a vendor that reports them bit by bit.
        in_pieces: whether the reply came in pieces so far, for a vendor that may repeat the whole
            reply at the end.
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
        """Append text to a piece of the reply.

        Args:
            key: identifies the piece; pieces keep the order in which they began.
            text: what to append.
        """
        self._pieces.setdefault(key, _Piece("text")).texts.append(text)
        if text and self._on_delta:
            self._on_delta(Text(text))

    def call(self, key: Hashable, *, ident: str = "", name: str = "", arguments: Json = "") -> None:
        """Add to a tool call; its arguments come as pieces of text, or whole."""
        piece_key = self._latest.get(key, key)
        piece = self._pieces.setdefault(piece_key, _Piece("call"))
        # Some servers give every call the same key, and some no id either. So another id begins
        # another call, and so does another name, or the same name again if nothing has an id.
        is_other_id = bool(ident) and piece.id not in ("", ident)
        is_other_name = bool(name and piece.name) and (
            name != piece.name or not (ident or piece.id)
        )
        if is_other_id or is_other_name:
            piece_key = self._latest[key] = (key, len(self._pieces))
            piece = self._pieces[piece_key] = _Piece("call")
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
        provider: str,
        stops: Mapping[str, Stop],
        *,
        calls_before: int,
        usage: Usage,
        silent: bool = False,
    ) -> Reply:
        """Return the reply, if it is whole.

        Args:
            provider: the provider's name.
            stops: the vendor's words for why a model stops.
            calls_before: calls in the conversation so far, to number the ids of a server that
                sends none.
            usage: an estimate, for a server that reports none.
            silent: whether the model may end without text, which is a pause; otherwise such a
                reply is broken.

        Raises:
            NetworkFailed: the server did not report an end.
            ProviderError: the server gave up, the model stopped for an unknown reason, or the
                reply is empty.
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
        calls = calls_of(parts)
        if stop == "tool_calls" and not calls:
            raise unreadable("the reply announces tool calls and has none")
        if stop == "end" and all(isinstance(part, Opaque) for part in parts):
            if not silent:
                raise unreadable("the reply is empty")
            stop, parts = "pause", ()
        if not all(call.name for call in calls):
            raise unreadable("the reply calls a tool and does not name it")
        # Some servers report a plain end for a reply with calls.
        if calls and stop in ("end", "pause"):
            stop = "tool_calls"
        if self._on_delta:
            for call in calls:
                self._on_delta(call)
        return Reply(parts, stop, self._usage(usage), provider)

    def partial_usage(self, estimate: Usage) -> Usage | None:
        """Return the usage of a reply that broke off; None if nothing of it came.

        Args:
            estimate: of the input tokens, for a server that has not reported them yet.
        """
        if self.usage is None and not self._pieces:
            return None
        usage = self._usage(estimate)
        # A server that reports at the end has not counted yet what it wrote.
        return replace(usage, output_tokens=max(usage.output_tokens, self._written))

    @property
    def _written(self) -> int:
        """The tokens of the text so far, as estimated."""
        characters = 0
        for piece in self._pieces.values():
            characters += sum(map(len, piece.texts))
        return -(-characters // 3)

    def _usage(self, estimate: Usage) -> Usage:
        """Return the reported usage, or the estimate if the report is implausible."""
        guess = replace(estimate, output_tokens=self._written)
        reported = self.usage
        if reported is None:
            return guess
        read, written = reported.cached_tokens, reported.cache_write_tokens
        is_plausible = (
            0 < reported.input_tokens <= _MOST
            and 0 <= reported.output_tokens <= _MOST
            and min(read, written) >= 0
            and read + written <= reported.input_tokens
        )
        return reported if is_plausible else replace(guess, cost=reported.cost)

    def _parts(self, calls_before: int) -> tuple[Part, ...]:
        parts: list[Part] = []
        ids: set[str] = set()
        for piece in self._pieces.values():
            if piece.kind == "opaque":
                parts.append(Opaque(piece.data))
            elif piece.kind == "call":
                calls_before += 1
                # A result is matched to its call by the id, so each call needs one of its own.
                ident = piece.id
                if not ident or ident in ids:
                    ident = f"call_{calls_before}"
                ids.add(ident)
                arguments = whole_texts(_arguments(piece))
                parts.append(ToolCallPart(whole_text(ident), whole_text(piece.name), arguments))
            elif text := "".join(piece.texts):
                parts.append(Text(whole_text(text)))
        return tuple(parts)


def whole_number(value: object) -> int | None:
    """Return a count that a server sent; None for anything else, `true` included."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _arguments(piece: _Piece) -> Json:
    """Return the arguments of a call as JSON, or as text if they are not JSON.

    A tool refuses arguments that are a text, so the model is corrected.
    """
    text = "".join(piece.texts)
    # Arguments that an SDK has read are read again here, by the stricter reader.
    if not text.strip():
        arguments = bounded_arguments({} if piece.data is None else piece.data)
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    try:
        value = read_json(text)
    except ValueError:
        return text
    # Some models write null for a tool without parameters.
    return {} if value is None else value
