"""`transom check explain|confirm|overturn`: a person looks at a verdict and decides about it."""

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
from transom.checklist.item import Item, load_item
from transom.checklist.judging import CONFIG, Verdict, text_report
from transom.checklist.judging.overturning import write_overturned
from transom.checklist.judging.verdict import VERDICT_FILE
from transom.cli.check.learned import LEARNED
from transom.cli.check.options import check_app
from transom.cli.command import PersonOption, RunArgument, command
from transom.cli.command_session import Session
from transom.cli.knowledge import PlaybookScope, opened
from transom.cli.output import toned
from transom.cli.run_lookup import found_run
from transom.errors import InputError
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml
from transom.learning import InsightCategory, InsightSource
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
    async with found_run(session, run) as (store, run_view):
        row, folder = _run_with_verdict(session, store, run_view, item)
    judged = _judged_item(folder, row, item)
    rules: list[dict[str, Any]] = []
    lines: list[str] = []
    if judged.config:
        rules = [
            rule.model_dump(mode="json", exclude_defaults=True) for rule in judged.config.items
        ]
        if judged.description:
            lines.append(f"asked: {judged.description}")
        lines += _rules(judged.config)
    report = text_report(judged.verdict, toned).rstrip("\n").split("\n")
    lines += ["", *report, "", f"run {row.id}, checker {judged.checker}"]
    document = {
        "schema": "transom.explained/1",
        "run_id": row.id,
        "asked": judged.description,
        "judged_by": rules,
        "verdict": judged.verdict.model_dump(mode="json", by_alias=True),
    }
    return session.show(document, *lines)


@command(check_app, "confirm", example='transom check confirm 20261121-0930 VER-01 --by "Ann Lee"')
async def confirm(
    session: Session, run: RunArgument, item: ItemId, person: PersonOption, reason: Reason = ""
) -> int:
    """Confirm a verdict. It counts for the insights that the checker's build named."""
    document = await decide(session, run, item, person, reason, confirmed=True)
    return session.show(document, *lines_of(document))


@command(
    check_app,
    "overturn",
    example='transom check overturn 20261121-0930 VER-01 --by "Ann Lee" --reason "echoed"',
)
async def overturn(
    session: Session, run: RunArgument, item: ItemId, person: PersonOption, reason: Reason = ""
) -> int:
    """Overturn a verdict. The item keeps that, and does not end with this verdict again before it
    is read otherwise.

    It counts against the insights that the build named; the reason becomes an insight. A wrong
    verdict of an investigation holds the next one on that feature and stage back.
    """
    document = await decide(session, run, item, person, reason, confirmed=False)
    return session.show(document, *lines_of(document))


def lines_of(document: Mapping[str, Any]) -> list[str]:
    """Return the lines that show a decision about a verdict."""
    effect = "its build named no insight that this counts for"
    if document["counted"]:
        effect = f"counted for {', '.join(document['counted'])}"
    head = f"{document['item_id']} {document['status']} {document['word']} by {document['by']}"
    lines = [f"{head}: {effect}"]
    if insight := document["learned"]:
        lines.append(f"learned: {insight}; see: transom playbook show {insight}")
    if path := document["kept_in"]:
        lines.append(
            f"{path} keeps it: the item does not end with {document['status']} again before you"
            " give it another meaning"
        )
    return lines


async def decide(
    session: Session, run: str, item: str, person: str, reason: str = "", *, confirmed: bool
) -> dict[str, Any]:
    """Count a decision for or against the insights that the checker's build named.

    The same decision counts once.

    Returns:
        The document about the decision.
    """
    decision = "confirmed" if confirmed else "overturned"
    async with found_run(session, run) as (store, run_view):
        row, folder = _run_with_verdict(session, store, run_view, item)
        read_subject = _investigated if row.kind == "investigate" else _checked
        subject = read_subject(store, folder, row, item)
    source = InsightSource(row.id, f"{decision} {subject.sha[:12]}", by=person)
    learned = ""
    with opened(session, subject.scope, "make") as playbook:
        counted = playbook.record(subject.insights, confirmed, source, followed=True)
        # A reason for a right verdict teaches nothing.
        if not confirmed and (reason or subject.tags):
            text = f'{subject.status} was wrong for "{subject.text}"'
            if reason:
                text += f": {' '.join(reason.split())}"
            insight = playbook.add_insight(
                InsightCategory.MISTAKE, text, tags=["verdict", *subject.tags], source=source
            )
            learned = insight.id
    kept_in = ""
    if not confirmed and subject.item is not None:
        is_new = write_overturned(subject.item, subject.status, person, reason)
        kept_in = str(subject.item.path) if is_new else ""
    return {
        "schema": "transom.word/1",
        "run_id": row.id,
        "item_id": item,
        "status": subject.status,
        "word": decision,
        "by": person,
        "counted": counted,
        "learned": learned,
        "kept_in": kept_in,
    }


