"""Stories: SM, PO, Dev and QA on a real repository, with evidence instead of claims."""

from transom.stories.backlog import find_backlog
from transom.stories.backlog_search import Backlog
from transom.stories.epic import kept_diffs, kept_results, plan, run_epic
from transom.stories.handoff import AgentValidator, StoryHandoff
from transom.stories.results import EpicResult, StageRow, StoryResult
from transom.stories.shared import Epic, StorySettings
from transom.stories.story import Story

__all__ = [
    "AgentValidator",
    "Backlog",
    "Epic",
    "EpicResult",
    "StageRow",
    "Story",
    "StoryHandoff",
    "StoryResult",
    "StorySettings",
    "find_backlog",
    "kept_diffs",
    "kept_results",
    "plan",
    "run_epic",
]
