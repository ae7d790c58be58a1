"""The hand-over: what one stage of a story tells the next, within limits, in a file that a person can read."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from transom.errors import InputError
from transom.formats.yaml_files import dump_yaml, load_yaml
from transom.runs.artifact import write_file

Action = Literal["created", "modified", "deleted"]
STAGES = ("sm", "po", "dev", "qa")
PO_DECISIONS = ("APPROVED", "BLOCKED", "CHANGES REQUESTED")


@dataclass(frozen=True)
class HandoffLimits:
    """How much a hand-over holds, and how much of it is passed on.

    Attributes:
        summary: characters of a stage's summary.
        criteria: acceptance criteria.
        files: modified files, the newest.
        passed_on: characters of a summary that the next stage sees.
        files_passed_on: files that QA sees, the newest.
        diff: characters of the diff that QA sees.
    """

    summary: int = 2000
    criteria: int = 10
    files: int = 20
    passed_on: int = 500
    files_passed_on: int = 10
    diff: int = 40_000


def now() -> str:
    """The time as the file has it: UTC, to the second."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"


def check_retention(value: str) -> str:
    """The setting, if it is one.

    Raises:
        InputError: it is none.
    """
    if not re.fullmatch(r"delete|failed|archive|keep:\d+", value):
        hint = "say delete, failed, archive or keep:N"
        raise InputError(f"{value!r} says nothing", where="handoff.retention", hint=hint)
    return value


