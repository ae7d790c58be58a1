"""The demonstration's part on learning: what one build got wrong, the next one is shown and names."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transom.cli.output import print_text, style
from transom.cli.session import Session
from transom.errors import RunError

if TYPE_CHECKING:
    from transom.llm import Chain, Request


async def show_learning(session: Session, examples: Path) -> dict[str, Any]:
    """Two builds with recorded replies and a person's word; prints what the playbook learned of them.

    Returns the insight's id, its standing after each step, and what happened to it.
    """
    from transom.cli.check_words import give_word, lines_of
    from transom.cli.checking import LEARNED
    from transom.cli.insights import lines_of_insight, opened
    from transom.cli.window import show_blocks

    folder = session.workspace_root / "learning"
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
        await show_blocks(session, run, 1)
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
    from transom.cli.options import manner_of
    from transom.cli.told import Options

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
