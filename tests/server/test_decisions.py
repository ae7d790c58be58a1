"""A person at the pages: approves a merge at its diff, judges a release from a form, and answers
ten questions in one sitting.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.checklist.shipped_model import without_claim
from tests.cli.helpers import clean_environment
from tests.investigator.helpers import MIXED, copy_of
from tests.npm import npm_script
from tests.server.browsing import chromium, served
from tests.server.test_accessible import findings
from tests.stories.projects import git, make_project, write
from tests.stories.test_command import RUN, SETTINGS

ROOT = Path(__file__).resolve().parents[2]
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
        axe = npm_script("axe-core/axe.min.js")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert findings(page, axe) == [], scheme
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
        # The diff stays to be seen.
        page.get_by_role("link", name="story-1").click()
        page.get_by_text("The diff that was merged").click()
        page.locator("pre.diff .added", has_text="def discount").wait_for()
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


CHECKS = ROOT / "examples" / "checks"
BATCH = ("check", "batch", "RDY-*.yaml", "--var", f"CHECKLIST_ROOT={CHECKS / 'data'}", "-q")


def test_a_person_answers_ten_questions_in_one_sitting(tmp_path: Path) -> None:
    # The rules do not know these words, and ask whether the check that comes near is meant.
    item = without_claim((CHECKS / "VER-01.yaml").read_text())
    for number in range(10):
        text = item.replace("netlist and SPEF versions", "netlist and SPEF version headers")
        (tmp_path / f"RDY-{number:02}.yaml").write_text(text.replace("VER-01", f"RDY-{number:02}"))
    batch = [sys.executable, "-m", "transom", *BATCH]
    where = {"cwd": tmp_path, "env": clean_environment()}
    assert subprocess.run(batch, check=False, **where).returncode == 3  # type: ignore[call-overload]
    with served(tmp_path) as server, chromium(server) as watched, watched.window() as page:
        page.goto(f"{server.url}/waiting")
        page.get_by_role("link", name="Answer 10 questions in one sitting").click()
        for choice in page.get_by_label("The netlist and the SPEF were loaded").all():
            choice.check()
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 844})
            root = "document.documentElement"
            assert page.evaluate(f"{root}.scrollWidth == {root}.clientWidth"), width
            page.screenshot(path=tmp_path / f"sheet-{width}.png")
        axe = npm_script("axe-core/axe.min.js")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert findings(page, axe) == [], scheme
        page.get_by_label("Your name").fill("Ann Lee")
        page.get_by_role("button", name="Answer all that are chosen").click()
        page.get_by_text("10 questions answered.").wait_for()
        for _ in range(240):
            runs = page.request.get(f"{server.url}/api/runs?kind=check").json()["runs"]
            if all(run["status"] == "PASS" for run in runs):
                break
            page.wait_for_timeout(500)
        assert [run["status"] for run in runs] == ["PASS"] * 10
        assert watched.trouble == []
    assert subprocess.run(batch, check=False, **where).returncode == 0  # type: ignore[call-overload]
