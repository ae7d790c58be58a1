"""Names of measures in words."""

from __future__ import annotations


def words_of(measure: str) -> str:
    """Return a measure in words: `tests.failed` -> `failed tests`."""
    named = {
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
    if measure in named:
        return named[measure]
    if measure.endswith(".entry"):
        return f"open {measure.split('.')[-2]} finding"
    family, _, rest = measure.partition(".")
    if rest in ("critical", "high", "medium", "low"):
        return f"open {rest} {family}"
    if rest.startswith("issues."):
        return f"open {rest.partition('.')[2]} issues"
    return rest.replace("_", " ").replace(".", " ") or family
