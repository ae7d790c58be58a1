"""`transom check confirm` and `overturn`: a person's word on a verdict, of a checker or an investigation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transom.canonical import digest
from transom.checklist.build.checker import ATOMS_FILE, CHECKER_FILE
from transom.checklist.build.lessons import named_in
from transom.checklist.run import Verdict
from transom.checklist.run.stage import VERDICT_FILE
from transom.cli.checking import LEARNED
from transom.cli.history import RunView, found_run
from transom.cli.insights import Scope, opened
from transom.cli.session import Session
from transom.errors import InputError
from transom.formats.yaml_files import load_yaml
from transom.learning import InsightCategory, Source
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
    named = f"counted for {', '.join(counted)}" if counted else "whoever made it named no insight that this counts for"
    lines = [f"{document['item_id']} {document['status']} {document['word']} by {document['by']}: {named}"]
    return [*lines, f"learned: {learned}; see: transom playbook show {learned}"] if learned else lines


async def give_word(
    session: Session, run: str, item: str, by: str, reason: str = "", *, confirmed: bool
) -> dict[str, Any]:
    """Keep a word, and count it for the insights that the checker's build named; the same word counts once.

    Returns the document of `transom check confirm`: what was counted and what was learned beside the word itself.
    """
    said = "confirmed" if confirmed else "overturned"
    async with found_run(session, run) as (store, found):
        folder = session.workspace.run_folder(found.row.name, found.row.id)
        verdict = (_answer if found.row.kind == "investigate" else _verdict)(store, folder, found)
        if verdict.item != item:
            what = f"the verdict is on {verdict.item}, not on {item}"
            raise InputError(what, where=found.row.id, hint="name that")
        stage = f"{said} {verdict.sha[:12]}"
        kept = {"item_id": verdict.item, "status": verdict.status, "word": said, "by": by}
        await store.put(WORDS, f"{found.row.id}/{stage}", {**kept, "reason": reason})
    source, learned = Source(found.row.id, stage, by=by), ""
    with opened(session, verdict.scope, making=True) as playbook:
        counted = playbook.record(verdict.named, confirmed, source, followed=True)
        if reason and not confirmed:
            why = f'{verdict.status} was wrong for "{verdict.subject}": {" ".join(reason.split())}'
            learned = playbook.add_insight(InsightCategory.MISTAKE, why, tags=["verdict"], source=source).id
    return {"schema": "transom.word/1", "run_id": found.row.id, **kept, "counted": counted, "learned": learned}


@dataclass(frozen=True)
class _Verdict:
    """What a word is given on.

    Attributes:
        item, status, sha: of the verdict.
        subject: what was judged, in words.
        named: ids of the insights that those who made it named.
        scope: whose insights they are.
    """

    item: str
    status: str
    sha: str
    subject: str
    named: Sequence[str]
    scope: Scope


def _verdict(store: SqliteStore, folder: Path, found: RunView) -> _Verdict:
    """A checker's; what its build named counts."""
    data = _bytes(folder / "run" / "verdict" / VERDICT_FILE, found)
    verdict, build = Verdict.model_validate_json(data), _build_of(store, folder, found)
    subject = _subject(build, verdict.item_id)
    return _Verdict(verdict.item_id, verdict.status, digest(data), subject, named_in(build), LEARNED)


def _answer(_: SqliteStore, folder: Path, found: RunView) -> _Verdict:
    """An investigation's; what its readers and its main thread named counts."""
    from transom.investigator.concluding import Kept
    from transom.investigator.lessons import DOMAIN as INVESTIGATOR

    kept = Kept.model_validate_json(data := _bytes(folder / "answer" / "investigation.json", found))
    result, named = kept.investigation, [key for keys in kept.named.values() for key in keys]
    subject = f"{result.feature_name} for {result.target_stage}"
    return _Verdict(result.feature_id, result.verdict, digest(data), subject, named, Scope(domain=INVESTIGATOR))


def _bytes(path: Path, found: RunView) -> bytes:
    if not path.is_file():
        raise InputError("there is no verdict in this run", where=found.row.id, hint="see: transom runs list")
    return path.read_bytes()


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
