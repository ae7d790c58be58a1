"""The turns of a conversation: user messages, assistant messages with tool calls, tool results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from transom.canonical import Json, canonical_json, digest
from transom.llm.checked import check_choice
from transom.once import once

Trust = Literal["ours", "untrusted"]
Egress = Literal["any", "local"]
TRUST: tuple[Trust, ...] = get_args(Trust)
EGRESS: tuple[Egress, ...] = get_args(Egress)


def check_marks(place: str, *, trust: object = "ours", egress: object = "any") -> None:
    """Refuse an unknown mark; see `check_choice`."""
    check_choice(trust, TRUST, "trust", place)
    check_choice(egress, EGRESS, "egress", place)


def strictest(*marks: Egress) -> Egress:
    """Return the egress mark of an object made of several parts: `local` if any part is."""
    # Compared with the open mark, so that an unknown mark counts as local.
    for mark in marks:
        if mark != "any":
            return "local"
    return "any"


@dataclass(frozen=True)
class Text:
    """Text of the model."""

    text: str

    def to_json(self) -> dict[str, Json]:
        return {"kind": "text", "text": self.text}


@dataclass(frozen=True)
class ToolCallPart:
    """A tool call of the model."""

    id: str
    name: str
    arguments: Json

    def to_json(self) -> dict[str, Json]:
        return {"kind": "tool_call", "id": self.id, "name": self.name, "arguments": self.arguments}

    @once
    def content_key(self) -> str:
        """Return tool and arguments as text; equal for calls that differ in their ids alone."""
        return canonical_json([self.name, self.arguments])


@dataclass(frozen=True)
class Opaque:
    """Data of the provider that must go back to it unchanged, e.g. signed thinking."""

    data: Json

    def to_json(self) -> dict[str, Json]:
        return {"kind": "opaque", "data": self.data}


Part = Text | ToolCallPart | Opaque


def calls_of(parts: Sequence[Part]) -> tuple[ToolCallPart, ...]:
    """Return the tool calls among the parts."""
    # Most replies have no call or one, and a comprehension is a call of its own.
    calls: tuple[ToolCallPart, ...] = ()
    for part in parts:
        if isinstance(part, ToolCallPart):
            calls += (part,)
    return calls


class _Turn:
    """Base of turns. They never change, so a digest is computed once."""

    def to_json(self) -> dict[str, Json]:
        raise NotImplementedError

    @once
    def digest(self) -> str:
        """Return the digest of its JSON."""
        return digest(self.to_json())


@dataclass(frozen=True)
class AssistantMessage(_Turn):
    """A reply of the model, with its parts unchanged, since a vendor may want its own back.

    It has no egress mark of its own; the window that it answers has, see `Window.egress`.
    """

    parts: tuple[Part, ...]
    egress: ClassVar[Egress] = "any"

    @once
    def calls(self) -> tuple[ToolCallPart, ...]:
        return calls_of(self.parts)

    def to_json(self) -> dict[str, Json]:
        # `said`, `asked` and `came_back` are the words of journals and recordings.
        return {"kind": "said", "parts": [part.to_json() for part in self.parts]}


@dataclass(frozen=True)
class ToolResultPart:
    """The result of one tool call.

    Attributes:
        id: of the call that it answers.
        name: of the tool.
        content: the text that the model sees.
        is_error: whether the call was not carried out; the content then says why and what to do
            next.
        trust: `untrusted` content is fenced like an untrusted block.
        egress: `local` content never reaches a remote provider.
    """

    id: str
    name: str
    content: str
    is_error: bool = False
    trust: Trust = "untrusted"
    egress: Egress = "any"

    def __post_init__(self) -> None:
        # The short test first: a conversation makes many results, nearly all of them right.
        if self.egress not in EGRESS or self.trust not in TRUST:
            check_marks(f"the result of {self.name}", trust=self.trust, egress=self.egress)

    def to_json(self) -> dict[str, Json]:
        return {
            "id": self.id,
            "name": self.name,
            "content": self.content,
            "is_error": self.is_error,
            "trust": self.trust,
            "egress": self.egress,
        }


@dataclass(frozen=True)
class ToolResults(_Turn):
    """The results of all calls of one reply, in the order of the calls."""

    results: tuple[ToolResultPart, ...]

    @property
    def egress(self) -> Egress:
        """The strictest mark of the results: `local` if any of them is local."""
        for result in self.results:
            if result.egress != "any":
                return "local"
        return "any"

    def to_json(self) -> dict[str, Json]:
        return {"kind": "came_back", "results": [result.to_json() for result in self.results]}


@dataclass(frozen=True)
class UserMessage(_Turn):
    """A message of the user, or of the program in its own name.

    A text marked `local` never reaches a remote provider.
    """

    text: str
    egress: Egress = "any"

    def __post_init__(self) -> None:
        if self.egress not in EGRESS:
            check_marks("the user's message", egress=self.egress)

    def to_json(self) -> dict[str, Json]:
        data: dict[str, Json] = {"kind": "asked", "text": self.text}
        # Left out by default, so that messages journaled before this mark existed stay the same.
        if self.egress != "any":
            data["egress"] = self.egress
        return data


Turn = UserMessage | AssistantMessage | ToolResults
"""A finished piece of a conversation. A conversation only grows at its end."""
