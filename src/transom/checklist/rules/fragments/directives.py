"""`directives`: lines such as `*NAME "text"` at the head of a file make one entry together."""

import re
from typing import Any

from transom.checklist.rules.fragments.shared import entry


def read_directives(lines: list[str], rule: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for the head of the file, empty fields where a directive is absent."""
    fields: dict[str, Any] = dict(rule["constants"])
    seen: dict[str, int] = {}
    for number, line in enumerate(lines[: rule["within"]], 1):
        if re.match(rule["stop"], line):
            break
        match = re.match(rule["pattern"], line)
        name = rule["names"].get(match["name"].upper()) if match else None
        if match and name and name not in seen:
            quoted = re.findall(r'"([^"]*)"', match["text"])
            fields[name] = " ".join(quoted or [match["text"]]).strip() or None
            seen[name] = number
    if not any(fields.get(name) for name in seen):
        fields["value_when_empty"] = rule["empty"]
    first = next((number for number, line in enumerate(lines, 1) if line.strip()), 0)
    at = next((seen[name] for name in rule["names"].values() if fields.get(name) and name in seen), first)
    return [entry(rule, at or None, lines[at - 1] if at else "", fields)]
