"""`transom demo`: every product on the shipped examples with the embedded default."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import transom
from transom.cli import investigate, story, study, trace, window
from transom.cli.command import command
from transom.cli.output import print_json, print_text, say, style, style_status
from transom.cli.session import Session
from transom.cli.tree import root
from transom.errors import InputError, RunError, SandboxUnavailable, SettingsError, TransomError

if TYPE_CHECKING:
    from transom.checklist.run import Verdict
    from transom.llm import Chain, Request

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
    from transom.cli.options import Options

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

    print_text("", style("Checklist: what came out", "bold"))
    for verdict in verdicts:
        counts = f"{len(verdict.found_items)} found, {len(verdict.missing_items)} missing, {len(verdict.waived)} waived"
        print_text(f"  {style_status(f'{verdict.status:<5}')} {verdict.item_id:<14} {counts}")
    shown = next((verdict for verdict in verdicts if verdict.item_id == _SHOWN), verdicts[0])
    run_id = shown.run_id or ""
    print_text("", style(f"One verdict ({shown.item_id})", "bold"), *text_report(shown).rstrip("\n").split("\n"))
    print_text("", style("One window: what the role that writes the parser saw", "bold"))
    await window.show_blocks(session, run_id, _PARSER_CALL)
    print_text("", style("One trace: what happened when", "bold"))
    await trace.show(session, run_id)
    where = f"--workspace {shlex.quote(os.path.relpath(session.workspace_root, session.cwd))}"
    print_text(
        "",
        f"every byte of it:      transom window show {run_id} --call {_PARSER_CALL} {where}",
        f"the run's files:       transom runs show {run_id} {where}",
    )


async def _learning(session: Session, examples: Path) -> dict[str, Any]:
    """Two builds with recorded replies and a person's word; prints what the playbook learned of them.

    Returns the insight's id, its standing after each step, and what happened to it.
    """
    from transom.cli.check_words import give_word, lines_of
    from transom.cli.checking import LEARNED
    from transom.cli.insights import lines_of_insight, opened

    folder, examples = session.workspace_root / "learning", examples / "learning"
    shutil.rmtree(folder, ignore_errors=True)
    settings = session.settings.model_copy(update={"workspace": folder, "state_dir": None})
    session = replace(session, settings=settings, chains=[])
    lines = print_text if session.format != "json" else (lambda *_: None)
    standings: list[float] = []

    def note() -> str:
        with opened(session, LEARNED) as playbook:
            one = next(iter(playbook.items.values()))
        standings.append(round(one.lower_bound, 2))
        return f"    {one.id} stands at {standings[-1]}"

    await _build(session, examples, "POWER-01")
    lines("  POWER-01: the parser's first draft fails a gate and is mended. That is learned:", note())
    run, passed = await _build(session, examples, "POWER-02")
    lines("", f"  POWER-02: the parser is shown it and names it; its first draft passes. Run {run}:")
    if session.format != "json":
        await window.show_blocks(session, run, 1)
    lines(note())
    word = await give_word(session, run, "POWER-02", "Ann Lee", confirmed=True)
    lines("", *(f"  {line}" for line in lines_of(word)), note())
    with opened(session, LEARNED) as playbook:
        one = next(iter(playbook.items.values()))
        events = playbook.events(one.id)
    here = f"--workspace {os.path.relpath(folder, session.cwd)}"
    lines("", style(f"transom playbook show {one.id} {here}", "bold"), *lines_of_insight(one, events))
    history = [event.kind for event in events]
    return {"insight": one.id, "content": one.content, "standing": standings, "history": history, "verdict": passed}


async def _build(session: Session, examples: Path, item_id: str) -> tuple[str, str]:
    """Build a checker and run it; the id of the run, and the verdict's status."""
    from transom.checklist.build.flow import BuiltChecker
    from transom.checklist.item import load_item
    from transom.checklist.pipeline import Places, checker_of, open_checker, verdict_of
    from transom.cli.checking import LEARNED
    from transom.cli.insights import opened
    from transom.cli.options import Options, manner_of

    item, options = load_item(examples / f"{item_id}.yaml"), Options()
    spec = (examples / "ItemSpec.md").read_text("utf-8")
    spec = spec.replace("{item}", item_id).replace("{description}", item.description)
    async with session.open_store() as store:
        chain = _chain(examples / "replies")
        async with session.open_run("check", {"item": item_id}, name=item_id, store=store, chain=chain) as run:
            with opened(session, LEARNED, making=True) as playbook:
                manner = manner_of(session, options, playbook=playbook)
                built = await checker_of(run, spec, item, Places(), manner, folder=None)
            if not (isinstance(built, BuiltChecker) and built.done):
                raise RunError("the build came to no checker", where=run.id, hint=f"see: transom runs show {run.id}")
            verdict = await verdict_of(run, open_checker(built.folder), item, Places(), manner)
            await run.finish(verdict.status)
    return run.id, verdict.status


def _chain(replies: Path) -> Chain:
    """Answers each role with the reply that is recorded for it; there is another one for who is shown an insight."""
    from transom.llm import Chain, ScriptedProvider

    def answer(request: Request) -> str:
        informed, usual = (replies / f"{request.role}{ending}" for ending in (".informed.md", ".md"))
        shown = request.window.text("playbook") and informed.is_file()
        return (informed if shown else usual).read_text("utf-8")

    return Chain((ScriptedProvider(answer, name="recorded"),))


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
