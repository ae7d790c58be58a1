"""`transom demo`: shows every product on the shipped examples, without a model."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import transom
from transom.checklist.building.flow import BuiltChecker
from transom.checklist.item import load_item
from transom.checklist.judging import Verdict, load_checker, text_report, together
from transom.checklist.manner import Places
from transom.checklist.pipeline import checker_of
from transom.checklist.verdicts import verdict_of
from transom.cli import investigate, story, study
from transom.cli.app import root
from transom.cli.check.learned import LEARNED
from transom.cli.check.options import CheckArguments, manner_of
from transom.cli.check.review import decide
from transom.cli.check.steps import answer_of
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.knowledge import opened
from transom.cli.output import print_json, say, style, style_status
from transom.config.runtime_sections import Paths
from transom.errors import InputError, RunError, SandboxUnavailable, TransomError
from transom.formats.yaml_models import nearest_key
from transom.learning import Insight
from transom.learning.verdict_decisions import GivenDecision
from transom.llm import Chain, Request, ScriptedProvider
from transom.sandbox import Level, needs

_SHOWN = "VER-02"
_WIDTH = 100
_ALIASES = {
    "check": "checklist",
    "investigate": "investigator",
    "story": "stories",
    "study": "studies",
    "playbook": "learning",
}
"""The product of each command, so that either name can be typed."""

Products = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PRODUCT",
        help="Products to show: checklist, investigator, stories, studies, learning [all].",
    ),
]


@command(root, "demo", example="transom demo")
async def demo(session: Session, products: Products = None) -> int:
    """Show every product on the shipped examples, without a model.

    Exit 2: a product cannot be shown on this machine.
    """
    names = list(dict.fromkeys(map(product_named, products or _PARTS)))
    examples = _examples(session.cwd)
    session = _apart(session)
    documents: dict[str, Any] = {"schema": "transom.demo/1"}
    failed = False
    session.tell("The demo needs no model and no network. It takes about a minute, and keeps its")
    session.tell(f"runs in {session.workspace_root}; the folder may be deleted.")
    for name in names:
        about, show = _PARTS[name]
        session.tell("", style(f"== {name.capitalize()}: {about}", "bold"), "")
        started = time.monotonic()
        try:
            # Checked here: a product's own error would suggest an option that the demo lacks.
            if name in _LEVELS and (missing := needs(_LEVELS[name])):
                raise SandboxUnavailable(f"it needs sandbox level {_LEVELS[name].value}: {missing}")
            documents[name] = await show(session, examples)
        except TransomError as error:
            # One product that cannot be shown hides none of the others.
            failed = True
            say(f"transom: {name} is not shown: {error}")
        session.progress(f"{name}: {time.monotonic() - started:.1f} s")
    if session.format == "json":
        print_json(documents)
    option = _workspace_option(session)
    session.tell("", f"To see all these runs in a browser:  transom serve {option}")
    return 2 if failed else 0


def product_named(word: str) -> str:
    """Return the product that a word names, by its own name or its command's."""
    word = word.lower()
    if name := _ALIASES.get(word, word if word in _PARTS else ""):
        return name
    near = nearest_key(word, [*_PARTS, *_ALIASES])
    hint = f"the products are {', '.join(_PARTS)}"
    if near:
        hint = f"did you mean {near}? {hint}"
    raise InputError(f"{word!r} is not a product", place="transom demo", hint=hint)


async def _checklist(session: Session, examples: Path) -> Any:
    """Check the shipped items, and print one verdict in full."""
    folder = examples / "checks"
    variables = (f"CHECKLIST_ROOT={folder / 'data'}",)
    quiet = replace(session, verbosity=-1)
    verdicts: list[Verdict] = []
    async with session.open_store() as store:
        for item in sorted(folder.glob("*.yaml")):
            answer = await answer_of(quiet, store, CheckArguments(item=item, variables=variables))
            if session.format == "json":
                session.progress(f"{item.stem}: {answer.status}")
            if isinstance(answer, Verdict):
                verdicts.append(answer)
                description, _, _ = " ".join(load_item(item).description.split()).partition(". ")
                status = style_status(f"{answer.status:<5}")
                session.tell(f"  {status} {answer.item_id:<14} {description[:_WIDTH]}")
    for verdict in verdicts:
        if verdict.item_id == _SHOWN:
            _tell_in_full(session, verdict)
    return together(verdicts)


def _tell_in_full(session: Session, verdict: Verdict) -> None:
    """Print one verdict in full, and the commands that show how it came about."""
    run, workspace = verdict.run_id, _workspace_option(session)
    session.tell("", style(f"The verdict on {_SHOWN}, with the lines that decided", "bold"), "")
    session.tell(*text_report(verdict).rstrip("\n").split("\n"), "")
    session.tell(
        f"  what happened when:                        transom trace show {run} {workspace}"
    )
    session.tell(
        f"  the files of the run:                      transom runs show {run} {workspace}"
    )


def _workspace_option(session: Session) -> str:
    """Return the option that names the workspace."""
    return f"--workspace {shlex.quote(os.path.relpath(session.workspace_root, session.cwd))}"


