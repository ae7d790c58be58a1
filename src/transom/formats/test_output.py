"""Reader of what test runners print, for runners that write no JUnit report.

It reads `go test -json` and `-v`, the lines of `cargo test`, of `pytest -v` and of
`python -m unittest -v`, TAP, and the marks of Node's, Mocha's, Jest's and Vitest's reporters. A
runner that prints none of these has no cases, only an exit code.

Source: `go doc test2json`; the Rust book on `cargo test`; Python's `unittest/runner.py`;
testanything.org, versions 13 and 14.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from transom.formats.junit import CaseStatus, JUnitCase
from transom.formats.verbose_output import go_lines, pytest_lines

_GO_STATUS: dict[str, CaseStatus] = {"pass": "passed", "fail": "failed", "skip": "skipped"}
# `tests::no_stone - should panic` is the test `tests::no_stone`.
_CARGO = re.compile(
    r"^test (\S+(?: - (?!should panic\b).+?)?(?: \(line \d+\))?)(?: - should panic)?"
    r" \.\.\. (ok|FAILED|ignored)\b",
    re.M,
)
_CARGO_STATUS: dict[str, CaseStatus] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}
_CARGO_MESSAGE = re.compile(
    r"^---- ([^\n]+?)(?: - should panic)? stdout ----\n(.*?)(?=^---- |^failures:|\Z)", re.M | re.S
)
_DOC_LINE = re.compile(r" \(line \d+\)$")
_UNITTEST_END = re.compile(r"^Ran \d+ tests? in [\d.]+s$", re.M)
_UNITTEST = re.compile(r"^ {0,2}(?P<name>\w+) \((?P<place>[\w.]+)\)(?P<tail>.*)$")
_UNITTEST_STATUS: dict[str, CaseStatus] = {
    "ok": "passed",
    "FAIL": "failed",
    "ERROR": "error",
    "skipped": "skipped",
    "expected failure": "skipped",
    "unexpected success": "failed",
}
_UNITTEST_RESULT = re.compile(
    r"(?:^|(?<=\s))(ok|FAIL|ERROR|skipped(?= ['\"])|expected failure|unexpected success)"
    r"(?: ['\"].*)?$"
)
_UNITTEST_HEAD = re.compile(r"^(?:FAIL|ERROR): (\w+) \(([\w.]+)\)")
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
# `✓ src/a.test.js (3 tests) 12ms`
_TEST_FILE = re.compile(r"\.[cm]?[jt]sx? \(\d+ tests?\b")
_TOTAL = re.compile(
    r"^(?:Tests: {1,20}(?:[^\n]{1,200}, )?(\d+) total| {2,20}Tests {2}[^\n]{1,200}\((\d+)\))$",
    re.MULTILINE,
)
_MARKS: dict[str, CaseStatus] = {
    **dict.fromkeys("✔✓√", "passed"),
    **dict.fromkeys("✖✕×✗", "failed"),
    **dict.fromkeys("○﹣↓", "skipped"),
}
_MOCHA_END = re.compile(r"^ {2}\d{1,9} passing \(\d{1,9}[a-z]{1,2}\)$", re.MULTILINE)
_MOCHA = re.compile(
    r"^ {2,100}(?:(?P<passed>[✔✓√])|(?P<skipped>-)|(?P<number>\d{1,6})\))[ ](?P<name>\S.*?)"
    r"(?: \(\d+ms\))?$",
    re.MULTILINE,
)
_MOCHA_FAILURE = re.compile(r"^ {2}(\d{1,6})\) ", re.MULTILINE)
_MOST_MESSAGE = 4_000


def read_test_output(text: str) -> tuple[JUnitCase, ...]:
    """Return the cases that a runner printed; none if the form is unknown."""
    for read in (_go, go_lines, pytest_lines, _cargo, _unittest, _mocha, _tap, _marked):
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
        details = "".join(messages.get(name, ()))
        yield JUnitCase(name, status if test else "error", details[-_MOST_MESSAGE:], details)


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


def _mocha(text: str) -> Iterator[JUnitCase]:
    """Read the lines of Mocha's reporter `spec`, which marks a failing test by a number alone: that
    of its message below the summary.
    """
    end = _MOCHA_END.search(text)
    if end is None:
        return
    pieces = _MOCHA_FAILURE.split(text[end.end() :])
    details = dict(zip(pieces[1::2], pieces[2::2], strict=False))
    for match in _MOCHA.finditer(text, 0, end.start()):
        status: CaseStatus = "passed" if match["passed"] else "skipped"
        message = ""
        if match["number"]:
            status = "failed"
            # The title of the test stands before its error, each line with blanks before it.
            rows = [row.strip() for row in details.get(match["number"], "").splitlines()]
            message = "\n".join(rows).strip()
        yield JUnitCase(match["name"], status, message[:_MOST_MESSAGE], message)


def _cargo(text: str) -> Iterator[JUnitCase]:
    """Read the lines of `cargo test`.

    The line of a documentation test is no part of its name: it changes with the code above it. Of
    several tests of one item, the second is `NAME #2`.
    """
    uses: Counter[str] = Counter()
    texts = {match[1]: match[2].strip() for match in _CARGO_MESSAGE.finditer(text)}
    for match in _CARGO.finditer(text):
        details = texts.get(match[1], "")
        # The reason of a panic stands before its trace.
        message = details[:_MOST_MESSAGE]
        name, is_documentation = _DOC_LINE.subn("", match[1])
        if is_documentation:
            uses[name] += 1
            name += f" #{uses[name]}" if uses[name] > 1 else ""
        yield JUnitCase(name, _CARGO_STATUS[match[2]], message, details)


def _unittest(text: str) -> Iterator[JUnitCase]:
    """Read the lines of `python -m unittest -v`.

    A test's result may stand lines below its name, after its docstring and what it printed. An
    expected failure shows nothing, so it counts as skipped.
    """
    if not _UNITTEST_END.search(text):
        return
    lines = text.splitlines()
    messages = _unittest_messages(lines)
    bad = set[str]()
    name = ""
    is_listed = False
    for line in lines:
        head = _UNITTEST.match(line)
        if head:
            name = _unittest_name(head["name"], head["place"])
        result = _UNITTEST_RESULT.search(head["tail"] if head else line)
        if result and name:
            status = _UNITTEST_STATUS[result[1]]
            if status in ("failed", "error"):
                bad.add(name)
            is_listed = True
            yield JUnitCase(name, status, messages.get(name, ""))
            # A failed sub-test is followed by other sub-tests, with their own names.
            name = ""
    # What a test prints may look like its result; the blocks at the end tell all failures. Without
    # `-v` they alone are printed, and say nothing of the other tests.
    for name in messages.keys() - bad if is_listed else ():
        yield JUnitCase(name, "failed", messages[name])


def _unittest_name(name: str, place: str) -> str:
    """Return the full name of a test; before Python 3.11 the place lacks its last part."""
    return place if place.endswith(f".{name}") else f"{place}.{name}"


def _unittest_messages(lines: Iterable[str]) -> dict[str, str]:
    """Return name -> the text of the blocks about its failures."""
    texts: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        if head := _UNITTEST_HEAD.match(line):
            name = _unittest_name(head[1], head[2])
        elif line.startswith("=" * 70) or _UNITTEST_END.match(line):
            name = ""
        elif name:
            texts.setdefault(name, []).append(line)
    return {name: "\n".join(rows).strip("-\n")[-_MOST_MESSAGE:] for name, rows in texts.items()}


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
        following = lines[number + 1 :]
        details = "\n".join(_tap_block(following)) if status == "failed" else ""
        yield JUnitCase(name or "unnamed", status, _tap_message(following), details)


def _tap_block(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of the YAML block behind a test point."""
    is_inside = False
    for line in lines:
        if line.strip() == "---":
            is_inside = True
        elif not is_inside or line.strip() == "...":
            return
        else:
            yield line


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
    cases = []
    for line in text.splitlines():
        match = _MARKED.match(line)
        if match and not _TEST_FILE.search(match["name"]):
            status: CaseStatus = "skipped" if match["directive"] else _MARKS[match["mark"]]
            cases.append(JUnitCase(match["name"], status, ""))
    # Jest and Vitest list the tests of some files alone: those that fail, or the only one.
    totals = [int(match[1] or match[2]) for match in _TOTAL.finditer(text)]
    if not totals or sum(totals) == len(cases):
        yield from cases
