"""The shape of a knowledge file (`transom.knowledge/1`): everything that a domain is, as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from transom.canonical import Json
from transom.checklist.atoms import Condition, DottedField, Rank, Shape

Key = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Line = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\n]*$")]
Template: TypeAlias = Line
Lists: TypeAlias = dict[Key, tuple[Template, ...] | dict[Key, tuple[Template, ...]]]
SentenceKind = Literal["claim", "unit", "text", "marker", "waive", "note"]


class Form(Shape):
    """Sentences that are understood, each as a template that must fit the whole of one.

    Attributes:
        kind: what such a sentence does; only a `claim` calls for the domain.
        means: how it was read, for the analysis.
    """

    kind: SentenceKind
    say: Annotated[tuple[Template, ...], Field(min_length=1)]
    means: Line


class KnownClaim(Shape):
    """What a description may claim, as parts that the common frames put into every way of saying it.

    All parts are templates. A frame that needs a part which is not given is not used, so a claim can be said only in
    ways that keep its meaning.

    Attributes:
        subject: of what something is said: `every block`.
        is_: what it must be, after *is* and *to be*: `switched off`.
        does: what it must do, with and without the s: `has a total power`, `have a total power`.
        adjective: what may stand before the subject: `the *correct* version`.
        quality: the noun of what is asked: `correctness`.
        bare: subjects that are claim enough when they are merely to be checked: `check the *netlist version*`.
        bad: what must not exist, without an article: `violated endpoints`.
        holder: in what it would be: `the report`.
        where: places and circumstances that change nothing: `in the power report`.
        witness: what shows it, where one looks: `the power report`.
    """

    means: Line
    subject: tuple[Template, ...] = ()
    is_: Annotated[tuple[Template, ...], Field(alias="is")] = ()
    does: tuple[Template, ...] = ()
    adjective: tuple[Template, ...] = ()
    quality: tuple[Template, ...] = ()
    bare: tuple[Template, ...] = ()
    bad: tuple[Template, ...] = ()
    holder: tuple[Template, ...] = ()
    where: tuple[Template, ...] = ()
    witness: tuple[Template, ...] = ()

    @classmethod
    def slot_names(cls) -> tuple[str, ...]:
        """The lists that the common frames name."""
        return tuple(field.alias or name for name, field in cls.model_fields.items() if name != "means")

    def slots(self) -> dict[str, tuple[Template, ...]]:
        """Slot -> templates."""
        given: dict[str, tuple[Template, ...]] = self.model_dump(by_alias=True, exclude={"means"})
        return given


class Entity(Shape):
    """A thing that a description names; `words` are templates."""

    key: Key
    name: Line
    words: Annotated[tuple[Template, ...], Field(min_length=1)]


class KnownField(Shape):
    """A field of a category; `example` is a value of its type. An optional one is used only where a spec names it."""

    name: Key
    type: Literal["String", "Boolean", "Integer", "Number", "List", "Object"]
    about: Line
    example: Json
    optional: bool = False


class Guide(Shape):
    """Section 4.1 on a category: where it stands, by which words it is found, how its fields are filled."""

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


class KnownItem(Shape):
    """A validation item.

    Attributes:
        name: may hold `{list}` for a word that the description chose, e.g. `Endpoint {check} Timing`.
        compares: whether it becomes a pattern item when the user gives patterns.
        waivable: whether anybody would sign for its failure; `why` says why (not).
        hints: by these the nearest line is found when nothing matched.
    """

    key: Key
    entity: Key | None = None
    name: Line
    purpose: Line
    required: Annotated[tuple[DottedField, ...], Field(min_length=1)]
    condition: Condition | None = None
    completeness: Line
    mode: Literal["require", "forbid"] = "require"
    quantifier: Literal["exists", "each", "per_file"]
    compares: bool = False
    passes: Line
    fails: Line
    step: Line
    waivable: bool
    why: Line
    hints: tuple[Line, ...] = ()


class KnownWaiver(Shape):
    """A situation in which failures of `items` are acceptable."""

    name: Line
    items: Annotated[tuple[Key, ...], Field(min_length=1)]
    scenario: Line
    cases: Annotated[tuple[Line, ...], Field(min_length=1)]
    reason: Line
    keywords: Annotated[tuple[Line, ...], Field(min_length=1)]
    stages: tuple[Line, ...] = ()
    justification: Line


class KnownSource(Shape):
    """A kind of file.

    Attributes:
        files: globs of its names (`*`, `?`), compared without `.gz`.
        signs: a regex for a line by which such a file is known whatever its name.
        account: a regex for lines that must not be overlooked: one that no rule reads is an error at run time. Of a
            record only the line that its `end` matches counts as read.
        expect: the error when nothing was read from a file that `speaks` of the matter; None where that is no error.
        must: one of these stands in every such file that is understood, else a model is needed.
        refuse: regex -> why such a file is not understood.
        about: what it tells.
    """

    kind: Key
    rank: Rank
    entity: Key | None = None
    files: Annotated[tuple[Line, ...], Field(min_length=1)]
    signs: Line | None = None
    account: Line | None = None
    speaks: Line = "."
    expect: Line | None = None
    must: tuple[Line, ...] = ()
    refuse: dict[str, Line] = Field(default_factory=dict)
    about: Line


class _Rule(Shape):
    """What every extraction rule has. `about` explains its patterns, in Section 4.1's words."""

    file: Key
    about: Line


