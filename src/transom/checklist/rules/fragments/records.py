"""`records`: one entry for several lines, from a starting line to an ending one."""

import re
from typing import Any

from transom.checklist.rules.fragments.shared import entry


def read_records(lines: list[str], rule: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for every record; one without an end is an error."""
    found: list[dict[str, Any]] = []
    fields: dict[str, Any] | None = None
    begun = 0
    for number, line in enumerate([*lines, ""], 1):
        opens = re.search(rule["start"], line)
        if fields is not None and (opens or number > len(lines)):
            raise ValueError(f"line {begun}: what begins here has no end ({rule['end']})")
        if opens:
            fields, begun = {}, number
        if fields is None:
            continue
        for pattern in rule["patterns"]:
            if match := re.search(pattern, line):
                fields.update((name, text) for name, text in match.groupdict().items() if text is not None)
        if re.search(rule["end"], line):
            found.append(entry(rule, number, line, fields))
            fields = None
    return found
