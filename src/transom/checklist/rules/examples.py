"""Examples of a planned item, from those of its domain: with numbers on either side of the limit
that was chosen.
"""

from __future__ import annotations

from transom.canonical import Json
from transom.checklist.atoms import Condition, Operator
from transom.checklist.rules.plan import PlannedItem


def examples_of(item: PlannedItem) -> list[dict[str, Json]]:
    """As Section 4.1 lists them; those that do not fit what was chosen are left out."""
    numbers = _around(item.condition) if item.known.limit else {}
    found: list[dict[str, Json]] = []
    for known in item.known.examples:
        barred = any(name in item.choices for name in known.unless)
        if (
            barred
            or known.outcome == "error"
            or any(item.choices.get(name) != value for name, value in known.when.items())
        ):
            continue
        one: dict[str, Json] = {
            "item": item.id,
            "outcome": known.outcome,
            "text": _said(known.text, numbers),
        }
        if known.fields:
            fields: dict[str, Json] = {
                name: _value(value, numbers) for name, value in known.fields.items()
            }
            one["fields"] = fields
        found.append(one | ({"file": known.file} if known.file else {}))
    return found


def _around(condition: Condition | None) -> dict[str, float]:
    """A number that keeps the limit and one that does not."""
    if condition is None or not isinstance(condition.value, int | float):
        return {}
    limit = float(condition.value)
    below, above = (limit / 2, limit * 2) if limit > 0 else (limit - 1, limit + 1)
    most = condition.op in (Operator.LE, Operator.LT)
    return {"{good}": below if most else above, "{bad}": above if most else below}


def _said(text: str, numbers: dict[str, float]) -> str:
    for name, number in numbers.items():
        text = text.replace(name, f"{number:.12g}")
    return text


def _value(value: Json, numbers: dict[str, float]) -> Json:
    return numbers.get(value, value) if isinstance(value, str) else value
