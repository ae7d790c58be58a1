"""The journal of a run: what is appended, and the state that folding it yields.

Records of a run's stream, by kind:

    opened    {entry?}                                            how `transom resume` starts it again
    started   {stage, attempt, fingerprint, deletions}            a stage's function is about to run
    reply     {stage, attempt, epoch, conversation, ordinal, told?, request, chain, role, sees, window, reply, then?,
              shares}; then: "more", "mend" or "failed" where the answer is not whole after it (`llm.answering`)
    intent    {stage, epoch, conversation, ordinal, request, call, mark?} a tool that must not run twice is about to run
    tool      {stage, attempt, epoch, conversation, ordinal, request, call, name, effect, outcome}
              a second one has only `outcome`: what the call was answered with in the place of the first
    writing   {stage, output, file}                                     its file is about to be written
    done      {stage, attempt, fingerprint, deletions, output, answered, usage}
    failed    {stage, attempt, error}                             never memoised
    paused    {stage, reason, choice?}                            never memoised
    decided   {stage, fingerprint, edited, answer, approval?, person?}  "keep", "redo", "approve", "refuse", or the
              answer to a question; person: {text, by, reason}
    told      {stage, epoch, conversation, number, told}          what a conversation holds beside replies and results
    registered {stage, epoch, conversation, name, digest}         the next request is the first to have this tool
    counted   {stage, epoch, conversation, tokens}                by model, how tokens are estimated as it begins
    marked    {stage, epoch, conversation, event, mark}           what a program says of an event of a conversation
    doubts    {stage, epoch, add, drop}                           equal calls of tools that must not be repeated wait
    settled   {stage}                                             the choice that it waited for is none any more
    nodes     {table, nodes}                                      which nodes a walk was begun with
    handed    {after, files}                                      a flow gave up after so many repairs
    helped    {after, guidance, reset}                            what a person said to a flow that could not go on
    closed    {status}

For `window` see `transom.runs.windows`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from transom.llm import AnsweredFrom, Usage
from transom.runs.attempts import Attempt, Done, StageHistory
from transom.runs.waiting import Choice, Slot, slot, without_call, without_talk
from transom.store import Record


@dataclass(frozen=True)
class Help:
    """What a person said to a flow that could not go on.

    Attributes:
        after: how many repairs had been tried.
        guidance: her words for the next repair, "" where she gave none.
        reset: whether the flow may try as often again as at first, not just once.
    """

    after: int
    guidance: str = ""
    reset: bool = False


ReplyKey = tuple[str, str, str, int, str, str]
ToolKey = tuple[str, str, str, int, str, str]
AskedKey = tuple[str, str, str, int, str]
"""What replies and calls are found by that came of one request: stage, epoch, conversation, ordinal and digest."""
TalkKey = tuple[str, str, str]
"""Stage, epoch and conversation."""


@dataclass
class RunState:
    """A run's journal, folded.

    Attributes:
        waiting: what a person has to say: each choice by its stage and, of a tool call, its fingerprint.
        tools: what came of each tool call.
        intents: how often a tool call that must not be repeated was begun.
        approvals: what a person said to tool calls, by the fingerprint of the question.
        answers: what a person answered to questions of the program, by the fingerprint of the question.
        told: what each conversation holds beside replies and results, in order.
        registered: tools that came while a conversation was under way, by name, with their digests.
        begun: conversations that have a reply.
        counted: how tokens were estimated when a conversation began, by the name of the model.
        followed: of the others, the replies after which there is another one: what those were asked by.
        void: of the others, the replies that were there when something else was told than before.
        marks: what programs say of the events of each conversation, by their numbers.
        begun_once: by stage, epoch and what tells equal ones, calls that must not be repeated and were begun.
        doubts: by stage and epoch, what tells calls that wait for a person besides, see `runs.doubts`.
        said: of conversations in which what was said stays said, each reply and its key by its ordinal (`Stage.ask`).
    """

    entry: dict[str, Any] = field(default_factory=dict)
    stages: dict[str, StageHistory] = field(default_factory=dict)
    replies: dict[ReplyKey, Any] = field(default_factory=dict)
    tools: dict[ToolKey, Any] = field(default_factory=dict)
    intents: Counter[ToolKey] = field(default_factory=Counter)
    decisions: dict[tuple[str, str, str], str] = field(default_factory=dict)
    approvals: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, dict[str, str]] = field(default_factory=dict)
    told: dict[TalkKey, list[Any]] = field(default_factory=dict)
    said: dict[TalkKey, dict[int, Any]] = field(default_factory=dict)
    registered: dict[TalkKey, dict[str, str]] = field(default_factory=dict)
    begun: set[TalkKey] = field(default_factory=set)
    counted: dict[TalkKey, dict[str, Any]] = field(default_factory=dict)
    followed: dict[AskedKey, set[str]] = field(default_factory=dict)
    void: set[AskedKey] = field(default_factory=set)
    marks: dict[TalkKey, dict[int, list[Any]]] = field(default_factory=dict)
    begun_once: dict[tuple[str, str, str], list[ToolKey]] = field(default_factory=dict)
    doubts: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    nodes: dict[str, list[str]] = field(default_factory=dict)
    handed: dict[str, Any] | None = None
    gave_up: bool = False  # since the run was last closed
    helps: list[Help] = field(default_factory=list)
    status: str = "new"
    paused: str | None = None
    waiting: dict[Slot, Choice] = field(default_factory=dict)

    def stage(self, name: str) -> StageHistory:
        return self.stages.setdefault(name, StageHistory())


_OF_SAID = ("stage", "epoch", "conversation", "ordinal", "told", "request", "chain", "reply")


def talk_key(data: dict[str, Any]) -> TalkKey:
    """The conversation that a record is of."""
    return data["stage"], data["epoch"], data["conversation"]


def reply_key(data: dict[str, Any]) -> ReplyKey:
    """What a journaled reply is found by; the attempt is not part of it, so that rerun code replays its replies."""
    return (
        data["stage"],
        data["epoch"],
        data["conversation"],
        data["ordinal"],
        data["request"],
        data["chain"],
    )


def tool_key(data: dict[str, Any]) -> ToolKey:
    """What the outcome of a tool call is found by: the reply that asked for it, and which of its calls it was."""
    return (
        data["stage"],
        data["epoch"],
        data["conversation"],
        data["ordinal"],
        data["request"],
        data["call"],
    )


def fold(records: Iterable[Record]) -> RunState:
    """The state that a stream of records describes."""
    state = RunState()
    for record in records:
        apply(state, record.kind, record.data)
    return state


def apply(state: RunState, kind: str, data: Any) -> None:
    """Take one record into the state."""
    match kind:
        case "opened":
            state.entry, state.status, state.paused = data.get("entry", state.entry), "running", None
        case "started":
            _apply_started(state.stage(data["stage"]), data)
        case "reply":
            state.replies[reply_key(data)] = data["reply"]
            _apply_said(state, data)
        case "intent" | "tool":
            _apply_tool(state, data)
        case "writing":
            stage = state.stage(data["stage"])
            stage.wrote = True
            stage.outputs.add(data["output"])
            stage.file = data.get("file", "")
        case "done":
            _apply_done(state.stage(data["stage"]), data)
        case "failed" | "paused":
            _apply_stop(state, kind, data)
        case "decided":
            _apply_decided(state, data)
        case "settled":
            state.waiting = {at: one for at, one in state.waiting.items() if at[0] != data["stage"]}
        case "closed":
            state.status = data["status"]
            state.waiting.clear()  # whoever walked to the end needed no answer
            state.handed = state.handed if state.gave_up else None
            state.gave_up = False
        case _:
            _apply_flow(state, kind, data)


def _apply_flow(state: RunState, kind: str, data: Any) -> None:
    """Records of what may turn back: a flow, a conversation."""
    match kind:
        case "nodes":
            state.nodes[data["table"]] = data["nodes"]
        case "handed":
            state.handed, state.gave_up = data, True
        case "told":
            number, key = data["number"], talk_key(data)
            told = state.told.setdefault(key, [])
            if number < len(told):
                _apply_void(state, key, number)
            told[number:] = [data["told"]]
        case "registered":
            state.registered.setdefault(talk_key(data), {})[data["name"]] = data["digest"]
        case "counted":
            state.counted[talk_key(data)] = data["tokens"]
        case "marked":
            state.marks.setdefault(talk_key(data), {}).setdefault(data["event"], []).append(data["mark"])
        case "doubts":
            doubts = state.doubts.setdefault((data["stage"], data["epoch"]), set())
            doubts.update(data["add"])
            doubts.difference_update(data["drop"])
            for mark in data["drop"]:
                state.begun_once.pop((data["stage"], data["epoch"], mark), None)
        case "helped":
            state.helps.append(Help(data["after"], data["guidance"], data["reset"]))


def _apply_void(state: RunState, key: TalkKey, number: int) -> None:
    """In a conversation something else is told than before, in the place of what was told with that number."""
    if key in state.said:
        state.said[key] = {ordinal: one for ordinal, one in state.said[key].items() if one["told"] <= number}
    else:
        state.void.update(one[:5] for one in state.replies if one[:3] == key)


def _apply_said(state: RunState, data: Any) -> None:
    """In a conversation that lasts a reply voids whatever followed at its place before."""
    if state.waiting:
        state.waiting = without_talk(state.waiting, data)
    if data["ordinal"] == 0:
        state.begun.add(talk_key(data))
    if "told" not in data:
        before = (*talk_key(data), data["ordinal"] - 1, data["window"].get("after", ""))
        state.followed.setdefault(before, set()).add(data["request"])
        return
    key, ordinal = talk_key(data), data["ordinal"]
    said = state.said.setdefault(key, {})
    for later in [number for number in said if number >= ordinal] if ordinal in said else []:
        del said[later]
    said[ordinal] = {name: data[name] for name in _OF_SAID} | {"then": data.get("then")}
    del state.told.setdefault(key, [])[data["told"] :]


def _apply_started(stage: StageHistory, data: Any) -> None:
    attempt = Attempt(data["attempt"], data["fingerprint"], data["deletions"])
    stage.open, stage.wrote, stage.last = attempt, False, "started"
    if attempt not in stage.attempts:
        stage.attempts.append(attempt)


def _apply_decided(state: RunState, data: Any) -> None:
    state.decisions[data["stage"], data["fingerprint"], data["edited"]] = data["answer"]
    state.waiting.pop(slot(data), None)
    if "approval" in data:
        state.approvals[data["fingerprint"]] = data["approval"]
    if "person" in data:
        state.answers[data["fingerprint"]] = data["person"]


def _apply_stop(state: RunState, kind: str, data: Any) -> None:
    if data.get("stage"):
        state.stage(data["stage"]).last = kind
    state.status, state.paused = kind, data.get("reason")
    if data.get("choice"):
        state.waiting[slot(data["choice"])] = data["choice"]


def _apply_tool(state: RunState, data: Any) -> None:
    if "outcome" in data:
        state.tools[tool_key(data)] = data["outcome"]
        if state.waiting:
            state.waiting = without_call(state.waiting, data)
    else:
        state.intents[tool_key(data)] += 1
        state.begun_once.setdefault((data["stage"], data["epoch"], data.get("mark", "")), []).append(tool_key(data))


def _apply_done(stage: StageHistory, data: Any) -> None:
    answered = tuple((by, tuple(AnsweredFrom(**source) for source in sources)) for by, sources in data["answered"])
    attempt = Attempt(data["attempt"], data["fingerprint"], data["deletions"])
    stage.done = Done(attempt, data["output"], answered, Usage(**data["usage"]))
    stage.open, stage.wrote = None, False
    stage.outputs.add(data["output"])
    stage.last = "done"
