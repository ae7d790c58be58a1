"""Large reports, cut down to what the trials need: each of many trials reads the report again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from transom.checklist.building.prober import ParserAnswer, Prober, RealFile

SMALL: Final = 1 << 15
"""Characters up to which a report is tried as it is."""
_HEAD, _AROUND, _TAIL = 40, 4, 20
_ROWS: Final = 40
_LONGEST_LINE: Final = 2_000


async def shortened(
    prober: Prober, file: RealFile, answer: ParserAnswer
) -> tuple[RealFile, ParserAnswer]:
    """Return a report with fewer rows and what atom A reads from it.

    The report stays whole if atom A reads something else from the part, as it does in JSON.
    """
    if len(file.text) <= SMALL:
        return file, answer
    lines = list(_chosen_lines(file.lines, answer))
    part = replace(file, text="\n".join(lines), known_entries=None)
    if len(part.text) >= len(file.text):
        return file, answer
    # Fewer entries are fine; other entries would make the trials meaningless.
    part_answer = await prober.answer(part.name, part.text)
    fields = set(answer.fields)
    is_true = part_answer.refused is None and fields.issuperset(part_answer.fields)
    if not is_true or (answer.entries and not part_answer.entries):
        return file, answer
    return part, part_answer


def _chosen_lines(lines: Sequence[str], answer: ParserAnswer) -> Iterator[str]:
    """Yield the first and last lines of a report, and those around some of the entries."""
    numbers = []
    for entry in answer.entries:
        if entry.line_number:
            numbers.append(entry.line_number)
    step = max(1, len(numbers) // _ROWS)
    rows = {*numbers[::step], *numbers[-1:]}
    chosen = {*range(1, _HEAD + 1), *range(len(lines) - _TAIL, len(lines) + 1)}
    for number in rows:
        chosen.update(range(number - _AROUND, number + _AROUND + 1))
    # A row of a table that no entry stands on may be very long.
    for number, line in enumerate(lines, 1):
        if number in chosen:
            yield line if number in rows else line[:_LONGEST_LINE]
