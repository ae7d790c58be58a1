"""Learning: a playbook whose insights gain or lose standing by the outcomes of the runs that used them."""

from transom.learning.curator import Curator, ReviewQuestion
from transom.learning.exchange import Imported, import_json, import_notes
from transom.learning.insight import Insight, InsightCategory, Source
from transom.learning.playbook import Outcome, Playbook
from transom.learning.retrieval import Wish
from transom.learning.snapshot import Snapshot, cited_in
from transom.learning.tasks import TaskType

__all__ = [
    "Curator",
    "Imported",
    "Insight",
    "InsightCategory",
    "Outcome",
    "Playbook",
    "ReviewQuestion",
    "Snapshot",
    "Source",
    "TaskType",
    "Wish",
    "cited_in",
    "import_json",
    "import_notes",
]
