"""Names of an earlier system for learning from optimisation; its programs only change their
import line.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from transom.learning import (
    CompactionManager,
    ContextBudgetManager,
    ContextCacheOptimizer,
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

__all__ = [
    "AtomizerPlaybook",
    "AtomizerReflector",
    "AtomizerSessionState",
    "CompactionManager",
    "ContextBudgetManager",
    "ContextCacheOptimizer",
    "ExposedState",
    "FeedbackLoop",
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


class AtomizerPlaybook(Playbook):
    """A playbook that reads and writes its JSON file itself."""

    @classmethod
    def load(cls, path: Path) -> AtomizerPlaybook:
        """Return a playbook in memory with the insights of a file."""
        playbook = cls()
        exchange.import_json(playbook, path)
        return playbook

    def save(self, path: Path) -> None:
        """Write the insights that are seen from here to a file."""
        exchange.save_playbook(self, path)


def get_playbook() -> AtomizerPlaybook:
    """Return this program's playbook."""
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
    playbook = AtomizerPlaybook(path.with_suffix(".db"))
    if path.exists():
        exchange.import_json(playbook, path)
    return playbook
