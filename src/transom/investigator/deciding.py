"""Verdict from judged criteria: hard gates first, judgement within them; unknowns lower the
confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import cast

from transom.canonical import compact_json
from transom.evidence.caps import Cap, cap_verdict, read_acceptances, with_commands
from transom.evidence.dates import read_age
from transom.evidence.identity import IdentityRequirement
from transom.formats.measurements import Reading
from transom.investigator.judging import Judge
from transom.investigator.ledger import Ledger
from transom.investigator.overturning import OverturnedInvestigation
from transom.investigator.policy import Policy, Waiver
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
    WaiverUse,
)
from transom.investigator.sources import Feature
from transom.investigator.subject import RequiredSubject

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
    waivers: list[WaiverUse]
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
    waivers: Sequence[Waiver],
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
    judge = Judge(readings, ledger, wanted_subject, missing)
    criteria_wanted = policy.criteria_for(target)
    contradictions = find_contradictions(policy, readings, ledger, current)
    judged = [judge.judge(criterion) for criterion in criteria_wanted]
    criteria, waiver_uses = _waived(
        judged, *_by_validity([*policy.waivers, *waivers], as_of), feature
    )
    # What the stage does not ask for yet holds nothing back.
    sources = {criterion.source for criterion in criteria_wanted}
    judged_readings = [
        reading
        for reading in readings
        if reading.kind != "analysis" or reading.name in (*sources, OTHER_REVIEW)
    ]
    caps = [
        *find_caps(judged_readings, unread),
        *(cap for reading in judged_readings for cap in wanted_subject.caps(reading)),
    ]
    by_criteria = verdict_of(criteria)
    failed = [row.id for row in criteria if row.required and row.status == "fail"]
    held_back = list[Cap]()
    for entry in overturned:
        if entry.speaks_against(by_criteria, failed):
            held_back.append(entry.cap)
    if by_criteria == "NOT_READY" and held_back:
        # A cap only holds a READY back; a NOT_READY that was wrong is a person's to judge.
        by_criteria = "NEEDS_JUDGEMENT"
    caps += [cap for cap in held_back if by_criteria == "READY"]
    capped = cap_verdict(
        by_criteria,
        caps,
        read_acceptances(policy.accept),
        as_of,
        positive={"READY"},
        capped="NEEDS_JUDGEMENT",
    )
    verdict = cast("Verdict", capped.status)
    # A READY has the overturned verdict among its caps already.
    open_caps = [*capped.capped_by, *([] if by_criteria == "READY" else held_back)]
    missed = [*_incomplete(readings), *unread]
    return Decision(
        verdict=verdict,
        confidence=_confidence(criteria, contradictions, missed, readings),
        stage_fit=_stage_fit(policy, criteria, current),
        criteria=criteria,
        risks=_risks(criteria, readings, ledger, contradictions),
        contradictions=contradictions,
        waivers=waiver_uses,
        unsupported=_claims(readings),
        injections=_injections(readings),
        unread=missed,
        questions=[
            *_questions(criteria, target),
            *_questions_of(open_caps),
        ],
        would_be=cast("Verdict | None", capped.would_be),
        capped_by=with_commands(capped.capped_by, _acceptance_of),
    )


def _by_validity(waivers: Sequence[Waiver], as_of: date) -> tuple[list[Waiver], list[Waiver]]:
    """Return the waivers that are valid on a day, and those that have expired."""
    valid, expired = list[Waiver](), list[Waiver]()
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


def find_caps(readings: Sequence[Reading], unread: Sequence[Unread]) -> list[Cap]:
    """Return what holds a READY back: unread files, and trouble that no criterion judges."""
    caps = list[Cap]()
    for row in unread:
        if row.could_matter:
            caps.append(Cap("files", f"{row.source} was not read: {row.why}", row.source))
    for reading in readings:
        if reading.kind == "document" and reading.state in ("unreadable", "in_part"):
            caps.append(Cap("files", f"{reading.source} {reading.why}", reading.source))
        for remark in reading.remarks:
            if remark.kind == "trouble":
                text = f"{reading.source}#{remark.locator}: {remark.text}"
                caps.append(Cap("trouble", text, reading.source))
        if reading.name == OTHER_REVIEW:
            caps += _caps_of_other(reading)
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
    caps = list[Cap]()
    for observation in reading.observations:
        if observation.measure in ("review.approver", "review.author"):
            continue
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


def _acceptance_of(cap: Cap) -> str:
    """Return the entry of a policy that accepts a cap."""
    return f"accept: [{{text: {compact_json(cap.text)}, by: NAME, until: YYYY-MM-DD}}]"


def _questions_of(caps: Sequence[Cap]) -> list[str]:
    """Return what a person is asked about the caps."""
    return [f"{cap.text}. Is that acceptable?" for cap in caps]


def verdict_of(criteria: Sequence[CriterionResult]) -> Verdict:
    """Return the verdict that follows from the required criteria."""
    required = [criterion for criterion in criteria if criterion.required]
    if any(entry.status == "fail" for entry in required):
        return "NOT_READY"
    unknown = [entry for entry in required if entry.status == "unknown"]
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
    valid: Sequence[Waiver],
    expired: Sequence[Waiver],
    feature: Feature,
) -> tuple[list[CriterionResult], list[WaiverUse]]:
    names = (feature.feature_id, feature.jira_key, feature.folder)
    criteria: list[CriterionResult] = []
    applied: set[int] = set()
    for criterion in judged:
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


def _why_unused(waiver: Waiver, judged: Sequence[CriterionResult], names: Sequence[str]) -> str:
    """Return why a waiver does not apply; "" if it applies."""
    covered = [criterion for criterion in judged if waiver.covers(criterion.id, names)]
    if any(entry.status in ("fail", "unknown") for entry in covered):
        return ""
    if covered:
        return "nothing needed it"
    return "it names another feature or no criterion of this stage"


def _use(waiver: Waiver, applied: bool, why: str) -> WaiverUse:
    return WaiverUse(
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
    required = [criterion for criterion in criteria if criterion.required]
    if not required:
        return 0.0
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
    needed = {criterion.id for criterion in policy.criteria_for(current) if criterion.required}
    own = [entry for entry in criteria if entry.id in needed]
    if any(criterion.status == "fail" for criterion in own):
        return "premature"
    if any(entry.status == "unknown" for entry in own) or len(own) < len(needed):
        return "unclear"
    return "appropriate"


def find_contradictions(
    policy: Policy, readings: Sequence[Reading], ledger: Ledger, current: str | None
) -> list[Contradiction]:
    """Return contradictions: within a file, between documents and measurements, between Jira and
    its changelog.
    """
    contradictions: list[Contradiction] = []
    for reading in readings:
        for remark in reading.remarks:
            if remark.kind == "contradiction":
                evidence = [
                    ledger.add_passage(reading, remark.locator, remark.quote, remark.measure)
                ]
                criterion = _criterion_of(policy, remark.measure, reading.name)
                contradictions.append(
                    Contradiction(
                        text=f"{reading.source}: {remark.text}",
                        evidence=evidence,
                        criterion=criterion,
                    )
                )
    contradictions += _stages_differ(policy, readings, ledger, current)
    contradictions += _claims_differ(policy, readings, ledger)
    return contradictions


def _criterion_of(policy: Policy, measure: str, source: str) -> str:
    for criterion in policy.criteria:
        if any(rule.measure == measure for rule in criterion.rules):
            return criterion.id
    return next((entry.id for entry in policy.criteria if entry.source == source), "")


def _stages_differ(
    policy: Policy, readings: Sequence[Reading], ledger: Ledger, current: str | None
) -> list[Contradiction]:
    status = [
        (observation, reading)
        for reading in readings
        for observation in reading.observations
        if observation.measure == "jira.status"
    ]
    if current is None or not status:
        return []
    own = ledger.add(*status[0])
    contradictions = []
    for reading in readings:
        for entry in reading.observations:
            if entry.measure == "document.stage":
                stage = policy.stage_in(str(entry.value))
            elif entry.measure == "jira.last_status":
                stage = policy.stage_of(str(entry.value))
            else:
                continue
            if stage is not None and stage != current:
                text = f"{reading.source} speaks of {stage}, Jira of {current}"
                evidence = [own, ledger.add(entry, reading)]
                contradictions.append(
                    Contradiction(text=text, evidence=evidence, criterion="jira.issue")
                )
    return contradictions


def _claims_differ(
    policy: Policy, readings: Sequence[Reading], ledger: Ledger
) -> list[Contradiction]:
    """Return the contradictions between figures in documents and measured ones; the measurement
    counts.
    """
    contradictions = []
    measured = {
        observation.measure: (observation, reading)
        for reading in readings
        if reading.kind == "analysis"
        for observation in reading.observations
        if observation.nature == "measured" and observation.number is not None
    }
    for reading in readings:
        for claim in reading.observations:
            measure = claim.measure.removeprefix("claim.")
            if measure == claim.measure or measure not in measured:
                continue
            entry, of = measured[measure]
            if abs((entry.number or 0) - (claim.number or 0)) > (1 if entry.unit == "%" else 0):
                measured_as = f"{of.source} {round(entry.number or 0, 2):g}{entry.unit}"
                text = f"{reading.source} tells {claim.value:g}{claim.unit}, {measured_as}"
                evidence = [ledger.add(claim, reading), ledger.add(entry, of)]
                contradictions.append(
                    Contradiction(
                        text=text,
                        evidence=evidence,
                        criterion=_criterion_of(policy, measure, of.name),
                    )
                )
    return contradictions


def _risks(
    criteria: Sequence[CriterionResult],
    readings: Sequence[Reading],
    ledger: Ledger,
    contradictions: Sequence[Contradiction],
) -> list[Risk]:
    risks = [
        Risk(
            text=f"{criterion.name}: {criterion.why}",
            severity="high" if criterion.required else "medium",
            evidence=criterion.evidence,
        )
        for criterion in criteria
        if criterion.status in ("fail", "waived")
        or (criterion.status == "unknown" and criterion.required)
    ]
    risks += [
        Risk(text=contradiction.text, severity="medium", evidence=contradiction.evidence)
        for contradiction in contradictions
    ]
    for reading in readings:
        for remark in reading.remarks:
            listed = any(remark.text in risk.text for risk in risks)
            if (
                remark.kind in ("suppressed", "doubt", "risk")
                and not listed
                and len(risks) < _MOST_RISKS
            ):
                evidence = [
                    ledger.add_passage(
                        reading, remark.locator, remark.quote, f"remark.{remark.kind}"
                    )
                ]
                severity = "medium" if remark.kind != "risk" else remark.severity
                risks.append(Risk(text=remark.text, severity=severity, evidence=evidence))
    return sorted(risks, key=lambda entry: ("high", "medium", "low").index(entry.severity))


def _claims(readings: Sequence[Reading]) -> list[Unsupported]:
    return [
        Unsupported(
            text=remark.quote or remark.text,
            why="a waiver counts only from the policy or --waivers",
            where=f"{reading.source}#{remark.locator}",
        )
        for reading in readings
        for remark in reading.remarks
        if remark.kind == "waiver_claim"
    ]


def _injections(readings: Sequence[Reading]) -> list[Injection]:
    return [
        Injection(source=reading.source, locator=remark.locator, quote=remark.quote)
        for reading in readings
        for remark in reading.remarks
        if remark.kind == "injection"
    ]


def _questions(criteria: Sequence[CriterionResult], target: str) -> list[str]:
    asks = {
        "absent": "Who can supply it",
        "not_measured": "When will it be measured, or is that risk acceptable",
        "mixed": "Is that acceptable",
    }
    return [
        f"{criterion.name}: {criterion.why}. {asks[criterion.doubt]} for {target}?"
        + (f" ({criterion.owner})" if criterion.owner else "")
        for criterion in criteria
        if criterion.status == "unknown" and criterion.required and criterion.doubt in asks
    ]
