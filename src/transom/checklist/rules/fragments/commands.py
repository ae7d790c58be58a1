"""`commands`: an echoed command reads a file; an error right after it says that it failed."""

import re
from collections.abc import Iterator
from typing import Any

from transom.checklist.rules.fragments.shared import entry


def after(pattern: str, line: str) -> str:
    """The line without what the pattern matches at its start."""
    match = re.match(pattern, line)
    return line[match.end() :] if match else line


def statements(lines: list[str], rule: dict[str, Any]) -> Iterator[tuple[int, int, str, bool]]:
    """First and last line, text without prompt, and whether it stands in a block that may not have run."""
    depth, last = 0, 0
    for number, line in enumerate(lines, 1):
        if number <= last or (depth == 0 and not re.search(rule["glance"], line)):
            continue
        if any(re.search(pattern, line) for pattern in rule["refused"]):
            raise ValueError(f"line {number}: {rule['refusal']}: {line.strip()}")
        inside = depth > 0 or bool(re.match(rule["continued"], line))
        text = after(rule["prompt"], after(rule["continued"], line)).strip()
        last = number
        while text.endswith("\\") and last < len(lines):
            text, last = text[:-1] + after(rule["continued"], lines[last]).strip(), last + 1
        inside = inside or bool(re.match(rule["control"], text))
        depth = max(0, depth + text.count("{") - text.count("}")) if inside else 0
        yield number, last, text, inside


def read_paths(number: int, text: str, target: dict[str, Any], rule: dict[str, Any]) -> list[str]:
    """The files that a command names. What can be read in two ways is an error."""
    paths: list[str] = []
    words = iter(re.findall(r'"[^"]*"|\{[^}]*\}|\[[^\]]*\]|[^\s;]+|;', text)[1:])
    for word in words:
        if word[0] in "><;|#":
            break
        if word[0] == "-" and word[1:] in rule["valued"]:
            given = next(words, "").strip('"{}').lower()
            if word == "-format" and given not in target["formats"]:
                raise ValueError(f"line {number}: the format {given} is not known here: {text}")
        elif word[0] == "-" and word[1:] not in rule["flags"]:
            raise ValueError(f"line {number}: the option {word} is not known here: {text}")
        elif word[0] != "-":
            paths += word.strip("{}").split() if word[0] == "{" else [word.strip('"')]
    if not paths or any(path[:1] in ("[", "") or not re.search(r"[./$]", path) for path in paths):
        raise ValueError(f"line {number}: which file is read cannot be told: {text}")
    return paths


def failure(lines: list[str], start: int, rule: dict[str, Any]) -> str | None:
    """The error between a command and the next one."""
    for line in lines[start : start + rule["reach"]]:
        if any(re.search(pattern, line) for pattern in rule["failed"]):
            return line.strip()
        if re.match(rule["prompt"], line) or re.match(rule["command"], line):
            return None
    return None


def read_commands(lines: list[str], rule: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for every file that a command reads, whether that went well or not."""
    found: list[dict[str, Any]] = []
    known, hidden = False, 0
    for number, last, text, inside in statements(lines, rule):
        known = known or bool(re.match(rule["known"], text))
        hidden = hidden or (number if re.match(rule["hides"], text) else 0)
        for target in rule["targets"]:
            if (
                inside
                and re.search(rf"(?:^|[\s{{;\[]){target['names']}\s+\S", text)
                and not re.match(r"#|puts\b", text)
            ):
                raise ValueError(f"line {number}: conditional, so whether it ran cannot be told: {text}")
            told = [match["path"] for pattern in target["messages"] if (match := re.search(pattern, text))][:1]
            if not told and not re.match(rf"{target['names']}\s", text):
                continue
            wrong = failure(lines, last, rule)
            for path in told or read_paths(number, text, target, rule):
                fields = {"path": path, "loaded": not wrong, "how": f"not loaded: {wrong}" if wrong else "loaded"}
                found.append(entry({**rule, **target}, number, lines[number - 1], fields))
                found[-1]["parsed_fields"]["reference"] = {"kind": target["category"], "path": path}
    missing = [t["category"] for t in rule["targets"] if not any(t["category"] in e["parsed_fields"] for e in found)]
    if not known and not found and any(re.search(rule["speaks"], line) for line in lines):
        raise ValueError("no command that this check knows, so what was read cannot be told")
    if hidden and missing:
        raise ValueError(f"line {hidden}: a script is sourced here, so what was read cannot be told: {missing}")
    return found
