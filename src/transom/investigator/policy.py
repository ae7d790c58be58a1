"""The policy: the ladder of stages, the criteria of each stage, and waivers signed by a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from transom.errors import InputError
from transom.evidence.caps import read_acceptances
from transom.evidence.dates import read_age
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import nearest_key, validate_yaml
from transom.investigator.measures import MEASURES, is_percentage, words_of
from transom.investigator.reading.recognition import ANALYSIS_TYPES
from transom.investigator.reading.vocabulary import Status, plain_words

_SHIPPED = Path(__file__).parent / "knowledge" / "policy.yaml"
# Of two stages in a question, the one behind such a word is asked for.
_BEFORE_STAGE = {"for", "to", "into", "in", "enter", "reach", "towards", "go", "on"}


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Rule(_Shape):
    """One condition on a measure.

    Attributes:
        at_most, at_least: bound of a number.
        equal: the required status.
        judge_from: a number between this bound and the other one needs a person's judgement.
        stated: whether a stricter bound in the data counts (`tightens`) or not (`ignored`).
        optional: whether the measure may be missing.
        counted: the measure of how many there are at all; of none the rule does not apply.
        otherwise: the rule to use if the measure is missing.
    """

    measure: str
    at_most: float | None = None
    at_least: float | None = None
    equal: Status | None = Field(default=None, alias="is")
    judge_from: float | None = None
    stated: Literal["tightens", "ignored"] = "ignored"
    optional: bool = False
    counted: str | None = None
    otherwise: Rule | None = None

    @property
    def title(self) -> str:
        """What the rule asks, such as `line coverage of at least 95 %`."""
        if self.equal is not None:
            return f"{words_of(self.measure)} is {self.equal}"
        side, bound = "at least", self.at_least
        if self.at_most is not None:
            side, bound = "at most", self.at_most
        unit = " %" if is_percentage(self.measure) else ""
        return f"{words_of(self.measure)} of {side} {bound or 0:.15g}{unit}"

    @field_validator("measure", "counted")
    @classmethod
    def _is_measure(cls, measure: str | None) -> str | None:
        if measure is not None and measure not in MEASURES:
            near = nearest_key(measure, sorted(MEASURES))
            hint = f"; did you mean {near}?" if near else ""
            raise ValueError(f"unknown measure {measure!r}{hint}")
        return measure

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        # Two bounds would be two rules, and a failure could not name the one that it missed.
        if sum(entry is not None for entry in (self.at_most, self.at_least, self.equal)) != 1:
            raise ValueError("give exactly one of at_most, at_least, is")
        return self


class DocumentRule(_Shape):
    """A required document, by any of its names, with a least number of words of substance."""

    names: Annotated[list[str], Field(min_length=1)]
    least_words: int = 25


class ApprovalRule(_Shape):
    """Who must have approved.

    Attributes:
        roles: roles of which each must have approved.
        least: the number of different people who must have approved.
        four_eyes: whether two people must have approved, and nobody their own work.
    """

    roles: list[str] = []
    least: Annotated[int, Field(ge=1)] = 1
    four_eyes: bool = False


class Criterion(_Shape):
    """A requirement of a stage.

    Attributes:
        source: an analysis type, `jira` or `documents`.
        from_: the first stage that requires it.
        known: a measure that must be present, with any value.
        decision: whether the reviewers must have approved.
        approvals: who must have approved.
        limits: default targets of performance, kind -> bound, where the data states none.
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
    approvals: ApprovalRule | None = None
    document: DocumentRule | None = None
    limits: dict[str, float] | None = None

    @field_validator("source")
    @classmethod
    def _is_source(cls, source: str) -> str:
        if source not in (*ANALYSIS_TYPES, "jira", "documents"):
            raise ValueError(
                f"unknown source {source!r}; known: jira, documents, {', '.join(ANALYSIS_TYPES)}"
            )
        return source


class LadderStage(_Shape):
    """A stage of the ladder, and its other names.

    Attributes:
        synonyms: names of the stage as a status of an issue.
        spoken: names of the stage in a question.
        verbs: what a question that asks for the stage does, such as "deploy".
    """

    stage: str
    synonyms: list[str] = []
    spoken: list[str] = []
    verbs: list[str] = []
    category: Literal["", "new", "indeterminate", "done"] = ""


class CriterionWaiver(_Shape):
    """A person's decision that a criterion need not be met.

    Attributes:
        criterion: the criterion's id, `*` allowed.
        feature: id, key or folder; "" for every feature.
        expires: the last day of its validity.
    """

    criterion: str
    approver: Annotated[str, Field(min_length=1)]
    reason: Annotated[str, Field(min_length=1)]
    expires: date
    feature: str = ""

    def covers(self, criterion: str, feature: Sequence[str]) -> bool:
        return fnmatchcase(criterion, self.criterion) and self.feature in ("", *feature)


