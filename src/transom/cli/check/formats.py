"""`transom check formats`: list report formats and claims, and try formats of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom.canonical import Json
from transom.checklist.claims.claim_data import shipped_claims
from transom.cli.app import group
from transom.cli.check.options import check_app
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.output import counted, table
from transom.evidence.regex_fields import slow_regexes
from transom.formats.reports import load_format, read_report, shipped_formats
from transom.formats.reports.trying import problems_of_examples

FormatFiles = Annotated[
    list[Path], typer.Argument(metavar="FORMAT.yaml...", help="Report formats of your own.")
]
FormatFile = Annotated[
    Path, typer.Argument(metavar="FORMAT.yaml", help="Report format of your own.")
]
Reports = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Reports to read with it.")]

formats_app = group("formats", "List report formats and claims; try your own formats.", check_app)


@command(formats_app, "list", example="transom check formats list")
def list_formats(session: Session) -> int:
    """List the report formats that Transom reads, and the claims that it checks."""
    formats: list[tuple[str, ...]] = []
    for report_format in shipped_formats():
        formats.append((report_format.name, report_format.model.title))
    claims: list[tuple[str, ...]] = []
    for name, claim in shipped_claims().claims.items():
        claims.append((name, claim.title))
    lines = table(formats, head=("FORMAT", "REPORT"))
    lines += table(claims, head=("CLAIM", "TITLE"))
    document: dict[str, Json] = {
        "schema": "transom.formats-list/1",
        "formats": [{"name": name, "title": title} for name, title in formats],
        "claims": [{"name": name, "title": title} for name, title in claims],
    }
    return session.show(document, *lines)


@command(formats_app, "lint", example="transom check formats lint formats/taught.esd.yaml")
def lint_formats(session: Session, paths: FormatFiles) -> int:
    """Find mistakes in your own report formats: keys, slow expressions, and examples."""
    problems: dict[str, Json] = {}
    lines: list[str] = []
    for path in paths:
        report_format = load_format(path)
        found = [*slow_regexes(report_format.model), *problems_of_examples(report_format)]
        problems[str(path)] = list[Json](found)
        lines += [f"{path}: {problem}" for problem in found]
    count = f"{counted(len(paths), 'format')}, {counted(len(lines), 'problem')}"
    document: dict[str, Json] = {"schema": "transom.formats-lint/1", "problems": problems}
    return session.show(document, *lines, count, code=1 if lines else 0)


@command(formats_app, "test", example="transom check formats test formats/taught.esd.yaml esd.log")
def test_format(session: Session, path: FormatFile, reports: Reports) -> int:
    """Show what your own report format reads from files, and which lines it does not explain.

    Exit 1: the format does not fit one of the files, or does not explain a line.
    """
    report_format = load_format(path)
    lines: list[str] = []
    rows: list[Json] = []
    is_whole = True
    for report in reports:
        reading = read_report(report, (report_format,))
        facts = [fact for section in reading.sections for fact in section.measurements]
        is_whole = is_whole and bool(reading.sections) and not reading.unexplained
        lines.append(f"{report}: {counted(len(facts), 'measurement')}")
        for fact in facts:
            lines.append(f"  {fact.line:6}  {fact.name}  {fact.content.strip()}")
        for shape in reading.unexplained:
            lines.append(f"  {shape.lines[0]:6}  not explained  {shape.text}")
        row: dict[str, Json] = {"file": str(report), "fits": bool(reading.sections)}
        row["measurements"] = [
            {"line": fact.line, "name": fact.name, "value": fact.value, "text": fact.text}
            for fact in facts
        ]
        row["unexplained"] = [
            {"line": shape.lines[0], "text": shape.text} for shape in reading.unexplained
        ]
        rows.append(row)
    document: dict[str, Json] = {"schema": "transom.formats-test/1", "files": rows}
    return session.show(document, *lines, code=0 if is_whole else 1)
