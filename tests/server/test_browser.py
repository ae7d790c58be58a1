"""A person at the pages: in Chromium, with and without scripts, on a desk and on a phone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.helpers import clean_environment
from tests.investigator.helpers import MIXED, copy_of
from tests.server.browsing import chromium, served

pytestmark = [pytest.mark.fence, pytest.mark.slow]

QUESTION = "Is Group Reservations ready for its next stage?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with an investigation that waits for a person's judgement."""
    copy_of(MIXED, tmp_path / "data")
    command = [sys.executable, "-m", "transom", "investigate", QUESTION, "--data", "data", "-q"]
    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), check=False)
    assert done.returncode == 3
    return tmp_path


def shown_score(page: Any) -> float:
    """Return the score of the insight that a page shows."""
    return float(page.locator(".head .state").inner_text().removeprefix("score "))


def is_too_wide(page: object) -> bool:
    root = "document.documentElement"
    return bool(page.evaluate(f"{root}.scrollWidth > {root}.clientWidth"))  # type: ignore[attr-defined]


def test_a_person_answers_a_question_and_the_run_goes_on(folder: Path) -> None:
    with served(folder) as server, chromium(server) as watched, watched.window() as page:
        other = page.context.new_page()
        other.goto(f"{server.url}/")
        other.get_by_text("paused").wait_for()
        other.get_by_role("link", name="Runs", exact=True).focus()

        page.get_by_role("link", name="Waiting").click()
        page.get_by_role("heading", name="Is Group Reservations ready").wait_for()
        assert page.get_by_text("User acceptance testing passed").count()
        page.get_by_label("READY", exact=True).check()
        page.get_by_label("Your name").fill("Ann Lee")
        page.get_by_label("Reason").fill("the pilot went well")
        page.get_by_role("button", name="Answer").click()
        page.get_by_text("continues").wait_for()
        assert page.url == f"{server.url}/waiting"

        # The other tab follows by itself, and nothing moves the focus.
        other.get_by_text("judged by Ann Lee (rules: NEEDS JUDGEMENT)").wait_for(timeout=60_000)
        assert other.evaluate("document.activeElement.textContent") == "Runs"
        page.get_by_role("link", name="See the run").click()
        page.get_by_text("READY", exact=False).first.wait_for()

        assert watched.trouble == []
        # Ctrl-C with an open stream; that the server has gone is all that a page may say then.
        began = time.monotonic()
        server.interrupt()
        server.process.wait(10)
        assert time.monotonic() - began < 2


def test_every_page_fits_a_phone_and_reads_without_scripts(folder: Path) -> None:
    with served(folder) as server, chromium(server) as watched:
        with watched.window(viewport={"width": 390, "height": 844}, color_scheme="dark") as page:
            run = page.get_by_role("link", name="Is Group Reservations").last.get_attribute("href")
            paths = ["/", "/waiting", "/runs", f"/runs/{run.rpartition('run-')[2]}", "/start"]
            paths += ["/more", "/costs", "/evals", "/memory", "/settings"]
            for path in paths:
                page.goto(f"{server.url}{path}")
                assert not is_too_wide(page), path
        with watched.window(java_script_enabled=False) as page:
            page.get_by_role("link", name="Waiting").click()
            page.get_by_label("NOT READY").check()
            page.get_by_label("Your name").fill("Ann Lee")
            page.get_by_role("button", name="Answer").click()
            page.get_by_text("Answered NOT_READY").wait_for()
            page.get_by_role("link", name="Runs", exact=True).click()
            page.get_by_role("link", name="Is Group Reservations").click()
            page.get_by_role("heading", name="Criteria").wait_for()
        assert watched.trouble == []


EXAMPLES = Path(__file__).parents[2] / "examples"
PAGES = ("/", "/waiting", "/start", "/runs", "/checks", "/releases", "/stories", "/studies")
LARGEST = 80_000
"""Bytes of a picture in the documentation, at most."""


def keep_picture(page: object, name: str, folder: Path) -> None:
    """Keep a picture of a page for the documentation, in `PICTURES` if that is set."""
    from PIL import Image

    path = Path(os.environ.get("PICTURES") or folder) / f"{name}.png"
    page.screenshot(path=path)  # type: ignore[attr-defined]
    # Text on a plain ground needs few colours; the rare ones of states are among them.
    with Image.open(path) as picture:
        colours = picture.convert("RGB").quantize(128, method=Image.Quantize.MAXCOVERAGE)
        colours.save(path, optimize=True)
    assert path.stat().st_size < LARGEST


def test_a_person_starts_a_check_reads_its_verdict_and_judges_an_insight(folder: Path) -> None:
    study = str(EXAMPLES / "studies" / "bracket.yaml")
    command = [sys.executable, "-m", "transom", "study", "run", study, "-q"]
    subprocess.run(command, cwd=folder, env=clean_environment(), check=True, capture_output=True)
    with served(folder) as server, chromium(server) as watched, watched.window() as page:
        page.set_viewport_size({"width": 1280, "height": 760})
        page.get_by_role("link", name="Start", exact=True).click()
        form = page.locator('form[action="/start/check"]')
        form.get_by_label("Item").fill(str(EXAMPLES / "checks" / "VER-02.yaml"))
        data = EXAMPLES / "checks" / "data"
        form.get_by_label("Variables").fill(f"CHECKLIST_ROOT={data}")
        form.get_by_role("button").click()
        until = time.monotonic() + 120
        while not page.get_by_text("exit code 1").count() and time.monotonic() < until:
            page.wait_for_timeout(1_000)
            page.reload()
        page.get_by_role("link", name="Checks").click()
        page.get_by_role("link", name="VER-02").click()
        page.get_by_role("heading", name="Missing").wait_for()
        assert "updown_eco.v:1" in page.content()
        # The line stands in its file, with its neighbours.
        assert page.locator("pre.source .hit").first.is_visible()
        keep_picture(page, "browser-verdict", folder)

        page.get_by_role("link", name="Releases").click()
        page.get_by_role("heading", name="Features and criteria").wait_for()
        page.get_by_role("link", name="Studies").click()
        page.get_by_role("link", name="bracket").click()
        for mark in page.locator("circle, polyline").all()[:5]:
            mark.hover(force=True)
        best = page.get_by_role("heading", name="Best design")
        best.evaluate("heading => heading.scrollIntoView()")
        keep_picture(page, "browser-study", folder)

        page.get_by_role("link", name="Playbook").click()
        page.locator("main table a").first.click()
        page.get_by_label("Your name").fill("Ann Lee")
        page.get_by_role("button", name="Helpful").click()
        page.get_by_text("Counted as helpful").wait_for()
        score = shown_score(page)
        page.get_by_role("button", name="Harmful").click()
        page.locator("p.meta", has_text="1 against it").wait_for()
        assert 0 < shown_score(page) < score
        insight = page.url.partition("?")[0].removeprefix(server.url)
        page.get_by_role("link", name="Waiting").click()
        keep_picture(page, "browser-waiting", folder)

        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 390, "height": 844})
        runs = page.request.get(f"{server.url}/api/runs").json()["runs"]
        for path in (
            *PAGES,
            "/studies/bracket",
            insight,
            *(f"/runs/{run['run_id']}" for run in runs),
        ):
            page.goto(f"{server.url}{path}")
            assert not is_too_wide(page), path
        page.goto(f"{server.url}/")
        keep_picture(page, "browser-phone", folder)
        assert watched.trouble == []
