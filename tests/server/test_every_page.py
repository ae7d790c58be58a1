"""Every page in Chromium: each mark of each chart under the pointer, wide and narrow, light and dark;
no complaint of the browser, no report of the policy, no request elsewhere.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.server.browsing import chromium, served
from tests.server.leaving import finish
from tests.server.page_workspace import build
from tests.server.test_accessible import MORE, PAGES, folder
from tests.server.test_browser import is_too_wide
from transom.runs import Workspace
from transom.runs.history import RunHistory

__all__ = ["folder"]
pytestmark = [pytest.mark.fence, pytest.mark.slow]

MARKS = "svg rect, svg circle, svg polyline, svg path, svg a, svg line"
MOST_MARKS = 60
"""Marks of one page that are hovered: the first of them, and others at even steps."""


def pages_behind(page: Any, url: str) -> list[str]:
    """Return one page of each kind that the pages of the header lead to, link by link."""
    kinds: dict[str, str] = {}
    waiting = [*PAGES, *MORE]
    while waiting:
        path = waiting.pop(0)
        words = urlsplit(path).path.strip("/").split("/")
        # What stands between is an id: pages of two runs are of one kind only if their products are.
        kind = (
            path if len(words) < 2 else "/".join([words[0], *words[2:3], *("n" for _ in words[3:])])
        )
        if words[0] == "runs" and len(words) == 2:
            kind = path
        if kind in kinds or words[0] in ("static", "api"):
            continue
        answer = page.goto(f"{url}{path}")
        if answer is None or "text/html" not in answer.headers.get("content-type", ""):
            continue
        assert answer.status == 200, path
        kinds[kind] = path
        waiting += page.locator("main a").evaluate_all(
            "all => all.filter(a => a.origin === location.origin).map(a => a.pathname)"
        )
    return list(kinds.values())


def hover_marks(page: Any) -> int:
    """Put the pointer on the marks of all charts of a page; return how many there are."""
    marks = page.locator(MARKS).all()
    for mark in marks[:: max(1, len(marks) // MOST_MARKS)]:
        box = mark.bounding_box()
        if box and box["width"] + box["height"] > 0:
            mark.scroll_into_view_if_needed()
            mark.hover(force=True, timeout=5_000)
    return len(marks)


def test_every_mark_of_every_chart_is_hovered_and_no_page_complains(tmp_path: Path) -> None:
    pictures = Path(os.environ.get("PICTURES") or tmp_path)
    filled = tmp_path / "filled"
    filled.mkdir()
    build(filled)
    with served(filled) as server, chromium(server) as watched, watched.window() as page:
        paths = pages_behind(page, server.url)
        assert len(paths) > 30, paths
        marks: dict[str, int] = {}
        too_wide: list[str] = []
        for path in paths:
            name = path.strip("/").replace("/", "-") or "now"
            for width, scheme in itertools.product((1280, 390), ("light", "dark")):
                page.set_viewport_size({"width": width, "height": 900})
                page.emulate_media(color_scheme=scheme)
                # Colours change nothing for the pointer.
                if scheme == "light":
                    page.goto(f"{server.url}{path}")
                    marks[path] = hover_marks(page)
                    too_wide += [f"{path} at {width}"] if is_too_wide(page) else []
                page.screenshot(path=pictures / f"{name}-{width}-{scheme}.png", full_page=True)
        assert too_wide == []
        # Charts of a study, of a playbook, of costs, of windows and of a trace.
        assert len([path for path, count in marks.items() if count]) >= 5, marks
        assert watched.trouble == []


def leave_run(folder: Path) -> None:
    """Leave one more run that came to its end."""
    workspace = Workspace.known(folder / ".transom")
    store = workspace.open_store()
    finish(RunHistory(workspace, store), "later", "PASS", kind="check")
    asyncio.run(store.close())


def test_the_focus_stays_where_it_is_while_the_page_goes_on(folder: Path) -> None:
    with served(folder) as server, chromium(server) as watched, watched.window() as page:
        link = page.locator("#now table a").first
        link.focus()
        address = link.get_attribute("href")
        focused = "document.activeElement.getAttribute('href')"
        assert page.evaluate(focused) == address
        rows = page.locator("#now table tbody tr").count()
        # In a thread: the driver of the browser has this one's event loop.
        Thread(target=leave_run, args=(folder,)).start()
        until = time.monotonic() + 30
        while page.locator("#now table tbody tr").count() == rows and time.monotonic() < until:
            page.wait_for_timeout(200)
        assert page.locator("#now table tbody tr").count() == rows + 1
        assert page.evaluate(focused) == address
        assert watched.trouble == []


def test_the_server_ends_within_two_seconds_of_ctrl_c_beside_open_streams(folder: Path) -> None:
    with served(folder) as server, chromium(server) as watched, watched.window() as page:
        others = [page.context.new_page() for _ in range(4)]
        for other in others:
            other.goto(f"{server.url}/")
            other.get_by_role("heading", name="Now").wait_for()
        server.interrupt()
        began = time.monotonic()
        server.process.wait(10)
        assert time.monotonic() - began < 2
