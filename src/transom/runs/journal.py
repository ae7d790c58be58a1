"""The journal of a run: what is appended, and the state that folding it yields.

Records of a run's stream, by kind:

    opened    {journal, entry?}             how `transom resume` starts the run
    started   {stage, attempt, fingerprint, deletions}
                                            a stage's function is about to run
    writing   {stage, output, file, in_database?}
                                            the stage's file is about to be written
    done      {stage, attempt, fingerprint, deletions, output, answered, usage}
    failed    {stage, attempt, error}       never memoised
    paused    {stage, reason, choice?}      never memoised; choice: see `runs.questions`
    decided   {stage, fingerprint, edited, answer, by, reason, file?, after?, reset?}
                                            answer: "keep", "redo", "approve", "refuse", or the
                                            words of a person: the answer to a question, or guidance
                                            for a flow that gave up after `after` repairs
    settled   {stage}                       the choice that the stage waited for is obsolete
    handed    {after, files}                a flow gave up after `after` repairs
    closed    {status, waits?, judgement?}  waits: what a person or a model has to bring;
                                            judgement: {by, rules}, where a person judged
    held      {target, until, cause}        `check batch` asks for this item again at `until`

Events of conversations are described in `transom.runs.conversation`, windows in
`transom.runs.windows`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from transom.runs.artifact import StageHistory
from transom.runs.conversation import (
    IN_DOUBT,
    KINDS,
    CallPlace,
    ConversationKey,
    ConversationState,
    Spent,
    place_of,
)
from transom.runs.questions import Choice, Slot, slot
from transom.store import Record

VERSION = 3
"""Of the journal; runs of an earlier one are refused."""


@dataclass
class RunState:
    """A run's journal, folded.

    Attributes:
        open_choices: what a person was asked and did not answer, by stage and, of a call, its
            fingerprint.
        decisions: what a person said, as recorded, by stage, fingerprint and digest of the edited
            file.
        conversations: by their keys, in the order in which they began.
        spent: what each conversation that is no sub-conversation used with all within it.
        waits: what a closed run waits for, one clause; "" if it waits for nothing.
        judgement: who judged a closed run, and the verdict of the rules; empty if nobody did.
        helps: what a person said to a flow that gave up `after` so many repairs; `reset`: it may
            try as often again.
        once: calls of tools that must not be repeated, by stage, epoch and what tells equal ones.
        version: of the journal; None while it is empty.
    """

    entry: dict[str, Any] = field(default_factory=dict)
    stages: dict[str, StageHistory] = field(default_factory=dict)
    decisions: dict[tuple[str, str, str], Any] = field(default_factory=dict)
    conversations: dict[ConversationKey, ConversationState] = field(default_factory=dict)
    spent: dict[tuple[str, str, str], Spent] = field(default_factory=dict)
    once: dict[tuple[str, str, str], list[CallPlace]] = field(default_factory=dict)
    version: int | None = None
    handed: dict[str, Any] | None = None
    gave_up: bool = False  # since the run was last closed
    is_closed: bool = False  # it came to an end, and was not opened again
    helps: list[dict[str, Any]] = field(default_factory=list)
    status: str = "new"
    paused: str | None = None
    waits: str = ""
    judgement: dict[str, str] = field(default_factory=dict)
    open_choices: dict[Slot, Choice] = field(default_factory=dict)

    def stage(self, name: str) -> StageHistory:
        return self.stages.setdefault(name, StageHistory())

    def conversation(self, key: ConversationKey) -> ConversationState:
        """Return the conversation of a key, or a new one; always the same object."""
        try:
            return self.conversations[key]
        except KeyError:
            conversation = self.conversations[key] = ConversationState(
                spent=self.spent.setdefault(key.root, Spent())
            )
            return conversation

    @property
    def waiting(self) -> dict[Slot, Choice]:
        """What a person has to say now: of a call only as long as its conversation waits for
        what comes of it.
        """
        return {
            waiting_slot: choice
            for waiting_slot, choice in self.open_choices.items()
            if "key" not in choice or not self.is_over(place_of(choice["key"]))
        }

    def outcome(self, place: CallPlace) -> dict[str, Any] | None:
        """Return the outcome of a call, or None if it has none or its reply does not count any
        more.
        """
        message = self.conversation(place.key).message_of(place.ordinal)
        return message.results.get(place.ordinal, {}).get(place.call) if message else None

    def is_over(self, place: CallPlace) -> bool:
        """Whether a call has an outcome, or its conversation or one around it has another reply
        by now.
        """
        if self.conversation(place.key).replies > place.ordinal + 1 or self.outcome(place):
            return True
        return place.key.opener is not None and self.is_over(place.key.opener)

    def stands(self, place: CallPlace) -> bool:
        """Whether it is known what came of a call, and that stands in a conversation as it is
        today.
        """
        # A call that timed out may still be running.
        outcome = self.outcome(place)
        if outcome is None or (error := outcome.get("error", "")) in IN_DOUBT:
            return False
        return bool(error) or (self.counts(place.key) and self._is_told(place.key))

    def _is_told(self, key: ConversationKey) -> bool:
        """Whether the conversations around one know what it did; not where it failed, or they
        have an extract.
        """
        sub, opener = self.conversation(key).sub, key.opener
        # It is an agent's own conversation, which its program knows.
        if sub is None:
            return True
        outcome = self.outcome(opener) if opener else None
        if (sub.closed and sub.closed["how"] == "extract") or (outcome and outcome.get("error")):
            return False
        return self._is_told(key._replace(conversation=sub.parent))

    def counts(self, key: ConversationKey) -> bool:
        """Whether the replies whose calls opened a conversation, and those around it, still
        stand.
        """
        opener = key.opener
        return opener is None or (
            self.conversation(opener.key).message_of(opener.ordinal) is not None
            and self.counts(opener.key)
        )


def fold(records: Iterable[Record]) -> RunState:
    """Return the state that a stream of records describes."""
    state = RunState()
    for record in records:
        apply(state, record.kind, record.data)
    return state


def apply(state: RunState, kind: str, data: Any) -> None:
    """Take one record into the state."""
    if kind in KINDS:
        _apply_event(state, kind, data)
        return
    match kind:
        case "opened":
            state.entry, state.status, state.paused = (
                data.get("entry", state.entry),
                "running",
                None,
            )
            # The first record of a run decides; journals before there was a version have 1.
            state.version = state.version or data.get("journal", 1)
            state.is_closed, state.waits = False, ""
        case "started" | "writing" | "done":
            state.stage(data["stage"]).apply(kind, data)
        case "failed" | "paused":
            if data.get("stage"):
                state.stage(data["stage"]).last = kind
            _apply_stop(state, kind, data)
        case "decided":
            state.decisions[data["stage"], data["fingerprint"], data["edited"]] = data
            state.open_choices.pop(slot(data), None)
            if "after" in data:
                state.helps.append(data)
        # Another walk needs no answer any more.
        case "settled":
            state.open_choices = {
                waiting_slot: choice
                for waiting_slot, choice in state.open_choices.items()
                if waiting_slot[0] != data["stage"]
            }
        case "closed":
            state.status = data["status"]
            state.is_closed, state.waits = True, data.get("waits", "")
            state.judgement = data.get("judgement", {})
            state.open_choices.clear()  # whoever walked to the end needed no answer
            state.handed = state.handed if state.gave_up else None
            state.gave_up = False
        case "handed":
            state.handed, state.gave_up = data, True


def _apply_stop(state: RunState, kind: str, data: Any) -> None:
    """Apply a record after which the run does not run."""
    state.status, choice = kind, data.get("choice")
    # While a question is open it is the reason; the program that asked it may add how it ended.
    if choice or not state.open_choices:
        state.paused = data.get("reason")
    if choice:
        state.open_choices[slot(choice)] = choice


def _apply_event(state: RunState, kind: str, data: Any) -> None:
    """Apply an event of a conversation."""
    # made by itself for each of many events
    key: Any = data["stage"], data["epoch"], data["conversation"]
    conversation = state.conversations.get(key) or state.conversation(ConversationKey(*key))
    if kind == "tool_started" and data.get("mark"):
        equal_calls = state.once.setdefault((key[0], key[1], data["mark"]), [])
        if data.get("settles"):  # a person knows of those before, but for those that still wait
            equal_calls[:] = [place for place in equal_calls if not state.is_over(place)]
        equal_calls.append(place_of(data))
    conversation.apply(kind, data)
