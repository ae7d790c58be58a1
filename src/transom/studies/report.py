"""Reports of a study: pictures, one HTML file, text, and tables for other programs."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transom.studies.advice import RULE, Insight
from transom.studies.rehearsal import missing_units
from transom.studies.result import Best, StudyResult
from transom.studies.runner import StudyRunner
from transom.studies.study import Study
from transom.studies.trials import Trial, failures, front, ranked

_TEMPLATES = Path(__file__).with_name("templates")
_GREEN, _YELLOW, _RED, _GREY = "#2a7f62", "#c9a227", "#b3412f", "#9aa0a6"
_FEWEST = 8  # feasible trials below which importances say nothing
_MOST_SHOWN = 8  # insights in the text


def importances(study: Study, trials: Iterable[Trial]) -> dict[str, float]:
    """Return each variable's share in what makes designs good (PED-ANOVA), largest first; {} for
    few designs.
    """
    feasible = [trial for trial in trials if trial.feasible]
    if len(feasible) < _FEWEST or len(study.variables) < 2:
        return {}
    import optuna  # noqa: PLC0415  slow

    solved = optuna.create_study(direction=study.objectives[0].direction)
    ranges = {name: variable.distribution() for name, variable in study.variables.items()}
    for trial in feasible:
        imported = optuna.trial.create_trial(
            params=dict(trial.params), distributions=ranges, value=trial.values[0]
        )
        solved.add_trial(imported)
    evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=0.25)
    try:
        return dict(optuna.importance.get_param_importances(solved, evaluator=evaluator))
    except (RuntimeError, ValueError):  # all values are equal, and the like
        return {}


def write_pictures(
    runner: StudyRunner, trials: Sequence[Trial], folder: Path, best: Best | None = None
) -> dict[str, Path]:
    """Write the study's pictures as PNG; a solver's method `draw(axes, values)` draws the best
    design.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  slow

    study, drawn = runner.study, dict[str, Any]()
    if best and (of_solver := getattr(runner.solver, "draw", None)):
        drawn["best"] = lambda axes: of_solver(axes, study.values(best.params))
    drawn["history"] = lambda axes: _draw_history(axes, study, trials)
    if failed := {name.replace("_", " "): number for name, number in failures(trials).items()}:
        drawn["failures"] = lambda axes: _draw_bars(
            axes, failed, _RED, f"failed solves of {study.study}"
        )
    if weights := {
        study.variables[key].title or key: weight
        for key, weight in importances(study, trials).items()
    }:
        drawn["importances"] = lambda axes: _draw_bars(
            axes, weights, _GREEN, f"importance for {study.objectives[0].name}"
        )
    if len(study.objectives) > 1:
        drawn["front"] = lambda axes: _draw_front(axes, study, trials)
    folder.mkdir(parents=True, exist_ok=True)
    written = {name: folder / f"{name}.png" for name in drawn}
    for name, draw in drawn.items():
        figure = Figure(figsize=(4.2, 4.2) if name == "best" else (6.4, 3.4), layout="constrained")
        axes = figure.subplots()
        draw(axes)
        if name == "best" and best:
            axes.set_title(f"best design: trial {best.number}")
        # equal studies give equal bytes
        figure.savefig(written[name], dpi=110, metadata={"Software": None})
    return written


