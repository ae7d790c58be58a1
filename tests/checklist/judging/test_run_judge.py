"""Conditions on fields: what holds, what does not, and the reason in words."""

from __future__ import annotations

import pytest

from transom.canonical import Json
from transom.checklist.atoms import Condition, Operator, ValidationItem
from transom.checklist.judging import achievement, field_of, has_field, is_empty, shortfall


def item(op: str, value: Json) -> ValidationItem:
    condition = Condition(field="a.x", op=Operator(op), value=value)
    return ValidationItem(id="2.1", name="n", select="a.x", condition=condition)


@pytest.mark.parametrize(
    ("op", "value", "holding", "failing"),
    [
        ("equals", True, [True], [False, 1, "true", None]),
        ("equals", "MET", ["MET"], ["met", "MET ", "", 1]),
        ("equals", 0, [0, 0.0, "0", "0.0"], [False, 1, "x", None]),
        ("not_equals", "MET", ["VIOLATED"], ["MET", None, " "]),
        ("in", ["A", 2], ["A", 2, "2"], ["B", "a", None]),
        ("matches", "regex:^IEEE \\d+", ["IEEE 1481"], ["ieee 1481", "x IEEE 1", None]),
        ("matches", "14|15", ["x 15", 1481], ["x"]),
        ("exists", None, [0, False, "x"], [None, " ", [], {}]),
        ("lt", 0, [-1, "-0.5"], [0, 1, "x", True, None, float("inf")]),
        ("le", 0, [0, -1], [0.1]),
        ("gt", 1.5, [2, "1e3"], [1.5, "n/a", [3]]),
        ("ge", 0, [0, "0.00"], [-0.01, "nan"]),
    ],
)
def test_conditions(op: str, value: Json, holding: list[Json], failing: list[Json]) -> None:
    one = item(op, value)
    for seen in holding:
        assert shortfall(one, {"a": {"x": seen}}) is None, seen
    for seen in failing:
        assert shortfall(one, {"a": {"x": seen}}) is not None, seen


def test_reasons_name_the_field_and_both_values() -> None:
    assert shortfall(item("gt", 2), {"a": {"x": 1}}) == "a.x is 1, not greater than 2"
    assert shortfall(item("in", ["p"]), {"a": {"x": "q"}}) == 'a.x is "q", not one of ["p"]'
    assert (
        shortfall(item("equals", "p"), {"a": {"x": "q" * 200}})
        == f'a.x is "{"q" * 116}..., not "p"'
    )
    assert achievement(item("equals", "p"), {"a": {"x": "p"}}) == 'a.x is "p"'


def test_required_fields_must_be_filled() -> None:
    one = ValidationItem(id="2.1", name="n", select="a.x", required=("a.x", "a.y", "a.z"))
    assert shortfall(one, {"a": {"x": "1", "y": " ", "z": None}}) == "a.y and a.z are empty"
    assert shortfall(one, {"a": {"x": "1", "y": 0}}) == "a.z is empty"
    assert shortfall(one, {}) == "a.x, a.y and a.z are empty"
    assert shortfall(one, {"a": {"x": "1", "y": 0, "z": False}}) is None
    assert achievement(one, {}) == "a.x, a.y and a.z are there"
    bare = ValidationItem(id="2.1", name="n", select="a.x")
    assert shortfall(bare, {"a": {"x": ""}}) == "a.x is empty"


def test_fields_are_read_from_any_shape() -> None:
    assert field_of({"a": {"b": {"c": 1}}}, "a.b.c") == 1
    assert field_of({"a": 5}, "a.b") is None
    assert has_field({"a": {"b": None}}, "a.b")
    assert has_field({"a": None}, "a")
    assert not has_field({"a": [1]}, "a.b")
    values: list[Json] = [None, "", " \t", [], {}, 0, False]
    assert [is_empty(value) for value in values] == [True] * 5 + [False] * 2
