"""`check explain`, `check import` and `check waiver lint`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from transom.checklist.atoms import CheckerConfig
from transom.checklist.results import FindingRow, LintResult
from transom.checklist.run import Verdict, text_report
from transom.checklist.run.loading import CONFIG
from transom.checklist.run.stage import VERDICT_FILE
from transom.checklist.sheet import read_sheet
from transom.checklist.waiver_lint import waiver_findings
from transom.cli.batch import found
from transom.cli.command import Among, RunArgument, command
from transom.cli.history import all_runs, found_run
from transom.cli.options import ItemId, Options, check_app
from transom.cli.output import counted, day_of, toned
from transom.cli.session import Session
from transom.cli.tree import group
from transom.errors import InputError
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml
from transom.gates import Finding
from transom.runs import write_file


@command(check_app, "explain", example="transom check explain batch VER-02")
async def explain(session: Session, run: RunArgument, item: ItemId) -> int:
    """Say why a verdict is as it is.

    That is what was asked, how each part is judged, and the lines that decided.
    """
    async with found_run(session, run) as (store, found):
        row = found.row
        if row.kind == "check-batch":  # the verdicts lie in the runs of its items, each of which has one
            row = next((one for one in all_runs(store) if one.name == item and one.kind != row.kind), row)
        folder = session.workspace.run_folder(row.name, row.id)
    path = folder / "run" / "verdict" / VERDICT_FILE
    if not path.is_file():
        raise InputError(f"there is no verdict on {item} in this run", where=row.id, hint="see: transom runs list")
    verdict = Verdict.model_validate_json(path.read_bytes())
    if verdict.item_id != item:
        raise InputError(f"the verdict is on {verdict.item_id}, not on {item}", where=row.id, hint="name that")
    built = sorted(folder.glob(f"build/checker*/{CONFIG}"))
    checker = Path(str(row.inputs["checker"])) if row.inputs.get("checker") else built[-1].parent if built else folder
    there = (checker / CONFIG).is_file()
    config = validate_yaml(CheckerConfig, load_yaml(checker / CONFIG)) if there else None
    judged = [one.model_dump(mode="json", exclude_defaults=True) for one in config.items] if config else []
    asked = config.description if config else ""
    document = {"schema": "transom.explained/1", "run_id": row.id, "asked": asked, "judged_by": judged}
    lines = [*([f"asked: {' '.join(asked.split())}"] if asked else []), *(_rules(config) if config else ())]
    lines += ["", *text_report(verdict, toned).rstrip("\n").split("\n"), "", f"run {row.id}, checker {checker}"]
    return session.report(document | {"verdict": verdict.model_dump(mode="json", by_alias=True)}, *lines)


def _rules(config: CheckerConfig) -> Iterator[str]:
    """How each item is judged, a line each."""
    counts = {"each": "each entry", "per_file": "each file", "exists": "one entry"}
    for one in config.items:
        forbids, held = one.mode == "forbid", one.condition
        which = "an entry" if forbids and one.quantifier == "exists" else counts[one.quantifier]
        must = f" has {', '.join(one.required)}" if one.required else " is there"
        if held:
            must += f", and {held.field} {held.op.value} {'' if held.value is None else held.value}".rstrip()
        must += f"; {one.count.op.value} {one.count.value} of them" if one.count else ""
        verb = "is a violation where it" if forbids else "must be one that"
        yield f"  {one.id} {one.name}: {which} with {one.select} {verb}{must}"


@command(check_app, "import", example="transom check import signoff.csv -o items")
def import_(
    session: Session,
    sheet: Annotated[Path, typer.Argument(metavar="SHEET.csv", help="A line for each item; the first names columns.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where the item files go.")] = Path("items"),
) -> int:
    """Write item files from the lines of a spreadsheet.

    Columns: description, item_id, input_files, pattern_items, waive_items, waive_reasons, owner, expires.
    """
    items = read_sheet(sheet)
    taken = [out / one.name for one in items if _other(out / one.name, one.text)]
    if taken:
        hint = "move it away, or choose another folder with -o"
        raise InputError("is there already and says something else", where=str(taken[0]), hint=hint)
    for one in items:
        write_file(out / one.name, one.text.encode())
    names = [str(out / one.name) for one in items]
    many = f"{counted(len(items), 'item')} in {out}"
    document = {"schema": "transom.imported/1", "items": names}
    return session.report(document, many, f"check them with: transom check batch {out}")


def _other(path: Path, text: str) -> bool:
    return path.exists() and (not path.is_file() or path.read_bytes() != text.encode())


waiver_app = group("waiver", "The waivers of items.", check_app)


@command(waiver_app, "lint", example="transom check waiver lint examples/checks")
def lint_waivers(
    session: Session,
    targets: Annotated[list[str], typer.Argument(metavar="FOLDER|GLOB|ITEM.yaml...", help="Items.")],
    options: Annotated[Options, Among("as_of")],
) -> int:
    """Name the waivers that should not be relied upon.

    That is those without reason, owner or last day, those that have expired, and those that fit everything.
    """
    today = day_of(options.as_of)
    rows = [row for path in found(targets) for row in waiver_findings(path, today)]
    soon = [row for row in rows if row.gate == "waiver.soon"]
    return print_findings(session, [row for row in rows if row not in soon], soon)


def print_findings(session: Session, findings: Sequence[Finding], remarks: Sequence[Finding]) -> int:
    """Print what a `lint` found; findings are exit 1, doubts alone 3."""
    result = LintResult(findings=tuple(map(FindingRow.of, findings)), remarks=tuple(map(FindingRow.of, remarks)))
    lines = [*(f"remark: {one}" for one in remarks), *map(str, findings)]
    return session.report(result, *lines, *([] if findings else ["nothing found"]), code=result.exit_code)
