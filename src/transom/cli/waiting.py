"""`transom waiting` and `transom answer`: all open questions of all runs, and what a person says
to them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from transom.checklist.judging.audit import user_name
from transom.cli.accepting import accept_caps, accept_unchecked, is_accepted
from transom.cli.app import root
from transom.cli.command import MoreRepairs, command
from transom.cli.history import RunView, all_views, found_run, next_step
from transom.cli.output import counted, gravest, print_text, say, style, typed
from transom.cli.session import Session
from transom.errors import InputError
from transom.formats.yaml_files import dump_yaml, load_yaml
from transom.llm import Chain, RulesProvider
from transom.runs import write_file
from transom.runs.questions import APPROVAL, chosen, cut, in_full, options_of, short_name
from transom.runs.questions import command as answer_command
from transom.runs.walk import give_help, take_edit

_WORDS = ("keep", "redo", "approve", "refuse")
_HEAD = """\
# Write your words, an option or its number behind `answer:`; an entry without an answer stays open.
# Take it back with: transom answer --file {name}
"""
Out = Annotated[
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


@dataclass(frozen=True)
class OpenQuestion:
    """One question that waits for a person.

    Attributes:
        runs: ids of the runs that wait for it; several where equal questions wait.
        question: what `--question` takes; "" where a flow asks for help.
        since: UTC, ISO 8601.
        options: what may be answered; empty for free text.
        needs_name: whether the answer counts only with `--by NAME`.
    """

    runs: tuple[str, ...]
    question: str
    since: str
    asks: str
    options: tuple[str, ...]
    needs_name: bool = False

    @property
    def long(self) -> bool:
        """Whether an option is a sentence, so that its number is what one types."""
        return any(" " in option for option in self.options)

    @property
    def command(self) -> str:
        """The command that answers it."""
        return answer_command(self.runs[0], self.question, self.options, needs_name=self.needs_name)

    def ask(self) -> str:
        """Ask on the terminal, until an option or, where there are none, a text is typed; "" for
        later.
        """
        print_text("", style(self.asks, "bold"), *self.numbered)
        while True:
            text = typed(
                f"{f'1 to {len(self.options)}' if self.options else 'answer'} (empty: later): "
            )
            if text.isdecimal() and 1 <= int(text) <= len(self.options):
                return self.options[int(text) - 1]
            if not text or not self.options or text in self.options:
                return text

    @property
    def numbered(self) -> list[str]:
        """The options, one a line."""
        return [f"  {number}: {option}" for number, option in enumerate(self.options, 1)]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "command": self.command}


@command(root, "waiting", example="transom waiting -o answers.yaml")
async def waiting(session: Session, out: Out = None) -> int:
    """List what waits for a person or a model, and how to go on.

    Each question is listed once: its age, one sentence, and the command that answers it. Then come
    the runs that wait without a question: items that need a model or a review, paused stories.
    """
    views = await all_views(session)
    found, lines = open_questions(views), []
    for one in found:
        more = f"  (in {counted(len(one.runs), 'run')})" if len(one.runs) > 1 else ""
        lines += [style(one.asks, "bold") + more, f"  since {one.since[:16].replace('T', ' ')} UTC"]
        lines += [*(one.numbered if one.long else []), f"  {one.command}"]
    runs = waiting_runs(views)
    for run in runs:
        lines += [
            style(f"{run.name}: {run.status}", "bold") + f"  {run.reason}",
            f"  since {run.since[:16].replace('T', ' ')} UTC",
            f"  {run.command}",
        ]
    rows = [one.to_json() for one in found]
    if out and found:
        sheet = [{**row, "answer": None, "by": None, "reason": None} for row in rows]
        write_file(out, (_HEAD.format(name=out) + dump_yaml(sheet)).encode())
        lines.append(
            f"{counted(len(found), 'question')} written to {out}; give it back: transom answer"
            f" --file {out}"
        )
    document = {
        "schema": "transom.waiting/1",
        "questions": rows,
        "runs": [asdict(run) for run in runs],
    }
    return session.report(document, *lines or ["nothing waits for a person"])


@dataclass(frozen=True)
class Answer:
    """What a person says to a run that waits."""

    words: Annotated[
        str | None, typer.Argument(metavar="keep|redo|approve|refuse|WORDS", help="Your answer.")
    ] = None
    question: Annotated[
        str | None, typer.Option(metavar="ID", help="Question to answer, if several are open.")
    ] = None
    choose: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of the option to choose.")
    ] = None
    by: Annotated[
        str, typer.Option(metavar="NAME", help="Your name, recorded with the answer.")
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
    session: Session, run: AnyRun = None, *, given: Answer, sheet: Sheet = None
) -> int:
    """Answer an open question.

    keep: use the file that you edited. redo: make it again. approve, refuse: a tool call. Any other
    words answer a question, or advise a build that gave up. See `transom waiting`.
    --until, --by and --reason accept that an item without a verdict stays unchecked. --accept and
    --by accept one thing that holds a PASS back; the item's file keeps it.
    """
    if sheet and run:
        raise InputError("a sheet names its runs", where="--file", hint="leave RUN out")
    if run:
        return await _answer(session, run, given)
    answers = _read_sheet(sheet) if sheet else await _asked(session, given.by)
    codes = []
    for name, one in answers:
        try:
            codes.append(await _answer(session, name, one))
        except InputError as error:  # what does not fit is named, and costs the others nothing
            say(f"transom: {error}")
            codes.append(error.exit_code)
    return gravest(codes)


async def _asked(session: Session, by: str) -> list[tuple[str, Answer]]:
    """What a person says to each open question on the terminal; an empty line leaves it open."""
    if not sys.stdin.isatty():
        hint = "see `transom waiting`, and name a RUN, or give --file"
        raise InputError(
            "no run is named, and this is no terminal", where="transom answer", hint=hint
        )
    found = open_questions(await all_views(session))
    if not found:
        print_text("nothing waits for a person")
    said = [(one, one.ask()) for one in found]
    return [
        (run, Answer(text, one.question or None, by=by))
        for one, text in said
        if text
        for run in one.runs
    ]


async def _accept(session: Session, name: str, given: Answer) -> int:
    """Write an acceptance into the file of a run's item."""
    if given.words or given.choose:
        where = "--accept" if given.accept else "--until"
        raise InputError(
            "an acceptance is no answer to a question", where=where, hint="leave one out"
        )
    if given.accept:
        return await accept_caps(session, name, given.accept, given.by, given.until)
    return await accept_unchecked(session, name, given.by, given.reason, given.until or "")


