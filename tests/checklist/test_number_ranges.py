"""Expressions for the numbers on one side of a limit."""

from __future__ import annotations

import random
import re

import pytest

from transom.checklist.number_ranges import COMPARISONS, Comparison, fulfils, range_regex

PRINTED = [
    "0",
    "0.0",
    "-0.001",
    "98",
    "97.99",
    "98.0",
    "98.00",
    "98.01",
    "100",
    "9",
    "980",
    "50.1",
    "49.9",
    "-12.5",
    "-0.5",
    "-0.50",
    "-0.51",
    "+3",
    "007",
    "00.5",
]


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("limit", ["98", "0", "-0.5", "20", "0.05", "99.95", "-12", "100"])
def test_the_expression_fits_what_the_comparison_holds_for(
    comparison: Comparison, limit: str
) -> None:
    numbers = random.Random(7)
    texts = [*PRINTED, *(f"{numbers.uniform(-200, 200):.{n % 4}f}" for n in range(200))]
    regex = re.compile(range_regex(comparison, limit))
    for text in texts:
        # A printed minus zero is a rounded number, and nobody knows of which sign.
        if text.startswith("-") and float(text) == 0:
            continue
        expected = fulfils(float(text), comparison, float(limit))
        assert bool(regex.fullmatch(text)) is expected, text


@pytest.mark.parametrize("text", ["1e3", "1,200", "4.2e-1", "nan", ""])
def test_other_notations_are_on_neither_side(text: str) -> None:
    for comparison in COMPARISONS:
        regex = re.compile(rf"v {range_regex(comparison, '98')}$")
        assert not regex.match(f"v {text}")


def test_a_limit_that_is_no_plain_number_is_refused() -> None:
    with pytest.raises(ValueError, match="'1e3' is no plain number"):
        range_regex(">=", "1e3")