def _draw_history(axes: Any, study: Study, trials: Sequence[Trial]) -> None:
    solved = [trial for trial in trials if trial.kind == "solved"]
    for feasible, colour, label in (
        (True, _GREEN, "feasible"),
        (False, _YELLOW, "violates a constraint"),
    ):
        if points := [
            (point.number, point.values[0]) for point in solved if point.feasible == feasible
        ]:
            axes.scatter(*zip(*points, strict=True), s=16, color=colour, label=label, zorder=3)
    best, steps = list[Trial](), list[tuple[int, float]]()
    for trial in (point for point in solved if point.feasible):
        best = ranked(study, [trial, *best])[:1]
        steps.append((trial.number, best[0].values[0]))
    if steps:
        axes.step(*zip(*steps, strict=True), where="post", color=_GREEN, lw=1, label="best so far")
    for kind, colour in (("failed", _RED), ("rejected", _GREY)):
        if numbers := [trial.number for trial in trials if trial.kind == kind]:
            bottom = axes.get_ylim()[0]
            axes.plot(
                numbers,
                [bottom] * len(numbers),
                "|",
                color=colour,
                ms=10,
                label=f"{kind} ({len(numbers)})",
            )
    axes.set(xlabel="trial", ylabel=study.objectives[0].name)
    axes.legend(fontsize=7, frameon=False)


def _draw_bars(axes: Any, bars: Mapping[str, float], colour: str, label: str) -> None:
    axes.barh(list(bars), list(bars.values()), color=colour, height=0.6)
    axes.set_ylim(max(3, len(bars)) - 0.5, -0.5)
    if all(isinstance(value, int) for value in bars.values()):
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel=label)


def _draw_front(axes: Any, study: Study, trials: Sequence[Trial]) -> None:
    for designs, colour, label in (
        (ranked(study, trials), _GREY, "feasible"),
        (front(study, trials), _GREEN, "front"),
    ):
        if designs:
            axes.scatter(
                *zip(*(trial.values[:2] for trial in designs), strict=True),
                s=18,
                color=colour,
                label=label,
            )
    axes.set(xlabel=study.objectives[0].name, ylabel=study.objectives[1].name)
    axes.legend(fontsize=7, frameon=False)


def report_html(
    study: Study,
    trials: Sequence[Trial],
    result: StudyResult,
    insights: Sequence[Insight],
    pictures: Mapping[str, Path],
) -> str:
    """Return the report as one self-contained HTML file."""
    import jinja2  # noqa: PLC0415  slow

    loader = jinja2.FileSystemLoader(_TEMPLATES)
    template = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True).get_template(
        "study_report.html"
    )
    images = {
        name: base64.b64encode(path.read_bytes()).decode("ascii") for name, path in pictures.items()
    }
    rows = insight_rows(result, insights, trials)
    return template.render(study=study, result=result, trials=trials, images=images, insights=rows)


def insight_rows(
    result: StudyResult, insights: Iterable[Insight], trials: Sequence[Trial]
) -> list[dict[str, Any]]:
    """Return the scope's insights: effects in this study, and outcomes of predictions in all
    studies.
    """
    spent = [trial.seconds for trial in trials if trial.kind == "failed"]
    cost = sum(spent) / len(spent) if spent else 0.0
    rows = []
    for insight in insights:
        rejected = sum(insight.id in trial.rules for trial in trials)
        audited = [trial for trial in trials if insight.id in trial.audit]
        right = sum(trial.kind == "failed" for trial in audited)
        began = [trial for trial in trials if trial.source == insight.id]
        did = (
            [f"rejected {rejected} designs, about {rejected * cost:.0f} s of solves"]
            if rejected
            else []
        )
        did += [f"{right} of {len(audited)} tried all the same failed"] if audited else []
        did += [
            f"trial {trial.number}: {'feasible' if trial.feasible else 'not feasible'}"
            for trial in began
        ]
        standing = (
            f"{insight.helpful} right, {insight.harmful} wrong"
            if insight.helpful + insight.harmful
            else "untried"
        )
        row = {
            "id": insight.id,
            "kind": insight.kind,
            "content": insight.content,
            "did": "; ".join(did),
            "standing": standing,
        }
        rows.append(row | {"mark": insight.mark, "acted": insight.id in result.insights.used})
    return sorted(rows, key=lambda row: (not row["acted"], row["id"]))


