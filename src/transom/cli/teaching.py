"""`transom check teach`: a domain file from lines that a person marks, shown before it is kept; and the verdict."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from transom.canonical import Json
from transom.checklist.item import load_item
from transom.checklist.pipeline import own_files
from transom.checklist.rules import load_knowledge
from transom.checklist.teach import Lesson, Mark, Marked, clear_end, domain_text, fitting, learn
from transom.cli.answers import on_terminal, write_reads_as
from transom.cli.checking import all_
from transom.cli.command import Among, command
from transom.cli.options import NamedLines, Options, check_app, places_of
from transom.cli.output import counted, print_text, say
from transom.cli.session import Session
from transom.errors import InputError
from transom.formats.text_files import TextFile
from transom.formats.yaml_files import add_key, load_yaml
from transom.runs import write_file
from transom.runs.artifact import set_aside

Texts: TypeAlias = Mapping[str, Sequence[str]]
"""The lines of each input file, by its name."""

_MARKS: tuple[Mark, ...] = ("good", "bad", "beside")
_NO_END: Final = "none"
_SHOWN = 3
_TAIL = 30
ItemPath = Annotated[Path, typer.Argument(metavar="ITEM.yaml", help="The item whose log no domain knows.")]


@command(check_app, "teach", example="transom check teach ESD.yaml --good esd.log:118 --bad esd.log:121")
async def teach(
    session: Session, path: ItemPath, options: Annotated[Options, Among("variables")], lines: NamedLines
) -> int:
    """Teach a log by lines of it that are good or bad.

    Writes a domain from them, shows what it would match in the whole log, and gives the verdict. On a terminal it asks
    for what is missing. Exit 3: lines have to be marked before anything is kept.
    """
    item = load_item(path)
    places = places_of(session, options, None)
    found = own_files(item, places.roots(item, path.parent))
    if not found:
        raise InputError("none of its input_files is there", where=str(path), hint="teaching needs a real log")
    name = re.sub(r"[^a-z0-9]+", "_", f"taught_{item.item_id.lower()}").strip("_")
    if item.reads_as and item.reads_as.domain != name:
        raise InputError("it has a reads_as already", where=str(path), hint="remove that to teach it anew")
    names = Counter(one.name for one in found)
    files = {one.name if names[one.name] == 1 else str(one): one for one in found}
    texts = {name: _lines(file) for name, file in files.items()}
    marked = [_line(session, files, mark, at) for mark in _MARKS for at in getattr(lines, mark)]
    ends = [_line(session, files, "beside", at) for at in lines.end if at != _NO_END]
    endless = _NO_END in lines.end
    lesson = (_talk if on_terminal(session) else _learned)(texts, marked, ends, endless=endless)
    if lesson is None:
        say(f"transom: {path}: nothing was kept")
        return 3
    folder = _folder(session)
    globs = dict.fromkeys(re.sub(r"\d+", "*", one.name.removesuffix(".gz")) for one in found)  # numbers may change
    _keep(session, folder / f"{name}.yaml", domain_text(name, item.description, [*globs], lesson))
    if not item.reads_as:
        write_reads_as(item, {"domain": name, "item": "all_good"}, os.environ.get("USER", ""))
    paths = session.settings.paths
    dirs = tuple(dict.fromkeys((*paths.knowledge_dirs, folder)))
    settings = session.settings.model_copy(update={"paths": paths.model_copy(update={"knowledge_dirs": dirs})})
    again = {**session.entry, "command": "check all"}
    again["given"] = {**session.entry.get("given", {}), "items": [str(path.absolute())]}
    return await all_(replace(session, settings=settings, chains=[], entry=again), [path], options)


def _folder(session: Session) -> Path:
    """Where knowledge of one's own lies; where the settings name no folder they do from now on."""
    if session.settings.paths.knowledge_dirs:
        return session.settings.paths.knowledge_dirs[0]
    file = session.settings.file
    told: dict[str, Json] = {"knowledge_dirs": ["knowledge"]}
    target = file or session.cwd / "transom.yaml"
    if file is None:
        write_file(target, b"paths:\n  knowledge_dirs: [knowledge]\n")
    else:
        write_file(target, add_key(load_yaml(target), "paths", told, "what check teach wrote").encode())
    folder = target.parent / "knowledge"
    folder.mkdir(exist_ok=True)
    return folder


