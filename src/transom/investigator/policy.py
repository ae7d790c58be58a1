"""The policy: the ladder of stages, the criteria of each, and the waivers that a person signed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from transom.errors import InputError
from transom.formats.release.words import Status, plain_words
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml
from transom.investigator.sources import ANALYSIS_TYPES

_SHIPPED = Path(__file__).parent / "knowledge" / "policy.yaml"
_BEFORE_STAGE = {"for", "to", "into", "in", "enter", "reach", "towards", "go", "on"}


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Rule(_Shape):
    """One condition on a measure.

    Attributes:
        at_most, at_least: the bound of a number.
        equal: the status that it must have.
        judge_from: a number that misses its bound, but not this one, is for a person to judge.
        stated: whether a stricter bound in the data counts (`tightens`) or not (`ignored`).
        optional: whether a source may say nothing of it.
        otherwise: the rule that counts where the source does not say it.
    """

    measure: str
    at_most: float | None = None
    at_least: float | None = None
    equal: Status | None = Field(default=None, alias="is")
    judge_from: float | None = None
    stated: Literal["tightens", "ignored"] = "ignored"
    optional: bool = False
    otherwise: Rule | None = None

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        if sum(one is not None for one in (self.at_most, self.at_least, self.equal)) != 1:
            raise ValueError("say one of at_most, at_least, is")
        return self


class DocumentRule(_Shape):
    """A document that must be there, by any of its names, with so many words of substance."""

    names: Annotated[list[str], Field(min_length=1)]
    least_words: int = 120


class Criterion(_Shape):
    """Something that a stage asks for.

    Attributes:
        source: an analysis type, `jira` or `documents`.
        from_: the first stage that asks for it.
        known: a measure that only has to be there.
        decision: whether those who reviewed must have approved.
        limits: of performance, where the data states none: kind -> bound.
    """

    id: str
    name: str
    source: str
    from_: str = Field(alias="from")
    required: bool = True
    owner: str = ""
    rules: list[Rule] = []
    known: str = ""
    decision: bool = False
    document: DocumentRule | None = None
    limits: dict[str, float] | None = None

    @field_validator("source")
    @classmethod
    def _is_source(cls, source: str) -> str:
        if source not in (*ANALYSIS_TYPES, "jira", "documents"):
            raise ValueError(f"no such source; there are jira, documents, {', '.join(ANALYSIS_TYPES)}")
        return source


class Stage(_Shape):
    """A step of the ladder, and what it is called elsewhere."""

    stage: str
    synonyms: list[str] = []
    spoken: list[str] = []
    category: Literal["", "new", "indeterminate", "done"] = ""


class Waiver(_Shape):
    """A person's word that a criterion need not hold.

    Attributes:
        criterion: its id, `*` allowed.
        feature: id, key or folder; every feature where empty.
        expires: the last day on which it counts.
    """

    criterion: str
    approver: Annotated[str, Field(min_length=1)]
    reason: Annotated[str, Field(min_length=1)]
    expires: date
    feature: str = ""

    def covers(self, criterion: str, feature: Sequence[str]) -> bool:
        return fnmatchcase(criterion, self.criterion) and self.feature in ("", *feature)


class WaiverFile(_Shape):
    """What `--waivers` names."""

    waivers: list[Waiver]


class Policy(_Shape):
    """The whole policy."""

    schema_: Literal["transom.investigation_policy/1"] = Field(alias="schema")
    name: str = ""
    ladder: Annotated[list[Stage], Field(min_length=2)]
    criteria: Annotated[list[Criterion], Field(min_length=1)]
    waivers: list[Waiver] = []

    @model_validator(mode="after")
    def _fits(self) -> Self:
        names = self.stages
        for criterion in self.criteria:
            if criterion.from_ not in names:
                raise ValueError(
                    f"criterion {criterion.id}: no stage {criterion.from_!r}; there are {', '.join(names)}"
                )
        ids = [criterion.id for criterion in self.criteria]
        double = next((one for one in ids if ids.count(one) > 1), None)
        if double:
            raise ValueError(f"two criteria have the id {double}")
        return self

    @cached_property
    def stages(self) -> list[str]:
        return [step.stage for step in self.ladder]

    def rank(self, stage: str | None) -> int:
        """The place of a stage on the ladder; -1 of an unknown one."""
        return self.stages.index(stage) if stage in self.stages else -1

    def stage_of(self, status: str, category: str = "") -> str | None:
        """The stage that a Jira status stands for; by its category where its name says nothing."""
        said = " ".join(plain_words(status))
        for step in self.ladder:
            if said in [" ".join(plain_words(name)) for name in (step.stage, *step.synonyms)]:
                return step.stage
        parts = [self.stage_of(part) for part in status.split("/")] if "/" in status else []
        known = [part for part in parts if part]
        if known:
            return min(known, key=self.rank)
        return next((step.stage for step in self.ladder if category and step.category == category), None)

    def stage_named(self, text: str) -> str | None:
        """The stage that a `--target` names.

        Raises:
            InputError: none.
        """
        found = self.stage_of(text) or self.stage_in(text)
        if found is None:
            hint = f"name one of {', '.join(self.stages)}"
            raise InputError(f"there is no stage {text!r}", where="--target", hint=hint)
        return found

    def stage_in(self, text: str) -> str | None:
        """The stage that a question or a line of a document speaks of; None where it names none."""
        said = plain_words(text)
        hits: list[tuple[int, int, str]] = []
        for step in self.ladder:
            for name in (step.stage, *step.spoken):
                wanted = plain_words(name)
                for at in range(len(said) - len(wanted) + 1):
                    if said[at : at + len(wanted)] == wanted:
                        marked = bool(_BEFORE_STAGE & set(said[max(0, at - 3) : at])) or len(said) <= len(wanted) + 2
                        hyphened = "-" not in name or name.lower() in text.lower()
                        hits += [(len(wanted) + 2 * marked, at, step.stage)] if hyphened else []
        return max(hits, key=lambda hit: (hit[0], hit[1]))[2] if hits else None

    def criteria_for(self, stage: str) -> list[Criterion]:
        """What a feature must show to be in a stage."""
        return [one for one in self.criteria if self.rank(one.from_) <= self.rank(stage)]

    def after(self, stage: str) -> str:
        """The next stage; the last one has none after it but itself."""
        return self.stages[min(self.rank(stage) + 1, len(self.stages) - 1)]


@lru_cache(maxsize=4)
def _policy_in(path: Path, _: int) -> Policy:
    """Kept as long as the file's time is the same."""
    return validate_yaml(Policy, load_yaml(path))


def load_policy(path: Path | None = None) -> Policy:
    """The policy in a file, or the one that ships.

    Raises:
        InputError: it cannot be read, with file:line; an unknown key names the nearest known one.
    """
    path = path or _SHIPPED
    return _policy_in(path, path.stat().st_mtime_ns if path.is_file() else 0)


def load_waivers(path: Path) -> list[Waiver]:
    """The waivers in a file.

    Raises:
        InputError: it cannot be read; one without approver, reason or expiry.
    """
    return validate_yaml(WaiverFile, load_yaml(path)).waivers
