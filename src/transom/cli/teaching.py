"""`transom check teach`: a report format from lines that a person marks, shown before it is kept;
and the verdict.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from transom.canonical import Json
from transom.checklist.interpreting import write_interpretation
from transom.checklist.item import load_item
from transom.checklist.marking import (
    END,
    NO_END,
    FileMatches,
    MarkedLogs,
    Marks,
    NumberedLine,
    format_name,
    write_format,
)
from transom.checklist.pipeline import own_files
from transom.checklist.teach import Lesson
from transom.cli.answers import on_terminal
from transom.cli.checking import all_
from transom.cli.command import command
from transom.cli.options import MARKS, Options, check_app, places_of
from transom.cli.output import counted, print_text, say, typed
from transom.cli.session import Session
from transom.errors import InputError
from transom.formats.yaml_files import add_key, dump_yaml, load_yaml
from transom.runs import write_file

Teach: TypeAlias = Callable[[MarkedLogs, Marks], Lesson | None]
"""Returns what the marks teach, or None if they are too few; it says what is missing."""

_SHOWN: Final = 3
_TAIL: Final = 30
ItemPath = Annotated[
    Path, typer.Argument(metavar="ITEM.yaml", help="Item whose log is not recognised.")
]


@command(
    check_app, "teach", example="transom check teach ESD.yaml --good esd.log:118 --bad esd.log:121"
)
async def teach(
    session: Session, path: ItemPath, options: Annotated[Options, ("variables", *MARKS)]
) -> int:
    """Teach Transom a log by marking good and bad lines.

    It writes a report format from them, shows what that matches in the whole log, and gives the
    verdict. On a terminal it asks for more marks. Exit 3: mark more lines before anything is saved.
    """
    item = load_item(path)
    places = places_of(session, options, None)
    files = own_files(item, places.roots(item, path.parent))
    if not files:
        raise InputError(
            "none of its input_files is there", where=str(path), hint="teaching needs a real log"
        )
    name = format_name(item)
    if item.reads_as and item.reads_as.domain != name:
        raise InputError(
            "it has a reads_as already", where=str(path), hint="remove that to teach it anew"
        )
    marks = [(mark, place) for mark in MARKS for place in getattr(options, mark)]
    teach_by: Teach = _by_questions if on_terminal(session) else _by_marks
    lesson = teach_by(MarkedLogs(files, session.cwd), marks)
    if lesson is None:
        say(f"transom: {path}: nothing was kept")
        return 3
    written = write_format(_knowledge_folder(session), item, files, lesson)
    session.progress(f"kept as {written}")
    if not item.reads_as:
        person = os.environ.get("USER", "")
        write_interpretation(item, {"domain": name, "item": "all_good"}, person)
    session = session.begun_as("check all", items=[str(path.absolute())])
    return await all_(session.again(session.entry), [path], options)


def _knowledge_folder(session: Session) -> Path:
    """Return the person's own folder of report formats.

    If the settings name none, one beside them is made and named there.
    """
    if session.settings.paths.knowledge_dirs:
        return session.settings.paths.knowledge_dirs[0]
    file = session.settings.file
    entry: dict[str, Json] = {"knowledge_dirs": ["knowledge"]}
    if file:
        text = add_key(load_yaml(file), "paths", entry, "what check teach wrote")
    else:
        text = dump_yaml({"paths": entry})
    target = file or session.cwd / "transom.yaml"
    write_file(target, text.encode())
    folder = target.parent / "knowledge"
    folder.mkdir(exist_ok=True)
    return folder


def _by_marks(logs: MarkedLogs, marks: Marks) -> Lesson | None:
    """Show what the marked lines teach; return None, and say why, if they are too few."""
    taught = logs.learn(marks)
    unread = 0
    for name, matches in logs.matches(taught.lesson).items():
        _print_matches(name, matches)
        unread += len(matches.lines["unread"])
    if unread:
        lines = f"{counted(unread, 'line')} must be read and fit no pattern"
        say(f"transom: too narrow: {lines}; mark one of them with --good, --bad or --beside")
    if taught.open_ended:
        name = taught.open_ended[0]
        hint = f"name its last line with --end {name}:LINE, or say --end {NO_END}"
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
    if not marks:
        name, lines = next(iter(logs.texts.items()))
        print_text(name, *_numbered(list(enumerate(lines, 1))[-_TAIL:]))
    print_text(
        f"mark a line, e.g. `good 118`, `bad {next(iter(logs.texts))}:121`, `limit 12 >= 98`,"
        f" `beside 3`, `{END} 200` or `{END} {NO_END}`;"
    )
    print_text("any other words show the lines that hold them")
    lesson = _by_marks(logs, marks) if marks else None
    while words := typed("a mark, or words to look for (empty: that is all): "):
        mark, _, place = words.partition(" ")
        if mark not in MARKS or not place:
            _print_lines_with(logs, words)
            continue
        more_marks = [*marks, (mark, place.strip())]
        try:
            lesson = _by_marks(logs, more_marks)
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
