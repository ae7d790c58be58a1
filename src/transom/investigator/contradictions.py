"""Find sources that contradict each other, or themselves."""

from __future__ import annotations

from collections.abc import Sequence

from transom.formats.measurements import Reading
from transom.investigator.criterion_parts import SourcedObservation
from transom.investigator.ledger import Ledger
from transom.investigator.policy import Policy
from transom.investigator.result import Contradiction


def find_contradictions(
    policy: Policy, readings: Sequence[Reading], ledger: Ledger, current: str | None
) -> list[Contradiction]:
    """Return contradictions: within a file, between documents and measurements, between Jira and
    its changelog.
    """
    contradictions = list[Contradiction]()
    for reading in readings:
        for remark in reading.remarks:
            if remark.kind != "contradiction":
                continue
            passage = ledger.add_passage(reading, remark.locator, remark.quote, remark.measure)
            contradictions.append(
                Contradiction(
                    text=f"{reading.source}: {remark.text}",
                    evidence=[passage],
                    criterion=_criterion_of(policy, remark.measure, reading.name),
                )
            )
    contradictions += _stages_differ(policy, readings, ledger, current)
    contradictions += _claims_differ(policy, readings, ledger)
    return contradictions


def _criterion_of(policy: Policy, measure: str, source: str) -> str:
    for criterion in policy.criteria:
        # The criterion with a rule on the measure; else the one that reads the source.
        if any(rule.measure == measure for rule in criterion.rules):
            return criterion.id
    return next((entry.id for entry in policy.criteria if entry.source == source), "")


def _stages_differ(
    policy: Policy, readings: Sequence[Reading], ledger: Ledger, current: str | None
) -> list[Contradiction]:
    issue_status = ""
    for reading in readings:
        for entry in reading.observations:
            if entry.measure == "jira.status" and not issue_status:
                issue_status = ledger.add(entry, reading)
    # Without a stage in Jira there is nothing to contradict.
    if current is None or not issue_status:
        return []
    contradictions = list[Contradiction]()
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
                evidence = [issue_status, ledger.add(entry, reading)]
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
    contradictions = list[Contradiction]()
    measured = dict[str, SourcedObservation]()
    for reading in readings:
        # A document that claims a figure is no measurement of it.
        if reading.kind != "analysis":
            continue
        for observation in reading.observations:
            if observation.nature == "measured" and observation.number is not None:
                measured[observation.measure] = SourcedObservation(observation, reading)
    for reading in readings:
        for claim in reading.observations:
            measure = claim.measure.removeprefix("claim.")
            if measure == claim.measure or measure not in measured:
                continue
            entry, other = measured[measure].observation, measured[measure].reading
            # People round shares when they write; counts are either equal or not.
            tolerance = 1 if entry.unit == "%" else 0
            if abs((entry.number or 0) - (claim.number or 0)) > tolerance:
                measured_as = f"{other.source} {round(entry.number or 0, 2):g}{entry.unit}"
                text = f"{reading.source} tells {claim.value:g}{claim.unit}, {measured_as}"
                evidence = [ledger.add(claim, reading), ledger.add(entry, other)]
                contradictions.append(
                    Contradiction(
                        text=text,
                        evidence=evidence,
                        criterion=_criterion_of(policy, measure, other.name),
                    )
                )
    return contradictions
