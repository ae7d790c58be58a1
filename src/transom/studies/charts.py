"""Charts of a study for its page: its course, its front, its designs, and its failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from transom.formats.charts import (
    BOTTOM,
    LEFT,
    MOST_MARKS,
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
from transom.formats.graphs import Graph, GraphEdge, GraphNode, graph_of
from transom.studies.advice import StudyInsight
from transom.studies.study import Study, Variable
from transom.studies.trials import StudyTrial, failures, front, ranked

_LEGEND = (
    ("best", "best"),
    ("feasible", "feasible"),
    ("violating", "violates a constraint"),
)


@dataclass(frozen=True)
class StudyCharts:
    """The charts of a study; those that say nothing are None."""

    history: Chart | None
    front: Chart | None
    parallel: Chart | None
    failures: tuple[Bar, ...]
    slices: tuple[Chart, ...] = ()
    importances: tuple[Bar, ...] = ()
    graph: Graph | None = None


def study_charts(
    study: Study,
    trials: Sequence[StudyTrial],
    weights: Mapping[str, float] | None = None,
    insights: Sequence[StudyInsight] = (),
) -> StudyCharts:
    """Return the charts of a study.

    Args:
        study: the study.
        trials: its trials, by number.
        weights: each variable's share in what makes designs good, 0 to 1.
        insights: the insights of its scope.
    """
    solved = [trial for trial in trials if trial.kind == "solved"]
    shares: dict[str, int] = {}
    for name, weight in (weights or {}).items():
        shares[study.variables[name].title or name] = round(100 * weight)
    return StudyCharts(
        history=_history(study, trials, solved) if solved else None,
        front=_front(study, trials) if len(study.objectives) > 1 and solved else None,
        parallel=_parallel(study, solved) if solved else None,
        failures=bars_of(failures(trials)),
        slices=_slices(study, solved) if solved else (),
        importances=bars_of(shares),
        graph=_insights_graph(insights, trials),
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
            style = _style_of(trial)
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
        style = "best" if trial in best else _style_of(trial)
        lines.append(ChartLine(points, style, f"trial {trial.number}: {trial.values[0]:.5g}"))
    title = f"Designs and their {objective}"
    return Chart(title, "parallel", tuple(axes), (), tuple(lines), _LEGEND, note)


def _slices(study: Study, solved: Sequence[StudyTrial]) -> tuple[Chart, ...]:
    """Return the first objective over each variable, a chart each."""
    objective = study.objectives[0].name
    values = [trial.values[0] for trial in solved]
    place_y = scale(values, BOTTOM, TOP)
    value_axis = Axis(objective, short_number(min(values)), short_number(max(values)))
    # All slices together have as many marks as one chart.
    visible_trials, note = thinned(solved, "trials", MOST_MARKS // max(1, len(study.variables)))
    best = ranked(study, solved)[:1]
    charts: list[Chart] = []
    for name, variable in study.variables.items():
        ends, place_x = _variable_axis(name, variable, LEFT, RIGHT)
        title = variable.title or name
        unit = f" ({variable.unit})" if variable.unit else ""
        marks: list[ChartPoint] = []
        # Good designs come last: later marks are drawn above earlier ones.
        for trial in sorted([*visible_trials, *best], key=lambda trial: trial.feasible):
            style = "best" if trial in best else _style_of(trial)
            value = trial.params.get(name)
            words = short_number(value) if isinstance(value, float) else str(value)
            words = f"trial {trial.number}: {title} {words}, {objective} {trial.values[0]:.5g}"
            marks.append(ChartPoint(place_x(trial), place_y(trial.values[0]), style, words))
        axes = (Axis(f"{title}{unit}", *ends), value_axis)
        charts.append(
            Chart(f"{objective} over {title}", "plane", axes, tuple(marks), (), _LEGEND, note)
        )
    return tuple(charts)


def _style_of(trial: StudyTrial) -> str:
    return "feasible" if trial.feasible else "violating"


def _insights_graph(insights: Sequence[StudyInsight], trials: Sequence[StudyTrial]) -> Graph | None:
    """Return which insights led to which designs; None if none was used."""
    nodes: list[GraphNode] = []
    ends: dict[str, GraphNode] = {}
    edges: list[GraphEdge] = []
    for insight in insights:
        key = insight.id.partition("/")[0]
        rejected = [trial.number for trial in trials if insight.id in trial.rules]
        if rejected:
            numbers = ", ".join(map(str, rejected[:20]))
            end = GraphNode(
                f"rejected {insight.id}",
                f"{len(rejected)} designs rejected",
                "rejected",
                f"rejected without a solve by {insight.id}: trials {numbers}",
            )
            ends[end.key] = end
            edges.append(GraphEdge(insight.id, end.key, "rejected", end.title))
        for trial in trials:
            begins = trial.source == insight.id and trial.kind != "lost"
            if begins or insight.id in trial.audit:
                end = _trial_node(trial)
                ends[end.key] = end
                words = "began" if begins else "would have rejected"
                title = f"{insight.id} {words} trial {trial.number}"
                edges.append(GraphEdge(insight.id, end.key, end.style, title))
        if edges and edges[-1].start == insight.id:
            nodes.append(GraphNode(insight.id, key, "best", insight.content, "insight", key))
    if not nodes:
        return None
    legend = (("best", "insight"), *_LEGEND[1:], ("failed", "failed"), ("rejected", "rejected"))
    columns = (("Insight", nodes), ("Design", [*ends.values()]))
    return graph_of("What insights led to", columns, edges, legend)


def _trial_node(trial: StudyTrial) -> GraphNode:
    """Return the node of a design, with its class and its outcome."""
    style = _style_of(trial) if trial.kind == "solved" else "failed"
    outcome: str = trial.kind
    if trial.values:
        outcome = f"{trial.values[0]:.5g}" + ("" if trial.feasible else ", violates a constraint")
    label = f"trial {trial.number}: {outcome}"
    title = f"{label} {trial.reason}".strip()
    return GraphNode(f"trial {trial.number}", label, style, title)


def _variable_axis(
    name: str, variable: Variable, first: float = BOTTOM, last: float = TOP
) -> tuple[tuple[str, str], Callable[[StudyTrial], float]]:
    """Return what stands at the ends of a variable's axis, and the place of a design on it."""
    if variable.choices:
        choices = [str(choice) for choice in variable.choices]
        place = scale([0.0, float(len(choices) - 1)], first, last)

        def place_choice(trial: StudyTrial) -> float:
            text = str(trial.params.get(name))
            return place(float(choices.index(text)) if text in choices else 0.0)

        return (choices[0], choices[-1]), place_choice
    low, high = variable.low or 0.0, variable.high or 0.0
    within = scale([low, high], first, last)

    def place_number(trial: StudyTrial) -> float:
        return within(float(trial.params.get(name, low)))

    return (short_number(low), short_number(high)), place_number
