"""`transom answer`: what a person says to runs that wait."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.history import RunRow, RunView, found_run, history
from transom.cli.output import gravest, print_json, print_text, say, style
from transom.cli.resuming import next_step
from transom.cli.session import Session
from transom.errors import InputError

if TYPE_CHECKING:
    from transom.runs.questions import Choice

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
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="A run's id or name; default: all that wait."),
    ] = None,
    words: Annotated[
        str | None,
        typer.Argument(
            metavar="keep|redo|approve|refuse|WORDS",
            help="keep: the file you edited counts. redo: make it again. approve, refuse: a tool call that waits."
            " WORDS: what a question asks, or what a build that gave up should do.",
        ),
    ] = None,
    question: Annotated[
        str | None, typer.Option("--question", metavar="ID", help="Which one, where several wait; see `waiting`.")
    ] = None,
    choose: Annotated[
        int | None, typer.Option("--choose", metavar="N", min=1, help="The option with this number.")
    ] = None,
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who answers; kept with the answer.")] = "",
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; a model is told it where you refuse its tool call.")
    ] = "",
    edit: Annotated[
        list[Path] | None,
        typer.Option("--edit", metavar="FILE", help="Your atoms.py or checker.yaml, for a build that gave up."),
    ] = None,
    reset_iterations: Annotated[
        bool, typer.Option("--reset-iterations", help="A build that gave up may repair as often again as at first.")
    ] = False,
    sheet: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="A sheet of `waiting -o FILE`, filled in.")
    ] = None,
) -> int:
    """Answer what waits for a person.

    That is a question, a choice between your file and its own, a tool call, or a build. See `transom waiting`.
    """
    if run is None:
        return await (_take_sheet(session, sheet) if sheet else _go_through(session, by))
    if sheet:
        raise InputError("a sheet names its runs", where="--file", hint="leave RUN out")
    text = words if choose is None else str(choose)
    help_ = Help("" if text in CHOICES else text or "", tuple(edit or ()), reset_iterations)
    async with found_run(session, run) as (store, found):
        if help_ and found.state.handed:
            _say(session, found, text, taken=await _give(session, store, found.row, help_))
        elif found.state.waiting and text is not None:
            choice, left = await _decide(session, store, found, text, question, by, reason)
            _say(session, found, text, choice, left)
        elif found.state.waiting:
            raise InputError("no answer is given", where=found.row.id, hint="see: transom waiting")
        else:
            hint = f"see: transom runs show {found.row.id}"
            raise InputError("this run waits for no answer", where=found.row.id, hint=hint)
    return 0


async def _decide(
    session: Session, store: Any, found: RunView, text: str, question: str | None, by: str, reason: str
) -> tuple[Choice, list[Choice]]:
    """Record the answer; returns what it was to, and what still waits."""
    async with _unwalked(session, store, found.row) as opened:
        choice = await opened.decide(text, question, reason, by=by)
        return choice, [*opened.state.waiting.values()]


async def _take_sheet(session: Session, path: Path) -> int:
    """Record each answer of a sheet; one that does not fit is named, and the others are taken all the same."""
    from transom.cli.waiting import read_sheet

    codes = [await _answer_one(session, *astuple(one)) for one in read_sheet(path)]
    if not codes:
        raise InputError("no entry has an answer", where=str(path), hint="write behind `answer:`, then try again")
    return gravest(codes)


async def _go_through(session: Session, by: str) -> int:
    """Ask for each open question on the terminal; an empty line leaves it open."""
    from transom.cli.waiting import open_questions

    if not sys.stdin.isatty():
        hint = "see `transom waiting`, and name a RUN, or give --file"
        raise InputError("no run is named, and this is no terminal", where="transom answer", hint=hint)
    async with history(session) as store:
        found = open_questions(session, store) if store else []
    codes: list[int] = []
    for one in found:
        print_text("", style(one.asks, "bold"), *(f"  {n}: {option}" for n, option in enumerate(one.options, 1)))
        text = input("answer (empty: later): ").strip()
        if text.isdecimal() and 1 <= int(text) <= len(one.options):
            text = one.options[int(text) - 1]
        codes += [await _answer_one(session, run, one.question, text, by, "") for run in one.runs if text]
    if not found:
        print_text("nothing waits for a person")
    return gravest(codes)


async def _answer_one(session: Session, run: str, question: str, text: str, by: str, reason: str) -> int:
    """One answer among several: what does not fit is said, and costs the others nothing."""
    try:
        return await answer(session, run, text, question=question or None, by=by, reason=reason)
    except InputError as error:
        say(f"transom: {error}")
        return error.exit_code


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
    from transom.runs.questions import in_full, short

    if session.format == "json":
        told: dict[str, Any] = {"stage": choice and choice["stage"], "answer": words}
        if choice and "file" not in choice:
            told["call"] = {name: choice.get(name) for name in ("tool", "arguments", "fingerprint")}
        print_json({"schema": "transom.answer/1", "run_id": found.row.id, **told})
        return
    done = f"{words} {in_full(choice)}" if choice else f"taken: {taken}"
    more = next_step(found.row.id, found.row.kind, found.state.entry)
    if left:
        names = [in_full(one) if "file" in one else f"{in_full(one)} (--question {short(one)})" for one in left]
        more = f"waiting for an answer, too: {', '.join(names)}"
    print_text(f"{done}; {more}")


async def _give(session: Session, store: Any, row: RunRow, help_: Help) -> str:
    from transom.runs.walk import give_help, take_edit

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
