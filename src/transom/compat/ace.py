"""Names of an earlier system for learning from optimisation; its programs only change their
import line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from transom.canonical import digest
from transom.context import DEFAULT_SHARES, Mark
from transom.learning import (
    CachedContextWriter,
    CompactedLog,
    ContextBudgetManager,
    ErrorPatterns,
    ExposedState,
    FeedbackLoop,
    InsightCandidate,
    InsightCategory,
    IsolatedState,
    OptimizationOutcome,
    Playbook,
    StablePrefixBuilder,
    TaskType,
    exchange,
)
from transom.learning import Insight as PlaybookItem
from transom.learning import Reflector as AtomizerReflector
from transom.learning import SessionState as AtomizerSessionState
from transom.llm import estimate_tokens
from transom.studies.integration import ContextAwareRunner, ContextEngineeringMixin

__all__ = [
    "DEFAULT_BUDGET",
    "ERROR_PATTERNS",
    "AtomizerPlaybook",
    "AtomizerReflector",
    "AtomizerSessionState",
    "CacheStats",
    "CompactionManager",
    "ContextAwareRunner",
    "ContextBudgetManager",
    "ContextCacheOptimizer",
    "ContextEngineeringMixin",
    "ContextEvent",
    "ContextSection",
    "EventType",
    "ExposedState",
    "FeedbackLoop",
    "FeedbackLoopFactory",
    "InsightCandidate",
    "InsightCategory",
    "IsolatedState",
    "OptimizationOutcome",
    "PlaybookItem",
    "StablePrefixBuilder",
    "TaskType",
    "get_playbook",
    "get_session",
    "save_playbook",
]

PLAYBOOK = Path("knowledge_base/playbook.json")
"""Path of a program's playbook, relative to its working folder; the database is beside it."""


DEFAULT_BUDGET: dict[str, int] = {str(name): share for name, share in DEFAULT_SHARES.items()} | {
    "total": sum(DEFAULT_SHARES.values())
}
"""Tokens of the parts of a window, and of all together."""

ERROR_PATTERNS: dict[str, dict[str, list[str]]] = {
    pattern.kind: {
        "patterns": [regex.pattern for regex in pattern.find],
        "tags": list(pattern.tags),
    }
    for pattern in ErrorPatterns().patterns
}
"""Kinds of errors: the regular expressions of their messages, and their tags."""


class EventType(StrEnum):
    """Kind of an event."""

    TRIAL = "trial"
    ERROR = "error"
    MILESTONE = "milestone"
    ACTION = "action"


@dataclass(frozen=True)
class ContextEvent:
    """An event of a long task.

    Attributes:
        preserve: whether it is never compacted; errors and milestones never are.
        timestamp: UTC, ISO 8601.
    """

    event_type: EventType
    content: str
    preserve: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)
    timestamp: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))


class CompactionManager(CompactedLog):
    """A log of events that also takes them as `ContextEvent`."""

    def add_event(self, event: ContextEvent) -> None:
        """Add an event."""
        # Errors and milestones have marks of their own, which no compaction removes.
        if event.event_type == EventType.ERROR:
            self.add_error_event(event.content)
        elif event.event_type == EventType.MILESTONE:
            self.add_milestone(event.content, event.details)
        else:
            self._add(event.content, Mark(preserve=event.preserve))


@dataclass(frozen=True)
class CacheStats:
    """Statistics of a vendor's cache."""

    total_requests: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    hit_rate: float = 0.0
    estimated_savings_percent: float = 0.0


@dataclass(frozen=True)
class ContextSection:
    """A part of a context.

    Attributes:
        tier: `stable`, `semi_stable` or `dynamic`.
    """

    name: str
    content: str
    tier: str = "dynamic"

    @property
    def tokens(self) -> int:
        """The estimated number of its tokens."""
        return estimate_tokens(self.content)

    @property
    def content_hash(self) -> str:
        """A digest by which a change is noticed."""
        return digest(self.content)


class ContextCacheOptimizer(CachedContextWriter):
    """A writer of contexts, with its statistics as `CacheStats`."""

    @property
    def stats(self) -> CacheStats:
        """The statistics of all contexts so far."""
        return CacheStats(**self.get_stats())


class FeedbackLoopFactory:
    """Ways to make a `FeedbackLoop`."""

    @staticmethod
    def create_for_study(study_dir: Path | str) -> FeedbackLoop:
        """Return the loop of a study, whose playbook lies in the study's folder."""
        # A playbook beside the study moves with it, and other studies do not read it.
        return FeedbackLoop(Path(study_dir) / "playbook.json")

    @staticmethod
    def create_global() -> FeedbackLoop:
        """Return a loop over this program's playbook."""
        return FeedbackLoop(PLAYBOOK)


class AtomizerPlaybook(Playbook):
    """A playbook that reads and writes its JSON file itself."""

    @classmethod
    def load(cls, path: Path) -> AtomizerPlaybook:
        """Return a playbook in memory with the insights of a file."""
        # Without a path, so nothing is written before `save`.
        playbook = cls()
        exchange.import_json(playbook, path)
        return playbook

    def save(self, path: Path) -> None:
        """Write the insights that are seen from here to a file."""
        exchange.save_playbook(self, path)


def get_playbook() -> AtomizerPlaybook:
    """Return this program's playbook."""
    # By its absolute path: a program that changes its folder has another playbook there.
    return _playbook(PLAYBOOK.absolute())


def save_playbook() -> None:
    """Write this program's playbook to its file."""
    get_playbook().save(PLAYBOOK.absolute())


@cache
def get_session() -> AtomizerSessionState:
    """Return this program's session."""
    return AtomizerSessionState()


@cache
def _playbook(path: Path) -> AtomizerPlaybook:
    # The database counts for what is used meanwhile; the file is what a program keeps and passes
    # on.
    playbook = AtomizerPlaybook(path.with_suffix(".db"))
    if path.exists():
        exchange.import_json(playbook, path)
    return playbook
