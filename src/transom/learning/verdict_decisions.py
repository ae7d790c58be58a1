"""A person's decision on a verdict, which counts for or against the insights behind the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transom.errors import InputError
from transom.learning.insight import InsightCategory, InsightSource
from transom.learning.playbook import Playbook

_LONGEST_REASON = 2_000  # characters; the insight that has it also says what was checked
_LONGEST_TEXT = 1_000  # characters of what was checked


@dataclass(frozen=True)
class DecidableVerdict:
    """A verdict that a person confirms or overturns.

    Attributes:
        run_id: the run that came to it.
        item_id: the item or feature that it is about.
        status: the verdict.
        sha: digest of its bytes; a decision about the same bytes counts once.
        text: what was checked, in words.
        insights: ids of the insights that were named when it was made.
        tags: tags of the insight that says why it was wrong.
    """

    run_id: str
    item_id: str
    status: str
    sha: str
    text: str
    insights: Sequence[str]
    tags: Sequence[str] = ()


@dataclass(frozen=True)
class GivenDecision:
    """What a person decides about a verdict.

    Attributes:
        is_confirmed: whether the verdict is right; else it is overturned.
        person: who decides.
        reason: why, or "".
        item_id: the item or feature that the person means; "" for that of the run.
    """

    is_confirmed: bool
    person: str
    reason: str = ""
    item_id: str = ""

    def __post_init__(self) -> None:
        # Before anything is counted or written.
        if not self.person.strip():
            hint = "write the name of the person who decides"
            raise InputError("the decision has no name", hint=hint)
        if len(self.reason) > _LONGEST_REASON:
            hint = f"write at most {_LONGEST_REASON} characters"
            raise InputError("the reason is too long", hint=hint)


@dataclass(frozen=True)
class VerdictDecision:
    """A person's decision on a verdict, and what came of it.

    Attributes:
        verdict: the verdict.
        given: the decision.
        counted: ids of the insights that it counts for or against.
        learned: id of the insight that says why the verdict was wrong, or "".
        kept_in: the item's file that now keeps that it was wrong, or "".
    """

    verdict: DecidableVerdict
    given: GivenDecision
    counted: Sequence[str] = ()
    learned: str = ""
    kept_in: str = ""

    @property
    def word(self) -> str:
        """The decision in a word."""
        return "confirmed" if self.given.is_confirmed else "overturned"

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "transom.word/1",
            "run_id": self.verdict.run_id,
            "item_id": self.verdict.item_id,
            "status": self.verdict.status,
            "word": self.word,
            "by": self.given.person,
            "counted": [*self.counted],
            "learned": self.learned,
            "kept_in": self.kept_in,
        }

    @property
    def lines(self) -> list[str]:
        """What the decision did, in lines for the person."""
        effect = "its build named no insight that this counts for"
        if self.counted:
            effect = f"counted for {', '.join(self.counted)}"
        verdict = self.verdict
        head = f"{verdict.item_id} {verdict.status} {self.word} by {self.given.person}"
        lines = [f"{head}: {effect}"]
        if self.learned:
            lines.append(f"learned: {self.learned}; see: transom playbook show {self.learned}")
        if self.kept_in:
            lines.append(
                f"{self.kept_in} keeps it: the item does not end with {verdict.status} again"
                " before you give it another meaning"
            )
        return lines


def require_item(item_of_verdict: str, item_id: str, run_id: str) -> None:
    """Raise InputError if the verdict of a run is on another item than a person named, if any."""
    if item_id and item_id != item_of_verdict:
        problem = f"the verdict is on {item_of_verdict}, not on {item_id}"
        raise InputError(problem, place=run_id, hint="name that")


def decide(playbook: Playbook, verdict: DecidableVerdict, given: GivenDecision) -> VerdictDecision:
    """Count a decision for or against the insights that a verdict rests on.

    The same decision counts once. The reason why a verdict was wrong becomes an insight.

    Args:
        playbook: the playbook as the product sees it that came to the verdict.
        verdict: the verdict.
        given: the decision.
    """
    decision = VerdictDecision(verdict, given)
    stage = f"{decision.word} {verdict.sha[:12]}"
    source = InsightSource(verdict.run_id, stage, by=given.person)
    counted = playbook.record(verdict.insights, given.is_confirmed, source, followed=True)
    learned = ""
    # A reason for a right verdict teaches nothing.
    if not given.is_confirmed and (given.reason or verdict.tags):
        text = f'{verdict.status} was wrong for "{verdict.text[:_LONGEST_TEXT]}"'
        if given.reason:
            text += f": {' '.join(given.reason.split())}"
        tags = ["verdict", *verdict.tags]
        insight = playbook.add_insight(InsightCategory.MISTAKE, text, tags=tags, source=source)
        learned = insight.id
    return VerdictDecision(verdict, given, counted, learned)
