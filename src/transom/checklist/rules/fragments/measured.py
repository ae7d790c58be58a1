"""`measured`: numbers of one kind, against the limit of the check; every line that speaks of them is accounted for."""

import re
from typing import Any

from transom.checklist.rules.fragments.shared import entry


def bounds(printed: str) -> tuple[float, float]:
    """Between what lies a number that is printed so: it may be rounded, and its sign holds."""
    mantissa, _, power = printed.lower().partition("e")
    half = 0.5 * 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    low, high = float(printed) - half, float(printed) + half
    return (low, min(high, 0.0)) if printed[0] == "-" else (max(low, 0.0), high)


def keeps(printed: str, scale: float, limit: list[Any]) -> bool | None:
    """Whether a number keeps the limit; None where its rounding leaves that open."""
    told = set()
    for end in bounds(printed):
        value, (sign, wanted) = end * scale, limit
        told.add({"<": value < wanted, "<=": value <= wanted, ">": value > wanted}.get(sign, value >= wanted))
    return told.pop() if len(told) == 1 else None


def refuse(number: int, line: str, why: str) -> None:
    """A line that cannot be judged."""
    raise ValueError(f"line {number}: {why}: {line.strip()}")


class MeasuredReader:
    """One entry for every number that is meant, all at the end, when nothing in the file denies them.

    `check` is what the heading above says the numbers are, `barred` whether it heads a table with bars, `used` whether
    it had its number; `stage` counts the lines that tell of a step of the flow. Of what denies the numbers are kept
    the `lowest` slack and the first line that says that there is a `negative` one.
    """

    def __init__(self, rule: dict[str, Any]) -> None:
        self.rule = rule
        many = ("forms", "context", "denials", "told", "harmless")
        self.res = {name: [re.compile(one) for one in rule.get(name, [])] for name in many}
        one = ("ends", "stages", "alarm")
        self.res |= {name: [re.compile(rule[name])] for name in one if rule.get(name)}
        self.check: str | None = None
        self.barred = self.used = False
        self.stage = 0
        self.units: set[str] = set()
        self.numbers: list[dict[str, Any]] = []
        self.lowest: tuple[float, int, str] | None = None
        self.negative: tuple[int, str] | None = None

    def match(self, name: str, text: str) -> re.Match[str] | None:
        """How the first regex of that name fits."""
        return next((found for regex in self.res.get(name, ()) if (found := regex.search(text))), None)

    def line(self, number: int, line: str) -> list[dict[str, Any]]:
        """No entry yet: a later line may deny it."""
        text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line) if "\x1b" in line else line
        if self.match("stages", text):
            self.stage += 1
        if self.match("ends", text):
            self.check = None
        if heading := self.match("context", text):
            self.check, self.barred, self.used = self.rule["words"].get(heading["check"]), "|" in text, False
        elif unit := self.match("told", text):
            self.units.add(unit["unit"])
        elif found := self.match("forms", text):
            self.number(number, line, found)
        elif found := self.match("denials", text):
            self.denied(number, line, found)
        elif not self.match("harmless", text) and self.match("alarm", text):
            refuse(number, line, "not understood")
        return []

    def said(self, found: re.Match[str]) -> str | None:
        """What the number of a line is, by the line or by its heading."""
        own = found.groupdict().get("check")
        if own:
            told: str | None = self.rule["words"].get(own)
            return told
        return self.check if self.barred == ("|" in found.string) else None

    def number(self, number: int, line: str, found: re.Match[str]) -> None:
        """A number that is meant, if it is of the kind that the check is about."""
        printed, only = found["printed"], self.rule.get("only")
        if abs(float(printed)) >= self.rule["most"]:
            refuse(number, line, "a number that stands for none")
        if only:
            said = self.said(found)
            if said is None or (self.used and not found.groupdict().get("check")):
                refuse(number, line, "what this is the number of is not told")
            self.used = True
            if said != only:
                return
            others = re.findall(r"-?\d+(?:\.\d+)?", found.string[found.end("printed") :])
            if any(float(other) < float(printed) for other in others):
                refuse(number, line, "another number of the line is worse")
        told = {"printed": printed, "unit": found.groupdict().get("unit")}
        self.numbers.append({"number": number, "line": line, "stage": self.stage, **told})

    def denied(self, number: int, line: str, found: re.Match[str]) -> None:
        """A line beside the numbers, with a slack, a sum of slacks or a count of violations."""
        told = found.groupdict()
        said = self.said(found)
        if "slack" in told:
            self.check = None
        if said not in (None, self.rule["only"]):
            return
        clipped, slack, flag = told.get("clipped"), told.get("slack"), told.get("flag") or ""
        least = slack or (clipped if clipped and clipped[0] == "-" else None)
        violated = flag.lower() == "violated" or "-" in (told.get("total") or "")
        if violated or (clipped and clipped[0] == "-") or re.search(r"[1-9]", told.get("count") or ""):
            self.negative = self.negative or (number, line)
        if least and (self.lowest is None or bounds(least)[1] < self.lowest[0]):
            self.lowest = (bounds(least)[1], number, line)

    def late(self) -> bool:
        """Whether an entry may still come for a line that went before."""
        return bool(self.numbers)

    def end(self) -> list[dict[str, Any]]:
        """The entries, where all that the file says agrees."""
        printed = [one["printed"] for one in self.numbers]
        if printed and self.negative and all(one[0] != "-" for one in printed):
            refuse(*self.negative, "a violation that no number here has")
        if printed and self.lowest and min(bounds(one)[0] for one in printed) > self.lowest[0]:
            refuse(*self.lowest[1:], "a slack that is worse than the worst here")
        sides: dict[bool, set[int]] = {True: set(), False: set()}
        made = []
        for one in self.numbers:
            power = self.power(one)
            kept = keeps(one["printed"], 10.0**power, self.rule["limit"]) if "limit" in self.rule else True
            if kept is None:
                refuse(one["number"], one["line"], f"rounded, so it may or may not be {self.shown()}")
            elif any(stage != one["stage"] for stage in sides[not kept]):
                refuse(one["number"], one["line"], f"it is {self.shown()} at one step and not at another")
            else:
                sides[kept].add(one["stage"])
            mantissa, _, exponent = one["printed"].lower().partition("e")
            value = float(f"{mantissa}e{int(exponent or 0) + power}")
            fields = {"line": one["line"], "printed": one["printed"], self.rule["field"]: value}
            made.append(entry(self.rule, one["number"], one["line"], fields))
        return made

    def shown(self) -> str:
        """The limit in words."""
        sign, wanted = self.rule["limit"]
        return f"{sign} {wanted:g}"

    def power(self, one: dict[str, Any]) -> int:
        """The power of ten that brings a number to the unit of the field; 0 where only its sign counts."""
        if self.rule["field"] not in self.rule["fields"]:
            return 0
        units = {one["unit"]} if one["unit"] else self.units
        if len(units) != 1 or not units <= set(self.rule["units"]):
            refuse(one["number"], one["line"], "no one unit is told for this number")
        return int(self.rule["units"][min(units)])
