"""The summary of a run: what a list of runs shows, kept with each record of the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from transom.llm import Usage
from transom.runs.questions import slot
from transom.store import Record, StreamSummary

STREAM = "run/"
WAITS_FOR_ANSWER, WAITS_FOR_WORK = "answer", "work"
"""What a run waits for: an answer to its question, or a model, a review, a later start."""


@dataclass(frozen=True)
class RunRow:
    """What a workspace knows of a run: `inputs` identify it, `name` is for people, e.g. the
    item's id.
    """

    id: str
    kind: str
    name: str
    inputs: dict[str, Any]
    key: str = ""

    @property
    def title(self) -> str:
        """What a person calls it: its question, or what a batch checks, else its name."""
        question, targets = self.inputs.get("question"), self.inputs.get("targets")
        # All batches have the same name.
        if self.kind == "check-batch" and targets:
            return f"batch of {', '.join(map(_short_path, targets))}"
        return question if isinstance(question, str) and question.strip() else self.name


def _short_path(target: str) -> str:
    """Return the end of a path or a pattern, with the last folder that is named in full."""
    parts = Path(target).parts
    first = max(0, len(parts) - 2)
    while first > 0 and "*" in parts[first]:
        first -= 1
    return "/".join(parts[first:])


@dataclass(frozen=True)
class RunSummary:
    """A run in a list.

    Attributes:
        key: the key of the run's document.
        status: as the journal has it; see `runs.history` for whether a process still works.
        reason: why it paused, in one sentence; None if it did not.
        waits: `WAITS_FOR_ANSWER`, `WAITS_FOR_WORK` or "".
        waits_for: what a closed run waits for, one clause.
        started_at, last_at: UTC, ISO 8601; of the first and the last record.
        stage: the stage that began last.
        steps: how often a stage was done.
        calls: journaled replies of models.
        usage: the tokens of all calls, by who answered.
        seconds: how long processes worked on it.
        judgement: who judged it, and the verdict of the rules; empty if no person did.
        is_resumable: whether a command began it, which can be given again.
        is_closed: whether it came to an end.
    """

    id: str
    kind: str
    name: str
    key: str
    status: str
    reason: str | None
    waits: str
    waits_for: str
    started_at: str
    last_at: str
    stage: str
    steps: int
    calls: int
    usage: dict[str, Usage]
    seconds: float
    judgement: dict[str, str]
    is_resumable: bool
    is_closed: bool

    @staticmethod
    def of(summary: StreamSummary) -> RunSummary:
        """Return the run that a row of the store sums up."""
        facts: Any = summary.data
        columns = {name: facts[name] for name in _FACTS if name in _SHOWN}
        columns["reason"] = facts["reason"] or None
        columns["seconds"] = round(facts["seconds"], 3)
        columns["usage"] = {name: Usage(**tokens) for name, tokens in facts["usage"].items()}
        return RunSummary(
            id=summary.stream.removeprefix(STREAM),
            kind=summary.kind,
            status=summary.status,
            waits=summary.waits,
            last_at=summary.last_at,
            **columns,
        )


_FACTS: dict[str, Any] = {
    "name": "",
    "key": "",
    "reason": "",
    "waits_for": "",
    "started_at": "",
    "stage": "",
    "steps": 0,
    "calls": 0,
    "usage": {},
    "seconds": 0.0,
    "judgement": {},
    "is_resumable": False,
    "is_closed": False,
    "slots": [],
    "has_handed": False,
    "gave_up": False,
}
"""What the row of a run has before its first record. The last three are for the next record."""
_SHOWN = frozenset(each.name for each in fields(RunSummary))


def new_summary(stream: str, row: RunRow) -> StreamSummary:
    """Return the summary of a run whose journal is empty."""
    return StreamSummary(
        stream, row.kind, "new", "", "", {**_FACTS, "name": row.name, "key": row.key}
    )


SILENT_KINDS = frozenset({"tool_started", "tool_result"})
"""Records that change nothing in a list of runs. Their time counts with the next record."""
ENDING_KINDS = frozenset({"failed", "paused", "closed"})
"""Records after which a run does not run any more."""
TURNING_KINDS = ENDING_KINDS | {"opened", "decided", "settled", "handed"}
"""Records that may change the status of a run, or what it waits for."""


@dataclass(frozen=True)
class Summariser:
    """Sums up one run, in any number of steps; see `Store.append`."""

    row: RunRow

    def __call__(self, before: StreamSummary | None, records: Sequence[Record]) -> StreamSummary:
        """Return the summary after further records."""
        before = before or new_summary(records[0].stream, self.row)
        earlier: Any = before.data
        # A copy: the store may call this twice, after a transaction that was rolled back.
        facts: dict[str, Any] = dict(earlier)
        status, last_at = before.status, before.last_at
        began_at = last_at  # the beginning of the time that is still to be counted
        for record in records:
            if record.kind in SILENT_KINDS:
                continue
            facts["started_at"] = facts["started_at"] or record.at
            # Before it was opened, nobody worked on it; a clock that goes back counts for nothing.
            if record.kind == "opened" or record.at < last_at or not began_at:
                facts["seconds"] = _lengthened(facts["seconds"], began_at, last_at)
                began_at = record.at
            status, last_at = _take(facts, status, record), record.at
            facts["counted"] = [record.seq, last_at]
        facts["seconds"] = _lengthened(facts["seconds"], began_at, last_at)
        return StreamSummary(
            before.stream, self.row.kind, status, _waits(facts, status), last_at, facts
        )


def _take(facts: dict[str, Any], status: str, record: Record) -> str:
    """Take a record into the facts; return the run's status after it. It follows
    `runs.journal.apply`.
    """
    data: Any = record.data
    match record.kind:
        case "opened":
            # Whoever only answers opens the run without an entry.
            if "entry" in data:
                facts["is_resumable"] = "command" in data["entry"]
            facts.update(reason="", waits_for="", is_closed=False)
            return "running"
        case "started":
            facts["stage"] = data["stage"]
        case "done":
            facts["steps"] += 1
        case "model_reply":
            facts["calls"] += 1
            _add_usage(facts, data["reply"]["by"], data["reply"]["usage"])
        case "attempt_failed":
            _add_usage(facts, data["by"], data["usage"])
        case "decided" | "settled" | "handed":
            _take_choice(facts, record.kind, data)
        case "failed" | "paused":
            # While a question is open it is the reason; the program that asked it may add how it
            # ended.
            if data.get("choice") or not facts["slots"]:
                facts["reason"] = data.get("reason") or ""
            _take_choice(facts, record.kind, data)
            return record.kind
        case "closed":
            facts.update(is_closed=True, waits_for=data.get("waits", ""), slots=[])
            facts["judgement"] = data.get("judgement", {})
            # A flow that came to its end after it was helped has given up no more.
            facts.update(has_handed=facts["has_handed"] and facts["gave_up"], gave_up=False)
            return str(data["status"])
    return status


def _take_choice(facts: dict[str, Any], kind: str, data: Any) -> None:
    """Take what a person is asked, or answered, into the facts."""
    match kind:
        case "handed":
            facts.update(has_handed=True, gave_up=True)
        case "decided":
            facts["slots"] = _without(facts, data)
        case "settled":
            facts["slots"] = [place for place in facts["slots"] if place[0] != data["stage"]]
        case _:
            if choice := data.get("choice"):
                facts["slots"] = [*_without(facts, choice), [*slot(choice)]]


def _waits(facts: Mapping[str, Any], status: str) -> str:
    gave_up = status == "human_required" and facts["has_handed"]
    if facts["slots"] or gave_up:
        return WAITS_FOR_ANSWER
    is_paused = status == "paused" and not facts["is_closed"]
    return WAITS_FOR_WORK if is_paused or facts["waits_for"] else ""


def _without(facts: Mapping[str, Any], choice: dict[str, Any]) -> list[list[str]]:
    """Return the open choices but for one."""
    answered = [*slot(choice)]
    return [place for place in facts["slots"] if place != answered]


def _add_usage(facts: dict[str, Any], name: str, tokens: Mapping[str, Any]) -> None:
    # This is done for each reply: adding the numbers is cheaper than adding two `Usage`.
    earlier = facts["usage"].get(name) or {}
    total = {**earlier, **tokens}
    for field in tokens:
        if field in earlier:
            total[field] = earlier[field] + tokens[field]
    facts["usage"] = {**facts["usage"], name: total}


def _lengthened(seconds: float, began_at: str, last_at: str) -> float:
    """Return the seconds and those between two times.

    They have all digits of the times, so that it does not matter in how many steps they are added.
    """
    if began_at == last_at or not began_at:
        return seconds
    gap = datetime.fromisoformat(last_at) - datetime.fromisoformat(began_at)
    return round(seconds + gap / timedelta(seconds=1), 6)
