"""What holds a READY back although every criterion holds: unread files, trouble, an overturned
verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from transom.canonical import compact_json
from transom.evidence.caps import Cap
from transom.formats.measurements import Reading
from transom.investigator.overturning import OverturnedInvestigation
from transom.investigator.reading.recognition import OTHER_REVIEW
from transom.investigator.result import CriterionResult, Unread, Verdict


@dataclass(frozen=True)
class OverturnedEffect:
    """The effect of verdicts on the same feature and stage that a person overturned.

    Attributes:
        verdict: the verdict of the criteria, or NEEDS_JUDGEMENT if a person said otherwise.
        caps: the caps of the overturned verdicts that say otherwise.
    """

    verdict: Verdict
    caps: tuple[Cap, ...]

    @property
    def caps_of_ready(self) -> tuple[Cap, ...]:
        """The caps that hold a READY back; a lower verdict is limited already."""
        return self.caps if self.verdict == "READY" else ()

    @property
    def asked_beside(self) -> tuple[Cap, ...]:
        """The caps that a person is asked about although no READY is held back."""
        return () if self.verdict == "READY" else self.caps


def effect_of_overturned(
    by_criteria: Verdict,
    criteria: Sequence[CriterionResult],
    overturned: Sequence[OverturnedInvestigation],
) -> OverturnedEffect:
    """Return what overturned verdicts change about the verdict of the criteria."""
    failed = []
    for row in criteria:
        if row.required and row.status == "fail":
            failed.append(row.id)
    caps = list[Cap]()
    for entry in overturned:
        if entry.speaks_against(by_criteria, failed):
            caps.append(entry.cap)
    if by_criteria == "NOT_READY" and caps:
        # A cap only holds a READY back; a NOT_READY that was wrong is a person's to judge.
        return OverturnedEffect("NEEDS_JUDGEMENT", tuple(caps))
    return OverturnedEffect(by_criteria, tuple(caps))


def find_caps(readings: Sequence[Reading], unread: Sequence[Unread]) -> list[Cap]:
    """Return what holds a READY back: unread files, and trouble that no criterion judges."""
    caps = list[Cap]()
    for row in unread:
        if row.could_matter:
            caps.append(Cap("files", f"{row.source} was not read: {row.why}", row.source))
    for reading in readings:
        # An analysis that cannot be read is judged by its criterion already.
        if reading.kind == "document" and reading.state in ("unreadable", "in_part"):
            caps.append(Cap("files", f"{reading.source} {reading.why}", reading.source))
        for remark in reading.remarks:
            if remark.kind == "trouble":
                text = f"{reading.source}#{remark.locator}: {remark.text}"
                caps.append(Cap("trouble", text, reading.source))
        if reading.name == OTHER_REVIEW:
            caps += _caps_of_other(reading)
        # No criterion asks for the changelog, so its bad news would be lost.
        if reading.name == "changelog":
            for observation in reading.observations:
                if observation.measure == "source.outcome":
                    text = f"{reading.source}: {observation.label}"
                    caps.append(Cap("trouble", text, reading.source))
    return caps


def _caps_of_other(reading: Reading) -> list[Cap]:
    """Return the bad news of a review that no criterion asks for."""
    if not reading.usable:
        return [Cap("files", f"{reading.source} {reading.why}", reading.source)]
    is_readme = PurePosixPath(reading.source).stem.casefold() == "readme"
    if not reading.observations and not is_readme:
        # A mail that takes an approval back has no form in which decisions are written.
        text = f"{reading.source} lies with the reviews and states no decision that can be read"
        return [Cap("files", text, reading.source)]
    caps = list[Cap]()
    for observation in reading.observations:
        if observation.measure in ("review.approver", "review.author"):
            continue
        # Lower findings of such a review are reported, and hold nothing back.
        is_grave = observation.measure.endswith((".critical", ".high")) and observation.number
        is_denied = observation.measure.startswith("review.") and observation.value not in (
            "pass",
            "skipped",
        )
        is_entry = observation.number is not None or observation.measure.endswith(
            ("valid_until", ".entry")
        )
        if is_grave or (is_denied and not is_entry):
            text = (
                f"{reading.source}: {observation.label or observation.measure} {observation.value}"
            )
            caps.append(Cap("trouble", text, reading.source))
    return caps


def acceptance_of(cap: Cap) -> str:
    """Return the entry of a policy that accepts a cap."""
    return f"accept: [{{text: {compact_json(cap.text)}, by: NAME, until: YYYY-MM-DD}}]"
