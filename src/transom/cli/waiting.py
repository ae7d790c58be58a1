"""`transom waiting` and `transom answer`: the open questions of all runs, and their answers."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from transom.checklist.acceptance import is_accepted
from transom.checklist.judging.audit import user_name
from transom.cli.app import root
from transom.cli.check.accepting import accept_caps, accept_unchecked
from transom.cli.command import MoreRepairs, command
from transom.cli.command_session import Session
from transom.cli.output import counted, gravest, print_text, style
from transom.cli.run_lookup import found_run, next_step, run_history
from transom.cli.terminal import ask_on_terminal
from transom.errors import InputError
from transom.formats.yaml_files import dump_yaml, load_yaml
from transom.runs import write_file
from transom.runs.answering import GivenAnswer, RecordedAnswer, give_answer
from transom.runs.history import RunView, all_runs, view
from transom.runs.open_questions import OpenQuestion, open_questions, waiting_runs
from transom.runs.questions import in_full, short_name

_HEAD = """\
# Write your words, an option or its number behind `answer:`; an entry without an answer stays open.
# Take it back with: transom answer --file {name}
"""
NewSheet = Annotated[
    Path | None,
    typer.Option(
        "-o", "--out", metavar="FILE", help="Also write the questions to an answer sheet."
    ),
]
AnyRun = Annotated[
    str | None, typer.Argument(metavar="RUN", help="Run: its id or name [all waiting runs].")
]
Sheet = Annotated[
    Path | None, typer.Option("--file", metavar="FILE", help="Answer sheet that you filled in.")
]


@command(root, "waiting", example="transom waiting -o answers.yaml")
async def waiting(session: Session, new_sheet: NewSheet = None) -> int:
    """List what waits for a person or a model, and how to go on.

    Each question is listed once: its age, one sentence, and the command that answers it. Then come
    the runs that wait without a question: items that need a model or a review, paused stories.
    """
    views = await _waiting_views(session)
    # Equal questions of several runs are one.
    questions = open_questions(views)
    runs = waiting_runs(views, is_accepted)
    lines: list[str] = []
    for question in questions:
        lines += _question_lines(question)
    for run in runs:
        lines += [
            style(f"{run.name}: {run.status}", "bold") + f"  {run.reason}",
            _since(run.since),
            f"  {run.command}",
        ]
        if (run.kind, run.status) == ("check", "NEEDS_MODEL"):
            lines.append(
                f"  leave it unchecked: transom answer {run.run_id} --until DATE --by NAME --reason"
                " TEXT"
            )
    rows = [question.to_json() for question in questions]
    if new_sheet and questions:
        # A person fills in the empty entries.
        sheet = [{**row, "answer": None, "by": None, "reason": None} for row in rows]
        write_file(new_sheet, (_HEAD.format(name=new_sheet) + dump_yaml(sheet)).encode())
        lines.append(
            f"{counted(len(questions), 'question')} written to {new_sheet}; give it back: transom"
            f" answer --file {new_sheet}"
        )
    document = {
        "schema": "transom.waiting/1",
        "questions": rows,
        "runs": [asdict(run) for run in runs],
    }
    return session.show(document, *lines or ["nothing waits for a person"])


def _question_lines(question: OpenQuestion) -> list[str]:
    """Return the lines that show a question, and how to answer it."""
    head = style(question.asks, "bold")
    if len(question.runs) > 1:
        head += f"  (in {counted(len(question.runs), 'run')})"
    lines = [head, _since(question.since)]
    if question.has_long_options:
        lines += question.numbered
    lines.append(f"  {question.command}")
    return lines


def _since(time: str) -> str:
    return f"  since {time[:16].replace('T', ' ')} UTC"


@dataclass(frozen=True)
class AnswerArguments:
    """The answer of a person to a run that waits."""

    words: Annotated[
        str | None, typer.Argument(metavar="keep|redo|approve|refuse|WORDS", help="Your answer.")
    ] = None
    question: Annotated[
        str | None, typer.Option(metavar="ID", help="Question to answer, if several are open.")
    ] = None
    choose: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of the option to choose.")
    ] = None
    person: Annotated[
        str, typer.Option("--by", metavar="NAME", help="Your name, recorded with the answer.")
    ] = ""
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Reason; a model whose call you refuse sees it.")
    ] = ""
    until: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Accept an item without a verdict until this day."),
    ] = None
    accept: Annotated[
        tuple[int, ...],
        typer.Option(metavar="N", min=1, help="Accept what holds a PASS back, by its number."),
    ] = ()
    edit: Annotated[
        tuple[Path, ...],
        typer.Option(metavar="FILE", help="File that replaces atoms.py or checker.yaml."),
    ] = ()
    reset_iterations: MoreRepairs = False


@command(root, "answer", example="transom answer 20261121-0930 keep")
async def answer(
    session: Session, run: AnyRun = None, *, options: AnswerArguments, sheet: Sheet = None
) -> int:
    """Answer an open question.

    keep: use the file that you edited. redo: make it again. approve, refuse: a tool call. Any other
    words answer a question, or advise a build that gave up. See `transom waiting`.
    --until, --by and --reason accept that an item without a verdict stays unchecked. --accept and
    --by accept one thing that holds a PASS back; the item's file keeps it.
    """
    if sheet and run:
        raise InputError("a sheet names its runs", place="--file", hint="leave RUN out")
    if run:
        return await _answer(session, run, options)
    if sheet:
        answers = _read_sheet(sheet)
    else:
        answers = await _ask_all(session, options.person)
    codes: list[int] = []
    for name, run_answer in answers:
        try:
            codes.append(await _answer(session, name, run_answer))
        except InputError as error:
            # A wrong answer is reported, and the others are still recorded.
            session.warn(f"transom: {error}")
            codes.append(error.exit_code)
    return gravest(codes)


async def _ask_all(session: Session, person: str) -> list[tuple[str, AnswerArguments]]:
    """Ask every open question on the terminal; an empty line leaves it open."""
    if not sys.stdin.isatty():
        hint = "see `transom waiting`, and name a RUN, or give --file"
        raise InputError(
            "no run is named, and this is no terminal", place="transom answer", hint=hint
        )
    questions = open_questions(await _waiting_views(session))
    if not questions:
        print_text("nothing waits for a person")
    answers: list[tuple[str, AnswerArguments]] = []
    for question in questions:
        if text := ask_on_terminal(question):
            answer = AnswerArguments(text, question.question or None, person=person)
            # Several runs may ask the same.
            answers += [(run, answer) for run in question.runs]
    return answers


async def _waiting_views(session: Session) -> list[RunView]:
    """Return the runs that wait, with their journals, the newest first."""
    async with run_history(session) as runs:
        # The summaries are small; a journal is read only if its run waits.
        waiting_ids = {run.id for run in runs.all_summaries() if run.waits}
        views: list[RunView] = []
        for row in all_runs(runs.store):
            if row.id in waiting_ids:
                views.append(view(runs.workspace, runs.store, row))
    return views


async def _accept(session: Session, name: str, answer: AnswerArguments) -> int:
    """Write an acceptance into the file of a run's item."""
    if answer.words or answer.choose:
        option = "--accept" if answer.accept else "--until"
        raise InputError(
            "an acceptance is no answer to a question", place=option, hint="leave one out"
        )
    if answer.accept:
        return await accept_caps(session, name, answer.accept, answer.person, answer.until)
    return await accept_unchecked(session, name, answer.person, answer.reason, answer.until or "")


