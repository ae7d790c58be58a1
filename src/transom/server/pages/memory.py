"""*Memory*: the texts that the products keep, and how they are related."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from transom.memory import Recalled, SqliteMemory
from transom.server.rendering import page
from transom.server.site import PAGE_ROWS, Site

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")

Words = Annotated[str, Query(max_length=2_000)]


async def recalled(site: Site, query: str, near: str) -> Sequence[Recalled]:
    """Return the entries that fit a query best, or are near to one; without either, the newest."""
    location = site.runs.workspace.store_location
    # By words alone: loading the vectors' model takes longer than a page may.
    async with SqliteMemory.open(location, read_only=True) as memory:
        if near:
            return await memory.nearest(near)
        return await memory.retrieve(query, PAGE_ROWS)


@router.get("/memory")
async def show_memory(request: Request, query: Words = "", near: Words = "") -> Response:
    """Search the memory by words, or by the meaning of an entry."""
    hits = await recalled(request.app.state.site, query, near)
    values = {"hits": hits, "query": query, "near": near, "rows": PAGE_ROWS}
    return page(request, "memory.html", values)


@api.get("/memory")
async def search_memory(request: Request, query: Words = "", near: Words = "") -> dict[str, Any]:
    """Get the entries of the memory that fit a query best, or are near to an entry by meaning."""
    hits = await recalled(request.app.state.site, query, near)
    return {"schema": "transom.memory/1", "entries": [hit.entry.to_json() for hit in hits]}
