"""A conversation is the fold of its events. The same `apply` folds new events and, when a run is
resumed, the journaled ones.

Kinds of events, each with `{stage, epoch, conversation}`:

    conversation_opened   {parent, purpose, egress?}
    user_message          {text, fingerprint?, id?, blocks?, recalled?, egress?, sub?}
                          without a fingerprint it is not a message of the program: a request for a
                          repair, or the finding of a sub-conversation (`sub`)
    model_reply           {ordinal, attempt, request, role, sees, window, reply, shares, status?}
                          status: "silent", "repair" or "failed" if the answer is incomplete
    attempt_failed        {by, usage}
                          a request failed after the server had begun to answer it
    tool_started          {ordinal, call, mark, settles?}
                          begins a call of a tool that must not simply be repeated
    tool_result           {ordinal, call, name, effect, seconds, outcome}
                          a second result replaces the first
    message_failed        {error, what}
    reset                 {to, turns}
                          a stage says something else in the place of message `to`
    conversation_closed   {summary, how, struck, egress?}
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from transom.context.marks import Mark
from transom.llm import (
    AssistantMessage,
    Reply,
    ToolCallPart,
    ToolResultPart,
    ToolResults,
    Turn,
    Usage,
    UserMessage,
)
from transom.llm.codec import reply_from_json, result_from_json
from transom.llm.turns import Egress

_MESSAGES = (
    "user_message",
    "model_reply",
    "attempt_failed",
    "tool_started",
    "tool_result",
    "message_failed",
    "reset",
)
KINDS = frozenset({"conversation_opened", *_MESSAGES, "conversation_closed"})
IN_DOUBT = frozenset({"ToolTimeoutError", "ToolInDoubtError"})
"""Errors of calls that may have been carried out, or be running still."""
_CUT_OFF = (
    "the call was cut off: something else was said before it came to its end; it may have been"
    " carried out"
)
_GIVEN_UP = (
    "the call was not carried out: it waited for a person to decide, and another message came first"
)
_CUT_SHORT = (
    "the reply reached its limit of tokens, so the call was not carried out; make it again if it is"
    " needed"
)
_BEGUN = (
    "the call was begun, and then cut off: whether it was carried out is not known; do not make it"
    " again"
)


class ConversationKey(NamedTuple):
    """Where a conversation is found in its run."""

    stage: str
    epoch: str
    conversation: str

    @property
    def root(self) -> tuple[str, str, str]:
        """The conversation within which this one was opened first of all."""
        return (self.stage, self.epoch, self.conversation.partition("/")[0])

    @property
    def opener(self) -> CallPlace | None:
        """The call that opened it, `PARENT/REPLY.CALL`; None where a program did."""
        parent, _, last = self.conversation.rpartition("/")
        # A program's sub-conversation has a name of its own after the slash.
        match = re.fullmatch(r"(\d+)\.(\d+)", last)
        return (
            CallPlace(self._replace(conversation=parent), int(match[1]), int(match[2]))
            if match
            else None
        )


def key_of(data: Any) -> ConversationKey:
    """Return the conversation of a journal record."""
    return ConversationKey(data["stage"], data["epoch"], data["conversation"])


class CallPlace(NamedTuple):
    """Where a tool call stands: its conversation, the ordinal of the reply, and its number
    there.
    """

    key: ConversationKey
    ordinal: int
    call: int

    def to_json(self) -> dict[str, Any]:
        """As journal records name it."""
        return {**self.key._asdict(), "ordinal": self.ordinal, "call": self.call}

    @property
    def opens(self) -> str:
        """The name of the conversation that the call may open."""
        return f"{self.key.conversation}/{self.ordinal}.{self.call}"


def place_of(data: Any) -> CallPlace:
    """Return the call of a journal record."""
    return CallPlace(key_of(data), data["ordinal"], data["call"])


@dataclass
class Spent:
    """What a conversation and all within it used, in the order of the journal.

    Attributes:
        replies: who gave each reply, or failed in the middle of one, and what that took.
        usage: the sum.
    """

    replies: list[tuple[str, Usage]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    def add(self, provider: str, usage: Usage) -> None:
        """Add a reply, or an attempt at one that failed."""
        self.replies.append((provider, usage))
        self.usage += usage


@dataclass
class ProgramMessage:
    """One message of a program and what it came to.

    Attributes:
        data: its event.
        first_turn: the index of its turn, or of what follows where it has blocks alone.
        replies: the records of its replies, by ordinal.
        results: what came of its calls, by the ordinal of the reply and the number of the call.
        answer: None while there is none.
        end: how many turns there were with the answer.
        rounds: replies that called tools.
        usage: what the conversation and all around it had used by then, from `spent` replies.
        error: what ended the last try instead: the name of a class, and its words.
        bad_from: the turn at which an answer stands that is to be repaired.
    """

    data: dict[str, Any]
    first_turn: int
    replies: dict[int, dict[str, Any]] = field(default_factory=dict)
    results: dict[int, dict[int, dict[str, Any]]] = field(default_factory=dict)
    answer: Reply | None = None
    end: int = 0
    rounds: int = 0
    usage: Usage = field(default_factory=Usage)
    spent: int = 0
    error: tuple[str, str] | None = None
    bad_from: int | None = None

    @property
    def text(self) -> str | None:
        """What was said; None where the message has blocks alone."""
        text: str | None = self.data["text"]
        return text


class SubLink(NamedTuple):
    """What makes a conversation a sub-conversation; `closed` is the event that ended it."""

    parent: str
    purpose: str
    closed: dict[str, Any] | None = None


@dataclass
class ConversationState:
    """The state of one conversation.

    Attributes:
        turns: all that was said, word for word.
        marks: what tools said of the event that ends with so many turns.
        messages: of the program, oldest first.
        replies: how many model replies there ever were; the next one's ordinal.
        pending: the last reply while the results of its calls are not yet turns.
        call_starts: how often each of its calls was begun.
        egress: `local` once anything in it was.
        sub: of a sub-conversation.
        finding_turns: the turn of each finding, by its sub-conversation.
        version: changes where turns were taken back.
        spent: what the conversation and all around it used; shared by all within one root.
        arriving: a reply of this process that is about to be journaled, with its JSON.
    """

    turns: list[Turn] = field(default_factory=list)
    marks: list[tuple[int, Mark]] = field(default_factory=list)
    messages: list[ProgramMessage] = field(default_factory=list)
    replies: int = 0
    pending: Reply | None = None
    call_starts: dict[int, int] = field(default_factory=dict)
    egress: Egress = "any"
    sub: SubLink | None = None
    finding_turns: dict[str, int] = field(default_factory=dict)
    version: int = 0
    spent: Spent = field(default_factory=Spent)
    arriving: tuple[dict[str, Any], Reply] | None = field(default=None, repr=False, compare=False)

    @property
    def open_message(self) -> ProgramMessage | None:
        """The last message, where it has no answer."""
        last = self.messages[-1] if self.messages else None
        return last if last and last.answer is None else None

    def message_of(self, ordinal: int) -> ProgramMessage | None:
        """Return the message of a reply, or None if the reply does not count any more."""
        for message in reversed(self.messages):  # nearly always the last one
            if ordinal in message.replies:
                return message
        return None

    @property
    def results(self) -> dict[int, dict[str, Any]]:
        """What came of the calls of the pending reply, by number."""
        return {} if self.pending is None else self.messages[-1].results.get(self.replies - 1, {})

    def apply(self, kind: str, data: dict[str, Any]) -> None:
        """Take in one event."""
        match kind:
            case "conversation_opened":
                self.sub = SubLink(data["parent"], data["purpose"])
                self._mark_egress(data)
            case "user_message":
                self._apply_message(data)
            case "model_reply":
                self._apply_reply(data)
            case "attempt_failed":
                self.spent.add(data["by"], Usage(**data["usage"]))
            case "tool_started":
                self.call_starts[data["call"]] = self.call_starts.get(data["call"], 0) + 1
            case "tool_result":
                # Its reply may have been taken back since.
                if message := self.message_of(data["ordinal"]):
                    message.results.setdefault(data["ordinal"], {})[data["call"]] = data["outcome"]
                self._mark_egress(data["outcome"]["result"])
            case "message_failed":
                if self.messages:
                    self.messages[-1].error = (data["error"], data["what"])
            case "reset":
                self._apply_reset(data)
            case "conversation_closed":
                self.settle()
                self.sub = self.sub and self.sub._replace(closed=data)
                self._mark_egress(data)

    def settle(self) -> None:
        """Make turns of the pending reply and its results; what has no result was cut off."""
        if self.pending is None:
            return
        reply, results = self.pending, self.results
        # A message that waits for a person has not begun its other calls. Elsewhere the record that
        # a call began may be lost, if the machine crashed.
        error = self.messages[-1].error
        not_begun = _GIVEN_UP if error and error[0] == "Paused" else _CUT_OFF
        turn_results = [
            (
                result_from_json(results[number]["result"])
                if number in results
                else _not_run(call, _BEGUN if number in self.call_starts else not_begun)
            )
            for number, call in enumerate(reply.calls)
        ]
        self.turns += (AssistantMessage(reply.parts), ToolResults(tuple(turn_results)))
        for outcome in results.values():
            if mark := outcome.get("mark"):
                self.marks.append((len(self.turns), Mark.from_json(mark)))
        self.pending = None
        self.messages[-1].rounds += 1

    def _apply_message(self, data: dict[str, Any]) -> None:
        self.settle()
        # A follow-up or a finding belongs to the program's last message.
        if "fingerprint" in data:
            self.messages.append(ProgramMessage(data, len(self.turns)))
        if "sub" in data:
            self.finding_turns[data["sub"]] = len(self.turns)
        if data["text"] is not None:
            self.turns.append(UserMessage(data["text"], data.get("egress", "any")))
        self._mark_egress(data)

    def _apply_reply(self, data: dict[str, Any]) -> None:
        if self.pending:
            self.settle()
        arriving, self.arriving = self.arriving, None
        # A reply that was just made equals what its JSON would be decoded to.
        if arriving is not None and arriving[0] is data["reply"]:
            reply = arriving[1]
        else:
            reply = reply_from_json(data["reply"])
        message, status = self.messages[-1], data.get("status")
        self.spent.add(reply.by, reply.usage)
        message.replies[data["ordinal"]] = data
        self.replies = data["ordinal"] + 1
        self._mark_egress(data["reply"])
        # An empty reply leaves nothing in the conversation.
        if status == "silent":
            return
        # The wrong answer stands until the next one, so that the model can see it.
        if status == "repair":
            message.bad_from = len(self.turns)
            self.turns.append(AssistantMessage(reply.parts))
        elif status == "failed":
            if message.bad_from is not None:
                self._cut(message.bad_from)
                message.bad_from = None
        # Calls of a reply that was cut off may be half a call, so none of them runs.
        elif reply.calls and reply.stop != "length":
            self.pending, self.call_starts = reply, {}
        else:
            self._apply_answer(message, reply)

    def _apply_answer(self, message: ProgramMessage, reply: Reply) -> None:
        message.answer, message.usage, message.spent = (
            reply,
            self.spent.usage,
            len(self.spent.replies),
        )
        message.bad_from = None
        # what is asked with blocks alone is answered beside the conversation
        if message.text is not None:
            self.turns.append(AssistantMessage(reply.parts))
            if reply.calls:
                self.turns.append(
                    ToolResults(tuple([_not_run(call, _CUT_SHORT) for call in reply.calls]))
                )
        message.end = len(self.turns)

    def _apply_reset(self, data: dict[str, Any]) -> None:
        # Replies are not taken out of `spent`: they were paid for.
        del self.messages[data["to"] :]
        self._cut(data["turns"])
        self.pending = None
        self.sub = self.sub and self.sub._replace(closed=None)

    def _cut(self, turns: int) -> None:
        del self.turns[turns:]
        self.marks = [mark for mark in self.marks if mark[0] <= turns]
        self.finding_turns = {sub: turn for sub, turn in self.finding_turns.items() if turn < turns}
        # Values that were computed from the turns start anew.
        self.version += 1

    def _mark_egress(self, data: dict[str, Any]) -> None:
        if data.get("egress", "any") != "any":
            self.egress = "local"


def _not_run(call: ToolCallPart, error: str) -> ToolResultPart:
    return ToolResultPart(
        call.id, call.name, f'{{"error": "{error}"}}', is_error=True, trust="ours"
    )
