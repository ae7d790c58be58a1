"""`header`: the comments before the first line of code say which tool wrote a file; the topmost such header counts."""

import re
from collections.abc import Iterator
from typing import Any

from transom.checklist.rules.fragments.shared import entry


def code_lines(lines: list[str]) -> Iterator[tuple[int, str, str | None]]:
    """Every line: its number, its code without comments and attributes, and its comment without marks, None for none.

    A comment counts as one only where no code stands before it; what is a directive alone is not code.
    """
    block: str | None = None
    for number, line in enumerate(lines, 1):
        rest, code, told = line.strip(), "", None
        while rest:
            if block:
                inside, found, rest = rest.partition(block)
                told = inside if block == "*/" and told is None else told
                block = None if found else block
                if not found:
                    break
            else:
                mark = re.search(r"//|/\*|--|\(\*(?!\s*\))", rest)
                code += f" {rest[: mark.start()] if mark else rest}"
                if mark is None:
                    break
                rest = rest[mark.end() :]
                block = {"/*": "*/", "(*": "*)"}.get(mark[0])
                if block is None:
                    told, rest = (rest if not code.strip() else None), ""
                elif block == "*/":
                    told = "" if not rest else None
        code = re.sub(r"^(?:\s*`\w+)+\s*(?=(?:macro)?module\b)", "", code).strip()
        yield number, code, None if told is None else told[:500].strip(" \t/*#-")


def read_header(lines: list[str], rule: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for the file, whether it has a header or not."""
    headers: list[dict[str, Any]] = []
    early: dict[str, Any] = {}
    code, form = 0, None
    into: dict[str, Any] | None = early
    for number, text, told in code_lines(lines):
        form = next((name for name, pattern in rule["formats"].items() if re.match(pattern, text)), None)
        code = code or (number if text and not text.startswith("`") else 0)
        if form:
            break
        fields = header_fields(told, rule) if told else {}
        if fields.get("tool_name"):
            headers.append({"line": number, **({} if headers else {k: v for k, v in early.items() if into is early})})
            into = headers[-1]
        if fields:
            give_fields(fields, into, headers, early)
        elif told is None or (told and not re.match(rule["keyed"], told)):
            into = None
    top = {**rule["constants"], **(headers[0] if headers else early), "format": form}
    at = top.get("line") or code
    refuse_doubt(at, top, rule)
    made = entry(rule, at or None, lines[at - 1] if at else "", top)
    if len(headers) > 1:
        made["parsed_fields"]["inherited"] = [{k: v for k, v in one.items() if k != "doubt"} for one in headers[1:]]
    return [made]


def give_fields(
    fields: dict[str, Any], into: dict[str, Any] | None, headers: list[dict[str, Any]], early: dict[str, Any]
) -> None:
    """Into the header that a line belongs to; where other text stands between, whose they are is in doubt."""
    doubt = dict(fields.pop("doubt", {}))
    if into is None:
        doubt, fields = {**doubt, **{name: said for name, said in fields.items() if said}}, {}
        into = headers[-1] if headers else early
    into.update((name, said) for name, said in fields.items() if said and not into.get(name))
    into.setdefault("doubt", {}).update(doubt)


def header_fields(told: str, rule: dict[str, Any]) -> dict[str, Any]:
    """What a comment line says of tool, version and date; `doubt` is what may or may not be one of these."""
    match = next((found for pattern in rule["patterns"] if (found := re.search(pattern, told))), None)
    said = {name: text.strip() for name, text in (match.groupdict() if match else {}).items() if text}
    tool = said.get("tool_name", "")
    if match is None or (tool and re.match(rule["placeholder"], tool)):
        return {}
    fields: dict[str, Any] = {"tool_name": tool or None}
    doubt: dict[str, str] = {}
    if tool and not re.search(rule["tools"], tool):
        if re.fullmatch(rule["people"], tool):
            fields["tool_name"], doubt["tool_name"] = None, tool
        elif not re.match(rule["certain"], told) and "tool_version" not in said:
            doubt["tool_name"] = tool
    for name in ("tool_version", "timestamp"):
        text = said.get(name, "")
        found = re.search(rule["forms"][name], text)
        if found:
            fields[name] = found["said"]
        elif re.search(r"\d", text) and not re.match(rule["placeholder"], text):
            doubt[name] = text
    return {**fields, "doubt": doubt} if doubt or any(fields.values()) else {}


def refuse_doubt(at: int, top: dict[str, Any], rule: dict[str, Any]) -> None:
    """No verdict where it hangs on what is in doubt."""
    doubt = {name: said for name, said in top.pop("doubt", {}).items() if name in rule["fields"]}
    wanted = [name for name in ("tool_name", "tool_version", "timestamp") if name in rule["fields"]]
    if doubt and all(top.get(name) or name in doubt for name in wanted):
        unsure = {name: said for name, said in doubt.items() if name == "tool_name" or not top.get(name)}
        if unsure:
            name, said = next(iter(unsure.items()))
            raise ValueError(f"line {at}: whether {said!r} is the {name} of this header cannot be told")
