"""The calculator: arithmetic over evidence, and nothing else."""

from __future__ import annotations

from decimal import Decimal

import pytest

from transom.errors import ToolRefused
from transom.tools.calculator import calculate, calculator, names_in

VALUES = {"E1": Decimal(3), "E2": Decimal(5), "E3": Decimal("0.1")}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("E1 + E2", "8"),
        ("percent(E1, E2)", "60"),
        ("E3 + 0.2", "0.3"),
        ("100 * (1 - E1 / E2)", "40.0"),
        ("round(E1 / 7, 2)", "0.43"),
        ("sum(E1, E2, 2)", "10"),
        ("mean(E1, E2)", "4"),
        ("count(E1, E2)", "2"),
        ("-max(E1, E2) + min(1, 2) - abs(-4)", "-8"),
    ],
)
def test_it_calculates_exactly(expression: str, value: str) -> None:
    assert calculate(expression, VALUES) == Decimal(value)


@pytest.mark.parametrize(
    "expression",
    ["", "E9 + 1", "1 / 0", "E1 ** 99", "__import__('os')", "E1.real", "[1, 2]", "True + 1", "sum", "percent(1)",
     "1 if 2 else 3", "'a' * 9", "(lambda: 1)()", "mean()", "1e999999 * 1e999999", "+".join("1" * 400), "(" * 200],
)  # fmt: skip
def test_anything_else_is_refused(expression: str) -> None:
    with pytest.raises(ToolRefused):
        calculate(expression, VALUES)


async def test_the_tool_records_its_result_again_when_the_call_comes_from_the_journal() -> None:
    kept: dict[str, Decimal] = {}

    def record(expression: str, value: Decimal) -> str:
        kept[expression] = value
        return f"E{len(kept) + 9}"

    tool = calculator(VALUES.get, record)
    came = await tool.run({"expression": "E1 / E2"})
    assert came.content == {"id": "E10", "value": "0.6"}
    kept.clear()
    assert tool.recall is not None
    tool.recall(came.note)
    assert kept == {"E1 / E2": Decimal("0.6")}
    assert names_in("sum(E2, E1) + E2") == ["E2", "E1"]