def _lines(path: Path) -> list[str]:
    return [line.rstrip("\r") for line in TextFile(path).whole().removesuffix("\n").split("\n")]


def _line(session: Session, files: Mapping[str, Path], mark: Mark, at: str) -> Marked:
    """The line that `FILE:LINE` names: of an input file by its name, or of any other by its path."""
    name, _, number = at.rpartition(":")
    if not name or not number.isdecimal():
        raise InputError(f"{at!r} names no line", where="check teach", hint="write FILE:LINE")
    path = files.get(name) or session.cwd / name
    known = next((one for one, file in files.items() if file == path.resolve()), name)
    if not path.is_file():
        raise InputError("no such file", where=at, hint="name an input file, or a path from here")
    lines = _lines(path)
    if not 1 <= int(number) <= len(lines):
        raise InputError(f"there are {len(lines)} lines", where=at, hint="count from 1")
    return Marked(mark, lines[int(number) - 1], known, int(number))


# -- what is learned


def _lesson(texts: Texts, marked: Sequence[Marked], ends: Sequence[Marked]) -> Lesson:
    """What the marked lines teach; a log whose last line is clearly its end need not be told."""
    lesson = learn(marked, ends)
    open_ = {name: number for name in _open_ended(texts, lesson) if (number := clear_end(texts[name]))}
    return learn(marked, [*ends, *(Marked("beside", texts[name][at - 1], name, at) for name, at in open_.items())])


def _open_ended(texts: Texts, lesson: Lesson) -> list[str]:
    """The files in which no line shows that they are complete.

    Raises:
        InputError: several lines of a file are like its end, so that one cut off would have such a line, too.
    """
    found = {name: fitting(lesson.complete, lines) for name, lines in texts.items()}
    for one in lesson.ends:
        if found.get(one.file, 0) > 1:
            hint = "name a line that stands there once"
            raise InputError("other lines are like this end", where=f"{one.file}:{one.line}", hint=hint)
    return [name for name, fits in found.items() if not fits]


def _show(texts: Texts, lesson: Lesson) -> Iterator[Marked]:
    """Print what the patterns match in the whole files; yields the lines that have to be read and are not."""
    for name, lines in texts.items():
        read = [(lesson.read(text), at, text) for at, text in enumerate(lines, 1) if text.strip()]
        rows = {kind: [(at, text) for how, at, text in read if how == kind] for kind in (*_MARKS, "unread")}
        for kind, found in rows.items():
            wide = kind in ("good", "bad") and len(read) > 20 and len(found) * 2 > len(read)
            note = "  TOO WIDE? it fits more than half of the file" if wide else ""
            note = "  TOO NARROW: these must be read and fit no pattern" if kind == "unread" and found else note
            print_text(f"{name}: {kind}: {counted(len(found), 'line')}{note}", *_numbered(found[:_SHOWN]))
        end = [(at, text) for at, text in enumerate(lines, 1) if fitting(lesson.complete, [text])]
        print_text(f"{name}: complete with the line" if end else f"{name}: no line shows that it is complete")
        print_text(*_numbered(end[:1]))
        yield from (Marked("beside", text, name, at) for at, text in rows["unread"])


def _numbered(rows: Iterable[tuple[int, str]]) -> list[str]:
    return [f"  {at:6}  {text}" for at, text in rows]


