"""The hand-over between the stages of a story, a bounded YAML file, and the validation of
agents' replies.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from transom.config.story_sections import HandoffSettings
from transom.errors import InputError
from transom.formats.yaml_files import dump_yaml
from transom.runs.artifact import write_file
from transom.stories.decisions import Read, read_reply, references
from transom.stories.story import Action, Story, count_words, is_testable, placeholders
from transom.stories.testrun import RunComparison

STAGES = ("sm", "po", "dev", "qa")
_USUAL = HandoffSettings()
PO_DECISIONS = ("APPROVED", "BLOCKED", "CHANGES REQUESTED")


Checked = tuple[bool, str]
"""Whether a reply is valid; and the reason if not, else the decision."""

_SHORTEST_REASON = 3  # words


def timestamp() -> str:
    """Return the time in the file's format: UTC, to the second."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"


class StoryHandoff:
    """Minimal context between the stages of one story; kept in memory only if `path` is None.

    The default of every time is now.
    """

    MAX_SUMMARY_LENGTH = _USUAL.max_summary_length
    MAX_ACCEPTANCE_CRITERIA = _USUAL.max_acceptance_criteria
    MAX_FILES_TRACKED = _USUAL.max_files_tracked

    def __init__(
        self,
        story_id: str,
        path: Path | None = None,
        *,
        limits: HandoffSettings = _USUAL,
        created_at: str = "",
    ) -> None:
        self.story_id, self.path, self.limits = story_id, path, limits
        self.created_at = created_at or timestamp()
        self.stages: dict[str, dict[str, Any]] = {}
        self.files_modified: list[dict[str, str]] = []
        self._all_files: set[str] = set()
        self.decisions: list[dict[str, str]] = []
        self.blockers: list[dict[str, str]] = []
        self.acceptance_criteria: list[str] = []
        self.criteria_total = 0
        self.truncations: list[dict[str, Any]] = []

    def add_stage_summary(
        self, stage: str, summary: str, decision: str | None = None, *, at: str | None = None
    ) -> None:
        """Record a stage's summary and decision. A repeated stage replaces its summary."""
        self._check(stage)
        text = self.cut(summary.strip(), self.limits.max_summary_length, f"{stage} summary")
        self.stages[stage] = {"summary": text, "decision": decision, "timestamp": at or timestamp()}
        if decision is not None:
            self.decisions.append(
                {"stage": stage, "decision": decision, "timestamp": at or timestamp()}
            )

    def add_file_modified(self, file_path: str, action: Action, *, at: str | None = None) -> None:
        """Record a changed file; beyond the limit the oldest is dropped, and their number is
        recorded.
        """
        self._all_files.add(file_path)
        rows = self.files_modified
        first = next((row for row in rows if row["path"] == file_path), None)
        if first:
            rows.remove(first)
            action = "created" if (first["action"], action) == ("created", "modified") else action
        rows.append({"path": file_path, "action": action, "timestamp": at or timestamp()})
        if len(rows) > self.limits.max_files_tracked:
            rows.pop(0)
        if len(self._all_files) > len(rows):
            # One row, however many files there are: a record of what is left out stays small.
            self.truncations = [row for row in self.truncations if row["what"] != "files_modified"]
            self._record("files_modified", len(rows), len(self._all_files))

    def add_blocker(self, blocker: str, stage: str, *, at: str | None = None) -> None:
        """Record a reason why the story is blocked."""
        text = self.cut(blocker.strip(), self.limits.max_summary_length, f"{stage} blocker")
        self.blockers.append({"stage": stage, "blocker": text, "timestamp": at or timestamp()})

    def set_acceptance_criteria(self, criteria: Sequence[str]) -> None:
        """Keep the criteria up to the limit. The story itself keeps all of them."""
        limit, self.criteria_total = self.limits.max_acceptance_criteria, len(criteria)
        self.acceptance_criteria = list(criteria[:limit])
        if len(criteria) > limit:
            self._record("acceptance_criteria", limit, len(criteria))

    def get_context_for_stage(self, stage: str) -> dict[str, Any]:
        """Return what a stage sees of earlier stages. The story is not included: each stage gets it
        whole.

        Returns:
            `po`: `sm_summary`; `dev`: `po_decision`, `po_summary`; `qa`: `dev_summary`, `files`;
            `sm`: nothing.
        """
        self._check(stage)
        if stage == "po":
            return {"sm_summary": self._passed("sm", stage)}
        if stage == "dev":
            return {"po_decision": self.decision("po"), "po_summary": self._passed("po", stage)}
        if stage == "sm":
            return {}
        # The newest, since QA looks at what Dev did last.
        rows = self.files_modified[-self.limits.files_passed_on :]
        if len(rows) < len(self.files_modified):
            self._record("files for qa", len(rows), len(self.files_modified))
        files = [{"path": row["path"], "action": row["action"]} for row in rows]
        return {"dev_summary": self._passed("dev", stage), "files": files}

    def decision(self, stage: str) -> str | None:
        """Return the last decision of a stage, or None."""
        decisions = [row["decision"] for row in self.decisions if row.get("stage") == stage]
        return decisions[-1] if decisions else None

    def validate_po_decision(self) -> tuple[bool, str]:
        """Whether PO's decision is recorded consistently and is one of the three known ones."""
        # Two places on purpose: a file that was edited by hand is noticed.
        recorded, listed = self.stages.get("po", {}).get("decision"), self.decision("po")
        if recorded is None or listed is None:
            return False, "the hand-over has no decision of PO"
        if recorded != listed:
            return False, f"the hand-over says {recorded} in stages and {listed} in decisions"
        if listed not in PO_DECISIONS:
            return False, f"unknown decision {listed!r}; known: {', '.join(PO_DECISIONS)}"
        return True, listed

    def to_dict(self) -> dict[str, Any]:
        """Return the file's data. Truncations come last, if there are any."""
        data: dict[str, Any] = {
            "story_id": self.story_id,
            "created_at": self.created_at,
            "stages": {stage: self.stages[stage] for stage in STAGES if stage in self.stages},
            "files_modified": self.files_modified,
            "decisions": self.decisions,
            "blockers": self.blockers,
        }
        # Left out if empty, so that the file stays as short as its story.
        optional = {
            "acceptance_criteria": self.acceptance_criteria,
            "truncations": self.truncations,
        }
        return data | {key: value for key, value in optional.items() if value}

    def save(self) -> None:
        """Write the file atomically."""
        if self.path:
            write_file(self.path, dump_yaml(self.to_dict()).encode("utf-8", "replace"))

    def cleanup(self) -> None:
        """Delete the file of a finished story, or move it to `archive/`, as `limits.retention`
        says.
        """
        if self.path is None or not self.path.exists():
            return
        retention, archive = self.limits.retention, self.path.parent / "archive"
        # A hand-over serves the next stage; a finished story has none.
        if retention == "delete" or (retention == "failed" and not self.blockers):
            self.path.unlink()
            return
        archive.mkdir(exist_ok=True)
        shutil.move(
            self.path,
            archive / f"{self.path.stem}-{self.created_at.replace(':', '')}{self.path.suffix}",
        )
        if retention.startswith("keep:"):
            archived = sorted(
                archive.glob("*.yaml"), key=lambda file: file.stat().st_mtime_ns, reverse=True
            )
            for old in archived[int(retention.removeprefix("keep:")) :]:
                old.unlink()

    def _check(self, stage: str) -> None:
        if stage not in STAGES:
            raise InputError(
                f"unknown stage {stage!r}", place=self.story_id, hint=f"known: {', '.join(STAGES)}"
            )

    def _passed(self, of: str, to: str) -> str:
        summary = self.stages.get(of, {}).get("summary") or ""
        return self.cut(summary, self.limits.summary_passed_on, f"{of} summary for {to}")

    def cut(self, text: str, limit: int, subject: str) -> str:
        """Truncate a text to `limit` characters; a truncation is recorded."""
        if len(text) <= limit:
            return text
        self._record(subject, limit, len(text))
        return text[: limit - 1].rstrip() + "…"

    def _record(self, subject: str, length: int, of: int, **details: str) -> None:
        row: dict[str, Any] = {"what": subject, "kept": length, "of": of, **details}
        if row not in self.truncations:
            self.truncations.append(row)


