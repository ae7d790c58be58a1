"""`transom demo`: every product on the shipped examples with the embedded default."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import transom
from transom.cli import investigate, story, study
from transom.cli.command import command, root
from transom.cli.output import print_json, print_text, say, style, style_status
from transom.cli.session import Session
from transom.errors import InputError, SandboxUnavailable, SettingsError, TransomError

if TYPE_CHECKING:
    from transom.checklist.run import Verdict

_SHOWN = "VER-02"
_PARSER_CALL = 6  # after the five rounds of the specification


@command(root, "demo", example="transom demo")
async def demo(
    session: Session,
    products: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PRODUCT]...", help="checklist, investigator, stories, studies or learning; default: all."
        ),
    ] = None,
) -> int:
    """Show every product on the shipped examples, without a model."""
    for name in products or ():
        if name not in _PARTS:
            raise InputError(f"{name!r} is no product", where="transom demo", hint=f"one of {', '.join(_PARTS)}")
    examples = _examples(session.cwd)
    session = _apart(session)
    documents: dict[str, Any] = {"schema": "transom.demo/1"}
    failed = False
    for name in products or _PARTS:
        title, show = _PARTS[name]
        if session.format != "json":
            print_text("", style(f"== {title}", "bold"))
        started = time.monotonic()
        try:
            documents[name] = await show(session, examples)
        except TransomError as error:
            failed = failed or not isinstance(error, (SettingsError, SandboxUnavailable))
            say(f"transom: {name} is not shown: {error}")
        session.progress(f"{name}: {time.monotonic() - started:.1f} s")
    if session.format == "json":
        print_json(documents)
    return 2 if failed else 0


async def _checklist(session: Session, examples: Path) -> Any:
    """The shipped items; one verdict, one window and one trace are shown whole."""
    from transom.checklist.run import Verdict, together
    from transom.cli.checking import answer_of
    from transom.cli.told import Options

    folder = examples / "checks"
    variables = (f"CHECKLIST_ROOT={folder / 'data'}",)
    verdicts: list[Verdict] = []
    async with session.open_store() as store:
        for item in sorted(folder.glob("*.yaml")):
            answer = await answer_of(replace(session, verbosity=-1), store, Options(item=item, variables=variables))
            session.progress(f"{item.stem}: {answer.status}")
            if isinstance(answer, Verdict):
                verdicts.append(answer)
    if session.format != "json" and verdicts:
        await _show(session, verdicts)
    return together(verdicts)


async def _show(session: Session, verdicts: list[Verdict]) -> None:
    from transom.checklist.run import text_report
    from transom.cli.trace import show
    from transom.cli.window import show_blocks

    print_text("", style("Checklist: what came out", "bold"))
    for verdict in verdicts:
        counts = f"{len(verdict.found_items)} found, {len(verdict.missing_items)} missing, {len(verdict.waived)} waived"
        print_text(f"  {style_status(f'{verdict.status:<5}')} {verdict.item_id:<14} {counts}")
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


async def _learning(session: Session, examples: Path) -> Any:
    from transom.cli.demo_learning import show_learning

    return await show_learning(session, examples / "learning")


_PARTS: dict[str, tuple[str, Callable[[Session, Path], Awaitable[Any]]]] = {
    "checklist": ("Checklist: from one line to a verdict on real logs", _checklist),
    "investigator": ("Investigator: is this feature ready for its next stage?", investigate.demo),
    "stories": ("Stories: an epic with evidence instead of claims", story.demo),
    "studies": ("Studies: an optimisation that learns from failed solves", study.demo),
    "learning": ("Learning: what one build got wrong, the next one knows", _learning),
}
"""By the name that a person types: its heading, and what runs it, prints it and returns its document."""


def _apart(session: Session) -> Session:
    """In a workspace of its own below the usual one, so that the examples claim none of a person's item ids.

    Nor do a person's settings decide what the examples show or where their files go. Its runs are not resumed by
    themselves: the demonstration is.
    """
    from transom.config.model import Paths

    settings = session.settings
    told = settings.origins.get("model") == "command line"
    apart = {
        "workspace": session.workspace_root / "demo",
        "state_dir": settings.state_dir / "demo" if settings.state_dir else None,
        "paths": Paths(),
        "model": settings.model if told else "rules",
    }
    return replace(session, settings=settings.model_copy(update=apart), open_runs=[], entry={})


def _examples(cwd: Path) -> Path:
    """The examples: below the current folder, or those that ship with the package."""
    for place in (cwd, Path(transom.__file__).parent):
        if (place / "examples" / "checks").is_dir():
            return place / "examples"
    raise InputError("there are no examples here", where=str(cwd), hint="install transom again, or run it in a clone")
