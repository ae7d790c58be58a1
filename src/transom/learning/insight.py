"""An insight: one piece of knowledge, its sources, and its score by the outcomes of its use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from datetime import time as time_of_day
from enum import StrEnum

from transom.canonical import Json
from transom.errors import InputError
from transom.llm.turns import Egress

HALF_LIFE_DAYS = 180.0
"""Days without use after which half of the possible decay has happened."""
FLOOR = 0.5
"""The share that decay always leaves: decay changes the order of insights and never hides one."""
UNTESTED = 0.5
"""The confidence of an insight without feedback."""

_SURENESS = 1.645  # standard deviations: one-sided 95 %


class InsightCategory(StrEnum):
    """The subject of an insight; the value begins its id."""

    STRATEGY = "str"
    MISTAKE = "mis"
    TOOL = "tool"
    CALCULATION = "cal"
    DOMAIN = "dom"
    WORKFLOW = "wf"

    @classmethod
    def named(cls, text: str) -> InsightCategory:
        """Return the category with a code or a name: `mis`, `MISTAKE`.

        Raises:
            InputError: the category is unknown.
        """
        for category in cls:
            if text.lower() in (category.value, category.name.lower()):
                return category
        names = [f"{category.value} ({category.name.lower()})" for category in cls]
        hint = f"choose {', '.join(names)}"
        raise InputError(f"unknown category {text!r}", place="category", hint=hint)


@dataclass(frozen=True)
class InsightSource:
    """The origin of an insight, or of feedback on it. Unknown fields are empty.

    Attributes:
        run, stage: the run, and its stage.
        trial: number of the trial.
        study: name of the study.
        by: the person, or the part of the program, that recorded it.
    """

    run: str = ""
    stage: str = ""
    trial: int | None = None
    study: str = ""
    by: str = ""

    def to_json(self) -> dict[str, Json]:
        """Return the fields that are known."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> InsightSource:
        """Read the result of `to_json`; unknown keys are ignored."""
        trial = data.get("trial")
        text = {name: str(data.get(name) or "") for name in ("run", "stage", "study", "by")}
        return cls(**text, trial=trial if isinstance(trial, int) else None)


