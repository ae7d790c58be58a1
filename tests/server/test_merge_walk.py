"""A person at the pages: looks at a diff and approves its merge; judges a release from a form."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.helpers import clean_environment
from tests.investigator.helpers import MIXED, copy_of
from tests.server.browsing import chromium, served
from tests.stories.projects import git, make_project, write
from tests.stories.test_command import RUN, SETTINGS

pytestmark = [pytest.mark.fence, pytest.mark.slow]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with a finished story whose merge a person has yet to approve."""
    write(tmp_path, "transom.yaml", f"{SETTINGS}  review: true\n")
    make_project(tmp_path)
    copy_of(MIXED, tmp_path / "data")
    words = [*RUN, "--story", "story-1", "--unsafe-no-sandbox", "-q"]
    command = [sys.executable, "-m", "transom", *words]
    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), check=False)
    assert done.returncode == 3
    return tmp_path


def test_a_person_approves_a_merge_at_its_diff(folder: Path) -> None:
    project = folder / "project"
    before = git(project, "rev-parse", "main")
    with served(folder) as server, chromium(server) as watched, watched.window() as page:
        page.get_by_role("link", name="Waiting").click()
        page.get_by_role("heading", name="may it be merged?").wait_for()
        assert page.locator("pre.diff .added", has_text="def discount").count()
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 844})
            root = "document.documentElement"
            assert page.evaluate(f"{root}.scrollWidth == {root}.clientWidth"), width
            page.screenshot(path=folder / f"merge-{width}.png", full_page=True)
        assert git(project, "rev-parse", "main") == before
        page.get_by_label("merge it").check()
        page.get_by_label("Your name").fill("Ann Lee")
        page.get_by_role("button", name="Answer").click()
        page.get_by_text("continues").wait_for()
        page.get_by_role("link", name="Stories", exact=True).click()
        for _ in range(60):
            if page.get_by_text("done").count():
                break
            page.wait_for_timeout(500)
            page.reload()
        assert page.locator("tr", has_text="story-1").get_by_text("done").count()
        assert watched.trouble == []
    assert "def discount" in git(project, "show", "main:till/discounts.py")


def test_a_person_judges_a_release_from_a_form(folder: Path) -> None:
    with served(folder) as server, chromium(server) as watched, watched.window() as page:
        page.goto(f"{server.url}/start")
        form = page.locator("form[action='/start/release']")
        form.get_by_label("Data").fill("data")
        form.get_by_label("As of").fill("2026-09-20")
        form.get_by_role("button", name="Judge a release").click()
        for _ in range(60):
            if page.get_by_text("exit code").count():
                break
            page.wait_for_timeout(500)
            page.reload()
        assert page.get_by_text("Group Reservations").count()
        assert watched.trouble == []
