"""Evaluations for people and for build servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from transom.cli.output import counted, style
from transom.formats.junit_report import JUnitCase, Result, junit_report

if TYPE_CHECKING:
    from transom.evals import Evaluation
    from transom.evals.document import Comparison, ScenarioRow

_COLOURS = {"pass": "green", "fail": "red", "error": "red"}
_SHOWN = 3
_RESULTS: dict[str, Result] = {"pass": "passed", "fail": "failed", "error": "error"}


def junit(made: Evaluation) -> bytes:
    """Scenarios, and a failed case for each regression, as build servers read them."""
    cases = [_case(made.suite, row) for row in made.scenarios]
    cases += [
        JUnitCase(f"regression {number}", made.suite, "failed", text)
        for number, text in enumerate(made.regression_analysis.regressions, 1)
    ]
    return junit_report(made.suite, cases, made.fingerprint.model_dump())


def _case(suite: str, row: ScenarioRow) -> JUnitCase:
    epochs = row.details.epochs
    why = list(dict.fromkeys(text for epoch in epochs for text in epoch.why))
    scores = "\n".join(f"{name} {value:.3f}" for name, value in row.scores.items())
    seconds = sum(epoch.used.seconds for epoch in epochs)
    message = (why or [f"{sum(row.passes)} of {row.epochs} epochs passed"])[0]
    return JUnitCase(row.id, suite, _RESULTS[row.status], message, "\n".join(why), seconds, scores)


def evaluation_lines(made: Evaluation) -> Iterator[str]:
    """Scenarios, then the summary, then what changed against the baseline."""
    for row in made.scenarios:
        scores = ", ".join(f"{name} {value:.2f}" for name, value in row.scores.items() if value < 1)
        passed = f"{sum(row.passes)}/{row.epochs}" if row.epochs > 1 else ""
        yield "  ".join(
            part for part in (style(f"{row.status:5}", _COLOURS[row.status]), row.id, passed, scores) if part
        )
        why = list(dict.fromkeys(text for epoch in row.details.epochs for text in epoch.why))
        if row.abstains:
            yield f"         abstains, as foreseen: {row.abstains}"
        yield from (f"         {text}" for text in why[:_SHOWN])
        if len(why) > _SHOWN:
            yield f"         and {len(why) - _SHOWN} more (--format json lists all)"
    summary = made.summary
    k, always = list(summary.pass_k.items())[-1]
    shown = [f"{summary.passed} of {counted(summary.total_scenarios, 'scenario')} passed"]
    shown += [f"{summary.abstained} of them by an abstention that was foreseen"] if summary.abstained else []
    shown += [f"pass rate {summary.pass_rate:.2f}", *([f"pass^{k} {always:.2f}"] if k != "1" else [])]
    yield ""
    yield style(", ".join(shown), "bold")
    yield from (f"  {name} {value:.2f}" for name, value in summary.avg_scores.items())
    yield f"  {made.usage.tokens} tokens, {made.usage.seconds:.1f} s, by {made.fingerprint.model}, run {made.run_id}"
    told = made.regression_analysis
    yield from (
        [f"against {told.baseline}:", *change_lines(told)] if told.baseline else ["no baseline; --save NAME keeps one"]
    )


def change_lines(told: Comparison) -> Iterator[str]:
    """What changed against a baseline."""
    yield from (style(f"  regression: {text}", "red") for text in told.regressions)
    yield from (style(f"  warning: {text}", "yellow") for text in told.warnings)
    yield from (style(f"  better: {text}", "green") for text in told.improvements)
    if told.bound is not None and told.minimum_detectable_drop is not None:
        drop = 100 * told.minimum_detectable_drop
        yield f"  pass rate: 95 % bound of the change {100 * told.bound:+.1f} points"
        yield f"  a drop of {drop:.1f} points would be found four times out of five"
    if not told.regressions:
        yield "  no regression"
