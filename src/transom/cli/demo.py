"""`transom demo`: every product on the shipped examples with the embedded default."""

from __future__ import annotations

import os
import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import transom
from transom.cli.command import command
from transom.cli.output import print_json, print_text, style
from transom.cli.session import Session
from transom.errors import InputError

if TYPE_CHECKING:
    from transom.checklist.run import Verdict

FOLDER = "demo"
_SHOWN = "VER-02"
_PARSER_CALL = 6  # after the five rounds of the specification
_COLOURS = {"PASS": "green", "FAIL": "red", "ERROR": "red"}


def add_to(app: typer.Typer) -> None:
    """Add the command, which stands outside a group."""
    command(app, "demo", example="transom demo")(demo)


async def demo(session: Session) -> int:
    """Run the shipped checklist examples with the embedded default, and show one verdict, one window, one trace."""
    from transom.checklist.run import Verdict
    from transom.cli.checking import answer_of
    from transom.cli.told import Options

    folder = _examples(session.cwd)
    session = _apart(session)
    quiet = replace(session, verbosity=-1)
    variables = (f"CHECKLIST_ROOT={folder / 'data'}",)
    verdicts: list[Verdict] = []
    async with session.open_store() as store:
        for item in sorted(folder.glob("*.yaml")):
            started = time.monotonic()
            answer = await answer_of(quiet, store, Options(item=item, variables=variables))
            session.progress(f"{item.stem}: {answer.status} in {time.monotonic() - started:.1f} s")
            if isinstance(answer, Verdict):
                verdicts.append(answer)
    if session.format == "json":
        from transom.checklist.run import together

        print_json(together(verdicts))
    elif verdicts:
        await _show(session, verdicts)
    return 0


def _apart(session: Session) -> Session:
    """In a workspace of its own below the usual one, so that the examples claim none of a person's item ids.

    Nor do her settings decide what the examples show or where their files go.
    """
    from transom.config.model import Paths

    settings = session.settings
    told = settings.origins.get("model") == "command line"
    apart = {
        "workspace": session.workspace_root / FOLDER,
        "state_dir": settings.state_dir / FOLDER if settings.state_dir else None,
        "paths": Paths(),
        "model": settings.model if told else "rules",
    }
    return replace(session, settings=settings.model_copy(update=apart))


def _examples(cwd: Path) -> Path:
    """The examples: below the current folder, or those that ship with the package."""
    for root in (cwd, Path(transom.__file__).parent):
        if (root / "examples" / "checks").is_dir():
            return root / "examples" / "checks"
    raise InputError(
        "there is no examples/checks here", where=str(cwd), hint="install transom again, or run it in a clone"
    )


async def _show(session: Session, verdicts: list[Verdict]) -> None:
    from transom.checklist.run import text_report
    from transom.cli.trace import show
    from transom.cli.window import show_blocks

    print_text("", style("Checklist: what came out", "bold"))
    for verdict in verdicts:
        counts = f"{len(verdict.found_items)} found, {len(verdict.missing_items)} missing, {len(verdict.waived)} waived"
        status = style(f"{verdict.status:<5}", _COLOURS.get(verdict.status, "yellow"))
        print_text(f"  {status} {verdict.item_id:<14} {counts}")
    shown = next((verdict for verdict in verdicts if verdict.item_id == _SHOWN), verdicts[0])
    run_id = shown.run_id or ""
    print_text("", style(f"One verdict ({shown.item_id})", "bold"), *text_report(shown).rstrip("\n").split("\n"))
    print_text("", style("One window: what the role that writes the parser saw", "bold"))
    await show_blocks(session, run_id, _PARSER_CALL)
    print_text("", style("One trace: what happened when", "bold"))
    await show(session, run_id)
    where = f"--workspace {shlex.quote(os.path.relpath(session.workspace_root, session.cwd))}"
    print_text(
        "",
        f"every byte of it:      transom window show {run_id} --call {_PARSER_CALL} {where}",
        f"the run's files:       transom runs show {run_id} {where}",
    )
