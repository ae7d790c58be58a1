"""`header`: the comments before the first line of code say which tool wrote a file; the topmost such header counts."""

import re
from typing import Any

from transom.checklist.rules.fragments.shared import entry


def comments(lines: list[str], rule: dict[str, Any]) -> tuple[list[tuple[int, str]], int]:
    """The comment lines before the code, without their marks, and the first line that is not a comment."""
    told: list[tuple[int, str]] = []
    code, block = 0, False
    for number, line in enumerate(lines[: rule["within"]], 1):
        text = line.strip()
        if block or text.startswith(("//", "/*", "--")):
            told.append((number, text[:500].lstrip("/*#- \t").rstrip("/*# \t")))
            block = "*/" not in text if block else text.startswith("/*") and "*/" not in text
        elif text:
            code = code or number
            if re.match(rule["stop"], text):
                break
    return told, code


def read_header(lines: list[str], rule: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for the file, whether it has a header or not."""
    told, code = comments(lines, rule)
    headers: list[dict[str, Any]] = []
    early: dict[str, Any] = {}
    for number, text in told:
        fields = next((m.groupdict() for p in rule["patterns"] if (m := re.search(p, text))), {})
        if fields.get("tool_name"):
            headers.append({"line": number})
        into = headers[-1] if headers else early
        into.update((name, said) for name, said in fields.items() if said and not into.get(name))
    top = {**rule["constants"], **early, **(headers[0] if headers else {"value_when_empty": rule["empty"]})}
    top["format"] = next((n for n, p in rule["formats"].items() if any(re.match(p, line) for line in lines)), None)
    at = top.get("line") or code
    made = entry(rule, at or None, lines[at - 1] if at else "", top)
    if len(headers) > 1:
        made["parsed_fields"]["inherited"] = headers[1:]
    return [made]
