"""A person's decision on the verdict of an investigation: confirmed, or overturned."""

from __future__ import annotations

from pathlib import Path

from transom.canonical import digest
from transom.errors import InputError
from transom.investigator.concluding import Kept
from transom.investigator.lessons import DOMAIN
from transom.investigator.overturning import overturned_before, tags_of_overturned
from transom.investigator.result import Investigation
from transom.learning import Playbook
from transom.learning.verdict_decisions import (
    DecidableVerdict,
    GivenDecision,
    VerdictDecision,
    decide,
    require_item,
)
from transom.runs.summarising import RunRow


def decide_investigation(
    playbook: Playbook, folder: Path, row: RunRow, given: GivenDecision
) -> VerdictDecision:
    """Confirm or overturn the verdict of an investigation.

    An overturned verdict holds the next one on that feature and stage back.

    Args:
        playbook: the workspace's playbook.
        folder: the folder of the run.
        row: the run.
        given: the decision.

    Raises:
        InputError: the run has no verdict, or one on another feature than the person means.
    """
    path = folder / "answer" / "investigation.json"
    if not path.is_file():
        problem = "there is no verdict in this run"
        raise InputError(problem, place=row.id, hint="see: transom runs list")
    data = path.read_bytes()
    record = Kept.model_validate_json(data)
    result = record.investigation
    require_item(result.feature_id, given.item_id, row.id)
    # The main thread and each reader named the insights that they used.
    insights: list[str] = []
    for keys in record.named.values():
        insights += keys
    verdict = DecidableVerdict(
        row.id,
        result.feature_id,
        result.verdict,
        digest(data),
        f"{result.feature_name} for {result.target_stage}",
        insights,
        tags_of_overturned(result),
    )
    return decide(playbook.of_domain(DOMAIN), verdict, given)


def objection_to(playbook: Playbook, result: Investigation) -> str:
    """Return who overturned a verdict, and why; "" if nobody did."""
    failed = [row.id for row in result.criteria if row.required and row.status == "fail"]
    book = playbook.of_domain(DOMAIN)
    for entry in overturned_before(book, result.feature_id, result.target_stage):
        if entry.speaks_against(result.verdict, failed):
            return entry.text
    return ""
