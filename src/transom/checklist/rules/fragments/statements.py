"""The statements of a log: lines of interest, those joined that a backslash joins, and the files that they name."""

import re
from typing import Any

from transom.checklist.rules.fragments.plain import base_name, plain


class Statements:
    """Finds them line by line.

    A statement has its first line's `number` and `line`, its `text` without prompt, `inside`: whether it stands in a
    block that may not have run, and `owned`: whether its first line was one of a command's own.
    """

    def __init__(self, rule: dict[str, Any]) -> None:
        self.rule = rule
        endings = [f".{ending}" for target in rule["targets"] for ending in target["endings"].split("|")]
        self.wanted = [*rule["glance"], *endings]
        self.depth = 0
        self.held: dict[str, Any] | None = None  # ends with a backslash

    def line(self, number: int, line: str, owned: bool) -> list[dict[str, Any]]:
        """The statements that end here."""
        if self.held is not None:
            more = plain(line, self.rule)[-1][0]
            self.held["text"] = self.held["text"][:-1] + re.sub(rf"\A(?:{self.rule['continued']})", "", more)
            return [] if self.held["text"].endswith("\\") else self.end()
        low = line.lower()
        if self.depth == 0 and not any(word in low for word in self.wanted):
            return []
        if any(re.search(pattern, line) for pattern in self.rule["refused"]):
            raise ValueError(f"line {number}: {self.rule['refusal']}: {line.strip()}")
        *others, (text, _) = plain(line, self.rule)
        about = {"number": number, "line": line, "owned": owned}
        found = [{**about, "text": other, "inside": self.depth > 0} for other, _ in others]
        inside = self.depth > 0 or bool(re.match(self.rule["continued"], text))
        text = re.sub(rf"\A(?:{self.rule['continued']})", "", text)
        self.held = {**about, "text": text, "inside": inside}
        return found if text.endswith("\\") else found + self.end()

    def end(self) -> list[dict[str, Any]]:
        """The statement that is held, for nothing joins it any more."""
        made, self.held = self.held, None
        if made is None:
            return []
        text = made["text"] = made["text"].removesuffix("\\")
        made["inside"] = made["inside"] or bool(re.match(self.rule["control"], text))
        self.depth = max(0, self.depth + text.count("{") - text.count("}")) if made["inside"] else 0
        return [made]


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
