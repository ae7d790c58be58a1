"""What every piece uses."""

import re
from typing import Any


def colourless(line: str) -> str:
    """A line without colours."""
    return re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "", line) if "\x1b" in line else line


def compiled(told: Any) -> Any:
    """Expressions in place of their texts: of one, of each in a list, or of each under a key."""
    if isinstance(told, str):
        return re.compile(told)
    if isinstance(told, list):
        return [compiled(one) for one in told]
    return {name: compiled(one) for name, one in told.items()}


def mapped(rule: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """The fields, with known words in the place of what a line says."""
    maps = rule.get("maps", {})
    return fields | {
        name: words.get(fields.get(name), fields.get(name)) for name, words in maps.items()
    }


def entry(rule: dict[str, Any], number: int, line: str, fields: dict[str, Any]) -> dict[str, Any]:
    """One result; fields that the spec does not name are dropped."""
    said = re.sub(r"\{(\w+)\}", lambda m: str(fields.get(m[1]) or ""), rule.get("value", "{line}"))
    return {
        "value": " ".join(said.split()),
        "line_number": number,
        "matched_content": line,
        "parsed_fields": {rule["category"]: {name: fields.get(name) for name in rule["fields"]}},
    }
