"""The results of an epic's run: a row per story, a row per stage; and a score for summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from transom.stories.criteria import Covering
from transom.stories.story import Action, Story

MERGED_DIFF = "merged.diff"
"""File beside a story's result with the diff that was merged, for people."""

_BOASTS = ("all tests pass", "tests are green", "everything works", "tests passed")
_SHORT_WORD = 4

State = Literal["done", "blocked", "paused", "failed", "skipped", "planned"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class FileChange(_Model):
    """A changed file."""

    path: str
    action: Action


class StageRow(_Model):
    """One attempt of a stage.

    Attributes:
        evidence: the orchestrator's observations, not the agent's claims.
        quality: the score of its summary, from 0 to 1.
        quality_of: what the score consists of, in words.
    """

    stage: Literal["sm", "po", "dev", "qa"]
    decision: str | None = None
    attempt: int = 1
    summary: str = ""
    by: str = ""
    evidence: dict[str, Any] = {}
    quality: float | None = None
    quality_of: str = ""
    usage: dict[str, int] = {}

    def rate(self, score: SummaryScore) -> None:
        """Keep the score of the summary."""
        self.quality, self.quality_of = score.score, str(score)


class StoryResult(_Model):
    """The result of one story.

    Attributes:
        status: its state; `planned` only in a dry run. `reason`: why it is not done.
        commits: the commit of its work, then the merge commit.
        truncations: truncated texts, with their lengths before and after.
        parked: branches with parked work.
        windows: in a dry run, seat -> block -> characters that it would see.
        rounds: number of restarts after an unsuccessful end.
        coverage: each criterion with the tests that cover it, and the changed lines that they run.
        cost: USD of its calls, as far as agents and providers tell; None: nobody told.
        seconds: how long commands worked on it, without the time that it waited for a person.
        would_be: the status without the caps in `capped_by`, which a person may accept one by one.
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
    cost: float | None = None
    seconds: float = 0.0
    windows: dict[str, dict[str, int]] = {}
    rounds: int = 0
    was_blocked: bool = False
    coverage: list[Covering] = []
    would_be: State | None = None
    capped_by: list[dict[str, Any]] = []

    @property
    def lane(self) -> dict[str, list[StageRow]]:
        """The attempts of each role, also of one that was not asked, in the order of their work."""
        lane: dict[str, list[StageRow]] = {role: [] for role in ("sm", "po", "dev", "qa")}
        for row in self.stages:
            lane[row.stage].append(row)
        return lane


class EpicResult(_Model):
    """The result of an epic's run.

    `skipped`: what looks like part of a backlog and was not read, with the reason. `branch`: the
    epic's own branch, which holds the finished stories; `request`: the address of its pull request;
    `problem`: why there is none.
    """

    schema_: Literal["transom.story/1"] = Field(default="transom.story/1", alias="schema")
    epic: str
    dry_run: bool = False
    stories: list[StoryResult]
    drift: list[str] = []
    skipped: list[str] = []
    run_id: str | None = None
    branch: str | None = None
    request: str | None = None
    problem: str = ""

    @property
    def exit_code(self) -> int:
        """0: all done, or a plan; 3: one is paused or blocked, or no pull request was opened;
        1: one failed. 3 takes precedence over 1.
        """
        # A person can do something about a pause at once; that is said first.
        states = {story.status for story in self.stories}
        if self.problem or states & {"paused", "blocked"}:
            return 3
        return 1 if states & {"failed", "skipped"} else 0


@dataclass(frozen=True)
class SummaryScore:
    """How much a summary says, from 0 to 1: the mean of its parts.

    Attributes:
        parts: the share of each part: `criteria` that it names and, of Dev's, changed `files` that
            it names and `claims`, which is 0 if one of its claims is false.
        counts: the same in words, such as `names 1 of 2 criteria`.
    """

    parts: Mapping[str, float]
    counts: tuple[str, ...]

    @property
    def score(self) -> float:
        """The mean of the parts."""
        return round(sum(self.parts.values()) / len(self.parts), 2)

    def __str__(self) -> str:
        return f"{self.score:.2f}: {', '.join(self.counts)}"


def score_summary(summary: str, story: Story) -> SummaryScore:
    """Score the summary of any role: does it name the story's criteria?"""
    plain = summary.lower()
    named = 0
    for criterion in story.criteria:
        # Short words are in every text, so they show nothing.
        words = {word for word in criterion.lower().split() if len(word) > _SHORT_WORD}
        hits = sum(word in plain for word in words)
        named += bool(words) and hits >= min(2, len(words))
    total = len(story.criteria)
    share = named / total if total else 1.0
    return SummaryScore({"criteria": share}, (f"names {named} of {total} criteria",))


def score_work(
    summary: str,
    story: Story,
    changes: Mapping[str, Action],
    problems: tuple[str, ...],
    denied: Sequence[str] = (),
) -> SummaryScore:
    """Score Dev's summary: criteria named, files named, no claim that the evidence contradicts.

    Args:
        changes: path -> what git shows.
        problems: problems of the test run.
        denied: what speaks against the reply's word, one sentence each.
    """
    plain = summary.lower()
    of_criteria = score_summary(summary, story)
    names = [path.rpartition("/")[2].lower() for path in changes]
    named = 0
    for name in names:
        named += name in plain or name.partition(".")[0] in plain
    truth, claims = 1.0, "makes no false claim of tests"
    if denied:
        truth, claims = 0.0, f"is contradicted: {denied[0]}"
    elif problems and any(word in plain for word in _BOASTS):
        truth, claims = 0.0, "praises tests that have problems"
    parts = {
        **of_criteria.parts,
        "files": named / len(names) if names else 0.0,
        "claims": truth,
    }
    counts = (*of_criteria.counts, f"names {named} of {len(names)} changed files", claims)
    return SummaryScore(parts, counts)
