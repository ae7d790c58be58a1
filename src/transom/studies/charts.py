"""Charts of a study for its page: its course, its front, its designs, and its failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from transom.formats.charts import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    Axis,
    Bar,
    Chart,
    ChartLine,
    ChartPoint,
    bars_of,
    scale,
    short_number,
    thinned,
)
from transom.studies.study import Study, Variable
from transom.studies.trials import StudyTrial, failures, front, ranked


@dataclass(frozen=True)
class StudyCharts:
    """The charts of a study; those that say nothing are None."""

    history: Chart | None
    front: Chart | None
    parallel: Chart | None
    failures: tuple[Bar, ...]


def study_charts(study: Study, trials: Sequence[StudyTrial]) -> StudyCharts:
    """Return the charts of a study."""
    solved = [trial for trial in trials if trial.kind == "solved"]
    return StudyCharts(
        history=_history(study, trials, solved) if solved else None,
        front=_front(study, trials) if len(study.objectives) > 1 and solved else None,
        parallel=_parallel(study, solved) if solved else None,
        failures=bars_of(failures(trials)),
    )


def _history(study: Study, trials: Sequence[StudyTrial], solved: Sequence[StudyTrial]) -> Chart:
    """Return the first objective by trial, the best so far, and the designs without a value."""
    place_x = scale([float(trial.number) for trial in trials], LEFT, RIGHT)
    values = [trial.values[0] for trial in solved]
    place_y = scale(values, BOTTOM, TOP)
    visible_trials, note = thinned(trials, "trials")
    marks: list[ChartPoint] = []
    for trial in visible_trials:
        x = place_x(trial.number)
        if trial.kind == "solved":
            style = "feasible" if trial.feasible else "violating"
            title = f"trial {trial.number}: {trial.values[0]:.5g}"
            marks.append(ChartPoint(x, place_y(trial.values[0]), style, title))
        elif trial.kind in ("failed", "rejected"):
            # Designs without a value stand below the axis.
            title = f"trial {trial.number}: {trial.reason or trial.kind}"
            marks.append(ChartPoint(x, BOTTOM + 10, trial.kind, title))
    objective = study.objectives[0].name
    return Chart(
        title=f"{objective} by trial",
        kind="plane",
        axes=(
            Axis("trial", str(trials[0].number), str(trials[-1].number)),
            Axis(objective, short_number(min(values)), short_number(max(values))),
        ),
        marks=tuple(marks),
        lines=_best_so_far(study, solved, place_x, place_y, place_x(trials[-1].number)),
        legend=(
            ("feasible", "feasible"),
            ("violating", "violates a constraint"),
            ("failed", "failed"),
            ("rejected", "rejected"),
        ),
        note=note,
    )


def _best_so_far(
    study: Study,
    solved: Sequence[StudyTrial],
    place_x: Callable[[float], float],
    place_y: Callable[[float], float],
    end: float,
) -> tuple[ChartLine, ...]:
    """Return the steps of the best feasible value."""
    best: list[StudyTrial] = []
    points: list[str] = []
    y = 0.0
    for trial in solved:
        if not trial.feasible:
            continue
        before, best = best, ranked(study, [trial, *best])[:1]
        x = place_x(trial.number)
        # A step: the old value holds up to the trial that improved it.
        if before:
            points.append(f"{x},{y}")
        y = place_y(best[0].values[0])
        points.append(f"{x},{y}")
    if not points:
        return ()
    points.append(f"{end},{y}")
    return (ChartLine(" ".join(points), "best", "best so far"),)


def _front(study: Study, trials: Sequence[StudyTrial]) -> Chart | None:
    """Return the feasible designs by the first two objectives, and those that none dominates."""
    feasible = ranked(study, trials)
    if not feasible:
        return None
    best = {trial.number for trial in front(study, trials)}
    first = [trial.values[0] for trial in feasible]
    second = [trial.values[1] for trial in feasible]
    place_x, place_y = scale(first, LEFT, RIGHT), scale(second, BOTTOM, TOP)
    visible_trials, note = thinned(feasible, "trials")
    marks: list[ChartPoint] = []
    for trial in visible_trials:
        style = "feasible" if trial.number in best else "dominated"
        title = f"trial {trial.number}: {trial.values[0]:.5g}, {trial.values[1]:.5g}"
        marks.append(ChartPoint(place_x(trial.values[0]), place_y(trial.values[1]), style, title))
    names = study.objectives[0].name, study.objectives[1].name
    return Chart(
        title=f"{names[0]} and {names[1]}",
        kind="plane",
        axes=(
            Axis(names[0], short_number(min(first)), short_number(max(first))),
            Axis(names[1], short_number(min(second)), short_number(max(second))),
        ),
        marks=tuple(marks),
        legend=(("feasible", "not dominated"), ("dominated", "dominated")),
        note=note,
    )


def _parallel(study: Study, solved: Sequence[StudyTrial]) -> Chart:
    """Return each solved design as a line through its variables and its first objective."""
    columns = [*study.variables, ""]
    step = (RIGHT - LEFT) / max(1, len(columns) - 1)
    values = [trial.values[0] for trial in solved]
    axes: list[Axis] = []
    places: list[Callable[[StudyTrial], float]] = []
    for number, (name, variable) in enumerate(study.variables.items()):
        ends, place = _variable_axis(name, variable)
        title = variable.title or name
        axes.append(Axis(title, *ends, x=round(LEFT + number * step, 2)))
        places.append(place)
    objective = study.objectives[0].name
    axes.append(Axis(objective, short_number(min(values)), short_number(max(values)), x=RIGHT))
    place_value = scale(values, BOTTOM, TOP)
    places.append(lambda trial: place_value(trial.values[0]))
    visible_trials, note = thinned(solved, "trials")
    lines: list[ChartLine] = []
    # The best design comes last: later lines are drawn above earlier ones.
    best = ranked(study, solved)[:1]
    for trial in sorted(visible_trials, key=lambda trial: (trial in best, trial.feasible)):
        points = " ".join(
            f"{axis.x},{place(trial)}" for axis, place in zip(axes, places, strict=True)
        )
        style = "best" if trial in best else "feasible" if trial.feasible else "violating"
        lines.append(ChartLine(points, style, f"trial {trial.number}: {trial.values[0]:.5g}"))
    legend = (
        ("best", "best"),
        ("feasible", "feasible"),
        ("violating", "violates a constraint"),
    )
    title = f"Designs and their {objective}"
    return Chart(title, "parallel", tuple(axes), (), tuple(lines), legend, note)


def _variable_axis(
    name: str, variable: Variable
) -> tuple[tuple[str, str], Callable[[StudyTrial], float]]:
    """Return what stands at the ends of a variable's axis, and the place of a design on it."""
    if variable.choices:
        choices = [str(choice) for choice in variable.choices]
        place = scale([0.0, float(len(choices) - 1)], BOTTOM, TOP)

        def place_choice(trial: StudyTrial) -> float:
            text = str(trial.params.get(name))
            return place(float(choices.index(text)) if text in choices else 0.0)

        return (choices[0], choices[-1]), place_choice
    low, high = variable.low or 0.0, variable.high or 0.0
    within = scale([low, high], BOTTOM, TOP)

    def place_number(trial: StudyTrial) -> float:
        return within(float(trial.params.get(name, low)))

    return (short_number(low), short_number(high)), place_number
