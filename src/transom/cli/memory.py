"""`transom memory`: what is remembered, and how it is connected."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

import typer

from transom.canonical import Json
from transom.cli.command import command
from transom.cli.session import Session
from transom.cli.tree import group
from transom.errors import InputError
from transom.memory import MemoryEntry, SqliteMemory, find_embedder

memory_app = group("memory")

Pairs = Annotated[list[str] | None, typer.Option("--meta", metavar="NAME=VALUE", help="May be given several times.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="An entry's id.")]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="What is to be remembered.")]
Key = Annotated[str | None, typer.Option("--id", metavar="ID", help="Its id; one of that id is replaced.")]
Query = Annotated[str, typer.Argument(metavar="WORDS", help='What it is about; "" for the newest.')]
Limit = Annotated[int, typer.Option("-n", min=1, metavar="N", help="At most so many.")]
Relationship = Annotated[str, typer.Argument(metavar="NAME", help="E.g. depends_on.")]


@asynccontextmanager
async def opened(session: Session, *, making: bool = True) -> AsyncIterator[SqliteMemory]:
    """The workspace's memory; an empty one where there is no workspace yet, unless it is to be made."""
    path = session.workspace.database if making else session.known_database
    embedder = find_embedder(session.settings.paths.embeddings)
    async with SqliteMemory.open(path, embedder) as memory:
        yield memory


@command(memory_app, "add", example='transom memory add "checkout waits for the gateway" --id checkout --meta team=pay')
async def add(session: Session, text: Text, key: Key = None, meta: Pairs = None) -> int:
    """Remember a text; prints its id."""
    async with opened(session) as memory:
        stored = await memory.store(text, _pairs(meta), key=key)
        entry = await memory.get(stored)
    return _report(session, [(stored, entry)] if entry else [])


@command(memory_app, "search", example='transom memory search "slow gateway" --meta team=pay')
async def search(session: Session, query: Query, meta: Pairs = None, limit: Limit = 5) -> int:
    """Find entries by words, and by meaning with embeddings."""
    async with opened(session, making=False) as memory:
        await memory.embed_missing()
        found = await memory.retrieve(query, limit, _pairs(meta))
    return _report(session, [(f"{one.score:.2f}  {one.entry.id}", one.entry) for one in found])


@command(memory_app, "relate", example="transom memory relate checkout depends_on gateway")
async def relate(session: Session, source: Id, relationship: Relationship, target: Id) -> int:
    """Say how two entries are related."""
    async with opened(session) as memory:
        await memory.relate(source, target, relationship)
        entry = await memory.get(source)
    return _report(session, [(f"{source} {relationship} {target}", entry)] if entry else [])


@command(memory_app, "neighbours", example="transom memory neighbours gateway --name depends_on --direction in --all")
async def neighbours(
    session: Session,
    key: Id,
    hops: Annotated[int, typer.Option(min=1, metavar="N", help="Steps at most.")] = 1,
    everything: Annotated[bool, typer.Option("--all", help="As many steps as it takes.")] = False,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Along relations of this name only.")] = None,
    direction: Annotated[Literal["out", "in", "both"], typer.Option(help="Along them, against, or both.")] = "both",
) -> int:
    """List what is connected with an entry. What depends on X: --name depends_on --direction in --all."""
    async with opened(session, making=False) as memory:
        found = await memory.neighbours(key, None if everything else hops, relationship=name, direction=direction)
    return _report(
        session, [(f"{one.hops}  {one.via.source} {one.via.name} {one.via.target}", one.entry) for one in found]
    )


def _report(session: Session, found: Sequence[tuple[str, MemoryEntry]]) -> int:
    document = {"schema": "transom.memory/1", "entries": [entry.to_json() for _, entry in found]}
    lines = [f"{head}  {' '.join(entry.content.split())}" for head, entry in found]
    return session.report(document, *lines or ["nothing found"])


def _pairs(given: Sequence[str] | None) -> dict[str, Json]:
    pairs: dict[str, Any] = dict(one.partition("=")[::2] for one in given or ())
    if "" in pairs or any("=" not in one for one in given or ()):
        raise InputError("not NAME=VALUE", where="--meta", hint="write --meta feature=F1")
    return pairs
