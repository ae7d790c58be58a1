"""What a pass over a report yields: sections with their facts, and unexplained lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Literal, NamedTuple

from transom.evidence.account import shape_of
from transom.evidence.identity import Identity
from transom.evidence.numbers import PrintedNumber, UnknownNumber, read_number
from transom.evidence.units import UnitSource
from transom.formats.reports.report_format import Provenance
from transom.formats.text_files import Facts

Completeness = Literal["complete", "cut", "no_end"]
"""`complete`: the end was seen, and nothing of the report follows it; `cut`: the end is missing;
`no_end`: the tool prints no end, so nobody can tell.
"""
UnexplainedReason = Literal["trouble", "unknown", "topic", "not_a_number", "narrowed", "printed"]
"""Why an unexplained line is listed: it has words of trouble; each line must be known and this one
is not; it speaks of the matter; a value in it is no number; it is a command whose report shows only
a part of the design; or it is a command that may have printed a line which was read.
"""

WHOLE = "all"
"""The word of each format for all groups, corners or views together."""

_LARGEST = Decimal("1e20")
# The largest integers of 32 and 64 bits, and their first digits as other units and formats print
# them: 2147483.647 ns, 2.14748e+09.
_SATURATED = (
    *("2147483647", "2147483648", "4294967295", "4294967296"),
    *("9223372036854775807", "9223372036854775808", "18446744073709551615"),
)
_LEAST_SATURATED_DIGITS = 6
_ALL_NINES = 7
_MOST_SHAPES = 2_000
_MOST_LINES = 50


class NumberRule(NamedTuple):
    """How the value of a measurement is printed; see `NumberForm`."""

    units: tuple[UnitSource, ...] = ()
    is_count: bool = False
    is_share: bool = False
    sentinels: tuple[str, ...] = ()


@lru_cache(maxsize=65_536)
def _printed(value: str, rule: NumberRule) -> PrintedNumber | UnknownNumber:
    """Return the number that a value prints."""
    number = read_number(
        value,
        units=rule.units,
        decimal_mark=".",
        sentinels=rule.sentinels,
        is_count=rule.is_count,
        is_share=rule.is_share,
    )
    # Tools print a huge number for "there was none": OpenSTA 1e+30, for example.
    if isinstance(number, PrintedNumber) and _stands_for_none(number.value):
        return UnknownNumber(value, "not_measured", f"{value!r} stands for no value")
    return number


def _stands_for_none(value: Decimal) -> bool:
    """Return whether a number is too large, or the largest that an integer can hold in some unit.

    A tool that overflows, or that begins a search for the smallest value with the largest one,
    prints it. So it does with a row of nines.
    """
    if abs(value) >= _LARGEST:
        return True
    digits = "".join(map(str, value.as_tuple().digits)).strip("0")
    if len(digits) >= _ALL_NINES and set(digits) == {"9"}:
        return True
    if len(digits) < _LEAST_SATURATED_DIGITS:
        return False
    for largest in _SATURATED:
        # Some formats print fewer digits, and round the last one.
        cut = largest[: len(digits)]
        rounded = str(int(cut) + 1) if largest[len(digits) :][:1] >= "5" else cut
        if digits in (cut, rounded):
            return True
    return False


class Measurement(NamedTuple):
    """One fact of a report: a number or a status, what it belongs to, and its line.

    Attributes:
        name: such as `worst_slack`; each format uses the same name for the same thing.
        line: 1-based line of the file.
        scope: what it belongs to: check, group, corner, mode, layer, object, ...
        value: the printed value, or None if the row has none.
        text: the printed status or message.
        is_trouble: a message of trouble, which caps each claim that does not judge it.
        rule: how the value is printed.
        content: the line of the report; of a tree, of the line that stands for its part.
    """

    name: str
    line: int
    scope: Mapping[str, str]
    value: str | None = None
    text: str = ""
    is_trouble: bool = False
    rule: NumberRule = NumberRule()
    content: str = ""

    @property
    def number(self) -> PrintedNumber | UnknownNumber | None:
        """The number, the reason why there is none, or None for a row without a value."""
        return None if self.value is None else _printed(self.value, self.rule)

    @property
    def is_not_measured(self) -> bool:
        """Whether a value stands there that is no number, such as INF or N/A."""
        number = self.number
        return isinstance(number, UnknownNumber) and number.reason == "not_measured"


@dataclass
class UnexplainedShape:
    """Unexplained lines that differ in numbers, quoted texts and paths only.

    Attributes:
        shape: the line without its numbers, quoted texts and paths (see `account.shape_of`).
        reason: why the lines are listed.
        words: the words of trouble or of the matter.
        text: the first such line.
        count: how many there are.
        lines: their 1-based numbers; the first fifty.
    """

    shape: str
    reason: UnexplainedReason
    words: tuple[str, ...]
    text: str
    count: int = 0
    lines: list[int] = field(default_factory=list)


class UnexplainedLines:
    """Collects unexplained lines by their shape, in bounded memory.

    Attributes:
        shapes: the shapes, in the order of their first lines.
        dropped: number of lines whose shape is not kept, since there are too many shapes.
    """

    def __init__(self) -> None:
        self._by_key: dict[tuple[str, UnexplainedReason], UnexplainedShape] = {}
        self.dropped = 0

    @property
    def shapes(self) -> list[UnexplainedShape]:
        return list(self._by_key.values())

    def add(
        self, number: int, text: str, reason: UnexplainedReason, words: Iterable[str] = ()
    ) -> None:
        """Add a line with its 1-based number."""
        shape = shape_of(text)
        entry = self._by_key.get((shape, reason))
        if entry is None:
            if len(self._by_key) >= _MOST_SHAPES:
                self.dropped += 1
                return
            entry = UnexplainedShape(shape, reason, tuple(dict.fromkeys(words)), text.strip())
            self._by_key[shape, reason] = entry
        entry.count += 1
        if len(entry.lines) < _MOST_LINES:
            entry.lines.append(number)


@dataclass
class SectionReading:
    """One report inside a file.

    Attributes:
        format: name of its format.
        tool, title, seen: see `ReportFormat`.
        first_line, last_line: its 1-based lines.
        evidence: the line by which it was recognised.
        inside: the format of the log that holds it, or "".
        is_log: whether it is a log, in which most lines may be unknown.
        identity: what it says of its subject, and what the log that holds it says.
        measurements: its facts, in the order of the lines.
        last_fact_line: line of the last fact, or 0.
        completed_at: line of its end, or 0.
        has_end: whether the tool prints an end.
        end_is_last: no fact may follow the end.
        cut_at: first lines of parts of the section that were never ended.
    """

    format: str
    tool: str
    title: str
    seen: Provenance
    first_line: int
    last_line: int = 0
    evidence: str = ""
    inside: str = ""
    is_log: bool = False
    identity: Identity = field(default_factory=Identity)
    measurements: list[Measurement] = field(default_factory=list)
    last_fact_line: int = 0
    completed_at: int = 0
    has_end: bool = True
    end_is_last: bool = False
    cut_at: list[int] = field(default_factory=list)

    @property
    def completeness(self) -> Completeness:
        if self.cut_at:
            return "cut"
        if not self.has_end:
            return "no_end"
        if not self.completed_at or (self.end_is_last and self.completed_at < self.last_fact_line):
            return "cut"
        return "complete"


@dataclass
class FileReading:
    """Everything that a pass over one file yields.

    Attributes:
        path: the file.
        sections: the reports in it, in the order of their first lines; none if no format is
            recognised.
        unexplained: lines that no rule explains, by shape.
        ambiguous: for the first line of a section that several formats claim, their names.
        facts: digest, size, number of lines and encoding.
        lines: number of its lines.
        fact_count: number of the facts of all sections, also of those that nobody asked for.
        unlisted: number of the facts that hold and that are not kept, since there are so many.
        sought: lines that hold a text which the reader was asked to look for.
    """

    path: str
    sections: list[SectionReading] = field(default_factory=list)
    unexplained: list[UnexplainedShape] = field(default_factory=list)
    ambiguous: dict[int, tuple[str, ...]] = field(default_factory=dict)
    facts: Facts | None = None
    lines: int = 0
    fact_count: int = 0
    unlisted: int = 0
    sought: list[Measurement] = field(default_factory=list)

    @property
    def formats(self) -> list[str]:
        """The formats of the sections that lie in no other section."""
        return list(
            dict.fromkeys(section.format for section in self.sections if not section.inside)
        )

    @property
    def measurements(self) -> list[Measurement]:
        """The facts of all sections, and the lines that were looked for."""
        facts = [fact for section in self.sections for fact in section.measurements]
        return [*facts, *self.sought]