class AgentValidator:
    """Validates agents' replies. A reply is evidence of nothing but its own decision."""

    @staticmethod
    def validate_sm_output(story: Story | None, handoff: StoryHandoff) -> Checked:
        """Whether the story exists, has a goal and a testable criterion, and no placeholder."""
        if story is None or not story.text.strip():
            return False, "SM left no story"
        source = story.source or handoff.story_id
        # First: what is not filled in also has a goal and criteria in form.
        if marks := placeholders(story.text):
            line, text = marks[0]
            return False, f"{source}:{line}: {text} is not filled in"
        if count_words(story.goal) < _SHORTEST_REASON:
            return False, f"{source}: the story has no goal; name its user, the wish and the reason"
        if not story.criteria:
            return False, f"{source}: the story has no acceptance criterion"
        if not any(map(is_testable, story.criteria)):
            return False, f"{source}: no acceptance criterion can be tested: {story.criteria[0]!r}"
        return True, f"{len(story.criteria)} criteria"

    @staticmethod
    def validate_po_output(output: str, handoff: StoryHandoff) -> Checked:
        """Whether PO made exactly one decision, the hand-over has the same, and a refusal cites
        a part of the story.
        """
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
    def validate_dev_output(
        output: str, handoff: StoryHandoff, changes: Mapping[str, Action] | None = None
    ) -> Checked:
        """Whether git shows changed files, and they are the files that Dev lists."""
        if changes is None:
            return False, f"{handoff.story_id}: Dev's changes were not read from git"
        wrong = claims_against(read_reply(output), changes)
        return not wrong, "; ".join(wrong) or f"{len(changes)} files"

    @staticmethod
    def validate_qa_output(
        output: str,
        handoff: StoryHandoff,
        tests: RunComparison | None = None,
        uncovered: Sequence[int] = (),
    ) -> Checked:
        """Whether QA made one decision, and a PASS agrees with the orchestrator's own test run.

        `uncovered`: criteria that no test covers and that no person accepted.
        """
        # QA's word is checked against the runs, never the other way round.
        read = read_reply(output, "qa")
        if not read.decision:
            return False, f"QA must say PASS or FAIL: {read.problem}"
        if read.decision == "FAIL":
            return _reasoned("FAIL", read.reasons, handoff)
        if tests is None:
            return False, "QA says PASS, but no tests were run"
        if tests.problems:
            return False, f"QA says PASS, and the test run says: {tests.problems[0]}"
        if uncovered:
            return False, f"QA says PASS, and no test covers AC {uncovered[0]}"
        return True, "PASS"


