"""The answers of `transom check`: printed, turned into verdicts, and asked of a person.

A person is asked what a description means if the rules do not understand it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from transom import __version__
from transom.checklist.acceptance import acceptance_on
from transom.checklist.interpreting import interpret, interpret_again, load_understood
from transom.checklist.item import Item, load_item
from transom.checklist.judging import Verdict, load_checker, text_report, text_reports, together
from transom.checklist.judging.verdict import Status
from transom.checklist.judging.verdict_report import next_words, reading_lines
from transom.checklist.judging.verdict_rows import MadeBy, Note
from transom.checklist.manner import Places
from transom.checklist.results import BuildResult, ReadingRow, SpecResult, WordsRow
from transom.cli.command_session import Session
from transom.cli.output import ReportFile, counted, toned
from transom.cli.terminal import ask_on_terminal, on_terminal
from transom.errors import InputError, TransomError
from transom.runs import Run
from transom.runs.open_questions import OpenQuestion

_STATUS: dict[str, Status] = {"ERROR": "ERROR", "NEEDS_MODEL": "NEEDS_MODEL"}
_WAITING_CODE = 3  # the exit code if a person or a model is needed

Answer: TypeAlias = SpecResult | BuildResult | Verdict


def print_verdicts(
    session: Session,
    verdicts: Sequence[Verdict],
    reports: tuple[ReportFile, ...],
    descriptions: Mapping[str, str],
) -> int:
    """Print the verdicts, and write the reports.

    Several verdicts stand in one document, which has every item, judged or not.
    """
    document = together(verdicts) if len(verdicts) > 1 else verdicts[0]
    # Good entries are folded, unless -v is given.
    folded = session.verbosity < 1
    if isinstance(document, Verdict):
        question = descriptions.get(document.item_id, "")
        text = text_report(document, toned, folded=folded, question=question)
    else:
        text = text_reports(document, toned, folded=folded, questions=descriptions)
    lines = text.rstrip("\n").split("\n")
    return session.show(document, *lines, code=document.exit_code, reports=reports)


def verdict_for(target: Path, outcome: Answer | TransomError, day: str) -> Verdict:
    """Return the outcome of an item as a verdict.

    If the item was not judged, the verdict says why, and what a person can do.

    Args:
        target: the item or checker.
        outcome: the answer of the last step that ran, or the error that ended it.
        day: the day by which waivers and acceptances expire, ISO.
    """
    if isinstance(outcome, Verdict):
        return _with_needless_acceptance(target, outcome)
    words: tuple[WordsRow, ...] = ()
    readings: tuple[ReadingRow, ...] | None = None
    choose: str | None = None
    if isinstance(outcome, TransomError):
        status: Status = "NEEDS_REVIEW" if outcome.exit_code == _WAITING_CODE else "ERROR"
        notes = [Note(source_file=None, message=str(outcome))]
    else:
        status = _STATUS.get(outcome.status, "NEEDS_REVIEW")
        words = outcome.needs_model
        notes = _notes_of(outcome)
        if isinstance(outcome, SpecResult) and words:
            readings = outcome.readings
        if isinstance(outcome, SpecResult) and readings:
            choose = outcome.choose
        if status == "NEEDS_REVIEW":
            notes.insert(0, Note(source_file=None, message=next_of(outcome)))
    is_error = status == "ERROR"
    item = _item_of(target)
    verdict = Verdict(
        item_id=item.item_id if item else getattr(outcome, "item_id", target.stem),
        status=status,
        checker_type=None,
        capability_type=None,
        errors=tuple(notes) if is_error else (),
        warnings=() if is_error else tuple(notes),
        needs_model=words,
        readings=readings,
        choose=choose,
        made_by=MadeBy(transom=__version__, item_sha256=item.sha256 if item else None),
        sandbox_level=None,
        as_of=day,
        run_id=getattr(outcome, "run_id", None),
    )
    # An error is no state that a person can accept: the check could not even be made.
    if item and item.accept and not is_error:
        return verdict.model_copy(update={"acceptance": acceptance_on(item.accept, day)})
    return verdict


def _notes_of(outcome: SpecResult | BuildResult) -> list[Note]:
    """Return the findings of a step as notes of a verdict."""
    notes: list[Note] = []
    for finding in outcome.findings:
        note = Note(source_file=finding.artifact, line_number=finding.line, message=finding.message)
        notes.append(note)
    return notes


def _item_of(target: Path) -> Item | None:
    """Return the item of a target; None if it cannot be read."""
    try:
        if os.path.isdir(target):  # noqa: PTH112  unlike Path.is_dir it never raises
            return load_checker(target).item
        return load_item(target)
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
    """Return what a person can do after a step that stopped."""
    if isinstance(answer, SpecResult):
        path = answer.itemspec_path
        advice = f"mend {path}, then run: transom check build {path} --item ITEM.yaml"
        if not answer.choose:
            return advice
        return f"{advice}; or accept it unchanged with: {answer.choose.replace(' N ', ' 1 ')}"
    if answer.status == "needs_review" and (path := answer.checker_path):
        return (
            "correct atoms.py or checker.yaml there, and build again; see what it finds: transom"
            f" check run {path}; or transom check approve {path} --by NAME"
        )
    return answer.waits_for or f"see: transom runs show {answer.run_id}"


def waits_for(answer: Answer, checker: Path | None = None) -> str:
    """Return what a person or a model has to bring before an item can be judged; "" if nothing.

    Args:
        checker: the folder of the checker that came to a verdict.
    """
    if isinstance(answer, Verdict):
        if answer.exit_code != _WAITING_CODE:
            return ""
        if answer.doubted and checker:
            approve = f"transom check approve {checker} --by NAME"
            return f"the gates doubt its checker; correct it, or approve it with: {approve}"
        return answer.warnings[0].message if answer.warnings else "its verdict needs a person"
    if answer.needs_model:
        words = ", ".join(f'"{row.text}"' for row in answer.needs_model)
        return f"not understood: {words}; {next_words(answer.needs_model)}"
    if answer.exit_code == _WAITING_CODE or answer.status == "NEEDS_REVIEW":
        return next_of(answer)
    return ""


def print_step(session: Session, result: SpecResult | BuildResult) -> int:
    """Print the answer of `check spec` or `check build`."""
    lines = [f'not understood: "{words.text}" in {words.where}' for words in result.needs_model]
    if lines:
        lines.append(next_words(result.needs_model))
    if isinstance(result, SpecResult):
        path = result.itemspec_path
        lines += _spec_lines(result)
    else:
        path = result.checker_path
        lines += _build_lines(result)
    head = f"{result.status}  {result.item_id}"
    if path:
        head += f"  {path}"
    lines.append(f"run {result.run_id}")
    return session.show(result, head, *(f"  {line}" for line in lines), code=result.exit_code)


def _spec_lines(result: SpecResult) -> list[str]:
    lines = [*map(str, result.findings)]
    # Interpretations of the description, one of which a person can choose.
    if result.readings:
        lines.append("it may mean:")
    if result.readings or result.needs_model:
        lines += reading_lines(result.readings, result.choose)
    return lines


def _build_lines(result: BuildResult) -> list[str]:
    lines: list[str] = []
    if result.status in ("needs_review", "human_required"):
        lines.append(f"waits for a person: {next_of(result)}")
    for gate in result.gates:
        # A gate may pass, and still have something to say.
        head = "remark" if gate.passed else "FAILED"
        lines += [f"{head}  {finding}" for finding in gate.findings]
    if passed := sum(gate.passed for gate in result.gates):
        lines.append(f"{counted(passed, 'gate')} passed")
    return lines


def load_checked(session: Session, path: Path, *, strict: bool) -> Item:
    """Read an item, and check its `reads_as` against the claims."""
    item = load_understood(path, strict=strict)
    # The other warnings stand in the verdict. A secret must be seen before anything is sent.
    for notice in item.warnings:
        if notice.is_secret:
            session.progress(f"{item.place_of(notice.line)}: {notice.message}")
    return item


async def with_interpretations(
    session: Session, run: Run, item: Item, places: Places, result: SpecResult
) -> SpecResult | None:
    """Add the interpretations that come close to a result; on a terminal, ask for the right one.

    Returns:
        The result, or None if the person chose an interpretation: the run can go on.
    """
    # Without a terminal, the question stays open in the run.
    ask_now = _ask_on_terminal if on_terminal(session) else None
    return await interpret(run, item, places, result, ask_now)


async def with_other_interpretations(
    session: Session, run: Run, item: Item, places: Places, verdict: Verdict
) -> Verdict | None:
    """Ask what an item means whose verdict a person overturned.

    Returns:
        The verdict, or None if the person chose an interpretation: the run can go on.
    """
    ask_now = _ask_on_terminal if on_terminal(session) else None
    return await interpret_again(run, item, places, verdict, ask_now)


def _ask_on_terminal(question: str, options: Sequence[str]) -> tuple[str, str]:
    option = ask_on_terminal(OpenQuestion((), "", "", question, tuple(options)))
    return option, os.environ.get("USER", "")
