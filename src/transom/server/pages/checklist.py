"""*Checks*: the items that were checked, and one verdict with the lines that decided."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from transom.checklist.judging import Verdict
from transom.checklist.judging.verdict import VERDICT_FILE, CheckedItem
from transom.errors import InputError
from transom.formats.html_report import Line, context_lines
from transom.runs.history import RunView
from transom.runs.summarising import RunRow
from transom.server.pages.runs import list_page
from transom.server.rendering import page
from transom.server.site import Site

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")

_KIND = "check"
_MOST_ENTRIES = 100
"""Entries of one sort that a page shows; what is left out is counted."""
_GOOD = ("holds", "found")


@dataclass(frozen=True)
class Entry:
    """An entry of a verdict with the lines around its line; without lines if the file is not there
    any more.
    """

    item: CheckedItem
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Group:
    """Entries of one sort, e.g. the violations.

    Attributes:
        is_good: whether they speak for the item, and are folded.
        hidden: how many are not shown.
    """

    name: str
    is_good: bool
    entries: tuple[Entry, ...]
    hidden: int


def verdict_of(site: Site, row: RunRow) -> Verdict:
    """Return the verdict of a run; InputError if it has none."""
    folder = site.runs.workspace.run_folder(row.name, row.id)
    path = folder / "run" / "verdict" / VERDICT_FILE
    if not path.is_file():
        raise InputError("this run has no verdict", where=row.id, hint="see the run's own page")
    return Verdict.model_validate_json(path.read_bytes())


def groups_of(verdict: Verdict, inputs: list[Path]) -> list[Group]:
    """Return the entries of a verdict, the gravest first.

    Args:
        inputs: the files that it read, as far as they are there; no other file is shown.
    """
    groups: list[Group] = []
    for name, items in verdict.entries.items():
        if not items:
            continue
        entries = [Entry(item, _lines_of(item, inputs)) for item in items[:_MOST_ENTRIES]]
        hidden = max(0, len(items) - _MOST_ENTRIES)
        groups.append(Group(name, name in _GOOD, tuple(entries), hidden))
    return groups


def _lines_of(item: CheckedItem, inputs: list[Path]) -> tuple[Line, ...]:
    number = item.line_number
    if item.source_file is None or number is None:
        return ()
    for path in inputs:
        if path.as_posix().endswith(f"/{item.source_file}"):
            lines = context_lines(path, [number]).get(number, ())
            # The file may have changed since: then its lines are no evidence any more.
            first, _, _ = item.matched_content.partition("\n")
            if any(line.number == number and first.strip() in line.text for line in lines):
                return lines
    return ()


def _inputs_of(run: RunView, verdict: Verdict) -> list[Path]:
    """Return the files that a verdict read, as far as they are where the command found them."""
    item = Path(str(run.row.inputs.get("item", "")))
    options = run.state.entry.get("given", {})
    folders = [item.parent, *map(Path, options.get("roots") or ())]
    folders += [Path(text.partition("=")[2]) for text in options.get("variables") or ()]
    here = Path(run.state.entry.get("cwd") or item.parent)
    paths: list[Path] = []
    for entry in verdict.inputs:
        candidates = [here / folder / entry.path for folder in folders]
        paths += [path for path in candidates if path.is_file()][:1]
    return paths


@router.get("/checks")
def show_checks(request: Request, status: str = "", offset: int = 0) -> Response:
    """List the checks, the newest first."""
    return list_page(request, "/checks", _KIND, status, offset)


@router.get("/checks/{run_id}")
def show_check(request: Request, run_id: str) -> Response:
    """Show a verdict: what was violated, what was waived, and what holds, line by line."""
    site: Site = request.app.state.site
    summary = site.runs.summary(run_id)
    run = site.runs.run(run_id)
    verdict = verdict_of(site, run.row)
    groups = groups_of(verdict, _inputs_of(run, verdict))
    return page(request, "check.html", {"run": summary, "verdict": verdict, "groups": groups})


@api.get("/checks/{run_id}")
def get_check(request: Request, run_id: str) -> dict[str, Any]:
    """Get the verdict of a run, as `transom check run --format json` prints it."""
    site: Site = request.app.state.site
    verdict = verdict_of(site, site.runs.row(site.runs.summary(run_id)))
    document: dict[str, Any] = verdict.model_dump(mode="json", by_alias=True)
    return document | {"run_id": run_id}
