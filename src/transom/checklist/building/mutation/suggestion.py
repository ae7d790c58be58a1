"""Lines of the current files that a person may confirm as examples of an ItemSpec.

An ItemSpec that somebody wrote by hand often has no examples. A checker cannot be proven right by
what it reads itself, so a person is asked once for one good and one bad line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from transom.checklist.atoms import Entry, ValidationItem
from transom.checklist.building.mutation.alterations import places
from transom.checklist.building.mutation.examples import Examples
from transom.checklist.building.mutation.values import bad_texts
from transom.checklist.judging.entries import field_of, has_field, shortfall, show

ExampleOutcome = Literal["holds", "fails"]


@dataclass(frozen=True)
class SuggestedLine:
    """A line that atom A reads as good or bad, for a person to confirm.

    Attributes:
        place: file and line, or "" for a copy of a good line with a bad value.
        reading: what atom A reads from it.
    """

    item: str
    outcome: ExampleOutcome
    text: str
    place: str
    reading: str

    def __str__(self) -> str:
        """Return the line as a question shows it."""
        place = f" ({self.place})" if self.place else ""
        reading = f", read as {self.reading}" if self.reading else ""
        return f"{' '.join(self.text.split())!r}{place}{reading}"


async def suggest_lines(
    examples: Examples, item: ValidationItem, outcomes: list[ExampleOutcome]
) -> list[SuggestedLine]:
    """Return at most one line for each outcome that an item has no example of."""
    lines = dict[ExampleOutcome, SuggestedLine]()
    for file in examples.files:
        for entry in (await examples.prober.answer(file.name, file.text)).entries:
            if not entry.line_number or not has_field(entry.parsed_fields, item.select):
                continue
            text = file.lines[entry.line_number - 1]
            place = f"{file.name}:{entry.line_number}"
            outcome = _outcome(item, entry)
            lines.setdefault(
                outcome, SuggestedLine(item.id, outcome, text, place, _reading(item, entry))
            )
            copy = _bad_copy(item, entry, text) if outcome == "holds" else None
            if copy is not None:
                lines.setdefault("fails", SuggestedLine(item.id, "fails", copy, "", ""))
    return [lines[outcome] for outcome in outcomes if outcome in lines]


def _outcome(item: ValidationItem, entry: Entry) -> ExampleOutcome:
    is_fulfilled = shortfall(item, entry.parsed_fields) is None
    if is_fulfilled is (item.mode == "require"):
        return "holds"
    return "fails"


def _reading(item: ValidationItem, entry: Entry) -> str:
    field = item.condition.field if item.condition else item.select
    return f"{field} = {show(field_of(entry.parsed_fields, field))}"


def _bad_copy(item: ValidationItem, entry: Entry, line: str) -> str | None:
    """Return the line with a value that breaks the condition, if its value is printed in it."""
    if item.condition is None:
        return None
    value = field_of(entry.parsed_fields, item.condition.field)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if not str(value).strip() or len(places(line, value)) != 1:
        return None
    texts = [text for text, _ in bad_texts(item, line, value)]
    # The last number is clearly beyond the limit.
    if texts:
        return texts[-1]
    return None
