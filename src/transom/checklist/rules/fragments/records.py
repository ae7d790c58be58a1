"""`records`: one entry for several lines, from a starting line to an ending one."""

import re
from typing import Any

from transom.checklist.rules.fragments.shared import entry


class RecordReader:
    """One entry for every record; one without an end is an error."""

    def __init__(self, rule: dict[str, Any]) -> None:
        self.rule = rule
        self.fields: dict[str, Any] | None = None
        self.begun = 0

    def line(self, number: int, line: str) -> list[dict[str, Any]]:
        """The entry, where a record ends."""
        if re.search(self.rule["start"], line):
            self.end()
            self.fields, self.begun = {}, number
        if self.fields is None:
            return []
        for pattern in self.rule["patterns"]:
            if match := re.search(pattern, line):
                self.fields.update((name, text) for name, text in match.groupdict().items() if text is not None)
        if not re.search(self.rule["end"], line):
            return []
        fields, self.fields = self.fields, None
        return [entry(self.rule, number, line, fields)]

    def late(self) -> bool:
        """An entry is about the line that makes it certain."""
        return False

    def end(self) -> list[dict[str, Any]]:
        """Nothing may be open where the file or the next record says so."""
        if self.fields is not None:
            raise ValueError(f"line {self.begun}: what begins here has no end ({self.rule['end']})")
        return []
