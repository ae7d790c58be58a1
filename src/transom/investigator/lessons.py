"""Insights for an investigation, and feedback from it to the playbook."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transom.investigator.concluding import VERDICT, Kept
from transom.investigator.gathering import SourceReport, seat_of
from transom.investigator.inquiry import Inquiry
from transom.investigator.result import Investigation
from transom.learning import (
    ErrorPatterns,
    InsightCategory,
    InsightSource,
    OptimizationOutcome,
    Playbook,
    Reflector,
)
from transom.runs import Run

DOMAIN = "investigator"
"""The playbook's domain for insights of investigations."""

_TOKENS = 1_000  # of insights in a window: a reader's source and the case need the rest
_OF_MAIN = ("justification", "risks", "verdict")
_PATTERNS = Path(__file__).with_name("claim_errors.yaml")


async def recalled(run: Run, inquiry: Inquiry, target: str) -> str:
    """Return the playbook's insights for a question as text; "" without a playbook."""
    query = f"{inquiry.question} {target}"
    if inquiry.playbook:
        return (await inquiry.playbook.recall(run, "insights", query, _TOKENS)).value
    return ""


def learn(run: Run, playbook: Playbook, reports: Sequence[SourceReport], kept: Kept) -> None:
    """Count each seat's answer for the insights that it cited, and add its findings as insights.

    A struck sentence, or a verdict above that of the rules, counts against the cited insights. A
    resumed run counts nothing twice.
    """
    reflector = Reflector(playbook, ErrorPatterns(_PATTERNS))
    of_main = []
    for claim in kept.investigation.unsupported_claims:
        if claim.where in _OF_MAIN:
            of_main.append(claim.why)
    of_main += [f"the rules allow no {kept.above}"] if kept.above else []
    seats = []
    for report in reports:
        if not report.failed:
            seats.append((seat_of(report), [row.why for row in report.struck]))
    for seat, why in (*seats, (VERDICT, of_main)):
        # One message of each kind, since the sentences differ between features.
        messages = {reflector.patterns.classify(reason).kind: reason for reason in reversed(why)}
        source = InsightSource(run.id, seat, by=DOMAIN)
        outcome = OptimizationOutcome(
            None, not why, solver_errors=[*messages.values()], source=source
        )
        reflector.learn(outcome, kept.named.get(seat, ()))
    reflector.commit_insights()


def take_judgement(run: Run, playbook: Playbook, result: Investigation) -> None:
    """Add a person's reason for a judgement to the playbook, for cases that are unclear in the
    same way.
    """
    if (judgement := result.judgement) and judgement.reason:
        unclear = ", ".join(
            criterion.name
            for criterion in result.criteria
            if criterion.required and criterion.status == "unknown"
        )
        text = (
            f"Where {unclear} was not clear, {result.target_stage} was judged {judgement.verdict}:"
            f" {judgement.reason}"
        )
        source = InsightSource(run.id, "judgement", by=judgement.by)
        playbook.add_insight(InsightCategory.DOMAIN, text, tags=["judgement"], source=source)
