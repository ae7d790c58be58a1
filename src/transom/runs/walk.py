"""Walking through many steps: a table of nodes and routes, a map over items, and a person who helps
a flow on.

A flow that can turn back, such as draft, validate, repair, is data: nodes are functions of a state,
routes are pure functions from a state to the next node's name. The state holds counters and
artifacts. There is nothing to restore after a kill: a resumed walk begins at the start, and what
the nodes' stages have journaled makes that cheap.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from transom.canonical import digest
from transom.errors import InputError, Paused, RunError, TransomError, install_hint
from transom.runs.artifact import Artifact, write_file
from transom.runs.checkpoints import checkpoints
from transom.runs.event_log import RunHost

S = TypeVar("S")
T = TypeVar("T")

Node = Callable[[S], Awaitable[S]]
_LONGEST = 120  # characters of a stage's last name: a file system takes 255 bytes


# -- a table ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Route(Generic[S]):
    """Where a node leads: to one of `targets`, by a pure function of the state after it."""

    targets: tuple[str, ...]
    choose: Callable[[S], str]

    def next(self, state: S) -> str:
        """Return the next node; RunError if it is not a declared one."""
        name = self.choose(state)
        if name not in self.targets:
            raise RunError(
                f"a route leads to {name!r}, which it does not declare",
                hint=f"it may: {self.targets}",
            )
        return name


def to(name: str) -> Route[Any]:
    """Return a route that always leads to one node."""
    return Route((name,), lambda _: name)


@dataclass(frozen=True)
class FlowTable(Generic[S]):
    """A flow as data: async functions of a state by name, and where each leads.

    A node without a route ends the walk, which takes at most `most_steps`.
    """

    name: str
    start: str
    nodes: Mapping[str, Node[S]]
    routes: Mapping[str, Route[S]]
    most_steps: int

    def __post_init__(self) -> None:
        names = {
            self.start,
            *self.routes,
            *(target for route in self.routes.values() for target in route.targets),
        }
        unknown = sorted(names - set(self.nodes))
        if unknown:
            raise RunError(
                f"table {self.name} names nodes that it does not have: {', '.join(unknown)}"
            )


async def walk(run: RunHost, table: FlowTable[S], state: S) -> S:
    """Walk a table from its start to one of its ends, within its bound."""
    name = table.start
    for _ in range(table.most_steps):
        state = await table.nodes[name](state)
        if name not in table.routes:
            return state
        name = table.routes[name].next(state)
    raise RunError(f"{table.name} did not end within {table.most_steps} steps", place=run.id)


def as_langgraph(table: FlowTable[S], state_type: type[S]) -> Any:
    """Return the table as a compiled LangGraph graph, for applications built on LangGraph.

    It needs the extra `langgraph`.

    Invoke it with the fields of the state, a dataclass, as a mapping; a node's update holds every
    field.
    """
    try:
        from langgraph.graph import END, StateGraph  # noqa: PLC0415  an extra, and slow to import
    except ImportError as error:
        raise RunError("LangGraph is not installed", hint=install_hint("langgraph")) from error
    if not is_dataclass(state_type):
        raise RunError(
            f"the state {state_type.__name__} is no dataclass", hint="declare its keys as fields"
        )

    async def step(node: Node[S], state: S) -> dict[str, Any]:
        after = await node(state)
        return {field.name: getattr(after, field.name) for field in fields(state_type)}

    graph: Any = StateGraph(state_type)
    for name, node in table.nodes.items():
        graph.add_node(name, partial(step, node))
        route = table.routes.get(name)
        if route is None:
            graph.add_edge(name, END)
        else:
            graph.add_conditional_edges(name, route.next, list(route.targets))
    graph.set_entry_point(table.start)
    return graph.compile()


# -- a map -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MapResult(Generic[T]):
    """What one item came to: exactly one of artifact, error and question is set.

    `question.reason` says what it waits for, and its hint names the command.
    """

    key: str
    artifact: Artifact[T] | None = None
    error: TransomError | None = None
    question: Paused | None = None


def folder_of(key: str) -> str:
    """Return the folder of an item, below the map's: readable, and different for different keys."""
    # The percent signs keep different keys different.
    safe = quote(key, safe=" ()+,;=@[]") or "%"
    # Files that begin with a dot are hidden, and `.` and `..` are folders that exist.
    if safe.startswith("."):
        safe = f"%2E{safe[1:]}"
    return safe if len(safe) <= _LONGEST else f"{safe[: _LONGEST - 17]}-{digest(key)[:16]}"


# -- a person in the loop of a flow ----------------------------------------------------------------


async def hand_over(
    run: RunHost, after: int, files: Sequence[Path], findings: Sequence[str] = ()
) -> None:
    """Record that a flow cannot go on without a person, and what is wrong."""
    names = [path.relative_to(run.folder).as_posix() for path in files]
    await run.append("handed", {"after": after, "files": names, "findings": [*findings]})


async def give_help(run: RunHost, guidance: str = "", *, reset: bool = False) -> None:
    """Record what a person says to a flow that cannot go on; see `RunState.helps`."""
    if run.state.handed is None:
        raise InputError(
            f"run {run.id} waits for nobody's help", hint=f"see: transom runs show {run.id}"
        )
    fields = {"stage": "", "fingerprint": "", "edited": "", "after": run.state.handed["after"]}
    await run.append(
        "decided", {**fields, "answer": guidance, "by": "", "reason": "", "reset": reset}
    )


def take_edit(run: RunHost, file: Path) -> Path:
    """Put a person's version in the place of the file that a flow gave up on; they agree in
    their ending.
    """
    names: list[str] = (run.state.handed or {}).get("files", [])
    fitting = [name for name in names if Path(name).suffix == file.suffix]
    if not fitting:
        hint = f"it waits for: {', '.join(names)}"
        if not names:
            hint = "no reply could be read, so there is no file to replace; answer in words"
        raise InputError("is no file that this run waits for", place=str(file), hint=hint)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=str(file)) from error
    return write_file(run.folder / fitting[0], data)


def rewind(run: RunHost, checkpoint_id: str) -> list[str]:
    """Go back to a checkpoint; the stages whose files are deleted, so that they are made and
    asked for again.
    """
    points = checkpoints(run.records())
    checkpoint = next((point for point in points if point.id == checkpoint_id), None)
    if checkpoint is None:
        raise InputError(
            f"run {run.id} has no checkpoint {checkpoint_id}",
            hint=f"see: transom runs show {run.id}",
        )
    later = list(
        dict.fromkeys(point.stage for point in points if point.position > checkpoint.position)
    )
    for stage in later:
        if file := run.state.stage(stage).file:
            (run.folder / file).unlink(missing_ok=True)
    return later
