"""Graphs as numbers and texts, for templates that draw them as SVG: nodes in columns, and edges
from one column to a later one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from transom.formats.charts import MOST_MARKS, WIDTH, ChartLine

MOST_NODES = 24
"""Nodes of one column; the graph says how many more there are."""
_HEAD = 28.0  # above the first node, for the heads of the columns
_STEP = 24.0  # between the nodes of a column
_LABEL = 30  # characters of a label beside its node
_RADIUS = 5.0


@dataclass(frozen=True)
class GraphNode:
    """A thing that a graph shows.

    Attributes:
        key: its name in the graph.
        label: what it is, in a few words.
        style: the class of its mark.
        title: what a pointer over it is told.
        kind: what it is, e.g. `run`, by which a page finds its address; "" for none.
        name: its name among those of its kind.
    """

    key: str
    label: str
    style: str
    title: str
    kind: str = ""
    name: str = ""


@dataclass(frozen=True)
class GraphEdge:
    """An arrow from one node to another: their keys, its class, and what a pointer is told."""

    start: str
    end: str
    style: str
    title: str


@dataclass(frozen=True)
class PlacedNode:
    """A node with its place, and its label as far as its column has room for it."""

    node: GraphNode
    x: float
    y: float
    label: str


@dataclass(frozen=True)
class Graph:
    """A graph whose nodes have places.

    Attributes:
        heads: the heads of the columns with their places.
        edges: their points are paths, as SVG wants them.
        note: what the graph does not show; "" if it shows everything.
    """

    title: str
    heads: tuple[tuple[float, str], ...]
    nodes: tuple[PlacedNode, ...]
    edges: tuple[ChartLine, ...]
    height: float
    legend: tuple[tuple[str, str], ...] = ()
    note: str = ""


def graph_of(
    title: str,
    columns: Sequence[tuple[str, Sequence[GraphNode]]],
    edges: Iterable[GraphEdge],
    legend: tuple[tuple[str, str], ...] = (),
) -> Graph:
    """Return a graph with each node at its place.

    Args:
        title: what the graph shows.
        columns: the head of each column and its nodes, from left to right.
        edges: edges from a node to one in a later column; those of nodes that are not shown are
            left out.
        legend: classes and what they mean.
    """
    width = WIDTH / len(columns)
    tallest = min(MOST_NODES, max(len(nodes) for _, nodes in columns))
    placed: dict[str, PlacedNode] = {}
    heads: list[tuple[float, str]] = []
    hidden = 0
    for number, (head, nodes) in enumerate(columns):
        x = number * width + _RADIUS + 1
        heads.append((x - _RADIUS, head))
        visible_nodes = nodes[:MOST_NODES]
        hidden += len(nodes) - len(visible_nodes)
        # A short column stands in the middle of a tall one.
        top = _HEAD + (tallest - len(visible_nodes)) * _STEP / 2
        for row, node in enumerate(visible_nodes):
            label = node.label if len(node.label) <= _LABEL else f"{node.label[: _LABEL - 1]}…"
            placed[node.key] = PlacedNode(node, x, top + (row + 0.5) * _STEP, label)
    lines: list[ChartLine] = []
    for edge in edges:
        if edge.start in placed and edge.end in placed:
            path = _path(placed[edge.start], placed[edge.end], width)
            lines.append(ChartLine(path, edge.style, edge.title))
    note = f"{hidden} more are not drawn" if hidden else ""
    height = _HEAD + tallest * _STEP + 4
    drawn = tuple(lines[: MOST_MARKS - len(placed)])
    return Graph(title, tuple(heads), tuple(placed.values()), drawn, height, legend, note)


def _path(start: PlacedNode, end: PlacedNode, width: float) -> str:
    """Return a curve that begins behind the label of a node and ends before another one."""
    x = round(start.x + min(width - 28, 16 + 6.4 * len(start.label)), 1)
    last = round(end.x - _RADIUS - 2, 1)
    middle = round((x + last) / 2, 1)
    return f"M{x} {start.y}C{middle} {start.y} {middle} {end.y} {last} {end.y}"
