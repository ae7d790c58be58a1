"""`transom check lint|approve|import|waiver|knowledge`: looking at what checks are made of, and
answering for one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from transom.canonical import pretty_json
from transom.checklist.building.artifacts import file_of
from transom.checklist.building.checker import BUILD_FILE
from transom.checklist.building.regate import record_of, regate
from transom.checklist.claiming import claim_report
from transom.checklist.judging import APPROVAL, load_checker
from transom.checklist.judging import approve as approved
from transom.checklist.pipeline import Places, own_files
from transom.checklist.results import DOUBTS, LintResult
from transom.checklist.rules import Knowledge, load_knowledge
from transom.checklist.rules.plan import item_name
from transom.checklist.rules.shapes import Domain
from transom.checklist.rules.trial import problems_of
from transom.checklist.sheet import read_sheet
from transom.checklist.waiver_lint import waiver_findings
from transom.checklist.writing.document import parse_spec
from transom.checklist.writing.gate import check_spec
from transom.cli.answers import load_checked, on_terminal
from transom.cli.app import group
from transom.cli.batch import found
from transom.cli.command import By, command
from transom.cli.example_lines import add_lines, ask_for_lines
from transom.cli.history import history
from transom.cli.options import Options, check_app, places_of
from transom.cli.output import counted, day_of, say, table
from transom.cli.registry import home
from transom.cli.session import Session
from transom.errors import InputError
from transom.evidence.findings import Finding
from transom.evidence.regex_fields import slow_regexes
from transom.formats.yaml_files import read_text
from transom.formats.yaml_models import nearest_key
from transom.runs import write_file
from transom.sandbox import Level, Sandbox

Targets = Annotated[
    list[Path],
    typer.Argument(
        metavar="ITEM.yaml|ITEMSPEC.md|CHECKER", help="Items, ItemSpecs or checkers to lint."
    ),
]
GoodLine = Annotated[
    list[str] | None,
    typer.Option(
        "--good",
        metavar="LINE|FILE:N",
        help="A line with which the item holds, added to the examples of the ItemSpec.",
    ),
]
BadLine = Annotated[
    list[str] | None,
    typer.Option(
        "--bad",
        metavar="LINE|FILE:N",
        help="A line with which it fails, added to the examples of the ItemSpec.",
    ),
]
Folder = Annotated[Path, typer.Argument(metavar="CHECKER", help="Folder of the checker.")]
Sheet = Annotated[
    Path,
    typer.Argument(
        metavar="SHEET.csv", help="Sheet with a row for each item; the first row names the columns."
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for the item files.")]
Items = Annotated[list[str], typer.Argument(metavar="FOLDER|GLOB|ITEM.yaml", help="Items to lint.")]
DomainName = Annotated[str, typer.Argument(metavar="DOMAIN", help="Name, as printed by `list`.")]
Names = Annotated[
    list[str] | None, typer.Argument(metavar="DOMAIN|FILE.yaml", help="Files to test [all].")
]


@command(check_app, "lint", example="transom check lint examples/checks/VER-01.yaml")
async def lint(
    session: Session,
    targets: Targets,
    options: Annotated[Options, ("variables", "roots")],
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
    async with history(session) as store:
        linted = [
            await _lint(session, target, replace(places, base=home(store, target)))
            for target in targets
        ]
    findings = [row for one in linted for row in one.findings]
    return _print_findings(session, findings, [row for one in linted for row in one.remarks])


@command(
    check_app, "approve", example='transom check approve checkers/VER-01_checker --by "Ann Lee"'
)
def approve(session: Session, folder: Folder, by: By) -> int:
    """Record that a person approves a checker in its current form.

    If you change its code, YAML or ItemSpec later, the approval ends.
    """
    checker = load_checker(folder)
    if not checker.build or checker.build.status not in ("done", "needs_review"):
        ended = f"its build ended with {checker.build.status}" if checker.build else ""
        what = ended or f"without a {BUILD_FILE} no gate vouches for it"
        hint = f"hold it to the gates with: transom check lint {folder}"
        raise InputError(what, where=str(folder / BUILD_FILE), hint=hint)
    approval = approved(checker.digests, by, datetime.now(UTC).isoformat(timespec="seconds"))
    for name in checker.edited:
        session.progress(f"{folder / name} was changed by hand after the gates passed the checker")
    write_file(folder / APPROVAL, pretty_json(approval).encode())
    rows = [(row.question, row.answer) for row in checker.build.answers]
    rows += [(row.message, "(nobody answered)") for row in checker.build.questions]
    answers = [
        line
        for question, answer in rows
        for line in (f"question: {question}", f"  answer: {answer}")
    ]
    line = f"{checker.config.item_id} approved by {approval.by}: {', '.join(approval.files)}"
    return session.report(approval, *answers, line)


async def _lint(session: Session, target: Path, places: Places) -> LintResult:
    """What is wrong with one target; that it cannot be read as what it should be is a finding,
    too.
    """
    if not os.path.exists(target):  # noqa: PTH110  unlike Path.exists it never raises
        raise InputError("no such file", where=str(target), hint="check the path")
    try:
        if target.is_dir():
            return await _lint_checker(session, target, places)
        if target.suffix == ".md":
            found = check_spec(
                parse_spec(read_text(target), artifact=str(target)), artifact=str(target)
            )
        else:
            item = load_checked(session, target, strict=False)
            found = [Finding("item", str(target), one.line, one.message) for one in item.warnings]
        return LintResult(findings=tuple(found))
    except InputError as error:
        where = error.where or str(target)
        place, _, line = where.rpartition(":")
        message = f"{error.what}; {error.hint}" if error.hint else error.what
        at = int(line) if line.isdigit() else None
        return LintResult(findings=(Finding("readable", place if at else where, at, message),))


async def _lint_checker(session: Session, folder: Path, places: Places) -> LintResult:
    """Run every gate on the current files."""
    level = session.settings.sandbox.level
    checker, sandbox = load_checker(folder), Sandbox(level=Level(level) if level else None)
    roots = places.roots(checker.item, folder)
    files = own_files(checker.item, roots)
    if not files:
        raise InputError(
            "its input files are not here", where=str(folder), hint="name their place with --var"
        )
    report = claim_report(checker)
    if report is None:
        report = await regate(checker, None, files, roots.readable(), sandbox)
        if on_terminal(session) and ask_for_lines(checker, report.suggestions):
            checker = load_checker(folder)
            report = await regate(checker, None, files, roots.readable(), sandbox)
    build = checker.build
    is_new = build is None or checker.edited or build.status == "needs_review"
    if is_new and not {finding.gate for finding in report.findings} - DOUBTS:
        # so that a person can approve it
        write_file(folder / BUILD_FILE, record_of(checker, report, sandbox))
        names = " and ".join(checker.edited) or "the checker"
        said = "passed the gates" if report.passed else "is doubted by the gates"
        say(f"{folder}: {names} {said}; {BUILD_FILE} says so")
    remarks = [row for gate in report.rows if gate.passed for row in gate.findings]
    findings, beside = (
        tuple(
            Finding(one.gate, f"{folder}/{file_of(one.artifact)}", one.line, one.message)
            for one in rows
        )
        for rows in (report.findings, remarks)
    )
    return LintResult(findings=findings, remarks=beside)


@command(check_app, "import", example="transom check import signoff.csv -o items")
def import_(session: Session, sheet: Sheet, out: Out = Path("items")) -> int:
    """Write item files from the rows of a spreadsheet.

    Columns: description, item_id, input_files, pattern_items, waive_items, waive_reasons, owner,
    expires. Paths in input_files are relative to the sheet's folder.
    """
    items = read_sheet(sheet, out)
    for one in items:
        path = out / one.name
        if path.exists() and (not path.is_file() or path.read_bytes() != one.text.encode()):
            hint = "move it away, or choose another folder with -o"
            raise InputError("is there already and says something else", where=str(path), hint=hint)
    for one in items:
        write_file(out / one.name, one.text.encode())
    names = [str(out / one.name) for one in items]
    lines = f"{counted(len(items), 'item')} in {out}", f"check them with: transom check batch {out}"
    return session.report({"schema": "transom.imported/1", "items": names}, *lines)


waiver_app = group("waiver", "The waivers of items.", check_app)


@command(waiver_app, "lint", example="transom check waiver lint examples/checks")
def lint_waivers(session: Session, targets: Items, options: Annotated[Options, ("as_of",)]) -> int:
    """List waivers and acceptances that you should not rely on.

    These are waivers without a reason, an owner or an end date, expired waivers, and waivers that
    match everything.
    """
    rows = [row for path in found(targets) for row in waiver_findings(path, day_of(options.as_of))]
    soon = [row for row in rows if row.gate.endswith(".soon")]
    return _print_findings(session, [row for row in rows if row not in soon], soon)


def _print_findings(
    session: Session, findings: Sequence[Finding], remarks: Sequence[Finding]
) -> int:
    """Print what a `lint` found; findings are exit 1, doubts alone 3."""
    result = LintResult(findings=tuple(findings), remarks=tuple(remarks))
    lines = [*(f"remark: {one}" for one in remarks), *map(str, findings)]
    return session.report(
        result, *lines, *([] if findings else ["nothing found"]), code=result.exit_code
    )


knowledge_app = group(
    "knowledge", "What the embedded default understands, and domains of your own.", check_app
)


@command(knowledge_app, "list", example="transom check knowledge list")
def list_domains(session: Session) -> int:
    """List the report formats: what each answers, and its items."""
    knowledge, _ = _domains(session)
    rows = [one.model_dump(include={"domain", "title", "question"}) for one in knowledge.domains]
    for row, one in zip(rows, knowledge.domains, strict=True):
        row["items"] = ", ".join(dict.fromkeys(item_name(item, {}) for item in one.items))
        row["file"] = knowledge.files[one.domain]
    lines = [f"{row['domain']:<22} {row['question']}: {row['items']}" for row in rows]
    return session.report({"schema": "transom.knowledge-list/1", "domains": rows}, *lines)


@command(knowledge_app, "show", example="transom check knowledge show timing")
def show_domain(session: Session, domain: DomainName) -> int:
    """Show what a report format can be asked, its items, and what it reads."""
    _, (found,) = _domains(session, [domain])
    # Several claims may mean the same, each in words of its own.
    meanings = dict.fromkeys(claim.means for claim in found.claims)
    lines = [f"{found.title}: {found.question}", *(f"  {meaning}" for meaning in meanings)]
    lines += table(
        [(item_name(one, {}), one.purpose) for one in found.items], head=("ITEM", "PURPOSE")
    )
    lines += table(
        [(one.kind, one.about, " ".join(one.files)) for one in found.sources],
        head=("READS", "WHAT", "FILES"),
    )
    return session.report(found.model_dump(mode="json", by_alias=True), *lines)


@command(knowledge_app, "lint", example="transom check knowledge lint site/erc.yaml")
def lint_domain(session: Session, names: Names = None) -> int:
    """Find mistakes in the file of a report format: its words, expressions and examples."""
    return _trial(session, names)


@command(knowledge_app, "test", example="transom check knowledge test physical_verification")
def test_domain(session: Session, names: Names = None) -> int:
    """Run the examples of a report format as tests. It finds the same mistakes as `lint`."""
    return _trial(session, names)


def _trial(session: Session, names: Names) -> int:
    """Lint the files of some report formats, and run their examples."""
    knowledge, chosen = _domains(session, names or ())
    languages = [one for one in knowledge.languages if one.domain in chosen]
    found: dict[str, list[str]] = {}
    for language in languages:
        domain = language.domain
        problems = [*filter(None, [language.problem]), *problems_of(domain)]
        # The shipped formats are measured by the tests of Transom: it takes a second for each.
        if names or not knowledge.is_shipped(domain.domain):
            problems += slow_regexes(domain)
        found[domain.domain] = problems
    tried = sum(len(item.examples) for one in chosen for item in one.items)
    wrong = [
        f"{knowledge.files[name]}: {problem}"
        for name, problems in found.items()
        for problem in problems
    ]
    lines = (*wrong, f"{tried} examples, {len(wrong)} not as they say")
    return session.report(
        {"tried": tried, "problems": found, "findings": wrong}, *lines, code=1 if wrong else 0
    )


def _domains(session: Session, names: Sequence[str] = ()) -> tuple[Knowledge, Sequence[Domain]]:
    """The domains of those names, or in those files; all where none is named. Files lead to
    others in their folders.
    """
    folders = dict.fromkeys(
        Path(one).parent.absolute() for one in names if one.endswith((".yaml", ".yml"))
    )
    knowledge = load_knowledge([*session.settings.paths.knowledge_dirs, *folders])
    by_name = {
        key: one for one in knowledge.domains for key in (one.domain, knowledge.files[one.domain])
    }
    for name in names:
        if Path(name).name not in by_name:
            near = nearest_key(name, [*knowledge.files])
            hint = f"did you mean {near}?" if near else f"there is {', '.join(knowledge.files)}"
            raise InputError(f"there is no domain {name}", hint=hint)
    return knowledge, [by_name[Path(name).name] for name in names] or knowledge.domains
