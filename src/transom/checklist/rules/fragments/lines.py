"""`lines`: one entry a line; lines that head a group set fields of those that follow."""

import re
from typing import Any

from transom.checklist.rules.fragments.shared import entry


def read_lines(lines: list[str], rule: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for every line that fits."""
    found: list[dict[str, Any]] = []
    context: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        for pattern in rule.get("context", []):
            if heading := re.search(pattern, line):
                context.update(heading.groupdict())
        if match := re.search(rule["pattern"], line):
            found.append(entry(rule, number, line, {**context, **match.groupdict(), "line": line}))
    return found
