"""Reader of JUnit XML reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from transom.errors import InputError

CaseStatus = Literal["passed", "failed", "error", "skipped"]

_STATUSES: dict[str, CaseStatus] = {"Failure": "failed", "Error": "error", "Skipped": "skipped"}
_GRAVITY: tuple[CaseStatus, ...] = ("passed", "skipped", "failed", "error")


@dataclass(frozen=True)
class JUnitCase:
    """A test case.

    Attributes:
        name: `class.name`.
        status: an expected failure (`xfail`) counts as skipped; an error is not a failure.
        message: message of a failure, an error or a skip.
    """

    name: str
    status: CaseStatus
    message: str


@dataclass(frozen=True)
class JUnitReport:
    """A JUnit report."""

    cases: tuple[JUnitCase, ...]


def read_junit(text: str | bytes, where: str = "report.xml") -> JUnitReport:
    """Read a report.

    Raises:
        InputError: the text is not a JUnit report.
    """
    from junitparser import JUnitXml, JUnitXmlError, TestSuite  # noqa: PLC0415  (slow to import)

    data = text.encode() if isinstance(text, str) else text
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise InputError(
            "declares XML entities", where=where, hint="write the report without a document type"
        )
    try:
        report: Any = JUnitXml.fromstring(data)
    except (JUnitXmlError, SyntaxError, ValueError, LookupError) as error:
        what = f"is not a JUnit report: {str(error).splitlines()[0]}"
        raise InputError(what, where=where, hint="have the test runner write JUnit XML") from error
    return JUnitReport(tuple(_cases([report] if isinstance(report, TestSuite) else report)))


def _cases(suites: Iterable[Any]) -> Iterator[JUnitCase]:
    for suite in suites:
        # A suite yields the cases of the suites inside it, too.
        for case in suite:
            name = ".".join(part for part in (case.classname, case.name) if part)
            status: CaseStatus = "passed"
            message = ""
            for result in case.result:
                kind = _STATUSES.get(type(result).__name__, "passed")
                if _GRAVITY.index(kind) > _GRAVITY.index(status):
                    status, message = kind, str(result.message or result.text or "").strip()
            yield JUnitCase(name or "unnamed", status, message)
