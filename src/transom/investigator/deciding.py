"""Verdict from judged criteria: hard gates first, judgement within them; unknowns lower the
confidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import cast

from transom.evidence.caps import Cap, cap_verdict, read_acceptances, with_commands
from transom.evidence.dates import read_age
from transom.evidence.identity import IdentityRequirement
from transom.formats.measurements import Reading, Remark
from transom.investigator.contradictions import find_contradictions
from transom.investigator.features import Feature
from transom.investigator.judging import Judge
from transom.investigator.ledger import Ledger
from transom.investigator.overturning import OverturnedInvestigation
from transom.investigator.policy import Criterion, CriterionWaiver, Policy
from transom.investigator.reading.recognition import OTHER_REVIEW
from transom.investigator.result import (
    Contradiction,
    CriterionResult,
    Injection,
    Risk,
    StageFit,
    Unread,
    Unsupported,
    Verdict,
    WaiverOutcome,
)
from transom.investigator.subject import RequiredSubject
from transom.investigator.verdict_caps import acceptance_of, effect_of_overturned, find_caps

ORDER: tuple[Verdict, ...] = ("NOT_READY", "INSUFFICIENT_DATA", "NEEDS_JUDGEMENT", "READY")
"""Verdicts, worst first."""
_CERTAINTY = {"": 1.0, "mixed": 0.5, "not_measured": 0.4, "absent": 0.0}
_CONTRADICTED = 0.2
_MOST_RISKS = 12


@dataclass(frozen=True)
class Decision:
    """A verdict and its grounds."""

    verdict: Verdict
    confidence: float
    stage_fit: StageFit
    criteria: list[CriterionResult]
    risks: list[Risk]
    contradictions: list[Contradiction]
    waivers: list[WaiverOutcome]
    unsupported: list[Unsupported]
    injections: list[Injection]
    unread: list[Unread]
    questions: list[str]
    would_be: Verdict | None = None
    capped_by: tuple[Cap, ...] = ()


def decide(
    policy: Policy,
    feature: Feature,
    readings: Sequence[Reading],
    ledger: Ledger,
    *,
    current: str | None,
    target: str,
    waivers: Sequence[CriterionWaiver],
    as_of: date,
    unread: Sequence[Unread] = (),
    named: Sequence[IdentityRequirement] = (),
    overturned: Sequence[OverturnedInvestigation] = (),
) -> Decision:
    """Judge a feature for a stage.

    Args:
        current: the stage in Jira; None if Jira has none.
        target: the stage to judge for.
        unread: unread sources beside those of the readings.
        named: what the question names beside the feature.
        overturned: verdicts on this feature and stage that a person overturned.
    """
    wanted_subject = _wanted_subject(policy, feature, as_of, named)
    missing = [row.source for row in unread if row.could_matter]
    # Files that nobody read may be what a criterion misses, so it may not call it absent.
    judge = Judge(readings, ledger, wanted_subject, missing)
    criteria_wanted = policy.criteria_for(target)
    # Contradictions come first, so that their passages have the first ids of the ledger.
    contradictions = find_contradictions(policy, readings, ledger, current)
    judged = [judge.judge(criterion) for criterion in criteria_wanted]
    valid, expired = _by_validity([*policy.waivers, *waivers], as_of)
    criteria, waiver_uses = _waived(judged, valid, expired, feature)
    # A person's earlier judgement is weighed before the caps: it may lower a NOT_READY, too.
    effect = effect_of_overturned(verdict_of(criteria), criteria, overturned)
    judged_readings = _readings_of(criteria_wanted, readings)
    caps = find_caps(judged_readings, unread)
    for reading in judged_readings:
        caps += wanted_subject.caps(reading)
    if current is not None and feature.status and policy.stage_of(feature.status) is None:
        caps.append(_unknown_status(feature, current))
    capped = cap_verdict(
        effect.verdict,
        [*caps, *effect.caps_of_ready],
        read_acceptances(policy.accept),
        as_of,
        positive={"READY"},
        capped="NEEDS_JUDGEMENT",
    )
    # What was read in part counts as unread for the confidence.
    missed = [*_incomplete(readings), *unread]
    open_caps = [*capped.capped_by, *effect.asked_beside]
    return Decision(
        verdict=cast("Verdict", capped.status),
        confidence=_confidence(criteria, contradictions, missed, readings),
        stage_fit=_stage_fit(policy, criteria, current),
        criteria=criteria,
        risks=_risks(criteria, readings, ledger, contradictions),
        contradictions=contradictions,
        waivers=waiver_uses,
        unsupported=_claims(readings),
        injections=_injections(readings),
        unread=missed,
        questions=[*_questions(criteria, target), *_questions_of(open_caps)],
        would_be=cast("Verdict | None", capped.would_be),
        capped_by=with_commands(capped.capped_by, acceptance_of),
    )


def _readings_of(criteria: Sequence[Criterion], readings: Sequence[Reading]) -> list[Reading]:
    """Return the readings that can hold a stage back.

    An analysis that the stage does not ask for yet holds nothing back. Reviews of another kind may
    be about anything, and count at every stage.
    """
    sources = {criterion.source for criterion in criteria}
    relevant = list[Reading]()
    for reading in readings:
        if reading.kind != "analysis" or reading.name in (*sources, OTHER_REVIEW):
            relevant.append(reading)
    return relevant


def _unknown_status(feature: Feature, current: str) -> Cap:
    """Return the cap of a status that no step of the ladder has: "On ice" is in progress, too."""
    text = f"no step of the policy has the status {feature.status!r}, taken for {current}"
    return Cap("words", text, "")


def _by_validity(
    waivers: Sequence[CriterionWaiver], as_of: date
) -> tuple[list[CriterionWaiver], list[CriterionWaiver]]:
    """Return the waivers that are valid on a day, and those that have expired."""
    valid, expired = list[CriterionWaiver](), list[CriterionWaiver]()
    for waiver in waivers:
        (valid if waiver.expires >= as_of else expired).append(waiver)
    return valid, expired


def _incomplete(readings: Sequence[Reading]) -> list[Unread]:
    """Return the sources that could not be read, or only in part."""
    incomplete = list[Unread]()
    for reading in readings:
        if reading.state in ("unreadable", "in_part"):
            incomplete.append(Unread(source=reading.source, why=reading.why))
    return incomplete


def _wanted_subject(
    policy: Policy, feature: Feature, as_of: date, mentioned: Sequence[IdentityRequirement]
) -> RequiredSubject:
    """Return what the evidence must be about: the feature, and what question and policy name."""
    requirements = list(mentioned)
    for facet, text in policy.subject.items():
        requirements.append(IdentityRequirement(facet, text, "the policy"))
    max_age = read_age(policy.fresh) if policy.fresh else None
    return RequiredSubject(feature, as_of, tuple(requirements), max_age, policy.dated == "required")


def _questions_of(caps: Sequence[Cap]) -> list[str]:
    """Return what a person is asked about the caps."""
    return [f"{cap.text}. Is that acceptable?" for cap in caps]


def verdict_of(criteria: Sequence[CriterionResult]) -> Verdict:
    """Return the verdict that follows from the required criteria."""
    required = []
    for criterion in criteria:
        if criterion.required:
            required.append(criterion)
    if any(entry.status == "fail" for entry in required):
        return "NOT_READY"
    unknown = []
    for entry in required:
        if entry.status == "unknown":
            unknown.append(entry)
    if any(entry.doubt == "absent" for entry in unknown):
        return "INSUFFICIENT_DATA"
    if unknown:
        return "NEEDS_JUDGEMENT"
    return "READY"


def limited(proposed: Verdict, rules: Verdict) -> Verdict:
    """Limit a model's verdict to that of the rules: a model may only judge lower.

    A required criterion that failed, or that nobody knows, is no matter of opinion. A person can
    decide on an unknown one.
    """
    return min(proposed, rules, key=ORDER.index)


def _waived(
    judged: Sequence[CriterionResult],
    valid: Sequence[CriterionWaiver],
    expired: Sequence[CriterionWaiver],
    feature: Feature,
) -> tuple[list[CriterionResult], list[WaiverOutcome]]:
    names = (feature.feature_id, feature.jira_key, feature.folder)
    criteria: list[CriterionResult] = []
    applied: set[int] = set()
    for criterion in judged:
        # A waiver covers what is open alone; it is reported as unused if nothing needed it.
        waiver = next((waiver for waiver in valid if waiver.covers(criterion.id, names)), None)
        if waiver is not None and criterion.status in ("fail", "unknown"):
            applied.add(id(waiver))
            why = (
                f"waived by {waiver.approver} until {waiver.expires}: {waiver.reason}; without it:"
                f" {criterion.why}"
            )
            criterion = criterion.model_copy(update={"status": "waived", "why": why, "doubt": ""})
        criteria.append(criterion)
    waiver_uses = [
        _use(waiver, id(waiver) in applied, _why_unused(waiver, judged, names)) for waiver in valid
    ]
    return criteria, [
        *waiver_uses,
        *(_use(waiver, False, f"expired on {waiver.expires}") for waiver in expired),
    ]


def _why_unused(
    waiver: CriterionWaiver, judged: Sequence[CriterionResult], names: Sequence[str]
) -> str:
    """Return why a waiver does not apply; "" if it applies."""
    covered = []
    for criterion in judged:
        if waiver.covers(criterion.id, names):
            covered.append(criterion)
    if any(entry.status in ("fail", "unknown") for entry in covered):
        return ""
    if covered:
        return "nothing needed it"
    return "it names another feature or no criterion of this stage"


def _use(waiver: CriterionWaiver, applied: bool, why: str) -> WaiverOutcome:
    return WaiverOutcome(
        **waiver.model_dump(mode="json", exclude={"feature"}), applied=applied, why=why
    )


def _confidence(
    criteria: Sequence[CriterionResult],
    contradictions: Sequence[Contradiction],
    unread: Sequence[Unread],
    readings: Sequence[Reading],
) -> float:
    """Return the required criteria's mean certainty, reduced for unread sources: a lost source
    never raises it.
    """
    required = []
    for criterion in criteria:
        if criterion.required:
            required.append(criterion)
    if not required:
        return 0.0
    # A criterion whose sources disagree is less certain, whatever it says.
    touched = {contradiction.criterion for contradiction in contradictions}
    certain = [
        max(0.0, _CERTAINTY[entry.doubt] - (_CONTRADICTED if entry.id in touched else 0.0))
        for entry in required
    ]
    share = len(unread) / max(len(readings), len(unread), 1)
    return round(sum(certain) / len(certain) * (1 - 0.3 * share), 2)


def _stage_fit(
    policy: Policy, criteria: Sequence[CriterionResult], current: str | None
) -> StageFit:
    """Return whether the feature meets the criteria of its current stage."""
    if current is None:
        return "unclear"
    # Criteria that are judged for the next stage alone say nothing of the current one.
    needed = set()
    for criterion in policy.criteria_for(current):
        if criterion.required:
            needed.add(criterion.id)
    own = []
    for entry in criteria:
        if entry.id in needed:
            own.append(entry)
    if any(criterion.status == "fail" for criterion in own):
        return "premature"
    if any(entry.status == "unknown" for entry in own) or len(own) < len(needed):
        return "unclear"
    return "appropriate"


def _risks(
    criteria: Sequence[CriterionResult],
    readings: Sequence[Reading],
    ledger: Ledger,
    contradictions: Sequence[Contradiction],
) -> list[Risk]:
    risks = list[Risk]()
    for criterion in criteria:
        is_open = criterion.status == "unknown" and criterion.required
        # A waived criterion is still a risk: somebody took it on.
        if criterion.status in ("fail", "waived") or is_open:
            risks.append(
                Risk(
                    text=f"{criterion.name}: {criterion.why}",
                    severity="high" if criterion.required else "medium",
                    evidence=criterion.evidence,
                )
            )
    for contradiction in contradictions:
        risks.append(
            Risk(text=contradiction.text, severity="medium", evidence=contradiction.evidence)
        )
    for reading in readings:
        for remark in reading.remarks:
            # The criterion that a remark made fail has its text already.
            is_listed = any(remark.text in risk.text for risk in risks)
            is_risk = remark.kind in ("suppressed", "doubt", "risk")
            if not is_risk or is_listed or len(risks) >= _MOST_RISKS:
                continue
            measure = f"remark.{remark.kind}"
            passage = ledger.add_passage(reading, remark.locator, remark.quote, measure)
            severity = "medium" if remark.kind != "risk" else remark.severity
            risks.append(Risk(text=remark.text, severity=severity, evidence=[passage]))
    return sorted(risks, key=lambda entry: ("high", "medium", "low").index(entry.severity))


def _claims(readings: Sequence[Reading]) -> list[Unsupported]:
    """Return the places where the data calls something waived by itself."""
    claims = list[Unsupported]()
    for reading, remark in _remarks_of(readings, "waiver_claim"):
        claims.append(
            Unsupported(
                text=remark.quote or remark.text,
                why="a waiver counts only from the policy or --waivers",
                where=f"{reading.source}#{remark.locator}",
            )
        )
    return claims


def _injections(readings: Sequence[Reading]) -> list[Injection]:
    """Return the places where the data tells its reader what to do."""
    injections = list[Injection]()
    for reading, remark in _remarks_of(readings, "injection"):
        injections.append(
            Injection(source=reading.source, locator=remark.locator, quote=remark.quote)
        )
    return injections


def _remarks_of(readings: Sequence[Reading], kind: str) -> Iterator[tuple[Reading, Remark]]:
    for reading in readings:
        for remark in reading.remarks:
            if remark.kind == kind:
                yield reading, remark


def _questions(criteria: Sequence[CriterionResult], target: str) -> list[str]:
    asks = {
        "absent": "Who can supply it",
        "not_measured": "When will it be measured, or is that risk acceptable",
        "mixed": "Is that acceptable",
    }
    questions = list[str]()
    for criterion in criteria:
        # A failed criterion is no question: it needs work or a waiver.
        is_open = criterion.status == "unknown" and criterion.required
        if not is_open or criterion.doubt not in asks:
            continue
        owner = f" ({criterion.owner})" if criterion.owner else ""
        question = f"{criterion.name}: {criterion.why}. {asks[criterion.doubt]} for {target}?"
        questions.append(question + owner)
    return questions
