"""`transom check teach`: a domain file from lines that a person marks, shown before it is kept;
and the verdict.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, TypeAlias, cast, get_args

import typer

from transom.canonical import Json
from transom.checklist.interpreting import write_interpretation
from transom.checklist.item import load_item
from transom.checklist.pipeline import own_files
from transom.checklist.teach import Lesson, Mark, Marked, clear_end, domain_text, fitting, learn
from transom.cli.answers import on_terminal
from transom.cli.checking import all_
from transom.cli.command import command
from transom.cli.options import MARKS, Options, check_app, places_of
from transom.cli.output import counted, print_text, say, typed
from transom.cli.session import Session
from transom.errors import InputError
from transom.formats.text_files import TextFile
from transom.formats.yaml_files import add_key, dump_yaml, load_yaml
from transom.runs import write_file
from transom.runs.artifact import set_aside

Texts: TypeAlias = Mapping[str, Sequence[str]]
"""The lines of each input file, by its name."""

Marks: TypeAlias = Sequence[tuple[str, str]]
"""What a line is (`good`, `bad`, `beside`, `end`), and `FILE:LINE`; for the end of a whole log
also `none`.
"""

_MARKS: tuple[Mark, ...] = get_args(Mark)
_END: Final = "end"
_NO_END: Final = "none"
_SHOWN = 3
_TAIL = 30
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
    found = own_files(item, places.roots(item, path.parent))
    if not found:
        raise InputError(
            "none of its input_files is there", where=str(path), hint="teaching needs a real log"
        )
    name = re.sub(r"[^a-z0-9]+", "_", f"taught_{item.item_id.lower()}").strip("_")
    if item.reads_as and item.reads_as.domain != name:
        raise InputError(
            "it has a reads_as already", where=str(path), hint="remove that to teach it anew"
        )
    names = Counter(one.name for one in found)
    files = {one.name if names[one.name] == 1 else str(one): one for one in found}
    texts = {name: _lines(file) for name, file in files.items()}
    marks: Marks = [(mark, at) for mark in MARKS for at in getattr(options, mark)]
    lesson = (_talk if on_terminal(session) else _learned)(session, files, texts, marks)
    if lesson is None:
        say(f"transom: {path}: nothing was kept")
        return 3
    folder = _folder(session)
    # numbers may change
    globs = dict.fromkeys(re.sub(r"\d+", "*", one.name.removesuffix(".gz")) for one in found)
    kept = folder / f"{name}.yaml"
    if kept.exists():
        set_aside(kept)
    write_file(kept, domain_text(name, item.description, [*globs], lesson).encode())
    session.progress(f"kept as {kept}")
    if not item.reads_as:
        write_interpretation(item, {"domain": name, "item": "all_good"}, os.environ.get("USER", ""))
    session = session.begun_as("check all", items=[str(path.absolute())])
    return await all_(session.again(session.entry), [path], options)


def _folder(session: Session) -> Path:
    """Where knowledge of one's own lies; where the settings name no folder they do from now on."""
    if session.settings.paths.knowledge_dirs:
        return session.settings.paths.knowledge_dirs[0]
    file, told = session.settings.file, dict[str, Json](knowledge_dirs=["knowledge"])
    target = file or session.cwd / "transom.yaml"
    text = (
        add_key(load_yaml(file), "paths", told, "what check teach wrote")
        if file
        else dump_yaml({"paths": told})
    )
    write_file(target, text.encode())
    (target.parent / "knowledge").mkdir(exist_ok=True)
    return target.parent / "knowledge"


def _lines(path: Path) -> list[str]:
    return [line.rstrip("\r") for line in TextFile(path).whole().removesuffix("\n").split("\n")]


def _line(session: Session, files: Mapping[str, Path], at: str) -> Marked:
    """The line that `FILE:LINE` names: of an input file by its name, of any other by its path;
    else of the first.
    """
    name, _, number = at.rpartition(":")
    name = name or next(iter(files))
    path = files.get(name) or session.cwd / name
    if not (number.isdecimal() and path.is_file()):
        hint = "write FILE:LINE, with an input file's name or a path from here"
        raise InputError("names no line", where=at, hint=hint)
    lines = _lines(path)
    if not 1 <= int(number) <= len(lines):
        raise InputError(f"there are {len(lines)} lines", where=at, hint="count from 1")
    known = next((one for one, file in files.items() if file == path.resolve()), name)
    return Marked("beside", lines[int(number) - 1], known, int(number))


