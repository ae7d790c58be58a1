"""The chart of an insight's score."""

from __future__ import annotations

from collections.abc import Sequence

from transom.formats.charts import (
    BOTTOM,
    LEFT,
    MOST_MARKS,
    RIGHT,
    TOP,
    Axis,
    Chart,
    ChartLine,
    ChartPoint,
    scale,
    short_number,
)


def score_chart(scores: Sequence[tuple[str, int]]) -> Chart | None:
    """Return the score of an insight after each outcome; None if there is nothing to compare."""
    if not scores:
        return None
    numbers = [0.0, *(float(score) for _, score in scores)]
    place_x = scale([0.0, float(len(scores))], LEFT, RIGHT)
    place_y = scale(numbers, BOTTOM, TOP)
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
        Axis("for minus against", short_number(min(numbers)), short_number(max(numbers))),
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
