"""What a program is told: the response to a message, and conversations as data.

Messages, tool calls and their results are views, made from a run's journal by `transom.agent.record`; nothing is kept
in them that is not there. They never change, down to the last list in their metadata, and they survive JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal, NoReturn, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from transom.canonical import Json
from transom.llm import Request, Turn, Usage, Window
from transom.llm.checked import Output
from transom.llm.structured import answer_read

Ended = Literal["answered", "length", "refusal", "turns", "tokens", "usd", "seconds"]
_ID = re.compile(r"\[([a-z]{2,12}-[0-9a-z]{3,}(?:-[0-9a-z]+)*)\]")
"""An insight or a memory, as its block names it: `[str-00001]`."""


@dataclass(frozen=True)
class Response:
    """What came of a message.

    Attributes:
        text: what the role said last.
        ended: `answered`, or why it did not come to an answer: `length` and `refusal` are the model's; the others are
            caps, and `Agent.resume` goes on from there once the budget is raised.
        usage: tokens of the whole conversation so far.
        usd: US dollars that the whole conversation has cost so far, 0 for what is on this machine; None where nobody
            knows what a reply of it cost.
        turns: the conversation so far, this message's included.
        output: what the answer follows, as its role says it.
    """

    text: str
    ended: Ended
    usage: Usage
    usd: float | None
    turns: tuple[Turn, ...]
    output: Output | None = field(default=None, repr=False, compare=False)
    _request: Callable[[], Request | None] = field(default=lambda: None, repr=False, compare=False)

    @property
    def window(self) -> Window | None:
        """What the last call saw; None where a cap left no call."""
        request = self._request()
        return request.window if request else None

    @property
    def value(self) -> Any:
        """The answer of a role with an `output`: an instance of its model class, or for a schema the JSON as data.

        None where the role has none, or did not come to an answer (see `ended`).

        Raises:
            ReplyError: the class takes no such answer: it knows more than its schema, or is another one today.
        """
        if self.output is None or self.ended != "answered":
            return None
        return answer_read(self.text, self.output)

    @property
    def shown(self) -> tuple[str, ...]:
        """Ids of the insights and memories in the last call's window, in order."""
        window, found = self.window, list[str]()
        for block in window.blocks if window else ():
            if block.name in ("playbook", "insights", "memory", "memories"):
                found += _ID.findall(block.text)
        return tuple(dict.fromkeys(found))

    @property
    def cited(self) -> tuple[str, ...]:
        """Those of `shown` that the answer names; only these earn credit."""
        said = set(re.findall(r"[a-z]+(?:-[0-9a-z]+)+", self.text))
        return tuple(one for one in self.shown if one in said)


# -- conversations as data --------------------------------------------------------------------------------------------


def _never(*_: object, **__: object) -> NoReturn:
    raise TypeError("this never changes; dict(...) and list(...) make a copy that does")


class _FrozenDict(dict[str, Any]):
    __init__ = __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _never

    def __hash__(self) -> int:  # type: ignore[override]  # a dict may change, and has none
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return frozen, (dict(self),)


class _FrozenList(list[Any]):
    __init__ = __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = _never
    pop = remove = reverse = sort = _never

    def __hash__(self) -> int:  # type: ignore[override]  # as above
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, tuple[list[Any]]]:
        return frozen, (list(self),)


def frozen(value: Any) -> Any:
    """The same value; whoever tries to change anything in it is told TypeError."""
    made: Any = value
    if isinstance(value, dict):
        made = _FrozenDict.__new__(_FrozenDict)  # not by its __init__, which could fill it anew at any time
        dict.update(made, {name: frozen(inner) for name, inner in value.items()})
    elif isinstance(value, list):
        made = _FrozenList.__new__(_FrozenList)
        list.extend(made, map(frozen, value))
    return made


_Value: TypeAlias = Annotated[Json, AfterValidator(frozen)]
_Metadata: TypeAlias = Annotated[Mapping[str, Json], AfterValidator(frozen)]


class _View(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class ToolCall(_View):
    """What a model wanted done; `timestamp` is when its reply was journaled."""

    id: str
    name: str
    arguments: _Value
    timestamp: datetime


class ToolResult(_View):
    """What came of a tool call.

    Attributes:
        tool_call_id: of the call that it answers.
        content: what the model was told.
        success: whether the tool did what was asked.
        timestamp: when it was journaled.
        metadata: `name`, `trust`, `egress`; `seconds` that it took; `error`, the class of what went wrong; `kept`, the
            digest of a content of which the model was given an outline.
    """

    tool_call_id: str
    content: str
    success: bool
    timestamp: datetime
    metadata: _Metadata = Field(default_factory=dict)


class Message(_View):
    """One message. A model's call of tools is part of its message; what came of them is a message of the user's side.

    Attributes:
        role: who speaks.
        content: the text; of results, their contents one after the other.
        timestamp: when it was journaled.
        metadata: of a reply `by`, `stop`, `usage`, `request`, `tool_calls`; of results `tool_results`.
    """

    role: Literal["user", "assistant", "system"]
    content: str
    timestamp: datetime
    metadata: _Metadata = Field(default_factory=dict)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """What the model called in this message."""
        return tuple(ToolCall.model_validate(one) for one in _list(self.metadata.get("tool_calls")))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """What came back in this message."""
        return tuple(ToolResult.model_validate(one) for one in _list(self.metadata.get("tool_results")))


class Conversation(_View):
    """A whole conversation.

    Attributes:
        id: unique in its stage; `run_id/stage/id` is unique in the world, and is what spans call it.
        system_prompt: the stable blocks of its first call.
        messages: in order.
        created_at: when its first message was journaled.
        metadata: `run_id`, `stage`, `trace_id`, `role`, `by`, `usage`.
        sub_conversations: ids.
    """

    id: str
    system_prompt: str
    messages: tuple[Message, ...]
    created_at: datetime
    metadata: _Metadata = Field(default_factory=dict)
    sub_conversations: tuple[str, ...] = ()


class SubConversation(Conversation):
    """A conversation with a purpose of its own, of which its parent is told only a summary.

    Attributes:
        parent_id: unique in the stage.
        purpose: what it is to find out.
        summary: what its parent was told, None while it is open.
        completed_at: when; None while it is open.
        metadata: as of a conversation; `how` the summary was made: `summary`, or `extract` where none could be had.
    """

    parent_id: str
    purpose: str
    summary: str | None
    completed_at: datetime | None


class ConversationContext(_View):
    """What is known of a conversation beside its words.

    Attributes:
        message_count: messages of either side, results included.
        input_tokens, output_tokens, cached_tokens: over the conversation and its sub-conversations.
        usd: what they cost in US dollars, 0 for what is on this machine; None where nobody knows what a reply cost.
        provider: who may answer.
        trace_id: of the file that holds its spans; the whole run's.
        tool_calls: how many.
        sub_conversations: ids.
        window_tokens, window_limit: that a window takes now, before more is said, as estimated, and that it may take.
    """

    id: str
    run_id: str
    message_count: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    usd: float | None
    provider: str
    trace_id: str
    tool_calls: int
    sub_conversations: tuple[str, ...]
    window_tokens: int
    window_limit: int


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
