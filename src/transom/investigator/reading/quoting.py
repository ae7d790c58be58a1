"""Creates observations of JSON nodes, with the quoted text as evidence."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from transom.canonical import compact_json
from transom.formats.json_tree import quote_of
from transom.formats.measurements import Observation, Operand
from transom.investigator.reading.tree import Node

_MOST_QUOTED = 240


def observe(
    measure: str, node: Node, value: float | str, *, label: str = "", **more: Any
) -> Observation:
    """Create an observation of a node's value."""
    return Observation(
        measure=measure,
        value=value,
        locator=node.pointer,
        label=label,
        quote=quote_of(node),
        said=_said(node) if isinstance(value, str) else "",
        nature=more.pop("nature", node.nature),
        **more,
    )


def _said(node: Node) -> str:
    value = node.value
    if isinstance(value, dict | list):
        return ""
    if isinstance(value, str):
        return value
    return compact_json(value)


def derived(
    measure: str,
    node: Node,
    value: float,
    formula: str,
    operands: Sequence[tuple[float, Node]],
    *,
    unit: str = "",
) -> Observation:
    """Create an observation that is calculated from values below a node.

    Args:
        formula: formula over `a`, `b`, ... in the order of the operands.
    """
    rows = tuple(
        Operand(value=plain_number(number), locator=of.pointer, quote=quote_of(of))
        for number, of in operands
    )
    quote = ", ".join(
        f"{name}: {row.quote}" for name, row in zip(string.ascii_lowercase, rows, strict=False)
    )
    return Observation(
        measure=measure,
        value=value,
        unit=unit,
        locator=node.pointer,
        quote=quote[:_MOST_QUOTED],
        nature=node.nature,
        formula=formula,
        operands=rows,
    )


def plain_number(value: float) -> str:
    """Format a number: `14` for 14.0, `0.1` for 0.1."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(round(value, 10))
