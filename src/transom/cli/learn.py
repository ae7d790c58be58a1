"""`transom session`, `learning`, `cache` and `memory`.

All commands open a workspace's playbook and memory here.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from transom.canonical import Json
from transom.cli.app import group
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.output import counted, sections, style, table
from transom.errors import InputError
from transom.learning import Insight, Playbook
from transom.learning.caching import cache_stats
from transom.learning.curator import elsewhere, learning_report
from transom.learning.exchange import insight_json
from transom.learning.session import close_session, open_session, session_of
from transom.learning.session import note as note_in
from transom.memory import Direction, Embedder, MemoryEntry, SqliteMemory, find_embedder
from transom.store.sqlite_errors import is_read_only
from transom.telemetry import Telemetry

Task = Annotated[str, typer.Argument(metavar="TASK", help="Kind of work, e.g. debug_error.")]
Objective = Annotated[str, typer.Option(metavar="TEXT", help="Goal of the session.")]
Study = Annotated[str | None, typer.Option(metavar="NAME", help="Study the session is about.")]
Insights = Annotated[
    list[str] | None,
    typer.Option(
        "--used", metavar="ID", help="Insight that you relied on; repeat the option for several."
    ),
]
Good = Annotated[bool, typer.Option("--good/--bad", help="Outcome of the session.")]


@dataclass(frozen=True)
class PlaybookScope:
    """The people, domains and studies whose insights a command sees."""

    domain: Annotated[
        str, typer.Option(metavar="NAME", help="Use the insights of this domain.")
    ] = ""
    study: Annotated[str, typer.Option(metavar="NAME", help="Use the insights of this study.")] = ""
    user: Annotated[str, typer.Option(metavar="NAME", help="Use this person's own insights.")] = ""


Access = Literal["read", "search", "write", "make"]
"""The way in which a command uses the workspace's playbook or memory.

    read    only read it; the workspace may be read-only
    search  the same, and embed texts that have no vector yet if the workspace can be written
    write   change what is there
    make    write, and make the workspace if there is none
