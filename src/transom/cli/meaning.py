"""What a description means that the rules do not understand: a person is asked, and her choice stands in the item."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from transom.canonical import Json
from transom.checklist.item import Item, load_item
from transom.checklist.pipeline import Places, own_files
from transom.checklist.results import ReadingRow, SpecResult
from transom.checklist.rules import load_knowledge
from transom.checklist.rules.meaning import KEY, check_reads_as, said
from transom.checklist.rules.nearby import near_readings
from transom.checklist.rules.preview import evidence_of
from transom.checklist.rules.reading import WHERE
from transom.checklist.run import Roots
from transom.cli.session import Session
from transom.cli.waiting import OpenQuestion
from transom.errors import InputError, Paused
from transom.formats.yaml_files import add_key, load_yaml
from transom.runs import Run, write_file

NONE: Final = "none of these"


def load_checked(session: Session, path: Path, *, strict: bool) -> Item:
    """Read an item; its `reads_as` is held against the knowledge of the settings."""
    item = load_item(path, strict=strict)
    if item.reads_as:
        check_reads_as(item, load_knowledge(session.settings.paths.knowledge_dirs))
    return item


async def with_readings(
    session: Session, run: Run, item: Item, places: Places, answer: SpecResult
) -> SpecResult | None:
    """Where the rules did not understand the description: the answer with the readings that come near.

    Returns None where a person has chosen one: it stands in the item's file now, and the run can go on.
    """
    if item.reads_as or not any(row.where.startswith(WHERE) for row in answer.needs_model):
        return answer
    knowledge = load_knowledge(session.settings.paths.knowledge_dirs)
    files = _files(item, places.roots(item, run.folder))
    given = {"requirements": item.requirements, "waivers": item.waivers}
    values = {name: part.value for name, part in given.items() if part}
    rows = tuple(
        ReadingRow(says=said(one, knowledge), reads_as=one.to_json(), evidence=evidence_of(one, knowledge, files))
        for one in near_readings(item.description, knowledge, **values)
    )
    chosen = await _chosen(session, run, item, rows) if rows else None
    if chosen:
        write_reads_as(item, *chosen)
        return None
    command = f"transom answer {run.id} --choose N --by NAME" if rows and run.state.waiting else None
    return answer.model_copy(update={"readings": rows, "choose": command})


def _files(item: Item, roots: Roots) -> Sequence[Path]:
    try:
        return own_files(item, roots)
    except InputError:  # an ItemSpec can be written before a variable is defined
        return ()


async def _chosen(
    session: Session, run: Run, item: Item, rows: Sequence[ReadingRow]
) -> tuple[dict[str, Json], str] | None:
    """The `reads_as` that a person chose, and who; None where she chose none, or nobody has answered yet."""
    asks = f'What does the description of {item.item_id} mean: "{" ".join(item.description.split())}"?'
    options = (*(row.says for row in rows), NONE)
    try:
        word = await run.ask(KEY, asks, options=options)
    except Paused:
        shown = tuple(f"{row.says}; evidence: {row.evidence}" for row in rows)
        text = OpenQuestion((), "", "", asks, (*shown, NONE)).ask() if on_terminal(session) else ""
        if not text:
            return None
        await run.decide(options[(*shown, NONE).index(text)], KEY, by=os.environ.get("USER", ""))
        word = await run.ask(KEY, asks, options=options)
    return next(((row.reads_as, word.by) for row in rows if row.says == word.text), None)


def on_terminal(session: Session) -> bool:
    """Whether a person can be asked."""
    return session.verbosity >= 0 and session.format == "text" and sys.stdin.isatty() and sys.stdout.isatty()


def write_reads_as(item: Item, reads_as: dict[str, Json], by: str) -> None:
    """Add `reads_as` to the item's file."""
    text = add_key(load_yaml(item.path), KEY, reads_as, f"chosen by {by or 'a person'}")
    path = item.path.resolve()  # of a link the file that it leads to
    mode = path.stat().st_mode
    write_file(path, text.encode())
    path.chmod(mode)
