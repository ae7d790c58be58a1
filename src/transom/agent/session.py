"""The open conversation of an agent in this process, cut into the parts that its functions need.

`ConversationLog` reads and writes the journal, `RoleWindow` knows the role and the fixed part of
its requests, `ConversationIndex` follows the conversation as it grows, and `Listener` tells the
program what happens. An `AgentSession` holds one of each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

from transom.agent.meter import Meter
from transom.agent.models import Event, OnEvent, ReplyDelta
from transom.canonical import Json, digest
from transom.config.runtime_sections import SubConversationSeat
from transom.context import History, TokenCorrection
from transom.context.fitting import Frame
from transom.context.oversized import BlockSource
from transom.context.tokens import Measure
from transom.context.window import UNCORRECTED, frame_of
from transom.llm import Block, Request, Role, ToolCallPart, ToolResultPart, ToolResults, Turn
from transom.llm.codec import block_from_json
from transom.llm.deltas import Delta
from transom.llm.structured import Check, answer_check
from transom.runs import Stage
from transom.runs.conversation import CallPlace, ConversationState, ProgramMessage
from transom.runs.tool_calls import refuse_in_stage, refuse_in_tool_call
from transom.tools import Toolbox
from transom.tools.definition import ToolOutcome, outcome_from_json
from transom.tools.toolbox import OWN


class ConversationLog:
    """The journal of one conversation: its state, and the events that are appended to it.

    Attributes:
        stage: the stage or run in whose journal the events are.
        host: the run of that stage.
        id: the conversation's name in its stage.
        key: the stage, epoch and name: what the conversation is found by in its run.
        account: the name under which a purse counts it, together with the conversations around it.
        state: the conversation as its events have it.
    """

    def __init__(self, stage: Stage, id: str) -> None:  # noqa: A002  the conversation's
        self.stage = stage
        self.host = stage.host
        self.id = id
        self.key = stage.key(id)
        self.account = (stage.host.id, *self.key.root)
        self.state: ConversationState = stage.state(id)
        self._last_blocks: dict[str, Sequence[Block]] = {}

    async def append(self, kind: str, data: Mapping[str, Any], blobs: Sequence[bytes] = ()) -> None:
        """Append an event, with the blobs that it names."""
        await self.host.append(kind, {**self.key._asdict(), **data}, blobs=blobs)

    def refuse(self) -> None:
        """Raise RunError if the caller is a tool handler of the same run, or a stage of the run
        that keeps this conversation.
        """
        refuse_in_tool_call(self.host, self.id)
        if self.stage.is_kept:
            refuse_in_stage(self.host, self.id)

    def place(self, number: int) -> CallPlace:
        """Return the place of a call of the last reply."""
        return CallPlace(self.key, self.state.replies - 1, number)

    def blocks_of(self, message: ProgramMessage) -> Iterator[Block]:
        """Yield the blocks that a message came with, and those that were recalled for it."""
        for name in ("blocks", "recalled"):
            sha = message.data.get(name, "")
            if sha in self._last_blocks:
                yield from self._last_blocks[sha]
            elif sha:
                for block in json.loads(self.host.store.get_blob(sha)):
                    # The bytes of an image are read if it is sent again.
                    yield block_from_json(block, self.host.store.get_blob)

    def remember_blocks(self, blocks: dict[str, Sequence[Block]]) -> None:
        """Know the blocks of the newest message, by their digests, without reading them."""
        self._last_blocks = blocks

    def outcomes_of(self, message: ProgramMessage) -> Iterator[tuple[CallPlace, Any]]:
        """Yield the outcomes of a message's calls, and of those in the sub-conversations that these
        calls opened.
        """
        messages = [(self.key, message)]
        for key, conversation in self.host.state.conversations.items():
            opener = key.opener
            if opener and opener.key == self.key and opener.ordinal in message.replies:
                for sub_message in conversation.messages:
                    messages.append((key, sub_message))
        for key, answered_message in messages:
            # Results of replies that do not stand any more are in no message.
            for ordinal, outcomes in answered_message.results.items():
                for call, outcome in outcomes.items():
                    yield CallPlace(key, ordinal, call), outcome


class RoleWindow:
    """The role of a conversation, its tools, and the fixed part of its requests.

    Attributes:
        toolbox: the tools that the role may call.
        always: blocks that every message is answered from.
        budget: the tokens of a window, for the models that may answer.
    """

    def __init__(
        self, stage: Stage, role: Role, toolbox: Toolbox, always: tuple[Block, ...] = ()
    ) -> None:
        self.toolbox = toolbox
        self.always = always
        self.budget = stage.host.budget.on(stage.host.chain.of(role.name).caps)
        self._role = self.budget.limit_reply(role)
        self._frame: tuple[Role, tuple[Block, ...], Frame] | None = None

    @property
    def role(self) -> Role:
        """The role, with the tools that are registered now."""
        # The toolbox makes a new tuple only if a tool is added.
        if self._role.tools is not self.toolbox.specs:
            self._role = replace(self._role, tools=self.toolbox.specs)
        return self._role

    @cached_property
    def check(self) -> Check | None:
        """The check of an answer against the role's schema or class; None for free text."""
        output, schema = self._role.output, self._role.schema
        if output is None or schema is None:
            return None
        return answer_check(output, schema, self._role.name)

    def frame(self, role: Role, blocks: tuple[Block, ...]) -> Frame:
        """Return the part of a window around the conversation.

        It is made again only if a tool was registered or other blocks are given.
        """
        # Identity is enough: a message has the same tuple of blocks for all its calls.
        if self._frame is None or self._frame[0] is not role or self._frame[1] is not blocks:
            self._frame = role, blocks, frame_of(role, blocks, self.budget)
        return self._frame[2]

    def fingerprint(self, stage: Stage, text: str | None, blocks: Sequence[Block]) -> str:
        """Return the digest of a message; in a stage also of the role and of the providers."""
        content: list[Json] = [text, [block.to_json() for block in blocks]]
        if not stage.is_kept:
            # The runtime offers its own tools on the way, so they do not count.
            specs = tuple(spec for spec in self.role.tools if spec.name not in OWN)
            role = replace(self.role, tools=specs)
            always: list[Json] = [block.to_json() for block in self.always]
            content += [role.digest, stage.host.chain.fingerprint(role), always]
        return digest(content)


