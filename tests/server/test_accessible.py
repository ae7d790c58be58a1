"""Every page as axe finds it: nothing that keeps a reader with a disability from using it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.helpers import clean_environment
from tests.investigator.helpers import MIXED, copy_of
from tests.npm import npm_script
from tests.repository.tracked import ROOT
from tests.server.browsing import chromium, served

pytestmark = pytest.mark.slow

QUESTION = "Is Group Reservations ready for its next stage?"
EXAMPLES = ROOT / "examples"
COMMANDS = (
    ("investigate", QUESTION, "--data", "data", "-q"),
    ("check", "all", str(EXAMPLES / "checks" / "VER-02.yaml"), "-q"),
    ("study", "run", str(EXAMPLES / "studies" / "bracket.yaml"), "-q"),
)
PAGES = ("/", "/waiting", "/start", "/runs", "/checks", "/releases", "/stories", "/studies")
MORE = ("/playbook", "/more", "/costs", "/evals", "/memory", "/settings", "/studies/bracket")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with an investigation that waits, a check and a study."""
    folder = tmp_path_factory.mktemp("pages")
    copy_of(MIXED, folder / "data")
    for command in COMMANDS:
        words = [sys.executable, "-m", "transom", *command]
        if command[0] == "check":
            words += ["--var", f"CHECKLIST_ROOT={EXAMPLES / 'checks' / 'data'}"]
        done = subprocess.run(
            words, cwd=folder, env=clean_environment(), capture_output=True, check=False
        )
        assert done.returncode in (0, 1, 3), done.stderr
    return folder


def findings(page: Any, axe: str) -> list[str]:
    """What axe finds on a page, as its rule and the element."""
    page.evaluate(axe)
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert result["passes"], "axe looked at nothing"
    return [
        f"{rule['impact']} {rule['id']}: {node['html'][:200]}"
        for rule in result["violations"]
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_on_any_page(folder: Path, scheme: Any, width: int) -> None:
    axe = npm_script("axe-core/axe.min.js")
    size = {"width": width, "height": 844}
    found: dict[str, list[str]] = {}
    with (
        served(folder) as server,
        chromium(server) as watched,
        watched.window(viewport=size, color_scheme=scheme) as page,
    ):
        runs = page.request.get(f"{server.url}/api/runs").json()["runs"]
        paths = [*PAGES, *MORE, *(f"/runs/{run['run_id']}" for run in runs)]
        # Each kind of page behind these: a check, a feature, an insight, a window, a trace.
        for start in ("/checks", "/releases", "/playbook", *paths[-len(runs) :]):
            page.goto(f"{server.url}{start}")
            links = page.locator("main a").evaluate_all("all => all.map(a => a.pathname)")
            kinds: dict[str, str] = {}
            for link in links:
                kinds.setdefault("/".join(link.split("/")[:2] + link.split("/")[3:]), link)
            paths += kinds.values()
        pages = [path for path in dict.fromkeys(paths) if path.startswith("/")]
        assert len(pages) > 18
        for path in pages:
            answer = page.goto(f"{server.url}{path}")
            # Pictures and documents are for other programs.
            if answer and "text/html" in answer.headers.get("content-type", ""):
                found[path] = findings(page, axe)
    assert len(found) > 15
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_every_page_reads_without_scripts(folder: Path) -> None:
    with (
        served(folder) as server,
        chromium(server) as watched,
        watched.window(java_script_enabled=False) as page,
    ):
        runs = page.request.get(f"{server.url}/api/runs").json()["runs"]
        for path in (*PAGES, *MORE, *(f"/runs/{run['run_id']}" for run in runs)):
            page.goto(f"{server.url}{path}")
            assert page.get_by_role("heading", level=1).count() == 1, path
            assert page.get_by_role("navigation").first.is_visible(), path
            assert page.locator("main").inner_text().strip(), path
        # A form is sent, too: the wording of a search stands in the address.
        page.goto(f"{server.url}/memory")
        page.locator("main input[type=search], main input[name=query]").first.fill("slack")
        page.locator("main form button").first.click()
        assert "query=slack" in page.url
        assert watched.trouble == []


def test_axe_itself_finds_a_picture_without_words(folder: Path) -> None:
    axe = npm_script("axe-core/axe.min.js")
    with served(folder) as server, chromium(server) as watched, watched.window() as page:
        page.evaluate("document.querySelector('main').append(document.createElement('img'))")
        assert any("image-alt" in line for line in findings(page, axe))
