"""What one stage of a story tells the next, within limits, in a file for people; and what of it may count."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from transom.config.model import HandoffSettings
from transom.errors import InputError
from transom.formats.yaml_files import dump_yaml
from transom.runs.artifact import write_file
from transom.stories.decisions import Read, read_reply, references
from transom.stories.story import Action, Story, is_testable, placeholders
from transom.stories.testrun import Comparison

STAGES = ("sm", "po", "dev", "qa")
_USUAL = HandoffSettings()
PO_DECISIONS = ("APPROVED", "BLOCKED", "CHANGES REQUESTED")


Checked = tuple[bool, str]
"""Whether it counts, and why not; of what counts, the decision."""

_SHORTEST_REASON = 3  # words


def now() -> str:
    """The time as the file has it: UTC, to the second."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"


class StoryHandoff:
    """Minimal context between the stages of one story; it is in memory alone where it has no path.

    Entries and the whole are dated now, where no time is given.
    """

    MAX_SUMMARY_LENGTH = _USUAL.max_summary_length
    MAX_ACCEPTANCE_CRITERIA = _USUAL.max_acceptance_criteria
    MAX_FILES_TRACKED = _USUAL.max_files_tracked

    def __init__(
        self, story_id: str, path: Path | None = None, *, limits: HandoffSettings = _USUAL, created_at: str = ""
    ) -> None:
        self.story_id, self.path, self.limits = story_id, path, limits
        self.created_at = created_at or now()
        self.stages: dict[str, dict[str, Any]] = {}
        self.files_modified: list[dict[str, str]] = []
        self.decisions: list[dict[str, str]] = []
        self.blockers: list[dict[str, str]] = []
        self.acceptance_criteria: list[str] = []
        self.criteria_total = 0
        self.truncations: list[dict[str, Any]] = []

    def add_stage_summary(
        self, stage: str, summary: str, decision: str | None = None, *, at: str | None = None
    ) -> None:
        """Record what a stage did, and what it decided. A stage that is done again replaces its summary."""
        self._check(stage)
        kept = self.cut(summary.strip(), self.limits.max_summary_length, f"{stage} summary")
        self.stages[stage] = {"summary": kept, "decision": decision, "timestamp": at or now()}
        if decision is not None:
            self.decisions.append({"stage": stage, "decision": decision, "timestamp": at or now()})

    def add_file_modified(self, file_path: str, action: Action, *, at: str | None = None) -> None:
        """Record a changed file; of too many the oldest go, and that is recorded."""
        first = next((one for one in self.files_modified if one["path"] == file_path), None)
        if first:
            self.files_modified.remove(first)
            action = "created" if (first["action"], action) == ("created", "modified") else action
        self.files_modified.append({"path": file_path, "action": action, "timestamp": at or now()})
        if len(self.files_modified) > self.limits.max_files_tracked:
            dropped, kept = self.files_modified.pop(0), len(self.files_modified)
            self._record("files_modified", kept, kept + 1, dropped=dropped["path"])

    def add_blocker(self, blocker: str, stage: str, *, at: str | None = None) -> None:
        """Record what keeps the story from going on."""
        kept = self.cut(blocker.strip(), self.limits.max_summary_length, f"{stage} blocker")
        self.blockers.append({"stage": stage, "blocker": kept, "timestamp": at or now()})

    def set_acceptance_criteria(self, criteria: Sequence[str]) -> None:
        """Keep the criteria, as many as it may hold. The story itself keeps them all."""
        most, self.criteria_total = self.limits.max_acceptance_criteria, len(criteria)
        self.acceptance_criteria = list(criteria[:most])
        if len(criteria) > most:
            self._record("acceptance_criteria", most, len(criteria))

    def get_context_for_stage(self, stage: str) -> dict[str, Any]:
        """What a stage sees of the others. The story itself is no context: each stage has it whole.

        Returns:
            `po`: `sm_summary`; `dev`: `po_decision`, `po_summary`; `qa`: `dev_summary`, `files`; `sm`: nothing.
        """
        self._check(stage)
        if stage == "po":
            return {"sm_summary": self._passed("sm", stage)}
        if stage == "dev":
            return {"po_decision": self.decision("po"), "po_summary": self._passed("po", stage)}
        if stage == "sm":
            return {}
        rows = self.files_modified[-self.limits.files_passed_on :]
        if len(rows) < len(self.files_modified):
            self._record("files for qa", len(rows), len(self.files_modified))
        files = [{"path": one["path"], "action": one["action"]} for one in rows]
        return {"dev_summary": self._passed("dev", stage), "files": files}

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
            return False, f"{listed!r} is none of {', '.join(PO_DECISIONS)}"
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
        """Write the file, whole or not at all."""
        if self.path:
            write_file(self.path, dump_yaml(self.to_dict()).encode("utf-8", "replace"))

    def cleanup(self) -> None:
        """After the story was done: delete the file, or keep it in `archive/`, as `limits.retention` says."""
        if self.path is None or not self.path.exists():
            return
        retention, archive = self.limits.retention, self.path.parent / "archive"
        if retention == "delete" or (retention == "failed" and not self.blockers):
            self.path.unlink()
            return
        archive.mkdir(exist_ok=True)
        shutil.move(self.path, archive / f"{self.path.stem}-{self.created_at.replace(':', '')}{self.path.suffix}")
        if retention.startswith("keep:"):
            kept = sorted(archive.glob("*.yaml"), key=lambda one: one.stat().st_mtime_ns, reverse=True)
            for old in kept[int(retention.removeprefix("keep:")) :]:
                old.unlink()

    def _check(self, stage: str) -> None:
        if stage not in STAGES:
            raise InputError(f"there is no stage {stage!r}", where=self.story_id, hint=f"say {', '.join(STAGES)}")

    def _passed(self, of: str, to: str) -> str:
        summary = self.stages.get(of, {}).get("summary") or ""
        return self.cut(summary, self.limits.summary_passed_on, f"{of} summary for {to}")

    def cut(self, text: str, most: int, what: str) -> str:
        """A text as long as it may be; that something was cut is recorded."""
        if len(text) <= most:
            return text
        self._record(what, most, len(text))
        return text[: most - 1].rstrip() + "…"

    def _record(self, what: str, kept: int, of: int, **more: str) -> None:
        row: dict[str, Any] = {"what": what, "kept": kept, "of": of, **more}
        if row not in self.truncations:
            self.truncations.append(row)


