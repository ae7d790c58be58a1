"""AgentValidator: whether what an agent said may count, held against the hand-over and the evidence."""

from __future__ import annotations

from collections.abc import Mapping

from transom.stories.decisions import Read, read_reply, references
from transom.stories.handoff import Action, StoryHandoff
from transom.stories.story import Story, is_testable, placeholders
from transom.stories.testrun import Comparison

Checked = tuple[bool, str]
"""Whether it counts, and why not; of what counts, the decision."""

_SHORTEST_REASON = 3  # words


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
