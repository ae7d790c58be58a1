"""Which tool wrote a log, and whether the log goes on to where that tool was done."""

import re
from typing import Any


class Ending:
    """The runs of a log: each begins with the line by which its tool names itself, and ends with that tool's last word.

    `done` is the line of that word in the present run, 0 before it. A tool that always has one must have said it.
    """

    def __init__(self, rule: dict[str, Any]) -> None:
        self.rule = rule
        self.begins = re.compile(rule["begins"])
        self.ends = {tool: re.compile(pattern) for tool, pattern in rule.get("ends", {}).items()}
        self.anyone = re.compile(rule["anyone"])
        self.after = re.compile(rule["after"])
        self.tool: str | None = None
        self.head = ""
        self.done = 0
        self.weak = False
        self.last: tuple[int, str] = (0, "")

    def line(self, number: int, text: str) -> dict[str, Any] | None:
        """The groups of a line by which a tool names itself."""
        told = self.begins.search(text)
        if told:
            tool = self.rule["maps"]["tool"].get(told["tool"], told["tool"])
            if not (self.done and number <= self.done + 1):  # a tool's last words may name it again
                self.begin(number, tool, text)
        elif self.anyone.search(text) or (self.tool in self.ends and self.ends[self.tool].search(text)):
            self.done, self.weak = number, bool(self.anyone.search(text))
        elif self.weak and text.strip() and not self.after.search(text):
            self.done = 0
        if text.strip():
            self.last = (number, text)
        return told.groupdict() if told else None

    def begin(self, number: int, tool: str, text: str) -> None:
        """A run begins, or the head of the present one goes on."""
        again = self.tool is not None and (self.tool != tool or (self.rule["once"] and text == self.head))
        if again and not self.done and self.tool in self.rule.get("always", ()):
            raise ValueError(f"line {number}: another run begins, and {self.tool} was not done: {text.strip()}")
        if self.done or self.tool != tool:
            self.tool, self.head, self.done = tool, text, 0

    def state(self, stopped: int) -> str | None:
        """`complete`, `open` where nothing tells, None where the last line (`stopped`) tells why the run ended."""
        if self.done:
            return "complete"
        if self.last[0] == stopped:
            return None
        if self.tool in self.rule.get("always", ()):
            number, text = self.last
            raise ValueError(f"line {number}: the log ends before {self.tool} was done: {text.strip()}")
        return "open"
