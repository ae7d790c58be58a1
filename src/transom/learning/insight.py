"""An insight: one piece of knowledge, where it came from, and how it stands by the outcomes of those who used it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, time
from enum import StrEnum

from transom.canonical import Json
from transom.errors import InputError
from transom.llm.turns import Egress

HALF_LIFE_DAYS = 180.0
"""After so long without use half of what decay may take is gone."""
FLOOR = 0.5
"""What decay leaves in any case: it orders insights anew and never hides one."""
UNTESTED = 0.5
"""The confidence of an insight without feedback."""

_SURENESS = 1.645  # standard deviations: one-sided 95 %


class InsightCategory(StrEnum):
    """What an insight is about; the value begins its id."""

    STRATEGY = "str"
    MISTAKE = "mis"
    TOOL = "tool"
    CALCULATION = "cal"
    DOMAIN = "dom"
    WORKFLOW = "wf"

    @classmethod
    def named(cls, text: str) -> InsightCategory:
        """The category of that code or name: `mis`, `MISTAKE`. InputError: there is none."""
        for one in cls:
            if text.lower() in (one.value, one.name.lower()):
                return one
        hint = f"choose {', '.join(f'{one.value} ({one.name.lower()})' for one in cls)}"
        raise InputError(f"there is no category {text!r}", where="category", hint=hint)


@dataclass(frozen=True)
class Source:
    """Where an insight, or feedback on it, came from; what is not known is empty.

    `by` is a person, or the part of the program that wrote it.
    """

    run: str = ""
    stage: str = ""
    trial: int | None = None
    study: str = ""
    by: str = ""

    def to_json(self) -> dict[str, Json]:
        """What is known of it."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> Source:
        """The inverse of `to_json`; what it does not know is passed over."""
        trial = data.get("trial")
        text = {name: str(data.get(name) or "") for name in ("run", "stage", "study", "by")}
        return cls(**text, trial=trial if isinstance(trial, int) else None)


@dataclass(frozen=True)
class Insight:
    """One entry of a playbook, as it stands. A value: the playbook changes it.

    Attributes:
        id: `str-00001`; "" for one that is to be added.
        helpful_count, harmful_count: good and bad outcomes with it.
        against_count: which of both speak against it. Of a mistake ("never do X") neither does by itself: who
            heeded it did well, and who did not failed.
        tags: sorted.
        sources: where it was learned, each once.
        scope: `global`, `domain/NAME` or `study/NAME`.
        owner: a person whose own it is; "" for all.
        overrides: id of a wider insight that this one stands in for.
        created_at, last_used, confirmed_at: UTC, ISO 8601; "" for never.
        valid_from, valid_until: when it holds, the end exclusive; "" for no bound.
        retired: why it is not shown any more; "" for a living one.
        merged_into: id of the one that it became part of.
        egress: `local` where it must not reach a remote provider.
    """

    id: str
    category: InsightCategory
    content: str
    helpful_count: int = 0
    harmful_count: int = 0
    against_count: int = 0
    tags: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
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
        """Good outcomes, bad ones, and those of both that speak against it."""
        return self.helpful_count, self.harmful_count, self.against_count

    @property
    def tested(self) -> int:
        """How many outcomes there were."""
        return self.helpful_count + self.harmful_count

    @property
    def for_count(self) -> int:
        """Outcomes that speak for it."""
        return self.tested - self.against_count

    @property
    def net_score(self) -> int:
        """Outcomes for it less those against it."""
        return self.for_count - self.against_count

    @property
    def confidence(self) -> float:
        """The part of its outcomes that speaks for it; 0.5 where there is none."""
        return self.for_count / self.tested if self.tested else UNTESTED

    @property
    def lower_bound(self) -> float:
        """What that part is at least, with 95 %: 8 of 9 is worth more than 1 of 1.

        Wilson's bound, after one outcome for it and one against it that nobody saw.
        """
        tested = self.tested + 2
        part, square = (self.for_count + 1) / tested, _SURENESS * _SURENESS / tested
        spread = (part * (1 - part) * square + square * square / 4) ** 0.5
        return float((part + square / 2 - spread) / (1 + square))

    def standing(self, now: str) -> float:
        """Its lower bound, less what it lost by not being used for long; never below half of it."""
        recent = max(self.created_at, self.last_used, self.confirmed_at)
        days = days_between(recent, now)
        return self.lower_bound * float(FLOOR + (1 - FLOOR) * 0.5 ** (days / HALF_LIFE_DAYS))

    def covers(self, draft: Insight) -> bool:
        """Whether a draft that says the same adds nothing to it, not even where it was learned."""
        sources = {*draft.sources} <= {*self.sources, Source()}
        return sources and {*draft.tags} <= {*self.tags} and draft.egress in ("any", self.egress)

    @property
    def source_trials(self) -> tuple[int, ...]:
        """Numbers of the trials that it was learned from, in order."""
        return tuple(sorted({one.trial for one in self.sources if one.trial is not None}))

    @property
    def line(self) -> str:
        """It in a window: a model names its id where it relied on it."""
        text = " ".join(self.content.split())
        return f"[{self.id}] helpful={self.helpful_count} harmful={self.harmful_count} :: {text}"


def supports(category: InsightCategory, good: bool, followed: bool | None) -> bool:
    """Whether a good or bad outcome speaks for an insight of a category that was followed or not.

    Where nobody knows (None), whoever had a mistake before their eyes and failed is taken to have made it.
    """
    if followed is None:
        followed = good if category is InsightCategory.MISTAKE else True
    return good == followed


def days_between(earlier: str, later: str) -> float:
    """Days from one time to another, both ISO 8601; 0 where the first is "" or comes later."""
    return max(0.0, (_moment(later) - _moment(earlier)).total_seconds() / 86_400) if earlier else 0.0


def bound(text: str) -> str:
    """A year, a month, a day or a time as insights keep it, to be compared as text; "" for none. InputError: else."""
    if re.fullmatch(r"[0-9]{4}(-[0-9]{2})?", text):
        return text
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError as error:
        hint = "write YYYY-MM-DD, or '' for no bound"
        raise InputError(f"{text!r} is no date", where="insight", hint=hint) from error
    if found is None:
        return ""
    told = (found.astimezone(UTC) if found.tzinfo else found).isoformat()
    return f"{told[:19]}Z" if found.time() != time() or found.tzinfo else told[:10]


def _moment(text: str) -> datetime:
    """A time without a zone is UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
