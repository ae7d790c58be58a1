"""Interpretations of a description that the rules do not understand: which come close, what a
person chooses, and how the choice is written into the item's file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from transom.canonical import Json
from transom.checklist.acceptance import write_cap_acceptances
from transom.checklist.claiming import claim_of, require_known
from transom.checklist.embedded import DESCRIPTION
from transom.checklist.item import Item, load_item
from transom.checklist.item_writer import add_to_item
from transom.checklist.judging import Verdict
from transom.checklist.judging.claim_account import (
    checks_to_choose,
)
from transom.checklist.judging.foreseeing import open_points
from transom.checklist.judging.overturning import is_held_back
from transom.checklist.manner import Places
from transom.checklist.marking import write_format
from transom.checklist.offers import Offer, offers_of, readings_of_files
from transom.checklist.results import ReadingRow, SpecResult
from transom.errors import Paused
from transom.runs import Run

KEY: Final = "reads_as"
STATED: Final = "stated"
NONE: Final = "none of these"

R = TypeVar("R", SpecResult, Verdict)

AskNow: TypeAlias = Callable[[str, Sequence[str]], tuple[str, str]]
"""Asks a person who is present: question and options in, the option and the person's name out; the
option is empty if the person wants to answer later.
"""


def load_understood(path: Path, *, strict: bool) -> Item:
    """Read an item, and check that its `reads_as` names a claim with its parameters.

    Raises:
        InputError: the file is no item, or its `reads_as` names something unknown.
    """
    item = load_item(path, strict=strict)
    if item.claim:
        require_known(item, item.claim)
    return item


async def interpret(
    run: Run,
    item: Item,
    places: Places,
    result: SpecResult,
    ask_now: AskNow | None = None,
) -> SpecResult | None:
    """Add the interpretations that come close to a result, if the rules did not understand it.

    Args:
        run: the run that asks.
        item: the item.
        places: where its files are looked for.
        result: the result of the specification.
        ask_now: asks a person who is present; without it the question waits.

    Returns:
        The result; None if a person chose an interpretation. Then the choice is in the item's
        file, and the run can go on.
    """
    # Words of other sections are no question of what the description means.
    is_understood = not any(row.where.startswith(DESCRIPTION) for row in result.needs_model)
    if item.claim or is_understood:
        return result
    offers = offers_of(item, places, run.folder)
    rows = tuple(offer.row for offer in offers)
    if rows:
        choice = await _choose(run, item, rows, ask_now)
        if choice:
            _keep(item, choice, offers)
            return None
    return _with_choices(run, result, rows)


async def interpret_again(
    run: Run,
    item: Item,
    places: Places,
    verdict: Verdict,
    ask_now: AskNow | None = None,
) -> Verdict | None:
    """Ask what an item means whose verdict a person overturned, unless a person said that already.

    A verdict that waits since no report names the check of a value asks for that check.

    The arguments are those of `interpret`.

    Returns:
        The verdict, with the other interpretations that come close; None if a person chose one.
    """
    if verdict.status == "NEEDS_MODEL" and verdict.needs_model:
        return await _ask_for_check(run, item, places, verdict, ask_now)
    if item.claim or not is_held_back(item, verdict):
        return verdict
    present = claim_of(item, run.chain)
    offers = list[Offer]()
    for offer in offers_of(item, places, run.folder):
        # The interpretation that was wrong is no choice.
        if present is None or offer.row.reads_as.get("claim") != present.name:
            offers.append(offer)
    rows = [offer.row for offer in offers]
    if not rows:
        return verdict
    choice = await _choose(run, item, rows, ask_now)
    if choice:
        _keep(item, choice, offers)
        return None
    return _with_choices(run, verdict, rows)


async def _ask_for_check(
    run: Run, item: Item, places: Places, verdict: Verdict, ask_now: AskNow | None
) -> Verdict | None:
    """Ask of which check the values are of which the reports name none.

    Returns:
        The verdict, with the checks that come into question; None if a person chose one.
    """
    claim = claim_of(item, run.chain)
    if claim is None:
        return verdict
    readings = readings_of_files(item, places, run.folder)
    rows = list[ReadingRow]()
    for check, evidence in checks_to_choose(claim, readings).items():
        says = f"the values of which the report does not name the check are of {check}"
        stated = claim.model_copy(update={"stated_check": check, "stated_by": "a person"})
        points = open_points(item, stated, readings)
        row = ReadingRow(says=says, reads_as={"check": check}, evidence=evidence)
        rows.append(row.model_copy(update={"accepts": points.accepts, "shown": points.shown}))
    # Values of several checks in one file: no single answer would be right.
    if not rows:
        return verdict
    question = f"Of which check are the values of {item.item_id} that the report does not name?"
    choice = await _choose_row(run, STATED, question, rows, ask_now)
    if choice:
        person = " ".join(choice.person.split())
        add_to_item(item, STATED, {**choice.row.reads_as, "by": person or "a person"})
        _accept(item, choice, person)
        return None
    return _with_choices(run, verdict, rows)


def _with_choices(run: Run, result: R, rows: Sequence[ReadingRow]) -> R:
    """Return a result with its choices, and the command that answers while the run waits."""
    command = None
    if rows and run.state.waiting:
        command = f"transom answer {run.id} --choose N --by NAME"
    return result.model_copy(update={"readings": tuple(rows), "choose": command})


def write_interpretation(item: Item, reads_as: dict[str, Json], person: str) -> None:
    """Add `reads_as` to the item's file."""
    add_to_item(item, KEY, reads_as, f"chosen by {person or 'a person'}")


