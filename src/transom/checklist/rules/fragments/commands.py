"""`commands`: an echoed command reads a file; an error right after it says that it failed.

Every line that names such a command or such a file is accounted for: read, known to tell nothing, or an error.
"""

import re
from collections.abc import Iterator
from typing import Any

from transom.checklist.rules.fragments.outcome import outcome
from transom.checklist.rules.fragments.plain import alarming, base_name, files_in, plain
from transom.checklist.rules.fragments.shared import entry


def statements(lines: list[str], rule: dict[str, Any], wanted: list[str]) -> Iterator[tuple[int, int, str, bool]]:
    """First and last line, text without prompt, and whether it stands in a block that may not have run."""
    depth, last = 0, 0
    for number, line in enumerate(lines, 1):
        low = line.lower()
        if number <= last or (depth == 0 and not any(word in low for word in wanted)):
            continue
        if any(re.search(pattern, line) for pattern in rule["refused"]):
            raise ValueError(f"line {number}: {rule['refusal']}: {line.strip()}")
        *others, (text, _) = plain(line, rule)
        yield from ((number, number, other, depth > 0) for other, _ in others)
        inside = depth > 0 or bool(re.match(rule["continued"], text))
        text = re.sub(rf"\A(?:{rule['continued']})", "", text)
        last = number
        while text.endswith("\\") and last < len(lines):
            more = plain(lines[last], rule)[-1][0]
            text, last = text[:-1] + re.sub(rf"\A(?:{rule['continued']})", "", more), last + 1
        inside = inside or bool(re.match(rule["control"], text))
        depth = max(0, depth + text.count("{") - text.count("}")) if inside else 0
        yield number, last, text, inside


def parts(text: str) -> list[str]:
    """The commands of a line: what `;` divides outside of quotes and brackets, without comments."""
    found = [""]
    for piece in re.findall(r'"[^"]*"|\{[^{}]*\}|\[[^\[\]]*\]|;|[^;"{\[]+|.', text):
        if piece == ";":
            found.append("")
        else:
            found[-1] += piece
    told = [part.strip() for part in found]
    return [part for part in told if part and not part.startswith("#")]


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
    if not paths or any(path[:1] in ("[", "") or not re.search(r"[./$]\w|\$\{", path) for path in paths):
        raise ValueError(f"line {number}: which file is read cannot be told: {text}")
    return paths


def resolved(number: int, path: str, variables: dict[str, str], said: list[str]) -> str:
    """A path with the variables that the log sets; else as the tool itself says it."""
    path = re.sub(r"\$\{(\w+)\}|\$(\w+)", lambda m: variables.get(m[1] or m[2], m[0]), path)
    if re.search(r"\$(?!\{\w+\})", path):
        if len(said) != 1:
            raise ValueError(f"line {number}: what stands for a variable cannot be told: {path}")
        return said[0]
    folder = path.rpartition("/")[0].rpartition("/")[2]
    for other in said:
        its = other.rpartition("/")[0].rpartition("/")[2]
        if base_name(other) == base_name(path) and re.match(r"\w", folder) and re.match(r"\w", its) and its != folder:
            raise ValueError(f"line {number}: {path} is read, and the tool says {other}")
    return path


def messages(text: str, target: dict[str, Any]) -> list[str]:
    """The path of a tool's own message about reading."""
    return [match["path"] for pattern in target["messages"] if (match := re.search(pattern, text))][:1]


def read_one(
    lines: list[str], at: tuple[int, int, str], target: dict[str, Any], rule: dict[str, Any], state: dict[str, Any]
) -> list[dict[str, Any]]:
    """The entries of one command or message; the lines that belong to it go into `state`."""
    number, last, text = at
    told = messages(text, target)
    paths = told or read_paths(number, text, target, rule)
    names = [base_name(re.sub(r"\$\{?(\w+)\}?", lambda m: state["set"].get(m[1], m[0]), path)) for path in paths]
    wrong, own = outcome(lines, last, names, target["endings"], rule)
    if wrong and state["compound"]:
        raise ValueError(f"line {number}: which of these commands failed cannot be told: {wrong}")
    said = [path for index in own for one, _ in plain(lines[index], rule) for path in messages(one, target)]
    paths = [resolved(number, path, state["set"], said) for path in paths]
    state["own"].update(index + 1 for index in own)
    found: list[dict[str, Any]] = []
    for path in paths:
        before = state["read"].setdefault(base_name(path), not wrong)
        if before and wrong:
            raise ValueError(f"line {number}: {path} was read before, and now it was not: {wrong}")
        if told and base_name(path) in state["told"]:
            continue  # the tool's own word on a command that was seen
        state["told"].add(base_name(path))
        state["read"][base_name(path)] = not wrong
        fields = {"path": path, "loaded": not wrong, "how": f"not loaded: {wrong}" if wrong else "loaded"}
        found.append(entry({**rule, **target}, number, lines[number - 1], fields))
        found[-1]["parsed_fields"]["reference"] = {"kind": target["category"], "path": path}
    return found