async def _answer(session: Session, name: str, answer: AnswerArguments) -> int:
    """Record one answer in the journal of its run. It does not resume the run."""
    if answer.accept or answer.until is not None:
        return await _accept(session, name, answer)
    recorded_answer = GivenAnswer(
        words=answer.words or "",
        question=answer.question,
        choose=answer.choose,
        person=answer.person,
        reason=answer.reason,
        user=user_name() or "",
        edits=answer.edit,
        resets=answer.reset_iterations,
    )
    async with found_run(session, name, writing=True) as (store, run_view):
        recorded = await give_answer(session.workspace, store, run_view, recorded_answer)
    choice = recorded.choice
    document: dict[str, Any] = {
        "schema": "transom.answer/1",
        "run_id": run_view.row.id,
        "answer": answer.words if recorded.answer is None else recorded.answer,
        "stage": choice["stage"] if choice else None,
    }
    # Without a file, the question was about a tool call.
    if choice and "file" not in choice:
        call = {}
        for key in ("tool", "arguments", "fingerprint"):
            call[key] = choice.get(key)
        document["call"] = call
    return session.show(document, f"{_line_of(recorded)}; {_step_after(recorded, run_view)}")


def _line_of(recorded: RecordedAnswer) -> str:
    # Advice for a build that gave up answers no question.
    if recorded.choice is None:
        return f"taken: {', '.join(recorded.help_items)}"
    question = in_full(recorded.choice)
    if "prompt" in recorded.choice:
        return f"{question} {recorded.answer}"
    return f"{recorded.answer} {question}"


def _step_after(recorded: RecordedAnswer, run: RunView) -> str:
    """Return what else the run waits for, or how it goes on."""
    names: list[str] = []
    for choice in recorded.remaining:
        # A file is named by its path; a question needs its short name.
        option = "" if "file" in choice else f" (--question {short_name(choice)})"
        names.append(in_full(choice) + option)
    if names:
        return f"waiting for an answer, too: {', '.join(names)}"
    return next_step(run)


def _read_sheet(path: Path) -> list[tuple[str, AnswerArguments]]:
    """Return the answers of a sheet, one for each run."""
    rows: Any = load_yaml(path).data
    answers: list[tuple[str, AnswerArguments]] = []
    try:
        for row in rows:
            # An entry that was left empty stays open.
            if row["answer"] in (None, ""):
                continue
            answer = AnswerArguments(
                str(row["answer"]),
                row["question"] or None,
                person=str(row["by"] or ""),
                reason=str(row["reason"] or ""),
            )
            answers += [(str(run), answer) for run in row["runs"]]
    except (TypeError, KeyError) as error:
        hint = "write one with: transom waiting -o FILE"
        raise InputError("is no sheet of questions", place=str(path), hint=hint) from error
    if not answers:
        raise InputError(
            "no entry has an answer", place=str(path), hint="write behind `answer:`, then try again"
        )
    return answers