async def _answer(session: Session, name: str, given: Answer) -> int:
    """Record one answer in the journal of its run: no stage is walked, so nobody is asked."""
    if given.accept or given.until is not None:
        return await _accept(session, name, given)
    text = given.words or ""
    words = "" if text in _WORDS else text
    async with found_run(session, name, writing=True) as (store, found):
        row, step = found.row, next_step(found)
        helps = bool(found.state.handed and (words or given.edit or given.reset_iterations))
        if not (helps or found.state.waiting):
            raise InputError(
                "this run waits for no answer",
                where=row.id,
                hint=f"see: transom runs show {row.id}",
            )
        if not (helps or text or given.choose):
            raise InputError("no answer is given", where=row.id, hint="see: transom waiting")
        told: dict[str, Any] = {
            "schema": "transom.answer/1",
            "run_id": row.id,
            "answer": given.words,
            "stage": None,
        }
        nobody = Chain((RulesProvider({}, {}, {}),))
        apart = replace(session, entry={})  # the run stays that of the command that began it
        async with apart.open_run(
            row.kind, row.inputs, name=row.name, store=store, chain=nobody
        ) as run:
            if helps:
                taken = [take_edit(run, file).name for file in given.edit] + ["your words"] * bool(
                    words
                )
                if words or given.reset_iterations:
                    await give_help(run, words, reset=given.reset_iterations)
                line = f"taken: {', '.join(taken + ['more repairs'] * given.reset_iterations)}"
            else:
                asked = chosen(row.id, run.state.waiting, given.question)
                if given.choose:
                    options = dict(enumerate(options_of(asked), 1))
                    if given.choose not in options:
                        what, hint = (
                            f"there is no option {given.choose}: {cut(asked)}",
                            "see: transom waiting",
                        )
                        raise InputError(what, where=row.id, hint=hint)
                    text = options[given.choose]
                by = given.by or (user_name() if asked.get("kind") == APPROVAL else None) or ""
                choice = await run.decide(text, given.question, given.reason, by=by)
                record: Any = run.records()[-1].data
                told |= {"answer": (said := record["answer"]), "stage": choice["stage"]}
                line = (
                    f"{in_full(choice)} {said}"
                    if "prompt" in choice
                    else f"{said} {in_full(choice)}"
                )
                if "file" not in choice:
                    told["call"] = {
                        name: choice.get(name) for name in ("tool", "arguments", "fingerprint")
                    }
                if left := [*run.state.waiting.values()]:
                    names = [
                        in_full(one) + ("" if "file" in one else f" (--question {short_name(one)})")
                        for one in left
                    ]
                    step = f"waiting for an answer, too: {', '.join(names)}"
    return session.report(told, f"{line}; {step}")


