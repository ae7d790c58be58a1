"""The answers of `transom check`, printed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from transom import __version__
from transom.checklist.item import Item, load_item
from transom.checklist.results import BuildResult, FindingRow, ReadingRow, SpecResult, WordsRow
from transom.checklist.run import Verdict, load_checker, text_report, text_reports, together
from transom.checklist.run.report import NEXT_WORDS
from transom.checklist.run.verdict import MadeBy, NotUnderstoodWords, Status, Trouble, Verdicts, Warned
from transom.cli.check_reports import Report
from transom.cli.output import counted, print_json, print_text, style
from transom.cli.session import Session
from transom.errors import InputError, TransomError

_TONES = {"pass": "green", "fail": "red", "error": "red", "warn": "yellow", "dim": "dim"}
_PAGE = "see the page `Your first item`"
_WAITS = 3  # the exit code where a person or a model is needed


Outcome: TypeAlias = SpecResult | BuildResult | Verdict | TransomError


def print_verdict(session: Session, verdict: Verdict, reports: Sequence[Report] = ()) -> int:
    """Print the verdict of the one item that was named."""
    return _print(session, verdict, text_report(verdict, _toned), reports)


def print_verdicts(session: Session, verdicts: Sequence[Verdict], reports: Sequence[Report] = ()) -> int:
    """Print the verdicts of several items in one document, which has every item whatever came of it."""
    document = together(verdicts)
    return _print(session, document, text_reports(document, _toned), reports)


def _print(session: Session, document: Verdict | Verdicts, toned: str, reports: Sequence[Report]) -> int:
    """Print, then write the reports, so that a report that fails costs no verdict."""
    if session.format == "json":
        print_json(document)
    else:
        print_text(*toned.rstrip("\n").split("\n"))
    for report in reports:
        report.write(document)
    return document.exit_code


def print_answer(session: Session, item: Path, answer: SpecResult | BuildResult | Verdict, day: str) -> int:
    """Print what `check all` came to for one item: the verdict, or for people the answer of the step that stopped it.

    Args:
        day: by which waivers expire.
    """
    verdict = verdict_for(item, answer, day)
    if session.format == "json" or isinstance(answer, Verdict):
        return print_verdict(session, verdict)
    print_spec(session, answer) if isinstance(answer, SpecResult) else print_build(session, answer)
    return verdict.exit_code


def verdict_for(target: Path, outcome: Outcome, day: str) -> Verdict:
    """What came of an item as a verdict: where it was not judged, one that says why, and what a person can do.

    Args:
        target: the item's file, or a checker's folder.
        day: by which waivers expire.
    """
    if isinstance(outcome, Verdict):
        return outcome
    item = _item_of(target)
    why = _why_not_judged(outcome)
    error = why.status == "ERROR"
    return Verdict(
        item_id=item.item_id if item else getattr(outcome, "item_id", target.stem),
        status=why.status,
        checker_type=None,
        capability_type=None,
        errors=why.rows if error else (),
        warnings=() if error else tuple(Warned(**row.model_dump()) for row in why.rows),
        needs_model=why.words,
        made_by=MadeBy(transom=__version__, item_sha256=item.sha256 if item else None),
        sandbox_level=None,
        as_of=day,
        run_id=getattr(outcome, "run_id", None),
    )


def _item_of(target: Path) -> Item | None:
    try:
        return load_checker(target).item if os.path.isdir(target) else load_item(target)  # noqa: PTH112  it never raises
    except InputError:
        return None


@dataclass(frozen=True)
class _NotJudged:
    status: Status
    rows: tuple[Trouble, ...] = ()
    words: tuple[NotUnderstoodWords, ...] = ()


def _why_not_judged(outcome: SpecResult | BuildResult | TransomError) -> _NotJudged:
    if isinstance(outcome, TransomError):
        row = Trouble(source_file=None, message=str(outcome))
        return _NotJudged("NEEDS_REVIEW" if outcome.exit_code == _WAITS else "ERROR", (row,))
    words = tuple(NotUnderstoodWords(text=row.text, where=row.where) for row in outcome.needs_model)
    findings = outcome.findings
    rows = [Trouble(source_file=row.artifact, line_number=row.line, message=row.message) for row in findings]
    if isinstance(outcome, SpecResult) and outcome.needs_model:
        rows += [Trouble(source_file=None, message=line) for line in _readings(outcome)]
    if outcome.status in ("ERROR", "NEEDS_MODEL"):
        return _NotJudged("ERROR" if outcome.status == "ERROR" else "NEEDS_MODEL", tuple(rows), words)
    return _NotJudged("NEEDS_REVIEW", (Trouble(source_file=None, message=next_of(outcome)), *rows))


def next_of(answer: SpecResult | BuildResult) -> str:
    """What a person can do where a step stopped."""
    if isinstance(answer, SpecResult):
        return f"mend {answer.itemspec_path}, then run: transom check build {answer.itemspec_path} --item ITEM.yaml"
    return answer.waits_for or f"see: transom runs show {answer.run_id}"


def print_spec(session: Session, result: SpecResult) -> int:
    """Print the answer of `check spec`."""
    if session.format == "json":
        print_json(result)
        return result.exit_code
    print_text(f"{result.status}  {result.item_id}" + (f"  {result.itemspec_path}" if result.itemspec_path else ""))
    if result.capability_type:
        print_text(f"  capability type {result.capability_type}")
    _print_findings(result.findings)
    _print_words(result.needs_model)
    print_text(*(f"  {line}" for line in _readings(result)), f"  run {result.run_id}")
    return result.exit_code


def shown(rows: Sequence[ReadingRow]) -> list[str]:
    """What a description may mean that was not understood, one line each, with what today's files would give."""
    return [f"  {n}: {row.says}; evidence: {row.evidence}" for n, row in enumerate(rows, 1)]


