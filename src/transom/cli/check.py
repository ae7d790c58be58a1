"""`transom check`: from a description to a verdict, step by step or in one go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from transom.cli.command import Among, RunArgument, command, group
from transom.cli.session import Session
from transom.cli.told import NamedLines, Options

check_app = group("check", "From a one-line description to a verdict on real files.")

_WHERE = ("variables", "root", "out")
_JUDGING = ("as_of", "strict", "fail_on_unused")
_RETURNING = ("resume", "checkpoint", "reset_iterations")


@command(check_app, "spec", example="transom check spec examples/checks/VER-01.yaml -o specs", asks=True)
async def spec(
    session: Session,
    item: Annotated[Path, typer.Argument(metavar="ITEM.yaml", help="The checklist item.")],
    options: Annotated[Options, Among("out", "debug", "strict")],
) -> int:
    """Write an item's ItemSpec: what to extract, check and waive.

    With -o: ID_ItemSpec.md.
    """
    from transom.cli.checking import spec_command

    return await spec_command(session, replace(options, item=item))


@command(
    check_app,
    "build",
    example="transom check build specs/VER-01_ItemSpec.md --item examples/checks/VER-01.yaml "
    "--var CHECKLIST_ROOT=examples/checks/data",
    asks=True,
)
async def build(
    session: Session,
    itemspec: Annotated[Path, typer.Argument(metavar="ITEMSPEC.md", help="The ItemSpec.")],
    options: Annotated[Options, Among("item", *_WHERE, "allow_needs_review", "tests", *_RETURNING, "unsafe")],
) -> int:
    """Build a checker from an ItemSpec, held to its gates.

    With -o: ID_checker/.
    """
    from transom.cli.checking import build_command

    return await build_command(session, itemspec, options)


@command(
    check_app, "run", example="transom check run checkers/VER-01_checker --var CHECKLIST_ROOT=examples/checks/data"
)
async def run(
    session: Session,
    targets: Annotated[list[Path], typer.Argument(metavar="CHECKER|ITEM.yaml...", help="Checkers, or their items.")],
    options: Annotated[Options, Among("variables", "out", *_JUDGING, "approved_only", "reports", "baseline", "unsafe")],
) -> int:
    """Run checkers on the files of today.

    With -o: verdict.json, or ID_verdict.json each where several are named.
    """
    from transom.cli.checking import run_command

    return await run_command(session, targets, options)


@command(
    check_app,
    "all",
    example="transom check all examples/checks/VER-01.yaml --var CHECKLIST_ROOT=examples/checks/data",
    asks=True,
)
async def all_(
    session: Session,
    items: Annotated[list[Path], typer.Argument(metavar="ITEM.yaml...", help="The checklist items.")],
    options: Annotated[Options, Among(*_WHERE, *_JUDGING, "reports", "baseline", "unsafe")],
) -> int:
    """Spec, build and run in one go. A checker that is not stale is used again.

    With -o: verdict.json, or ID_verdict.json each where several are named; ID_ItemSpec.md and ID_checker/.
    """
    from transom.cli.checking import all_command

    return await all_command(session, items, options)


@command(
    check_app,
    "batch",
    example="transom check batch examples/checks -j 8 --var CHECKLIST_ROOT=examples/checks/data --report html:all.html",
    asks=True,
)
async def batch(
    session: Session,
    targets: Annotated[list[str], typer.Argument(metavar="FOLDER|GLOB|ITEM.yaml...", help="Items, or checkers.")],
    options: Annotated[Options, Among("jobs", *_WHERE, *_JUDGING, "approved_only", "reports", "baseline", "unsafe")],
) -> int:
    """Check many items, several at once.

    Given again after a kill it goes on. With -o: ID_verdict.json, ID_ItemSpec.md and ID_checker/ each.
    """
    from transom.cli.batch import batch_command

    return await batch_command(session, targets, options)


@command(check_app, "lint", example="transom check lint examples/checks/VER-01.yaml")
async def lint(
    session: Session,
    targets: Annotated[
        list[Path], typer.Argument(metavar="ITEM.yaml|ITEMSPEC.md|CHECKER...", help="What to look over.")
    ],
    options: Annotated[Options, Among("variables")],
) -> int:
    """Say what is wrong with items, ItemSpecs or checkers.

    Checkers meet their gates again on the files of today.
    """
    from transom.cli.linting import lint_command

    return await lint_command(session, targets, options.variables)


@command(check_app, "approve", example='transom check approve checkers/VER-01_checker --by "Ann Lee"')
async def approve(
    session: Session,
    checker: Annotated[Path, typer.Argument(metavar="CHECKER", help="The checker's folder.")],
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who approves it.")],
) -> int:
    """Record that a person approves a checker as it is.

    A later change of its atoms, YAML or ItemSpec voids the approval.
    """
    from transom.cli.linting import approve_command

    return approve_command(session, checker, by)


Item = Annotated[
    str, typer.Argument(metavar="ITEM-ID", help="The item that the verdict is on; of an investigation the feature.")
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="In a sentence, why.")]
Name = Annotated[str, typer.Option("--by", metavar="NAME", help="Who says so.")]


@command(check_app, "confirm", example='transom check confirm 20261121-0930 VER-01 --by "Ann Lee"')
async def confirm(session: Session, run: RunArgument, item: Item, by: Name, reason: Reason = "") -> int:
    """Say that a verdict is right. It counts for the insights that the checker's build named."""
    from transom.cli.check_words import word_command

    return await word_command(session, run, item, by, reason, confirmed=True)


