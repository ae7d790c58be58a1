"""`header`: the comments before the first line of code say which tool wrote a file; the topmost such header counts."""

import re
from typing import Any

from transom.checklist.rules.fragments.shared import entry


def code_of(line: str, block: str | None) -> tuple[str, str | None, str | None]:
    """Of a line: its code without comments and attributes, its comment without marks (None for none), and what ends
    the comment or attribute that goes on behind it; `block` ends the one that came with it.

    A comment counts as one only where no code stands before it; what is a directive alone is not code.
    """
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
    return code, None if told is None else told[:500].strip(" \t/*#-"), block


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


class HeaderReader:
    """One entry for the file, whether it has a header or not.

    `into` is the header that the next line belongs to, None where other text stood between; `early` is what stands
    before the first one. `at` is the line of the topmost header, `code` the first line of code.
    """

    def __init__(self, rule: dict[str, Any]) -> None:
        self.rule = rule
        self.headers: list[dict[str, Any]] = []
        self.early: dict[str, Any] = {}
        self.into: dict[str, Any] | None = self.early
        self.at: tuple[int, str] | None = None
        self.code: tuple[int, str] | None = None
        self.block: str | None = None
        self.form: str | None = None
        self.done = False

    def line(self, number: int, line: str) -> list[dict[str, Any]]:
        """The entry, where the first module begins."""
        if self.done:
            return []
        text, told, self.block = code_of(line, self.block)
        self.form = next((name for name, pattern in self.rule["formats"].items() if re.match(pattern, text)), None)
        self.code = self.code or ((number, line) if text and not text.startswith("`") else None)
        if self.form:
            return self.end()
        fields = header_fields(told, self.rule) if told else {}
        if fields.get("tool_name"):
            before = self.early if self.into is self.early and not self.headers else {}
            self.at = self.at or (number, line)
            self.into = {"line": number, **before}
            self.headers.append(self.into)
        if fields:
            give_fields(fields, self.into, self.headers, self.early)
        elif told is None or (told and not re.match(self.rule["keyed"], told)):
            self.into = None
        return []

    def late(self) -> bool:
        """Whether an entry may still come for a line that went before."""
        return not self.done

    def end(self) -> list[dict[str, Any]]:
        """The entry, where no module began before the end of the file."""
        if self.done:
            return []
        self.done = True
        top = {**(self.headers[0] if self.headers else self.early), "format": self.form}
        number, line = self.at or self.code or (None, "")
        refuse_doubt(number or 0, top, self.rule)
        made = entry(self.rule, number, line, top)
        others = [{k: v for k, v in one.items() if k != "doubt"} for one in self.headers[1:]]
        if others:
            made["parsed_fields"]["inherited"] = others
        return [made]
