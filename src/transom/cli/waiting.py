"""`transom waiting`: all open questions of all runs, and the sheet on which they can be answered at once."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.command import command
from transom.cli.history import RunView, all_runs, history, view
from transom.cli.output import counted, print_json, print_text, style
from transom.cli.session import Session
from transom.errors import InputError

if TYPE_CHECKING:
    from transom.store import SqliteStore

_HEAD = """\
# Write your words, an option or its number behind `answer:`; an entry without an answer stays open.
# Take it back with: transom answer --file {name}
"""


@dataclass(frozen=True)
class OpenQuestion:
    """One question that waits for a person.

    Attributes:
        runs: ids of the runs that wait for it; several where equal questions wait.
        question: what `--question` takes; "" where a flow asks for help.
        since: UTC, ISO 8601.
        asks: one sentence.
        options: what may be answered; empty for free text.
    """

    runs: tuple[str, ...]
    question: str
    since: str
    asks: str
    options: tuple[str, ...]

    @property
    def long(self) -> bool:
        """Whether an option is a sentence, so that its number is what one types."""
        return any(" " in option for option in self.options)

    @property
    def command(self) -> str:
        """The command that answers it."""
        which = f" --question {self.question}" if self.question else ""
        listed = "--choose N" if self.long else " | ".join(map(shlex.quote, self.options))
        words = listed or '"YOUR WORDS"'
        return f"transom answer {self.runs[0]}{which} {words}"

    def to_json(self) -> dict[str, Any]:
        named = {"runs": list(self.runs), "question": self.question, "since": self.since, "asks": self.asks}
        return {**named, "options": list(self.options), "command": self.command}


def add_to(app: typer.Typer) -> None:
    """Add the command, which stands outside a group."""
    command(app, "waiting", example="transom waiting -o answers.yaml")(waiting)


async def waiting(
    session: Session,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write a sheet to answer them in, too.")
    ] = None,
) -> int:
    """List what waits for a person in all runs, and how to answer.

    Each question stands once: since when it waits, one sentence, and the command that answers it.
    """
    async with history(session) as store:
        found = open_questions(session, store) if store else []
    if out:
        _write_sheet(out, found)
    if session.format == "json":
        print_json({"schema": "transom.waiting/1", "questions": [one.to_json() for one in found]})
        return 0
    for one in found:
        more = f"  (in {counted(len(one.runs), 'run')})" if len(one.runs) > 1 else ""
        options = [f"  {n}: {option}" for n, option in enumerate(one.options, 1)] if one.long else []
        since = f"  since {one.since[:16].replace('T', ' ')} UTC"
        print_text(style(one.asks, "bold") + more, since, *options, f"  {one.command}")
    if not found:
        print_text("nothing waits for a person")
    elif out:
        print_text(
            f"{counted(len(found), 'question')} written to {out}; take it back with: transom answer --file {out}"
        )
    return 0


def open_questions(session: Session, store: SqliteStore) -> list[OpenQuestion]:
    """All of them, the oldest first; equal questions of several runs stand there once."""
    groups: dict[tuple[str, ...], list[OpenQuestion]] = {}
    for row in all_runs(store):
        for one in _of_run(view(session, store, row)):
            groups.setdefault((one.question or one.runs[0], one.asks, *one.options), []).append(one)
    merged = [
        OpenQuestion(tuple(one.runs[0] for one in group), group[0].question, group[-1].since, *_said(group[0]))
        for group in groups.values()
    ]
    return sorted(merged, key=lambda one: one.since)


def _said(one: OpenQuestion) -> tuple[str, tuple[str, ...]]:
    return one.asks, one.options


def _of_run(found: RunView) -> list[OpenQuestion]:
    from transom.runs.questions import APPROVAL, cut, short

    run = (found.row.id,)
    last = found.records[-1].at if found.records else ""
    if found.status == "human_required" and found.state.handed:
        asks = f"{found.row.name}: the build gave up and needs your words, or a file with --edit"
        return [OpenQuestion(run, "", last, asks, ())]
    rows: list[OpenQuestion] = []
    for choice in found.state.waiting.values():
        if "prompt" in choice:
            asks, options = str(choice["prompt"]), tuple(choice["options"])
        elif "file" in choice:
            asks = f"{choice['file']} and what it is made from have both changed: which counts?"
            options = ("keep", "redo")
        elif choice["kind"] == APPROVAL:
            asks, options = f"May this tool call be carried out? {cut(choice)}", ("approve", "refuse")
        else:
            asks, options = f"This call was begun; was it carried out? {cut(choice)}", ("keep", "redo")
        question = choice["stage"] if "file" in choice else short(choice)
        rows.append(OpenQuestion(run, question, _since(found, choice, last), asks, options))
    return rows


def _since(found: RunView, choice: dict[str, Any], last: str) -> str:
    """When the run paused for it first."""
    for record in found.records:
        data: Any = record.data
        if record.kind == "paused" and (data.get("choice") or {}).get("fingerprint") == choice["fingerprint"]:
            return record.at
    return last


def _write_sheet(path: Path, questions: list[OpenQuestion]) -> None:
    from transom.formats.yaml_files import dump_yaml
    from transom.runs import write_file

    rows = [{**one.to_json(), "answer": None, "by": None, "reason": None} for one in questions]
    write_file(path, (_HEAD.format(name=path) + dump_yaml(rows)).encode())


@dataclass(frozen=True)
class SheetAnswer:
    """One filled entry of a sheet."""

    run: str
    question: str
    answer: str
    by: str
    reason: str


def read_sheet(path: Path) -> list[SheetAnswer]:
    """The answered entries of a sheet, one for each run that they are for.

    Raises:
        InputError: the file cannot be read, or is no such sheet.
    """
    from transom.formats.yaml_files import load_yaml

    rows: Any = load_yaml(path).data
    hint = "write one with: transom waiting -o FILE"
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and isinstance(row.get("runs"), list) for row in rows
    ):
        raise InputError("is no sheet of questions", where=str(path), hint=hint)
    answers = []
    for row in rows:
        answer = row.get("answer")
        if answer is None or not str(answer).strip():
            continue
        told = [str(row.get(name) or "") for name in ("by", "reason")]
        answers += [SheetAnswer(str(run), str(row.get("question") or ""), str(answer), *told) for run in row["runs"]]
    return answers
