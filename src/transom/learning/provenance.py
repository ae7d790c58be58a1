"""The graph of an insight: its sources and its outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from transom.formats.graphs import Graph, GraphEdge, GraphNode, graph_of
from transom.learning.insight import Insight, InsightSource
from transom.learning.ledger import PlaybookEvent

_LEGEND = (
    ("dominated", "source"),
    ("feasible", "insight"),
    ("best", "outcomes for it"),
    ("failed", "outcomes against it"),
)


def provenance_graph(
    insight: Insight, events: Iterable[PlaybookEvent], merged: Iterable[Insight] = ()
) -> Graph | None:
    """Return the graph of an insight; None if neither a source nor an outcome is known.

    Args:
        insight: the insight.
        events: its events.
        merged: insights that were merged into it.
    """
    sources: dict[str, GraphNode] = {}
    for source in insight.sources:
        node = _node_of(source, "from", "dominated", _words_of(source))
        sources.setdefault(node.key, node)
    for other in merged:
        title = f"merged into it: {other.content}"
        node = GraphNode(f"from {other.id}", other.id, "dominated", title, "insight", other.id)
        sources[node.key] = node
    outcomes = _outcomes(events)
    if not sources and not outcomes:
        return None
    itself = GraphNode(insight.id, insight.id, "feasible", insight.content)
    edges = [GraphEdge(key, insight.id, "", node.title) for key, node in sources.items()]
    for node in outcomes:
        edges.append(GraphEdge(insight.id, node.key, node.style, node.title))
    columns = (
        ("Sources", [*sources.values()]),
        ("Insight", [itself]),
        ("Outcomes", outcomes),
    )
    return graph_of("Provenance", columns, edges, _LEGEND)


def _outcomes(events: Iterable[PlaybookEvent]) -> list[GraphNode]:
    """Return a node for each run, study or person that brought outcomes."""
    sources: dict[str, InsightSource] = {}
    totals: dict[str, Counter[bool]] = {}
    for event in events:
        if event.kind not in ("feedback", "withdrawn"):
            continue
        source = InsightSource.from_json(event.data.get("source") or {})
        key = source.run or source.study or source.by
        sources.setdefault(key, source)
        # An outcome that was taken back no longer counts.
        change = 1 if event.kind == "feedback" else -1
        totals.setdefault(key, Counter())[bool(event.data["supports"])] += change
    nodes: list[GraphNode] = []
    for key, source in sources.items():
        count = totals[key]
        if not count[True] and not count[False]:
            continue
        style = "best" if count[True] >= count[False] else "failed"
        words = f"{count[True]} for, {count[False]} against"
        node = _node_of(source, "to", style, f"{_words_of(source)}: {words} it")
        nodes.append(GraphNode(node.key, words, style, node.title, node.kind, node.name))
    return nodes


def _node_of(source: InsightSource, side: str, style: str, title: str) -> GraphNode:
    words = _words_of(source)
    key = f"{side} {words}"
    if source.run:
        # The end of an id tells runs of one day apart.
        label = f"run {source.run.rpartition('-')[2]} {source.stage}"
        return GraphNode(key, label, style, title, "run", source.run)
    if source.study:
        return GraphNode(key, words, style, title, "study", source.study)
    return GraphNode(key, words, style, title)


def _words_of(source: InsightSource) -> str:
    """Return a source in a few words, e.g. `study beam, trial 7`."""
    words: list[str] = []
    if source.study:
        words.append(f"study {source.study}")
    if source.trial is not None:
        words.append(f"trial {source.trial}")
    if source.stage:
        words.append(source.stage)
    if source.run:
        words.append(f"run {source.run}")
    return ", ".join(words) or source.by or "unknown"
