"""A table of nodes and routes, and the loop that walks it.

A flow that can turn back, such as draft, validate, repair, is data: nodes are functions of a state, routes are pure
functions from a state to the next node's name. The state holds counters and artifacts. There is nothing to restore
after a kill: a resumed walk begins at the start, and what the nodes' stages have journaled makes that cheap.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Generic, TypeVar

from transom.errors import RunError, install_hint
from transom.runs.host import Host

S = TypeVar("S")

Node = Callable[[S], Awaitable[S]]


@dataclass(frozen=True)
class Route(Generic[S]):
    """Where a node leads.

    Attributes:
        targets: all nodes that `choose` may name.
        choose: pure; the state after the node -> the next node.
    """

    targets: tuple[str, ...]
    choose: Callable[[S], str]

    def next(self, state: S) -> str:
        """The next node.

        Raises:
            RunError: the route names a node that it did not declare.
        """
        name = self.choose(state)
        if name not in self.targets:
            raise RunError(f"a route leads to {name!r}, which it does not declare", hint=f"it may: {self.targets}")
        return name


def to(name: str) -> Route[Any]:
    """The route that always leads to one node."""
    return Route((name,), lambda _: name)


@dataclass(frozen=True)
class Table(Generic[S]):
    """A flow as data.

    Attributes:
        name: what it is called in the journal.
        start: the first node.
        nodes: name -> async function of the state. A node without a route ends the walk.
        routes: name of a node -> where it leads.
        most_steps: bound on the nodes of one walk.
    """

    name: str
    start: str
    nodes: Mapping[str, Node[S]]
    routes: Mapping[str, Route[S]]
    most_steps: int

    def __post_init__(self) -> None:
        named = {self.start, *self.routes, *(target for route in self.routes.values() for target in route.targets)}
        unknown = sorted(named - set(self.nodes))
        if unknown:
            raise RunError(f"table {self.name} names nodes that it does not have: {', '.join(unknown)}")

    @property
    def ends(self) -> tuple[str, ...]:
        """The nodes at which a walk may end."""
        return tuple(name for name in self.nodes if name not in self.routes)


async def walk(run: Host, table: Table[S], state: S) -> S:
    """Walk a table from its start to one of its ends.

    Raises:
        RunError: the walk does not end within the table's bound, or the run was begun with nodes that are gone.
    """
    await _hold_to_nodes(run, table.name, sorted(table.nodes))
    name = table.start
    for _ in range(table.most_steps):
        state = await table.nodes[name](state)
        if name not in table.routes:
            return state
        name = table.routes[name].next(state)
    raise RunError(f"{table.name} did not end within {table.most_steps} steps", where=run.id)


async def _hold_to_nodes(run: Host, table: str, nodes: list[str]) -> None:
    """Refuse a walk whose table has lost a node since the run began: it would silently go another way.

    Raises:
        RunError: a node was renamed or removed.
    """
    begun = run.state.nodes.get(table, [])
    gone = sorted(set(begun) - set(nodes))
    if gone:
        hint = "finish it with the version of transom that began it, or start afresh in another --workspace"
        what = f"this run was begun by a flow with a step {', '.join(gone)}, which this version does not have"
        raise RunError(what, where=run.id, hint=hint)
    if begun != nodes:
        await run.append("nodes", {"table": table, "nodes": nodes})


def as_langgraph(table: Table[S], state_type: type[S]) -> Any:
    """The same table as a compiled LangGraph graph, for applications that live there.

    Invoke it with the state's fields as a mapping; a node's update holds every field. The extra `langgraph` must be
    installed; the walk itself never needs it.

    Args:
        table: nodes and routes.
        state_type: the dataclass that the table's nodes take and give.

    Raises:
        RunError: LangGraph is not installed, or the state is no dataclass.
    """
    try:
        from langgraph.graph import END, StateGraph  # noqa: PLC0415  an extra, and slow to import
    except ImportError as error:
        raise RunError("LangGraph is not installed", hint=install_hint("langgraph")) from error
    if not is_dataclass(state_type):
        raise RunError(f"the state {state_type.__name__} is no dataclass", hint="declare its keys as fields")
    graph: Any = StateGraph(state_type)
    for name, node in table.nodes.items():
        graph.add_node(name, _updating(node))
        route = table.routes.get(name)
        if route is None:
            graph.add_edge(name, END)
        else:
            graph.add_conditional_edges(name, route.next, list(route.targets))
    graph.set_entry_point(table.start)
    return graph.compile()


def _updating(node: Node[S]) -> Callable[[S], Awaitable[dict[str, Any]]]:
    async def update(state: S) -> dict[str, Any]:
        after: Any = await node(state)
        return {field.name: getattr(after, field.name) for field in fields(after)}

    return update
