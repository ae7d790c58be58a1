"""Reader of the lines of `pytest -v` and `go test -v`, which name each test.

Without `-v` both print the failing tests alone, or none, so they are not read.

Source: `_pytest/terminal.py`; `go doc test2json`, which tells how the lines of a test are found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from transom.formats.junit import CaseStatus, JUnitCase

_PYTEST = re.compile(
    r"^(?P<path>\S{1,300}\.py)::(?P<name>\S[^\n]{0,500}?)"
    r" (?P<status>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: \([^\n]*\))?[ ]+\[ {0,2}\d{1,3}%\]$"
)
_PYTEST_STATUS: dict[str, CaseStatus] = {
    "PASSED": "passed",
    "FAILED": "failed",
    "ERROR": "error",
    # An expected failure shows nothing, whether it comes or not.
    **dict.fromkeys(("SKIPPED", "XFAIL", "XPASS"), "skipped"),
}
_PYTEST_HEAD = re.compile(r"^_{3,200} (?:ERROR at \w+ of )?(?P<name>\S[^\n]{0,500}?) _{3,200}$")
_PYTEST_END = re.compile(r"^={3,200} [^\n]{1,300} ={3,200}$")
_GO_BEGINS = re.compile(r"^=== (?:RUN|CONT|NAME|PAUSE)\s{1,4}(?P<name>\S+)$")
_GO_ENDS = re.compile(
    r"^ {0,80}--- (?P<status>PASS|FAIL|SKIP): (?P<name>\S+) \(\d{1,9}\.\d{1,9}s\)$"
)
_GO_STATUS: dict[str, CaseStatus] = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
_GO_PACKAGE = re.compile(r"^(?P<status>ok {2}|FAIL)\t(?P<name>\S+)(?:[ \t](?P<rest>[^\n]*))?$")
_MOST_MESSAGE = 4_000


def pytest_lines(text: str) -> Iterator[JUnitCase]:
    """Yield the tests of `pytest -v`, named as its JUnit report names them."""
    lines = text.splitlines()
    rows = [match for line in lines if (match := _PYTEST.match(line))]
    messages = _pytest_messages(lines) if rows else {}
    statuses: dict[str, CaseStatus] = {}
    names: dict[str, str] = {}
    for match in rows:
        place = match["path"].removesuffix(".py").replace("/", ".").replace("\\", ".")
        function, bracket, parameter = match["name"].partition("[")
        short_name = function.replace("::", ".") + bracket + parameter
        name = f"{place}.{short_name}"
        # A test that passes may still fail in its teardown, in another line.
        status = _PYTEST_STATUS[match["status"]]
        if statuses.get(name, "passed") == "passed":
            statuses[name], names[name] = status, short_name
    for name, status in statuses.items():
        details = messages.get(names[name], "") if status in ("failed", "error") else ""
        yield JUnitCase(name, status, details[-_MOST_MESSAGE:], details)


def _pytest_messages(lines: list[str]) -> dict[str, str]:
    """Return the name of a test in its file -> the text about its failure."""
    texts: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        if head := _PYTEST_HEAD.match(line):
            name = head["name"]
        elif _PYTEST_END.match(line):
            name = ""
        elif name:
            texts.setdefault(name, []).append(line)
    return {name: "\n".join(rows) for name, rows in texts.items()}


def go_lines(text: str) -> Iterator[JUnitCase]:
    """Yield the tests of `go test -v`; a package that does not build is a case of its own."""
    if "=== RUN" not in text:
        return
    statuses: dict[str, CaseStatus] = {}
    messages: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if begins := _GO_BEGINS.match(line):
            name = begins["name"]
        elif ends := _GO_ENDS.match(line):
            # What a test reports stands above this line or below it, by the version of Go.
            name = ends["name"]
            statuses[name] = _GO_STATUS[ends["status"]]
        elif package := _GO_PACKAGE.match(line):
            # The tests of a package come before its own line.
            for test, status in statuses.items():
                details = "\n".join(messages.get(test, ()))
                full_name = f"{package['name']}.{test}"
                yield JUnitCase(full_name, status, details[-_MOST_MESSAGE:], details)
            if package["status"] == "FAIL":
                details = "\n".join([*messages.get("", ()), package["rest"] or ""])
                yield JUnitCase(package["name"], "error", details[-_MOST_MESSAGE:], details)
            statuses, messages, name = {}, {}, ""
        else:
            messages.setdefault(name, []).append(line)
