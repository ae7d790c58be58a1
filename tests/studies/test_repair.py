"""Designs that miss a requirement are moved to the nearest ones that meet it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from transom.studies.expression import shortfalls
from transom.studies.repair import repaired
from transom.studies.study import Study, random_design


def study(*require: str, **variables: dict[str, Any]) -> Study:
    return Study.model_validate(
        {
            "study": "narrow",
            "variables": variables or {name: {"low": 1, "high": 10} for name in ("a", "b", "c")},
            "require": list(require),
            "objectives": [{"name": "mass"}],
            "solver": {"use": "own"},
        }
    )


@pytest.mark.parametrize(
    "require",
    [
        ("abs(a + b - 11) < 0.01",),
        ("a * b >= 30", "a * b <= 30.05"),
        ("a < b < c", "c < 1.02*a"),
        ("abs(a**2 + b**2 - c**2) < 0.05", "a > 2"),
        ("sqrt(a - b) < 0.1",),
        ("a / b > 8",),
    ],
)
def test_narrow_requirements_are_met_from_nearly_everywhere(require: tuple[str, ...]) -> None:
    narrow = study(*require)
    pick = random.Random(1)
    met = 0
    for _ in range(40):
        design = repaired(narrow, random_design(narrow, pick), pick)
        if design is not None:
            assert narrow.unmet(narrow.values(design)) is None
            assert all(1 <= float(value) <= 10 for value in design.values())
            met += 1
    assert met >= 30


def test_whole_numbers_and_choices_are_kept_as_such() -> None:
    whole = study(
        "n * 2 < m < n * 2 + 2",
        n={"low": 1, "high": 40, "integer": True},
        m={"low": 1, "high": 80, "integer": True},
        metal={"choices": ["steel", "alu"]},
    )
    pick = random.Random(2)
    designs = [repaired(whole, random_design(whole, pick), pick) for _ in range(20)]
    found = [design for design in designs if design is not None]
    assert len(found) >= 15
    for design in found:
        assert design["m"] == 2 * int(design["n"]) + 1 and design["metal"] in ("steel", "alu")


def test_what_no_design_meets_is_not_repaired() -> None:
    impossible = study("a + b > 21")
    assert repaired(impossible, {"a": 2.0, "b": 3.0, "c": 4.0}, random.Random(0)) is None


def test_each_comparison_of_a_chain_is_measured() -> None:
    first, second = shortfalls("a < b >= 3")
    assert (first({"a": 5, "b": 2}), second({"a": 5, "b": 2})) == (3, 1)
