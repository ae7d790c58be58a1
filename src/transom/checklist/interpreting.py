"""Interpretations of a description that the rules do not understand: which come close, what a
person chooses, and how the choice is written into the item's file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from transom.canonical import Json
from transom.checklist.claiming import claim_of, has_patterns, listed_texts, require_known
from transom.checklist.claims.claim_data import Claim, shipped_claims
from transom.checklist.claims.ranking import ClaimCandidate, candidates, same_word
from transom.checklist.embedded import DESCRIPTION
from transom.checklist.item import Item, load_item
from transom.checklist.item_files import own_files
from transom.checklist.item_writer import add_to_item
from transom.checklist.judging import Verdict
from transom.checklist.judging.claim_account import checks_to_choose, evidence_of_claim
from transom.checklist.judging.overturning import is_held_back
from transom.checklist.manner import Places
from transom.checklist.results import ReadingRow, SpecResult
from transom.checklist.waiver_clauses import WAIVE, waiver_clauses, words_waived
from transom.errors import InputError, Paused
from transom.formats.reports import FileReading, read_report, shipped_formats
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
    rows = _interpretations(item, places, run.folder)
    if rows:
        choice = await _choose(run, item, rows, ask_now)
        if choice:
            write_interpretation(item, *choice)
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
    rows = list[ReadingRow]()
    for row in _interpretations(item, places, run.folder):
        # The interpretation that was wrong is no choice.
        if present is None or row.reads_as.get("claim") != present.name:
            rows.append(row)
    if not rows:
        return verdict
    choice = await _choose(run, item, rows, ask_now)
    if choice:
        write_interpretation(item, *choice)
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
    readings = _readings_of_files(item, places, run.folder)
    rows = list[ReadingRow]()
    for check, evidence in checks_to_choose(claim, readings).items():
        says = f"the values of which the report does not name the check are of {check}"
        rows.append(ReadingRow(says=says, reads_as={"check": check}, evidence=evidence))
    # Values of several checks in one file: no single answer would be right.
    if not rows:
        return verdict
    question = f"Of which check are the values of {item.item_id} that the report does not name?"
    choice = await _choose_row(run, STATED, question, rows, ask_now)
    if choice:
        entry, person = choice
        add_to_item(item, STATED, {**entry, "by": " ".join(person.split()) or "a person"})
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


def _interpretations(item: Item, places: Places, folder: Path) -> tuple[ReadingRow, ...]:
    """Return the claims that come close, each with what the current files give for it."""
    description, clause = _parted(item.description)
    close = candidates(description, has_patterns=has_patterns(item), listed=listed_texts(item))
    # Files are read only if there is something to choose: reading them takes time.
    readings = _readings_of_files(item, places, folder) if close else []
    rows = list[ReadingRow]()
    for close_claim in close:
        candidate, advice = _with_waiver_clause(close_claim, clause, item)
        reads_as: dict[str, Json] = {"claim": candidate.row.name}
        if candidate.row.parameters:
            reads_as["parameters"] = dict(candidate.row.parameters)
        if candidate.row.left_out:
            reads_as["left_out"] = list(candidate.row.left_out)
        evidence = evidence_of_claim(candidate.row, readings)
        says = f"{candidate.sentence}{advice}"
        rows.append(ReadingRow(says=says, reads_as=reads_as, evidence=evidence))
    return tuple(rows)


def _parted(description: str) -> tuple[str, str]:
    """Return a description without a clause that waives it at a stage, and that clause or ""."""
    for clause, rest in waiver_clauses(description):
        if _stage_in(clause, shipped_claims().claims) or words_waived(clause):
            return rest, clause
    return description, ""


def _stage_in(words: str, claim_names: Iterable[str]) -> str:
    """Return the stage that words name, of those at which a waiver may excuse a claim, or ""."""
    for name in claim_names:
        for part in shipped_claims().claims[name].headers:
            for stage in (*part.stages_of("loading"), *part.stages_of("version")):
                if re.search(rf"(?<![\w-]){re.escape(stage)}(?![\w-])", words, re.IGNORECASE):
                    return stage.casefold()
    return ""


def _with_waiver_clause(
    candidate: ClaimCandidate, clause: str, item: Item
) -> tuple[ClaimCandidate, str]:
    """Return a candidate with the clause as a parameter, or with the clause left out and advice.

    "Waive for the synthesis stage" becomes a waiver, which holds where a log shows the stage; "for
    legacy libs" one of the files that are named so. With an equal waiver of the item, the clause
    says nothing more.
    """
    if not clause:
        return candidate, ""
    claim = shipped_claims().claims[candidate.row.name]
    stage = _stage_in(clause, (candidate.row.name,))
    waivers = item.waivers.waive_items if item.waivers else ()
    if stage and stage in {waiver.pattern.casefold() for waiver in waivers}:
        return candidate, ""
    pattern = stage or _names_waived(clause, claim)
    if pattern and WAIVE in claim.parameters:
        parameters = {**candidate.row.parameters, WAIVE: pattern}
        row = candidate.row.model_copy(update={"parameters": parameters})
        return replace(candidate, row=row), ""
    row = candidate.row.model_copy(update={"left_out": (*candidate.row.left_out, clause)})
    return replace(candidate, row=row), ""


def _names_waived(clause: str, claim: Claim) -> str:
    """Return the pattern of what a clause waives by a part of its name, or ""."""
    known_words = {*claim.words, *(name for part in claim.headers for name in part.called)}
    words = []
    for word in words_waived(clause):
        is_known = any(same_word(word, known) for known in known_words)
        if not is_known and word not in shipped_claims().grammar:
            words.append(word)
    # Of two words nobody can tell how a name has them.
    return f"*{words[0]}*" if len(words) == 1 else ""


def _readings_of_files(item: Item, places: Places, folder: Path) -> list[FileReading]:
    """Return what the report formats read of an item's files, as far as they can be read."""
    readings = list[FileReading]()
    try:
        files = own_files(item, places.roots(item, folder))
    except InputError:
        files = ()  # an ItemSpec can be written before a variable is defined
    for path in files:
        with suppress(InputError):  # a file that cannot be read is an error of the check
            readings.append(read_report(path, shipped_formats()))
    return readings


