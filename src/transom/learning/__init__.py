"""Learning: a playbook of insights; outcomes of the runs that used an insight raise or lower its
score.
"""

from typing import TYPE_CHECKING

from transom.errors.earlier_names import earlier_names
from transom.learning.caching import CachedContextWriter, StablePrefixBuilder
from transom.learning.compaction import CompactedLog, ContextBudgetManager
from transom.learning.curator import Curator
from transom.learning.exchange import import_json
from transom.learning.feedback import FeedbackLoop
from transom.learning.insight import Insight, InsightCategory, InsightSource
from transom.learning.notes import import_notes
from transom.learning.patterns import ErrorPatterns
from transom.learning.playbook import Playbook
from transom.learning.reflector import InsightCandidate, OptimizationOutcome, Reflector
from transom.learning.retrieval import PlaybookQuery
from transom.learning.session import ExposedState, IsolatedState, SessionState
from transom.learning.snapshot import Snapshot, cited_in, ids_in, shown_in, uncited
from transom.learning.tasks import TaskType

# The name that earlier versions gave it; it will be removed in the next minor version.
Source = InsightSource

__all__ = [
    "CachedContextWriter",
    "CompactedLog",
    "ContextBudgetManager",
    "Curator",
    "ErrorPatterns",
    "ExposedState",
    "FeedbackLoop",
    "Insight",
    "InsightCandidate",
    "InsightCategory",
    "InsightSource",
    "IsolatedState",
    "OptimizationOutcome",
    "Playbook",
    "PlaybookQuery",
    "Reflector",
    "SessionState",
    "Snapshot",
    "Source",
    "StablePrefixBuilder",
    "TaskType",
    "cited_in",
    "ids_in",
    "import_json",
    "import_notes",
    "shown_in",
    "uncited",
]

if not TYPE_CHECKING:  # a type checker knows the present names alone
    __getattr__ = earlier_names(
        __name__,
        {"CompactionManager": "CompactedLog", "ContextCacheOptimizer": "CachedContextWriter"},
    )
