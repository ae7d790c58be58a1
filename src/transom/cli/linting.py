"""`transom check lint|approve|import|waiver lint`: looking at items, ItemSpecs and checkers, and answering for one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from transom.canonical import pretty_json
from transom.checklist.build.artifacts import CHECKER, file_of, split
from transom.checklist.build.checker import BUILD_FILE, SPEC_FILE
from transom.checklist.build.gates import GateReport
from transom.checklist.build.regate import record_of, regate
from transom.checklist.build.static_gates import (
    check_contract_names,
    check_forbidden,
    check_locked_layer,
    check_signatures,
    check_syntax,
    check_yaml,
)
from transom.checklist.item import item_findings
from transom.checklist.pipeline import Places, open_checker, own_files
from transom.checklist.results import DOUBTS, AnswerRow, FindingRow, LintResult
from transom.checklist.run import APPROVAL, LoadedChecker, load_checker
from transom.checklist.run import approve as approved
from transom.checklist.sheet import read_sheet
from transom.checklist.spec.document import parse_spec
from transom.checklist.spec.gate import check_spec
from transom.checklist.waiver_lint import waiver_findings
from transom.cli.batch import found
from transom.cli.command import Among, command
from transom.cli.history import history
from transom.cli.meaning import load_checked
from transom.cli.options import Options, check_app, parse_variables
from transom.cli.output import counted, day_of, say
from transom.cli.registry import home
from transom.cli.session import Session
from transom.cli.tree import group
from transom.errors import InputError, TransomError
from transom.formats.yaml_files import parse_yaml, read_bytes
from transom.gates import Finding
from transom.runs import write_file
from transom.sandbox import Level, Sandbox


@command(check_app, "lint", example="transom check lint examples/checks/VER-01.yaml")
async def lint(
    session: Session,
    targets: Annotated[list[Path], typer.Argument(metavar="ITEM.yaml|ITEMSPEC.md|CHECKER", help="What to look over.")],
    options: Annotated[Options, Among("variables")],
) -> int:
    """Say what is wrong with items, ItemSpecs or checkers.

    Checkers meet their gates again on the files of today.
    """
    places = Places(parse_variables(options.variables, session.cwd), session.settings.paths.search_root)
    async with history(session) as store:
        there = {target: replace(places, base=home(store, target) if store else None) for target in targets}
    linted = [await _lint(session, target, there[target]) for target in targets]
    findings = [finding for found, _ in linted for finding in found]
    return print_findings(session, findings, [remark for _, remarks in linted for remark in remarks])


@command(check_app, "approve", example='transom check approve checkers/VER-01_checker --by "Ann Lee"')
def approve(
    session: Session,
    folder: Annotated[Path, typer.Argument(metavar="CHECKER", help="The checker's folder.")],
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who approves it.")],
) -> int:
    """Record that a person approves a checker as it is.

    A later change of its atoms, YAML or ItemSpec voids the approval.
    """
    checker = open_checker(folder)
    status = checker.build.status if checker.build else None
    if status not in ("done", "needs_review"):
        what = f"its build ended with {status}" if status else f"without a {BUILD_FILE} no gate vouches for it"
        raise InputError(
            what, where=str(folder / BUILD_FILE), hint=f"hold it to the gates with: transom check lint {folder}"
        )
    at = datetime.now(UTC).isoformat(timespec="seconds")
    approval = approved(folder, checker.digests, by, at)
    for name in checker.edited:
        session.progress(f"{folder / name} was changed by hand after the gates passed the checker")
    write_file(folder / APPROVAL, pretty_json(approval).encode())
    answers = [line for row in _answers(checker) for line in (f"question: {row.question}", f"  answer: {row.answer}")]
    line = f"{checker.config.item_id} approved by {approval.by}: {', '.join(approval.files)}"
    return session.report(approval, *answers, line)


def _answers(checker: LoadedChecker) -> list[AnswerRow]:
    """The gates' questions with the answers of whoever wrote atom A; an open one says so."""
    record = checker.build
    if record is None:
        return []
    return [*record.answers, *(AnswerRow(question=row.message, answer="(nobody answered)") for row in record.questions)]


_Linted: TypeAlias = tuple[Sequence[Finding], Sequence[Finding]]
"""What was found in one target, and what is remarked on."""


async def _lint(session: Session, target: Path, places: Places) -> _Linted:
    """What is wrong with one target; that it cannot be read as what it should be is a finding, too."""
    if not os.path.exists(target):  # noqa: PTH110  unlike Path.exists it never raises
        raise InputError("no such file", where=str(target), hint="check the path")
    if target.suffix != ".md" and not target.is_dir():
        return item_findings(target, partial(load_checked, session, strict=False)), ()
    level = session.settings.sandbox.level
    try:
        return await _lint_checker(target, places, level) if target.is_dir() else (_lint_spec(target), ())
    except InputError as error:
        where = error.where or str(target)
        place, _, line = where.rpartition(":")
        message = f"{error.what}; {error.hint}" if error.hint else error.what
        at = int(line) if line.isdigit() else None
        return [Finding("readable", place if at else where, at, message)], ()