def claims_against(
    read: Read, changes: Mapping[str, Action], before: Mapping[str, Action] | None = None
) -> list[str]:
    """Compare Dev's list of files with this attempt's real changes (path -> action); returns the
    differences.

    `before` has the changes of the whole story, earlier attempts included; Dev may list these too.
    """
    # A later attempt may list what an earlier one did.
    before = changes if before is None else before
    if not before:
        return ["Dev changed no file"]
    if not read.files:
        why = (
            read.problem
            or "FILES: with one line `- created|modified|deleted: PATH` each is missing"
        )
        return [f"Dev lists no files: {why}"]
    wrong = []
    for path, claim in read.files.items():
        # A file may be created in one attempt and changed in the next: both are true.
        real = {actions[path] for actions in (changes, before) if path in actions}
        if not real:
            wrong.append(f"{path} is listed and unchanged")
        elif claim not in real and "deleted" in (claim, *real):
            wrong.append(f"{path} is listed as {claim}")
    return wrong + [
        f"{path} is {action} and not listed"
        for path, action in changes.items()
        if path not in read.files
    ]


def _reasoned(decision: str, reasons: tuple[str, ...], handoff: StoryHandoff) -> Checked:
    if sum(map(count_words, reasons)) < _SHORTEST_REASON:
        return False, f"{decision} needs a reason; the reply has no line REASON:"
    if not references(reasons, handoff.criteria_total):
        return (
            False,
            (
                f"{decision} needs a reference to a part of the story, e.g. AC 1 or Tasks:"
                f" {reasons[0]!r}"
            ),
        )
    return True, decision
