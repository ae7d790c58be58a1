"""The answers of `transom check`, printed; and what a description means that the rules do not
understand, asked.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from transom import __version__
from transom.checklist.acceptance import acceptance_on
from transom.checklist.interpreting import interpret, load_understood
from transom.checklist.item import Item, load_item
from transom.checklist.judging import Verdict, load_checker, text_report, text_reports, together
from transom.checklist.judging.report import next_words, reading_lines
from transom.checklist.judging.verdict import MadeBy, Note, Status, Verdicts
from transom.checklist.pipeline import Places
from transom.checklist.results import BuildResult, ReadingRow, SpecResult, WordsRow
from transom.cli.output import counted, toned
from transom.cli.session import Session
from transom.cli.waiting import ask_on_terminal
from transom.errors import InputError, TransomError
from transom.runs import Run
from transom.runs.open_questions import OpenQuestion

_STATUS: dict[str, Status] = {"ERROR": "ERROR", "NEEDS_MODEL": "NEEDS_MODEL"}
_WAITS = 3  # the exit code where a person or a model is needed

Answer: TypeAlias = SpecResult | BuildResult | Verdict
Writer: TypeAlias = Callable[[Verdict | Verdicts], None]
"""Writes the reports that were asked for."""


def print_verdicts(session: Session, verdicts: Sequence[Verdict], write: Writer) -> int:
    """Print the verdicts, then write the reports, so that a report that fails costs no verdict.

    Those of several items stand in one document, which has every item whatever came of it.
    """
    document = together(verdicts) if len(verdicts) > 1 else verdicts[0]
    folded = session.verbosity < 1
    if isinstance(document, Verdict):
        text = text_report(document, toned, folded=folded)
    else:
        text = text_reports(document, toned, folded=folded)
    session.report(document, *text.rstrip("\n").split("\n"))
    write(document)
    return document.exit_code


def verdict_for(target: Path, outcome: Answer | TransomError, day: str) -> Verdict:
    """What came of an item as a verdict: where it was not judged, one that says why, and what a
    person can do.
    """
    if isinstance(outcome, Verdict):
        return _with_needless_acceptance(target, outcome)
    words: tuple[WordsRow, ...] = ()
    readings: tuple[ReadingRow, ...] | None = None
    if isinstance(outcome, TransomError):
        status: Status = "NEEDS_REVIEW" if outcome.exit_code == _WAITS else "ERROR"
        rows = [Note(source_file=None, message=str(outcome))]
    else:
        status, words = _STATUS.get(outcome.status, "NEEDS_REVIEW"), outcome.needs_model
        rows = [
            Note(source_file=r.artifact, line_number=r.line, message=r.message)
            for r in outcome.findings
        ]
        if isinstance(outcome, SpecResult) and words:
            readings = outcome.readings
        if status == "NEEDS_REVIEW":
            rows = [Note(source_file=None, message=next_of(outcome)), *rows]
    item = _item_of(target)
    verdict = Verdict(
        item_id=item.item_id if item else getattr(outcome, "item_id", target.stem),
        status=status,
        checker_type=None,
        capability_type=None,
        errors=tuple(rows) if status == "ERROR" else (),
        warnings=() if status == "ERROR" else tuple(rows),
        needs_model=words,
        readings=readings,
        choose=outcome.choose if isinstance(outcome, SpecResult) and readings else None,
        made_by=MadeBy(transom=__version__, item_sha256=item.sha256 if item else None),
        sandbox_level=None,
        as_of=day,
        run_id=getattr(outcome, "run_id", None),
    )
    if item and item.accept and status != "ERROR":
        return verdict.model_copy(update={"acceptance": acceptance_on(item.accept, day)})
    return verdict


def _item_of(target: Path) -> Item | None:
    """Return the item of a target; None if it cannot be read."""
    try:
        return load_checker(target).item if os.path.isdir(target) else load_item(target)  # noqa: PTH112  never raises
    except InputError:
        return None


def _with_needless_acceptance(target: Path, verdict: Verdict) -> Verdict:
    """Return a verdict on an item, with a warning if the item says that it stays unchecked."""
    item = _item_of(target)
    if item is None or item.accept is None or not verdict.is_judged:
        return verdict
    message = "the item was judged, so its acceptance is not needed: remove `accept` from it"
    return verdict.model_copy(update={"warnings": (*verdict.warnings, Note(message=message))})


def next_of(answer: SpecResult | BuildResult) -> str:
    """What a person can do where a step stopped."""
    if isinstance(answer, SpecResult):
        mend = (
            f"mend {answer.itemspec_path}, then run: transom check build {answer.itemspec_path}"
            " --item ITEM.yaml"
        )
        return (
            f"{mend}; or take it as it is with: {answer.choose.replace(' N ', ' 1 ')}"
            if answer.choose
            else mend
        )
    if answer.status == "needs_review" and (path := answer.checker_path):
        correct = "correct atoms.py or checker.yaml there, and build again"
        return (
            f"{correct}; see what it finds: transom check run {path}; or transom check approve"
            f" {path} --by NAME"
        )
    return answer.waits_for or f"see: transom runs show {answer.run_id}"


def waits_for(answer: Answer, checker: Path | None = None) -> str:
    """Return what a person or a model has to bring before an item can be judged; "" if nothing.

    Args:
        checker: the folder of the checker that came to a verdict.
    """
    if isinstance(answer, Verdict):
        if answer.exit_code != _WAITS:
            return ""
        if answer.doubted and checker:
            approve = f"transom check approve {checker} --by NAME"
            return f"the gates doubt its checker; correct it, or approve it with: {approve}"
        return answer.warnings[0].message if answer.warnings else "its verdict needs a person"
    if answer.needs_model:
        words = ", ".join(f'"{row.text}"' for row in answer.needs_model)
        return f"not understood: {words}; {next_words(answer.needs_model)}"
    stopped = answer.exit_code == _WAITS or answer.status == "NEEDS_REVIEW"
    return next_of(answer) if stopped else ""


def print_step(session: Session, result: SpecResult | BuildResult) -> int:
    """Print the answer of `check spec` or `check build`."""
    lines = [f'not understood: "{one.text}" in {one.where}' for one in result.needs_model]
    lines += [next_words(result.needs_model)] if lines else []
    if isinstance(result, SpecResult):
        path = result.itemspec_path
        lines += [*map(str, result.findings)]
        if result.readings:
            lines.append("it may mean:")
        if result.readings or result.needs_model:
            lines += reading_lines(result.readings, result.choose)
    else:
        path = result.checker_path
        if result.status in ("needs_review", "human_required"):
            lines.append(f"waits for a person: {next_of(result)}")
        lines += [
            f"{'remark' if gate.passed else 'FAILED'}  {one}"
            for gate in result.gates
            for one in gate.findings
        ]
        lines += (
            [f"{counted(passed, 'gate')} passed"]
            if (passed := sum(gate.passed for gate in result.gates))
            else []
        )
    head = f"{result.status}  {result.item_id}" + (f"  {path}" if path else "")
    told = (f"  {line}" for line in [*lines, f"run {result.run_id}"])
    return session.report(result, head, *told, code=result.exit_code)


def load_checked(session: Session, path: Path, *, strict: bool) -> Item:
    """Read an item, and check its `reads_as` against the knowledge of the settings."""
    item = load_understood(path, session.settings.paths.knowledge_dirs, strict=strict)
    for notice in item.warnings:
        if notice.is_secret:
            session.progress(f"{item.where(notice.line)}: {notice.message}")
    return item


async def with_interpretations(
    session: Session, run: Run, item: Item, places: Places, result: SpecResult
) -> SpecResult | None:
    """Add the interpretations that come close to a result; on a terminal, ask for the right one.

    Returns:
        The result, or None if the person chose an interpretation: the run can go on.
    """
    folders = session.settings.paths.knowledge_dirs
    ask_now = _ask_on_terminal if on_terminal(session) else None
    return await interpret(run, item, places, result, folders, ask_now)


def _ask_on_terminal(question: str, options: Sequence[str]) -> tuple[str, str]:
    option = ask_on_terminal(OpenQuestion((), "", "", question, tuple(options)))
    return option, os.environ.get("USER", "")


def on_terminal(session: Session) -> bool:
    """Whether a person can be asked."""
    return (
        session.verbosity >= 0
        and session.format == "text"
        and sys.stdin.isatty()
        and sys.stdout.isatty()
    )
