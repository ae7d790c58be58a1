"""`timing`: tables and paths of a timing report. A line on timing is read, known to be harmless, or refused."""

import re
from typing import Any

from transom.checklist.rules.fragments.shared import entry


def start_block(state: dict[str, Any], **given: Any) -> None:
    """Forget what held for the block above; `other` stays until a heading takes its place."""
    state.update(check=None, under=None, table=False, rows=0)
    state.update(given)


def refuse_line(number: int, line: str, why: str) -> None:
    """A line that cannot be judged."""
    raise ValueError(f"line {number}: {why}: {line.strip()}")


def read_path_line(number: int, line: str, rule: dict[str, Any], state: dict[str, Any]) -> dict[str, Any] | None:
    """A line between the start of a path and its slack; the fields when the slack is there."""
    path: dict[str, Any] = state["path"]
    if re.search(rule["start"], line):
        refuse_line(state["begun"], line, "the path that begins here has no end, for here is the next one")
    if re.search(rule["other_path"], line):
        refuse_line(number, line, "neither a setup nor a hold check")
    for pattern in rule["slack"]:
        if match := re.search(pattern, line):
            if not path.get("name"):
                refuse_line(number, line, "a slack without the name of its endpoint")
            state["path"] = None
            return {**path, **match.groupdict()}
    told = [match.groupdict() for pattern in rule["path"] if (match := re.search(pattern, line))]
    for fields in told:
        if any(path.get(name) not in (None, text) for name, text in fields.items()):
            refuse_line(number, line, "a path says it twice")
        path.update(fields)
    if not told and re.search(rule["alarm"], line):
        refuse_line(number, line, "not understood")
    return None


def read_report_line(
    number: int, line: str, rule: dict[str, Any], state: dict[str, Any], worst: dict[tuple[str, bool], tuple[int, str]]
) -> dict[str, Any] | None:
    """A line outside of a path; the fields where it is an endpoint's row."""
    if not line.strip():
        if state["rows"]:
            start_block(state)
    elif re.search(rule["start"], line):
        start_block(state, other=None)
        first = [match.groupdict() for pattern in rule["path"] if (match := re.search(pattern, line))]
        state.update(path={key: text for fields in first for key, text in fields.items()}, begun=number)
    elif heading := re.search(rule["heading"], line):
        start_block(state, check=heading["check"], other=None)
    elif usual := re.search(rule["usual"], line):
        state["usual"] = usual["check"]
    elif re.search(rule["command"], line):
        start_block(state, other=None)
    elif re.search(rule["table"], line):
        state.update(table=True, under=None)
    elif told := re.search(rule["worst"], line):
        worst.setdefault((told["slack"], bool(re.search(rule["total"], line))), (number, line))
    elif any(re.search(pattern, line) for pattern in rule["harmless"]):
        pass
    else:
        return read_row(number, line, rule, state)
    return None


def read_row(number: int, line: str, rule: dict[str, Any], state: dict[str, Any]) -> dict[str, Any] | None:
    """The fields of an endpoint's row; None for a line that has nothing to do with timing."""
    match = re.search(rule["row"], line)
    above = state["other"] or state["under"]
    if match and above:
        refuse_line(number, line, f"a row under {above.strip()!r}, which is no heading of setup or hold endpoints")
    if match:
        state["rows"] += 1
        return {"check": state["check"] or state["usual"], **match.groupdict()}
    if state["table"] or re.search(rule["alarm"], line):
        refuse_line(number, line, "not understood")
    if re.search(rule["negative"], line):
        refuse_line(number, line, "a negative number without a flag")
    if re.search(rule["foreign"], line):
        start_block(state, other=line)
    state["under"] = state["under"] or line
    return None


def timing_entry(number: int, line: str, rule: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """The entry of an endpoint, where flag, slack and kind of check are beyond doubt."""
    status = fields["status"].upper()
    slack = float(fields["slack"])
    if status == "MET" and slack < 0:
        refuse_line(number, line, "the flag says MET and the slack is negative")
    said = fields.get("check")
    if said is not None and said.lower() not in rule["maps"]["check"]:
        refuse_line(number, line, f"{said} is neither setup nor hold")
    wanted = rule.get("narrow", {}).get("check")
    if wanted and said is None:
        refuse_line(number, line, f"nothing above says that this is {wanted}, of which alone this check is")
    shown = f"{fields['name']} {line.strip()}" if "from" in fields else line
    told = {**fields, "status": status, "check": said and said.lower(), "line": shown}
    return {"slack": slack, "entry": entry(rule, number, line, told)}


def check_worst(worst: dict[tuple[str, bool], tuple[int, str]], least: float, total: float) -> None:
    """A summary whose slack is negative must be that of an endpoint, or sum, which is listed."""
    for (said, is_total), (number, line) in worst.items():
        step = 0.5000001 * 10.0 ** -len(said.partition(".")[2]) if re.fullmatch(r"-?\d*\.?\d*", said) else 0.0
        if said[:1] == "-" and not abs(float(said) - (total if is_total else least)) <= step:
            refuse_line(number, line, "a negative slack that no endpoint of this report has")


class TimingReader:
    """One entry for every endpoint, in tables and at the ends of paths.

    `state` holds for a block: `check` as its heading says it, `usual` as the head of the report says it, `other` a
    heading of another kind of check, `under` a line that is no heading, `table` whether columns were named, `rows`.
    Of all slacks are kept the `least`, the `total` of the negative ones and what its rounding `lost`.
    """

    def __init__(self, rule: dict[str, Any]) -> None:
        self.rule = rule
        self.state: dict[str, Any] = {"usual": None, "path": None}
        start_block(self.state, other=None)
        self.worst: dict[tuple[str, bool], tuple[int, str]] = {}
        self.least = self.total = self.lost = 0.0
        self.any = False

    def line(self, number: int, line: str) -> list[dict[str, Any]]:
        """The entry, where the line gives an endpoint's slack."""
        if self.state["path"] is not None:
            fields = read_path_line(number, line, self.rule, self.state)
        else:
            fields = read_report_line(number, line, self.rule, self.state, self.worst)
        if fields is None:
            return []
        made = timing_entry(number, line, self.rule, fields)
        self.count(float(made["slack"]))
        return [made["entry"]]

    def count(self, slack: float) -> None:
        """Into the least and the sum; `lost` keeps a sum of very many from drifting."""
        self.least = min(self.least, slack) if self.any else slack
        self.any = True
        if slack < 0:
            total = self.total + slack
            self.lost += self.total - total + slack if self.total <= slack else slack - total + self.total
            self.total = total

    def late(self) -> bool:
        """An entry is about the line that makes it certain."""
        return False

    def end(self) -> list[dict[str, Any]]:
        """Every path has its end, and every negative summary is that of the endpoints."""
        if self.state["path"] is not None:
            raise ValueError(f"line {self.state['begun']}: the path that begins here has no end")
        check_worst(self.worst, self.least, self.total + self.lost)
        return []
