"""`transom check`: from a description to a verdict, step by step or in one go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from transom.cli.command import command, group
from transom.cli.session import Session

check_app = group("check", "From a one-line description to a verdict on real files.")

ItemArgument = Annotated[Path, typer.Argument(metavar="ITEM.yaml", help="The checklist item.")]
OutOption = Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="Where files for you go.")]
_COPIES = "Where files for you go: verdict.json, or ID_verdict.json each where several are named"
RunOutOption = Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help=f"{_COPIES}.")]
AllOutOption = Annotated[
    Path | None, typer.Option("-o", "--out", metavar="DIR", help=f"{_COPIES}; ID_ItemSpec.md and ID_checker/.")
]
VarOption = Annotated[list[str] | None, typer.Option("--var", metavar="NAME=PATH", help="What ${NAME} stands for.")]
RootOption = Annotated[
    Path | None, typer.Option("--root", metavar="DIR", help="Where to look for logs beside the item's own.")
]
AsOfOption = Annotated[
    str | None, typer.Option("--as-of", metavar="DATE", help="The day by which waivers expire; today by default.")
]
StrictOption = Annotated[bool, typer.Option("--strict", help="What is read differently than written is an error.")]
UnusedOption = Annotated[
    bool, typer.Option("--fail-on-unused-waivers", help="A waiver that nothing needed fails the check.")
]
UnsafeOption = Annotated[
    bool, typer.Option("--unsafe-no-sandbox", help="Run generated code with your own rights. Marks every verdict.")
]


@command(check_app, "spec", example="transom check spec examples/checks/VER-01.yaml -o specs")
async def spec(
    session: Session,
    item: ItemArgument,
    out: OutOption = None,
    debug: Annotated[bool, typer.Option("--debug", help="Copy every round's prompt and reply too.")] = False,
    strict: StrictOption = False,
) -> int:
    """Write an item's ItemSpec: what to extract, what to check, what may be waived, how to go about it."""
    from transom.cli.checking import spec_command
    from transom.cli.options import Options

    return await spec_command(session, Options(item=item, out=out, debug=debug, strict=strict))


@command(
    check_app,
    "build",
    example="transom check build specs/VER-01_ItemSpec.md --item examples/checks/VER-01.yaml "
    "--var CHECKLIST_ROOT=examples/checks/data",
)
async def build(
    session: Session,
    itemspec: Annotated[Path, typer.Argument(metavar="ITEMSPEC.md", help="The ItemSpec.")],
    item: Annotated[Path | None, typer.Option("--item", metavar="ITEM.yaml", help="The item it belongs to.")] = None,
    var: VarOption = None,
    root: RootOption = None,
    out: OutOption = None,
    allow_needs_review: Annotated[
        bool, typer.Option("--allow-needs-review", help="Build although the ItemSpec has findings.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the build of this ItemSpec; there must be one.")
    ] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option("--checkpoint", metavar="ID", help="Go back to this checkpoint of `runs show`."),
    ] = None,
    reset_iterations: Annotated[
        bool, typer.Option("--reset-iterations", help="A build that gave up may repair as often again as at first.")
    ] = False,
    unsafe_no_sandbox: UnsafeOption = False,
) -> int:
    """Build a checker from an ItemSpec: generated atoms and checker.yaml, held to the gates on real files."""
    from transom.cli.checking import build_command
    from transom.cli.options import Options

    options = Options(
        item=item,
        variables=tuple(var or ()),
        root=root,
        out=out,
        allow_needs_review=allow_needs_review,
        resume=resume,
        checkpoint=checkpoint,
        reset_iterations=reset_iterations,
        unsafe=unsafe_no_sandbox,
    )
    return await build_command(session, itemspec, options)


@command(
    check_app, "run", example="transom check run checkers/VER-01_checker --var CHECKLIST_ROOT=examples/checks/data"
)
async def run(
    session: Session,
    targets: Annotated[list[Path], typer.Argument(metavar="CHECKER|ITEM.yaml...", help="Checkers, or their items.")],
    var: VarOption = None,
    out: RunOutOption = None,
    as_of: AsOfOption = None,
    strict: StrictOption = False,
    fail_on_unused_waivers: UnusedOption = False,
    approved_only: Annotated[
        bool, typer.Option("--approved-only", help="Refuse a checker that nobody approved as it is today.")
    ] = False,
    report: Annotated[
        list[str] | None, typer.Option("--report", metavar="FORMAT:PATH", help="Write a report: json or text.")
    ] = None,
    unsafe_no_sandbox: UnsafeOption = False,
) -> int:
    """Run checkers on the files of today."""
    from transom.cli.checking import run_command
    from transom.cli.options import Options

    options = Options(
        variables=tuple(var or ()),
        out=out,
        as_of=as_of,
        strict=strict,
        fail_on_unused=fail_on_unused_waivers,
        approved_only=approved_only,
        reports=tuple(report or ()),
        unsafe=unsafe_no_sandbox,
    )
    return await run_command(session, targets, options)


@command(
    check_app, "all", example="transom check all examples/checks/VER-01.yaml --var CHECKLIST_ROOT=examples/checks/data"
)
async def all_(
    session: Session,
    items: Annotated[list[Path], typer.Argument(metavar="ITEM.yaml...", help="The checklist items.")],
    var: VarOption = None,
    root: RootOption = None,
    out: AllOutOption = None,
    as_of: AsOfOption = None,
    strict: StrictOption = False,
    fail_on_unused_waivers: UnusedOption = False,
    unsafe_no_sandbox: UnsafeOption = False,
) -> int:
    """Spec, build and run in one go; a checker that is not stale is used again."""
    from transom.cli.checking import all_command
    from transom.cli.options import Options

    options = Options(
        variables=tuple(var or ()),
        root=root,
        out=out,
        as_of=as_of,
        strict=strict,
        fail_on_unused=fail_on_unused_waivers,
        unsafe=unsafe_no_sandbox,
    )
    return await all_command(session, items, options)


@command(check_app, "lint", example="transom check lint examples/checks/VER-01.yaml")
async def lint(
    session: Session,
    targets: Annotated[
        list[Path], typer.Argument(metavar="ITEM.yaml|ITEMSPEC.md|CHECKER...", help="What to look over.")
    ],
    var: VarOption = None,
) -> int:
    """Say what is wrong with items, ItemSpecs or checkers; these meet their gates again on the files of today."""
    from transom.cli.linting import lint_command

    return await lint_command(session, targets, tuple(var or ()))


@command(check_app, "approve", example='transom check approve checkers/VER-01_checker --by "Ann Lee"')
async def approve(
    session: Session,
    checker: Annotated[Path, typer.Argument(metavar="CHECKER", help="The checker's folder.")],
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who approves it.")],
) -> int:
    """Record that a person approves a checker as it is; a later change of atoms, YAML or ItemSpec voids it."""
    from transom.cli.linting import approve_command

    return approve_command(session, checker, by)


async def _resume(session: Session, entry: dict[str, Any]) -> int:
    """Give the command again that a run was opened by."""
    from transom.cli.checking import resume_check

    return await resume_check(session, entry)


RESUME = {"check": _resume, "check-build": _resume, "check-run": _resume}