def _keep(item: Item, choice: _Choice, offers: Iterable[Offer]) -> None:
    """Write what a person chose into the item's file, with what the answer takes over.

    Only an answer with a name takes anything over.
    """
    person = " ".join(choice.person.split())
    for offer in offers:
        if offer.row == choice.row and offer.lesson is not None:
            write_format(item, offer.lesson)
    write_interpretation(item, choice.row.reads_as, choice.person)
    if person and choice.row.check and not choice.is_alone and item.stated_check is None:
        add_to_item(load_item(item.path), STATED, {"check": choice.row.check, "by": person})
    _accept(item, choice, person)


def _accept(item: Item, choice: _Choice, person: str) -> None:
    """Write the acceptances of an answer that has a name; each can be taken back by itself."""
    if person and not choice.is_alone and choice.row.accepts and item.accept is None:
        write_cap_acceptances(load_item(item.path), choice.row.accepts, person, None)


@dataclass(frozen=True)
class _Choice:
    """What a person chose.

    Attributes:
        is_alone: whether the person takes nothing over with it.
    """

    row: ReadingRow
    person: str
    is_alone: bool


async def _choose(
    run: Run, item: Item, rows: Sequence[ReadingRow], ask_now: AskNow | None
) -> _Choice | None:
    """Return the interpretation that a person chose.

    None if the person wants none of them, or nobody has answered yet.
    """
    description = " ".join(item.description.split())
    question = f'What does the description of {item.item_id} mean: "{description}"?'
    return await _choose_row(run, KEY, question, rows, ask_now)


async def _choose_row(
    run: Run, key: str, question: str, rows: Sequence[ReadingRow], ask_now: AskNow | None
) -> _Choice | None:
    """Return the row that a person chose.

    Args:
        run: the run that asks.
        key: the key of the question.
        question: the question.
        rows: the answers.
        ask_now: asks a person who is present; without it the question waits.
    """
    # The evidence changes with the files, so it is shown but is no part of the question.
    choices = dict[str, tuple[ReadingRow, bool]]()
    shown = dict[str, str]()
    for row in rows:
        choices[row.option] = (row, False)
        shown[f"{row.option}; evidence: {row.evidence}"] = row.option
    for row in rows:
        if row.option_alone:
            choices[row.option_alone] = (row, True)
            shown[row.option_alone] = row.option_alone
    options = (*choices, NONE)
    try:
        answer = await run.ask(key, question, options=options)
    except Paused:
        if ask_now is None:
            return None
        option, person = ask_now(question, [*shown, NONE])
        if not option:
            return None
        await run.decide(shown.get(option, NONE), key, by=person)
        answer = await run.ask(key, question, options=options)
    # An answer that is none of the rows means that none of them is meant.
    if answer.text not in choices:
        return None
    row, is_alone = choices[answer.text]
    return _Choice(row, answer.by, is_alone)
