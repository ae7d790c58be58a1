"""Reports of an evaluation: text for people, JUnit XML for build servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from transom.evals.document import Comparison, Evaluation
from transom.formats.junit_report import JUnitCase, Result, junit_report

_SHOWN = 3

Tone = Callable[[str, str], str]
"""Marks a text as `pass`, `fail`, `error`, `warn` or `head`."""


def junit(run: Evaluation) -> bytes:
    """Return JUnit XML: a case for each scenario, and a failed case for each regression."""
    results: dict[str, Result] = {"pass": "passed", "fail": "failed", "error": "error"}
    cases = []
    for row in run.scenarios:
        why = list(dict.fromkeys(text for epoch in row.details.epochs for text in epoch.why))
        scores = "\n".join(f"{name} {value:.3f}" for name, value in row.scores.items())
        seconds = sum(epoch.used.seconds for epoch in row.details.epochs)
        message = (why or [f"{sum(row.passes)} of {row.epochs} epochs passed"])[0]
        cases.append(
            JUnitCase(
                row.id, run.suite, results[row.status], message, "\n".join(why), seconds, scores
            )
        )
    for number, text in enumerate(run.regression_analysis.regressions, 1):
        cases.append(JUnitCase(f"regression {number}", run.suite, "failed", text))
    return junit_report(run.suite, cases, run.fingerprint.model_dump())


def text_lines(run: Evaluation, tone: Tone) -> Iterator[str]:
    """Yield the lines of a text report: scenarios, summary, changes against the baseline."""
    for row in run.scenarios:
        scores = ", ".join(f"{name} {value:.2f}" for name, value in row.scores.items() if value < 1)
        passed = f"{sum(row.passes)}/{row.epochs}" if row.epochs > 1 else ""
        yield "  ".join(filter(None, (tone(row.status, f"{row.status:5}"), row.id, passed, scores)))
        why = list(dict.fromkeys(text for epoch in row.details.epochs for text in epoch.why))
        if row.abstains:
            yield f"         abstains, as foreseen: {row.abstains}"
        yield from (f"         {text}" for text in why[:_SHOWN])
        if len(why) > _SHOWN:
            yield f"         and {len(why) - _SHOWN} more (--format json lists all)"
    summary = run.summary
    k, always = list(summary.pass_k.items())[-1]
    many = f"{summary.total_scenarios} scenario{'' if summary.total_scenarios == 1 else 's'}"
    shown = [f"{summary.passed} of {many} passed"]
    shown += [f"{summary.abstained} of them by an foreseen abstention"] if summary.abstained else []
    shown += [
        f"pass rate {summary.pass_rate:.2f}",
        *([f"pass^{k} {always:.2f}"] if k != "1" else []),
    ]
    yield ""
    yield tone("head", ", ".join(shown))
    yield from (f"  {name} {value:.2f}" for name, value in summary.avg_scores.items())
    yield (
        f"  {run.usage.tokens} tokens, {run.usage.seconds:.1f} s, by {run.fingerprint.model}, run"
        f" {run.run_id}"
    )
    changes = run.regression_analysis
    yield (
        f"against {changes.baseline}:" if changes.baseline else "no baseline; --save NAME keeps one"
    )
    if changes.baseline:
        yield from change_lines(changes, tone)


def change_lines(changes: Comparison, tone: Tone) -> Iterator[str]:
    """Yield the changes against a baseline as lines."""
    yield from (tone("fail", f"  regression: {text}") for text in changes.regressions)
    yield from (tone("warn", f"  warning: {text}") for text in changes.warnings)
    yield from (tone("pass", f"  better: {text}") for text in changes.improvements)
    if changes.bound is not None and changes.minimum_detectable_drop is not None:
        drop = 100 * changes.minimum_detectable_drop
        yield f"  pass rate: 95 % bound of the change {100 * changes.bound:+.1f} points"
        yield f"  a drop of {drop:.1f} points would be found four times out of five"
    if not changes.regressions:
        yield "  no regression"