def check_ran(number: int, text: str, rule: dict[str, Any]) -> None:
    """A command in a block is no evidence; a text that is printed there is none either, and does no harm."""
    if not re.match(rule["echo"], text):
        raise ValueError(f"line {number}: conditional, so whether it ran cannot be told: {text}")


def account(number: int, text: str, rule: dict[str, Any], state: dict[str, Any]) -> None:
    """A statement that reads nothing: what it says of reading must be known to tell nothing."""
    if re.match(rule["echo"], text):
        state["printed"].add(re.sub(r"""\A\w+\s+(?:-\w+\s+)*|["{}]""", "", text).strip())
        return
    if text in state["printed"] or any(re.search(pattern, text) for pattern in rule["harmless"]):
        return
    for target in rule["targets"]:
        if state["read"] and re.search(rf"(?<!\w)(?:{target['undone']})(?!\w)", text):
            raise ValueError(f"line {number}: it may undo what was read: {text}")
        if re.search(rf"(?i)(?<![\w-])(?:{target['names']})(?!\w)", text):
            raise ValueError(f"line {number}: it names a command that reads, and is not understood: {text}")
        if number in state["own"]:
            continue  # judged with the command that it stands behind
        named = files_in(text, target["endings"])
        if named and alarming(text, rule):
            state["alarms"] += [(number, name, text) for name in named]
        elif not re.match(rule["writes"], text):
            state["named"] += [(number, name, text) for name in named]


def read_commands(lines: list[str], rule: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for every file that a command reads, whether that went well or not."""
    found: list[dict[str, Any]] = []
    state: dict[str, Any] = {"set": {}, "own": set(), "read": {}, "told": set(), "printed": set()}
    state |= {"alarms": [], "named": []}
    known, hidden = False, 0
    endings = [f".{ending}" for target in rule["targets"] for ending in target["endings"].split("|")]
    for number, last, text, inside in statements(lines, rule, [*rule["glance"], *endings]):
        known = known or bool(re.match(rule["known"], text))
        hidden = hidden or (number if re.match(rule["hides"], text) else 0)
        if setting := re.match(rule["sets"], text):
            name, value = setting["name"], setting["value"].strip('"{}')
            literal = not inside and not re.search(r"[\s$\[]", value)
            state["set"].update({name: value} if literal else {name: f"${name}"})
        told = [text] if re.match(rule["echo"], text) else parts(text)
        if text.startswith("#") and number not in state["own"] and alarming(text, rule):
            state["alarms"] += [(number, name, text) for t in rule["targets"] for name in files_in(text, t["endings"])]
        state["compound"] = len(told) > 1
        for part in told:
            reading = [t for t in rule["targets"] if re.match(rf"(?:{t['names']})\s", part) or messages(part, t)]
            if inside and any(re.search(rf"(?:^|[\s{{;\[])(?:{t['names']})\s+\S", part) for t in rule["targets"]):
                check_ran(number, part, rule)
            for target in reading:
                found += read_one(lines, (number, last, part), target, rule, state)
            if not reading:
                account(number, part, rule, state)
    check_named(state)
    missing = [t["category"] for t in rule["targets"] if not any(t["category"] in e["parsed_fields"] for e in found)]
    if not known and not found and any(re.search(rule["speaks"], line) for line in lines):
        raise ValueError("no command that this check knows, so what was read cannot be told")
    if hidden and missing:
        raise ValueError(f"line {hidden}: a script is sourced here, so what was read cannot be told: {missing}")
    return found


def check_named(state: dict[str, Any]) -> None:
    """No line tells of trouble with a file that was read, or names one that no command read."""
    for number, name, text in state["alarms"]:
        if name in state["read"] or not text.startswith("#"):
            raise ValueError(f"line {number}: whether this means that {name} was not read: {text}")
    for number, name, text in state["named"]:
        if name not in state["read"]:
            raise ValueError(f"line {number}: it names {name}, which no command here reads: {text}")