class _Subject(NamedTuple):
    """A verdict that a person decides about.

    Attributes:
        status: the verdict.
        sha: digest of its bytes; a decision about the same bytes counts once.
        text: what was checked, in words.
        insights: ids of the insights that were named when it was made.
        scope: the playbook that has them.
        item: the item that was checked, whose file keeps that the verdict was wrong.
        tags: tags by which the next investigation finds that the verdict was wrong.
    """

    status: str
    sha: str
    text: str
    insights: Sequence[str]
    scope: PlaybookScope
    item: Item | None = None
    tags: Sequence[str] = ()


class _JudgedItem(NamedTuple):
    """A verdict on an item, with its bytes and its checker."""

    verdict: Verdict
    data: bytes
    checker: Path
    config: CheckerConfig | None

    @property
    def description(self) -> str:
        """The description in one line; "" if the checker is gone."""
        return " ".join(self.config.description.split()) if self.config else ""


def _checked(store: Store, folder: Path, row: RunRow, item: str) -> _Subject:
    """Return the verdict of a checker, with the insights that its build named."""
    judged = _judged_item(folder, row, item)
    atoms = judged.checker / ATOMS_FILE
    original = source_of(store, atoms) or atoms
    # A checker that was run alone was built in another run: RUN/build/checker/atoms.py.
    build = original.parents[2] if row.inputs.get("checker") else folder
    text = judged.description if judged.config else item
    subject = _Subject(judged.verdict.status, digest(judged.data), text, named_in(build), LEARNED)
    path = row.inputs.get("item")
    # An item that was moved since the run keeps nothing; the insight does.
    if isinstance(path, str) and Path(path).is_file():
        return subject._replace(item=load_item(Path(path)))
    return subject


def _investigated(_: Store, folder: Path, row: RunRow, item: str) -> _Subject:
    """Return an investigation's verdict, with the insights that its readers named."""
    from transom.cli.investigate import LEARNED as INVESTIGATOR
    from transom.investigator.concluding import Kept
    from transom.investigator.overturning import tags_of_overturned

    data = _bytes(folder / "answer" / "investigation.json", row)
    record = Kept.model_validate_json(data)
    result = record.investigation
    insights: list[str] = []
    for keys in record.named.values():
        insights += keys
    _require_item(result.feature_id, item, row)
    # The main thread and each reader named the insights that they used.
    text = f"{result.feature_name} for {result.target_stage}"
    tags = tags_of_overturned(result)
    return _Subject(result.verdict, digest(data), text, insights, INVESTIGATOR, tags=tags)


def _run_with_verdict(
    session: Session, store: Store, run_view: RunView, item: str
) -> tuple[RunRow, Path]:
    """Return the run that has the verdict, and its folder; for a batch, the item's own run."""
    row = run_view.row
    if row.kind == "check-batch":
        for other in all_runs(store):
            if other.name == item and other.kind != row.kind:
                row = other
                break
    return row, session.known_workspace.run_folder(row.name, row.id)


def _judged_item(folder: Path, row: RunRow, item: str) -> _JudgedItem:
    """Read the verdict on an item, and its checker.

    Raises:
        InputError: the run has no verdict, or one on another item.
    """
    data = _bytes(folder / "run" / "verdict" / VERDICT_FILE, row)
    verdict = Verdict.model_validate_json(data)
    _require_item(verdict.item_id, item, row)
    checker = folder
    # The last build of the run counts.
    for path in sorted(folder.glob(f"build/checker*/{CONFIG}")):
        checker = path.parent
    # `check run` judges with a checker of another run.
    if folder_name := row.inputs.get("checker"):
        checker = Path(str(folder_name))
    config: CheckerConfig | None = None
    if (checker / CONFIG).is_file():
        config = validate_yaml(CheckerConfig, load_yaml(checker / CONFIG))
    return _JudgedItem(verdict, data, checker, config)


def _bytes(path: Path, row: RunRow) -> bytes:
    if not path.is_file():
        raise InputError(
            "there is no verdict in this run", place=row.id, hint="see: transom runs list"
        )
    return path.read_bytes()


def _require_item(item_of_verdict: str, item: str, row: RunRow) -> None:
    if item_of_verdict != item:
        raise InputError(
            f"the verdict is on {item_of_verdict}, not on {item}", place=row.id, hint="name that"
        )


def _rules(config: CheckerConfig) -> Iterator[str]:
    """Yield one line for each item of a checker: how it is judged."""
    subjects = {"each": "each entry", "per_file": "each file", "exists": "one entry"}
    for item in config.items:
        forbids = item.mode == "forbid"
        subject = subjects[item.quantifier]
        if forbids and item.quantifier == "exists":
            subject = "an entry"
        fields = ", ".join(item.required)
        if forbids:
            rule = (
                f"is a violation if it has {fields}" if fields else "is a violation if it is there"
            )
        else:
            rule = f"must have {fields}" if fields else "must be there"
        if condition := item.condition:
            limit = "" if condition.value is None else condition.value
            rule += f", and {condition.field} {condition.op.value} {limit}".rstrip()
        if item.count:
            rule += f"; {item.count.op.value} {item.count.value} of them"
        # Of several entries in a file, only the first or the last may count.
        if item.take:
            rule += f"; of several in a file the {item.take} counts"
        yield f"  {item.id} {item.name}: {subject} with {item.select} {rule}"
