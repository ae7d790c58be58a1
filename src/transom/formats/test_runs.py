"""The result of a run of tests, as all readers of test reports return it.

Each report becomes one `TestReport`: how many tests ran and failed, how many did not run, the names
of the failed ones, and what else the report says against itself. A runner that was interrupted, or
that met errors outside its tests, says so in a key of its own; each reader knows that key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from transom.evidence.numbers import PrintedNumber, read_number
from transom.formats.json_tree import escape

MOST_FAILURES = 50
"""Failed tests that a report lists by name, at most."""


@dataclass(frozen=True)
class FailedTest:
    """A test that failed, with its message and its place."""

    name: str
    message: str
    locator: str


@dataclass(frozen=True)
class RunProblem:
    """A statement of a report against itself: `ended with exit code 2`."""

    text: str
    locator: str


@dataclass(frozen=True)
class TestReport:
    """The result of one run of a test runner.

    Attributes:
        tool: the name of the runner or of its report.
        locator: the place of the counts.
        passed, failed: tests that ran; errors count as failed.
        not_run: tests that were skipped, disabled, or never ran.
        failed_at: the place of the number of failures, or "" if they were counted.
        failures: the failed tests, as far as the report lists them.
        listed_failed: how many failed tests the report lists, or None if it lists no tests.
    """

    # Pytest would take the class for tests of its own.
    __test__ = False

    tool: str
    locator: str
    passed: int
    failed: int
    not_run: int
    failed_at: str = ""
    failures: tuple[FailedTest, ...] = ()
    problems: tuple[RunProblem, ...] = ()
    listed_failed: int | None = None

    @property
    def executed(self) -> int:
        """The number of tests that ran."""
        return self.passed + self.failed


@dataclass
class OutcomeCounts:
    """Counts of a report by role, each with the place of its number."""

    place: str
    numbers: dict[str, int] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

    def take(self, source: Mapping[str, object], roles: Mapping[str, str], sign: str = "/") -> None:
        """Add the numbers of these keys to their roles."""
        for key, role in roles.items():
            number = read_number(source.get(key), is_count=True)
            if isinstance(number, PrintedNumber):
                self.numbers[role] = self.numbers.get(role, 0) + int(number.value)
                # Of several keys with one role, the place of a count that is not zero is shown.
                if number.value or role not in self.places:
                    self.places[role] = f"{self.place}{sign}{escape(key)}"

    def get(self, role: str) -> int:
        """Return the count of a role; 0 if the report does not give it."""
        return self.numbers.get(role, 0)


def report_of_counts(
    tool: str, counts: OutcomeCounts, failures: list[FailedTest], problems: list[RunProblem]
) -> TestReport:
    """Return the run of a report's counts; a total shows tests without an outcome."""
    failed = counts.get("failed") + counts.get("errors")
    not_run = counts.get("not_run")
    # Some reports count only what went wrong, and a total.
    if "passed" in counts.numbers:
        passed = counts.get("passed")
    else:
        passed = max(0, counts.get("total") - failed - not_run)
    # More tests than outcomes: a worker died, or the run was cut off.
    lost = counts.get("total") - passed - failed - not_run
    if lost > 0:
        problems.append(
            RunProblem(
                f"{lost} of {counts.get('total')} tests have no outcome",
                counts.places.get("total", counts.place),
            )
        )
    if passed + failed + not_run > counts.get("total") > 0:
        text = f"{passed + failed + not_run} outcomes of {counts.get('total')} tests"
        problems.append(RunProblem(text, counts.places.get("total", counts.place)))
    # A sum of failures and errors stands at no place.
    failed_at = counts.places.get("failed", "") if not counts.get("errors") else ""
    return TestReport(
        tool,
        counts.place or "",
        passed,
        failed,
        not_run,
        failed_at,
        tuple(failures[:MOST_FAILURES]),
        tuple(problems),
    )
