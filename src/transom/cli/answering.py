"""`transom answer`: what a person says to runs that wait."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.command import command, root
from transom.cli.history import RunRow, found_run, history, next_step
from transom.cli.output import gravest, print_text, say
from transom.cli.session import Session
from transom.cli.waiting import open_questions, read_sheet
from transom.errors import InputError

if TYPE_CHECKING:
    from transom.runs.questions import Choice

CHOICES = ("keep", "redo", "approve", "refuse")


@command(root, "answer", example="transom answer 20261121-0930 keep")
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
    help_ = "" if text in CHOICES else text or ""
    async with found_run(session, run) as (store, found):
        step = next_step(found)
        if found.state.handed and (help_ or edit or reset_iterations):
            taken = await _give_help(session, store, found.row, help_, edit or [], reset=reset_iterations)
            told: dict[str, Any] = {"stage": None}
            line = f"taken: {taken}; {step}"
        elif found.state.waiting and text is not None:
            async with _unwalked(session, store, found.row) as opened:
                choice = await opened.decide(text, question, reason, by=by)
                told, line = _taken(text, choice, [*opened.state.waiting.values()], step)
        elif found.state.waiting:
            raise InputError("no answer is given", where=found.row.id, hint="see: transom waiting")
        else:
            hint = f"see: transom runs show {found.row.id}"
            raise InputError("this run waits for no answer", where=found.row.id, hint=hint)
    document = {"schema": "transom.answer/1", "run_id": found.row.id, "stage": told.pop("stage"), "answer": text}
    return session.report(document | told, line)


def _taken(text: str, choice: Choice, left: list[Choice], step: str) -> tuple[dict[str, Any], str]:
    """What was answered, whole, so that nobody takes it for something else; and what is to be done next."""
    from transom.runs.questions import in_full, short

    told: dict[str, Any] = {"stage": choice["stage"]}
    if "file" not in choice:
        told["call"] = {name: choice.get(name) for name in ("tool", "arguments", "fingerprint")}
    if left:
        names = [in_full(one) if "file" in one else f"{in_full(one)} (--question {short(one)})" for one in left]
        step = f"waiting for an answer, too: {', '.join(names)}"
    return told, f"{text} {in_full(choice)}; {step}"


async def _take_sheet(session: Session, path: Path) -> int:
    """Record each answer of a sheet; one that does not fit is named, and the others are taken all the same."""
    codes = [await _answer_one(session, **one) for one in read_sheet(path)]
    if not codes:
        raise InputError("no entry has an answer", where=str(path), hint="write behind `answer:`, then try again")
    return gravest(codes)


async def _go_through(session: Session, by: str) -> int:
    """Ask for each open question on the terminal; an empty line leaves it open."""
    if not sys.stdin.isatty():
        hint = "see `transom waiting`, and name a RUN, or give --file"
        raise InputError("no run is named, and this is no terminal", where="transom answer", hint=hint)
    async with history(session) as store:
        found = open_questions(session, store) if store else []
    codes: list[int] = []
    for one in found:
        text = one.ask()
        codes += [await _answer_one(session, run, text, one.question, by) for run in one.runs if text]
    if not found:
        print_text("nothing waits for a person")
    return gravest(codes)


async def _answer_one(
    session: Session, run: str, words: str, question: str = "", by: str = "", reason: str = ""
) -> int:
    """One answer among several: what does not fit is said, and costs the others nothing."""
    try:
        return int(await answer(session, run, words, question=question or None, by=by, reason=reason))
    except InputError as error:
        say(f"transom: {error}")
        return error.exit_code


async def _give_help(session: Session, store: Any, row: RunRow, words: str, files: list[Path], *, reset: bool) -> str:
    """Hand words and files to a build that gave up; returns what was taken."""
    from transom.runs.walk import give_help, take_edit

    async with _unwalked(session, store, row) as run:
        taken = [take_edit(run, file).name for file in files]
        if words or reset:
            await give_help(run, words, reset=reset)
    return ", ".join([*taken, *(["your words"] * bool(words)), *(["more repairs"] * reset)])


def _unwalked(session: Session, store: Any, row: RunRow) -> Any:
    """The run, opened to write into its journal: no stage is walked, so nobody is asked."""
    from transom.llm import Chain, RulesProvider

    nobody = Chain((RulesProvider({}, {}, {}),))
    return session.open_run(row.kind, row.inputs, name=row.name, store=store, chain=nobody)
