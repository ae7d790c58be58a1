"""Language as data: words, claims and sentence forms, of one domain and of all."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo

from transom.checklist.atoms import Shape
from transom.checklist.rules.forms import flat, words_in
from transom.evidence.regex_fields import MatchedBy

TRIED: Final = "tried"
"""The context in which a shipped file is validated: its regexes are compiled by the tests, and
where they are used.
"""

Key = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Line = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\n]*$")]
Template: TypeAlias = Line


def _regex(text: str, info: ValidationInfo) -> str:
    try:
        if info.context != TRIED:
            re.compile(text)
    except re.error as error:
        raise ValueError(f"the regex {text!r} cannot be read: {error}") from error
    return text


Regex = Annotated[Line, AfterValidator(_regex), MatchedBy("search")]
HeadRegex = Annotated[Line, AfterValidator(_regex), MatchedBy("match")]
"""An expression that is matched at the beginning of a line."""
WholeRegex = Annotated[Line, AfterValidator(_regex), MatchedBy("fullmatch")]
"""An expression that must fit a whole word or key."""
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
    """What a description may claim, as parts that the common frames put into every way of saying
    it.

    All parts are templates. A frame that needs a part which is not given is not used, so a claim
    can be said only in ways that keep its meaning.

    Attributes:
        subject: of what something is said: `every block`.
        is_: what it must be, after *is* and *to be*: `switched off`.
        is_not: what it must not be, after *not* and before the subject: `negative`.
        does: what it must do, with and without the s: `has a total power`, `have a total power`.
        adjective: what may stand before the subject: `the *correct* version`.
        quality: the noun of what is asked: `correctness`.
        bare: subjects that are claim enough when they are merely to be checked: `check the *netlist
            version*`.
        bad: what must not exist, without an article: `violated endpoints`.
        holder: in what it would be: `the report`.
        attribute: what the holder has and that is as `is` says: `version`.
        where: places and circumstances that change nothing: `in the power report`.
        witness: what shows it, where one looks: `the power report`.
    """

    means: Line
    subject: tuple[Template, ...] = ()
    is_: Annotated[tuple[Template, ...], Field(alias="is")] = ()
    is_not: tuple[Template, ...] = ()
    does: tuple[Template, ...] = ()
    adjective: tuple[Template, ...] = ()
    quality: tuple[Template, ...] = ()
    bare: tuple[Template, ...] = ()
    bad: tuple[Template, ...] = ()
    holder: tuple[Template, ...] = ()
    attribute: tuple[Template, ...] = ()
    where: tuple[Template, ...] = ()
    witness: tuple[Template, ...] = ()

    @classmethod
    def slot_names(cls) -> tuple[str, ...]:
        """The lists that the common frames name."""
        return tuple(
            field.alias or name for name, field in cls.model_fields.items() if name != "means"
        )

    def slots(self) -> dict[str, tuple[Template, ...]]:
        """Slot -> templates."""
        given: dict[str, tuple[Template, ...]] = self.model_dump(by_alias=True, exclude={"means"})
        return given


class Entity(Shape):
    """A thing that a description names; `words` are templates."""

    key: Key
    name: Line
    words: Annotated[tuple[Template, ...], Field(min_length=1)]


class Common(Shape):
    """`_common.yaml`: word lists and sentence forms of all domains.

    Attributes:
        lists: those without elements are filled by domains (`unit`, `label`, `flag`, `waivable`).
        shared: lists that several domains have as their own; they name them in their `shared`.
        stages: key of a `stage` or a `step` -> a regex for names of files that are of it, in small
            letters, with one `_` for whatever is neither letter nor digit, and one at either end.
        leads: kind of sentence -> what may stand before any of that kind; `tails` what may stand
            behind.
        frames: every way of making a claim, over the parts of a `KnownClaim`.
        forms: sentences that are no claims.
        waiver_words: small words of the language for the free part of a waive hint.
        waiver_modes: Section 3 on the two modes, line by line; `{items}`, `{last}` and `{keyword}`
            are the spec's own.
        waiver_guidance: the end of Section 3.
    """

    schema_: Literal["transom.knowledge/1"] = Field(alias="schema")
    common: Literal[True]
    lists: Lists
    shared: Lists = Field(default_factory=dict)
    stages: dict[Key, dict[Key, Line]] = Field(default_factory=dict)
    leads: dict[SentenceKind, Template] = Field(default_factory=dict)
    tails: dict[SentenceKind, Template] = Field(default_factory=dict)
    frames: tuple[Template, ...] = ()
    forms: tuple[Form, ...] = ()
    waiver_words: tuple[Template, ...] = ()
    waiver_modes: tuple[str, ...] = ()
    waiver_guidance: tuple[str, ...] = ()

    @cached_property
    def spelled(self) -> frozenset[str]:
        """Every word of the templates that all domains share."""
        said = (template for form in self.forms for template in form.say)
        listed = (template for found in self.lists.values() for template in flat(found))
        texts = (
            *self.frames,
            *self.leads.values(),
            *self.tails.values(),
            *self.waiver_words,
            *said,
            *listed,
        )
        return frozenset(("nor", "or")).union(*map(words_in, texts))
