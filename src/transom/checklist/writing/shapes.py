"""Contents of an ItemSpec as typed values. `document.py` reads them from Markdown; every shape
knows its line.

A part that is not there is an empty text, an empty tuple or None, never an error: the gate names
what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator

from transom.canonical import Json
from transom.checklist.atoms import Shape, Source, ValidationItem


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
        """Return the fields as Section 2 names them: `netlist.tool_name`."""
        if self.key:
            return tuple(f"{self.key}.{f.name}" for f in self.fields)
        return ()


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
        """Return the keys of parsed_fields, in order."""
        names = []
        for category in self.categories:
            if category.key:
                names.append(category.key)
        return tuple(names)


UNSPECIFIED: Final = "unspecified"
"""What `select` of an item holds if its text names no field."""


@dataclass(frozen=True)
class DescribedItem:
    """Section 2: one validation item, and what the section says of it in words.

    Attributes:
        rule: the item as the runtime evaluates it. What the text leaves open has its default, and
            `select` is the field of the condition, or else the first required one.
        problems: for each part of `rule` that is missing or cannot be read, what it must be.
        condition_text: the condition as written, "" if the label is missing.
    """

    rule: ValidationItem
    problems: Mapping[str, str]
    purpose: str
    completeness: str
    condition_text: str
    passes: str
    fails: str
    line: int

    @property
    def id(self) -> str:
        """Return the number of its heading."""
        return self.rule.id

    @property
    def name(self) -> str:
        """Return the text of its heading."""
        return self.rule.name

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the fields that the item looks at, each once."""
        condition_field = [self.rule.condition.field] if self.rule.condition else []
        return tuple(dict.fromkeys([*self.rule.required, *condition_field]))


@dataclass(frozen=True)
class CheckSection:
    """Section 2.

    Attributes:
        pattern_ids, existence_ids: what the part on pattern matching says; None if the label is
            missing.
        correspondence: item ids in the order of `pattern_items`; None if the label is missing.
    """

    interpretation: str = ""
    capability_type: int | None = None
    items: tuple[DescribedItem, ...] = ()
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
        """Return the ids of the items, in order."""
        return tuple(item.id for item in self.items)

    def ids_of(self, check: Literal["existence", "pattern"]) -> list[str]:
        """Return the ids of the items whose text asks for this kind of check."""
        items = []
        for item in self.items:
            if "check" not in item.problems:
                items.append(item)
        return [item.id for item in items if item.rule.check == check]


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
    """Whether an item may be waived at all. `waivable` is None if the text says neither yes
    nor no.
    """

    item: str
    waivable: bool | None
    why: str
    line: int


@dataclass(frozen=True)
class WaiverSection:
    """Section 3. `supported` is None if the section does not say it."""

    supported: bool | None = None
    scenarios: tuple[WaiverScenario, ...] = ()
    global_mode: str = ""
    selective_mode: str = ""
    decisions: tuple[WaiverDecision, ...] = ()
    line: int = 1

    def keywords_of(self, item: str) -> tuple[str, ...]:
        """Return the keywords of every scenario that covers the item, each once, in order."""
        return tuple(
            dict.fromkeys(word for scenario in self._of(item) for word in scenario.keywords)
        )

    def stages_of(self, item: str) -> tuple[str, ...]:
        """Return the stage words of the same scenarios."""
        return tuple(dict.fromkeys(word for scenario in self._of(item) for word in scenario.stages))

    def _of(self, item: str) -> Iterator[WaiverScenario]:
        return (scenario for scenario in self.scenarios if item in scenario.items)


@dataclass(frozen=True)
class DescribedSource:
    """Section 4.1: where data comes from.

    Attributes:
        source: the source as atom A declares it. A fallback may have no kind of its own; then
            `kind` is empty.
        note: what the text says of it.
    """

    source: Source
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


def _as_list(fields: object) -> object:
    if fields is None:
        return []
    if isinstance(fields, dict):
        return [fields]
    return fields


def _dotted_names(fields: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
    """Return the fields with dotted names: `{lvs: {unique: true}}` means `{lvs.unique: true}`."""
    return tuple(dict(_dotted(mapping)) for mapping in fields if mapping)


def _dotted(mapping: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Json]]:
    for name, value in mapping.items():
        if isinstance(value, dict):
            yield from _dotted(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


class SpecExample(Shape):
    """Section 4.1: a text, and the result that it must have if it is all that a file holds.

    Attributes:
        item: the id of the validation item.
        outcome: the item holds, it fails, or the text is none of its entries.
        text: the text.
        fields: for each entry, in order, dotted names and the values that it must yield. The text
            may write one mapping instead of a list, and nested mappings instead of dotted names.
        file: a name for the file, if its kind matters.
    """

    item: Annotated[str, BeforeValidator(str)]
    outcome: Literal["holds", "fails", "none"]
    text: Annotated[str, AfterValidator(lambda text: text.strip("\n"))]
    fields: Annotated[
        tuple[Mapping[str, Any], ...],
        BeforeValidator(_as_list),
        AfterValidator(_dotted_names),
    ] = ()
    file: str | None = None


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
    """Section 4.

    Attributes:
        examples_problem: why the examples cannot be read, "" if they can or there are none.
        no_examples: the items of which the text says that it has no example.
        lines: the lines of the headings 4.1, 4.2 and 4.3 and of the fence with the examples, as far
            as they are there.
    """

    sources: tuple[DescribedSource, ...] = ()
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
