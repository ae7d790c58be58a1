"""`transom answer`: what a person says to a run that waits for her."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.command import RunArgument
from transom.cli.history import RunRow, RunView, found_run
from transom.cli.output import print_json, print_text
from transom.cli.resuming import next_step
from transom.cli.session import Session
from transom.errors import InputError

if TYPE_CHECKING:
    from transom.runs.waiting import Choice

CHOICES = ("keep", "redo", "approve", "refuse")


@dataclass(frozen=True)
class Help:
    """What a person brings to a build that gave up: words, files, leave to try as often again as at first."""

    words: str
    files: tuple[Path, ...]
    reset: bool

    def __bool__(self) -> bool:
        return bool(self.words or self.files or self.reset)


async def answer(
    session: Session,
    run: RunArgument,
    words: Annotated[
        str | None,
        typer.Argument(
            metavar="keep|redo|approve|refuse|WORDS",
            help="keep: the file you edited counts. redo: make it again. approve, refuse: a tool call that waits."
            " WORDS: what a build that gave up should do.",
        ),
    ] = None,
    stage: Annotated[
        str | None, typer.Option("--stage", metavar="NAME", help="For which stage, where several wait.")
    ] = None,
    call: Annotated[
        str | None,
        typer.Option("--call", metavar="FINGERPRINT", help="For which tool call, where several wait; see `runs show`."),
    ] = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Told to the model, where you refuse a tool call.")
    ] = "",
    edit: Annotated[
        list[Path] | None,
        typer.Option("--edit", metavar="FILE", help="Your atoms.py or checker.yaml, for a build that gave up."),
    ] = None,
    reset_iterations: Annotated[
        bool, typer.Option("--reset-iterations", help="A build that gave up may repair as often again as at first.")
    ] = False,
) -> int:
    """Answer a run that waits: for a choice between your file and its own, or for help with a build."""
    help_ = Help("" if words in CHOICES else words or "", tuple(edit or ()), reset_iterations)
    async with found_run(session, run) as (store, found):
        row, state = found.row, found.state
        if help_ and state.handed:
            taken = await _give(session, store, row, help_)
            _say(session, found, words, taken=taken)
        elif state.waiting and words in CHOICES:
            async with _unwalked(session, store, row) as opened:
                choice = await opened.decide(str(words), stage, reason, call=call)
                left = [*opened.state.waiting.values()]
            _say(session, found, str(words), choice, left)
        elif state.waiting:
            asked = any(choice.get("kind") == "approval" for choice in state.waiting.values())
            hint = "say approve or refuse" if asked else "say keep or redo"
            raise InputError("this run waits for a choice", where=row.id, hint=hint)
        else:
            raise InputError("this run waits for no answer", where=row.id, hint=f"see: transom runs show {row.id}")
    return 0


def _say(
    session: Session,
    found: RunView,
    words: str | None,
    choice: Choice | None = None,
    left: Sequence[Choice] = (),
    *,
    taken: str = "",
) -> None:
    """What was answered, whole, so that nobody takes it for something else; and what is to be done next."""
    from transom.runs.waiting import in_full, short

    if session.format == "json":
        told: dict[str, Any] = {"stage": choice and choice["stage"], "answer": words}
        if choice and "file" not in choice:
            told["call"] = {name: choice.get(name) for name in ("tool", "arguments", "fingerprint")}
        print_json({"schema": "transom.answer/1", "run_id": found.row.id, **told})
        return
    done = f"{words} {in_full(choice)}" if choice else f"taken: {taken}"
    more = next_step(found.row.id, found.row.kind, found.state.entry)
    if left:
        names = [in_full(one) if "file" in one else f"{in_full(one)} (--call {short(one)})" for one in left]
        more = f"waiting for an answer, too: {', '.join(names)}"
    print_text(f"{done}; {more}")


async def _give(session: Session, store: Any, row: RunRow, help_: Help) -> str:
    from transom.runs.person import give_help, take_edit

    async with _unwalked(session, store, row) as run:
        taken = [take_edit(run, file).name for file in help_.files]
        if help_.words or help_.reset:
            await give_help(run, help_.words, reset=help_.reset)
    return ", ".join([*taken, *(["your words"] * bool(help_.words)), *(["more repairs"] * help_.reset)])


def _unwalked(session: Session, store: Any, row: RunRow) -> Any:
    """The run, opened to write into its journal: no stage is walked, so nobody is asked."""
    from transom.llm import Chain, RulesProvider

    nobody = Chain((RulesProvider({}, {}, {}),))
    return session.open_run(row.kind, row.inputs, name=row.name, store=store, chain=nobody)