def _lint_spec(path: Path) -> list[Finding]:
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", where=str(path), hint="save the file as UTF-8") from error
    return check_spec(parse_spec(text, artifact=str(path)), artifact=str(path))


async def _lint_checker(folder: Path, places: Places, level: str | None) -> _Linted:
    """Every gate where the input files can be found, else those that need none."""
    checker = load_checker(folder)
    report = await _regated(checker, places, level)
    if report is not None:
        remarks = [row.finding() for gate in report.rows if gate.passed for row in gate.findings]
        return _in(folder, report.findings), _in(folder, remarks)
    atoms = split(checker.atoms)
    gates = (check_syntax, check_signatures, check_contract_names, check_forbidden, check_locked_layer)
    found = [finding for gate in gates for finding in gate(atoms)]
    found += check_yaml(checker.config, parse_yaml(checker.config_text, folder / CHECKER), atoms)
    say(f"{folder}: its input files are not here, so its atoms were not run (name their place with --var)")
    return _in(folder, found), ()


def _in(folder: Path, findings: Sequence[Finding]) -> list[Finding]:
    return [Finding(f.gate, f"{folder}/{file_of(f.artifact)}", f.line, f.message) for f in findings]


async def _regated(checker: LoadedChecker, places: Places, level: str | None) -> GateReport | None:
    base = places.of(checker.item, checker.folder)
    try:
        files = own_files(checker.item, places.roots(base)) if checker.item else ()
    except InputError:
        return None  # a variable that nobody defined here
    if not files or not (checker.folder / SPEC_FILE).exists():
        return None
    sandbox = Sandbox(level=Level(level) if level else None)
    report = await regate(checker, None, files, places.folders(base), sandbox)
    refused = {finding.gate for finding in report.findings} - DOUBTS
    if not refused and (checker.edited or not checker.build):
        _keep(checker, report, sandbox)
    return report


def _keep(checker: LoadedChecker, report: GateReport, sandbox: Sandbox) -> None:
    """Leave word in the folder of what the gates said, so that a person can approve the checker."""
    try:
        write_file(checker.folder / BUILD_FILE, record_of(checker, report, sandbox))
    except (OSError, TransomError) as error:
        say(f"{checker.folder}: {BUILD_FILE} cannot be written, so that it cannot be approved: {error}")
        return
    names = " and ".join(checker.edited) or "the checker"
    said = "passed the gates" if report.passed else "is doubted by the gates"
    say(f"{checker.folder}: {names} {said}; {BUILD_FILE} says so")


@command(check_app, "import", example="transom check import signoff.csv -o items")
def import_(
    session: Session,
    sheet: Annotated[Path, typer.Argument(metavar="SHEET.csv", help="A line for each item; the first names columns.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where the item files go.")] = Path("items"),
) -> int:
    """Write item files from the lines of a spreadsheet.

    Columns: description, item_id, input_files, pattern_items, waive_items, waive_reasons, owner, expires.
    """
    items = read_sheet(sheet)
    taken = [out / one.name for one in items if _other(out / one.name, one.text)]
    if taken:
        hint = "move it away, or choose another folder with -o"
        raise InputError("is there already and says something else", where=str(taken[0]), hint=hint)
    for one in items:
        write_file(out / one.name, one.text.encode())
    names = [str(out / one.name) for one in items]
    many = f"{counted(len(items), 'item')} in {out}"
    document = {"schema": "transom.imported/1", "items": names}
    return session.report(document, many, f"check them with: transom check batch {out}")


def _other(path: Path, text: str) -> bool:
    return path.exists() and (not path.is_file() or path.read_bytes() != text.encode())


waiver_app = group("waiver", "The waivers of items.", check_app)


@command(waiver_app, "lint", example="transom check waiver lint examples/checks")
def lint_waivers(
    session: Session,
    targets: Annotated[list[str], typer.Argument(metavar="FOLDER|GLOB|ITEM.yaml", help="Items.")],
    options: Annotated[Options, Among("as_of")],
) -> int:
    """Name the waivers that should not be relied upon.

    That is those without reason, owner or last day, those that have expired, and those that fit everything.
    """
    today = day_of(options.as_of)
    rows = [row for path in found(targets) for row in waiver_findings(path, today)]
    soon = [row for row in rows if row.gate == "waiver.soon"]
    return print_findings(session, [row for row in rows if row not in soon], soon)


def print_findings(session: Session, findings: Sequence[Finding], remarks: Sequence[Finding]) -> int:
    """Print what a `lint` found; findings are exit 1, doubts alone 3."""
    result = LintResult(findings=tuple(map(FindingRow.of, findings)), remarks=tuple(map(FindingRow.of, remarks)))
    lines = [*(f"remark: {one}" for one in remarks), *map(str, findings)]
    return session.report(result, *lines, *([] if findings else ["nothing found"]), code=result.exit_code)