"""


def _reads_only(session: Session, access: Access, embedder: Embedder | None) -> bool:
    """Return whether a command writes nothing, not even vectors."""
    if access != "search":
        return access == "read"
    database = session.known_store
    if embedder is None or database is None:
        return True
    return isinstance(database, Path) and is_read_only(database)


@contextmanager
def opened(
    session: Session,
    scope: PlaybookScope | None = None,
    access: Access = "read",
    *,
    hints: bool = False,
) -> Iterator[Playbook]:
    """Open the workspace's playbook; without a workspace it is empty, unless `access` makes one.

    Args:
        hints: tell the person about insights that are seen with other options only.
    """
    scope = scope or PlaybookScope()
    path = session.workspace.store_location if access == "make" else session.known_store
    # Without embeddings, insights are found by their words.
    embedder = find_embedder(session.settings.paths.embeddings)
    read_only = _reads_only(session, access, embedder)
    with Playbook(
        path,
        domain=scope.domain,
        study=scope.study,
        user=scope.user,
        embedder=embedder,
        read_only=read_only,
        redact=session.redact,
        full_sync=session.full_sync,
    ) as playbook:
        # Texts of a session without embeddings get their vectors now.
        if not read_only:
            playbook.embed_missing()
        yield playbook
        # A JSON document has to be the whole output.
        if hints and session.format == "text":
            _mention_hidden(session, playbook)


def _mention_hidden(session: Session, playbook: Playbook) -> None:
    """Print how many insights other options would show."""
    for place, number in elsewhere(playbook).items():
        level, _, name = place.partition("/")
        session.progress(f"{counted(number, 'more insight')} in {place}: add --{level} {name}")


def document_of(insight: Insight) -> dict[str, Any]:
    """Return an insight as JSON."""
    figures = {
        "net_score": insight.net_score,
        "confidence": insight.confidence,
        "lower_bound": round(insight.lower_bound, 6),
    }
    return {**insight_json(insight), **figures}


def print_list(session: Session, insights: list[Insight]) -> int:
    """Print some insights; returns the exit code."""
    items = [document_of(insight) for insight in insights]
    lines = table(rows_of(insights), head=("ID", "SCORE", "NET", "INSIGHT"))
    document = {"schema": "transom.playbook/1", "items": items}
    return session.show(document, *lines or ["no insights"])


def rows_of(insights: Iterable[Insight]) -> list[tuple[str, ...]]:
    """Return insights as rows of a table."""
    rows: list[tuple[str, ...]] = []
    for insight in insights:
        score = f"{insight.lower_bound:.2f}"
        rows.append((insight.id, score, f"{insight.net_score:+d}", insight.content))
    return rows


def print_insight(session: Session, insight: Insight, change: str) -> int:
    """Print what was done to an insight; returns the exit code."""
    line = f"{insight.id}: {change}; net score {insight.net_score:+d}"
    return session.show(document_of(insight), f"{line}, score {insight.lower_bound:.2f}")


session_app = group("session")
learning_app = group("learning")
cache_app = group("cache")

Actions = Annotated[
    list[str] | None,
    typer.Option(
        "--action", metavar="TEXT", help="Action that you took; repeat the option for several."
    ),
]
Errors = Annotated[
    list[str] | None,
    typer.Option(
        "--error", metavar="TEXT", help="Error that you met; repeat the option for several."
    ),
]


@command(
    session_app, "open", example='transom session open debug_error --objective "the solver stops"'
)
def open_(session: Session, task: Task, objective: Objective = "", study: Study = None) -> int:
    """Open a session. Close it with `transom session close` and its outcome."""
    state = open_session(session.workspace.root, task, objective, study)
    return session.show({"session_id": state.session_id}, f"session {state.session_id} is open")


@command(
    session_app, "note", example='transom session note --action "halved the step" --used str-00001'
)
def note(
    session: Session, actions: Actions = None, errors: Errors = None, insights: Insights = None
) -> int:
    """Record what you did, what went wrong, and which insights you relied on."""
    session.known_workspace.check_writable()
    # An unknown id is refused now, not when the session is closed.
    with opened(session) as playbook:
        ids = [playbook.require(key).id for key in insights or ()]
    state = note_in(session.workspace_root, actions=actions or (), errors=errors or (), used=ids)
    return session.show({"session_id": state.session_id}, "noted")


@command(session_app, "show", example="transom session show")
def show(session: Session) -> int:
    """Show the open session as a model sees it."""
    state = session_of(session.workspace_root)
    document = {"session_id": state.session_id, **state.exposed.model_dump(mode="json")}
    lines = state.get_llm_context().splitlines() or ["no session is open"]
    return session.show(document, *lines)


@command(session_app, "context", example="transom session context")
def context(session: Session, scope: PlaybookScope) -> int:
    """Print the session and the insights that a model would see."""
    state = session_of(session.workspace_root)
    exposed = state.exposed
    with opened(session, scope, "search") as playbook:
        insights = playbook.get_context_for_task(
            exposed.task_type or "", 15, query=exposed.current_objective
        )
    text = "\n\n".join(filter(None, (state.get_llm_context(), insights)))
    document = {"session_id": state.session_id, "context": text}
    lines = text.splitlines() or ["nothing yet"]
    return session.show(document, *lines)


@command(session_app, "close", example="transom session close --good")
def close(session: Session, scope: PlaybookScope, good: Good) -> int:
    """Close the session. Its outcome counts for the insights relied on; errors become insights."""
    with opened(session, scope, "make") as playbook:
        summary = close_session(session.workspace_root, playbook, good=good)
    updated = ", ".join(summary["items_updated"]) or "none"
    added = counted(summary["insights_added"], "insight")
    line = f"session {summary['session_id']} is closed; counted for: {updated}; {added} added"
    return session.show(summary, line)


@command(learning_app, "report", example="transom learning report")
def report(session: Session, scope: PlaybookScope) -> int:
    """Report what was learned, and what you should review."""
    with opened(session, scope, hints=True) as playbook:
        summary = learning_report(playbook)
    stats = dict(summary.stats)
    document: dict[str, Any] = {
        "schema": "transom.learning-report/1",
        "generated_at": summary.created_at,
    }
    lines = [
        f"{counted(stats['total_items'], 'insight')}, {stats['untested']} untested,"
        f" {stats['retired']} retired"
    ]
    for title, insights in (
        ("top_performers", summary.best),
        ("worst_performers", summary.worst),
    ):
        document[title] = [document_of(insight) for insight in insights]
        if insights:
            lines.append(style(title.replace("_", " "), "bold"))
            lines += table(rows_of(insights), indent="  ")
    questions: list[dict[str, Any]] = []
    for question in summary.questions:
        questions.append(question.to_json())
        lines.append(f"{question.insight.id}: {question.text}")
    document |= {"playbook_stats": stats, "questions": questions}
    return session.show(document, *lines)


@command(cache_app, "stats", example="transom cache stats")
def stats(session: Session) -> int:
    """Report how much of the newest calls came from vendors' caches."""
    figures = cache_stats(session.workspace_root)
    return session.show(figures, *sections(figures))


