"""*Now*: what waits, what runs, and what ended."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from transom.server.rendering import page, render
from transom.server.site import Site

router = APIRouter(include_in_schema=False)


@router.get("/")
def show_now(request: Request) -> Response:
    """Show the runs as they are; the page goes on by itself."""
    site: Site = request.app.state.site
    return page(request, "now.html", {"now": site.now()})


@router.get("/now/events")
async def now_events(request: Request) -> StreamingResponse:
    """Stream the middle of the page, whole, whenever it changes."""
    site: Site = request.app.state.site
    # The whole fragment, since a viewer may have missed earlier changes.
    feed = request.app.state.feeds.feed("/now", lambda: lambda: render("_now.html", now=site.now()))
    return StreamingResponse(feed.events(), media_type="text/event-stream")


api = APIRouter(prefix="/api")


@api.get("/now")
def now_document(request: Request) -> dict[str, Any]:
    """Get what waits, what runs, and what ended last."""
    site: Site = request.app.state.site
    return site.now().to_json()
