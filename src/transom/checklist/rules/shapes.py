"""The shape of a knowledge file (`transom.knowledge/1`): everything that a domain is, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from transom.canonical import Json
from transom.checklist.atoms import Condition, Count, DottedField, Rank, Shape
from transom.checklist.rules.defaults import filled
from transom.checklist.rules.log_rules import Extraction
from transom.checklist.rules.saying import (
    Entity,
    Form,
    HeadRegex,
    Key,
    KnownClaim,
    Line,
    Lists,
    Regex,
    Template,
)

# Special scenarios of a spec.
MIN_SPECIAL: Final = 4


class KnownField(Shape):
    """A field of a category; `example` is a value of its type. An optional one is used only
    where a spec names it.
    """

    name: Key
    type: Literal["String", "Boolean", "Integer", "Number", "List", "Object"]
    about: Line
    example: Json
    optional: bool = False


class Guide(Shape):
    """Section 4.1 on a category: where it stands, by which words it is found, how its fields are
    filled.
    """

    location: Line
    keywords: Annotated[tuple[Line, ...], Field(min_length=1)]
    method: Line


class KnownCategory(Shape):
    """A key of parsed_fields. `entity` is None where every description of the domain needs it."""

    key: Key
    entity: Key | None = None
    name: Line
    purpose: Line
    fields: Annotated[tuple[KnownField, ...], Field(min_length=1)]
    guide: Guide


class Limit(Shape):
    """A field that is compared with a number of the description: choices `relation`, `limit` and
    `unit`.

    Attributes:
        units: key of the choice `unit` -> how many of the field's own units it is.
        usual: the relation that is meant most often, shown first where a description names none.
    """

    field: DottedField
    usual: Literal["ge", "le"] = "le"
    units: dict[Key, Decimal] = Field(default_factory=dict)


class Chosen(Shape):
    """A field that must equal what was chosen; where nothing was chosen there is no condition."""

    field: DottedField
    choice: Key


class KnownExample(Shape):
    """A text and what an item says of it; for the ItemSpec, and for the gates that try a checker on
    it.

    Attributes:
        text: `{good}` and `{bad}` stand for numbers on either side of a limit, in the unit of its
            field.
        fields: dotted fields that it must yield; a text may be `{good}` or `{bad}`.
        file: a name for the file, where its kind matters.
        when: choices without which it does not fit; `unless`: choices with which it does not.
    """

    outcome: Literal["holds", "fails", "none", "error"]
    text: str
    fields: dict[DottedField, Json] = Field(default_factory=dict)
    file: Line | None = None
    when: dict[Key, Line] = Field(default_factory=dict)
    unless: tuple[Key, ...] = ()


class KnownItem(Shape):
    """A validation item.

    Attributes:
        name: may hold `{list}` for a word that the description chose, e.g. `Endpoint {check}
            Timing`.
        when: a choice, or a value of one, without which the item is not used; `unless`: a choice
            with which it is not. limit, chosen: conditions that depend on the description, in place
            of `condition`. take, count, only_with: as `ValidationItem` has them.
        compares: whether it becomes a pattern item when the user gives patterns; `needs_patterns`:
            it says nothing without them.
        waivable: whether anybody would sign for its failure; `why` says why (not).
        hints: by these the nearest line is found when nothing matched.
    """

    key: Key
    entity: Key | None = None
    name: Line
    purpose: Line
    required: Annotated[tuple[DottedField, ...], Field(min_length=1)]
    when: Key | None = None
    unless: Key | None = None
    condition: Condition | None = None
    limit: Limit | None = None
    chosen: Chosen | None = None
    completeness: Line
    mode: Literal["require", "forbid"] = "require"
    quantifier: Literal["exists", "each", "per_file"]
    take: Literal["first", "last"] | None = None
    count: Count | None = None
    only_with: Key | None = None
    compares: bool = False
    needs_patterns: bool = False
    passes: Line
    fails: Line
    step: Line
    waivable: bool
    why: Line
    hints: tuple[Line, ...] = ()
    examples: tuple[KnownExample, ...] = ()

    def fields(self) -> tuple[str, ...]:
        """All fields that it looks at."""
        told = [
            part.field for part in (self.condition, self.limit, self.chosen) if part is not None
        ]
        return (*self.required, *told)


class KnownWaiver(Shape):
    """A situation in which failures of `items` are acceptable."""

    name: Line
    items: Annotated[tuple[Key, ...], Field(min_length=1)]
    scenario: Line
    cases: tuple[Line, ...] = ()
    reason: Line
    keywords: Annotated[tuple[Line, ...], Field(min_length=1)]
    stages: tuple[Line, ...] = ()
    justification: Line


class KnownSource(Shape):
    """A kind of file.

    Attributes:
        files: globs of its names (`*`, `?`), compared without `.gz`.
        signs: a regex for a line by which such a file is known whatever its name.
        must_be_read: regexes of lines that must not be overlooked: one that no rule reads is an
            error at run time.
        may_be_skipped: regexes of such lines that tell nothing: echoed commands, quotations, counts
            of none.
        counts: category -> regexes of lines whose group `count` says how many there were: one that
            counts some where none was read is an error.
        error_if_nothing_read: the error when nothing was read from a file that `mentions` the
            matter; None where that is no error.
        known_by: one of these stands in every such file that is understood, else a model is needed.
        refuse: regex -> why such a file is not understood.
        ends: regex of what begins -> regex of its end; a file without the end is cut short.
        called: a regex for the words of a description that are about this file, so that it must be
            among the inputs.
        stage: how such a file is held to the stage or step that a description names: its name must
            say it (`named`), or must not deny it and the text must name no other (`silent`), and
            show nothing twice (`once`).
        about: what it tells.
    """

    kind: Key
    rank: Rank
    entity: Key | None = None
    files: Annotated[tuple[Line, ...], Field(min_length=1)]
    signs: HeadRegex | None = None
    must_be_read: tuple[Regex, ...] = ()
    may_be_skipped: tuple[Regex, ...] = ()
    counts: dict[Key, tuple[Regex, ...]] = Field(default_factory=dict)
    mentions: Regex = "."
    error_if_nothing_read: Line | None = None
    known_by: tuple[Regex, ...] = ()
    refuse: dict[Regex, Line] = Field(default_factory=dict)
    ends: dict[Regex, Regex] = Field(default_factory=dict)
    called: Regex | None = None
    stage: Literal["named", "silent", "once"] | None = None
    about: Line


class KnownScenario(Shape):
    """A special scenario: which items are then found and which missing, and what a waiver does."""

    name: Line
    entity: Key | None = None
    context: Line
    found: tuple[Key, ...] = ()
    missing: tuple[Key, ...] = ()
    extra: Line = ""
    waiver: Line


class Domain(Shape):
    """A field of knowledge: what calls for it, and everything that a spec and a checker need.

    Attributes:
        called: a regex for what a description must say before this domain is proposed for it.
        shared: names of shared lists that it has among its `lists`.
        lists: named word lists; one with keys is a choice that narrows the check (`check: {setup:
            [...]}`).
        claims: what calls for the domain, in the ways of saying it that all domains share.
        forms: sentences of its own beside these.
        narrows: choice -> the field, or fields, that must then have the chosen value; `a_and_b`
            stands for both.
        waiver_words: words that may stand in the free part of a waive hint.
        examples: output examples: category -> an entry without parsed_fields and source_file's
            folder.
    """

    schema_: Literal["transom.knowledge/1"] = Field(alias="schema")
    domain: Key
    title: Line
    extracts: Line
    question: Line
    called: Line | None = None
    entities: tuple[Entity, ...] = ()
    shared: tuple[Key, ...] = ()
    lists: Lists = Field(default_factory=dict)
    narrows: dict[Key, DottedField | tuple[DottedField, ...]] = Field(default_factory=dict)
    waiver_words: tuple[Template, ...] = ()
    claims: tuple[KnownClaim, ...] = ()
    forms: tuple[Form, ...] = ()
    categories: Annotated[tuple[KnownCategory, ...], Field(min_length=1)]
    items: Annotated[tuple[KnownItem, ...], Field(min_length=1)]
    waivers: tuple[KnownWaiver, ...] = ()
    sources: Annotated[tuple[KnownSource, ...], Field(min_length=1)]
    extraction: Annotated[tuple[Extraction, ...], Field(min_length=1, alias="read")]
    tolerance: tuple[Line, ...]
    edge_cases: tuple[Line, ...]
    scenarios: Annotated[tuple[KnownScenario, ...], Field(min_length=MIN_SPECIAL)]
    examples: Annotated[tuple[dict[str, Json], ...], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _filled(cls, data: object) -> object:
        return filled(data) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _consistent(self) -> Domain:
        problems = list(_problems(self))
        if problems:
            raise ValueError(problems[0])
        return self

    def category(self, key: str) -> KnownCategory | None:
        return next((c for c in self.categories if c.key == key), None)

    def item(self, key: str) -> KnownItem:
        return next(i for i in self.items if i.key == key)

    def choices(self) -> dict[str, tuple[str, ...]]:
        """Lists with keys: name -> values."""
        return {name: tuple(words) for name, words in self.lists.items() if isinstance(words, dict)}

    def narrowed(self, choices: Mapping[str, str]) -> dict[str, str]:
        """Dotted field -> the value that it must have by what was chosen."""
        told = [
            (self.narrows[name], value) for name, value in choices.items() if name in self.narrows
        ]
        return {
            field: value for at, value in told for field in ([at] if isinstance(at, str) else at)
        }

    def dotted(self) -> frozenset[str]:
        return frozenset(f"{c.key}.{f.name}" for c in self.categories for f in c.fields)


def _problems(domain: Domain) -> Iterator[str]:
    """Problems that the shapes cannot see: names that point at nothing."""
    entities = {entity.key for entity in domain.entities}
    keys = {category.key for category in domain.categories}
    kinds = {source.kind for source in domain.sources}
    items = {item.key for item in domain.items}
    named = [thing.entity for thing in domain.categories] + [thing.entity for thing in domain.items]
    named += [thing.entity for thing in domain.sources] + [
        thing.entity for thing in domain.scenarios
    ]
    yield from (
        f"there is no entity {name}" for name in named if name is not None and name not in entities
    )
    for item in domain.items:
        strange = [name for name in item.fields() if name not in domain.dotted()]
        yield from (f"item {item.key} names {name}, which no category has" for name in strange)
        if item.only_with not in (None, *kinds):
            yield f"item {item.key} is asked only with {item.only_with}, which no source is"
    used = [key for waiver in domain.waivers for key in waiver.items]
    used += [key for scenario in domain.scenarios for key in (*scenario.found, *scenario.missing)]
    yield from (f"there is no item {key}" for key in used if key not in items)
    for rule in domain.extraction:
        if rule.file not in kinds:
            yield f"an extraction rule reads {rule.file}, which no source is"
        yield from (f"there is no category {key}" for key in rule.categories() if key not in keys)
    told = [key for source in domain.sources for key in source.counts]
    yield from (f"there is no category {key}" for key in told if key not in keys)
    yield from (
        f"narrows.{name} is no choice among lists"
        for name in domain.narrows
        if name not in domain.choices()
    )
    if not domain.claims and not any(form.kind == "claim" for form in domain.forms):
        yield "no form is a claim, so nothing calls for this domain"
