"""Reader of JUnit XML reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal
from xml.etree import ElementTree

from transom.errors import InputError

CaseStatus = Literal["passed", "failed", "error", "skipped"]

_STATUSES: dict[str, CaseStatus] = {"Failure": "failed", "Error": "error", "Skipped": "skipped"}
_NODE_CASE = "testcase[@classname='test']"
# A case may have several results; the gravest counts.
_GRAVITY: tuple[CaseStatus, ...] = ("passed", "skipped", "failed", "error")


@dataclass(frozen=True)
class JUnitCase:
    """A test case.

    Attributes:
        name: `class.name`.
        status: an expected failure (`xfail`) counts as skipped; an error is not a failure.
        message: message of a failure, an error or a skip.
        details: all that the report says of a failure.
    """

    name: str
    status: CaseStatus
    message: str
    details: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class JUnitReport:
    """A JUnit report."""

    cases: tuple[JUnitCase, ...]


def read_junit(text: str | bytes, place: str = "report.xml") -> JUnitReport:
    """Read a report.

    Raises:
        InputError: the text is not a JUnit report.
    """
    from junitparser import JUnitXml, JUnitXmlError, TestSuite  # noqa: PLC0415  (slow to import)

    data = text.encode() if isinstance(text, str) else text
    # A few nested entities can mean billions of characters.
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise InputError(
            "declares XML entities", place=place, hint="write the report without a document type"
        )
    try:
        report: Any = JUnitXml.fromstring(_with_suites(data))
    except (JUnitXmlError, SyntaxError, ValueError, LookupError) as error:
        problem = f"is not a JUnit report: {str(error).splitlines()[0]}"
        raise InputError(
            problem, place=place, hint="have the test runner write JUnit XML"
        ) from error
    return JUnitReport(tuple(_cases([report] if isinstance(report, TestSuite) else report)))


def _with_suites(data: bytes) -> bytes:
    """Return a report whose cases all lie in suites, and have names of their own.

    Node writes cases that are in no `describe` directly below `testsuites`, and the name of a
    `describe`, or of a test with sub-tests, on the suite alone.
    """
    root = ElementTree.fromstring(data)
    strays = root.findall("testcase") if root.tag == "testsuites" else []
    groups = [row for row in root.findall("testsuite") if row.find(f".//{_NODE_CASE}") is not None]
    if not strays and not groups:
        return data
    for group in groups:
        _name_by_groups(group, "")
    suite = ElementTree.SubElement(root, "testsuite", name="")
    for case in strays:
        root.remove(case)
        suite.append(case)
    return ElementTree.tostring(root)


def _name_by_groups(suite: ElementTree.Element, before: str) -> None:
    """Write the names of the suites around Node's cases before their own."""
    name = f"{before}{suite.get('name', '')} > "
    for case in suite.findall(_NODE_CASE):
        case.set("name", f"{name}{case.get('name', '')}")
    for inner in suite.findall("testsuite"):
        _name_by_groups(inner, name)


def _cases(suites: Iterable[Any]) -> Iterator[JUnitCase]:
    for suite in suites:
        # A suite yields the cases of the suites inside it, too.
        for case in suite:
            name = ".".join(part for part in (case.classname, case.name) if part)
            status: CaseStatus = "passed"
            message = details = ""
            # A test that is still to be written may fail; Node says so of it beside the failure.
            is_todo = any(result.type == "todo" for result in case.result)
            for result in case.result:
                kind = _STATUSES.get(type(result).__name__, "passed")
                if _GRAVITY.index(kind) > _GRAVITY.index(status):
                    status, message = kind, str(result.message or result.text or "").strip()
                    parts = (result.type, result.message, result.text)
                    details = "\n".join(str(part) for part in parts if part)
            status = "skipped" if is_todo else status
            yield JUnitCase(name or "unnamed", status, message, details)