memory_app = group("memory")

_CONDITION = re.compile(r"(?P<name>[^=<>]+)(?P<sign>>=|<=|=)(?P<value>.*)", re.DOTALL)

Id = Annotated[str, typer.Argument(metavar="ID", help="Id of an entry.")]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="Text to remember.")]
Key = Annotated[
    str | None,
    typer.Option("--id", metavar="ID", help="Id of the entry; replaces an entry with the same id."),
]
Metadata = Annotated[
    list[str] | None,
    typer.Option("--meta", metavar="NAME=VALUE", help="Metadata of the text; repeat the option."),
]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="NAME=VALUE",
        help="Find only entries with this metadata; also NAME>=VALUE, NAME<=VALUE.",
    ),
]
Query = Annotated[
    str, typer.Argument(metavar="WORDS", help='Words to search for; "" for the newest.')
]
Limit = Annotated[int, typer.Option("-n", min=1, metavar="N", help="Maximum number of results.")]
Relationship = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the relation, e.g. depends_on.")
]
Hops = Annotated[
    int, typer.Option(min=0, metavar="N", help="Maximum number of steps; 0: unlimited.")
]
Name = Annotated[
    str | None, typer.Option(metavar="NAME", help="Follow only relations with this name.")
]
Way = Annotated[Direction, typer.Option(help="Direction: along the relations, against, or both.")]


@asynccontextmanager
async def opened_memory(session: Session, access: Access = "make") -> AsyncIterator[SqliteMemory]:
    """Open the workspace's memory; without a workspace it is empty, unless `access` makes one."""
    path = session.workspace.store_location if access == "make" else session.known_store
    embedder = find_embedder(session.settings.paths.embeddings)
    read_only = _reads_only(session, access, embedder)
    async with SqliteMemory.open(
        path,
        embedder,
        read_only=read_only,
        redact=session.redact,
        full_sync=session.full_sync,
    ) as memory:
        if access == "search" and not read_only:
            await memory.embed_missing()
        yield memory


@asynccontextmanager
async def _traced_memory(
    session: Session, command_name: str, access: Access = "make"
) -> AsyncIterator[SqliteMemory]:
    """Open the workspace's memory for a command; its operations are spans of a trace of its own.

    A workspace that is missing, or can only be read, is left as it is.
    """
    async with opened_memory(session, access) as memory:
        folder = session.workspace_root
        if access != "make" and not os.access(folder, os.W_OK):
            yield memory
            return
        workspace = session.workspace
        trace = Telemetry.open(workspace.traces, None, session.redact, workspace.exporter)
        with trace, trace.span(f"memory {command_name}"):
            yield memory


@asynccontextmanager
async def learning(
    session: Session, scope: PlaybookScope
) -> AsyncIterator[tuple[Playbook, SqliteMemory]]:
    """Open the workspace's playbook and memory, for a product that learns."""
    with opened(session, scope, "make") as playbook:
        async with opened_memory(session) as memory:
            yield playbook, memory


@command(
    memory_app, "add", example='transom memory add "checkout waits for the gateway" --id checkout'
)
async def add(session: Session, text: Text, key: Key = None, metadata: Metadata = None) -> int:
    """Remember a text, and print its id."""
    data = parse_metadata(metadata or ())
    async with _traced_memory(session, "add") as memory:
        stored = await memory.store(text, data, key=key)
        entry = await memory.get(stored)
    # Another process may have removed it meanwhile.
    return _show_entries(session, [(stored, entry)] if entry else [])