class ConversationIndex:
    """The values that are computed from a conversation and grow with it.

    If turns were taken back, all of them are computed again.

    Args:
        state: the conversation.
        next_model: returns the name of the model that is asked next.

    Attributes:
        window: the turns of the last window, the older ones of them folded.
    """

    def __init__(self, state: ConversationState, next_model: Callable[[], str]) -> None:
        self._state = state
        self._next_model = next_model
        self._begin()

    def _begin(self) -> None:
        self._version = self._state.version
        self.window = History()
        self._correction = UNCORRECTED
        self._corrections: dict[str, TokenCorrection] = {}
        self._earlier_results: dict[str, ToolResultPart] = {}
        # How far each of the values has come.
        self._turns = 0
        self._marks = 0
        self._replies = 0
        self._searched = 0

    def history(self) -> History:
        """Return the content of the next window, with all turns."""
        if self._version != self._state.version:
            self._begin()
        turns = self._state.turns
        if self._turns < len(turns):
            marks = self._state.marks
            # A mark belongs to the event that ends with its turn, so turns are added in between.
            for end, mark in marks[self._marks :]:
                self.window = self.window.add(*turns[self._turns : end]).add(mark=mark)
                self._turns = end
            self.window = self.window.add(*turns[self._turns :])
            self._turns = len(turns)
            self._marks = len(marks)
        return self.window

    def correction(self) -> TokenCorrection:
        """Return the estimate of tokens as the next model counts them, learned from the usage of
        earlier calls.
        """
        state = self._state
        if self._version != state.version:
            self._begin()
        if self._replies != state.replies:
            # Only the last message can have replies that were not looked at yet.
            messages = state.messages[-1:] if self._replies else state.messages
            for message in messages:
                self._learn_from(message)
            self._replies = state.replies
            self._correction = self._corrections.get(self._next_model(), UNCORRECTED)
        return self._correction

    def _learn_from(self, message: ProgramMessage) -> None:
        # A message may have hundreds of replies; only the new ones are looked at.
        for ordinal in range(self._replies, self._state.replies):
            record = message.replies.get(ordinal)
            if record and "size" in record:
                model, usage = record["reply"]["by"], record["reply"]["usage"]
                correction = self._corrections.get(model, UNCORRECTED)
                size = Measure(*record["size"])
                self._corrections[model] = correction.learned(size, usage["input_tokens"])

    def earlier_result(self, call: ToolCallPart) -> ToolResultPart | None:
        """Return the result of the first equal call that succeeded, or None."""
        if self._version != self._state.version:
            self._begin()
        turns = self._state.turns
        # Results always follow the reply that called for them.
        for number in range(self._searched or 1, len(turns)):
            turn: Turn = turns[number]
            if isinstance(turn, ToolResults):
                reply: Any = turns[number - 1]
                for earlier_call, result in zip(reply.calls, turn.results, strict=True):
                    if not result.is_error:
                        self._earlier_results.setdefault(earlier_call.content_key, result)
        self._searched = len(turns)
        return self._earlier_results.get(call.content_key)


