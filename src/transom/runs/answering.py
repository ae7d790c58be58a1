"""A person's answer to a run that waits, written into its journal. No stage is walked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transom.errors import InputError
from transom.llm import Chain, RulesProvider
from transom.runs.history import RunView
from transom.runs.questions import APPROVAL, Choice, chosen, cut, options_of
from transom.runs.run import Run
from transom.runs.walk import give_help, take_edit
from transom.runs.workspace import Workspace
from transom.store import Store

FILE_WORDS = ("keep", "redo", "approve", "refuse")
"""Answers about a file or a tool call, which are no advice for a flow that gave up."""


@dataclass(frozen=True)
class GivenAnswer:
    """A person's answer.

    Attributes:
        words: an option, its number, or free text.
        question: the name of the question; None if the run asks only one.
        choose: the number of the option, instead of words.
        person: the name of the person; for a tool call, `user` otherwise.
        user: the name of the account that answers.
        edits: files that replace those of a flow that gave up.
        resets: whether such a flow may try as often again.
    """

    words: str = ""
    question: str | None = None
    choose: int | None = None
    person: str = ""
    reason: str = ""
    user: str = ""
    edits: Sequence[Path] = ()
    resets: bool = False

    @property
    def advice(self) -> str:
        """The words that are advice for a flow that gave up."""
        return "" if self.words in FILE_WORDS else self.words


@dataclass(frozen=True)
class RecordedAnswer:
    """An answer as the journal has it.

    Attributes:
        answer: the option or text; None if a flow that gave up was helped.
        choice: what was answered, likewise.
        help_items: the help that a flow gets.
        remaining: what the run still waits for.
    """

    answer: str | None
    choice: Choice | None
    help_items: Sequence[str]
    remaining: Sequence[Choice]


async def give_answer(
    workspace: Workspace, store: Store, waiting: RunView, answer: GivenAnswer
) -> RecordedAnswer:
    """Write an answer into the journal of a run that waits.

    Raises:
        InputError: the run waits for no such answer, or the answer is none.
        RunBusy: a process works on the run.
    """
    row = waiting.row
    helps = bool(waiting.state.handed and (answer.advice or answer.edits or answer.resets))
    # Before the run is opened, since that makes a run that has ended go on.
    if not (helps or waiting.state.waiting):
        hint = f"see: transom runs show {row.id}"
        raise InputError("this run waits for no answer", place=row.id, hint=hint)
    if not (helps or answer.words or answer.choose):
        raise InputError("no answer is given", place=row.id, hint="see: transom waiting")
    # No stage is walked, so nobody is asked.
    nobody = Chain((RulesProvider({}, {}, {}),))
    # Without an entry, the run stays that of the command that began it.
    run = await Run.open(
        row.kind, row.inputs, name=row.name, workspace=workspace, store=store, chain=nobody
    )
    async with run:
        if helps:
            return await _help(run, answer)
        choice = chosen(row.id, run.state.waiting, answer.question)
        name = answer.person or (answer.user if choice.get("kind") == APPROVAL else "")
        words = answer.words if answer.choose is None else _option(row.id, choice, answer.choose)
        await run.decide(words, answer.question, answer.reason, by=name)
        # As it was recorded: a number that was typed stands for its option.
        record: Any = run.records()[-1].data
        return RecordedAnswer(record["answer"], choice, (), [*run.state.waiting.values()])


async def _help(run: Run, answer: GivenAnswer) -> RecordedAnswer:
    help_items = [take_edit(run, file).name for file in answer.edits]
    if answer.advice:
        help_items.append("your words")
    # An edited file alone is no advice: the flow looks at it by itself.
    if answer.advice or answer.resets:
        await give_help(run, answer.advice, reset=answer.resets)
    if answer.resets:
        help_items.append("more repairs")
    return RecordedAnswer(None, None, help_items, ())


def _option(run_id: str, choice: Choice, number: int) -> str:
    options = options_of(choice)
    if not 1 <= number <= len(options):
        problem = f"there is no option {number}: {cut(choice)}"
        raise InputError(problem, place=run_id, hint="see: transom waiting")
    return options[number - 1]
