"""What a run of an epic leaves: one row a story, one a stage; and how good its summaries are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from transom.stories.story import Action, Story

State = Literal["done", "blocked", "paused", "failed", "skipped", "planned"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class FileChange(_Model):
    """A changed file."""

    path: str
    action: Action


class StageRow(_Model):
    """One attempt of a stage. `evidence` holds what was found out, not what was said."""

    stage: Literal["sm", "po", "dev", "qa"]
    decision: str | None = None
    attempt: int = 1
    summary: str = ""
    by: str = ""
    evidence: dict[str, Any] = {}
    quality: float | None = None
    usage: dict[str, int] = {}


class StoryResult(_Model):
    """One story.

    Attributes:
        status: how it stands; `planned` in a dry run alone. `reason` says why it is not done.
        commits: of its work, then the one that merged it.
        truncations: what was cut, and by how much.
        parked: branches on which work is kept that stood in the way.
        windows: in a dry run, seat -> block -> characters that it would see.
        rounds: how many times it began anew after it had ended without being done.
    """

    id: str
    title: str = ""
    status: State = "skipped"
    reason: str = ""
    stages: list[StageRow] = []
    files_modified: list[FileChange] = []
    tests: dict[str, int] = {}
    commits: list[str] = []
    blockers: list[str] = []
    truncations: list[dict[str, Any]] = []
    parked: list[str] = []
    usage: dict[str, int] = {}
    windows: dict[str, dict[str, int]] = {}
    rounds: int = 0
    was_blocked: bool = False


class EpicResult(_Model):
    """A whole run."""

    schema_: Literal["transom.story/1"] = Field(default="transom.story/1", alias="schema")
    epic: str
    dry_run: bool = False
    stories: list[StoryResult]
    drift: list[str] = []
    run_id: str | None = None

    @property
    def exit_code(self) -> int:
        """0: all done, or a plan; 3: one waits or is blocked; 1: one failed. A wait is graver than a failure."""
        states = {story.status for story in self.stories}
        return 3 if states & {"paused", "blocked"} else 1 if states & {"failed", "skipped"} else 0


def quality(summary: str, story: Story, changes: Mapping[str, Action], problems: tuple[str, ...]) -> float:
    """How far a summary of Dev's can be relied on, 0 to 1: criteria and files named, nothing said against the tests."""
    plain = summary.lower()
    words = [{word for word in one.lower().split() if len(word) > 4} for one in story.criteria]
    named = sum(bool(one) and sum(word in plain for word in one) >= min(2, len(one)) for one in words)
    criteria = named / len(words) if words else 1.0
    names = [path.rpartition("/")[2].lower() for path in changes]
    files = sum(name in plain or name.partition(".")[0] in plain for name in names) / len(names) if names else 0.0
    boasts = any(word in plain for word in ("all tests pass", "tests are green", "everything works", "tests passed"))
    return round((criteria + files + (0.0 if boasts and problems else 1.0)) / 3, 2)
