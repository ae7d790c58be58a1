"""Reports of a study: pictures, one HTML file, text, and tables for other programs."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transom.studies.advice import Insight
from transom.studies.result import Best, StudyResult
from transom.studies.study import Study
from transom.studies.trials import Trial, Wanted, failures

_TEMPLATES = Path(__file__).with_name("templates")
_COLOURS = {"solved": "#2a7f62", "violates": "#c9a227", "failed": "#b3412f", "rejected": "#9aa0a6"}
_FEWEST = 8  # feasible trials below which importances say nothing


def importances(study: Study, trials: Iterable[Trial]) -> dict[str, float]:
    """Share of each variable in what sets good designs apart (PED-ANOVA), most important first; empty for few."""
    feasible = [trial for trial in trials if trial.feasible]
    if len(feasible) < _FEWEST or len(study.variables) < 2:
        return {}
    import optuna  # noqa: PLC0415  slow

    kept = optuna.create_study(direction=study.objectives[0].direction)
    ranges = {name: one.distribution() for name, one in study.variables.items()}
    for trial in feasible:
        made = optuna.trial.create_trial(params=dict(trial.params), distributions=ranges, value=trial.values[0])
        kept.add_trial(made)
    evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=0.25)
    try:
        return dict(optuna.importance.get_param_importances(kept, evaluator=evaluator))
    except (RuntimeError, ValueError):  # all values are equal, and the like
        return {}


def write_pictures(
    study: Study, trials: Sequence[Trial], folder: Path, best: Best | None = None, solver: object = None
) -> list[Path]:
    """Write the study's pictures as PNG: history, failures, importances, the front, and the best design.

    The last is drawn by the solver, where it has a method `draw(axes, values)`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, Any] = {"history": _draw_history}
    if failures(trials):
        drawn["failures"] = _draw_failures
    if importances(study, trials):
        drawn["importances"] = _draw_importances
    if len(study.objectives) > 1:
        drawn["front"] = _draw_front
    written = []
    for name, draw in drawn.items():
        figure = _figure(6.4, 3.4)
        draw(figure.subplots(), study, trials)
        written.append(_save(figure, folder / f"{name}.png"))
    if best and hasattr(solver, "draw"):
        figure = _figure(4.2, 4.2)
        axes = figure.subplots()
        solver.draw(axes, study.values(best.params))
        axes.set_title(f"best design: trial {best.number}")
        written.append(_save(figure, folder / "best.png"))
    return written


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure  # noqa: PLC0415  slow

    return Figure(figsize=(width, height), layout="constrained")


def _save(figure: Any, path: Path) -> Path:
    # No date, no version: equal studies give equal bytes.
    figure.savefig(path, dpi=110, metadata={"Software": None})
    return path


def _draw_history(axes: Any, study: Study, trials: Sequence[Trial]) -> None:
    wanted = Wanted.of(study)
    best: list[Trial] = []
    steps: list[tuple[int, float]] = []
    groups: dict[str, list[tuple[int, float]]] = {"solved": [], "violates": []}
    for trial in trials:
        if trial.kind == "solved":
            groups["solved" if trial.feasible else "violates"].append((trial.number, trial.values[0]))
        if trial.feasible:
            best = wanted.ranked([trial, *best])[:1]
            steps.append((trial.number, best[0].values[0]))
    for name, points in groups.items():
        if points:
            label = "feasible" if name == "solved" else "violates a constraint"
            axes.scatter(*zip(*points, strict=True), s=16, color=_COLOURS[name], label=label, zorder=3)
    if steps:
        axes.step(*zip(*steps, strict=True), where="post", color=_COLOURS["solved"], lw=1, label="best so far")
    for kind in ("failed", "rejected"):
        numbers = [trial.number for trial in trials if trial.kind == kind]
        if numbers:
            at = axes.get_ylim()[0]
            axes.plot(numbers, [at] * len(numbers), "|", color=_COLOURS[kind], ms=10, label=f"{kind} ({len(numbers)})")
    axes.set(xlabel="trial", ylabel=study.objectives[0].name)
    axes.legend(fontsize=7, frameon=False)


def _draw_failures(axes: Any, study: Study, trials: Sequence[Trial]) -> None:
    found = failures(trials)
    axes.barh([name.replace("_", " ") for name in found], list(found.values()), color=_COLOURS["failed"])
    axes.invert_yaxis()
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel=f"failed solves of {study.study}")


def _draw_importances(axes: Any, study: Study, trials: Sequence[Trial]) -> None:
    found = importances(study, trials)
    names = [study.variables[name].title or name for name in found]
    axes.barh(names, list(found.values()), color=_COLOURS["solved"])
    axes.invert_yaxis()
    axes.set(xlabel=f"importance for {study.objectives[0].name}")


def _draw_front(axes: Any, study: Study, trials: Sequence[Trial]) -> None:
    front = {trial.number for trial in Wanted.of(study).front(trials)}
    for inside, colour, label in ((False, _COLOURS["rejected"], "feasible"), (True, _COLOURS["solved"], "front")):
        points = [trial.values[:2] for trial in trials if trial.feasible and (trial.number in front) == inside]
        if points:
            axes.scatter(*zip(*points, strict=True), s=18, color=colour, label=label)
    axes.set(xlabel=study.objectives[0].name, ylabel=study.objectives[1].name)
    axes.legend(fontsize=7, frameon=False)