class Lines(_Rule):
    """One entry a line: groups of `pattern` are fields; groups of `context` lines hold for the lines after them.

    `{line}` in `value` is the line itself, its blanks collapsed.
    """

    kind: Literal["lines"]
    category: Key
    pattern: Line
    context: tuple[Line, ...] = ()
    value: Line
    maps: dict[Key, dict[str, Json]] = Field(default_factory=dict)
    numbers: tuple[Key, ...] = ()


class Records(_Rule):
    """One entry for the lines from `start` to `end`: groups of `patterns` are fields.

    Its evidence is the line that `end` matches. A record without an end is an error, also at the next `start` and at
    the end of the file.
    """

    kind: Literal["records"]
    category: Key
    start: Line
    patterns: tuple[Line, ...]
    end: Line
    value: Line
    maps: dict[Key, dict[str, Json]] = Field(default_factory=dict)
    numbers: tuple[Key, ...] = ()


class Header(_Rule):
    """The comments before the code: groups of `patterns` are fields; the topmost header counts."""

    kind: Literal["header"]
    category: Key
    within: int
    stop: Line
    patterns: tuple[Line, ...]
    formats: dict[str, Line]
    constants: dict[Key, Json] = Field(default_factory=dict)
    value: Line
    empty: Line


class Directives(_Rule):
    """Lines such as `*NAME "text"`: `names` maps a directive to a field, most telling first."""

    kind: Literal["directives"]
    category: Key
    within: int
    stop: Line
    pattern: Line
    names: dict[str, Key]
    constants: dict[Key, Json] = Field(default_factory=dict)
    value: Line
    empty: Line


class Target(Shape):
    """What a read command reads: `names` is a regex of command names, `messages` tell it in other words."""

    category: Key
    names: Line
    messages: tuple[Line, ...] = ()
    formats: tuple[Line, ...] = ()
    value: Line


class Commands(_Rule):
    """Echoed read commands of a log, and whether an error follows them; the fields are `path`, `loaded`, `how`.

    Attributes:
        glance: a regex that every line of interest holds; others are passed over unless they stand in a block.
        prompt, continued: regexes of prompts; what follows a continuation prompt may not have run.
        control: a regex of words that open a block which may not run.
        command: a regex of any command, where an error's reach ends; `reach` is the most lines it goes.
        known: a regex of commands by which a log that `speaks` of the matter is understood at all.
        refused: regexes of lines after which the log cannot be trusted; `refusal` says why.
        hides: a regex of commands whose own commands are not echoed.
        valued, flags: options with and without a value; others are not understood.
    """

    kind: Literal["commands"]
    glance: Line
    prompt: Line
    continued: Line
    control: Line
    command: Line
    reach: int
    known: Line
    speaks: Line
    refused: tuple[Line, ...] = ()
    refusal: Line = "not understood"
    hides: Line
    failed: tuple[Line, ...]
    valued: tuple[str, ...]
    flags: tuple[str, ...]
    targets: Annotated[tuple[Target, ...], Field(min_length=1)]


Extraction: TypeAlias = Annotated[Lines | Records | Header | Directives | Commands, Field(discriminator="kind")]


class KnownScenario(Shape):
    """A special scenario: which items are then found and which missing, and what a waiver does."""

    name: Line
    entity: Key | None = None
    context: Line
    found: tuple[Key, ...] = ()
    missing: tuple[Key, ...] = ()
    extra: Line = ""
    waiver: Line


class Note(Shape):
    """A line of text that holds for one entity, or for all."""

    text: Line
    entity: Key | None = None


Notes: TypeAlias = tuple[Note, ...]


class TestData(Shape):
    """Section 4.3: how to make data that passes and data that fails."""

    passing: Line
    failing: Line