def _learned(
    session: Session, files: Mapping[str, Path], texts: Texts, marks: Marks
) -> Lesson | None:
    """What the marked lines teach; None, and what is missing is said, where they are too few."""
    lines = [(mark, _line(session, files, at)) for mark, at in marks if at != _NO_END]
    ends = [line for mark, line in lines if mark == _END]
    named = {
        (line.file, line.line): replace(line, mark=cast("Mark", mark))
        for mark, line in lines
        if mark != _END
    }
    marked = [*named.values()]  # a line that is marked again is what it was called last
    lesson = learn(marked, ends)
    clear = {name: at for name in _open_ended(texts, lesson) if (at := clear_end(texts[name]))}
    lesson = learn(
        marked,
        [*ends, *(Marked("beside", texts[name][at - 1], name, at) for name, at in clear.items())],
    )
    unread = _show(texts, lesson)
    open_ = [] if (_END, _NO_END) in marks else _open_ended(texts, lesson)
    if unread:
        many = f"{counted(unread, 'line')} must be read and fit no pattern"
        say(f"transom: too narrow: {many}; mark one of them with --good, --bad or --beside")
    if open_:
        hint = f"name its last line with --end {open_[0]}:LINE, or say --end {_NO_END}"
        say(
            f"transom: nothing shows that {open_[0]} is complete: a log that was cut off would"
            f" pass; {hint}"
        )
    return None if unread or open_ else lesson


def _open_ended(texts: Texts, lesson: Lesson) -> list[str]:
    """The files in which no line shows that they are complete. InputError: several lines of one
    are like its end.
    """
    found = {name: fitting(lesson.complete, lines) for name, lines in texts.items()}
    for one in lesson.ends:
        if found.get(one.file, 0) > 1:
            hint = "name a line that stands there once"
            raise InputError(
                "other lines are like this end", where=f"{one.file}:{one.line}", hint=hint
            )
    return [name for name, fits in found.items() if not fits]


def _show(texts: Texts, lesson: Lesson) -> int:
    """Print what the patterns match in the whole files; returns how many lines have to be read
    and are not.
    """
    unread = 0
    for name, lines in texts.items():
        read = [(lesson.read(text), at, text) for at, text in enumerate(lines, 1) if text.strip()]
        rows = {
            kind: [(at, text) for how, at, text in read if how == kind]
            for kind in (*_MARKS, "unread")
        }
        for kind, found in rows.items():
            wide = kind in ("good", "bad") and len(read) > 20 and len(found) * 2 > len(read)
            note = "  TOO WIDE? it fits more than half of the file" if wide else ""
            note = (
                "  TOO NARROW: these must be read and fit no pattern"
                if kind == "unread" and found
                else note
            )
            print_text(
                f"{name}: {kind}: {counted(len(found), 'line')}{note}", *_numbered(found[:_SHOWN])
            )
        end = [(at, text) for at, text in enumerate(lines, 1) if fitting(lesson.complete, [text])]
        print_text(
            f"{name}: complete with the line"
            if end
            else f"{name}: no line shows that it is complete"
        )
        print_text(*_numbered(end[:1]))
        unread += len(rows["unread"])
    return unread


def _numbered(rows: Iterable[tuple[int, str]]) -> list[str]:
    return [f"  {at:6}  {text}" for at, text in rows]


def _talk(session: Session, files: Mapping[str, Path], texts: Texts, marks: Marks) -> Lesson | None:
    """Ask a person for marks until an empty line; what was learned by then, as `_learned` has
    it.
    """
    if not marks:
        name, lines = next(iter(texts.items()))
        print_text(name, *_numbered([*enumerate(lines, 1)][-_TAIL:]))
    print_text(
        f"mark a line, e.g. `good 118`, `bad {next(iter(texts))}:121`, `beside 3`, `end 200` or"
        f" `end {_NO_END}`;"
    )
    print_text("any other words show the lines that hold them")
    lesson = _learned(session, files, texts, marks) if marks else None
    while words := typed("a mark, or words to look for (empty: that is all): "):
        mark, _, at = words.partition(" ")
        if mark not in MARKS or not at:
            for name, lines in texts.items():
                held = [(at, line) for at, line in enumerate(lines, 1) if words in line]
                print_text(
                    f"{name}: {counted(len(held), 'line')} with {words!r}", *_numbered(held[:_TAIL])
                )
            continue
        more = [*marks, (mark, at.strip())]
        try:
            lesson, marks = _learned(session, files, texts, more), more
        except InputError as error:
            say(f"transom: {error}; that mark does not count")
    return lesson
