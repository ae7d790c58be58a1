"""Charts of a study, as numbers for the templates that draw them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from transom.studies.study import Study, Variable
from transom.studies.trials import StudyTrial, failures, front, ranked

WIDTH, HEIGHT = 640.0, 240.0
"""The plane of a chart in its own units; the page scales it."""
MOST_MARKS = 1_000
"""Marks of one chart; more are thinned, and the chart says so."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 624.0, 12.0, 204.0


@dataclass(frozen=True)
class ChartPoint:
    """A point of a chart: its place, its class, and what a pointer over it is told."""

    x: float
    y: float
    style: str
    title: str


@dataclass(frozen=True)
class ChartLine:
    """A line of a chart through points, as SVG wants them."""

    points: str
    style: str
    title: str = ""


@dataclass(frozen=True)
class Axis:
    """An axis: its name, and what stands at its ends."""

    name: str
    low: str
    high: str
    x: float = 0.0


@dataclass(frozen=True)
class Chart:
    """A chart.

    Attributes:
        kind: `plane` with an axis along each side, or `parallel` with upright axes.
        note: what the chart does not show; "" if it shows everything.
    """

    title: str
    kind: str
    axes: tuple[Axis, ...]
    marks: tuple[ChartPoint, ...] = ()
    lines: tuple[ChartLine, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Bar:
    """A bar of a chart with its number."""

    name: str
    number: int
    width: float


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
        failures=_bars(failures(trials)),
    )


def _history(study: Study, trials: Sequence[StudyTrial], solved: Sequence[StudyTrial]) -> Chart:
    """Return the first objective by trial, the best so far, and the designs without a value."""
    place_x = _scale([float(trial.number) for trial in trials], _LEFT, _RIGHT)
    values = [trial.values[0] for trial in solved]
    place_y = _scale(values, _BOTTOM, _TOP)
    visible_trials, note = _thinned(trials)
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
            marks.append(ChartPoint(x, _BOTTOM + 10, trial.kind, title))
    objective = study.objectives[0].name
    return Chart(
        title=f"{objective} by trial",
        kind="plane",
        axes=(
            Axis("trial", str(trials[0].number), str(trials[-1].number)),
            Axis(objective, _text(min(values)), _text(max(values))),
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
    place_x, place_y = _scale(first, _LEFT, _RIGHT), _scale(second, _BOTTOM, _TOP)
    visible_trials, note = _thinned(feasible)
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
            Axis(names[0], _text(min(first)), _text(max(first))),
            Axis(names[1], _text(min(second)), _text(max(second))),
        ),
        marks=tuple(marks),
        legend=(("feasible", "not dominated"), ("dominated", "dominated")),
        note=note,
    )


def _parallel(study: Study, solved: Sequence[StudyTrial]) -> Chart:
    """Return each solved design as a line through its variables and its first objective."""
    columns = [*study.variables, ""]
    step = (_RIGHT - _LEFT) / max(1, len(columns) - 1)
    values = [trial.values[0] for trial in solved]
    axes: list[Axis] = []
    places: list[Callable[[StudyTrial], float]] = []
    for number, (name, variable) in enumerate(study.variables.items()):
        ends, place = _variable_axis(name, variable)
        title = variable.title or name
        axes.append(Axis(title, *ends, x=round(_LEFT + number * step, 2)))
        places.append(place)
    objective = study.objectives[0].name
    axes.append(Axis(objective, _text(min(values)), _text(max(values)), x=_RIGHT))
    place_value = _scale(values, _BOTTOM, _TOP)
    places.append(lambda trial: place_value(trial.values[0]))
    visible_trials, note = _thinned(solved)
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
        place = _scale([0.0, float(len(choices) - 1)], _BOTTOM, _TOP)

        def place_choice(trial: StudyTrial) -> float:
            text = str(trial.params.get(name))
            return place(float(choices.index(text)) if text in choices else 0.0)

        return (choices[0], choices[-1]), place_choice
    low, high = variable.low or 0.0, variable.high or 0.0
    within = _scale([low, high], _BOTTOM, _TOP)
    return (_text(low), _text(high)), lambda trial: within(float(trial.params.get(name, low)))


def _bars(numbers: Mapping[str, int]) -> tuple[Bar, ...]:
    greatest = max(numbers.values(), default=1)
    bars: list[Bar] = []
    for name, number in numbers.items():
        bars.append(Bar(name.replace("_", " "), number, round(number / greatest * 240, 2)))
    return tuple(bars)


def _scale(values: Sequence[float], first: float, last: float) -> Callable[[float], float]:
    """Return the place of a value between two ends, the least value at the first one."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    # A value that never changes stands in the middle.
    shift = 0.5 if high == low else 0.0

    def place(value: float) -> float:
        share = (value - low) / span + shift
        return round(first + min(1.0, max(0.0, share)) * (last - first), 2)

    return place


def _thinned(trials: Sequence[StudyTrial]) -> tuple[Sequence[StudyTrial], str]:
    """Return as many trials as a chart shows, and a note on what it leaves out."""
    step = -(-len(trials) // MOST_MARKS)
    if step <= 1:
        return trials, ""
    return trials[::step], f"one in {step} of {len(trials)} trials is drawn"


def _text(value: float) -> str:
    return f"{value:.4g}"


def score_chart(scores: Sequence[tuple[str, int]]) -> Chart | None:
    """Return the score of an insight after each outcome; None if there is nothing to compare."""
    if not scores:
        return None
    numbers = [0.0, *(float(score) for _, score in scores)]
    place_x = _scale([0.0, float(len(scores))], _LEFT, _RIGHT)
    place_y = _scale(numbers, _BOTTOM, _TOP)
    marks: list[ChartPoint] = []
    points = [f"{place_x(0)},{place_y(0)}"]
    for number, (time, score) in enumerate(scores, 1):
        x, y = place_x(number), place_y(score)
        # A score changes at once, so the line has steps.
        points += [f"{x},{place_y(numbers[number - 1])}", f"{x},{y}"]
        style = "feasible" if score >= numbers[number - 1] else "failed"
        marks.append(ChartPoint(x, y, style, f"{time[:16].replace('T', ' ')} UTC: {score:+d}"))
    axes = (
        Axis("outcomes", "0", str(len(scores))),
        Axis("score", _text(min(numbers)), _text(max(numbers))),
    )
    legend = (("feasible", "an outcome for it"), ("failed", "an outcome against it"))
    line = ChartLine(" ".join(points), "best", "score")
    # The newest outcomes are those that a reader asks about.
    note = ""
    if len(marks) > MOST_MARKS:
        note = f"the newest {MOST_MARKS} of {len(marks)} outcomes have a mark"
    return Chart(
        "Score over time", "plane", axes, tuple(marks[-MOST_MARKS:]), (line,), legend, note
    )