def report_html(
    study: Study, trials: Sequence[Trial], result: StudyResult, insights: Sequence[Insight], pictures: Sequence[Path]
) -> str:
    """The report as one HTML file that needs no other."""
    import jinja2  # noqa: PLC0415  slow

    loader = jinja2.FileSystemLoader(_TEMPLATES)
    template = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True).get_template("study_report.html")
    first = sorted(pictures, key=lambda path: path.stem != "best")
    images = {path.stem: base64.b64encode(path.read_bytes()).decode("ascii") for path in first}
    return template.render(
        study=study,
        result=result,
        trials=trials,
        images=images,
        insights=insight_rows(result, insights, trials),
        importances=importances(study, trials),
    )


def insight_rows(result: StudyResult, insights: Iterable[Insight], trials: Iterable[Trial]) -> list[dict[str, Any]]:
    """The insights of the study's scope: what each did here, and how its predictions came out in all studies."""
    trials = list(trials)
    spent = [trial.seconds for trial in trials if trial.kind == "failed"]
    cost = sum(spent) / len(spent) if spent else 0.0
    rows = []
    for one in insights:
        rejected = sum(one.id in trial.rules for trial in trials)
        audited = [trial for trial in trials if one.id in trial.audit]
        right = sum(trial.kind == "failed" for trial in audited)
        began = [trial for trial in trials if trial.source == one.id]
        did = [f"rejected {rejected} designs, about {rejected * cost:.0f} s of solves"] if rejected else []
        did += [f"{right} of {len(audited)} tried all the same failed"] if audited else []
        did += [f"trial {trial.number}: {'feasible' if trial.feasible else 'not feasible'}" for trial in began]
        standing = f"{one.helpful} right, {one.harmful} wrong" if one.helpful + one.harmful else "untried"
        row = {"id": one.id, "kind": one.kind, "content": one.content, "did": "; ".join(did), "standing": standing}
        rows.append(row | {"mark": one.mark, "acted": one.id in result.insights.used})
    return sorted(rows, key=lambda row: (not row["acted"], row["id"]))


def report_text(study: Study, result: StudyResult, insights: Sequence[Insight], trials: Sequence[Trial]) -> str:
    """The report for a terminal."""
    made = result.trials
    lines = [f"{study.study}: {made.complete} solved, {made.failed} failed, {made.pruned} rejected, by {result.solver}"]
    by = f" by {study.objectives[0].name}" if len(study.objectives) > 1 else ""
    lines += [f"  best{by}: {best_line(study, result.best)}"] if result.best else ["  no feasible design was found"]
    if result.front:
        lines.append(
            f"  front: {len(result.front)} designs, trials {', '.join(str(one.number) for one in result.front)}"
        )
    for one in result.exploited:
        lines.append(f"  not a best: trial {one.number} {one.reason}")
    if result.failures:
        classes = ", ".join(f"{name.replace('_', ' ')} {number}" for name, number in result.failures.items())
        lines.append(f"  failures: {classes}")
    if weights := importances(study, trials):
        lines.append("  importances: " + ", ".join(f"{name} {weight:.0%}" for name, weight in weights.items()))
    rows = insight_rows(result, insights, trials)
    shown = [row for row in rows if row["acted"]] + [row for row in rows if not row["acted"] and row["kind"] == "rule"]
    if shown:
        lines.append("  insights:")
        lines += [f"    {row['id']} {row['content']}" + (f" ({row['did']})" if row["did"] else "") for row in shown[:8]]
    if result.advice:
        lines += [f"  {one.failure.replace('_', ' ')}: {one.text}" for one in result.advice.explanations]
        lines += [f"  refused: {one}" for one in result.advice.refused]
    return "\n".join(lines) + "\n"


def best_line(study: Study, best: Best) -> str:
    """The best design in one line."""
    values = ", ".join(f"{one.name} {value:.5g}" for one, value in zip(study.objectives, best.values, strict=True))
    design = ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in best.params.items()
    )
    note = {True: ", verified with finer settings", False: ", not verified", None: ""}[best.verified]
    return f"{values} (trial {best.number}: {design}){note}"


def rows_of(study: Study, trials: Iterable[Trial]) -> list[dict[str, Any]]:
    """Trials as rows with their provenance: the study, the digest of its problem, who solved, what rejected."""
    origin = {"study": study.study, "scope": study.scope, "problem": study.problem}
    return [origin | {"number": one.number, "params": dict(one.params)} | one.to_record() for one in trials]


def as_jsonl(study: Study, trials: Iterable[Trial]) -> str:
    """Trials as JSON lines."""
    return "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows_of(study, trials))


def as_csv(study: Study, trials: Iterable[Trial]) -> str:
    """Trials as a table: a column for each variable, output, objective and constraint."""
    flat = [_flat(row, study) for row in rows_of(study, trials)]
    columns = list(dict.fromkeys(name for row in flat for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return out.getvalue()


def _flat(row: Mapping[str, Any], study: Study) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{key}": one for key, one in value.items()}
        elif name == "values":
            flat |= {f"objective.{one.name}": number for one, number in zip(study.objectives, value, strict=False)}
        else:
            flat[name] = " ".join(value) if isinstance(value, tuple | list) else value
    return flat