@command(check_app, "overturn", example='transom check overturn 20261121-0930 VER-01 --by "Ann Lee" --reason "echoed"')
async def overturn(session: Session, run: RunArgument, item: Item, by: Name, reason: Reason = "") -> int:
    """Say that a verdict is wrong. It counts against those insights; the reason becomes an insight of its own."""
    from transom.cli.check_words import word_command

    return await word_command(session, run, item, by, reason, confirmed=False)


@command(check_app, "explain", example="transom check explain batch VER-02")
async def explain(session: Session, run: RunArgument, item: Item) -> int:
    """Say why a verdict is as it is.

    That is what was asked, how each part is judged, and the lines that decided.
    """
    from transom.cli.everyday import explain_command

    return await explain_command(session, run, item)


@command(check_app, "import", example="transom check import signoff.csv -o items")
async def import_(
    session: Session,
    sheet: Annotated[Path, typer.Argument(metavar="SHEET.csv", help="A line for each item; the first names columns.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where the item files go.")] = Path("items"),
) -> int:
    """Write item files from the lines of a spreadsheet.

    Columns: description, item_id, input_files, pattern_items, waive_items, waive_reasons, owner, expires.
    """
    from transom.cli.everyday import import_command

    return import_command(session, sheet, out)


@command(check_app, "teach", example="transom check teach ESD.yaml --good esd.log:118 --bad esd.log:121")
async def teach(
    session: Session,
    item: Annotated[Path, typer.Argument(metavar="ITEM.yaml", help="The item whose log no domain knows.")],
    options: Annotated[Options, Among("variables")],
    lines: NamedLines,
) -> int:
    """Teach a log by lines of it that are good or bad.

    Writes a domain from them, shows what it would match in the whole log, and gives the verdict. On a terminal it asks
    for what is missing.
    """
    from transom.cli.teaching import teach_command

    return await teach_command(session, item, lines, options)


waiver_app = group("waiver", "The waivers of items.")
check_app.add_typer(waiver_app)


@command(waiver_app, "lint", example="transom check waiver lint examples/checks")
async def lint_waivers(
    session: Session,
    targets: Annotated[list[str], typer.Argument(metavar="FOLDER|GLOB|ITEM.yaml...", help="Items.")],
    options: Annotated[Options, Among("as_of")],
) -> int:
    """Name the waivers that should not be relied upon.

    That is those without reason, owner or last day, those that have expired, and those that fit everything.
    """
    from transom.cli.everyday import waiver_lint_command

    return waiver_lint_command(session, targets, options.day)


knowledge_app = group("knowledge", "What the embedded default understands, and domains of your own.")
check_app.add_typer(knowledge_app)
Files = Annotated[list[Path], typer.Argument(metavar="FILE.yaml...", help="Files of domains.")]


@command(knowledge_app, "list", example="transom check knowledge list")
async def list_knowledge(session: Session) -> int:
    """List the domains: what each answers, and its items."""
    from transom.cli.knowledge import list_command

    return list_command(session)


@command(knowledge_app, "show", example="transom check knowledge show timing")
async def show_knowledge(
    session: Session, domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="Its name, as `list` has it.")]
) -> int:
    """Show what a domain can be asked, its items, and what it reads."""
    from transom.cli.knowledge import show_command

    return show_command(session, domain)


@command(knowledge_app, "lint", example="transom check knowledge lint site/erc.yaml")
async def lint_knowledge(session: Session, files: Files) -> int:
    """Look a domain's file over: keys, word lists, regexes, names."""
    from transom.cli.knowledge import lint_command

    return lint_command(session, files)


@command(knowledge_app, "test", example="transom check knowledge test physical_verification")
async def test_knowledge(
    session: Session,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="DOMAIN|FILE.yaml...", help="Domains; all without one.")
    ] = None,
) -> int:
    """Try the examples in a domain's file, which are its tests."""
    from transom.cli.knowledge import trial_command

    return trial_command(session, names or [])
