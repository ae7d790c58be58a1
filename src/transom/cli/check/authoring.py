"""`transom check import|teach|waiver`: item files, and report formats of your own.

`teach` writes a report format from lines that a person marks, shows what it matches before it is
saved, and gives the verdict.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from transom.canonical import Json
from transom.checklist.claims.written_limits import limit_in
from transom.checklist.interpreting import write_interpretation
from transom.checklist.item import load_item
from transom.checklist.item_files import own_files
from transom.checklist.marking import (
    END,
    NO_END,
    FileMatches,
    MarkedLogs,
    Marks,
    NumberedLine,
    format_path,
    write_format,
)
from transom.checklist.sheet import read_sheet
from transom.checklist.taught_format import claim_name
from transom.checklist.teach import Lesson
from transom.checklist.waiver_lint import waiver_findings
from transom.cli.app import group
from transom.cli.check.batch import paths_named
from transom.cli.check.linting import show_findings
from transom.cli.check.options import MARKS, CheckArguments, check_app, places_of
from transom.cli.check.steps import all_
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.output import counted, day_of, print_text, say, typed
from transom.cli.terminal import on_terminal
from transom.errors import InputError
from transom.evidence.findings import Finding
from transom.evidence.units import quantity_of
from transom.runs import write_file

Sheet = Annotated[
    Path,
    typer.Argument(
        metavar="SHEET.csv", help="Sheet with a row for each item; the first row names the columns."
    ),
]
ItemsFolder = Annotated[
    Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for the item files.")
]
Items = Annotated[list[str], typer.Argument(metavar="FOLDER|GLOB|ITEM.yaml", help="Items to lint.")]

Teach: TypeAlias = Callable[[MarkedLogs, Marks], Lesson | None]
"""Returns the lesson of the marks. If they are too few, it prints what is missing; then None."""

_TYPED_MARKS: Final = {
    "good": "good",
    "bad": "bad",
    "limit": "limit",
    "ignore": "beside",
    "beside": "beside",
    END: END,
}
"""What a person types on the terminal to mark a line, and the mark that a lesson keeps."""

_SHOWN: Final = 3
_TAIL: Final = 30
ItemPath = Annotated[
    Path, typer.Argument(metavar="ITEM.yaml", help="Item whose log is not recognised.")
]


@command(check_app, "import", example="transom check import signoff.csv -o items")
def import_(session: Session, sheet: Sheet, folder: ItemsFolder = Path("items")) -> int:
    """Write item files from the rows of a spreadsheet.

    Columns: description, item_id, input_files, pattern_items, waive_items, waive_reasons, owner,
    expires. Paths in input_files are relative to the sheet's folder.
    """
    items = read_sheet(sheet, folder)
    # Nothing is written if one of the files would overwrite another text.
    for item in items:
        path = folder / item.name
        if path.exists() and (not path.is_file() or path.read_bytes() != item.text.encode()):
            hint = "move it away, or choose another folder with -o"
            raise InputError("is there already and says something else", place=str(path), hint=hint)
    names: list[str] = []
    for item in items:
        write_file(folder / item.name, item.text.encode())
        names.append(str(folder / item.name))
    return session.show(
        {"schema": "transom.imported/1", "items": names},
        f"{counted(len(items), 'item')} in {folder}",
        f"check them with: transom check batch {folder}",
    )


waiver_app = group("waiver", "List waivers that you should not rely on.", check_app)


@command(waiver_app, "lint", example="transom check waiver lint examples/checks")
def lint_waivers(
    session: Session, targets: Items, options: Annotated[CheckArguments, ("as_of",)]
) -> int:
    """List waivers and acceptances that you should not rely on.

    These are waivers without a reason, an owner or an end date, expired waivers, and waivers that
    match everything.
    """
    findings: list[Finding] = []
    remarks: list[Finding] = []
    for path in paths_named(targets):
        for finding in waiver_findings(path, day_of(options.as_of)):
            # A waiver that will expire soon still counts today.
            if finding.gate.endswith(".soon"):
                remarks.append(finding)
            else:
                findings.append(finding)
    return show_findings(session, findings, remarks)


@command(
    check_app, "teach", example="transom check teach ESD.yaml --good esd.log:118 --bad esd.log:121"
)
async def teach(
    session: Session, path: ItemPath, options: Annotated[CheckArguments, ("variables", *MARKS)]
) -> int:
    """Teach Transom a log by marking good and bad lines.

    It writes a report format, shows what the format matches in the whole log, and gives the
    verdict. On a terminal it asks for more marks. Exit 3: mark more lines before anything is saved.
    """
    item = load_item(path)
    places = places_of(session, options, None)
    files = own_files(item, places.roots(item, path.parent))
    if not files:
        raise InputError(
            "none of its input_files exists", place=str(path), hint="teaching needs a real log"
        )
    # The item names a claim already that nobody taught.
    claim = item.claim
    if claim is not None and (claim.format != format_path(item) or claim.parameters):
        raise InputError(
            "it has a reads_as already", place=str(path), hint="remove that to teach it anew"
        )
    teach_by: Teach = _by_questions if on_terminal(session) else _by_marks
    lesson = teach_by(MarkedLogs(files, session.cwd), options.marks)
    if lesson is not None and (problem := _limit_without_mark(item.description, lesson)):
        say(f"transom: {problem}")
        lesson = None
    if lesson is None:
        say(f"transom: {path}: nothing was kept")
        return 3
    written = write_format(item, lesson)
    session.progress(f"kept as {written}")
    if item.claim is None:
        person = os.environ.get("USER", "")
        reads_as: dict[str, Json] = {"claim": claim_name(lesson), "format": format_path(item)}
        write_interpretation(item, reads_as, person)
    session = session.recording("check all", items=[str(path.absolute())])
    return await all_(session.recorded_session(session.entry), [path], options)


def _limit_without_mark(description: str, lesson: Lesson) -> str:
    """Return what is missing if the item limits a number and no marked line is held to that limit.

    Without it any number would be taken for a good one. A log may print a physical quantity in
    another unit than the item's, so only counts and shares are compared.
    """
    limit = limit_in(description)
    if limit is None:
        return ""
    words, bound = limit
    is_comparable = quantity_of(bound.number.unit) is None or bound.number.unit == "%"
    for marked in lesson.marked:
        held = marked.limit
        if held and (not is_comparable or Decimal(held.number) == bound.number.value):
            return ""
    line = lesson.marked[0]
    example = f"{line.file}:{line.line} {bound.comparator} {bound.number.value.normalize():f}"
    problem = f"the item sets a limit ({words}), and no marked line is held to it"
    return f"{problem}; add --limit '{example}', with the number that it is about"


def _by_marks(logs: MarkedLogs, marks: Marks) -> Lesson | None:
    """Show what the marked lines teach; return None, and say why, if they are too few."""
    taught = logs.learn(marks)
    unread = 0
    # Shown before anything is saved: a person sees at once what fits too much or too little.
    for name, matches in logs.matches(taught.lesson).items():
        _print_matches(name, matches)
        unread += len(matches.lines["unread"])
    if unread:
        lines = f"{counted(unread, 'line')} must be read and fit no pattern"
        say(f"transom: too narrow: {lines}; mark one of them with --good, --bad or --ignore")
    # A log that was cut off has no bad line.
    if taught.open_ended:
        name = taught.open_ended[0]
        hint = f"name its last line with --end {name}:LINE, or pass --end {NO_END}"
        say(
            f"transom: nothing shows that {name} is complete: a log that was cut off would"
            f" pass; {hint}"
        )
    if not taught.lesson.has_bad_line():
        say(
            "transom: nothing shows how a bad line looks, so the verdict needs a review; mark one"
            " with --bad FILE:LINE or --bad 'THE LINE', or hold a number to a --limit"
        )
    return None if unread or taught.open_ended else taught.lesson


def _print_matches(name: str, matches: FileMatches) -> None:
    for mark, lines in matches.lines.items():
        note = ""
        if matches.is_wide(mark):
            note = "  TOO WIDE? it fits more than half of the file"
        elif mark == "unread" and lines:
            note = "  TOO NARROW: these must be read and fit no pattern"
        print_text(f"{name}: {mark}: {counted(len(lines), 'line')}{note}")
        print_text(*_numbered(lines[:_SHOWN]))
    if matches.end:
        print_text(f"{name}: complete with the line", *_numbered(matches.end[:1]))
    else:
        print_text(f"{name}: no line shows that it is complete")


def _numbered(rows: Iterable[NumberedLine]) -> list[str]:
    return [f"  {number:6}  {text}" for number, text in rows]


def _by_questions(logs: MarkedLogs, marks: Marks) -> Lesson | None:
    """Ask a person for marks until an empty line; return what was learned, as `_by_marks` does."""
    # The end of a log says most about its outcome.
    if not marks:
        name, lines = next(iter(logs.texts.items()))
        print_text(name, *_numbered(list(enumerate(lines, 1))[-_TAIL:]))
    print_text(
        f"mark a line, e.g. `good 118`, `bad {next(iter(logs.texts))}:121`, `limit 12 >= 98`,"
        f" `ignore 3`, `{END} 200` or `{END} {NO_END}`;"
    )
    print_text("any other words show the lines that hold them")
    lesson = _by_marks(logs, marks) if marks else None
    while words := typed("a mark, or words to look for (empty: that is all): "):
        mark, _, place = words.partition(" ")
        if mark not in _TYPED_MARKS or not place:
            _print_lines_with(logs, words)
            continue
        more_marks = [*marks, (_TYPED_MARKS[mark], place.strip())]
        try:
            lesson = _by_marks(logs, more_marks)
        # A mark that contradicts the others is dropped, and the person goes on.
        except InputError as error:
            say(f"transom: {error}; that mark does not count")
        else:
            marks = more_marks
    return lesson


def _print_lines_with(logs: MarkedLogs, words: str) -> None:
    for name, texts in logs.texts.items():
        lines = [(number, text) for number, text in enumerate(texts, 1) if words in text]
        print_text(f"{name}: {counted(len(lines), 'line')} with {words!r}")
        print_text(*_numbered(lines[:_TAIL]))
