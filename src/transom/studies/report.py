"""Reports of a study: pictures, one HTML file, text, and tables for other programs."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transom.studies.advice import RULE, StudyInsight
from transom.studies.rehearsal import missing_units
from transom.studies.result import Best, StudyResult
from transom.studies.study import Study
from transom.studies.surrogate import prediction_error
from transom.studies.trials import StudyTrial

_TEMPLATES = Path(__file__).with_name("templates")
_MOST_SHOWN = 8  # insights in the text


def report_html(
    study: Study,
    trials: Sequence[StudyTrial],
    result: StudyResult,
    insights: Sequence[StudyInsight],
    pictures: Mapping[str, Path],
) -> str:
    """Return the report as one self-contained HTML file."""
    import jinja2  # noqa: PLC0415  slow

    loader = jinja2.FileSystemLoader(_TEMPLATES)
    template = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True).get_template(
        "study_report.html"
    )
    images = {}
    for name, path in pictures.items():
        images[name] = base64.b64encode(path.read_bytes()).decode("ascii")
    rows = insight_rows(result, insights, trials)
    return template.render(
        study=study,
        result=result,
        trials=trials,
        images=images,
        insights=rows,
        surrogate=prediction_error(trials),
    )


def insight_rows(
    result: StudyResult, insights: Iterable[StudyInsight], trials: Sequence[StudyTrial]
) -> list[dict[str, Any]]:
    """Return the scope's insights: effects in this study, and outcomes of predictions in all
    studies.
    """
    # What a failed solve cost here is the guess for those that a rule has saved.
    spent = []
    for trial in trials:
        if trial.kind == "failed":
            spent.append(trial.seconds)
    cost = sum(spent) / len(spent) if spent else 0.0
    rows = []
    for insight in insights:
        rejected = sum(insight.id in trial.rules for trial in trials)
        audited = []
        for trial in trials:
            if insight.id in trial.audit:
                audited.append(trial)
        right = sum(trial.kind == "failed" for trial in audited)
        began = []
        for trial in trials:
            if trial.source == insight.id and trial.kind != "lost":
                began.append(trial)
        did = (
            [f"rejected {rejected} designs, about {rejected * cost:.0f} s of solves"]
            if rejected
            else []
        )
        did += [f"{right} of {len(audited)} tried all the same failed"] if audited else []
        for trial in began:
            did.append(f"trial {trial.number}: {'feasible' if trial.feasible else 'not feasible'}")
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
    study: Study,
    result: StudyResult,
    insights: Sequence[StudyInsight],
    trials: Sequence[StudyTrial],
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
    lines += _surrogate_lines(trials)
    if result.failures:
        classes = ", ".join(
            f"{name.replace('_', ' ')} {number}" for name, number in result.failures.items()
        )
        lines.append(f"  failures: {classes}")
        if problem := missing_units(study):
            lines.append(f"  {problem}")
    # Without any result, the reason of the last failure is what a person needs first.
    if totals.failed and not totals.complete:
        last = next(trial for trial in reversed(trials) if trial.kind == "failed")
        lines.append(f"  every solve failed, the last, trial {last.number}, so: {last.reason}")
    from transom.studies.pictures import importances  # noqa: PLC0415  slow: Optuna

    if weights := importances(study, trials):
        lines.append(
            "  importances: "
            + ", ".join(f"{name} {weight:.0%}" for name, weight in weights.items())
        )
    rows = []
    for row in insight_rows(result, insights, trials):
        if row["acted"] or row["kind"] == RULE:
            rows.append(row)
    lines += ["  insights:"] if rows else []
    for row in rows[:_MOST_SHOWN]:
        effect = f" ({row['did']})" if row["did"] else ""
        lines.append(f"    {row['id']} {row['content']}{effect}")
    if result.advice:
        for item in result.advice.explanations:
            lines.append(f"  {item.failure.replace('_', ' ')}: {item.text}")
        for refusal in result.advice.refused:
            lines.append(f"  refused: {refusal}")
    return "\n".join(lines) + "\n"


def _surrogate_lines(trials: Sequence[StudyTrial]) -> list[str]:
    """Return a line on the surrogate's predictions, if it made any."""
    off = prediction_error(trials)
    if off is None:
        return []
    picked = f"{off.picked} solved design" + ("s" if off.picked > 1 else "")
    return [
        f"  surrogate: picked {picked}; its predictions were off by {off.error:.1%} of the range"
        f" of the objective in the median, the mean of the earlier solves by {off.mean_error:.1%}"
    ]


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


def rows_of(study: Study, trials: Iterable[StudyTrial]) -> list[dict[str, Any]]:
    """Return trials as rows with their provenance: study, digest of the problem, solver,
    rejecting rules.
    """
    origin, names = (
        {"study": study.study, "scope": study.scope, "problem": study.problem},
        study.objectives,
    )
    rows = []
    for trial in trials:
        rows.append(
            (trial, {of.name: value for of, value in zip(names, trial.values, strict=False)})
        )
    records = []
    for trial, values in rows:
        # When and where it was solved only tells of the machine.
        fields = trial.model_dump(exclude={"values", "span", "worker"})
        records.append(origin | fields | {"objectives": values})
    return records


def as_jsonl(study: Study, trials: Iterable[StudyTrial]) -> str:
    """Return trials as JSON lines."""
    return "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows_of(study, trials))


def as_csv(study: Study, trials: Iterable[StudyTrial]) -> str:
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