def _readings(result: SpecResult) -> list[str]:
    """The same, and how a person says which of them is meant."""
    choose = f"choose with: {result.choose}" if result.choose else "a person said that none of these is meant"
    if result.readings:
        return ["it may mean:", *shown(result.readings), f"{choose}; {_PAGE}"]
    return [f"nothing that the rules know comes near; {_PAGE}"] if result.needs_model else []


def print_build(session: Session, result: BuildResult) -> int:
    """Print the answer of `check build`."""
    if session.format == "json":
        print_json(result)
        return result.exit_code
    print_text(f"{result.status}  {result.item_id}" + (f"  {result.checker_path}" if result.checker_path else ""))
    if result.waits_for:
        print_text(f"  waits for a person: {result.waits_for}")
    passed = [gate for gate in result.gates if gate.passed]
    for gate in result.gates:
        if not gate.passed or gate.findings:
            print_text(f"  {'passed' if gate.passed else 'FAILED'}  {gate.gate}")
            _print_findings(gate.findings, indent="    ")
    if passed:
        print_text(f"  {counted(len(passed), 'gate')} passed")
    if result.status == "needs_review" and result.checker_path:
        print_text(
            f"  see what it finds: transom check run {result.checker_path}",
            f"  take it as it is:  transom check approve {result.checker_path} --by NAME",
            "  or correct atoms.py or checker.yaml there, and build again",
        )
    _print_words(result.needs_model)
    print_text(f"  run {result.run_id}")
    return result.exit_code


def _print_findings(findings: Sequence[FindingRow], *, indent: str = "  ") -> None:
    for finding in findings:
        where = f"{finding.artifact}:{finding.line}" if finding.line else finding.artifact
        print_text(f"{indent}{where}: {finding.message} [{finding.gate}]")


def _print_words(rows: Sequence[WordsRow]) -> None:
    for words in rows:
        print_text(f'  not understood: "{words.text}" in {words.where}')
    if rows:
        print_text(f"  {NEXT_WORDS}")


def _toned(tone: str, text: str) -> str:
    return style(text, _TONES[tone])