class StoryHandoff:
    """Minimal context between the stages of one story.

    Args:
        story_id: whose.
        path: its file; None keeps it in memory alone.
        limits: how much it holds.
        created_at: when it was begun; now by default.
        clock: what time it is, for entries that do not say.
    """

    MAX_SUMMARY_LENGTH = HandoffLimits.summary
    MAX_ACCEPTANCE_CRITERIA = HandoffLimits.criteria
    MAX_FILES_TRACKED = HandoffLimits.files

    def __init__(
        self,
        story_id: str,
        path: Path | None = None,
        *,
        limits: HandoffLimits | None = None,
        created_at: str | None = None,
        clock: Callable[[], str] = now,
    ) -> None:
        self.story_id, self.path, self.limits, self._clock = story_id, path, limits or HandoffLimits(), clock
        self.created_at = created_at or clock()
        self.stages: dict[str, dict[str, Any]] = {}
        self.files_modified: list[dict[str, str]] = []
        self.decisions: list[dict[str, str]] = []
        self.blockers: list[dict[str, str]] = []
        self.acceptance_criteria: list[str] = []
        self.truncations: list[dict[str, Any]] = []

    @staticmethod
    def load(path: Path, *, limits: HandoffLimits | None = None) -> StoryHandoff:
        """Read a hand-over's file.

        Raises:
            InputError: it is no hand-over; with file:line.
        """
        file = load_yaml(path)
        data: Any = file.data
        shapes: dict[str, type] = {"stages": dict, "files_modified": list, "decisions": list, "blockers": list}
        if not isinstance(data, dict) or not isinstance(data.get("story_id"), str):
            raise InputError("is no hand-over of a story", where=str(path), hint="restore it, or delete it")
        for key, shape in shapes.items():
            rows: Any = data.get(key, shape())
            entries: Any = rows.values() if isinstance(rows, dict) else rows
            if not isinstance(rows, shape) or not all(isinstance(one, dict) for one in entries):
                raise InputError(f"{key} is not as it was written", where=file.where(key), hint="restore the file")
        handoff = StoryHandoff(data["story_id"], path, limits=limits, created_at=str(data.get("created_at") or ""))
        for key in (*shapes, "acceptance_criteria", "truncations"):
            if key in data:
                setattr(handoff, key, data[key])
        return handoff

    @property
    def criteria_total(self) -> int:
        """How many criteria the story has, those that are not kept here included."""
        cut = [int(one["of"]) for one in self.truncations if one.get("what") == "acceptance_criteria"]
        return max([len(self.acceptance_criteria), *cut])

    def add_stage_summary(
        self, stage: str, summary: str, decision: str | None = None, *, at: str | None = None
    ) -> None:
        """Record what a stage did, and what it decided. A stage that is done again replaces its summary.

        Raises:
            InputError: there is no such stage.
        """
        if stage not in STAGES:
            raise InputError(f"there is no stage {stage!r}", where=self.story_id, hint=f"say {', '.join(STAGES)}")
        at = at or self._clock()
        kept = self.cut(summary.strip(), self.limits.summary, f"{stage} summary")
        self.stages[stage] = {"summary": kept, "decision": decision, "timestamp": at}
        if decision is not None:
            self.decisions.append({"stage": stage, "decision": decision, "timestamp": at})

    def add_file_modified(self, file_path: str, action: Action, *, at: str | None = None) -> None:
        """Record a changed file; of too many the oldest go, and that is recorded."""
        first = next((one for one in self.files_modified if one["path"] == file_path), None)
        if first:
            self.files_modified.remove(first)
            if first["action"] == "created" and action == "modified":
                action = "created"
        self.files_modified.append({"path": file_path, "action": action, "timestamp": at or self._clock()})
        while len(self.files_modified) > self.limits.files:
            dropped = self.files_modified.pop(0)
            self._record("files_modified", self.limits.files, self.limits.files + 1, dropped["path"])

    def add_blocker(self, blocker: str, stage: str, *, at: str | None = None) -> None:
        """Record what keeps the story from going on."""
        kept = self.cut(blocker.strip(), self.limits.summary, f"{stage} blocker")
        self.blockers.append({"stage": stage, "blocker": kept, "timestamp": at or self._clock()})

    def set_acceptance_criteria(self, criteria: Sequence[str]) -> None:
        """Keep the criteria, as many as it may hold. The story itself keeps them all."""
        self.acceptance_criteria = list(criteria[: self.limits.criteria])
        if len(criteria) > self.limits.criteria:
            self._record("acceptance_criteria", self.limits.criteria, len(criteria))

    def get_context_for_stage(self, stage: str) -> dict[str, Any]:
        """What a stage sees of the others. The story itself is no context: each stage has it whole.

        Returns:
            `po`: `sm_summary`; `dev`: `po_decision`, `po_summary`; `qa`: `dev_summary`, `files`; `sm`: nothing.
        """
        match stage:
            case "po":
                return {"sm_summary": self._passed("sm", stage)}
            case "dev":
                return {"po_decision": self.decision("po"), "po_summary": self._passed("po", stage)}
            case "qa":
                rows = self.files_modified[-self.limits.files_passed_on :]
                if len(rows) < len(self.files_modified):
                    self._record("files for qa", len(rows), len(self.files_modified))
                return {
                    "dev_summary": self._passed("dev", stage),
                    "files": [{"path": one["path"], "action": one["action"]} for one in rows],
                }
            case "sm":
                return {}
        raise InputError(f"there is no stage {stage!r}", where=self.story_id, hint=f"say {', '.join(STAGES)}")

    def decision(self, stage: str) -> str | None:
        """The last decision of a stage."""
        found = [one["decision"] for one in self.decisions if one.get("stage") == stage]
        return found[-1] if found else None

    def validate_po_decision(self) -> tuple[bool, str]:
        """Whether PO's decision is recorded, once in each place, and one of the three that there are."""
        recorded, listed = self.stages.get("po", {}).get("decision"), self.decision("po")
        if recorded is None or listed is None:
            return False, "the hand-over has no decision of PO"
        if recorded != listed:
            return False, f"the hand-over says {recorded} in stages and {listed} in decisions"
        if listed not in PO_DECISIONS:
            return False, f"the hand-over's decision is {listed!r}, which is none of {', '.join(PO_DECISIONS)}"
        return True, listed

    def to_dict(self) -> dict[str, Any]:
        """The file's data. What was cut stands at the end, where anything was."""
        data: dict[str, Any] = {
            "story_id": self.story_id,
            "created_at": self.created_at,
            "stages": {stage: self.stages[stage] for stage in STAGES if stage in self.stages},
            "files_modified": self.files_modified,
            "decisions": self.decisions,
            "blockers": self.blockers,
        }
        more = {"acceptance_criteria": self.acceptance_criteria, "truncations": self.truncations}
        return data | {key: value for key, value in more.items() if value}

    def save(self) -> None:
        """Write the file, whole or not at all.

        Raises:
            InputError: it cannot be written.
        """
        if self.path:
            write_file(self.path, dump_yaml(self.to_dict()).encode("utf-8", "replace"))

    def cleanup(self, retention: str = "delete") -> None:
        """After the story was done: delete the file, or keep it.

        Args:
            retention: `delete`; `failed`: delete it unless the story was blocked on its way; `archive`: move it to
                `archive/`; `keep:N`: the same, and keep the newest N there.
        """
        if self.path is None or not self.path.exists():
            return
        archive = self.path.parent / "archive"
        if retention == "delete" or (retention == "failed" and not self.blockers):
            self.path.unlink()
            return
        archive.mkdir(exist_ok=True)
        shutil.move(self.path, archive / f"{self.path.stem}-{self.created_at.replace(':', '')}{self.path.suffix}")
        if retention.startswith("keep:"):
            kept = sorted(archive.glob("*.yaml"), key=lambda one: one.stat().st_mtime_ns)
            for old in kept[: max(len(kept) - int(retention.partition(":")[2]), 0)]:
                old.unlink()

    def _passed(self, of: str, to: str) -> str:
        return self.cut(self.stages.get(of, {}).get("summary") or "", self.limits.passed_on, f"{of} summary for {to}")

    def cut(self, text: str, most: int, what: str) -> str:
        """A text as long as it may be; that something was cut is recorded."""
        if len(text) <= most:
            return text
        self._record(what, most, len(text))
        return text[: most - 1].rstrip() + "…"

    def _record(self, what: str, kept: int, of: int, dropped: str = "") -> None:
        row: dict[str, Any] = {"what": what, "kept": kept, "of": of}
        if dropped:
            row["dropped"] = dropped
        if row not in self.truncations:
            self.truncations.append(row)
