"""The open conversation of an agent in this process, and what is kept of it between two
requests.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from transom.agent.meter import Meter
from transom.agent.models import Event, OnEvent
from transom.canonical import Json, digest
from transom.config.model import SubConversationSeat
from transom.context import History, TokenCorrection
from transom.context.fitting import Frame
from transom.context.oversized import BlockSource
from transom.context.tokens import Measure
from transom.context.window import UNCORRECTED, frame_of
from transom.llm import Block, Request, Role, ToolCall, ToolResult, ToolResults, Turn
from transom.llm.structured import Check, schema_check
from transom.runs import Stage
from transom.runs.conversation import CallPlace, Conversation, ConversationKey, Message
from transom.runs.tool_calls import refuse_in_stage, refuse_in_tool_call
from transom.tools import Toolbox
from transom.tools.definition import ToolOutcome, outcome_from_json
from transom.tools.toolbox import OWN


class Derived:
    """The values that follow from a conversation and grow with it: made anew where turns were taken
    back.

    Attributes:
        window: the turns that windows hold, the older part of them folded.
    """

    def __init__(self, state: Conversation, next_model: Callable[[], str]) -> None:
        self.state, self.version, self._next_model = state, state.version, next_model
        self.window, self._correction = History(), UNCORRECTED
        self._turns = self._marks = self._replies = self._searched = 0
        self._learned: dict[str, TokenCorrection] = {}
        self._made: dict[str, ToolResult] = {}

    def history(self) -> History:
        """The content of windows, with all turns."""
        turns, marks = self.state.turns, self.state.marks
        if self._turns < len(turns):
            for end, mark in marks[self._marks :]:
                self.window = self.window.add(*turns[self._turns : end]).add(mark=mark)
                self._turns = end
            self.window = self.window.add(*turns[self._turns :])
            self._turns, self._marks = len(turns), len(marks)
        return self.window

    def correction(self) -> TokenCorrection:
        """The estimate of tokens as the next model counts them, learned from the usage that came
        back.
        """
        state = self.state
        if self._replies != state.replies:
            for message in state.messages[-1:] if self._replies else state.messages:
                for ordinal, data in message.replies.items():
                    if ordinal >= self._replies and "size" in data:
                        by, usage = data["reply"]["by"], data["reply"]["usage"]
                        known = self._learned.get(by, UNCORRECTED)
                        self._learned[by] = known.learned(
                            Measure(*data["size"]), usage["input_tokens"]
                        )
            self._replies = state.replies
            self._correction = self._learned.get(self._next_model(), UNCORRECTED)
        return self._correction

    def equal(self, call: ToolCall) -> ToolResult | None:
        """The result of the first equal call that succeeded."""
        turns = self.state.turns
        for at in range(self._searched or 1, len(turns)):
            turn: Turn = turns[at]
            before: Any = turns[at - 1]
            if isinstance(turn, ToolResults):
                for one, result in zip(before.calls, turn.results, strict=True):
                    if not result.is_error:
                        self._made.setdefault(one.wanted, result)
        self._searched = len(turns)
        return self._made.get(call.wanted)


@dataclass(eq=False)
class Session:
    """The open conversation of one agent, or of one of its sub-conversations.

    Attributes:
        stage: in whose journal its events are.
        seat: how sub-conversations are asked.
        tell: is told what happens; None where nobody listens.
        always: blocks that every message is answered from.
        deadline: when the message that is under way has to be over.
        next: which message the program says next.
        in_brief: shortens the kept result of a call, of which it is told the number.
        raises: whether a cap that is reached is an error, and no end that a response names.
        unheard: the error of a listener.
        asked: the last request, and the message that it is of.
    """

    stage: Stage
    id: str
    role_given: Role
    toolbox: Toolbox
    meter: Meter
    seat: SubConversationSeat = field(default_factory=SubConversationSeat)
    tell: OnEvent | None = None
    always: tuple[Block, ...] = ()
    sources: tuple[BlockSource, ...] = ()
    parent: Session | None = None
    deadline: float | None = None
    next: int = 0
    in_brief: Callable[[Session, int, ToolCall, ToolOutcome], Awaitable[ToolOutcome]] | None = None
    raises: bool = False
    unheard: Exception | None = None
    asked: tuple[Message, Request] | None = None
    key: ConversationKey = field(init=False)

    def __post_init__(self) -> None:
        self.use(self.id)
        self.window = self.stage.host.budget.on(self.stage.host.chain.of(self.role_given.name).caps)
        self._role = self.window.held(self.role_given)
        self._derived: Derived | None = None
        self._frame: tuple[Role, tuple[Block, ...], Frame] | None = None

    def use(self, id: str) -> None:  # noqa: A002  the conversation's
        """Go on as the conversation of that id."""
        self.id, self.key = id, self.stage.key(id)

    @property
    def account(self) -> tuple[str, ...]:
        """The name under which a purse counts it, together with the conversations around it."""
        return (self.stage.host.id, *self.key.root)

    def check_purse(self, state: Conversation) -> None:
        """Raise CapReached if the conversation used all that it may."""
        purse = self.meter.purse
        if purse.is_capped:
            purse.take_in(self.account, state.spent.replies)
            purse.check()

    @property
    def state(self) -> Conversation:
        """The conversation as its events have it; it is another object after a failed write."""
        try:  # asked for several times a turn
            return self.stage.host.state.conversations[self.key]
        except KeyError:
            return self.stage.state(self.id)

    @property
    def derived(self) -> Derived:
        """The values that follow from the conversation."""
        state, known = self.state, self._derived
        if known is None or known.state is not state or known.version != state.version:
            self._derived = known = Derived(
                state, partial(self.stage.next_model, self.role_given.name)
            )
        return known

    @property
    def role(self) -> Role:
        """The role that is asked, with the tools that there are now."""
        if self._role.tools is not self.toolbox.specs:
            self._role = replace(self._role, tools=self.toolbox.specs)
        return self._role

    @cached_property
    def check(self) -> Check | None:
        """Holds an answer to the role's schema; None for free text."""
        return None if self.role_given.schema is None else schema_check(self.role_given.schema)

    @property
    def correction(self) -> TokenCorrection:
        """See `Derived.correction`."""
        return self.derived.correction()

    def fingerprint(self, text: str | None, blocks: Sequence[Block]) -> str:
        """A digest of a message; in a stage also of who is asked, and who answers."""
        told: list[Json] = [text, [block.to_json() for block in blocks]]
        if not self.stage.kept:
            own = replace(
                self.role, tools=tuple(spec for spec in self.role.tools if spec.name not in OWN)
            )
            told += [
                own.digest,
                self.stage.host.chain.fingerprint(own),
                [block.to_json() for block in self.always],
            ]
        return digest(told)

    def frame(self, role: Role, blocks: tuple[Block, ...]) -> Frame:
        """The rest of a window, around the conversation; made anew where a tool came, or other
        blocks are given.
        """
        if self._frame is None or self._frame[0] is not role or self._frame[1] is not blocks:
            self._frame = role, blocks, frame_of(role, blocks, self.window)
        return self._frame[2]

    async def append(self, kind: str, data: Mapping[str, Any]) -> None:
        """Append an event."""
        await self.stage.append(kind, self.id, {**data})

    def refuse(self) -> None:
        """Refuse a tool handler of the same run, and one of its stages where the run keeps this,
        with a RunError.
        """
        refuse_in_tool_call(self.stage.host, self.id)
        if self.stage.kept:
            refuse_in_stage(self.stage.host, self.id)

    def blocks_of(self, message: Message) -> tuple[Block, ...]:
        """All that a message is answered from: the blocks it came with, and what was recalled
        for it.
        """
        found = list(self.always)
        for name in ("blocks", "recalled"):
            if sha := message.data.get(name):
                found += [Block(**one) for one in json.loads(self.stage.host.store.get_blob(sha))]
        return tuple(found)

    @property
    def given(self) -> list[Block]:
        """All blocks that its messages are answered from."""
        blocks = [
            *self.always,
            *(block for message in self.state.messages for block in self.blocks_of(message)),
        ]
        return [block for number, block in enumerate(blocks) if block not in blocks[:number]]

    def take_in(self, number: int) -> None:
        """A message of the journal counts: its tools hear again what came of their calls, and
        quotas are as then.
        """
        box, message = self.toolbox, self.state.messages[number]
        if any(tool.recall or tool.limits.calls is not None for tool in box.tools):
            for place, outcome in self._outcomes(message):
                box.recall(outcome_from_json(outcome), place)

    def _outcomes(self, message: Message) -> Iterator[tuple[CallPlace, Any]]:
        """The outcomes of the calls of a message, and of those in the sub-conversations that
        these opened.
        """
        within = [(self.key, message)]
        for key, sub in self.stage.host.state.conversations.items():
            at = key.opener
            if at and at.key == self.key and at.ordinal in message.replies:
                within += [(key, one) for one in sub.messages]
        for key, one in within:
            for ordinal, came in one.results.items():
                for call, outcome in came.items():
                    yield CallPlace(key, ordinal, call), outcome

    def place(self, number: int) -> CallPlace:
        """The place of a call of the last reply."""
        return CallPlace(self.key, self.state.replies - 1, number)

    def hear(self, kind: Callable[..., Event], *parts: object) -> None:
        """Tell the listener of an event. Its error is raised once what is under way is in the
        journal.
        """
        try:
            if self.tell:
                self.tell(kind(self.id, *parts))
        except Exception as error:  # noqa: BLE001  see above
            self.unheard = self.unheard or error

    def check_listener(self) -> None:
        """Raise the error of a listener."""
        error, self.unheard = self.unheard, None
        if error:
            raise error


CALLER: ContextVar[tuple[Session, str]] = ContextVar("caller")
"""In the handler of a tool of the runtime: the conversation that calls it, and the id of one
that it may open.
"""
