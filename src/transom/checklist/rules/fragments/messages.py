"""`messages`: the messages of a log. Every line is one, or without any word of the matter, or known to do no harm.

Everything else is an error, as is a log that ends before its tool was done and a count of more than was seen.
"""

import re
from typing import Any

from transom.checklist.rules.fragments.ending import Ending
from transom.checklist.rules.fragments.shared import colourless, entry
from transom.checklist.rules.fragments.tally import Tally


class MessageReader:
    """One entry for every message, and one for every line by which a tool names itself.

    `stopped` is the last line that was a message of the first target; `message` the last line of any message.
    """

    def __init__(self, rule: dict[str, Any]) -> None:
        self.rule = rule
        self.targets = [(one, [re.compile(pattern) for pattern in one["patterns"]]) for one in rule["targets"]]
        wanted = {one["category"] for one in rule["targets"] if one.get("fields")}
        alarms = [pair for key, words in rule["alarm"].items() if key in wanted for pair in words.items()]
        self.alarms = [(word, re.compile(regex)) for word, regex in alarms]
        self.aside = [re.compile(pattern) for pattern in rule["aside"]]
        self.quoted = [re.compile(pattern) for pattern in rule["quoted"]]
        names = ("spoken", "other", "further", "grave")
        self.known = {name: re.compile(rule[name]) for name in names}
        self.tally = Tally(rule, wanted)
        self.ending = Ending(rule["run"])
        self.runs: list[tuple[int, str, dict[str, Any]]] = []
        self.stopped = self.message = 0

    def line(self, number: int, line: str) -> list[dict[str, Any]]:
        """The entry, where the line is a message that is asked for."""
        text = colourless(line)
        if re.search(r"[\x00-\x08\x0b\x0e-\x1f\x7f\xad\u200b-\u200f\u2028-\u202e\u2060-\u2064]|(?!^)\ufeff", text):
            raise ValueError(f"line {number}: it holds characters that are no text: {line.strip()!r}")
        pieces = text.rstrip("\r").split("\r")
        made = [one for piece in pieces for one in self.text(number, line, piece)]
        if len(pieces) > 1 and (made or self.message == number or number in [run[0] for run in self.runs[-1:]]):
            raise ValueError(f"line {number}: carriage returns make several lines of it: {line.strip()!r}")
        return made

    def text(self, number: int, line: str, text: str) -> list[dict[str, Any]]:
        """A line without colours, or what stands between two carriage returns."""
        if (told := self.ending.line(number, text)) is not None:
            self.runs.append((number, line, {**told, "line": text}))
        if self.tally.is_row(number, text):
            return []
        for target, patterns in self.targets:
            for pattern in patterns:
                if match := pattern.match(text):
                    return self.found(number, line, target, {**match.groupdict(), "line": text})
        goes_on = self.message == number - 1 and self.known["further"].match(text)
        if goes_on or self.known["other"].match(text):
            self.message = number
        if not goes_on:
            self.tally.check_hidden(number, text)
            self.account(number, text)
        return []

    def found(self, number: int, line: str, target: dict[str, Any], fields: dict[str, Any]) -> list[dict[str, Any]]:
        """A message: an entry, or where its kind is not asked for, nothing; it must not be graver than it says."""
        self.message = number
        gravest = self.targets[0][0]
        if target is gravest:
            self.stopped = number
        elif gravest.get("fields") and self.known["grave"].search(fields["line"]):
            raise ValueError(f"line {number}: not understood: {line.strip()}")
        if not target.get("fields"):
            return []
        self.tally.saw(target["category"], fields["line"])
        return [entry(target, number, line, fields)]

    def alarming(self, text: str) -> bool:
        """Whether a line speaks of the matter."""
        low = text.lower()
        return any(word in low and regex.search(low) for word, regex in self.alarms)

    def account(self, number: int, text: str) -> None:
        """A line that is no message must say nothing of the matter but what is known to do no harm."""
        if not self.alarming(text):
            return
        rest = self.tally.without_counts(number, text)
        for pattern in [*(self.quoted if self.known["spoken"].match(text) else []), *self.aside]:
            rest = pattern.sub(" ", rest)
        if self.alarming(rest):
            raise ValueError(f"line {number}: not understood: {text.strip()}")

    def busy(self, number: int) -> bool:
        """Whether the next line must be seen whatever it holds: it may go on with a message, a table or an end."""
        ending = self.ending
        return self.message == number or bool(self.tally.columns or ending.named or ending.weak)

    def passed(self, last: tuple[int, str] | None) -> list[dict[str, Any]]:
        """Nothing comes of lines with nothing to read but the last one that is not blank."""
        self.ending.last = last or self.ending.last
        return []

    def late(self) -> float:
        """The end of the file tells about the lines by which tools name themselves."""
        return self.runs[0][0] if self.runs else float("inf")

    def end(self) -> list[dict[str, Any]]:
        """The runs, and how the last of them ended."""
        if not self.ending.last[0]:
            return []
        state = self.ending.state(self.stopped)
        own = self.rule["run"]
        if not own.get("fields"):
            return []
        return [entry(own, number, line, {**told, "end": state}) for number, line, told in self.runs]
