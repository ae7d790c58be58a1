"""The claims that an item's files can prove, for a description whose words name none of them.

"The KLayout deck finds nothing on the final GDS" says little of "DRC finds no violation". But its
file is a DRC report of KLayout, and then this claim is one of the few that the sentence can mean.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from transom.checklist.claims.claim_data import shipped_claims
from transom.checklist.claims.other_matters import may_mean_other
from transom.checklist.claims.ranking import (
    ClaimCandidate,
    candidate_of,
    candidates_of_limit,
)
from transom.checklist.claims.written_limits import limit_in
from transom.checklist.judging.claim_account import holds_matter, share_of_proof
from transom.formats.reports import FileReading


@dataclass(frozen=True)
class _Measured:
    """A candidate with what the files have of its proof, 0..1."""

    candidate: ClaimCandidate
    share: float


def measured_claims(
    description: str,
    readings: Sequence[FileReading],
    *,
    has_patterns: bool,
    listed: Collection[str] = (),
) -> list[ClaimCandidate]:
    """Return the claims of which files measure something, the best first.

    A claim is left out if the description names a matter that another claim is about. Of a
    description with a limit, only limits are returned.

    Args:
        description: the description of an item.
        readings: what was read of its files.
        has_patterns: whether the item lists patterns.
        listed: the plain texts among them.
    """
    if limit_in(description) is None:
        found = _claims(description, has_patterns=has_patterns, listed=listed)
    else:
        found = [] if has_patterns else candidates_of_limit(description)
    measured = list[_Measured]()
    for candidate in found:
        if holds_matter(candidate.row, readings):
            measured.append(_Measured(candidate, share_of_proof(candidate.row, readings)))
    most = max((each.share for each in measured), default=0)
    # A report that only lists what is bad has no measurement that proves a claim.
    best = [each.candidate for each in measured if each.share in (0, most)]
    return sorted(best, key=lambda candidate: -candidate.score)


def _claims(
    description: str, *, has_patterns: bool, listed: Collection[str]
) -> list[ClaimCandidate]:
    """Return the claims without a limit that a description does not rule out."""
    found = list[ClaimCandidate]()
    for name, claim in shipped_claims().claims.items():
        if not claim.words or (claim.list is not None) != has_patterns:
            continue
        candidate = candidate_of(name, claim, description, listed)
        if candidate is None:
            continue
        if any(may_mean_other(words, candidate.row) for words in candidate.row.left_out):
            continue
        # With no word in common, such as the name of the tool, a file tells nothing of it.
        if candidate.score > 0:
            found.append(candidate)
    return found
