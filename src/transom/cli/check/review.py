"""`transom check explain|confirm|overturn`: a person looks at a verdict and decides about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from transom.checklist.atoms import CheckerConfig
from transom.checklist.judging import text_report
from transom.checklist.verdict_review import decide_check, judged_item
from transom.cli.check.options import check_app
from transom.cli.command import PersonOption, RunArgument, command
from transom.cli.command_session import Session
from transom.cli.knowledge import opened
from transom.cli.output import toned
from transom.cli.run_lookup import found_run
from transom.learning.verdict_decisions import GivenDecision, VerdictDecision, require_item
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
    judged = judged_item(folder, row)
    require_item(judged.verdict.item_id, item, row.id)
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
    decision = await decide(session, run, GivenDecision(True, person, reason, item))
    return session.show(decision.to_json(), *decision.lines)


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
    decision = await decide(session, run, GivenDecision(False, person, reason, item))
    return session.show(decision.to_json(), *decision.lines)


async def decide(session: Session, run: str, given: GivenDecision) -> VerdictDecision:
    """Confirm or overturn the verdict of a run on the item or feature that a person named."""
    async with found_run(session, run) as (store, run_view):
        row, folder = _run_with_verdict(session, store, run_view, given.item_id)
        with opened(session, access="make") as playbook:
            if row.kind == "investigate":
                # A check has no need of the investigator, which takes time to import.
                from transom.investigator.verdict_review import decide_investigation

                return decide_investigation(playbook, folder, row, given)
            return decide_check(playbook, store, folder, row, given)


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
