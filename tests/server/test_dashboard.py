"""optuna-dashboard beside the pages: read only, with the token of the pages."""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from tests.server.browsing import chromium, served
from tests.server.conftest import URL, bearer
from tests.server.test_results import leave_study
from tests.studies.helpers import runner, write_study
from transom.runs.history import RunHistory
from transom.studies.solver import write_json
from transom.studies.storage import TRIALS
from transom.studies.study_stages import STUDY

needs_dashboard = pytest.mark.skipif(
    not (find_spec("optuna_dashboard") and find_spec("a2wsgi")),
    reason="the packages optuna-dashboard and a2wsgi are not installed",
)


def address_of(browser: TestClient) -> str:
    """The address that the link of the study `plate` leads to."""
    answer = browser.get("/studies/plate/dashboard", follow_redirects=False)
    assert answer.status_code == 307
    return str(answer.headers["Location"])


def until_there(address: str, **options: Any) -> httpx.Response:
    for _ in range(100):
        try:
            return httpx.get(address, **options)
        except httpx.ConnectError:
            time.sleep(0.1)
    raise AssertionError(address)


@needs_dashboard
def test_it_shows_a_study_to_the_cookie_of_the_pages_and_changes_nothing(
    browser: TestClient, history: RunHistory, tmp_path: Path
) -> None:
    leave_study(history, tmp_path)
    assert 'href="/studies/plate/dashboard"' in browser.get("/studies/plate").text
    address = address_of(browser)
    assert address.startswith("http://127.0.0.1:") and address != URL
    assert address_of(browser) == address, "one server for each study"
    root = address.removesuffix("/dashboard")
    cookies = dict(browser.cookies)
    shown = until_there(f"{root}/api/studies", cookies=cookies)
    assert [study["study_name"] for study in shown.json()["study_summaries"]] == ["plate"]
    assert shown.headers["X-Frame-Options"] == "DENY"
    assert "script-src 'self';" in shown.headers["Content-Security-Policy"]

    # Neither without the cookie, nor under a foreign name, nor with any method that changes.
    assert httpx.get(f"{root}/api/studies").status_code == 401
    foreign = {"Host": "evil.example"}
    assert httpx.get(f"{root}/api/studies", cookies=cookies, headers=foreign).status_code == 403
    journal = next(tmp_path.rglob(TRIALS))
    before = journal.read_bytes()
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        for path in ("/api/studies", "/api/studies/0", "/api/studies/0/rename"):
            body = {"study_name": "x"}
            answer = httpx.request(method, root + path, headers=bearer(), json=body)
            assert answer.status_code == 405, (method, path)
    assert journal.read_bytes() == before


@needs_dashboard
def test_no_other_study_is_opened(browser: TestClient, history: RunHistory, tmp_path: Path) -> None:
    leave_study(history, tmp_path)
    for name in ("none", "..", "%2e%2e", "plate%2f.."):
        answer = browser.get(f"/studies/{name}/dashboard", follow_redirects=False)
        assert answer.status_code in (404, 422), name


def test_without_it_there_is_no_link(
    browser: TestClient, history: RunHistory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_study(history, tmp_path)
    monkeypatch.setattr("transom.server.dashboard.find_spec", lambda name: None)
    assert "optuna-dashboard" not in browser.get("/studies/plate").text
    answer = browser.get("/studies/plate/dashboard")
    assert answer.status_code == 422
    assert "the extra `dashboard` is not installed" in answer.text


@needs_dashboard
@pytest.mark.slow
def test_its_pages_load_under_the_policy(tmp_path: Path) -> None:
    made = runner(tmp_path / ".transom", write_study(tmp_path, trials=8))
    made.run()
    study = made.study
    document = {"folder": str(study.folder), "study": study.model_dump_json(by_alias=True)}
    write_json(made.folder / STUDY, document)
    with served(tmp_path) as server, chromium(server) as watched, watched.window() as page:
        page.goto(f"{server.url}/studies/{made.study.study}")
        with page.context.expect_page() as opened:
            page.get_by_role("link", name="optuna-dashboard").click()
        dashboard = opened.value
        dashboard.get_by_text(made.study.study).first.wait_for(timeout=60_000)
        dashboard.get_by_text(made.study.study).first.click()
        dashboard.get_by_text("Best Trial").first.wait_for(timeout=60_000)
        dashboard.screenshot(path=tmp_path / "dashboard.png")
        port = dashboard.url.split(":")[2].split("/")[0]
        trouble = [line for line in watched.trouble if f"127.0.0.1:{port}/" not in line]
        assert trouble == []
