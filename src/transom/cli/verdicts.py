"""`transom check explain|confirm|overturn`: why a verdict is as it is, and a person's word on
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from transom.canonical import digest
from transom.checklist.atoms import CheckerConfig
from transom.checklist.building.checker import ATOMS_FILE
from transom.checklist.building.lessons import named_in
from transom.checklist.copies import source_of
from transom.checklist.judging import CONFIG, Verdict, text_report
from transom.checklist.judging.verdict import VERDICT_FILE
from transom.cli.checking import LEARNED
from transom.cli.command import By, RunArgument, command
from transom.cli.history import found_run
from transom.cli.learn import Scope, opened
from transom.cli.options import check_app
from transom.cli.output import toned
from transom.cli.session import Session
from transom.errors import InputError
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml
from transom.learning import InsightCategory, Source
from transom.runs.history import RunView, all_runs
from transom.runs.summarising import RunRow
from transom.store import Store

ItemId = Annotated[
    str, typer.Argument(metavar="ITEM-ID", help="Item or feature that the verdict is about.")
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Reason, in one sentence.")]


@command(check_app, "explain", example="transom check explain batch VER-02")
async def explain(session: Session, run: RunArgument, item: ItemId) -> int:
    """Explain a verdict.

    It prints the description, how each part is judged, and the lines that decided.
    """
    async with found_run(session, run) as (store, found):
        row, folder = _run_of(session, store, found, item)
    verdict, _, checker, config = _checked(folder, row, item)
    judged = (
        [one.model_dump(mode="json", exclude_defaults=True) for one in config.items]
        if config
        else []
    )
    asked = " ".join(config.description.split()) if config else ""
    document = {
        "schema": "transom.explained/1",
        "run_id": row.id,
        "asked": asked,
        "judged_by": judged,
    }
    lines = [*([f"asked: {asked}"] if asked else []), *(_rules(config) if config else ())]
    lines += [
        "",
        *text_report(verdict, toned).rstrip("\n").split("\n"),
        "",
        f"run {row.id}, checker {checker}",
    ]
    return session.report(
        document | {"verdict": verdict.model_dump(mode="json", by_alias=True)}, *lines
    )


@command(check_app, "confirm", example='transom check confirm 20261121-0930 VER-01 --by "Ann Lee"')
async def confirm(
    session: Session, run: RunArgument, item: ItemId, by: By, reason: Reason = ""
) -> int:
    """Confirm a verdict. It counts for the insights that the checker's build named."""
    word = await give_word(session, run, item, by, reason, confirmed=True)
    return session.report(word, *lines_of(word))


@command(
    check_app,
    "overturn",
    example='transom check overturn 20261121-0930 VER-01 --by "Ann Lee" --reason "echoed"',
)
async def overturn(
    session: Session, run: RunArgument, item: ItemId, by: By, reason: Reason = ""
) -> int:
    """Overturn a verdict. It counts against the insights that the build named; the reason becomes
    an insight.
    """
    word = await give_word(session, run, item, by, reason, confirmed=False)
    return session.report(word, *lines_of(word))


def lines_of(document: Mapping[str, Any]) -> list[str]:
    """What came of a word, for people."""
    counted, learned = document["counted"], document["learned"]
    named = (
        f"counted for {', '.join(counted)}"
        if counted
        else "whoever made it named no insight that this counts for"
    )
    lines = [
        f"{document['item_id']} {document['status']} {document['word']} by {document['by']}:"
        f" {named}"
    ]
    return (
        [*lines, f"learned: {learned}; see: transom playbook show {learned}"] if learned else lines
    )


async def give_word(
    session: Session, run: str, item: str, by: str, reason: str = "", *, confirmed: bool
) -> dict[str, Any]:
    """Count a word for the insights that the checker's build named; the same word counts once."""
    said = "confirmed" if confirmed else "overturned"
    async with found_run(session, run) as (store, found):
        row, folder = _run_of(session, store, found, item)
        of = (_of_investigation if row.kind == "investigate" else _of_checker)(
            store, folder, row, item
        )
    source, learned = Source(row.id, f"{said} {of.sha[:12]}", by=by), ""
    with opened(session, of.scope, "make") as playbook:
        counted = playbook.record(of.named, confirmed, source, followed=True)
        if reason and not confirmed:
            why = f'{of.status} was wrong for "{of.subject}": {" ".join(reason.split())}'
            learned = playbook.add_insight(
                InsightCategory.MISTAKE, why, tags=["verdict"], source=source
            ).id
    kept = {"item_id": item, "status": of.status, "word": said, "by": by}
    return {
        "schema": "transom.word/1",
        "run_id": row.id,
        **kept,
        "counted": counted,
        "learned": learned,
    }


