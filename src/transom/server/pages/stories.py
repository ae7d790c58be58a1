"""*Stories*: the epics that were worked on, and where each of their stories is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from transom.server.rendering import page
from transom.server.schemas import Offset
from transom.server.site import RunRowView, Site
from transom.store import SummaryFilter
from transom.stories import StoryResult, kept_results

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")

EPICS = 20
"""Epics of one page."""
_EPIC_RUNS = SummaryFilter(kinds=("story",))


@dataclass(frozen=True)
class EpicRow:
    """An epic with its stories."""

    row: RunRowView
    stories: list[StoryResult]

    def to_json(self) -> dict[str, Any]:
        stories = [
            {"id": story.id, "title": story.title, "status": story.status, "tests": story.tests}
            for story in self.stories
        ]
        return self.row.to_json() | {"stories": stories}


def epics_of(site: Site, offset: int) -> list[EpicRow]:
    """Return the epics of one page, the newest first."""
    epics: list[EpicRow] = []
    for row in site.rows(site.runs.page(_EPIC_RUNS, limit=EPICS, offset=offset)):
        stories = kept_results(site.runs.workspace.run_folder(row.run.name, row.run.id))
        epics.append(EpicRow(row, stories))
    return epics


@router.get("/stories")
def show_stories(request: Request, offset: Offset = 0) -> Response:
    """List the epics with their stories."""
    site: Site = request.app.state.site
    counts = site.runs.store.count_summaries()
    total = sum(group.count for group in counts if group.kind == "story")
    values = {"epics": epics_of(site, offset), "offset": offset, "total": total, "rows": EPICS}
    return page(request, "stories.html", values)


@api.get("/stories")
def list_stories(request: Request, offset: Offset = 0) -> dict[str, Any]:
    """Get the epics with their stories, the newest first."""
    epics = epics_of(request.app.state.site, offset)
    return {"schema": "transom.stories/1", "epics": [epic.to_json() for epic in epics]}