class Domain(Shape):
    """A field of knowledge: what calls for it, and everything that a spec and a checker need.

    Attributes:
        lists: named word lists; one with keys is a choice that narrows the check (`check: {setup: [...]}`).
        claims: what calls for the domain, in the ways of saying it that all domains share.
        forms: sentences of its own beside these.
        narrows: choice -> the field that must then have the chosen value.
        waiver_words: words that may stand in the free part of a waive hint.
        examples: output examples: category -> an entry without parsed_fields and source_file's folder.
    """

    schema_: Literal["transom.knowledge/1"] = Field(alias="schema")
    domain: Key
    title: Line
    extracts: Line
    question: Line
    entities: tuple[Entity, ...] = ()
    lists: Lists = Field(default_factory=dict)
    narrows: dict[Key, DottedField] = Field(default_factory=dict)
    waiver_words: tuple[Template, ...] = ()
    claims: tuple[KnownClaim, ...] = ()
    forms: tuple[Form, ...] = ()
    structure: Line
    categories: Annotated[tuple[KnownCategory, ...], Field(min_length=1)]
    items: Annotated[tuple[KnownItem, ...], Field(min_length=1, max_length=6)]
    waivers: tuple[KnownWaiver, ...] = ()
    sources: Annotated[tuple[KnownSource, ...], Field(min_length=1)]
    fallback: Line = "nothing else is read; without such a file there is no verdict"
    extraction: Annotated[tuple[Extraction, ...], Field(min_length=1)]
    references: Notes
    tolerance: Notes
    steps: Notes
    edge_cases: Notes
    scenarios: Annotated[tuple[KnownScenario, ...], Field(min_length=4)]
    examples: Annotated[tuple[dict[str, Json], ...], Field(min_length=1)]
    tests: TestData

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

    def dotted(self) -> frozenset[str]:
        return frozenset(f"{c.key}.{f.name}" for c in self.categories for f in c.fields)


class Common(Shape):
    """`_common.yaml`: word lists and sentence forms of all domains.

    Attributes:
        lists: those without elements are filled by domains (`unit`, `label`, `flag`, `waivable`).
        leads: kind of sentence -> what may stand before any of that kind; `tails` what may stand behind.
        frames: every way of making a claim, over the parts of a `KnownClaim`.
        forms: sentences that are no claims.
        waiver_words: small words of the language for the free part of a waive hint.
        waiver_modes: Section 3 on the two modes, line by line; `{items}`, `{last}` and `{keyword}` are the spec's own.
        waiver_guidance: the end of Section 3.
    """

    schema_: Literal["transom.knowledge/1"] = Field(alias="schema")
    common: Literal[True]
    lists: Lists
    leads: dict[SentenceKind, Template] = Field(default_factory=dict)
    tails: dict[SentenceKind, Template] = Field(default_factory=dict)
    frames: tuple[Template, ...] = ()
    forms: tuple[Form, ...] = ()
    waiver_words: tuple[Template, ...] = ()
    waiver_modes: tuple[str, ...] = ()
    waiver_guidance: tuple[str, ...] = ()


def _problems(domain: Domain) -> Iterator[str]:
    """What the shapes cannot see: names that point at nothing."""
    entities = {entity.key for entity in domain.entities}
    keys = {category.key for category in domain.categories}
    kinds = {source.kind for source in domain.sources}
    items = {item.key for item in domain.items}
    named = [thing.entity for thing in domain.categories] + [thing.entity for thing in domain.items]
    named += [thing.entity for thing in domain.sources] + [thing.entity for thing in domain.scenarios]
    notes = (*domain.references, *domain.tolerance, *domain.steps, *domain.edge_cases)
    named += [note.entity for note in notes]
    yield from (f"there is no entity {name}" for name in named if name is not None and name not in entities)
    for item in domain.items:
        fields = (*item.required, *((item.condition.field,) if item.condition else ()))
        yield from (f"item {item.key} names {n}, which no category has" for n in fields if n not in domain.dotted())
    used = [key for waiver in domain.waivers for key in waiver.items]
    used += [key for scenario in domain.scenarios for key in (*scenario.found, *scenario.missing)]
    yield from (f"there is no item {key}" for key in used if key not in items)
    for rule in domain.extraction:
        if rule.file not in kinds:
            yield f"an extraction rule reads {rule.file}, which no source is"
        targets = [t.category for t in rule.targets] if isinstance(rule, Commands) else [rule.category]
        yield from (f"there is no category {key}" for key in targets if key not in keys)
    yield from (f"narrows.{name} is no choice among lists" for name in domain.narrows if name not in domain.choices())
    if not domain.claims and not any(form.kind == "claim" for form in domain.forms):
        yield "no form is a claim, so nothing calls for this domain"