def unknown_criterion(waiver: CriterionWaiver, criteria: Sequence[str]) -> str:
    """Return why a waiver covers none of these criteria, with the nearest one; "" if it does."""
    if any(fnmatchcase(criterion, waiver.criterion) for criterion in criteria):
        return ""
    near = nearest_key(waiver.criterion, list(criteria))
    hint = f"did you mean {near}?" if near else f"known: {', '.join(criteria)}"
    return f"unknown criterion {waiver.criterion!r}; {hint}"


class WaiverFile(_Shape):
    """A file given by `--waivers`."""

    waivers: list[CriterionWaiver]


class Policy(_Shape):
    """A policy file.

    Attributes:
        fresh: how old a report may be, such as `30 days`; null for any age.
        dated: whether a report without a date is only reported, or holds a READY back.
        subject: the commit, branch, version or image that all reports must be of.
        accept: caps that a person accepts, each with its text, by whom, and until when.
    """

    schema_: Literal["transom.investigation_policy/1"] = Field(alias="schema")
    name: str = ""
    ladder: Annotated[list[LadderStage], Field(min_length=2)]
    criteria: Annotated[list[Criterion], Field(min_length=1)]
    waivers: list[CriterionWaiver] = []
    fresh: str | None = "30 days"
    dated: Literal["reported", "required"] = "reported"
    subject: dict[Literal["commit", "branch", "version", "image"], str] = {}
    accept: list[dict[str, str]] = []

    @field_validator("fresh")
    @classmethod
    def _is_age(cls, fresh: str | None) -> str | None:
        if fresh is not None and read_age(fresh) is None:
            raise ValueError(f"{fresh!r} is no age; write a number and a unit, such as 30 days")
        return fresh

    @field_validator("accept")
    @classmethod
    def _are_acceptances(cls, accept: list[dict[str, str]]) -> list[dict[str, str]]:
        read_acceptances(accept)
        return accept

    @model_validator(mode="after")
    def _fits(self) -> Self:
        names = self.stages
        for criterion in self.criteria:
            if criterion.from_ not in names:
                raise ValueError(
                    f"criterion {criterion.id}: unknown stage {criterion.from_!r}; known:"
                    f" {', '.join(names)}"
                )
        ids = [criterion.id for criterion in self.criteria]
        # Waivers and overrides find a criterion by its id.
        double = next((identifier for identifier in ids if ids.count(identifier) > 1), None)
        if double:
            raise ValueError(f"two criteria have the id {double}")
        for waiver in self.waivers:
            if problem := unknown_criterion(waiver, ids):
                raise ValueError(problem)
        return self

    @cached_property
    def stages(self) -> list[str]:
        return [step.stage for step in self.ladder]

    def rank(self, stage: str | None) -> int:
        """Return the position of a stage on the ladder; -1 for an unknown one."""
        if stage in self.stages:
            return self.stages.index(stage)
        return -1

    def stage_of(self, status: str, category: str = "") -> str | None:
        """Return the stage of a Jira status, by its name, else by its category."""
        words = " ".join(plain_words(status))
        for step in self.ladder:
            if words in [" ".join(plain_words(name)) for name in (step.stage, *step.synonyms)]:
                return step.stage
        # "Dev / Testing": the lower stage, since nobody promised the higher one.
        parts = [self.stage_of(part) for part in status.split("/")] if "/" in status else []
        stages = []
        for part in parts:
            if part:
                stages.append(part)
        if stages:
            return min(stages, key=self.rank)
        return next(
            (step.stage for step in self.ladder if category and step.category == category), None
        )

    def stage_named(self, text: str) -> str | None:
        """Return the stage that a `--target` names.

        Raises:
            InputError: the stage is unknown.
        """
        stage = self.stage_of(text) or self.stage_in(text)
        if stage is None:
            hint = f"name one of {', '.join(self.stages)}"
            raise InputError(f"unknown stage {text!r}", place="--target", hint=hint)
        return stage

    def stage_in(self, text: str) -> str | None:
        """Return the stage that a question or a line of a document mentions, or None."""
        words = plain_words(text)
        # Longer names win over shorter ones, and later ones over earlier: "from UAT to production".
        hits: list[tuple[int, int, str]] = []
        for step in self.ladder:
            for name in (step.stage, *step.spoken, *step.verbs):
                required_words = plain_words(name)
                for position in range(len(words) - len(required_words) + 1):
                    if words[position : position + len(required_words)] == required_words:
                        marked = (
                            bool(_BEFORE_STAGE & set(words[max(0, position - 3) : position]))
                            or len(words) <= len(required_words) + 2
                        )
                        hyphened = "-" not in name or name.lower() in text.lower()
                        hits += (
                            [(len(required_words) + 2 * marked, position, step.stage)]
                            if hyphened
                            else []
                        )
        if hits:
            return max(hits, key=lambda hit: (hit[0], hit[1]))[2]
        return None

    def criteria_for(self, stage: str) -> list[Criterion]:
        """Return the criteria of a stage, including those of earlier stages."""
        criteria = list[Criterion]()
        for criterion in self.criteria:
            if self.rank(criterion.from_) <= self.rank(stage):
                criteria.append(criterion)
        return criteria

    def after(self, stage: str) -> str:
        """Return the next stage; the last one is followed by itself."""
        return self.stages[min(self.rank(stage) + 1, len(self.stages) - 1)]


