"""What runs wait for: the open questions of all runs, and the runs that wait without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from transom.runs.history import RunView
from transom.runs.questions import (
    APPROVAL,
    Choice,
    command,
    cut,
    in_full,
    options_of,
    short_name,
)
from transom.runs.summarising import RunRow


@dataclass(frozen=True)
class OpenQuestion:
    """One question that waits for a person.

    Attributes:
        runs: ids of the runs that wait for it; several where equal questions wait.
        question: what `--question` takes; "" where a flow asks for help.
        since: UTC, ISO 8601.
        options: what may be answered; empty for free text.
        needs_name: whether the answer counts only with `--by NAME`.
    """

    runs: tuple[str, ...]
    question: str
    since: str
    asks: str
    options: tuple[str, ...]
    needs_name: bool = False

    @property
    def has_long_options(self) -> bool:
        """Whether an option is a sentence, so that its number is what one types."""
        return any(" " in option for option in self.options)

    @property
    def command(self) -> str:
        """The command that answers it."""
        return command(self.runs[0], self.question, self.options, needs_name=self.needs_name)

    @property
    def numbered(self) -> list[str]:
        """The options, one a line."""
        return [f"  {number}: {option}" for number, option in enumerate(self.options, 1)]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "command": self.command}


@dataclass(frozen=True)
class WaitingRun:
    """A run that waits without a question, e.g. for a model.

    Attributes:
        reason: what it waits for, in one clause.
        since: UTC, ISO 8601.
        command: how it goes on, once that is there.
    """

    run_id: str
    kind: str
    name: str
    status: str
    reason: str
    since: str
    command: str


def open_questions(runs: Sequence[RunView]) -> list[OpenQuestion]:
    """Return the questions of runs, the oldest first; equal ones of several runs once."""
    groups: dict[tuple[str, ...], list[OpenQuestion]] = {}
    for run in runs:
        for question in questions_of(run):
            # Runs may ask the same in the same words; a person answers that once.
            equal = question.question or question.runs[0], question.asks, *question.options
            groups.setdefault(equal, []).append(question)
    questions: list[OpenQuestion] = []
    for group in groups.values():
        oldest = min(group, key=lambda question: question.since)
        run_ids = [run_id for question in group for run_id in question.runs]
        questions.append(replace(oldest, runs=tuple(run_ids)))
    return sorted(questions, key=lambda question: question.since)


def waiting_runs(runs: Sequence[RunView], is_settled: Callable[[RunRow], bool]) -> list[WaitingRun]:
    """Return the runs that wait without a question, the longest-waiting first.

    Args:
        is_settled: says of a run that a person settled outside of it what it waits for.
    """
    waiting: list[WaitingRun] = []
    for run in runs:
        is_paused = run.status == "paused" and not run.state.is_closed
        reason = run.state.paused if is_paused else run.state.waits
        has_question = next(questions_of(run), None) is not None
        if not reason or has_question or run.status == "running" or is_settled(run.row):
            continue
        line = f"transom resume {run.row.id}"
        if run.status == "NEEDS_MODEL":
            line += " --model PROVIDER:NAME"
        row, since = run.row, run.records[-1].at
        waiting.append(WaitingRun(row.id, row.kind, row.name, run.status, reason, since, line))
    return sorted(waiting, key=lambda run: run.since)


def questions_of(run: RunView, *, complete: bool = False) -> Iterator[OpenQuestion]:
    """Yield what a run waits for.

    Args:
        complete: whether all arguments of tool calls are shown, also local ones: this run is looked
            at.
    """
    ids = (run.row.id,)
    last_at = run.records[-1].at if run.records else ""
    # A flow that gave up takes free words and files, whatever its stages wait for.
    if run.status == "human_required" and run.state.handed:
        asks = f"{run.row.name}: the build gave up and needs your words"
        if names := run.state.handed.get("files"):
            endings = ", ".join(name.rpartition("/")[2] for name in names)
            asks += f", or a file with --edit ({endings})"
        yield OpenQuestion(ids, "", last_at, asks, ())
        return
    asked_at: dict[str, str] = {}
    for record in run.records:
        data: Any = record.data
        if record.kind == "paused" and data.get("choice"):
            # The first time counts: each walk that finds no answer pauses again.
            asked_at.setdefault(data["choice"]["fingerprint"], record.at)
    for choice in run.state.waiting.values():
        since = asked_at.get(choice["fingerprint"], last_at)
        asks = _sentence(choice, complete=complete)
        needs_name = bool(choice.get("needs_name"))
        yield OpenQuestion(ids, short_name(choice), since, asks, options_of(choice), needs_name)


def _sentence(choice: Choice, *, complete: bool) -> str:
    """Return the question that a choice puts to a person."""
    if "prompt" in choice:
        return str(choice["prompt"])
    if "file" in choice:
        return f"{choice['file']} and what it is made from have both changed: which counts?"
    asks = "This call was begun; was it carried out?"
    if choice["kind"] == APPROVAL:
        asks = "May this tool call be carried out?"
    if not complete:
        return f"{asks} {cut(choice)}"
    return f"{asks} {in_full(choice)} (in {choice['stage']}/{choice['key']['conversation']})"
