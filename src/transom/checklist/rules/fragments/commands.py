"""`commands`: an echoed command reads a file; an error right after it says that it failed.

Every line that names such a command or such a file is accounted for: read, known to tell nothing, or an error.
"""

import re
from typing import Any

from transom.checklist.rules.fragments.outcome import Outcome, is_command, messages
from transom.checklist.rules.fragments.plain import alarming, base_name, files_in, plain
from transom.checklist.rules.fragments.shared import entry
from transom.checklist.rules.fragments.statements import Statements, parts, read_paths, resolved


class CommandReader:
    """One entry for every file that a command reads, whether that went well or not.

    `following` are the reads whose own lines go on, `read` says of a base name whether it was read, `told` are those
    that have an entry, `alarms` and `named` the first lines that name a file beside trouble or without a command.
    """

    def __init__(self, rule: dict[str, Any]) -> None:
        self.rule = rule
        self.statements = Statements(rule)
        self.following: list[Outcome] = []
        self.variables: dict[str, str] = {}
        self.read: dict[str, bool] = {}
        self.told: set[str] = set()
        self.printed: set[str] = set()
        self.alarms: dict[str, tuple[int, str]] = {}
        self.named: dict[str, tuple[int, str]] = {}
        self.found: set[str] = set()
        self.known = self.speaks = False
        self.hidden = 0

    def line(self, number: int, line: str) -> list[dict[str, Any]]:
        """The entries of the reads whose own lines end before this one."""
        made = self.follow(number, line) if self.following else []
        for statement in self.statements.line(number, line, bool(self.following)):
            self.state(statement)
        self.speaks = self.speaks or bool(not self.known and re.search(self.rule["speaks"], line))
        return made

    def follow(self, number: int, line: str) -> list[dict[str, Any]]:
        """A line is one of the own lines of what reads, or, if it is certainly a command, ends them."""
        told = plain(line, self.rule)
        for text, prompted in told:
            if is_command(text, prompted, self.rule):
                return self.close()
            for reading in self.following:
                reading.follow(number, text, prompted, self.rule)
        for reading in self.following:
            reading.said += [path for text, _ in told for path in messages(text, reading.target)]
        return []

    def state(self, statement: dict[str, Any]) -> None:
        """A statement: what it sets, reads, prints or names."""
        rule, number, text = self.rule, statement["number"], statement["text"]
        self.known = self.known or bool(re.match(rule["known"], text))
        self.hidden = self.hidden or (number if re.match(rule["hides"], text) else 0)
        if setting := re.match(rule["sets"], text):
            name, value = setting["name"], setting["value"].strip('"{}')
            literal = not statement["inside"] and not re.search(r"[\s$\[]", value)
            self.variables[name] = value if literal else f"${name}"
        told = [text] if re.match(rule["echo"], text) else parts(text)
        if text.startswith("#") and not statement["owned"] and alarming(text, rule):
            for target in rule["targets"]:
                self.alarm(number, files_in(text, target["endings"]), text)
        for part in told:
            reading = [t for t in rule["targets"] if re.match(rf"(?:{t['names']})\s", part) or messages(part, t)]
            names = (rf"(?:^|[\s{{;\[])(?:{target['names']})\s+\S" for target in rule["targets"])
            if statement["inside"] and any(re.search(name, part) for name in names):
                check_ran(number, part, rule)
            for target in reading:
                self.begin(statement, part, target, compound=len(told) > 1)
            if not reading:
                self.account(number, part, owned=statement["owned"])

    def begin(self, statement: dict[str, Any], text: str, target: dict[str, Any], *, compound: bool) -> None:
        """A command or message that reads: what becomes of it, the lines behind it say."""
        paths = messages(text, target) or read_paths(statement["number"], text, target, self.rule)
        reading = Outcome(statement, text, target, paths)
        known = reading.variables = dict(self.variables)
        reading.compound = compound
        reading.bases = [base_name(re.sub(r"\$\{?(\w+)\}?", lambda m: known.get(m[1], m[0]), path)) for path in paths]
        self.following.append(reading)

    def close(self) -> list[dict[str, Any]]:
        """The entries of what reads: its own lines have ended."""
        ended, self.following = self.following, []
        return [made for reading in ended for made in self.entries(reading)]

    def entries(self, reading: Outcome) -> list[dict[str, Any]]:
        """One for each of its files that has none yet."""
        number, target, wrong = reading.statement["number"], reading.target, reading.wrong
        if wrong and reading.compound:
            raise ValueError(f"line {number}: which of these commands failed cannot be told: {wrong}")
        found: list[dict[str, Any]] = []
        for path in [resolved(number, path, reading.variables, reading.said) for path in reading.paths]:
            before = self.read.setdefault(base_name(path), not wrong)
            if before and wrong:
                raise ValueError(f"line {number}: {path} was read before, and now it was not: {wrong}")
            if messages(reading.text, target) and base_name(path) in self.told:
                continue  # the tool's own word on a command that was seen
            self.told.add(base_name(path))
            self.read[base_name(path)] = not wrong
            fields = {"path": path, "loaded": not wrong, "how": f"not loaded: {wrong}" if wrong else "loaded"}
            found.append(entry({**self.rule, **target}, number, reading.statement["line"], fields))
            found[-1]["parsed_fields"]["reference"] = {"kind": target["category"], "path": path}
        self.found.update(target["category"] for _ in found)
        return found

    def account(self, number: int, text: str, *, owned: bool) -> None:
        """A statement that reads nothing: what it says of reading must be known to tell nothing."""
        rule = self.rule
        if re.match(rule["echo"], text):
            self.printed.add(re.sub(r"""\A\w+\s+(?:-\w+\s+)*|["{}]""", "", text).strip())
            return
        if text in self.printed or any(re.search(pattern, text) for pattern in rule["harmless"]):
            return
        for target in rule["targets"]:
            if (self.read or self.following) and re.search(rf"(?<!\w)(?:{target['undone']})(?!\w)", text):
                raise ValueError(f"line {number}: it may undo what was read: {text}")
            if re.search(rf"(?i)(?<![\w-])(?:{target['names']})(?!\w)", text):
                raise ValueError(f"line {number}: it names a command that reads, and is not understood: {text}")
            if owned:
                continue  # judged with the command that it stands behind
            names = files_in(text, target["endings"])
            if names and alarming(text, rule):
                self.alarm(number, names, text)
            elif not re.match(rule["writes"], text):
                self.named.update((name, (number, text)) for name in names if name not in self.named)

    def alarm(self, number: int, names: list[str], text: str) -> None:
        """Trouble with files; a comment on one that no command reads does no harm, which the end of the file shows."""
        if names and not text.startswith("#"):
            raise ValueError(f"line {number}: whether this means that {names[0]} was not read: {text}")
        self.alarms.update((name, (number, text)) for name in names if name not in self.alarms)

    def late(self) -> bool:
        """Whether an entry may still come for a line that went before."""
        return bool(self.following or self.statements.held)

    def end(self) -> list[dict[str, Any]]:
        """The entries of what reads to the end of the file; and nothing of it is left in doubt."""
        for statement in self.statements.end():
            self.state(statement)
        made = self.close()
        for name, (number, text) in self.alarms.items():
            if name in self.read:
                raise ValueError(f"line {number}: whether this means that {name} was not read: {text}")
        for name, (number, text) in self.named.items():
            if name not in self.read:
                raise ValueError(f"line {number}: it names {name}, which no command here reads: {text}")
        missing = [target["category"] for target in self.rule["targets"] if target["category"] not in self.found]
        if not self.known and not self.found and self.speaks:
            raise ValueError("no command that this check knows, so what was read cannot be told")
        if self.hidden and missing:
            why = "a script is sourced here, so what was read cannot be told"
            raise ValueError(f"line {self.hidden}: {why}: {missing}")
        return made


def check_ran(number: int, text: str, rule: dict[str, Any]) -> None:
    """A command in a block is no evidence; a text that is printed there is none either, and does no harm."""
    if not re.match(rule["echo"], text):
        raise ValueError(f"line {number}: conditional, so whether it ran cannot be told: {text}")
