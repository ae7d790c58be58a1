"""Judge the figures of a criterion: by the rules of a policy, and by the targets of a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from transom.formats.measurements import Observation
from transom.investigator.criterion_parts import Part, SourcedObservation, of_measure, quoted_state
from transom.investigator.measures import words_of
from transom.investigator.policy import Rule
from transom.investigator.reading.quoting import plain_number


def _measured(rule: Rule, entries: Sequence[SourcedObservation]) -> list[SourcedObservation]:
    measured_entries = list[SourcedObservation]()
    for entry in entries:
        if entry.observation.measure == rule.measure and entry.observation.nature == "measured":
            measured_entries.append(entry)
    return measured_entries


def part_of_rule(rule: Rule, entries: Sequence[SourcedObservation]) -> Part | None:
    """Return the result of a rule; None if it is optional and the sources do not mention it."""
    if rule.counted is not None and (none := _part_of_none(rule.counted, entries)) is not None:
        return none
    measured = _measured(rule, entries)
    if not measured:
        if (
            rule.otherwise is not None
            and (part := part_of_rule(rule.otherwise, entries)) is not None
            and part.outcome != "absent"
        ):
            return part
        plan = _part_of_plan(rule, entries)
        if plan is not None:
            return plan
        if rule.optional:
            return None
        return Part("absent", f"no {words_of(rule.measure)} is told")
    if rule.equal is not None:
        return _of_status(rule, measured)
    return _of_number(rule, measured)


def _part_of_none(measure: str, entries: Sequence[SourcedObservation]) -> Part | None:
    """Return that a rule does not apply, if the sources count none of what it judges."""
    counts = of_measure(entries, measure)
    # None of none is no proof: "0 open subtasks" would look like work that is done.
    if counts and not any(entry.number for entry in counts):
        return Part("not_applicable", f"there are no {words_of(measure)}", counts[:1])
    return None


def _part_of_plan(rule: Rule, entries: Sequence[SourcedObservation]) -> Part | None:
    """Return that figures are only planned or estimated; None if any of their kind is measured."""
    family = rule.measure.partition(".")[0]
    planned = []
    for entry in entries:
        if not entry.observation.measure.startswith(f"{family}."):
            continue
        if entry.observation.nature == "measured":
            return None
        if entry.observation.nature in _NATURES:
            planned.append(entry)
    if not planned:
        return None
    nature = _NATURES[planned[0].observation.nature]
    return Part("not_measured", f"the figures are {nature}, no measurement", planned[:2])


_NATURES = {"planned": "planned", "estimate": "estimated"}


def _of_number(rule: Rule, observations: Sequence[SourcedObservation]) -> Part:
    at_most = rule.at_most is not None
    bound = rule.at_most if rule.at_most is not None else rule.at_least or 0.0
    # Of several reports the worst figure counts.
    worst = (max if at_most else min)(observations, key=lambda entry: entry.number or 0.0)
    value = worst.number or 0.0
    stated = worst.observation.limit if rule.stated == "tightens" else None
    # A team may hold itself to more than the policy asks, never to less.
    tight = stated is not None and (stated < bound if at_most else stated > bound)
    limit = bound
    if tight and stated is not None:
        limit = stated
    unit = worst.observation.unit
    if unit:
        unit = f" {unit}"
    value_text = f"{words_of(rule.measure)} {plain_number(round(value, 2))}{unit}"
    why = f"{value_text} ({'at most' if at_most else 'at least'} {plain_number(limit)}{unit})"
    entries = [worst]
    # No test is no bad test: the criterion is open, not failed.
    if rule.at_least is not None and rule.measure.endswith(".executed") and value < bound:
        return Part("not_measured", "no test was executed", entries)
    if value <= limit if at_most else value >= limit:
        return Part("pass", why, entries, limits=tight)
    # Between the two bounds a person decides.
    if rule.judge_from is not None and (
        value <= rule.judge_from if at_most else value >= rule.judge_from
    ):
        return Part("mixed", why, entries, limits=tight)
    return Part("fail", why, entries, limits=tight)


def _of_status(rule: Rule, observations: Sequence[SourcedObservation]) -> Part:
    for entry in observations:
        if entry.observation.value != rule.equal:
            outcome = "mixed"
            if entry.observation.value == "fail":
                outcome = "fail"
            return Part(outcome, quoted_state(entry, words_of(rule.measure)), [entry])
    return Part("pass", quoted_state(observations[0], words_of(rule.measure)), [observations[0]])


def part_of_known(measure: str, entries: Sequence[SourcedObservation]) -> Part:
    """Return the part for a fact that only has to be known, whatever its value."""
    for entry in entries:
        if entry.observation.measure == measure and entry.observation.value:
            return Part("pass", "", [entry])
    return Part("absent", f"no {words_of(measure)} is told")


@dataclass
class _Figures:
    """The figures of a load test.

    Attributes:
        unclear: measured, without a unit: 0.5 may be half a percent, or a half.
        hoped: estimated or planned.
        flags: the tool's own verdicts on its thresholds.
    """

    measured: list[SourcedObservation] = field(default_factory=list)
    unclear: list[SourcedObservation] = field(default_factory=list)
    hoped: list[SourcedObservation] = field(default_factory=list)
    flags: list[SourcedObservation] = field(default_factory=list)


def _sorted_figures(entries: Sequence[SourcedObservation]) -> _Figures:
    figures = _Figures()
    for entry in entries:
        observation = entry.observation
        if not observation.measure.startswith("performance."):
            continue
        if observation.measure == "performance.flag":
            figures.flags.append(entry)
        if observation.nature in ("estimate", "planned"):
            figures.hoped.append(entry)
        elif observation.nature == "measured" and entry.number is not None:
            kind = figures.unclear if observation.unit == "?" else figures.measured
            kind.append(entry)
    return figures


def part_of_limits(limits: Mapping[str, float], entries: Sequence[SourcedObservation]) -> Part:
    """Check every measured figure that has a target against it.

    The order of the results is that of gravity: a missed target counts, whatever else is only
    estimated.
    """
    figures = _sorted_figures(entries)
    measured, hoped, flags = figures.measured, figures.hoped, figures.flags
    checked = list[tuple[SourcedObservation, float]]()
    missed = list[SourcedObservation]()
    for figure in measured:
        limit = _bound(figure.observation, limits)
        if limit is None:
            continue
        checked.append((figure, limit))
        if not _holds(figure.observation, limit):
            missed.append(figure)
    missed += [flag for flag in flags if flag.observation.value == "fail"]
    if missed:
        return Part("fail", _missed_text(missed, limits), missed, limits=True)
    if hoped:
        total = len(hoped) + len(measured)
        reason = f"{len(hoped)} of {total} figures are estimated or planned, no measurement"
        return Part("not_measured", reason, hoped[:3])
    doubted = [flag for flag in flags if flag.observation.value != "pass"]
    if doubted:
        return Part("mixed", quoted_state(doubted[0], "the report"), doubted[:3])
    high = _unclear_and_high(figures, limits)
    if high:
        first = high[0].observation
        text = f"{first.label} {plain_number(first.number or 0)}: the unit is not told"
        return Part("mixed", text, high)
    if not checked and not flags:
        if measured:
            return Part("mixed", "no figure has a target", measured[:2])
        return Part("absent", "no figure is told")
    # The figures nearest to their targets are the ones that a reader wants to see.
    tightest = sorted(checked, key=lambda pair: _slack(pair[0].observation, pair[1]))
    rests_on = [figure for figure, _ in tightest[:3]] or flags[:3]
    met = len(checked) or len(flags)
    text = "1 figure meets its target" if met == 1 else f"{met} figures meet their targets"
    return Part("pass", text, rests_on, limits=True)


def _unclear_and_high(figures: _Figures, limits: Mapping[str, float]) -> list[SourcedObservation]:
    """Return the shares without a unit that miss the limit if they are shares of 1."""
    most = limits.get("error_rate", 0)
    high = []
    for figure in figures.unclear:
        if 100 * (figure.number or 0) > most:
            high.append(figure)
    return high


def _missed_text(missed: Sequence[SourcedObservation], limits: Mapping[str, float]) -> str:
    """Return the first missed target in words, and how many more there are."""
    first = missed[0].observation
    bound = _bound(first, limits)
    text = first.label
    if first.number is not None:
        text = f"{first.label} {plain_number(first.number)} {first.unit}"
    if bound is not None:
        side = "at most" if first.at_most else "at least"
        text += f" ({side} {plain_number(bound)} {first.unit})"
    if len(missed) > 1:
        return f"{text.strip()}, and {len(missed) - 1} more"
    return text.strip()


def _bound(observation: Observation, limits: Mapping[str, float]) -> float | None:
    if observation.limit is not None:
        return observation.limit
    kind = observation.measure.partition(".")[2]
    # The policy's limit is for usual percentiles; the slowest request of all may exceed it.
    if kind == "latency" and observation.label.rpartition(" ")[2] in ("max", "min", "p99", "p999"):
        return None
    return limits.get(kind)


def _holds(observation: Observation, bound: float) -> bool:
    # Compared as printed, without the error of binary fractions.
    value = Decimal(str(observation.value))
    if observation.at_most:
        return value <= Decimal(str(bound))
    return value >= Decimal(str(bound))


def _slack(observation: Observation, bound: float) -> float:
    value = observation.number or 0.0
    return (bound - value if observation.at_most else value - bound) / (abs(bound) or 1.0)
