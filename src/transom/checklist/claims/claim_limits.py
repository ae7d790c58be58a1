"""The limit of a claim, and whether a number holds it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from transom.checklist.claims.claim_data import (
    FactPattern,
    LimitedMeasure,
    limited_measure,
)
from transom.errors import InputError
from transom.evidence.number_limits import NumberLimit, read_bound
from transom.evidence.numbers import PrintedNumber
from transom.evidence.units import factor_to_base, quantity_of
from transom.formats.reports import Measurement


def limit_of(parameters: Mapping[str, str]) -> NumberLimit | None:
    """Return the limit among the parameters of a claim.

    Raises:
        InputError: the limit is no comparison with a number.
    """
    if "limit" not in parameters:
        return None
    bound = read_bound(parameters["limit"], decimal_mark=".")
    if not isinstance(bound, NumberLimit):
        raise InputError(
            f"the limit {parameters['limit']!r} is no comparison: {bound.message}",
            place="reads_as.parameters.limit",
            hint='write it as "at least 0.1 ns" or "< 50 %"',
        )
    measure = limited_measure(parameters)
    is_plain = "values_in" in parameters and not bound.number.unit
    if measure is not None and not is_plain and not fits_measure(bound, measure):
        raise InputError(
            f"the limit {parameters['limit']!r} is no {measure.quantity}",
            place="reads_as.parameters.limit",
            hint="write the limit with its unit",
        )
    return bound


def fits_measure(bound: NumberLimit, measure: LimitedMeasure) -> bool:
    """Return whether a limit is of what is measured; zero needs no unit."""
    if not measure.quantity or (not bound.number.unit and bound.number.value == 0):
        return True
    return quantity_of(bound.number.unit) == measure.quantity


def may_break(pattern: FactPattern, fact: Measurement, limit: NumberLimit | None) -> bool:
    """Return whether a measurement may break a claim as a pattern says."""
    if pattern.text is not None:
        return fact.text == pattern.text
    if pattern.text_contains is not None:
        return pattern.text_contains in fact.text.lower()
    number = fact.number
    # A value that is no number cannot be ruled out.
    if not isinstance(number, PrintedNumber):
        return fact.value is None
    if pattern.below is not None and number.value >= pattern.below:
        return False
    if pattern.above is not None and number.value <= pattern.above:
        return False
    if pattern.breaks_limit and limit is not None:
        # What cannot be compared may break the limit.
        return not holds_limit(number, limit)
    return True


def holds_limit(number: PrintedNumber, limit: NumberLimit) -> bool:
    """Return whether a number holds a limit, each in its own unit."""
    value = number.value * (factor_to_base(number.unit) or Decimal(1))
    bound = limit.number.value * (factor_to_base(limit.number.unit) or Decimal(1))
    return {
        ">=": value >= bound,
        "<=": value <= bound,
        ">": value > bound,
        "<": value < bound,
    }.get(limit.comparator, value == bound)
