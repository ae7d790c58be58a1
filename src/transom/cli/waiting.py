"""`transom waiting`: all open questions of all runs, and the sheet on which they can be answered at once."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.command import command, root
from transom.cli.history import RunView, all_runs, history, view
from transom.cli.output import counted, print_text, style
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

    def ask(self) -> str:
        """Ask on the terminal, until an option or, where there are none, a text is typed; "" for later."""
        print_text("", style(self.asks, "bold"), *self.numbered)
        while True:
            text = input(f"1 to {len(self.options)} (empty: later): " if self.options else "answer (empty: later): ")
            text = text.strip()
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
    lines = [line for one in found for line in _lines(one)]
    if out:
        _write_sheet(out, found)
        lines.append(f"{counted(len(found), 'question')} written to {out}; give it back: transom answer --file {out}")
    document = {"schema": "transom.waiting/1", "questions": [one.to_json() for one in found]}
    return session.report(document, *(lines if found else ["nothing waits for a person"]))


def open_questions(session: Session, store: SqliteStore) -> list[OpenQuestion]:
    """All of them, the oldest first; equal questions of several runs stand there once."""
    groups: dict[tuple[str, ...], list[OpenQuestion]] = {}
    for row in all_runs(store):
        for one in questions_of(view(session, store, row)):
            groups.setdefault((one.question or one.runs[0], one.asks, *one.options), []).append(one)
    merged = [
        replace(group[0], runs=tuple(one.runs[0] for one in group), since=group[-1].since) for group in groups.values()
    ]
    return sorted(merged, key=lambda one: one.since)


def questions_of(found: RunView, *, whole: bool = False) -> Iterator[OpenQuestion]:
    """What a run waits for.

    Args:
        found: the run.
        whole: tool calls with all their arguments, also long and local ones: for whoever looks at this very run.
    """
    from transom.runs.questions import APPROVAL, cut, in_full, short

    run, last = (found.row.id,), found.records[-1].at if found.records else ""
    if found.status == "human_required" and found.state.handed:
        asks = f"{found.row.name}: the build gave up and needs your words, or a file with --edit"
        yield OpenQuestion(run, "", last, asks, ())
        return
    for choice in found.state.waiting.values():
        question = choice["stage"] if "file" in choice else short(choice)
        options: tuple[str, ...] = ("keep", "redo")
        if "prompt" in choice:
            asks, options = str(choice["prompt"]), tuple(choice["options"])
        elif "file" in choice:
            asks = f"{choice['file']} and what it is made from have both changed: which counts?"
        else:
            approval, call = choice["kind"] == APPROVAL, in_full(choice) if whole else cut(choice)
            options = ("approve", "refuse") if approval else options
            asks = "May this tool call be carried out?" if approval else "This call was begun; was it carried out?"
            place = f" (in {choice['stage']}/{choice['key']['conversation']})" if whole else ""
            asks = f"{asks} {call}{place}"
        yield OpenQuestion(run, question, _since(found, choice, last), asks, options)


def _lines(one: OpenQuestion) -> list[str]:
    more = f"  (in {counted(len(one.runs), 'run')})" if len(one.runs) > 1 else ""
    since = f"  since {one.since[:16].replace('T', ' ')} UTC"
    return [style(one.asks, "bold") + more, since, *(one.numbered if one.long else []), f"  {one.command}"]


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


def read_sheet(path: Path) -> list[dict[str, str]]:
    """The answered entries of a sheet, one for each run: run, words, and question, by and reason where they stand."""
    from transom.formats.yaml_files import load_yaml

    rows: Any = load_yaml(path).data
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and isinstance(row.get("runs"), list) for row in rows
    ):
        hint = "write one with: transom waiting -o FILE"
        raise InputError("is no sheet of questions", where=str(path), hint=hint)
    answers = []
    for row in rows:
        words = str(row["answer"] if row.get("answer") is not None else "")
        told = {name: str(row[name]) for name in ("question", "by", "reason") if row.get(name) is not None}
        answers += [{"run": str(run), "words": words, **told} for run in row["runs"] if words.strip()]
    return answers
