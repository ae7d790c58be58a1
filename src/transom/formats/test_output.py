"""Reader of what test runners print, for runners that write no JUnit report.

It reads `go test -json`, the lines of `cargo test`, TAP, and the marks of Node's, Mocha's, Jest's
and Vitest's reporters. A runner that prints none of these has no cases, only an exit code.

Source: `go doc test2json`; the Rust book on `cargo test`; testanything.org, versions 13 and 14.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from transom.formats.junit import CaseStatus, JUnitCase

_GO_STATUS: dict[str, CaseStatus] = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_CARGO = re.compile(r"^test (\S+(?: - .+?)?(?: \(line \d+\))?) \.\.\. (ok|FAILED|ignored)\b", re.M)
_CARGO_STATUS: dict[str, CaseStatus] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}
_CARGO_MESSAGE = re.compile(
    r"^---- ([^\n]+?) stdout ----\n(.*?)(?=^---- |^failures:|\Z)", re.M | re.S
)
# A description may hold an escaped `#`; only a directive ends it.
_TAP = re.compile(
    r"^\s*(?P<no>not )?ok\b(?: \d+)?(?: -)? ?(?P<name>.*?)"
    r"(?: # (?P<directive>skip|todo)\b.*| # time=.*)?$",
    re.IGNORECASE,
)
_TAP_BEGIN = re.compile(r"^(?:TAP version \d+|1\.\.\d+)\s*$", re.MULTILINE)
_TAP_ERROR = re.compile(r"^\s*error: (?P<block>\|-|>-)?\s*(?P<text>.*)$")
_MARKED = re.compile(
    r"^\s*(?P<mark>[✔✓√✖✕×✗○﹣↓])\s+(?P<name>.+?)(?: \(?\d[\d.]*\s?m?s\)?)?"
    r"(?P<directive> # (?:SKIP|TODO).*)?$"
)
_MARKS: dict[str, CaseStatus] = {
    **dict.fromkeys("✔✓√", "passed"),
    **dict.fromkeys("✖✕×✗", "failed"),
    **dict.fromkeys("○﹣↓", "skipped"),
}
_MOST_MESSAGE = 4_000


def read_test_output(text: str) -> tuple[JUnitCase, ...]:
    """Return the cases that a runner printed; none if the form is unknown."""
    for read in (_go, _cargo, _tap, _marked):
        if cases := tuple(read(text)):
            return cases
    return ()


def _go(text: str) -> Iterator[JUnitCase]:
    """Read the events of `go test -json`; a package that does not build is a case of its own."""
    messages: dict[str, list[str]] = {}
    for event in _events(text):
        package, test = str(event.get("Package", "")), str(event.get("Test", ""))
        name = f"{package}.{test}" if test else package
        action = event.get("Action")
        if action == "output":
            messages.setdefault(name, []).append(str(event.get("Output", "")))
        status = _GO_STATUS.get(str(action))
        # A package passes or is skipped as a whole, too; only its failure says something.
        if status is None or not (test or status == "failed"):
            continue
        message = "".join(messages.get(name, ()))[-_MOST_MESSAGE:]
        yield JUnitCase(name, status if test else "error", message)


def _events(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and "Action" in row:
            yield row


def _cargo(text: str) -> Iterator[JUnitCase]:
    """Read the lines of `cargo test`."""
    messages = {match[1]: match[2].strip() for match in _CARGO_MESSAGE.finditer(text)}
    for match in _CARGO.finditer(text):
        name = match[1]
        yield JUnitCase(name, _CARGO_STATUS[match[2]], messages.get(name, "")[-_MOST_MESSAGE:])


def _tap(text: str) -> Iterator[JUnitCase]:
    """Read test points of TAP, nested ones too. A test that is still to be written does not count
    as passed.
    """
    if not _TAP_BEGIN.search(text):
        return
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = _TAP.match(line)
        if match is None:
            continue
        status: CaseStatus = "failed" if match["no"] else "passed"
        status = "skipped" if match["directive"] else status
        name = match["name"].replace("\\#", "#").strip()
        yield JUnitCase(name or "unnamed", status, _tap_message(lines[number + 1 :]))


def _tap_message(lines: Iterable[str]) -> str:
    """Return the error in the YAML block behind a test point."""
    texts: list[str] = []
    is_inside = is_error = False
    for line in lines:
        if line.strip() == "---":
            is_inside = True
        elif not is_inside or line.strip() == "...":
            break
        elif match := _TAP_ERROR.match(line):
            is_error = bool(match["block"])
            texts.append(match["text"].strip("'\""))
        elif is_error and not re.match(r"^\s*\w+:", line):
            texts.append(line.strip())
        else:
            is_error = False
    return "\n".join(text for text in texts if text)[:_MOST_MESSAGE]


def _marked(text: str) -> Iterator[JUnitCase]:
    """Read lines that begin with a mark. A name that has none of a failure's lines has no
    message.
    """
    for line in text.splitlines():
        if match := _MARKED.match(line):
            status: CaseStatus = "skipped" if match["directive"] else _MARKS[match["mark"]]
            yield JUnitCase(match["name"], status, "")
