"""Contents of an ItemSpec as typed values. `document.py` reads them from Markdown; every shape
knows its line.

A part that is not there is an empty text, an empty tuple or None, never an error: the gate names
what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from transom.canonical import Json
from transom.checklist.atoms import Condition, Count, Rank


@dataclass(frozen=True)
class SpecField:
    """One field of a category. `type` is one of `FIELD_TYPES`, or the word as written."""

    name: str
    type: str
    meaning: str
    line: int


@dataclass(frozen=True)
class Category:
    """Section 1: one category of information; without a key its fields are those of the entry
    itself.
    """

    number: str
    name: str
    key: str | None
    purpose: str
    fields: tuple[SpecField, ...]
    line: int

    def dotted(self) -> tuple[str, ...]:
        """The fields as Section 2 names them: `netlist.tool_name`."""
        return tuple(f"{self.key}.{f.name}" for f in self.fields) if self.key else ()


@dataclass(frozen=True)
class Example:
    """A literal in a fence. `error` says why it could not be read; then `value` is None."""

    text: str
    value: Json
    line: int
    error: str | None = None


@dataclass(frozen=True)
class ParsingSection:
    """Section 1."""

    categories: tuple[Category, ...] = ()
    fields_example: Example | None = None
    output_example: Example | None = None
    line: int = 1

    def dotted_fields(self) -> tuple[str, ...]:
        return tuple(name for category in self.categories for name in category.dotted())

    def keys(self) -> tuple[str, ...]:
        """The keys of parsed_fields, in order."""
        return tuple(category.key for category in self.categories if category.key)


@dataclass(frozen=True)
class SpecItem:
    """Section 2: one validation item.

    Attributes:
        validation: None where the label is missing or cannot be read.
        condition: None where there is none, or `condition_text` cannot be read as one comparison.
        condition_text: as written, "" where the label is missing.
        take, count: None where the label is missing or says none; `take_text` and `count_text` are
            as written.
        only_with: the kind of file without which the item is not asked.
    """

    id: str
    name: str
    purpose: str
    required: tuple[str, ...]
    completeness: str
    validation: Literal["existence", "pattern"] | None
    condition: Condition | None
    condition_text: str
    mode: Literal["require", "forbid"] | None
    quantifier: Literal["exists", "each", "per_file"] | None
    passes: str
    fails: str
    line: int
    take: Literal["first", "last"] | None = None
    take_text: str = ""
    count: Count | None = None
    count_text: str = ""
    only_with: str | None = None

    @property
    def select(self) -> str | None:
        """The field that an entry of this item carries: the condition's, else the first required
        one.
        """
        if self.condition:
            return self.condition.field
        return self.required[0] if self.required else None


@dataclass(frozen=True)
class CheckSection:
    """Section 2.

    Attributes:
        pattern_ids, existence_ids: what the part on pattern matching says; None where the label is
            missing.
        correspondence: item ids in the order of `pattern_items`; None where the label is missing.
    """

    interpretation: str = ""
    capability_type: int | None = None
    items: tuple[SpecItem, ...] = ()
    pattern_ids: tuple[str, ...] | None = None
    existence_ids: tuple[str, ...] | None = None
    correspondence: tuple[str, ...] | None = None
    overall_pass: str = ""
    overall_fail: str = ""
    edge_cases: tuple[str, ...] = ()
    sequence: tuple[str, ...] = ()
    line: int = 1
    pattern_line: int = 1

    def item_ids(self) -> tuple[str, ...]:
        return tuple(item.id for item in self.items)


@dataclass(frozen=True)
class WaiverScenario:
    """Section 3: one situation in which failures of `items` are acceptable."""

    id: str
    name: str
    items: tuple[str, ...]
    scenario: str
    reason: str
    keywords: tuple[str, ...]
    stages: tuple[str, ...]
    justification: str
    line: int


@dataclass(frozen=True)
class WaiverDecision:
    """Whether an item may be waived at all. `waivable` is None where the text says neither yes
    nor no.
    """

    item: str
    waivable: bool | None
    why: str
    line: int


@dataclass(frozen=True)
class WaiverSection:
    """Section 3. `supported` is None where the section does not say it."""

    supported: bool | None = None
    scenarios: tuple[WaiverScenario, ...] = ()
    global_mode: str = ""
    selective_mode: str = ""
    decisions: tuple[WaiverDecision, ...] = ()
    line: int = 1

    def keywords_of(self, item: str) -> tuple[str, ...]:
        """Keywords of every scenario that covers the item, each once, in order."""
        return tuple(
            dict.fromkeys(word for scenario in self._of(item) for word in scenario.keywords)
        )

    def stages_of(self, item: str) -> tuple[str, ...]:
        """Stage words of the same scenarios."""
        return tuple(dict.fromkeys(word for scenario in self._of(item) for word in scenario.stages))

    def _of(self, item: str) -> Iterator[WaiverScenario]:
        return (scenario for scenario in self.scenarios if item in scenario.items)


@dataclass(frozen=True)
class SpecSource:
    """Section 4.1: where data comes from. A fallback may have no kind of its own; then `note`
    says what is read.
    """

    rank: Rank
    kind: str | None
    files: tuple[str, ...]
    note: str
    line: int


@dataclass(frozen=True)
class SpecPattern:
    """A regular expression of Section 4.1 as written. `note` is what the line says of it: its
    groups, its purpose.
    """

    regex: str
    line: int
    note: str = ""


@dataclass(frozen=True)
class Extraction:
    """Section 4.1: how the fields of a category are found."""

    category: str | None
    name: str
    location: str
    keywords: tuple[str, ...]
    patterns: tuple[SpecPattern, ...]
    method: str
    line: int


@dataclass(frozen=True)
class SpecExample:
    """Section 4.1: a text and what must come of it when it is all that a file holds.

    Attributes:
        outcome: the item holds, it fails, or the text is none of its entries.
        fields: of each entry, in order, dotted names and the values that it must yield.
        file: a name for the file, where its kind matters.
    """

    item: str
    outcome: Literal["holds", "fails", "none"]
    text: str
    fields: tuple[Mapping[str, Json], ...]
    file: str | None
    line: int


@dataclass(frozen=True)
class SpecialScenario:
    """Section 4.2: one special scenario; `items` are the ids that its check result names."""

    number: int
    name: str
    context: str
    check_result: str
    waiver_handling: str
    items: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class MatrixRow:
    """Section 4.3: one cell of the test matrix. `requirements` is `N/A` or `>0`, `waivers`
    `N/A`, `0` or `>0`.
    """

    number: int
    requirements: str
    waivers: str
    applicable: bool | None
    objective: str
    line: int


@dataclass(frozen=True)
class GuideSection:
    """Section 4. `lines` has the lines of the headings 4.1, 4.2 and 4.3 as far as they are there.

    `examples_problem` says why examples that are there cannot be read, `no_examples` of which items
    there are none.
    """

    sources: tuple[SpecSource, ...] = ()
    extractions: tuple[Extraction, ...] = ()
    examples: tuple[SpecExample, ...] = ()
    examples_problem: str = ""
    no_examples: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    error_tolerance: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    scenarios: tuple[SpecialScenario, ...] = ()
    matrix: tuple[MatrixRow, ...] = ()
    line: int = 1
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class SpecDocument:
    """A whole ItemSpec. `text` is the Markdown that it was read from; lines refer to it."""

    item_id: str
    description: str
    parsing: ParsingSection
    check: CheckSection
    waiver: WaiverSection
    guide: GuideSection
    text: str


@dataclass(frozen=True)
class Step:
    """One step of the analysis."""

    number: int
    text: str
    line: int


@dataclass(frozen=True)
class Analysis:
    """Round 1: seven steps and what follows; `reading` is how slash, "or", "(waive ...)" and the
    like were read.
    """

    steps: tuple[Step, ...]
    capability_type: int | None
    reason: str
    reading: str
    line: int
