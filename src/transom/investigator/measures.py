"""The measures that readers yield and policies name, and their names in words."""

from __future__ import annotations

from collections.abc import Iterator


def _known_measures() -> Iterator[str]:
    for family in ("tests", "uat"):
        for name in (
            "failed",
            "executed",
            "passed",
            "skipped",
            "total",
            "planned",
            "blocked",
            "not_run",
            "unaccounted",
            "pass_rate",
            "stated_pass_rate",
            "skipped_share",
        ):
            yield f"{family}.{name}"
    for family in ("vulnerabilities", "review.issues", "uat.issues", "jira.issues"):
        for severity in ("critical", "high", "medium", "low"):
            yield f"{family}.{severity}"
    for kind in ("latency", "error_rate", "success_rate", "throughput", "availability", "cpu"):
        yield f"performance.{kind}"
    yield from ("coverage.line", "coverage.branch", "pipeline.status", "pipeline.failed_stages")
    yield from ("vulnerabilities.unrated", "review.decision", "review.person", "source.outcome")
    yield from ("jira.status", "jira.last_status", "jira.open_blockers", "jira.open_subtasks")
    yield "jira.subtasks"


MEASURES = frozenset(_known_measures())
"""The measures that a policy can name."""


def is_percentage(measure: str) -> bool:
    """Return whether a measure is counted in percent."""
    return measure.startswith("coverage.") or measure.endswith(("_rate", "_share"))


def words_of(measure: str) -> str:
    """Return a measure in words: `tests.failed` -> `failed tests`."""
    special_names = {
        "tests.failed": "failed tests",
        "tests.executed": "executed tests",
        "tests.unaccounted": "tests without an outcome",
        "uat.stated_pass_rate": "UAT pass rate",
        "tests.stated_pass_rate": "pass rate",
        "uat.pass_rate": "UAT pass rate",
        "uat.not_run": "UAT scenarios not run",
        "tests.skipped_share": "share of tests that did not run",
        "vulnerabilities.unrated": "open vulnerabilities without a severity",
        "coverage.line": "line coverage",
        "coverage.branch": "branch coverage",
        "pipeline.failed_stages": "failed pipeline stages",
        "jira.open_blockers": "open blocking issues",
        "jira.open_subtasks": "open subtasks",
        "jira.status": "Jira status",
        "jira.last_status": "last status",
        "jira.subtask": "open subtask",
        "jira.blocker": "open blocking issue",
        "tests.case": "failing case",
        "uat.case": "failing scenario",
        "pipeline.status": "pipeline",
        "pipeline.stage": "failed stage",
        "review.decision": "decision",
        "review.person": "decision",
        "review.condition": "open condition",
        "review.doubt": "doubt",
        "document.words": "words of substance",
    }
    if measure in special_names:
        return special_names[measure]
    if measure.endswith(".entry"):
        return f"open {measure.split('.')[-2]} finding"
    family, _, detail = measure.partition(".")
    if detail in ("critical", "high", "medium", "low"):
        return f"open {detail} {family}"
    if detail.startswith("issues."):
        return f"open {detail.partition('.')[2]} issues"
    return detail.replace("_", " ").replace(".", " ") or family
