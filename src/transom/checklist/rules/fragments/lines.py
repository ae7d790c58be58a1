"""`lines`: one entry a line; lines that head a group set fields of those that follow."""

import re
from typing import Any

from transom.checklist.rules.fragments.shared import entry


class LineReader:
    """One entry for every line that fits."""

    def __init__(self, rule: dict[str, Any]) -> None:
        self.rule = rule
        self.pattern = re.compile(rule["pattern"])
        self.headings = [re.compile(heading) for heading in rule.get("context", [])]
        self.context: dict[str, Any] = {}

    def fields(self, line: str) -> dict[str, Any] | None:
        """What a line that fits says, and what those above it that head a group."""
        for heading in self.headings:
            if match := heading.search(line):
                self.context.update(match.groupdict())
        match = self.pattern.search(line)
        if match is None:
            return None
        fields = {**self.context, **match.groupdict(), "line": line}
        fits = all(fields.get(name) == text for name, text in self.rule.get("where", {}).items())
        return fields if fits else None

    def line(self, number: int, line: str) -> list[dict[str, Any]]:
        """The entry, where the line fits."""
        fields = self.fields(line)
        return [] if fields is None else [entry(self.rule, number, line, fields)]

    def late(self) -> bool:
        """An entry is about the line that makes it certain."""
        return False

    def end(self) -> list[dict[str, Any]]:
        """Nothing waits for the end of the file."""
        return []