class Listener:
    """The function of a program that receives the events of one conversation.

    An error of the function does not interrupt what is under way: `check` raises it when the work
    is in the journal.

    Args:
        on_event: receives events as they happen.
        conversation: the name of the conversation.
        on_journal: receives the events that stand in the journal; None if nobody does.
    """

    def __init__(
        self, on_event: OnEvent, conversation: str, on_journal: OnEvent | None = None
    ) -> None:
        self.on_journal = on_journal
        self._on_event = on_event
        self._conversation = conversation
        self._error: Exception | None = None

    def of(self, conversation: str) -> Listener:
        """Return the listener of another conversation, which tells the same functions."""
        return Listener(self._on_event, conversation, self.on_journal)

    def tell(self, event: Event) -> None:
        """Pass an event to the program."""
        try:
            self._on_event(event)
        except Exception as error:  # noqa: BLE001  `check` raises it
            self._error = self._error or error

    def tell_delta(self, piece: Delta) -> None:
        """Pass a piece of a reply to the program."""
        self.tell(ReplyDelta(self._conversation, piece))

    def check(self) -> None:
        """Raise the first error of the program's function, if there was one."""
        error, self._error = self._error, None
        if error:
            raise error


class ResultShortener(Protocol):
    """The function that shortens the stored result of a call for the model."""

    async def __call__(
        self, session: AgentSession, number: int, call: ToolCallPart, outcome: ToolOutcome
    ) -> ToolOutcome:
        """Return the outcome as the model gets it.

        Args:
            session: the conversation.
            number: the number of the call in its reply.
            call: the call.
            outcome: its outcome, with an outline in the place of the result.
        """
        ...


@dataclass(eq=False)
class AgentSession:
    """The open conversation of one agent, or of one of its sub-conversations.

    Attributes:
        log: its journal.
        window: its role, tools and window.
        meter: what it may use, together with the conversations around it.
        sub_settings: settings of its sub-conversations.
        listener: tells the program what happens; None if nobody listens.
        sources: what each message is looked up in.
        parent: the conversation that opened it; None for an agent's own.
        shorten: shortens stored results for the model.
        raises_caps: whether a cap that is reached is an error instead of the end of a response.
        deadline: when the message that is under way has to be over.
        next_message: the number of the message that the program sends next.
        last_request: the last request of this process, and the message that it belongs to.
        index: what is computed from the conversation as it grows.
    """

    log: ConversationLog
    window: RoleWindow
    meter: Meter
    sub_settings: SubConversationSeat = field(default_factory=SubConversationSeat)
    listener: Listener | None = None
    sources: tuple[BlockSource, ...] = ()
    parent: AgentSession | None = None
    shorten: ResultShortener | None = None
    raises_caps: bool = False
    deadline: float | None = None
    next_message: int = 0
    last_request: tuple[ProgramMessage, Request] | None = None
    index: ConversationIndex = field(init=False)

    def __post_init__(self) -> None:
        # A fallback may answer in the middle of a conversation, so the model is asked for each
        # time.
        next_model = partial(self.log.stage.next_model, self.window.role.name)
        self.index = ConversationIndex(self.log.state, next_model)

    def blocks_of(self, message: ProgramMessage) -> tuple[Block, ...]:
        """Return all blocks that a message is answered from."""
        return (*self.window.always, *self.log.blocks_of(message))

    def all_blocks(self) -> list[Block]:
        """Return all blocks that its messages are answered from, each of them once."""
        blocks = [*self.window.always]
        for message in self.log.state.messages:
            # The same block may come with several messages.
            for block in self.log.blocks_of(message):
                if block not in blocks:
                    blocks.append(block)
        return blocks

    def replay(self, number: int) -> None:
        """Count a message of the journal: its tools see their earlier outcomes again, and quotas
        are as they were then.
        """
        toolbox = self.window.toolbox
        if any(tool.recall or tool.limits.calls is not None for tool in toolbox.tools):
            for place, outcome in self.log.outcomes_of(self.log.state.messages[number]):
                toolbox.recall(outcome_from_json(outcome), place)


class Caller(NamedTuple):
    """The call whose handler is running: its conversation, and the name of the sub-conversation
    that it may open.
    """

    session: AgentSession
    sub_name: str


CALLER: ContextVar[Caller] = ContextVar("caller")
"""Set while the handler of one of the runtime's own tools runs."""
