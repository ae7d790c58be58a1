"""`transom check teach`: a domain file from lines that a person marks, shown before it is kept; and the verdict."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from transom.canonical import Json
from transom.checklist.item import load_item
from transom.checklist.pipeline import own_files
from transom.checklist.rules import load_knowledge
from transom.checklist.teach import Lesson, Mark, Marked, domain_text, learn
from transom.cli.checking import all_command
from transom.cli.meaning import on_terminal, write_reads_as
from transom.cli.options import places_of
from transom.cli.output import counted, print_text, say
from transom.cli.session import Session
from transom.cli.told import Options
from transom.errors import InputError
from transom.formats.text_files import TextFile
from transom.formats.yaml_files import add_key, load_yaml
from transom.runs import write_file
from transom.runs.artifact import set_aside

_MARKS: tuple[Mark, ...] = ("good", "bad", "beside")
_SHOWN = 3
_TAIL = 30


@dataclass(frozen=True)
class Told:
    """The lines that were marked on the command line, each `FILE:LINE`."""

    good: Sequence[str] = ()
    bad: Sequence[str] = ()
    beside: Sequence[str] = ()


async def teach_command(session: Session, path: Path, told: Told, options: Options) -> int:
    """`check teach`; 3 where lines have to be marked before anything is kept."""
    item = load_item(path)
    places = places_of(session, options, None)
    files = {one.name: one for one in own_files(item, places.roots(places.of(item, path.parent)))}
    if not files:
        raise InputError("none of its input_files is there", where=str(path), hint="teaching needs a real log")
    name = re.sub(r"[^a-z0-9]+", "_", f"taught_{item.item_id.lower()}").strip("_")
    if item.reads_as and item.reads_as.domain != name:
        raise InputError("it has a reads_as already", where=str(path), hint="remove that to teach it anew")
    folder = _folder(session)
    texts = {one: TextFile(place).whole().split("\n") for one, place in files.items()}
    marked = [_line(session, texts, mark, at) for mark in _MARKS for at in getattr(told, mark)]
    if on_terminal(session) and not marked:
        marked = list(_first(texts))
    lesson = learn(marked)
    while open_ := list(_show(texts, lesson)):
        if not on_terminal(session):
            hint = "mark one of them with --good, --bad or --beside; nothing was kept"
            say(f"transom: {path}: too narrow: {counted(len(open_), 'line')} must be read and fit no pattern; {hint}")
            return 3
        mark = _asked(f"{open_[0].file}:{open_[0].line}: {open_[0].text}\nis it good, bad or beside the point? ")
        marked.append(replace(open_[0], mark=mark))
        lesson = learn(marked)
    _keep(session, folder / f"{name}.yaml", domain_text(name, item.description, _globs(files), lesson))
    if not item.reads_as:
        write_reads_as(item, {"domain": name, "item": "all_good"}, os.environ.get("USER", ""))
    paths = session.settings.paths
    dirs = tuple(dict.fromkeys((*paths.knowledge_dirs, folder)))
    settings = session.settings.model_copy(update={"paths": paths.model_copy(update={"knowledge_dirs": dirs})})
    again = {**session.entry, "command": "check all"}
    again["given"] = {**session.entry.get("given", {}), "items": [str(path.absolute())]}
    return await all_command(replace(session, settings=settings, chains=[], entry=again), [path], options)


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


def _line(session: Session, texts: dict[str, list[str]], mark: Mark, at: str) -> Marked:
    """The line that `FILE:LINE` names: of an input file by its name, or of any other by its path."""
    file, _, number = at.rpartition(":")
    if not file or not number.isdecimal():
        raise InputError(f"{at!r} names no line", where=f"--{mark}", hint="write FILE:LINE")
    lines = texts.get(Path(file).name) or TextFile(session.cwd / file).whole().split("\n")
    if not 1 <= int(number) <= len(lines):
        raise InputError(f"there are {len(lines)} lines", where=at, hint="count from 1")
    return Marked(mark, lines[int(number) - 1].rstrip("\r"), file, int(number))


def _first(texts: dict[str, list[str]]) -> Iterator[Marked]:
    """A good line and a bad one, by their numbers; the end of the first file is shown."""
    name, lines = next(iter(texts.items()))
    from_ = max(0, len(lines) - _TAIL)
    print_text(name, *(f"{number:6}  {text}" for number, text in enumerate(lines[from_:], from_ + 1)))
    for mark in ("good", "bad"):
        number = input(f"the number of a {mark} line (empty: none): ").strip()
        if number.isdecimal() and 1 <= int(number) <= len(lines):
            yield Marked("good" if mark == "good" else "bad", lines[int(number) - 1].rstrip("\r"), name, int(number))


def _asked(question: str) -> Mark:
    while True:
        word = input(question).strip().lower()
        if found := [mark for mark in _MARKS if word and mark.startswith(word)]:
            return found[0] if len(found) == 1 else "bad" if word == "bad" else "beside"


def _show(texts: dict[str, list[str]], lesson: Lesson) -> Iterator[Marked]:
    """Print what the patterns match in the whole files; yields the lines that have to be read and are not."""
    for name, lines in texts.items():
        read = [(lesson.read(text.rstrip("\r")), at, text) for at, text in enumerate(lines, 1) if text.strip()]
        told = [*_MARKS, "unread"]
        rows = {kind: [(at, text) for how, at, text in read if how == kind] for kind in told}
        for kind, found in rows.items():
            wide = kind in ("good", "bad") and len(read) > 20 and len(found) * 2 > len(read)
            note = "  TOO WIDE? it fits more than half of the file" if wide else ""
            note = "  TOO NARROW: these must be read and fit no pattern" if kind == "unread" and found else note
            print_text(f"{name}: {kind}: {counted(len(found), 'line')}{note}")
            print_text(*(f"  {at:6}  {text}" for at, text in found[:_SHOWN]))
        yield from (Marked("beside", text.rstrip("\r"), name, at) for at, text in rows["unread"])


def _globs(files: dict[str, Path]) -> list[str]:
    """Names of such files: numbers in them may be others tomorrow."""
    return list(dict.fromkeys(re.sub(r"\d+", "*", name.removesuffix(".gz")) for name in files))


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