def _learned(texts: Texts, marked: list[Marked], ends: list[Marked], *, endless: bool) -> Lesson | None:
    """What the named lines teach; None, and what is missing is said, where they are too few."""
    lesson = _lesson(texts, marked, ends)
    unread, open_ = list(_show(texts, lesson)), [] if endless else _open_ended(texts, lesson)
    if unread:
        many = f"{counted(len(unread), 'line')} must be read and fit no pattern"
        say(f"transom: too narrow: {many}; mark one of them with --good, --bad or --beside")
    if open_:
        hint = f"name its last line with --end {open_[0]}:LINE, or say --end {_NO_END}"
        say(f"transom: nothing shows that {open_[0]} is complete: a log that was cut off would pass; {hint}")
    return None if unread or open_ else lesson


# -- on a terminal


def _talk(texts: Texts, marked: list[Marked], ends: list[Marked], *, endless: bool) -> Lesson:
    """Ask a person until every line that must be read is, and nothing is left that is read wrongly."""
    if not marked:
        name, lines = next(iter(texts.items()))
        print_text(name, *_numbered(list(enumerate(lines, 1))[-_TAIL:]))
        print_text("name lines by their numbers; any other text shows the lines that hold it")
        while (good := _pick(texts, "a good line")) is None:
            print_text("a good line is needed")
        bad = _pick(texts, "a bad line (empty: there is none)")
        marked = [replace(good, mark="good"), *([replace(bad, mark="bad")] if bad else [])]
    while True:
        try:
            lesson = _lesson(texts, marked, ends)
            open_ = [] if endless else _open_ended(texts, lesson)
        except InputError as error:
            if len(marked) + len(ends) < 2:
                raise
            say(f"transom: {error}; that answer does not count")
            ends, marked = (ends[:-1], marked) if ends else (ends, marked[:-1])
            continue
        if unread := next(_show(texts, lesson), None):
            marked = [*marked, _marked(unread)]
        elif open_:
            end = _pick(texts, f"the line with which every complete {open_[0]} ends (empty: none does)")
            ends, endless = (ends, True) if end is None else ([*ends, end], False)
        elif wrong := _pick(texts, "a line that is read wrongly (empty: keep it as it is)"):
            marked = [*(one for one in marked if (one.file, one.line) != (wrong.file, wrong.line)), _marked(wrong)]
        else:
            return lesson


def _pick(texts: Texts, what: str) -> Marked | None:
    """The line that a person names, by its number in the first file or as FILE:LINE; None for none."""
    while text := _typed(f"{what}: "):
        named, _, number = text.rpartition(":")
        name = named or next(iter(texts))
        lines = texts.get(name, ())
        if number.isdecimal() and 1 <= int(number) <= len(lines):
            return Marked("beside", lines[int(number) - 1], name, int(number))
        for name, lines in texts.items():
            held = [(at, line) for at, line in enumerate(lines, 1) if text in line]
            print_text(f"{name} has {counted(len(lines), 'line')}, {len(held)} with {text!r}", *_numbered(held[:_TAIL]))
    return None


def _marked(line: Marked) -> Marked:
    print_text(f"{line.file}:{line.line}: {line.text}")
    while True:
        word = _typed("is it good, bad or beside the point? ").lower()
        if found := [mark for mark in _MARKS if word and mark.startswith(word)]:
            return replace(line, mark="bad" if word == "b" else found[0])


def _typed(question: str) -> str:
    """A person's words."""
    try:
        return input(question).strip()
    except EOFError as error:
        raise InputError("the answers ended", where="check teach", hint="nothing was kept") from error


# -- what is kept


def _keep(session: Session, path: Path, text: str) -> None:
    """Write the domain where it is found, if it is one."""
    if path.exists():
        set_aside(path)
    write_file(path, text.encode())
    try:
        load_knowledge([*session.settings.paths.knowledge_dirs, path.parent])
    except InputError:
        path.unlink()
        raise
    session.progress(f"kept as {path}")
