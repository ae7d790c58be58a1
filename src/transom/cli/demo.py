"""`transom demo`: every product on the shipped examples with the embedded default."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import transom
from transom.cli.command import command
from transom.cli.output import print_json, print_text, say, style
from transom.cli.session import Session
from transom.errors import InputError, SandboxUnavailable, SettingsError, TransomError

if TYPE_CHECKING:
    from transom.checklist.run import Verdict

FOLDER = "demo"
_SHOWN = "VER-02"
_PARSER_CALL = 6  # after the five rounds of the specification
_COLOURS = {"PASS": "green", "READY": "green", "FAIL": "red", "NOT_READY": "red", "ERROR": "red"}


@dataclass(frozen=True)
class Part:
    """One product's part of the demonstration.

    Attributes:
        name: what a person types to see it alone.
        title: its heading.
        show: runs it, prints what people see, and returns its document.
    """

    name: str
    title: str
    show: Callable[[Session, Path], Awaitable[Any]]


def add_to(app: typer.Typer) -> None:
    """Add the command, which stands outside a group."""
    command(app, "demo", example="transom demo")(demo)


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
    examples = _examples(session.cwd)
    session = _apart(session)
    documents: dict[str, Any] = {"schema": "transom.demo/1"}
    failed = False
    for part in _chosen(products or []):
        if session.format != "json":
            print_text("", style(f"== {part.title}", "bold"))
        started = time.monotonic()
        try:
            documents[part.name] = await part.show(session, examples)
        except TransomError as error:
            failed = failed or not isinstance(error, (SettingsError, SandboxUnavailable))
            say(f"transom: {part.name} is not shown: {error}")
        session.progress(f"{part.name}: {time.monotonic() - started:.1f} s")
    if session.format == "json":
        print_json(documents)
    return 2 if failed else 0


def _chosen(names: list[str]) -> list[Part]:
    parts = {part.name: part for part in _PARTS}
    for name in names:
        if name not in parts:
            raise InputError(f"{name!r} is no product", where="transom demo", hint=f"one of {', '.join(parts)}")
    return [parts[name] for name in names] or [*_PARTS]


async def _checklist(session: Session, examples: Path) -> Any:
    """The shipped items; one verdict, one window and one trace are shown whole."""
    from transom.checklist.run import Verdict, together
    from transom.cli.checking import answer_of
    from transom.cli.told import Options

    folder = examples / "checks"
    quiet = replace(session, verbosity=-1)
    variables = (f"CHECKLIST_ROOT={folder / 'data'}",)
    verdicts: list[Verdict] = []
    async with session.open_store() as store:
        for item in sorted(folder.glob("*.yaml")):
            answer = await answer_of(quiet, store, Options(item=item, variables=variables))
            session.progress(f"{item.stem}: {answer.status}")
            if isinstance(answer, Verdict):
                verdicts.append(answer)
    if session.format != "json" and verdicts:
        await _show(session, verdicts)
    return together(verdicts)


async def _investigator(session: Session, examples: Path) -> Any:
    """Four features, each for its next stage."""
    from transom.cli.investigate import demo as show_features

    found = await show_features(session, examples / "incoming_data")
    if session.format != "json":
        for one in found:
            head = style(f"{one.verdict:<17}", _COLOURS.get(one.verdict, "yellow"))
            print_text(f"  {head} {one.feature_name}, {one.current_stage} -> {one.target_stage} ({one.stage_fit})")
            unmet = [row.name for row in one.criteria if row.required and row.status not in ("pass", "waived")]
            print_text(*(f"      not met: {name}" for name in unmet[:3]))
        print_text('  one of them in full:  transom investigate "QUESTION" --data examples/incoming_data')
    return found


async def _stories(session: Session, examples: Path) -> Any:
    """An epic with recorded replies: one story is merged, one is blocked, one fails its tests at first."""
    from transom.cli.story import demo as show_epic
    from transom.cli.story import lines_of

    result = await show_epic(session, examples / "stories")
    if session.format != "json":
        print_text(*lines_of(result))
    return result


async def _studies(session: Session, examples: Path) -> Any:
    """A study of a bracket, by the real solver where it is installed."""
    from transom.cli.study import demo_study

    if find_spec("optuna") is None:
        raise SettingsError("the extra `studies` is not installed", hint="pip install '.[studies]', or: make demo")
    return await demo_study(session, examples)


async def _learning(session: Session, examples: Path) -> Any:
    """Two builds: what the first one got wrong, the second one is shown and names."""
    from transom.cli.demo_learning import show_learning

    return await show_learning(session, examples / "learning")


_PARTS = (
    Part("checklist", "Checklist: from one line to a verdict on real logs", _checklist),
    Part("investigator", "Investigator: is this feature ready for its next stage?", _investigator),
    Part("stories", "Stories: an epic with evidence instead of claims", _stories),
    Part("studies", "Studies: an optimisation that learns from failed solves", _studies),
    Part("learning", "Learning: what one build got wrong, the next one knows", _learning),
)


def _apart(session: Session) -> Session:
    """In a workspace of its own below the usual one, so that the examples claim none of a person's item ids.

    Nor do a person's settings decide what the examples show or where their files go.
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
            return root / "examples"
    raise InputError("there are no examples here", where=str(cwd), hint="install transom again, or run it in a clone")


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