def report_text(
    study: Study, result: StudyResult, insights: Sequence[Insight], trials: Sequence[Trial]
) -> str:
    """Return the report for a terminal."""
    totals = result.trials
    lines = [
        f"{study.study}: {totals.complete} solved, {totals.failed} failed,"
        f" {totals.pruned} rejected, by {result.solver}"
    ]
    ranked_by = f" by {study.objectives[0].name}" if len(study.objectives) > 1 else ""
    lines += (
        [f"  best{ranked_by}: {best_line(study, result.best)}"]
        if result.best
        else ["  no feasible design was found"]
    )
    if result.front:
        numbers = ", ".join(str(item.number) for item in result.front)
        lines.append(f"  front: {len(result.front)} designs, trials {numbers}")
    lines += [f"  not a best: trial {item.number} {item.reason}" for item in result.exploited]
    lines += [f"  trial {item.number} {item.reason}" for item in result.drifting]
    if result.failures:
        classes = ", ".join(
            f"{name.replace('_', ' ')} {number}" for name, number in result.failures.items()
        )
        lines.append(f"  failures: {classes}")
        if problem := missing_units(study):
            lines.append(f"  {problem}")
    if totals.failed and not totals.complete:
        last = next(trial for trial in reversed(trials) if trial.kind == "failed")
        lines.append(f"  every solve failed, the last, trial {last.number}, so: {last.reason}")
    if weights := importances(study, trials):
        lines.append(
            "  importances: "
            + ", ".join(f"{name} {weight:.0%}" for name, weight in weights.items())
        )
    rows = [
        row for row in insight_rows(result, insights, trials) if row["acted"] or row["kind"] == RULE
    ]
    lines += ["  insights:"] if rows else []
    lines += [
        f"    {row['id']} {row['content']}" + (f" ({row['did']})" * bool(row["did"]))
        for row in rows[:_MOST_SHOWN]
    ]
    if result.advice:
        lines += [
            f"  {item.failure.replace('_', ' ')}: {item.text}"
            for item in result.advice.explanations
        ]
        lines += [f"  refused: {item}" for item in result.advice.refused]
    return "\n".join(lines) + "\n"


def best_line(study: Study, best: Best) -> str:
    """Return the best design in one line."""
    values = ", ".join(
        f"{item.name} {value:.5g}"
        for item, value in zip(study.objectives, best.values, strict=True)
    )
    parts = ((name, best.params[name]) for name in study.variables)
    design = ", ".join(
        f"{name} {item:.4g}" if isinstance(item, float) else f"{name} {item}"
        for name, item in parts
    )
    note = {True: ", verified with finer settings", False: ", not verified", None: ""}[
        best.verified
    ]
    return f"{values} (trial {best.number}: {design}){note}"


def rows_of(study: Study, trials: Iterable[Trial]) -> list[dict[str, Any]]:
    """Return trials as rows with their provenance: study, digest of the problem, solver,
    rejecting rules.
    """
    origin, names = (
        {"study": study.study, "scope": study.scope, "problem": study.problem},
        study.objectives,
    )
    rows = [
        (trial, {of.name: value for of, value in zip(names, trial.values, strict=False)})
        for trial in trials
    ]
    return [
        origin | trial.model_dump(exclude={"values"}) | {"objectives": values}
        for trial, values in rows
    ]


def as_jsonl(study: Study, trials: Iterable[Trial]) -> str:
    """Return trials as JSON lines."""
    return "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows_of(study, trials))


def as_csv(study: Study, trials: Iterable[Trial]) -> str:
    """Return trials as a table: a column for each variable, output, objective and constraint."""
    flat = [_flat(row) for row in rows_of(study, trials)]
    columns = list(dict.fromkeys(name for row in flat for name in row))
    table = io.StringIO()
    writer = csv.DictWriter(table, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return table.getvalue()


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{key}": item for key, item in value.items()}
        else:
            flat[name] = " ".join(value) if isinstance(value, tuple | list) else value
    return flat
