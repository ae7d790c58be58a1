"""Pictures of a study: Optuna's own plots, its failures, and the best design, as SVG."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import optuna

from transom.studies.opening import stored_violations
from transom.studies.result import Best
from transom.studies.runner import StudyRunner
from transom.studies.study import Study
from transom.studies.trials import StudyTrial, failures, ranked

_FEWEST = 8  # feasible trials below which importances say nothing
_MOST_VARIABLES = 4  # whose pairs a contour plot shows
_RED = "#b3412f"
# Equal studies give equal bytes: no date, and ids that do not vary.
_STYLE: Any = {"svg.hashsalt": "transom", "figure.autolayout": False}


def importances(study: Study, trials: Sequence[StudyTrial]) -> dict[str, float]:
    """Return each variable's share in what makes designs good (PED-ANOVA), largest first; {} for
    few designs, and if all designs are equally good.
    """
    feasible = _feasible(trials)
    if len(feasible) < _FEWEST or len(study.variables) < 2:
        return {}
    # Optuna would give each variable the same share of nothing.
    if len({trial.values[0] for trial in feasible}) < 2:
        return {}
    try:
        return dict(
            optuna.importance.get_param_importances(
                as_optuna(study, feasible, objectives=1), evaluator=_evaluator()
            )
        )
    except (RuntimeError, ValueError):  # too few of these trials have values that it can compare
        return {}


def _feasible(trials: Sequence[StudyTrial]) -> list[StudyTrial]:
    feasible = []
    for trial in trials:
        if trial.feasible:
            feasible.append(trial)
    return feasible


def _evaluator() -> optuna.importance.PedAnovaImportanceEvaluator:
    """Return what measures importances, for the numbers and for their picture."""
    return optuna.importance.PedAnovaImportanceEvaluator(target_quantile=0.25)


def as_optuna(
    study: Study, trials: Sequence[StudyTrial], objectives: int | None = None
) -> optuna.Study:
    """Return a study of Optuna that has the solved trials with their values and constraints.

    Args:
        objectives: how many objectives it has, from the first; default: all.
    """
    directions = [item.direction for item in study.objectives][:objectives]
    verbosity = optuna.logging.get_verbosity()
    # Its creation is no news for a reader of the log.
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    copied = optuna.create_study(directions=directions)
    optuna.logging.set_verbosity(verbosity)
    ranges = {name: variable.distribution() for name, variable in study.variables.items()}
    for trial in trials:
        if trial.kind != "solved":
            continue
        solved = optuna.trial.create_trial(
            params=dict(trial.params),
            distributions=ranges,
            values=trial.values[:objectives],
            constraints=stored_violations(trial),
        )
        copied.add_trial(solved)
    return copied


def write_pictures(
    runner: StudyRunner, trials: Sequence[StudyTrial], folder: Path, best: Best | None = None
) -> dict[str, Path]:
    """Write the study's pictures; a solver's method `draw(axes, values)` draws the best design.

    Returns:
        The name of each picture, and its file.
    """
    import matplotlib as mpl  # noqa: PLC0415  slow

    # Optuna draws with pyplot, which would open windows otherwise.
    mpl.use("agg")
    from matplotlib import pyplot  # noqa: PLC0415  slow

    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    with mpl.rc_context(_STYLE):
        for name, draw in _drawings(runner, trials, best):
            with warnings.catch_warnings():
                # These plots are experimental, and say so each time.
                warnings.simplefilter("ignore")
                try:
                    figure = draw()
                except (ValueError, RuntimeError):  # too few trials, or all values are equal
                    pyplot.close("all")
                    continue
            written[name] = folder / f"{name}.svg"
            figure.savefig(written[name], bbox_inches="tight", metadata={"Date": None})
            pyplot.close("all")
    return written


def _drawings(
    runner: StudyRunner, trials: Sequence[StudyTrial], best: Best | None
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of each picture with a function that draws it and returns its figure."""
    study = runner.study
    if best and (draw_design := getattr(runner.solver, "draw", None)):
        yield "best", lambda: _best_figure(draw_design, study.values(best.params), best.number)
    if failed := {name.replace("_", " "): number for name, number in failures(trials).items()}:
        yield "failures", lambda: _bars_figure(failed, f"failed solves of {study.study}")
    # Most plots show one objective; the first one decides.
    first_objective = as_optuna(study, trials, objectives=1)
    if not first_objective.trials:
        return
    plots = optuna.visualization.matplotlib
    names = list(study.variables)
    objectives = [item.name for item in study.objectives]
    first = objectives[0]
    weights = importances(study, trials)
    # The variables that matter most, where a picture cannot show all pairs of them.
    leading = [*weights, *(name for name in names if name not in weights)][:_MOST_VARIABLES]
    yield (
        "history",
        lambda: _figure(plots.plot_optimization_history(first_objective, target_name=first)),
    )
    if weights:
        yield "importances", lambda: _importances_figure(study, trials, first)
    yield (
        "slice",
        lambda: _figure(plots.plot_slice(first_objective, params=names, target_name=first)),
    )
    if len(names) > 1:
        yield (
            "parallel-coordinate",
            lambda: _figure(
                plots.plot_parallel_coordinate(first_objective, params=names, target_name=first)
            ),
        )
        # Optuna interpolates between the trials by scipy, which it does not require.
        if find_spec("scipy") is not None:
            yield (
                "contour",
                lambda: _figure(
                    plots.plot_contour(first_objective, params=leading, target_name=first)
                ),
            )
    all_objectives = as_optuna(study, trials)
    if len(objectives) in (2, 3):
        yield (
            "front",
            lambda: _figure(plots.plot_pareto_front(all_objectives, target_names=objectives)),
        )
    feasible = ranked(study, trials)
    if len(study.objectives) > 1 and feasible:
        point = _reference_point(study, feasible)
        yield (
            "hypervolume",
            lambda: _figure(plots.plot_hypervolume_history(all_objectives, reference_point=point)),
        )


