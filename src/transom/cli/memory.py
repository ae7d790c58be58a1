"""`transom memory`: texts that are found again by words, meaning and relations."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from transom.canonical import Json
from transom.cli.app import group
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.cli.knowledge import traced_memory
from transom.errors import InputError
from transom.memory import Direction, MemoryEntry

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


@command(
    memory_app, "add", example='transom memory add "checkout waits for the gateway" --id checkout'
)
async def add(session: Session, text: Text, key: Key = None, metadata: Metadata = None) -> int:
    """Remember a text, and print its id."""
    data = parse_metadata(metadata or ())
    async with traced_memory(session, "add") as memory:
        stored = await memory.store(text, data, key=key)
        entry = await memory.get(stored)
    # Another process may have removed it meanwhile.
    return _show_entries(session, [(stored, entry)] if entry else [])


@command(memory_app, "search", example='transom memory search "slow gateway"')
async def search(session: Session, query: Query, limit: Limit = 5, where: Filters = None) -> int:
    """Find entries by words, and by meaning with embeddings."""
    filters = parse_filters(where or ())
    async with traced_memory(session, "search", "search") as memory:
        matches = await memory.retrieve(query, limit, filters)
    rows: list[tuple[str, MemoryEntry]] = []
    for match in matches:
        rows.append((f"{match.score:.2f}  {match.entry.id}", match.entry))
    return _show_entries(session, rows)


@command(memory_app, "relate", example="transom memory relate checkout depends_on gateway")
async def relate(session: Session, source: Id, relationship: Relationship, target: Id) -> int:
    """Record how two entries are related."""
    async with traced_memory(session, "relate") as memory:
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
    async with traced_memory(session, "neighbours", "read") as memory:
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
