"""`lines`: one entry a line; lines that head a group set fields of those that follow."""

import re
from typing import Any

from transom.checklist.rules.fragments.shared import entry


def scaled(lines: list[str], rule: dict[str, Any], fields: dict[str, Any], number: int) -> float:
    """A printed number in the rule's own unit, by the unit that stands beside it or that the file tells."""
    said = {match["unit"] for told in rule["told"] for line in lines if (match := re.search(told, line))}
    units = {fields["unit"]} if fields.get("unit") else said
    if len(units) != 1 or not units <= set(rule["units"]):
        raise ValueError(f"line {number}: no one unit is told for {fields[rule['of']]}")
    mantissa, _, power = fields[rule["of"]].lower().partition("e")
    return float(f"{mantissa}e{int(power or 0) + rule['units'][units.pop()]}")


def read_lines(lines: list[str], rule: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for every line that fits."""
    found: list[dict[str, Any]] = []
    context: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        for pattern in rule.get("context", []):
            if heading := re.search(pattern, line):
                context.update(heading.groupdict())
        if match := re.search(rule["pattern"], line):
            fields = {**context, **match.groupdict(), "line": line}
            if any(fields.get(name) != text for name, text in rule.get("where", {}).items()):
                continue
            if rule.get("scaled") and rule["scaled"]["field"] in rule["fields"]:
                fields[rule["scaled"]["field"]] = scaled(lines, rule["scaled"], fields, number)
            found.append(entry(rule, number, line, fields))
    return found
