"""Write the ItemSpec of a claim: the same four sections that a model writes, from the claim's data.

Everything in it follows from what decides: the validation items of `checker.yaml`, the claim, and
the rows of the report formats that yield its measurements.
"""

from __future__ import annotations

from transom.checklist.atoms import CheckerConfig, ClaimRow
from transom.checklist.claims.claim_subject import ClaimSubject
from transom.checklist.claims.spec_check import CheckText
from transom.checklist.claims.spec_guide import GuideText
from transom.checklist.claims.spec_parsing import ParsingText
from transom.checklist.claims.spec_waiver import WaiverText
from transom.checklist.item import Item


def write_claim_text(item: Item, row: ClaimRow, config: CheckerConfig) -> str:
    """Return the ItemSpec of an item that is judged by a claim.

    Args:
        item: the item.
        row: its claim, with parameters.
        config: `checker.yaml` of the claim, whose validation items the text describes.
    """
    subject = ClaimSubject(item, row, config)
    description = " ".join(item.description.split())
    sections = [
        f"# ItemSpec: {item.item_id}",
        f"**Description**: {description}",
        ParsingText(subject).text(),
        CheckText(subject).text(),
        WaiverText(subject).text(),
        GuideText(subject).text(),
    ]
    return "\n\n".join(sections) + "\n"
