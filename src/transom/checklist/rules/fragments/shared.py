"""What every piece uses."""

import re
from typing import Any


def colourless(line: str) -> str:
    """A line without colours."""
    return re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "", line) if "\x1b" in line else line


def entry(rule: dict[str, Any], number: int | None, line: str, fields: dict[str, Any]) -> dict[str, Any]:
    """One result: known words mapped, fields that the spec does not name dropped."""
    for name, words in rule.get("maps", {}).items():
        fields[name] = words.get(fields.get(name), fields.get(name))
    for name, wanted in rule.get("narrow", {}).items():
        if fields.get(name) not in (None, wanted, *wanted.split("_and_")):
            raise ValueError(f"line {number}: {name} is {fields[name]}, this check reads {wanted} only")
    template = fields.get("value_when_empty") or rule["value"]
    said = re.sub(r"\{(\w+)\}", lambda m: str(fields.get(m[1]) or ""), template)
    kept = {name: fields.get(name) for name in rule["fields"]}
    return {
        "value": " ".join(said.split()),
        "line_number": number,
        "matched_content": line,
        "parsed_fields": {rule["category"]: kept},
    }