class _Verdict(NamedTuple):
    """What a word is given on, in words, with the insights that those who made it named, and
    whose they are.
    """

    status: str
    sha: str
    subject: str
    named: Sequence[str]
    scope: Scope


def _of_checker(store: Store, folder: Path, row: RunRow, item: str) -> _Verdict:
    """What the build of the checker named counts; of a checker that was run alone, that is
    another run.
    """
    verdict, data, checker, config = _checked(folder, row, item)
    atoms = checker / ATOMS_FILE
    made = source_of(store, atoms) or atoms
    build = made.parents[2] if row.inputs.get("checker") else folder  # RUN/build/checker/atoms.py
    subject = " ".join((config.description if config else item).split())
    return _Verdict(verdict.status, digest(data), subject, named_in(build), LEARNED)


def _of_investigation(_: Store, folder: Path, row: RunRow, item: str) -> _Verdict:
    """What its readers and its main thread named counts."""
    from transom.cli.investigate import LEARNED as INVESTIGATOR
    from transom.investigator.concluding import Kept

    kept = Kept.model_validate_json(data := _bytes(folder / "answer" / "investigation.json", row))
    result, named = kept.investigation, [key for keys in kept.named.values() for key in keys]
    _hold(result.feature_id, item, row)
    subject = f"{result.feature_name} for {result.target_stage}"
    return _Verdict(result.verdict, digest(data), subject, named, INVESTIGATOR)


def _run_of(session: Session, store: Store, found: RunView, item: str) -> tuple[RunRow, Path]:
    """The run that has the verdict, of a batch the item's own; and its folder."""
    row, batch = found.row, found.row.kind == "check-batch"
    row = next(
        (one for one in all_runs(store) if batch and one.name == item and one.kind != row.kind), row
    )
    return row, session.known_workspace.run_folder(row.name, row.id)


def _checked(
    folder: Path, row: RunRow, item: str
) -> tuple[Verdict, bytes, Path, CheckerConfig | None]:
    """The verdict on an item, and its bytes; the folder of its checker, and what that judges by."""
    verdict = Verdict.model_validate_json(
        data := _bytes(folder / "run" / "verdict" / VERDICT_FILE, row)
    )
    _hold(verdict.item_id, item, row)
    built = [folder, *(one.parent for one in sorted(folder.glob(f"build/checker*/{CONFIG}")))]
    checker = Path(str(row.inputs.get("checker") or built[-1]))
    known = (checker / CONFIG).is_file()
    return (
        verdict,
        data,
        checker,
        validate_yaml(CheckerConfig, load_yaml(checker / CONFIG)) if known else None,
    )


def _bytes(path: Path, row: RunRow) -> bytes:
    if not path.is_file():
        raise InputError(
            "there is no verdict in this run", where=row.id, hint="see: transom runs list"
        )
    return path.read_bytes()


def _hold(found: str, item: str, row: RunRow) -> None:
    if found != item:
        raise InputError(
            f"the verdict is on {found}, not on {item}", where=row.id, hint="name that"
        )


def _rules(config: CheckerConfig) -> Iterator[str]:
    """How each item is judged, a line each."""
    counts = {"each": "each entry", "per_file": "each file", "exists": "one entry"}
    for one in config.items:
        forbids, held = one.mode == "forbid", one.condition
        which = "an entry" if forbids and one.quantifier == "exists" else counts[one.quantifier]
        must = f" has {', '.join(one.required)}" if one.required else " is there"
        if held:
            limit = "" if held.value is None else held.value
            must += f", and {held.field} {held.op.value} {limit}".rstrip()
        must += f"; {one.count.op.value} {one.count.value} of them" if one.count else ""
        must += f"; of several in a file the {one.take} counts" if one.take else ""
        verb = "is a violation where it" if forbids else "must be one that"
        yield f"  {one.id} {one.name}: {which} with {one.select} {verb}{must}"