@command(memory_app, "search", example='transom memory search "slow gateway"')
async def search(session: Session, query: Query, limit: Limit = 5, where: Filters = None) -> int:
    """Find entries by words, and by meaning with embeddings."""
    filters = parse_filters(where or ())
    async with _traced_memory(session, "search", "search") as memory:
        matches = await memory.retrieve(query, limit, filters)
    rows: list[tuple[str, MemoryEntry]] = []
    for match in matches:
        rows.append((f"{match.score:.2f}  {match.entry.id}", match.entry))
    return _show_entries(session, rows)


@command(memory_app, "relate", example="transom memory relate checkout depends_on gateway")
async def relate(session: Session, source: Id, relationship: Relationship, target: Id) -> int:
    """Record how two entries are related."""
    async with _traced_memory(session, "relate") as memory:
        await memory.relate(source, target, relationship)
        entry = await memory.get(source)
    return _show_entries(session, [(f"{source} {relationship} {target}", entry)] if entry else [])


@command(
    memory_app,
    "neighbours",
    example="transom memory neighbours gateway --name depends_on --direction in --hops 0",
)
async def neighbours(
    session: Session, key: Id, hops: Hops = 1, name: Name = None, direction: Way = "both"
) -> int:
    """List the entries connected with an entry. To list all that depend on X: --name depends_on
    --direction in --hops 0.
    """
    async with _traced_memory(session, "neighbours", "read") as memory:
        entries = await memory.neighbours(key, hops or None, relationship=name, direction=direction)
    rows: list[tuple[str, MemoryEntry]] = []
    for neighbour in entries:
        relation = neighbour.via
        head = f"{neighbour.hops}  {relation.source} {relation.name} {relation.target}"
        rows.append((head, neighbour.entry))
    return _show_entries(session, rows)


def parse_metadata(texts: Sequence[str]) -> dict[str, Json]:
    """Return the metadata of `--meta NAME=VALUE`."""
    values: dict[str, Json] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise InputError(f"{text!r} is no metadata", place="--meta", hint="write NAME=VALUE")
        values[name.strip()] = _value(value)
    return values


def parse_filters(texts: Sequence[str]) -> dict[str, Json]:
    """Return the filters of `--where`: several values of one name are alternatives."""
    ranges: dict[str, dict[str, Json]] = {}
    values: dict[str, list[Json]] = {}
    for text in texts:
        match = _CONDITION.fullmatch(text)
        if match is None:
            hint = "write NAME=VALUE, NAME>=VALUE or NAME<=VALUE"
            raise InputError(f"{text!r} is no condition", place="--where", hint=hint)
        name, sign, value = match["name"], match["sign"], _value(match["value"])
        # Several values of one name are alternatives; two ends of a range belong together.
        if sign == "=":
            values.setdefault(name, []).append(value)
        else:
            ranges.setdefault(name, {})["from" if sign == ">=" else "to"] = value
    if both := sorted(ranges.keys() & values.keys()):
        problem = f"{both[0]} has a value and a range"
        raise InputError(problem, place="--where", hint="give one of them")
    return {**values, **ranges}


def _value(text: str) -> Json:
    """Return a number, true, false or null as such; other text as it is."""
    try:
        value: Json = json.loads(text)
    except ValueError:
        return text
    # Filters compare single values alone.
    return text if isinstance(value, dict | list) else value


def _show_entries(session: Session, rows: Sequence[tuple[str, MemoryEntry]]) -> int:
    """Print entries of the memory, each behind its head; returns the exit code."""
    entries: list[dict[str, Any]] = []
    lines: list[str] = []
    for head, entry in rows:
        entries.append(entry.to_json())
        # A text may have several lines; the list has one for each entry.
        lines.append(f"{head}  {' '.join(entry.content.split())}")
    document = {"schema": "transom.memory/1", "entries": entries}
    return session.show(document, *lines or ["nothing found"])