async def _learning(session: Session, examples: Path) -> dict[str, Any]:
    """Show what the playbook learns from two builds and a person's decision.

    The replies of the builds are recorded.
    """
    examples = examples / "learning"
    folder = session.workspace_root / "learning"
    # Each demo learns from nothing.
    shutil.rmtree(folder, ignore_errors=True)
    settings = session.settings.model_copy(
        update={"workspace": folder, "state_dir": None, "store": None}
    )
    quiet = replace(session, settings=settings, chains=[], verbosity=-1)
    workspace = _workspace_option(quiet)
    scores: list[float] = []

    def learned_insight() -> Insight:
        with opened(quiet, LEARNED) as playbook:
            insight = next(iter(playbook.items.values()))
        scores.append(round(insight.lower_bound, 2))
        return insight

    await _build(quiet, examples, "POWER-01")
    insight = learned_insight()
    session.tell(
        "  1. POWER-01: a gate refuses the parser's first draft, and it is mended. The playbook"
        " keeps:"
    )
    session.tell(f'     {insight.id} "{insight.content}", score {scores[-1]}')
    run, status = await _build(quiet, examples, "POWER-02")
    learned_insight()
    session.tell(
        f"  2. POWER-02: the parser is shown {insight.id} and names it; its first draft passes."
    )
    session.tell(f"     It counts for {insight.id}, score {scores[-1]}.")
    decision = await decide(quiet, run, GivenDecision(True, "Ann Lee", item_id="POWER-02"))
    learned_insight()
    session.tell(f"  3. {decision.lines[0]}, score {scores[-1]}.")
    with opened(quiet, LEARNED) as playbook:
        history = [event.kind for event in playbook.events(insight.id)]
    session.tell(
        "", f"  its whole history:             transom playbook show {insight.id} {workspace}"
    )
    session.tell(f"  what the parser was shown:     transom window show {run} --call 1 {workspace}")
    return {
        "insight": insight.id,
        "content": insight.content,
        "standing": scores,
        "history": history,
        "verdict": status,
    }


async def _build(session: Session, examples: Path, item_id: str) -> tuple[str, str]:
    """Build a checker and run it; returns the id of the run, and the verdict's status."""
    item = load_item(examples / f"{item_id}.yaml")
    options = CheckArguments()
    spec = (examples / "ItemSpec.md").read_text("utf-8")
    spec = spec.replace("{item}", item_id).replace("{description}", item.description)
    replies = examples / "replies"

    def answer(request: Request) -> str:
        """Return the reply that is recorded for the role.

        A role that is shown an insight may have another one.
        """
        informed = replies / f"{request.role}.informed.md"
        if request.window.text("playbook") and informed.is_file():
            return informed.read_text("utf-8")
        return (replies / f"{request.role}.md").read_text("utf-8")

    # Recorded replies spend no tokens.
    chain = Chain((ScriptedProvider(answer, name="recorded", estimates_usage=False),))
    async with (
        session.open_store() as store,
        session.open_run("check", {"item": item_id}, name=item_id, store=store, chain=chain) as run,
    ):
        with opened(session, LEARNED, "make") as playbook:
            manner = manner_of(session, options, playbook=playbook)
            built = await checker_of(run, spec, item, Places(), manner, folder=None)
        if not (isinstance(built, BuiltChecker) and built.done):
            raise RunError(
                "the build came to no checker",
                place=run.id,
                hint=f"see: transom runs show {run.id}",
            )
        verdict = await verdict_of(run, load_checker(built.folder), item, Places(), manner)
        await run.finish(verdict.status)
    return run.id, verdict.status


_PARTS: dict[str, tuple[str, Callable[[Session, Path], Awaitable[Any]]]] = {
    "checklist": (
        "from a line of a sign-off checklist to a checker, and its verdict on real logs",
        _checklist,
    ),
    "investigator": (
        "is a feature ready for its next stage? Each criterion is checked against its source",
        investigate.demo,
    ),
    "stories": (
        "git and test runs decide what is done, not an agent's word; the replies are recorded",
        story.demo,
    ),
    "studies": (
        "the lightest bracket that holds its load; designs that cannot be solved become rules",
        study.demo,
    ),
    "learning": (
        "what one build got wrong, the next build knows; the model's replies are recorded",
        _learning,
    ),
}
"""The products by name: what the demo shows, and the function that shows it and returns its
document.
"""

_LEVELS = {"checklist": Level.L1, "stories": Level.L2, "learning": Level.L1}
"""The sandbox level without which a product cannot be shown."""


def _apart(session: Session) -> Session:
    """Return a session with a workspace of its own, and with no settings of the user.

    So the examples claim no item ids in the user's workspace.
    """
    settings = session.settings
    is_model_named = settings.origins.get("model") == "command line"
    workspace = session.workspace_root / "demo"
    changes = {
        "workspace": workspace,
        "state_dir": settings.state_dir / "demo" if settings.state_dir else None,
        "store": None,
        "paths": Paths(),
        "model": settings.model if is_model_named else "rules",
    }
    return replace(
        session,
        settings=settings.model_copy(update=changes),
        open_runs=[],
        entry={},
        overrides={**session.overrides, "workspace": workspace},
    )


def _examples(cwd: Path) -> Path:
    """Return the examples below the current folder, or those that ship with the package."""
    for place in (cwd, Path(transom.__file__).parent):
        if (place / "examples" / "checks").is_dir():
            return place / "examples"
    raise InputError(
        "no examples found in this folder",
        place=str(cwd),
        hint="install transom again, or run it in a clone",
    )