def open_questions(views: Sequence[RunView]) -> list[OpenQuestion]:
    """Return the questions of all runs, the oldest first; equal ones of several runs once."""
    groups: dict[tuple[str, ...], list[OpenQuestion]] = {}
    for found in views:
        for question in questions_of(found):
            same = question.question or question.runs[0], question.asks, *question.options
            groups.setdefault(same, []).append(question)
    questions = []
    for group in groups.values():
        runs = tuple(run for question in group for run in question.runs)
        since = min(question.since for question in group)
        questions.append(replace(group[-1], runs=runs, since=since))
    return sorted(questions, key=lambda question: question.since)


@dataclass(frozen=True)
class WaitingRun:
    """A run that waits for a person or a model, and has no question that could be answered.

    Attributes:
        reason: what it waits for, one clause.
        since: UTC, ISO 8601.
        command: how it goes on, once that is there.
    """

    run_id: str
    kind: str
    name: str
    status: str
    reason: str
    since: str
    command: str


def waiting_runs(views: Sequence[RunView]) -> list[WaitingRun]:
    """Return the runs that wait without a question, the longest-waiting first."""
    runs = []
    for view in views:
        is_paused = view.status == "paused" and not view.state.is_closed
        reason = view.state.paused if is_paused else view.state.waits
        has_question = next(questions_of(view), None) is not None
        if not reason or has_question or view.status == "running" or is_accepted(view.row):
            continue
        command = f"transom resume {view.row.id}"
        if view.status == "NEEDS_MODEL":
            command += " --model PROVIDER:NAME"
        row = view.row
        since = view.records[-1].at
        runs.append(WaitingRun(row.id, row.kind, row.name, view.status, reason, since, command))
    return sorted(runs, key=lambda run: run.since)


def questions_of(found: RunView, *, whole: bool = False) -> Iterator[OpenQuestion]:
    """What a run waits for; `whole` with all arguments of tool calls, also local ones, where
    this run is looked at.
    """
    run, last = (found.row.id,), found.records[-1].at if found.records else ""
    if found.status == "human_required" and found.state.handed:
        asks = f"{found.row.name}: the build gave up and needs your words, or a file with --edit"
        yield OpenQuestion(run, "", last, asks, ())
        return
    pauses: list[tuple[str, Any]] = [
        (one.at, one.data) for one in found.records if one.kind == "paused"
    ]
    for choice in found.state.waiting.values():
        print_ = choice["fingerprint"]
        since = next(
            (at for at, data in pauses if (data.get("choice") or {}).get("fingerprint") == print_),
            last,
        )
        if "prompt" in choice:
            asks = str(choice["prompt"])
        elif "file" in choice:
            asks = f"{choice['file']} and what it is made from have both changed: which counts?"
        else:
            asks = "This call was begun; was it carried out?"
            asks = "May this tool call be carried out?" if choice["kind"] == APPROVAL else asks
            place = f" (in {choice['stage']}/{choice['key']['conversation']})" if whole else ""
            asks = f"{asks} {in_full(choice) if whole else cut(choice)}{place}"
        needs_name = bool(choice.get("needs_name"))
        yield OpenQuestion(run, short_name(choice), since, asks, options_of(choice), needs_name)


def _read_sheet(path: Path) -> list[tuple[str, Answer]]:
    """The answered entries of a sheet, one for each run."""
    rows: Any = load_yaml(path).data
    try:
        given = [
            (one, str(one["answer"]), one["question"] or None)
            for one in rows
            if one["answer"] not in (None, "")
        ]
        answers = [
            (
                str(run),
                Answer(words, question, by=str(one["by"] or ""), reason=str(one["reason"] or "")),
            )
            for one, words, question in given
            for run in one["runs"]
        ]
    except (TypeError, KeyError) as error:
        hint = "write one with: transom waiting -o FILE"
        raise InputError("is no sheet of questions", where=str(path), hint=hint) from error
    if not answers:
        raise InputError(
            "no entry has an answer", where=str(path), hint="write behind `answer:`, then try again"
        )
    return answers
