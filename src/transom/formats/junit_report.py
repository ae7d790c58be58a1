"""Writer of JUnit XML reports for build servers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from junitparser import TestCase

Result = Literal["passed", "failed", "error", "skipped"]

# XML 1.0 forbids most control characters, even as escapes: a report with one is refused as a whole.
_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class ReportedCase:
    """One test case.

    Attributes:
        name: the name of the test.
        group: its group, which build servers show as the class.
        result: its outcome.
        message: the reason why it did not pass, one line.
        details: more lines on the reason.
        seconds: its duration.
        output: further output of the test.
    """

    name: str
    group: str
    result: Result = "passed"
    message: str = ""
    details: str = ""
    seconds: float = 0.0
    output: str = ""


def junit_report(
    suite: str, cases: Iterable[ReportedCase], properties: Mapping[str, str] | None = None
) -> bytes:
    """Return one `<testsuites>` document in UTF-8; characters that XML does not allow become
    U+FFFD.
    """
    from junitparser import JUnitXml, TestSuite  # noqa: PLC0415  only reports need it

    test_suite = TestSuite(_text(suite))
    for key, value in (properties or {}).items():
        test_suite.add_property(_text(key), _text(value))
    test_suite.add_testcases([_case(case) for case in cases])
    document = JUnitXml(_text(suite))
    document.add_testsuite(test_suite)
    # Build servers show the counts of the attributes, and do not count the cases.
    document.update_statistics()  # type: ignore[no-untyped-call]  # junitparser is typed in part
    written: bytes = document.tostring()  # type: ignore[no-untyped-call]  # as above
    return written if written.endswith(b"\n") else written + b"\n"


def _case(row: ReportedCase) -> TestCase:
    from junitparser import Error, Failure, Skipped, TestCase  # noqa: PLC0415  only reports need it

    # Milliseconds are as fine as build servers show, and keep two reports of a test comparable.
    case = TestCase(_text(row.name), _text(row.group), round(row.seconds, 3))
    kinds = {"failed": Failure, "error": Error, "skipped": Skipped}
    if row.result in kinds:
        ended = kinds[row.result](_text(row.message))
        ended.text = _text(row.details)
        case.result = [ended]
    if row.output:
        case.system_out = _text(row.output)
    return case


def _text(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
