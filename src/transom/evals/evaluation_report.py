"""Reports of an evaluation: text for people, JUnit XML for build servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from transom.evals.document import Comparison, Evaluation, ScenarioRow, Summary
from transom.formats.junit_report import ReportedCase, Result, junit_report

# A terminal has room for so many reasons of a scenario; the JSON has all of them.
_SHOWN = 3

Tone = Callable[[str, str], str]
"""Marks a text as `pass`, `fail`, `error`, `warn` or `head`."""


def junit(run: Evaluation) -> bytes:
    """Return JUnit XML: a case for each scenario, and a failed case for each regression."""
    results: dict[str, Result] = {"pass": "passed", "fail": "failed", "error": "error"}
    cases = []
    for row in run.scenarios:
        reasons = _reasons(row)
        scores = "\n".join([f"{name} {value:.3f}" for name, value in row.scores.items()])
        seconds = sum([epoch.used.seconds for epoch in row.details.epochs])
        message = f"{sum(row.passes)} of {row.epochs} epochs passed"
        if reasons:
            message = reasons[0]
        result = results[row.status]
        case = ReportedCase(row.id, run.suite, result, message, "\n".join(reasons), seconds, scores)
        cases.append(case)
    # A build server fails a build for a failed case, and knows nothing of baselines.
    for number, text in enumerate(run.regression_analysis.regressions, 1):
        cases.append(ReportedCase(f"regression {number}", run.suite, "failed", text))
    return junit_report(run.suite, cases, run.fingerprint.model_dump())


def _reasons(row: ScenarioRow) -> list[str]:
    """Return the reasons of all epochs, each once: most epochs fail for the same reason."""
    reasons: dict[str, None] = {}
    for epoch in row.details.epochs:
        reasons |= dict.fromkeys(epoch.why)
    return list(reasons)


def text_lines(run: Evaluation, tone: Tone, *, saved: str = "") -> Iterator[str]:
    """Yield the lines of a text report: scenarios, summary, changes against the baseline.

    `saved`: the name under which this evaluation was just kept as a baseline; "" if it was not.
    """
    for row in run.scenarios:
        yield from _row_lines(row, tone)
    yield ""
    yield tone("head", _summary_line(run.summary))
    for name, value in run.summary.avg_scores.items():
        yield f"  {name} {value:.2f}"
    usage = f"{run.usage.tokens} tokens, {run.usage.seconds:.1f} s"
    yield f"  {usage}, by {run.fingerprint.model}, run {run.run_id}"
    changes = run.regression_analysis
    if changes.baseline:
        yield f"against {changes.baseline}:"
        yield from change_lines(changes, tone)
    elif saved:
        yield f"nothing to compare with yet; kept as the baseline {saved}"
    else:
        yield "no baseline; --save NAME keeps one"


def _row_lines(row: ScenarioRow, tone: Tone) -> Iterator[str]:
    """Yield the lines of a scenario: its status, its scores below 1, and the first reasons."""
    scores = [f"{name} {value:.2f}" for name, value in row.scores.items() if value < 1]
    passed = f"{sum(row.passes)}/{row.epochs}" if row.epochs > 1 else ""
    columns = (tone(row.status, f"{row.status:5}"), row.id, passed, ", ".join(scores))
    yield "  ".join(filter(None, columns))
    if row.abstains:
        yield f"         abstains, as foreseen: {row.abstains}"
    reasons = _reasons(row)
    for reason in reasons[:_SHOWN]:
        yield f"         {reason}"
    if len(reasons) > _SHOWN:
        yield f"         and {len(reasons) - _SHOWN} more (--format json lists all)"


def _summary_line(summary: Summary) -> str:
    plural = "" if summary.total_scenarios == 1 else "s"
    parts = [f"{summary.passed} of {summary.total_scenarios} scenario{plural} passed"]
    if summary.abstained:
        parts.append(f"{summary.abstained} of them by an foreseen abstention")
    parts.append(f"pass rate {summary.pass_rate:.2f}")
    # The largest k tells most; with one epoch it is the pass rate again.
    k, probability = list(summary.pass_k.items())[-1]
    if k != "1":
        parts.append(f"pass^{k} {probability:.2f}")
    return ", ".join(parts)


def change_lines(changes: Comparison, tone: Tone) -> Iterator[str]:
    """Yield the changes against a baseline as lines."""
    for text in changes.regressions:
        yield tone("fail", f"  regression: {text}")
    for text in changes.warnings:
        yield tone("warn", f"  warning: {text}")
    for text in changes.improvements:
        yield tone("pass", f"  better: {text}")
    if changes.bound is not None and changes.minimum_detectable_drop is not None:
        drop = 100 * changes.minimum_detectable_drop
        yield f"  pass rate: 95 % bound of the change {100 * changes.bound:+.1f} points"
        yield f"  a drop of {drop:.1f} points would be found four times out of five"
    if not changes.regressions:
        yield "  no regression"