@lru_cache(maxsize=4)
def _policy_in(path: Path, _: int) -> Policy:
    """Read a policy; cached while the file's modification time stays the same."""
    file = load_yaml(path)
    own = file.data
    if path == _SHIPPED or not isinstance(own, dict) or "ladder" in own:
        return validate_yaml(Policy, file)
    # A policy without a ladder changes the shipped one, criterion by criterion and key by key.
    # The own criteria come first while the file is checked, so that errors name its lines.
    shipped = load_yaml(_SHIPPED).data
    assert isinstance(shipped, dict)
    merged = {**shipped, **own, "criteria": _merged_criteria(own, shipped)}
    policy = validate_yaml(Policy, replace(file, data=merged))
    # Reports keep the order that people know; what a team adds comes behind.
    before = {criterion.id: criterion for criterion in load_policy().criteria}
    order = [*before]
    shipped_criteria = sorted(
        (
            _retitled(criterion, before[criterion.id])
            for criterion in policy.criteria
            if criterion.id in order
        ),
        key=lambda criterion: order.index(criterion.id),
    )
    added = []
    for criterion in policy.criteria:
        if criterion.id not in order:
            added.append(criterion)
    return policy.model_copy(update={"criteria": [*shipped_criteria, *added]})


def _retitled(criterion: Criterion, shipped: Criterion) -> Criterion:
    """Return a criterion whose title says what its rules ask, if they are no longer the shipped
    ones and the title is.
    """
    if criterion.name != shipped.name or criterion.rules == shipped.rules or not criterion.rules:
        return criterion
    # An optional rule asks for nothing where a source does not mention it.
    asked_rules = [rule for rule in criterion.rules if not rule.optional] or criterion.rules
    title = ", ".join(rule.title for rule in asked_rules)
    return criterion.model_copy(update={"name": title[:1].upper() + title[1:]})


def _merged_criteria(own: dict[str, Any], shipped: dict[str, Any]) -> list[Any]:
    """Return a policy's criteria over the shipped ones; its own come first, as in its file, so that
    errors name their lines.
    """
    base = {row["id"]: row for row in shipped["criteria"]}
    listed = own.get("criteria", [])
    criteria = list[Any]()
    for row in listed if isinstance(listed, list) else [listed]:
        key = row.get("id") if isinstance(row, dict) else None
        criteria.append({**base.pop(key, {}), **row} if isinstance(row, dict) else row)
    return [*criteria, *base.values()]


def load_policy(path: Path | None = None) -> Policy:
    """Read the policy from a file; None: the shipped one.

    Raises:
        InputError: it cannot be read, with file:line; an unknown key names the nearest known one.
    """
    # The time of the file is part of the key: an edited policy is read again in a server.
    path = path or _SHIPPED
    return _policy_in(path, path.stat().st_mtime_ns if path.is_file() else 0)


def shipped_text() -> str:
    """Return the text of the shipped policy, with its comments."""
    return _SHIPPED.read_text(encoding="utf-8")


def load_waivers(path: Path, policy: Policy) -> list[CriterionWaiver]:
    """Read the waivers from a file.

    Raises:
        InputError: the file cannot be read, a waiver lacks approver, reason or expiry, or it names
            no criterion of the policy.
    """
    waivers = validate_yaml(WaiverFile, load_yaml(path)).waivers
    criteria = [criterion.id for criterion in policy.criteria]
    for waiver in waivers:
        if unknown := unknown_criterion(waiver, criteria):
            problem, _, hint = unknown.partition("; ")
            raise InputError(problem, place=str(path), hint=hint)
    return waivers
