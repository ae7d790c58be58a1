"""How many messages a tool counted itself, against those that were seen."""

import re
from typing import Any


class Tally:
    """Messages seen by category and by code, and the tables and sentences in which a tool counts them.

    A count may be for the whole log or for what came since the last one; one above both means that messages were not
    shown. `columns` are those of the table that is being read, `known` whether its last row was understood.
    """

    def __init__(self, rule: dict[str, Any], wanted: set[str]) -> None:
        self.severities = {key: re.compile(pattern) for key, pattern in rule["severities"].items()}
        told = {key: patterns for key, patterns in rule["counts"].items() if key in wanted}
        self.counts = {key: [re.compile(pattern) for pattern in patterns] for key, patterns in told.items()}
        self.row = re.compile(rule["row"])
        self.hidden = re.compile(rule["hidden"])
        self.wanted = wanted
        self.total: dict[tuple[str, str], int] = {}
        self.mark: dict[tuple[str, str], int] = {}
        self.columns: list[str] = []
        self.known = False

    def saw(self, category: str, text: str) -> None:
        """A message of a category; every code that it names is its own."""
        for code in dict.fromkeys(["", *re.findall(r"[A-Z][A-Z0-9_]*-\d+|[A-Z]\w* \d+-\d+", text)]):
            self.total[category, code] = self.total.get((category, code), 0) + 1

    def compare(self, number: int, text: str, told: list[tuple[str, str, int]]) -> None:
        """Counts (category, code, number) that one line tells."""
        for category, code, count in told:
            seen = self.total.get((category, code), 0)
            since = seen - self.mark.get((category, code), 0)
            if category in self.wanted and count > since and count != seen:
                raise ValueError(f"line {number}: it counts what was not seen ({seen} of {count}): {text.strip()}")
        self.mark |= {key[:2]: self.total.get(key[:2], 0) for key in told}

    def without_counts(self, number: int, text: str) -> str:
        """A line without the counts in it, once they are compared."""
        told: list[tuple[str, str, int]] = []
        for category, patterns in self.counts.items():
            for pattern in patterns:
                told += [(category, "", int(match["count"].replace(",", ""))) for match in pattern.finditer(text)]
                text = pattern.sub(" ", text)
        self.compare(number, text, told)
        return text

    def check_hidden(self, number: int, text: str) -> None:
        """No line says that messages like one that was seen are not shown any more."""
        if (hides := self.hidden.search(text)) and any((key, hides["code"]) in self.total for key in self.wanted):
            raise ValueError(f"line {number}: more such messages were not shown: {text.strip()}")

    def is_row(self, number: int, text: str) -> bool:
        """A line of a table of messages, whose counts are compared."""
        if row := self.row.match(text):
            return self.take(number, text, row["severity"], row["code"], row["count"])
        cells = text.strip()[1:].split("|", len(self.columns) - 1) if text.lstrip()[:1] == "|" else []
        heads = [cell.strip().lower()[:3] for cell in text.strip().strip("|").split("|")] if cells else []
        if {"id", "sev", "cou"} <= set(heads):
            self.columns, self.known = heads, False
            return True
        if not self.columns or re.fullmatch(r"[\s|+=-]+", text):
            return bool(self.columns)
        if len(cells) != len(self.columns):
            self.columns = []
            return False
        named = {head: cell.strip() for head, cell in zip(self.columns, cells, strict=True)}
        if any((named["id"], named["sev"], named["cou"])):
            self.known = self.take(number, text, named["sev"], named["id"], named["cou"])
        return self.known  # without these the text of the row above goes on

    def take(self, number: int, text: str, severity: str, code: str, count: str) -> bool:
        """A row, if its severity is known."""
        found = [key for key, pattern in self.severities.items() if pattern.fullmatch(severity)]
        if not found or not count.isdecimal():
            return False
        self.compare(number, text, [(found[0], code, int(count))])
        return True