@dataclass(frozen=True)
class Insight:
    """One entry of a playbook. A change by the playbook gives a new object.

    Attributes:
        id: `str-00001`; "" for an insight that is not yet added.
        helpful_count, harmful_count: good and bad outcomes of its use.
        against_count: outcomes, good or bad, that speak against it; see `supports`.
        tags: sorted.
        sources: origins, each once.
        scope: `global`, `domain/NAME` or `study/NAME`.
        owner: the only person who sees it; "" for everyone.
        overrides: id of a wider insight that this one replaces in its scope.
        created_at, last_used, confirmed_at: UTC, ISO 8601; "" for never.
        valid_from, valid_until: period of validity, the end exclusive; "" for no bound.
        retired: reason why it is hidden; "" for an insight in use.
        merged_into: id of the insight that it was merged into.
        egress: `local` if it must not reach a remote provider.
    """

    id: str
    category: InsightCategory
    content: str
    helpful_count: int = 0
    harmful_count: int = 0
    against_count: int = 0
    tags: tuple[str, ...] = ()
    sources: tuple[InsightSource, ...] = ()
    scope: str = "global"
    owner: str = ""
    overrides: str = ""
    created_at: str = ""
    last_used: str = ""
    confirmed_at: str = ""
    valid_from: str = ""
    valid_until: str = ""
    retired: str = ""
    merged_into: str = ""
    egress: Egress = "any"

    @property
    def counts(self) -> tuple[int, int, int]:
        """Return the good outcomes, the bad ones, and those of both kinds that speak against the
        insight.
        """
        return self.helpful_count, self.harmful_count, self.against_count

    @property
    def tested(self) -> int:
        """Return the number of outcomes."""
        return self.helpful_count + self.harmful_count

    @property
    def for_count(self) -> int:
        """Return the outcomes that speak for the insight."""
        return self.tested - self.against_count

    @property
    def net_score(self) -> int:
        """Return the outcomes for the insight minus those against it."""
        return self.for_count - self.against_count

    @property
    def confidence(self) -> float:
        """Return the share of outcomes that speak for the insight; 0.5 without outcomes."""
        return self.for_count / self.tested if self.tested else UNTESTED

    @property
    def lower_bound(self) -> float:
        """Return the lower bound of the confidence at 95 %: 8 of 9 is worth more than 1 of 1.

        It is Wilson's bound, with one assumed outcome for the insight and one against it.
        """
        tested = self.tested + 2
        part = (self.for_count + 1) / tested
        z_squared_per_n = _SURENESS * _SURENESS / tested
        spread = (
            part * (1 - part) * z_squared_per_n + z_squared_per_n * z_squared_per_n / 4
        ) ** 0.5
        return float((part + z_squared_per_n / 2 - spread) / (1 + z_squared_per_n))

    def standing(self, time: str) -> float:
        """Return the score at a time (ISO 8601): the lower bound, reduced by decay since
        it was made, used or confirmed last, and never below half of it.
        """
        # Times in ISO 8601 and UTC sort as texts.
        recent = max(self.created_at, self.last_used, self.confirmed_at)
        days = days_between(recent, time)
        return self.lower_bound * float(FLOOR + (1 - FLOOR) * 0.5 ** (days / HALF_LIFE_DAYS))

    def covers(self, draft: Insight) -> bool:
        """Return whether a draft with the same text adds no source, tag or egress to it."""
        # A source that names nobody adds nothing.
        sources = {*draft.sources} <= {*self.sources, InsightSource()}
        return sources and {*draft.tags} <= {*self.tags} and draft.egress in ("any", self.egress)

    @property
    def source_trials(self) -> tuple[int, ...]:
        """Return the numbers of the trials among the sources, in order."""
        trials = {source.trial for source in self.sources if source.trial is not None}
        return tuple(sorted(trials))

    @property
    def line(self) -> str:
        """Return the insight's line in a window; a model cites its id when it relies on it."""
        # A line break in the content would look like another insight.
        text = " ".join(self.content.split())
        return f"[{self.id}] helpful={self.helpful_count} harmful={self.harmful_count} :: {text}"


def supports(category: InsightCategory, good: bool, followed: bool | None) -> bool:
    """Return whether an outcome speaks for an insight.

    Args:
        category: its category.
        good: whether the outcome was good.
        followed: whether the insight was followed. If that is unknown (None), every outcome speaks
            for a mistake, and the good ones for any other insight.
    """
    if followed is None:
        followed = good if category is InsightCategory.MISTAKE else True
    return good == followed


def days_between(earlier: str, later: str) -> float:
    """Return the days from one ISO 8601 time to another; 0 if the first is "" or the later one."""
    if not earlier:
        return 0.0
    return max(0.0, (_moment(later) - _moment(earlier)).total_seconds() / 86_400)


def bound(text: str) -> str:
    """Return a year, month, day or time in the form that sorts as text; "" for "".

    A year or a month stays as it is, and sorts before each of its days.

    Raises:
        InputError: the text is not a date.
    """
    if re.fullmatch(r"[0-9]{4}(-(0[1-9]|1[0-2]))?", text) and text[:4] != "0000":
        return text
    try:
        parsed = datetime.fromisoformat(text) if text else None
    except ValueError as error:
        hint = "write YYYY-MM-DD, or '' for no bound"
        raise InputError(f"{text!r} is not a date", place="insight", hint=hint) from error
    if parsed is None:
        return ""
    written = (parsed.astimezone(UTC) if parsed.tzinfo else parsed).isoformat()
    return f"{written[:19]}Z" if parsed.time() != time_of_day() or parsed.tzinfo else written[:10]


def _moment(text: str) -> datetime:
    """Return the time of a text; UTC if it has no zone."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        # A file of another tool may have any text here, and must not make the playbook unusable.
        return datetime.fromtimestamp(0, UTC)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
