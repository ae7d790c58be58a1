"""`messages`: the messages of a log. Every line is one, or without any word of the matter, or known
to do no harm.

Everything else is an error, as is a log that ends before its tool was done and a count of more than
was seen.
"""

import re
from typing import Any

from transom.checklist.rules.fragments.shared import colourless, compiled, entry, mapped


class MessageReader:
    """One entry for every message, and one for every line by which a tool names itself.

    `message` is the last line that was one, `stopped` the last one of the first target. `total`
    counts them by category and code, `mark` is what it was at the last count; `columns` are those
    of the table of counts that is being read,
    `known` whether its last row was understood. The present run of a tool has its last words in
    line `done`, 0 before them; with `weak` ones nothing else may follow. `named` is a line right
    below them by which a tool names itself: it may belong to them or begin the next run.
    """

    category = denied = None
    late = float("inf")  # no entry is to come for a line that was not taken when it was read

    def __init__(self, rule: dict[str, Any]) -> None:
        self.rule, self.run = rule, rule["run"]
        names = (
            "aside",
            "spoken",
            "quoted",
            "other",
            "further",
            "grave",
            "severities",
            "row",
            "hidden",
        )
        self.re = compiled({name: rule[name] for name in names if name in rule})
        self.re |= compiled(
            {name: self.run[name] for name in ("begins", "ends", "anyone", "after")}
        )
        self.patterns = [compiled(one["patterns"]) for one in rule["targets"]]
        self.wanted = [one["category"] for one in rule["targets"] if one["fields"]]
        alarms = [pair for key in self.wanted for pair in rule["alarm"].get(key, {}).items()]
        self.alarms = [(word, re.compile(regex)) for word, regex in alarms]
        counts = rule.get("counts", {})
        self.counts = [
            (key, re.compile(regex)) for key in self.wanted for regex in counts.get(key, ())
        ]
        self.total: dict[tuple[str, str], int] = {}
        self.mark: dict[tuple[str, str], int] = {}
        self.columns: list[str] = []
        self.known = self.weak = False
        self.runs: list[tuple[int, str, dict[str, Any]]] = []
        self.tool: str | None = None
        self.head = ""
        self.stopped = self.message = self.done = 0
        self.last: tuple[int, str] = (0, "")
        self.named: tuple[int, str, str] | None = None
        self.took: set[int] = set()  # of the last line, where a tool names itself by it

    def fits(self, name: str, text: str) -> Any:
        """The match of an expression that the rule has, from the head of a line on."""
        return self.re[name].match(text) if name in self.re else None

    def line(self, number: int, line: str) -> list[dict[str, Any]]:
        """The entry, where the line is a message that is asked for."""
        text, self.took = colourless(line), set()
        if re.search(
            r"[\x00-\x08\x0b\x0e-\x1f\x7f\xad\u200b-\u200f\u2028-\u202e\u2060-\u2064]|(?!^)\ufeff",
            text,
        ):
            raise ValueError(
                f"line {number}: it holds characters that are no text: {line.strip()!r}"
            )
        pieces = text.rstrip("\r").split("\r")
        made = [one for piece in pieces for one in self.text(number, line, piece)]
        if len(pieces) > 1 and (made or self.message == number or self.took):
            raise ValueError(
                f"line {number}: carriage returns make several lines of it: {line.strip()!r}"
            )
        return made

    def text(self, number: int, line: str, text: str) -> list[dict[str, Any]]:
        """A line without colours, or what stands between two carriage returns."""
        self.follow_run(number, line, text)
        if self.is_row(number, text):
            return []
        for target, patterns in zip(self.rule["targets"], self.patterns, strict=True):
            for pattern in patterns:
                if match := pattern.match(text):
                    return self.found(number, line, target, {**match.groupdict(), "line": text})
        goes_on = self.message == number - 1 and self.fits("further", text)
        if goes_on or self.fits("other", text):
            self.message = number
        if not goes_on:
            hides = self.re["hidden"].search(text) if "hidden" in self.re else None
            if hides and any((key, hides["code"]) in self.total for key in self.wanted):
                raise ValueError(
                    f"line {number}: more such messages were not shown: {text.strip()}"
                )
            if self.alarming(text) and self.alarming(self.harmful(number, text)):
                raise ValueError(f"line {number}: not understood: {text.strip()}")
        return []

    def found(
        self, number: int, line: str, target: dict[str, Any], fields: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """A message: an entry, or where its kind is not asked for, nothing; it must not be
        graver than it says.
        """
        text, gravest, category = fields["line"], self.rule["targets"][0], target["category"]
        self.message = number
        if target is gravest:
            self.stopped = number
        elif gravest["fields"] and "grave" in self.re and self.re["grave"].search(text):
            raise ValueError(f"line {number}: not understood: {line.strip()}")
        if not target["fields"]:
            return []
        for code in dict.fromkeys(
            ["", *re.findall(r"[A-Z][A-Z0-9_]{0,60}-\d+|[A-Z]\w{0,60} \d+-\d+", text)]
        ):
            self.total[category, code] = self.total.get((category, code), 0) + 1
        return [self.made(target, number, line, fields)]

    def made(
        self, part: dict[str, Any], number: int, line: str, fields: dict[str, Any]
    ) -> dict[str, Any]:
        """The entry of a message or of a run."""
        fields = mapped(part, fields)
        for name, wanted in part.get("narrow", {}).items():
            if fields.get(name) not in (None, wanted, *wanted.split("_and_")):
                raise ValueError(
                    f"line {number}: {name} is {fields[name]}, this check reads {wanted} only"
                )
        return entry(part, number, line, fields)

    def alarming(self, text: str) -> bool:
        """Whether a line speaks of the matter."""
        low = text.lower()
        return any(word in low and regex.search(low) for word, regex in self.alarms)

    def harmful(self, number: int, text: str) -> str:
        """A line that is no message without what does no harm: counts of what was seen, names,
        quotations.
        """
        told, rest = [], text
        for category, pattern in self.counts:
            told += [
                ((category, ""), int(match["count"].replace(",", "")))
                for match in pattern.finditer(rest)
            ]
            rest = pattern.sub(" ", rest)
        self.compare(number, text, told)
        quoted = self.re.get("quoted", []) if self.fits("spoken", text) else []
        for pattern in [*quoted, *self.re.get("aside", [])]:
            rest = pattern.sub(" ", rest)
        return rest

    def compare(self, number: int, text: str, told: list[tuple[tuple[str, str], int]]) -> None:
        """Counts that one line tells: of messages in the whole log, or of those that came since
        the last count.
        """
        for key, count in told:
            seen = self.total.get(key, 0)
            if key[0] in self.wanted and count > seen - self.mark.get(key, 0) and count != seen:
                raise ValueError(
                    f"line {number}: it counts what was not seen ({seen} of {count}):"
                    f" {text.strip()}"
                )
        self.mark |= {key: self.total.get(key, 0) for key, _ in told}

    def is_row(self, number: int, text: str) -> bool:
        """A line of a table of messages, whose counts are compared; its severity must be known."""
        if row := self.fits("row", text):
            severity, code, count = row["severity"], row["code"], row["count"]
        else:
            cells = (
                text.strip()[1:].split("|", len(self.columns) - 1)
                if text.lstrip()[:1] == "|"
                else []
            )
            heads = (
                [cell.strip().lower()[:3] for cell in text.strip().strip("|").split("|")]
                if cells
                else []
            )
            if {"id", "sev", "cou"} <= set(heads):
                self.columns, self.known = heads, False
                return True
            if not self.columns or re.fullmatch(r"[\s|+=-]+", text):
                return bool(self.columns)
            if len(cells) != len(self.columns):
                self.columns = []
                return False
            named = {head: cell.strip() for head, cell in zip(self.columns, cells, strict=True)}
            severity, code, count = named["sev"], named["id"], named["cou"]
            if not (severity or code or count):
                return self.known  # the text of the row above goes on
        found = [
            key for key, regex in self.re.get("severities", {}).items() if regex.fullmatch(severity)
        ]
        self.known = bool(found) and count.isdecimal()
        self.compare(number, text, [((found[0], code), int(count))] if self.known else [])
        return self.known

    def follow_run(self, number: int, line: str, text: str) -> None:
        """A tool may name itself, or say its last words; or a line shows that what looked like
        them was not.
        """
        after = self.re["after"].match(text) or not text.strip()
        if self.named and text.strip():
            named, self.named = self.named, None
            if not after:
                self.begin(*named)
        if told := self.re["begins"].match(text):
            self.runs.append((number, line, {**told.groupdict(), "line": text}))
            self.took.add(number)
            tool = mapped(self.run, told.groupdict())["tool"]
            if self.done and number == self.done + 1:
                self.named = (number, tool, text)
            else:
                self.begin(number, tool, text)
        elif self.tool in self.re["ends"] and self.re["ends"][self.tool].match(text):
            self.done, self.weak = number, False
        elif self.re["anyone"].match(text):
            self.done, self.weak = number, self.weak or not self.done
        elif self.weak and not after:
            self.done = 0
        if text.strip():
            self.last = (number, text)

    def begin(self, number: int, tool: str, text: str) -> None:
        """A run begins, or the head of the present one goes on."""
        again = self.tool is not None and (
            self.tool != tool or (self.run.get("once", True) and text == self.head)
        )
        if again and not self.done and self.tool in self.run["always"]:
            raise ValueError(
                f"line {number}: another run begins, and {self.tool} was not done: {text.strip()}"
            )
        if self.done or self.tool != tool:
            self.tool, self.head, self.done, self.weak = tool, text, 0, False

    def busy(self, number: int) -> bool:
        """Whether the next line must be seen whatever it holds: it may go on with a message, a
        table or an end.
        """
        return self.message == number or bool(self.columns or self.named or self.weak)

    def passed(self, last: tuple[int, str] | None) -> list[dict[str, Any]]:
        """Nothing comes of lines with nothing to read but the last one that is not blank."""
        self.last = last or self.last
        return []

    def end(self) -> list[dict[str, Any]]:
        """The runs, and how the last one ended: `complete`, `open` where nothing tells, null at
        an error.
        """
        number, text = self.last
        if number and not self.done and number != self.stopped and self.tool in self.run["always"]:
            raise ValueError(
                f"line {number}: the log ends before {self.tool} was done: {text.strip()}"
            )
        state = "complete" if self.done else None if number == self.stopped else "open"
        told = [
            (at, line, {**fields, "end": state})
            for at, line, fields in self.runs
            if self.run["fields"]
        ]
        return [self.made(self.run, *one) for one in told]
