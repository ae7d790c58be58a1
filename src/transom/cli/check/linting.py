"""`transom check lint|approve`: a person looks at an item, an ItemSpec or a checker."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from transom.canonical import pretty_json
from transom.checklist.building.artifacts import file_of
from transom.checklist.building.checker import BUILD_FILE, CHECKER_FILE, SPEC_FILE
from transom.checklist.building.regate import record_of, regate
from transom.checklist.claim_gate import claim_report
from transom.checklist.item_files import own_files
from transom.checklist.judging import APPROVAL, load_checker
from transom.checklist.judging import approve as approval_of
from transom.checklist.manner import Places
from transom.checklist.results import DOUBTS, SPEC, LintResult
from transom.checklist.writing.document import parse_spec
from transom.checklist.writing.gate import check_spec
from transom.cli.check.answers import load_checked
from transom.cli.check.example_lines import add_lines, ask_for_lines
from transom.cli.check.options import CheckArguments, check_app, places_of
from transom.cli.check.registry import home
from transom.cli.command import PersonOption, command
from transom.cli.command_session import Session
from transom.cli.output import say
from transom.cli.run_lookup import history
from transom.cli.terminal import on_terminal
from transom.errors import InputError
from transom.evidence.findings import Finding
from transom.formats.yaml_files import read_text
from transom.runs import write_file
from transom.sandbox import Level, Sandbox

Targets = Annotated[
    list[Path],
    typer.Argument(
        metavar="ITEM.yaml|ITEMSPEC.md|CHECKER|FOLDER",
        help="Items, ItemSpecs or checkers to lint, or a folder of ItemSpecs.",
    ),
]
GoodLine = Annotated[
    list[str] | None,
    typer.Option(
        "--good",
        metavar="LINE|FILE:N",
        help="Line with which the item holds, added to the examples of the ItemSpec.",
    ),
]
BadLine = Annotated[
    list[str] | None,
    typer.Option(
        "--bad",
        metavar="LINE|FILE:N",
        help="Line with which the item fails, added to the examples of the ItemSpec.",
    ),
]
Folder = Annotated[Path, typer.Argument(metavar="CHECKER", help="Folder of the checker.")]


@command(check_app, "lint", example="transom check lint examples/checks/VER-01.yaml")
async def lint(
    session: Session,
    targets: Targets,
    options: Annotated[CheckArguments, ("variables", "roots")],
    good: GoodLine = None,
    bad: BadLine = None,
) -> int:
    """Report what is wrong with items, ItemSpecs or checkers.

    It runs the gates of checkers again, on the current files. If the ItemSpec of a checker has no
    examples, it asks you once for a good and a bad line.
    """
    places = places_of(session, options, None)
    if good or bad:
        if len(targets) != 1 or not targets[0].is_dir():
            hint = "name one checker: transom check lint CHECKER --good LINE --bad LINE"
            raise InputError("--good and --bad are lines of one checker", hint=hint)
        checker = load_checker(targets[0])
        files = own_files(checker.item, places.roots(checker.item, targets[0]))
        add_lines(checker, files, good or (), bad or ())
    findings: list[Finding] = []
    remarks: list[Finding] = []
    async with history(session) as store:
        for target in itertools.chain.from_iterable(map(_in_folder, targets)):
            own_places = replace(places, base=home(store, target))
            result = await _lint(session, target, own_places)
            findings += result.findings
            remarks += result.remarks
    return show_findings(session, findings, remarks)


@command(
    check_app, "approve", example='transom check approve checkers/VER-01_checker --by "Ann Lee"'
)
def approve(session: Session, folder: Folder, person: PersonOption) -> int:
    """Record that a person approves a checker in its current form.

    If you change its code, YAML or ItemSpec later, the approval ends.
    """
    checker = load_checker(folder)
    build = checker.build
    if not build or build.status not in ("done", "needs_review"):
        problem = f"without a {BUILD_FILE} no gate vouches for it"
        if build:
            problem = f"its build ended with {build.status}"
        hint = f"check it with the gates: transom check lint {folder}"
        raise InputError(problem, place=str(folder / BUILD_FILE), hint=hint)
    approval = approval_of(checker.digests, person, datetime.now(UTC).isoformat(timespec="seconds"))
    # An approval covers these edits, so the person should know of them.
    for name in checker.edited:
        session.progress(f"{folder / name} was changed by hand after the gates passed the checker")
    write_file(folder / APPROVAL, pretty_json(approval).encode())
    # An approval answers for these, too, so the person sees them.
    lines: list[str] = []
    for row in build.answers:
        lines += [f"question: {row.question}", f"  answer: {row.answer}"]
    for question in build.questions:
        lines += [f"question: {question.message}", "  answer: (nobody answered)"]
    lines.append(f"{checker.config.item_id} approved by {approval.by}: {', '.join(approval.files)}")
    return session.show(approval, *lines)


def show_findings(session: Session, findings: Sequence[Finding], remarks: Sequence[Finding]) -> int:
    """Print the findings of a `lint`. Findings are exit 1, doubts alone 3."""
    result = LintResult(findings=tuple(findings), remarks=tuple(remarks))
    lines = [f"remark: {remark}" for remark in remarks]
    lines += map(str, findings)
    if not findings:
        lines.append("nothing found")
    return session.show(result, *lines, code=result.exit_code)


def _in_folder(target: Path) -> list[Path]:
    """Return the ItemSpecs in a folder that is no checker; any other target as it is."""
    if not os.path.isdir(target) or (target / CHECKER_FILE).is_file():  # noqa: PTH112  never raises
        return [target]
    # Without any, the message is the one of a checker.
    return sorted(target.glob(f"*{SPEC}*.md")) or [target]


async def _lint(session: Session, target: Path, places: Places) -> LintResult:
    """Return what is wrong with one target. That it cannot be read is a finding, too."""
    if not os.path.exists(target):  # noqa: PTH110  unlike Path.exists it never raises
        raise InputError("no such file", place=str(target), hint="check the path")
    try:
        if target.is_dir():
            return await _lint_checker(session, target, places)
        if target.suffix == ".md":
            findings = _spec_findings(target)
        else:
            item = load_checked(session, target, strict=False)
            findings = [
                Finding("item", str(target), notice.line, notice.message)
                for notice in item.warnings
            ]
        return LintResult(findings=tuple(findings))
    except InputError as error:
        return LintResult(findings=(_finding_of(error, target),))


def _spec_findings(path: Path) -> list[Finding]:
    """Return what is wrong with an ItemSpec, by itself or in the folder of its checker."""
    document = parse_spec(read_text(path), artifact=str(path))
    return check_spec(document, artifact=str(path))


def _finding_of(error: InputError, target: Path) -> Finding:
    """Return an error as a finding, with its line if the error has one."""
    message = f"{error.problem}; {error.hint}" if error.hint else error.problem
    place = error.place or str(target)
    file, _, line = place.rpartition(":")
    if line.isdigit():
        return Finding("readable", file, int(line), message)
    return Finding("readable", place, None, message)


async def _lint_checker(session: Session, folder: Path, places: Places) -> LintResult:
    """Run every gate of a checker on the current files.

    What is wrong with its ItemSpec is a remark: a checker that was written by hand is judged by
    its gates, however short the ItemSpec beside it is.
    """
    level = session.settings.sandbox.level
    checker = load_checker(folder)
    # The checker of a claim may lie there without its ItemSpec.
    spec_findings = _spec_findings(folder / SPEC_FILE) if (folder / SPEC_FILE).is_file() else []
    sandbox = Sandbox(level=Level(level) if level else None)
    roots = places.roots(checker.item, folder)
    files = own_files(checker.item, roots)
    # Gates compare the checker with real files.
    if not files:
        raise InputError(
            "its input files are not here", place=str(folder), hint="name their place with --var"
        )
    # A checker that was made from claims has gates of its own, which need no sandbox.
    report = claim_report(checker)
    if report is None:
        report = await regate(checker, None, files, roots.readable(), sandbox)
        if on_terminal(session) and ask_for_lines(checker, report.suggestions):
            # The gates may pass with the lines that the person gave.
            checker = load_checker(folder)
            report = await regate(checker, None, files, roots.readable(), sandbox)
    build = checker.build
    is_new = build is None or checker.edited or build.status == "needs_review"
    failed_gates = {finding.gate for finding in report.findings}
    if is_new and failed_gates <= DOUBTS:
        # Recorded, so that a person can approve it.
        write_file(folder / BUILD_FILE, record_of(checker, report, sandbox))
        names = " and ".join(checker.edited) or "the checker"
        result = "passed the gates" if report.passed else "is doubted by the gates"
        say(f"{folder}: {names} {result}; {BUILD_FILE} says so")
    remarks: list[Finding] = []
    for gate in report.rows:
        if gate.passed:
            remarks += gate.findings
    remarks_of_all = (*spec_findings, *_placed(remarks, folder))
    return LintResult(findings=_placed(report.findings, folder), remarks=remarks_of_all)


def _placed(findings: Sequence[Finding], folder: Path) -> tuple[Finding, ...]:
    """Return the findings of gates with the paths of the checker's files."""
    placed: list[Finding] = []
    for finding in findings:
        path = f"{folder}/{file_of(finding.artifact)}"
        placed.append(Finding(finding.gate, path, finding.line, finding.message))
    return tuple(placed)
