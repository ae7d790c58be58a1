"""Which tool wrote a log, and whether the log goes on to where that tool was done."""

import re
from typing import Any


class Ending:
    """The runs of a log: each begins with the line by which its tool names itself, and ends with the tool's last words.

    `done` is the line of these in the present run, 0 before them; with `weak` ones nothing else may follow. A tool that
    always has such words must have said them. `named` is a line right below them, which may belong to them or begin
    the next run.
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
        self.named: tuple[int, str, str] | None = None

    def line(self, number: int, text: str) -> dict[str, Any] | None:
        """The groups of a line by which a tool names itself."""
        if self.named and text.strip():
            named, self.named = self.named, None
            if not self.after.match(text):
                self.begin(*named)
        told = self.begins.match(text)
        if told:
            tool = self.rule["maps"]["tool"].get(told["tool"], told["tool"])
            if self.done and number == self.done + 1:
                self.named = (number, tool, text)
            else:
                self.begin(number, tool, text)
        else:
            self.finish(number, text)
        if text.strip():
            self.last = (number, text)
        return told.groupdict() if told else None

    def finish(self, number: int, text: str) -> None:
        """A line may be the last words of the tool, or show that what looked like them was not."""
        own = self.ends.get(self.tool or "")
        if own and own.match(text):
            self.done, self.weak = number, False
        elif self.anyone.match(text):
            self.weak = self.weak or not self.done
            self.done = number
        elif self.weak and text.strip() and not self.after.match(text):
            self.done = 0

    def begin(self, number: int, tool: str, text: str) -> None:
        """A run begins, or the head of the present one goes on."""
        again = self.tool is not None and (self.tool != tool or (self.rule["once"] and text == self.head))
        if again and not self.done and self.tool in self.rule.get("always", ()):
            raise ValueError(f"line {number}: another run begins, and {self.tool} was not done: {text.strip()}")
        if self.done or self.tool != tool:
            self.tool, self.head, self.done, self.weak = tool, text, 0, False

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
