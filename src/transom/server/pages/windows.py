"""*Window*: what each model call of a run saw, what was left out and why, and the cache."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from transom.errors import NotFoundError
from transom.llm import render
from transom.runs.windows import JournaledCall, journaled_calls
from transom.server.rendering import page
from transom.server.schemas import Offset
from transom.server.site import PAGE_ROWS, Site

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")

BAR_WIDTH, _GAP = 640.0, 1.5


@dataclass(frozen=True)
class Segment:
    """A block or turn in the bar of a call.

    Attributes:
        name: of the block, the tool or the turn.
        tier: its class in the picture: `stable`, `session`, `volatile` or `turns`.
        tokens: its estimated size.
        x, width: where it stands in the bar.
        text: what the model read.
        note: its trust and egress, in words.
    """

    name: str
    tier: str
    tokens: int
    x: float
    width: float
    text: str
    note: str


@dataclass(frozen=True)
class CallView:
    """A call as a page shows it."""

    call: JournaledCall
    document: dict[str, Any]
    segments: tuple[Segment, ...]
    tokens: int

    @property
    def number(self) -> int:
        return self.call.number


def calls_of(site: Site, run_id: str) -> list[JournaledCall]:
    """Return the calls of a run, oldest first; InputError if there is no such run."""
    run = site.runs.run(run_id)
    calls, _ = journaled_calls(site.runs.store, run.records)
    return calls


def call_view(call: JournaledCall, longest: int | None = None) -> CallView:
    """Return a call with its bar, whose full width stands for `longest` tokens [its own]."""
    pieces: list[tuple[str, str, int, str, str]] = []
    for tool in call.request.tools:
        pieces.append((f"tool {tool.name}", "stable", call.tokens(tool), tool.description, ""))
    for block in call.request.window.blocks:
        note = f"trust: {block.trust}, egress: {block.egress}"
        pieces.append((block.name, str(block.tier), call.tokens(block), block.text, note))
    for number, turn in enumerate(call.request.window.turns, 1):
        text = json.dumps(turn.to_json(), indent=2, ensure_ascii=False)
        pieces.append((f"turn {number}", "turns", call.tokens(turn), text, ""))
    total = sum(tokens for _, _, tokens, _, _ in pieces)
    scale = BAR_WIDTH / max(1, longest or total)
    segments: list[Segment] = []
    x = 0.0
    for name, tier, tokens, text, note in pieces:
        width = tokens * scale
        # A gap tells neighbours of one colour apart, as far as there is room for it.
        shown_width = max(0.5, width - _GAP)
        place = round(x, 2), round(shown_width, 2)
        segments.append(Segment(name, _tier(tier), tokens, *place, text, note))
        x += width
    return CallView(call, call.to_json(), tuple(segments), total)


def _tier(name: str) -> str:
    """Return the colour class of a tier."""
    classes = {
        "stable": "stable",
        "semi_stable": "session",
        "session": "session",
        "turns": "turns",
    }
    return classes.get(name.lower(), "volatile")


@router.get("/runs/{run_id}/calls")
def show_calls(request: Request, run_id: str, offset: Offset = 0) -> Response:
    """Show the calls of a run, each as a bar of what it saw."""
    site: Site = request.app.state.site
    calls = calls_of(site, run_id)
    sizes = [call_view(call).tokens for call in calls]
    # The longest call of all pages, so that bars can be compared from page to page.
    longest = max(sizes, default=1)
    views = [call_view(call, longest) for call in calls[offset : offset + PAGE_ROWS]]
    run = site.runs.summary(run_id)
    title = site.title(run)
    values = {
        "run": run,
        "title": title,
        "calls": views,
        "offset": offset,
        "rows": PAGE_ROWS,
        "total": len(calls),
    }
    return page(request, "calls.html", values | {"width": BAR_WIDTH})


@router.get("/runs/{run_id}/calls/{number}")
def show_call(request: Request, run_id: str, number: int) -> Response:
    """Show one call in full."""
    site: Site = request.app.state.site
    calls = calls_of(site, run_id)
    view = call_view(_numbered(calls, number, run_id))
    run = site.runs.summary(run_id)
    values = {"run": run, "title": site.title(run), "call": view, "total": len(calls)}
    reply_text = json.dumps(view.call.reply["reply"], indent=2, ensure_ascii=False)
    values |= {"width": BAR_WIDTH, "reply_text": reply_text}
    return page(request, "call.html", values | {"sent": render(view.call.request).as_text()})


def _numbered(calls: Sequence[JournaledCall], number: int, run_id: str) -> JournaledCall:
    """Return a call by its number; NotFoundError if the run has none of it."""
    if not 1 <= number <= len(calls):
        problem = f"run {run_id} has no call {number}"
        raise NotFoundError(problem, hint=f"it has calls 1 to {len(calls)}")
    return calls[number - 1]


@api.get("/runs/{run_id}/calls")
def list_calls(request: Request, run_id: str) -> dict[str, Any]:
    """Get what each call of a run saw, as `transom window show` prints it."""
    calls = calls_of(request.app.state.site, run_id)
    documents = [call.to_json() for call in calls]
    return {"schema": "transom.window/1", "run_id": run_id, "calls": documents}


@api.get("/runs/{run_id}/calls/{number}")
def get_call(request: Request, run_id: str, number: int) -> dict[str, Any]:
    """Get what one call of a run saw, and its reply."""
    call = _numbered(calls_of(request.app.state.site, run_id), number, run_id)
    return {"schema": "transom.call/1", "run_id": run_id, **call.to_json(), "reply": call.reply}