def _importances_figure(study: Study, trials: Sequence[StudyTrial], objective: str) -> Any:
    """Return Optuna's plot of what makes designs good, of the feasible ones alone."""
    first_objective = as_optuna(study, _feasible(trials), objectives=1)
    return _figure(
        optuna.visualization.matplotlib.plot_param_importances(
            first_objective, evaluator=_evaluator(), target_name=objective
        )
    )


def _reference_point(study: Study, feasible: Sequence[StudyTrial]) -> list[float]:
    """Return the worst value of each objective, from which the hypervolume is measured."""
    worst = []
    for number, objective in enumerate(study.objectives):
        values = [trial.values[number] for trial in feasible]
        worst.append(min(values) if objective.direction == "maximize" else max(values))
    return worst


def _figure(axes: Any) -> Any:
    """Return the figure of the axes that a plot of Optuna returns: one, or an array of them."""
    flat = axes.flat[0] if hasattr(axes, "flat") else axes
    return flat.figure


def _best_figure(
    draw_design: Callable[[Any, Mapping[str, Any]], None], values: Mapping[str, Any], number: int
) -> Any:
    from matplotlib.figure import Figure  # noqa: PLC0415  slow

    figure = Figure(figsize=(4.2, 4.2))
    axes = figure.subplots()
    draw_design(axes, values)
    axes.set_title(f"best design: trial {number}")
    return figure


def _bars_figure(bars: Mapping[str, int], label: str) -> Any:
    from matplotlib.figure import Figure  # noqa: PLC0415  slow

    figure = Figure(figsize=(6.4, 3.4))
    axes: Any = figure.subplots()
    axes.barh(list(bars), list(bars.values()), color=_RED, height=0.6)
    axes.set_ylim(max(3, len(bars)) - 0.5, -0.5)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel=label)
    return figure