async def _choose(
    run: Run, item: Item, rows: Sequence[ReadingRow], ask_now: AskNow | None
) -> tuple[dict[str, Json], str] | None:
    """Return the interpretation that a person chose, and the person's name.

    None if the person wants none of them, or nobody has answered yet.
    """
    description = " ".join(item.description.split())
    question = f'What does the description of {item.item_id} mean: "{description}"?'
    return await _choose_row(run, KEY, question, rows, ask_now)


async def _choose_row(
    run: Run, key: str, question: str, rows: Sequence[ReadingRow], ask_now: AskNow | None
) -> tuple[dict[str, Json], str] | None:
    """Return what the item takes of the row that a person chose, and the person's name.

    Args:
        run: the run that asks.
        key: the key of the question.
        question: the question.
        rows: the answers.
        ask_now: asks a person who is present; without it the question waits.
    """
    # The evidence changes with the files, so it is shown but is no part of the question.
    options = (*(row.says for row in rows), NONE)
    try:
        answer = await run.ask(key, question, options=options)
    except Paused:
        if ask_now is None:
            return None
        shown_options = [*(f"{row.says}; evidence: {row.evidence}" for row in rows), NONE]
        option, person = ask_now(question, shown_options)
        if not option:
            return None
        await run.decide(options[shown_options.index(option)], key, by=person)
        answer = await run.ask(key, question, options=options)
    # An answer that is none of the rows means that none of them is meant.
    for row in rows:
        if row.says == answer.text:
            return row.reads_as, answer.by
    return None
