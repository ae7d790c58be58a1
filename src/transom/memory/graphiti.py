"""A memory in Graphiti, a knowledge graph that is reached as an MCP server.

No package ships the server; whoever runs it gives its address. Each entry is an episode of a group:
its id is the episode's name, metadata and egress stand in its description. The server extracts
facts from episodes with a model of its own, and a search finds facts.

Source: tools of the Graphiti MCP server (`add_memory`, `search_memory_facts`, `get_episodes`,
`delete_episode`), after its public documentation.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

from transom.canonical import Json, compact_json
from transom.errors import InputError, MemoryUnavailable, install_hint
from transom.llm.turns import Egress
from transom.memory.entry import (
    Direction,
    MemoryEntry,
    Neighbour,
    Recalled,
    check_entry,
    id_of,
)
from transom.memory.observing import observed
from transom.memory.protocol import Ability
from transom.store.codec import now
from transom.telemetry import keys

_MOST_EPISODES = 1000  # newest episodes of the group in which ids are looked up
_FACTS_PER_ENTRY = 3  # facts that are asked for each entry wanted, since entries have several
_LONGEST_REASON = 200  # characters of the server's own words in an error
_NEAR = 0.5  # share of a query's words, from which an own entry goes before the server's
_WORD = re.compile(r"\w+")
_LACKS = {
    "filters": "the Graphiti server searches without filters on metadata",
    "relations": "the Graphiti server finds relations by itself, and takes none",
    "local": "the model of the Graphiti server reads each text; a local one must not go there",
}


class GraphitiMemory:
    """A `Memory` over the MCP server of Graphiti.

    The server takes no relations and no filters, see `abilities`. It stores in the background, so
    other processes may see an entry seconds later; this one sees its own at once.

    Args:
        server: the URL of the server.
        group: the group of episodes; groups do not see each other.
        headers: of each request, such as `Authorization`.
        keeps_local: whether texts that must not reach a remote provider may be stored: only if the
            server and its model run on your own machines.
        seconds: limit of one call.
    """

    def __init__(
        self,
        server: Any,
        *,
        group: str = "transom",
        headers: Mapping[str, str] | None = None,
        keeps_local: bool = False,
        seconds: float = 30.0,
    ) -> None:
        self._server = server
        self._group = group
        self._headers = dict(headers or {})
        self._seconds = seconds
        self._is_closed = False
        # Entries of this process that the server may not list yet, and those it may list still.
        self._pending: dict[str, MemoryEntry] = {}
        self._forgotten: set[str] = set()
        self.abilities: frozenset[Ability] = frozenset({"local"} if keeps_local else ())

    async def store(
        self,
        content: str,
        metadata: Mapping[str, Json] | None = None,
        *,
        key: str | None = None,
        egress: Egress = "any",
    ) -> str:
        """Store a text, and return its id; see `Memory.store`."""
        check_entry(key, content)
        if egress == "local":
            self._need("local")
        with observed("store"):
            return await self._put(content, dict(metadata or {}), key, egress)

    async def _put(
        self, content: str, data: dict[str, Json], key: str | None, egress: Egress
    ) -> str:
        key = key or id_of(content, data)
        old, uuid = await self._find(key)
        if old is not None and (old.content, dict(old.metadata)) == (content, data):
            return key
        if uuid:
            await self._call("delete_episode", {"uuid": uuid})
            self._forgotten.add(uuid)
        await self._call(
            "add_memory",
            {
                "name": key,
                "episode_body": content,
                "group_id": self._group,
                "source": "text",
                "source_description": compact_json({"metadata": data, "egress": egress}),
            },
        )
        self._pending[key] = MemoryEntry(key, content, data, egress=egress, created_at=now())
        return key

    async def get(self, key: str) -> MemoryEntry | None:
        """Return an entry, or None; it is looked up among the newest thousand of the group."""
        entry, _ = await self._find(key)
        return entry

    async def retrieve(
        self, query: str, limit: int = 5, filters: Mapping[str, Json] | None = None
    ) -> list[Recalled]:
        """Return the entries whose facts match best; see `Memory.retrieve`.

        A fact of an episode that is not listed any more is returned as an entry of its own.
        """
        if filters:
            self._need("filters")
        with observed("retrieve") as span:
            matches = await self._search(query, limit)
            span.set(keys.FOUND, len(matches))
            return matches

    async def _search(self, query: str, limit: int) -> list[Recalled]:
        entries = await self._entries()
        if not query.strip():
            newest = [entry for entry, _ in entries.values()][:limit]
            return [Recalled(entry, 1.0) for entry in newest]
        answer = await self._call(
            "search_memory_facts",
            {
                "query": query,
                "group_ids": [self._group],
                "max_facts": limit * _FACTS_PER_ENTRY,
            },
        )
        by_uuid = {uuid: entry for entry, uuid in entries.values() if uuid}
        near, far = self._unlisted(query)
        matching = {entry.id: entry for entry in near}
        for fact in answer.get("facts") or ():
            sources = [by_uuid[uuid] for uuid in fact.get("episodes") or () if uuid in by_uuid]
            found = sources or [_fact_entry(fact)]
            if not any(uuid in self._forgotten for uuid in fact.get("episodes") or ()):
                matching |= {entry.id: entry for entry in found if entry.id not in matching}
        matching |= {entry.id: entry for entry in far if entry.id not in matching}
        # The server tells no scores; the order is all that there is.
        best = list(matching.values())[:limit]
        return [Recalled(entry, 1 / (rank + 1)) for rank, entry in enumerate(best)]

    def _unlisted(self, query: str) -> tuple[list[MemoryEntry], list[MemoryEntry]]:
        """Return own entries that the server may not find yet, if they share words with a query.

        Returns:
            Those that share at least half of its words, and the others; best first.
        """
        wanted = set(_WORD.findall(query.casefold()))
        shares: list[tuple[float, MemoryEntry]] = []
        for entry in reversed(self._pending.values()):
            shared = wanted & set(_WORD.findall(entry.content.casefold()))
            if shared:
                shares.append((len(shared) / len(wanted), entry))
        shares.sort(key=lambda pair: -pair[0])
        near = [entry for share, entry in shares if share >= _NEAR]
        return near, [entry for share, entry in shares if share < _NEAR]

    async def relate(self, source: str, target: str, relationship: str) -> None:
        """Refuse: the server takes no relations."""
        self._need("relations", f"{source} {relationship} {target}")

    async def neighbours(
        self,
        key: str,
        hops: int | None = 1,
        *,
        relationship: str | None = None,
        direction: Direction = "both",
    ) -> list[Neighbour]:
        """Refuse: relations of the server are between things that it found in texts."""
        del hops, relationship, direction
        self._need("relations", key)
        return []

    async def forget(self, key: str) -> bool:
        """Remove an entry; return False if it is unknown."""
        entry, uuid = await self._find(key)
        if uuid:
            await self._call("delete_episode", {"uuid": uuid})
            self._forgotten.add(uuid)
        self._pending.pop(key, None)
        return entry is not None

    async def close(self) -> None:
        """Close the memory. A second call does nothing."""
        self._is_closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def _need(self, ability: Ability, place: str = "memory") -> None:
        """Raise InputError for what the server cannot do; MemoryUnavailable if it is closed."""
        if self._is_closed:
            raise MemoryUnavailable("the memory is closed", place="memory")
        if ability not in self.abilities:
            raise InputError(_LACKS[ability], place=place, hint="use SqliteMemory for it")

    async def _find(self, key: str) -> tuple[MemoryEntry | None, str]:
        """Return an entry and the server's id of it; None and "" if it is unknown."""
        return (await self._entries()).get(key, (None, ""))

    async def _entries(self) -> dict[str, tuple[MemoryEntry, str]]:
        """Return the entries of the group by id, newest first, with the server's ids of them."""
        answer = await self._call(
            "get_episodes", {"group_ids": [self._group], "max_episodes": _MOST_EPISODES}
        )
        listed: list[tuple[MemoryEntry, str]] = []
        for episode in answer.get("episodes") or ():
            if episode.get("uuid") not in self._forgotten:
                listed.append((_entry(episode), str(episode.get("uuid", ""))))
        listed.sort(key=lambda pair: pair[0].created_at, reverse=True)
        entries: dict[str, tuple[MemoryEntry, str]] = {}
        for entry, uuid in listed:
            pending = self._pending.get(entry.id)
            if pending is None or (pending.content, pending.metadata) == (
                entry.content,
                entry.metadata,
            ):
                self._pending.pop(entry.id, None)
                entries.setdefault(entry.id, (entry, uuid))
        unlisted = {key: (entry, "") for key, entry in reversed(self._pending.items())}
        return {**unlisted, **entries}

    async def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool of the server; returns its answer.

        Raises:
            MemoryUnavailable: the server cannot be reached, or reports an error.
        """
        if self._is_closed:
            raise MemoryUnavailable("the memory is closed", place="memory")
        try:
            async with asyncio.timeout(self._seconds), self._client() as client:
                result = await client.call_tool(tool, arguments)
        except MemoryUnavailable:
            raise
        # The library raises errors of several packages, also in groups.
        except Exception as error:
            reason = type(_first(error)).__name__
            raise MemoryUnavailable(
                f"the Graphiti server cannot be reached: {reason}",
                place="memory",
                hint="check that the server runs and that its address is right",
            ) from error
        answer = _answer(result)
        if result.is_error or "error" in answer:
            reason = str(answer.get("error", "no reason"))[:_LONGEST_REASON]
            raise MemoryUnavailable(f"the Graphiti server refused {tool}: {reason}", place="memory")
        return answer

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Any]:
        try:
            import mcp  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  an extra
        except ImportError as error:
            raise MemoryUnavailable(
                "Graphiti needs the extra mcp", place="memory", hint=install_hint("mcp")
            ) from error
        if not self._headers or not isinstance(self._server, str):
            async with mcp.Client(self._server, cache=None) as client:
                yield client
            return
        import httpx2  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415

        streamable_http = importlib.import_module("mcp.client.streamable_http")

        http = httpx2.AsyncClient(headers=self._headers, timeout=self._seconds)
        async with http:
            place = streamable_http.streamable_http_client(self._server, http_client=http)
            async with mcp.Client(place, cache=None) as client:
                yield client


def _first(error: BaseException) -> BaseException:
    """Return the first error of nested groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _answer(result: Any) -> dict[str, Any]:
    """Return a tool's answer: structured content, else its text as JSON."""
    content = result.structured_content
    if not isinstance(content, dict):
        text = "\n".join([getattr(part, "text", "") for part in result.content])
        try:
            content = json.loads(text)
        except ValueError:
            content = {"error": text} if result.is_error else {"message": text}
    if not isinstance(content, dict):
        return {"message": content}
    # The SDK wraps what is no object by its type.
    inner = content.get("result")
    return inner if isinstance(inner, dict) else content


def _entry(episode: Mapping[str, Any]) -> MemoryEntry:
    """Return an episode as an entry; one that Transom did not store has no metadata."""
    metadata: Mapping[str, Json] = {}
    egress: Egress = "any"
    try:
        description = json.loads(episode.get("source_description") or "")
        metadata = dict(description["metadata"])
        egress = "local" if description["egress"] == "local" else "any"
    except (ValueError, KeyError, TypeError):
        pass
    return MemoryEntry(
        str(episode.get("name", "")),
        str(episode.get("content", "")),
        metadata,
        egress=egress,
        created_at=_utc(str(episode.get("created_at") or "")),
    )


def _fact_entry(fact: Mapping[str, Any]) -> MemoryEntry:
    return MemoryEntry(
        str(fact.get("uuid", "")),
        str(fact.get("fact", "")),
        created_at=_utc(str(fact.get("created_at") or "")),
    )


def _utc(time: str) -> str:
    """Return a time with `Z`, as other entries have it."""
    return time.removesuffix("+00:00").removesuffix("Z") + "Z" if time else ""
