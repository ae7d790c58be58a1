"""Bad lines laid into a good report: the verdict of each item has to change.

Altering the lines that atom A reads does not show what it passes over. So each item gets a report
that it accepts, and bad lines are added to it: the examples of the ItemSpec that fail, copies of
judged lines whose value breaks the condition, and messages of trouble. A copy or an example that
leaves the verdict positive was not read. A message may be left unread, since the account of a check
names it; but atom A must not read it as good news.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rapidfuzz import fuzz

from transom.checklist.atoms import Entry, Operator, Requirements, ValidationItem
from transom.checklist.building.mutation.alterations import is_prose
from transom.checklist.building.mutation.bad_lines import (
    BadLines,
    bad_copies,
    behind_record,
    messages_of_trouble,
    takes_more_lines,
)
from transom.checklist.building.mutation.examples import Examples
from transom.checklist.building.prober import RealFile
from transom.checklist.judging.entries import has_field, shortfall
from transom.checklist.writing.shapes import SpecDocument, SpecExample

WAY: Final = "bad line added"
_BASES: Final = 2
_LONGEST_SHOWN: Final = 90
_LIKE_A_ROW: Final = 75.0
# Of an item with one of these counts, more lines can never break it.
_AT_LEAST: Final = (Operator.GE, Operator.GT, Operator.NOT_EQUALS)


@dataclass(frozen=True)
class AdditionTrial:
    """A trial of bad lines in a report: `problem` says what went unnoticed, or is None."""

    file: str
    line: int
    problem: str | None = None


async def try_additions(examples: Examples, spec: SpecDocument) -> list[AdditionTrial]:
    """Try each item of a checker on good reports with bad lines in them."""
    trials = list[AdditionTrial]()
    for item in examples.config.items:
        # A further line changes nothing if one entry suffices, or if patterns name what may appear.
        if item.quantifier == "exists" or item.mode == "allow":
            continue
        # More lines can only help an item that asks for at least some.
        if item.count is not None and item.count.op in _AT_LEAST:
            continue
        item_trials = list[AdditionTrial]()
        for report in await _good_reports(examples, item, spec):
            item_trials += await _try_report(examples, item, report, spec)
        trials += item_trials
    return trials


async def _try_report(
    examples: Examples, item: ValidationItem, report: RealFile, spec: SpecDocument
) -> list[AdditionTrial]:
    """Try one item on one good report."""
    entries = (await examples.prober.answer(report.name, report.text)).entries
    judged = list[Entry]()
    for entry in entries:
        if entry.line_number and has_field(entry.parsed_fields, item.select):
            judged.append(entry)
    # Copies first: they are the surest, since the report itself has such lines.
    additions = list(bad_copies(item, report, judged, spec))
    for example in spec.guide.examples:
        if example.item == item.id and example.outcome == "fails":
            additions += await _failing_example(examples, item, example, report, judged)
    additions += list(messages_of_trouble(report))
    trials = list[AdditionTrial]()
    for addition in additions:
        problem = await _problem(examples, item, report, addition)
        trials.append(AdditionTrial(report.name, addition.after_line, problem))
    if _is_one_fact(item) and any(trial.problem is None for trial in trials):
        # The first statement of a version may count, or the last.
        trials = [trial for trial in trials if trial.problem is None]
    return trials


def _is_one_fact(item: ValidationItem) -> bool:
    """Return whether an item asks each file for one fact, such as the version of its tool."""
    condition = item.condition
    is_fact = condition is None or condition.op in (Operator.MATCHES, Operator.EXISTS)
    return is_fact and item.mode == "require" and item.quantifier == "per_file"


async def _problem(
    examples: Examples, item: ValidationItem, report: RealFile, addition: BadLines
) -> str | None:
    """Return why bad lines were not noticed, or None if they were."""
    text = addition.laid_into(report.lines)
    if not await is_accepted(examples, item, report.name, text):
        return None
    bad_text = " ".join(addition.text.split())
    if len(bad_text) > _LONGEST_SHOWN:
        bad_text = f"{bad_text[:_LONGEST_SHOWN]}..."
    place = f"behind line {addition.after_line} of {report.name}"
    if addition.replaces:
        place = f"in place of line {addition.after_line} of {report.name}"
    message = f"item {item.id} still holds with the bad line {bad_text!r} {place}"
    if addition.must_be_read:
        return f"{message}: atom A passes over it or reads it as good"
    # A message that is not read is for the account of the check, not for atom A.
    answer = await examples.prober.answer(report.name, text)
    numbers = addition.line_numbers()
    lines = text.split("\n")
    for entry in answer.entries:
        is_read = entry.line_number in numbers and has_field(entry.parsed_fields, item.select)
        # An entry that fulfils nothing (a count of others, say) excuses no line.
        if is_read and (shortfall(item, entry.parsed_fields) is None) is (item.mode == "require"):
            line = " ".join(lines[(entry.line_number or 1) - 1].split())
            return (
                f"item {item.id} still holds with the bad line {line!r} {place}:"
                " atom A reads it as good"
            )
    return None


async def is_accepted(examples: Examples, item: ValidationItem, name: str, text: str) -> bool:
    """Return whether one item holds on a text, without patterns and waivers."""
    if (await examples.prober.answer(name, text)).refused is not None:
        return False
    outcome, _, _ = await examples.judged_text(name, text, item, Requirements())
    troubles = (outcome.missing_items, outcome.extra_items, outcome.errors, outcome.unmeasured)
    return not any(troubles)


async def _good_reports(
    examples: Examples, item: ValidationItem, spec: SpecDocument
) -> list[RealFile]:
    """Return reports that an item accepts: real ones, if need be without what fails in them."""
    reports = list[RealFile]()
    for file in examples.files:
        if await is_accepted(examples, item, file.name, file.text):
            reports.append(RealFile(file.name, file.text))
            continue
        # A real report with one bad row is still the best report to add rows to.
        text = await _without_failing_lines(examples, item, file)
        if text is not None and await is_accepted(examples, item, file.name, text):
            reports.append(RealFile(file.name, text))
    # Without any real report an example has to do.
    for example in spec.guide.examples if not reports else ():
        name = examples.name_of(example)
        is_good = example.item == item.id and example.outcome == "holds"
        if is_good and await is_accepted(examples, item, name, f"{example.text}\n"):
            reports.append(RealFile(name, f"{example.text}\n"))
    return reports[:_BASES]


async def _without_failing_lines(
    examples: Examples, item: ValidationItem, file: RealFile
) -> str | None:
    """Return a report in which the lines that break an item are blank, if it still has others."""
    lines = file.lines
    has_good = False
    for entry in (await examples.prober.answer(file.name, file.text)).entries:
        if not entry.line_number or not has_field(entry.parsed_fields, item.select):
            continue
        if (shortfall(item, entry.parsed_fields) is None) is (item.mode == "require"):
            has_good = True
        else:
            lines[entry.line_number - 1] = ""
    if has_good:
        return "\n".join(lines)
    return None


async def _failing_example(
    examples: Examples,
    item: ValidationItem,
    example: SpecExample,
    report: RealFile,
    judged: Sequence[Entry],
) -> list[BadLines]:
    """Return an example that fails, at the places where a report may have it.

    An example that fails by what it lacks breaks nothing if it is added.
    """
    name = examples.name_of(example)
    alone = (await examples.prober.answer(name, f"{example.text}\n")).entries
    is_read = any(has_field(entry.parsed_fields, item.select) for entry in alone)
    if not is_read and not _is_row(item, example, report, judged):
        return []
    # An example that does not even fail alone is another gate's finding.
    if await is_accepted(examples, item, name, f"{example.text}\n"):
        return []
    if not takes_more_lines(report):
        return []
    text = example.text.strip("\n")
    count = len(report.lines) - (report.lines[-1] == "")
    numbers = [entry.line_number or 1 for entry in judged]
    positions = list[int]()
    # An entry before the one that counts changes nothing, so it is not tried there.
    if item.take != "last":
        positions.append(0)
    if item.take is None and not numbers:
        positions += [count // 4, count // 2, 3 * count // 4]
    if item.take is None and numbers and "\n" not in text:
        positions += [min(numbers), max(numbers)]
    if item.take != "first":
        positions.append(count)
    if not is_prose(report):
        # The first line of a table names its columns.
        positions = [number for number in positions if number > 0]
    places_in_report = dict.fromkeys(behind_record(report, number) for number in positions)
    return [BadLines(text, number) for number in places_in_report]


def _is_row(
    item: ValidationItem, example: SpecExample, report: RealFile, judged: Sequence[Entry]
) -> bool:
    """Return whether an example is a row as those that are judged, although atom A drops it."""
    row = example.text.strip("\n")
    if item.quantifier != "each" or item.mode != "require" or "\n" in row:
        return False
    lines = [report.lines[(entry.line_number or 1) - 1] for entry in judged]
    return any(fuzz.ratio(line, row) >= _LIKE_A_ROW for line in lines)
