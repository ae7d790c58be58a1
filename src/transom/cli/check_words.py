"""`transom check confirm` and `overturn`: a person's word on a verdict, from which the playbook learns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transom.canonical import digest
from transom.checklist.build.checker import ATOMS_FILE, CHECKER_FILE
from transom.checklist.build.lessons import judged
from transom.checklist.run import Verdict
from transom.checklist.run.stage import VERDICT_FILE
from transom.cli.checking import LEARNED
from transom.cli.history import RunView, found_run
from transom.cli.insights import opened
from transom.cli.session import Session
from transom.errors import InputError
from transom.formats.yaml_files import load_yaml
from transom.learning import Outcome, Source
from transom.runs import source_of
from transom.store import SqliteStore

WORDS = "verdict_words"
"""Where a workspace keeps what people said of verdicts, by run and verdict."""


async def word_command(session: Session, run: str, item: str, by: str, reason: str, *, confirmed: bool) -> int:
    """`check confirm` and `check overturn`."""
    document = await give_word(session, run, item, by, reason, confirmed=confirmed)
    return session.report(document, *lines_of(document))


def lines_of(document: Mapping[str, Any]) -> list[str]:
    """What came of a word, for people."""
    counted, learned = document["counted"], document["learned"]
    named = f"counted for {', '.join(counted)}" if counted else "its build named no insight that this counts for"
    lines = [f"{document['item_id']} {document['status']} {document['word']} by {document['by']}: {named}"]
    return [*lines, f"learned: {learned}; see: transom playbook show {learned}"] if learned else lines


async def give_word(
    session: Session, run: str, item: str, by: str, reason: str = "", *, confirmed: bool
) -> dict[str, Any]:
    """Keep a word, and count it for the insights that the checker's build named; the same word counts once.

    Returns:
        The document of `transom check confirm`: what was counted and what was learned beside the word itself.

    Raises:
        InputError: there is no such run, or no verdict on that item in it.
    """
    said = "confirmed" if confirmed else "overturned"
    async with found_run(session, run) as (store, found):
        folder = session.workspace.run_folder(found.row.name, found.row.id)
        verdict, sha = _verdict(folder, found, item)
        build = _build_of(store, folder, found)
        stage = f"{said} {sha[:12]}"
        kept = {"item_id": verdict.item_id, "status": verdict.status, "word": said, "by": by}
        await store.put(WORDS, f"{found.row.id}/{stage}", {**kept, "reason": reason})
    outcome = Outcome(confirmed, found.row.id, stage, source=Source(by=by))
    why = f'{verdict.status} was wrong for "{_subject(build, verdict.item_id)}": {" ".join(reason.split())}'
    with opened(session, LEARNED, making=True) as playbook:
        counted, learned = judged(playbook, build, outcome, "" if confirmed or not reason else why)
    return {"schema": "transom.word/1", "run_id": found.row.id, **kept, "counted": counted, "learned": learned}


def _verdict(folder: Path, found: RunView, item: str) -> tuple[Verdict, str]:
    path = folder / "run" / "verdict" / VERDICT_FILE
    if not path.is_file():
        raise InputError("there is no verdict in this run", where=found.row.id, hint="see: transom runs list")
    data = path.read_bytes()
    verdict = Verdict.model_validate_json(data)
    if verdict.item_id != item:
        raise InputError(f"the verdict is on {verdict.item_id}, not on {item}", where=found.row.id, hint="name that")
    return verdict, digest(data)


def _build_of(store: SqliteStore, folder: Path, found: RunView) -> Path:
    """The folder of the run that built the checker; of a verdict on its own that is another one."""
    checker = found.row.inputs.get("checker")
    if not checker:
        return folder
    atoms = Path(str(checker)) / ATOMS_FILE
    made = source_of(store, atoms) or atoms
    return made.parents[2]  # RUN/build/checker/atoms.py


def _subject(build: Path, otherwise: str) -> str:
    """What the checker is to check, in the words of its item."""
    made = sorted(build.glob(f"build/checker*/{CHECKER_FILE}"))
    document: Any = load_yaml(made[-1]).data if made else {}
    return " ".join(str(document.get("description") or otherwise).split())
