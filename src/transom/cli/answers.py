"""The answers of `transom check`, printed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from transom import __version__
from transom.checklist.item import Item, load_item
from transom.checklist.results import BuildResult, FindingRow, SpecResult, WordsRow
from transom.checklist.run import Verdict, load_checker, text_report, text_reports, together
from transom.checklist.run.report import NEXT_WORDS
from transom.checklist.run.verdict import MadeBy, Note, Status, Verdicts
from transom.cli.output import counted, toned
from transom.cli.session import Session
from transom.errors import InputError, TransomError

_PAGE = "see the page `Your first item`"
_STATUS: dict[str, Status] = {"ERROR": "ERROR", "NEEDS_MODEL": "NEEDS_MODEL"}
_WAITS = 3  # the exit code where a person or a model is needed

Answer: TypeAlias = SpecResult | BuildResult | Verdict
Writer: TypeAlias = Callable[[Verdict | Verdicts], None]
"""Writes the reports that were asked for."""


def print_verdicts(session: Session, verdicts: Sequence[Verdict], write: Writer) -> int:
    """Print the verdicts of several items in one document, which has every item whatever came of it."""
    return _print(session, together(verdicts), write)


def print_answer(session: Session, target: Path, answer: Answer, day: str, write: Writer) -> int:
    """Print what came of one item: the verdict, or for people the answer of the step that stopped before it."""
    verdict = verdict_for(target, answer, day)
    if session.format == "json" or isinstance(answer, Verdict):
        return _print(session, verdict, write)
    print_spec(session, answer) if isinstance(answer, SpecResult) else print_build(session, answer)
    return verdict.exit_code


def _print(session: Session, document: Verdict | Verdicts, write: Writer) -> int:
    """Print, then write the reports, so that a report that fails costs no verdict."""
    text = text_report(document, toned) if isinstance(document, Verdict) else text_reports(document, toned)
    session.report(document, *text.rstrip("\n").split("\n"))
    write(document)
    return document.exit_code


def verdict_for(target: Path, outcome: Answer | TransomError, day: str) -> Verdict:
    """What came of an item as a verdict: where it was not judged, one that says why, and what a person can do."""
    if isinstance(outcome, Verdict):
        return outcome
    words: tuple[WordsRow, ...] = ()
    if isinstance(outcome, TransomError):
        status: Status = "NEEDS_REVIEW" if outcome.exit_code == _WAITS else "ERROR"
        rows = [Note(source_file=None, message=str(outcome))]
    else:
        status, words = _STATUS.get(outcome.status, "NEEDS_REVIEW"), outcome.needs_model
        rows = [Note(source_file=r.artifact, line_number=r.line, message=r.message) for r in outcome.findings]
        if isinstance(outcome, SpecResult) and words:
            rows += [Note(source_file=None, message=line) for line in _readings(outcome)]
        if status == "NEEDS_REVIEW":
            rows = [Note(source_file=None, message=next_of(outcome)), *rows]
    item = _item_of(target)
    return Verdict(
        item_id=item.item_id if item else getattr(outcome, "item_id", target.stem),
        status=status,
        checker_type=None,
        capability_type=None,
        errors=tuple(rows) if status == "ERROR" else (),
        warnings=() if status == "ERROR" else tuple(rows),
        needs_model=words,
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


def next_of(answer: SpecResult | BuildResult) -> str:
    """What a person can do where a step stopped."""
    if isinstance(answer, SpecResult):
        mend = f"mend {answer.itemspec_path}, then run: transom check build {answer.itemspec_path} --item ITEM.yaml"
        return f"{mend}; or take it as it is with: {answer.choose.replace(' N ', ' 1 ')}" if answer.choose else mend
    return answer.waits_for or f"see: transom runs show {answer.run_id}"


def print_spec(session: Session, result: SpecResult) -> int:
    """Print the answer of `check spec`."""
    kind = [f"  capability type {result.capability_type}"] if result.capability_type else []
    scores = [f"{name} {row['score']}" for name, row in result.quality.items() if isinstance(row, dict)]
    kind += [f"  quality, of 10 each: {', '.join(scores)}"] if scores else []
    about = [*kind, *_findings(result.findings), *_words(result.needs_model), *(f"  {o}" for o in _readings(result))]
    return session.report(
        result, _head(result, result.itemspec_path), *about, f"  run {result.run_id}", code=result.exit_code
    )


def print_build(session: Session, result: BuildResult) -> int:
    """Print the answer of `check build`."""
    lines = [_head(result, result.checker_path)]
    lines += [f"  waits for a person: {result.waits_for}"] if result.waits_for else []
    for gate in result.gates:
        if not gate.passed or gate.findings:
            lines += [f"  {'passed' if gate.passed else 'FAILED'}  {gate.gate}", *_findings(gate.findings, "    ")]
    passed = sum(gate.passed for gate in result.gates)
    lines += [f"  {counted(passed, 'gate')} passed"] if passed else []
    if result.status == "needs_review" and result.checker_path:
        lines += [
            f"  see what it finds: transom check run {result.checker_path}",
            f"  take it as it is:  transom check approve {result.checker_path} --by NAME",
            "  or correct atoms.py or checker.yaml there, and build again",
        ]
    return session.report(result, *lines, *_words(result.needs_model), f"  run {result.run_id}", code=result.exit_code)


def _readings(result: SpecResult) -> list[str]:
    """What a description may mean that was not understood, with what today's files would give; and how to choose."""
    choose = f"choose with: {result.choose}" if result.choose else "a person said that none of these is meant"
    shown = [f"  {n}: {row.says}; evidence: {row.evidence}" for n, row in enumerate(result.readings, 1)]
    if shown:
        return ["it may mean:", *shown, f"{choose}; {_PAGE}"]
    return [f"nothing that the rules know comes near; {_PAGE}"] if result.needs_model else []


def _head(result: SpecResult | BuildResult, path: str | None) -> str:
    return f"{result.status}  {result.item_id}" + (f"  {path}" if path else "")


def _findings(findings: Iterable[FindingRow], indent: str = "  ") -> Iterator[str]:
    for finding in findings:
        where = f"{finding.artifact}:{finding.line}" if finding.line else finding.artifact
        yield f"{indent}{where}: {finding.message} [{finding.gate}]"


def _words(rows: Sequence[WordsRow]) -> list[str]:
    lines = [f'  not understood: "{words.text}" in {words.where}' for words in rows]
    return [*lines, f"  {NEXT_WORDS}"] if rows else []