class AgentValidator:
    """Validates agents' outputs. No message of an agent is evidence of anything but its own decision."""

    @staticmethod
    def validate_sm_output(story: Story | None, handoff: StoryHandoff) -> Checked:
        """The story is there, has a goal and a testable criterion, and nothing in it is left to fill in."""
        if story is None or not story.text.strip():
            return False, "SM left no story"
        where = story.source or handoff.story_id
        if found := placeholders(story.text):
            line, text = found[0]
            return False, f"{where}:{line}: {text} is not filled in"
        if len(story.goal.split()) < _SHORTEST_REASON:
            return False, f"{where}: the story has no goal; say who wants what, and what for"
        if not story.criteria:
            return False, f"{where}: the story has no acceptance criterion"
        if not any(map(is_testable, story.criteria)):
            return False, f"{where}: no acceptance criterion can be tested: {story.criteria[0]!r}"
        return True, f"{len(story.criteria)} criteria"

    @staticmethod
    def validate_po_output(output: str, handoff: StoryHandoff) -> Checked:
        """Exactly one decision, the hand-over has the same, and a refusal has a reason that points into the story."""
        read = read_reply(output, "po")
        if not read.decision:
            return False, f"PO must say APPROVED, BLOCKED or CHANGES REQUESTED: {read.problem}"
        recorded, decision = handoff.validate_po_decision()
        if not recorded:
            return False, decision
        if decision != read.decision:
            return False, f"PO's reply says {read.decision}, the hand-over says {decision}"
        if decision == "APPROVED":
            return True, decision
        return _reasoned(decision, read.reasons, handoff)

    @staticmethod
    def validate_dev_output(output: str, handoff: StoryHandoff, changes: Mapping[str, Action] | None = None) -> Checked:
        """Files really changed, as git has it, and they are the files that Dev says it changed."""
        if changes is None:
            return False, f"{handoff.story_id}: nobody looked at what Dev changed"
        wrong = claims_against(read_reply(output), changes)
        return not wrong, "; ".join(wrong) or f"{len(changes)} files"

    @staticmethod
    def validate_qa_output(output: str, handoff: StoryHandoff, tests: Comparison | None = None) -> Checked:
        """QA's one decision, which counts only where the orchestrator's own test run does not say otherwise."""
        read = read_reply(output, "qa")
        if not read.decision:
            return False, f"QA must say PASS or FAIL: {read.problem}"
        if read.decision == "FAIL":
            return _reasoned("FAIL", read.reasons, handoff)
        if tests is None:
            return False, "QA says PASS, and no tests were run"
        if tests.problems:
            return False, f"QA says PASS, and the test run says: {tests.problems[0]}"
        return True, "PASS"


def claims_against(read: Read, changes: Mapping[str, Action], before: Mapping[str, Action] | None = None) -> list[str]:
    """Where Dev's list of files and the real changes of this attempt (path -> action) differ, both ways.

    `before` are those of the whole story, earlier attempts included; they may be listed, too.
    """
    before = changes if before is None else before
    if not before:
        return ["Dev changed no file"]
    if not read.files:
        why = read.problem or "FILES: with one line `- created|modified|deleted: PATH` each is missing"
        return [f"Dev lists no files: {why}"]
    wrong = []
    for path, claim in read.files.items():
        real = {one[path] for one in (changes, before) if path in one}
        if not real:
            wrong.append(f"{path} is listed and unchanged")
        elif claim not in real and "deleted" in (claim, *real):
            wrong.append(f"{path} is listed as {claim}")
    return wrong + [f"{path} is {action} and not listed" for path, action in changes.items() if path not in read.files]


def _reasoned(decision: str, reasons: tuple[str, ...], handoff: StoryHandoff) -> Checked:
    if sum(len(reason.split()) for reason in reasons) < _SHORTEST_REASON:
        return False, f"{decision} needs a reason; the reply has no line REASON: that says it"
    if not references(reasons, handoff.criteria_total):
        return False, f"{decision} needs a reference to a part of the story, e.g. AC 1 or Tasks: {reasons[0]!r}"
    return True, decision
