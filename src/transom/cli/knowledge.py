"""Opens the workspace's playbook and memory for the commands that use them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from transom.cli.command_session import Session
from transom.cli.output import counted
from transom.learning import Playbook
from transom.learning.curator import elsewhere
from transom.memory import Embedder, SqliteMemory, find_embedder
from transom.store.sqlite_errors import is_read_only
from transom.telemetry import Telemetry


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
async def traced_memory(
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
