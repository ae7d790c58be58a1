"""What became of a command: the lines from it to the next one. What cannot be told for certain is an error."""

import re
from typing import Any

from transom.checklist.rules.fragments.plain import alarming, files_in


def is_command(text: str, prompted: bool, rule: dict[str, Any]) -> bool:
    """Certainly a command, so that what follows is its own: no prose that sounds alarming."""
    if not (prompted or re.match(rule["command"], text)):
        return bool(re.match(rule["echo"], text))
    bare = re.sub(r'(?:^|\s)-\w+|"[^"]*"|>\s*\S+', " ", text)
    return bool(re.match(rule["echo"], text)) or not alarming(bare, rule)


def messages(text: str, target: dict[str, Any]) -> list[str]:
    """The path of a tool's own message about reading."""
    return [match["path"] for pattern in target["messages"] if (match := re.search(pattern, text))][:1]


class Outcome:
    """A command or message that reads, as long as its own lines go on.

    `variables` are those that were set before it; `wrong` is how it failed, None as long as nothing says so; `doubt`
    a line that may be a command; `said` are the paths that the tool's own messages name.
    """

    def __init__(self, statement: dict[str, Any], text: str, target: dict[str, Any], paths: list[str]) -> None:
        self.statement, self.text, self.target, self.paths = statement, text, target, paths
        self.compound = False
        self.variables: dict[str, str] = {}
        self.bases: list[str] = []
        self.wrong: str | None = None
        self.doubt = 0
        self.said: list[str] = []

    def follow(self, number: int, text: str, prompted: bool, rule: dict[str, Any]) -> None:
        """One of its lines, which is certainly no command."""
        if not alarming(text, rule):
            self.doubt = self.doubt or (number if re.match(rule["maybe"], text) else 0)
            return
        failed = any(re.search(pattern, text) for pattern in rule["failed"])
        others = [name for name in files_in(text, self.target["endings"]) if name not in self.bases]
        if self.wrong is None and failed and not (self.doubt or others or prompted or len(self.bases) > 1):
            self.wrong = text
        elif self.wrong is None:
            why = f"a command may stand in line {self.doubt}, so " if self.doubt else ""
            raise ValueError(f"line {number}: {why}whether this means that {self.bases[0]} was not read: {text}")
