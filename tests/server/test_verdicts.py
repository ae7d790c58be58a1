"""A person confirms or overturns a verdict on its page, as by command, and through the API."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.cli.checks import EXAMPLES
from tests.cli.helpers import clean_environment
from tests.server.browsing import chromium, served
from tests.server.leaving import NASTY, csrf_of, finish, folder_of, markup_in
from tests.server.test_hostile import TEXTS
from tests.server.test_results import leave_investigation
from transom.checklist.item import load_item
from transom.investigator.overturning import overturned_before
from transom.learning import Playbook
from transom.runs.history import RunHistory

ITEM = """\
# A claim: its checker is written at once.
description: Confirm that setup timing is met.
requirements: {value: N/A, pattern_items: []}
waivers: {value: N/A, waive_items: []}
input_files: ["timing.rpt"]
"""
WHY = "the report is of another corner"


@pytest.fixture
def item(tmp_path: Path) -> Path:
    """An item file, with the report that it reads."""
    (tmp_path / "TIMING.yaml").write_text(ITEM)
    report = (EXAMPLES / "data/updown/setup_signoff.rpt").read_text()
    (tmp_path / "timing.rpt").write_text(report)
    return tmp_path / "TIMING.yaml"


def check(item: Path) -> dict[str, Any]:
    """Check the item by command; return its verdict."""
    words = ["check", "all", item.name, "--workspace", ".", "--format", "json", "-q"]
    command = [sys.executable, "-m", "transom", *words]
    where: dict[str, Any] = {"cwd": item.parent, "env": clean_environment()}
    done = subprocess.run(command, capture_output=True, text=True, check=False, **where)
    verdict: dict[str, Any] = json.loads(done.stdout)
    return verdict


def decide(
    browser: TestClient, run: str, decision: str, by: str = "Ann Lee", why: str = WHY
) -> Any:
    form = {"csrf": csrf_of(browser.get(f"/runs/{run}").text), "decision": decision}
    return browser.post(f"/runs/{run}/verdict", data=form | {"by": by, "reason": why})


def test_an_overturned_verdict_is_kept_by_the_item_and_does_not_come_again(
    browser: TestClient, book: Playbook, item: Path
) -> None:
    verdict = check(item)
    assert verdict["status"] == "PASS"
    run = verdict["run_id"]
    assert "overturned" not in browser.get(f"/runs/{run}").text.partition("<details>")[0]
    answer = decide(browser, run, "overturn")
    assert answer.status_code == 200
    assert "TIMING PASS overturned by Ann Lee" in answer.text
    # It stays on the page, for whoever looks next.
    later = browser.get(f"/runs/{run}").text
    assert f"Ann Lee overturned PASS of this item: {WHY}" in later and 'value="Ann Lee"' in later
    (entry,) = load_item(item).overturned
    assert (entry.status, entry.by, entry.reason) == ("PASS", "Ann Lee", WHY)
    (insight,) = book.everywhere("domain/checklist")
    assert WHY in insight.content and insight.sources[0].by == "Ann Lee"
    assert insight.id in browser.get(f"/playbook?origin={run}").text
    # A second click adds nothing.
    decide(browser, run, "overturn")
    assert len(load_item(item).overturned) == len(book.everywhere("domain/checklist")) == 1
    again = check(item)
    assert (again["status"], again["would_be"]) == ("NEEDS_REVIEW", "PASS")
    # What asks a person by itself is answered on Waiting.
    assert "Confirm or overturn" not in browser.get(f"/runs/{run}").text


def test_a_confirmed_verdict_stands(browser: TestClient, item: Path) -> None:
    run = check(item)["run_id"]
    answer = decide(browser, run, "confirm")
    assert "TIMING PASS confirmed by Ann Lee" in answer.text
    assert load_item(item).overturned == () and check(item)["status"] == "PASS"


def test_the_api_decides_as_the_page_does(client: TestClient, item: Path) -> None:
    run = check(item)["run_id"]
    address = f"/api/runs/{run}/verdict"
    for body in (
        {"decision": "overturn"},
        {"decision": "overturn", "by": " "},
        {"decision": "undo", "by": "Ann"},
        {"decision": "overturn", "by": "Ann", "reason": "x" * 2_001},
        {"decision": "overturn", "by": "Ann", "verdict": "PASS"},
    ):
        assert client.post(address, json=body).status_code == 422, body
    assert load_item(item).overturned == ()
    body = {"decision": "overturn", "by": "Ann Lee", "reason": WHY}
    document = client.post(address, json=body).json()
    learned = document.pop("learned")
    assert document == {
        "schema": "transom.word/1", "run_id": run, "item_id": "TIMING", "status": "PASS",
        "word": "overturned", "by": "Ann Lee", "counted": [], "kept_in": str(item),
    }  # fmt: skip
    assert learned and load_item(item).overturned[0].reason == WHY
    assert client.post("/api/runs/nowhere/verdict", json=body).status_code == 404


def test_a_decision_that_cannot_be_taken_changes_nothing(
    browser: TestClient, history: RunHistory, book: Playbook, item: Path
) -> None:
    run = check(item)["run_id"]
    before = item.read_bytes(), book.epoch
    assert decide(browser, run, "").status_code == 422
    assert decide(browser, run, "overturned").status_code == 422
    assert decide(browser, run, "overturn", by=" ").status_code == 422
    assert decide(browser, run, "overturn", why="x" * 2_001).status_code == 422
    form = {"csrf": csrf_of(browser.get("/start").text), "decision": "overturn", "by": "Ann"}
    story = finish(history, "epic", "done", kind="story")
    for other, status in (("nowhere", 404), (story, 422)):
        answer = browser.post(f"/runs/{other}/verdict", data=form)
        assert answer.status_code == status and "internal" not in answer.text
    # An item whose file takes no entry keeps nothing, so nothing is counted for it either.
    item.write_text("- no item any more\n")
    assert decide(browser, run, "overturn").status_code == 422
    assert book.epoch == before[1]


@pytest.mark.parametrize("text", [NASTY, *TEXTS[:6], "a: [b\n# c", "- x\n  by: 'Bob'"])
def test_names_and_reasons_of_any_kind_are_kept_as_text(
    text: str, browser: TestClient, item: Path
) -> None:
    run = check(item)["run_id"]
    answer = decide(browser, run, "overturn", by=text[:100], why=text)
    assert answer.status_code == 200 and markup_in(answer.text) == []
    (entry,) = load_item(item).overturned
    assert entry.status == "PASS"
    assert (entry.by, entry.reason) == (text[:100].strip(), " ".join(text.split()))


def test_the_verdict_of_a_release_is_overturned_for_the_next_investigation(
    browser: TestClient, history: RunHistory, book: Playbook
) -> None:
    run = leave_investigation(history)
    answer = decide(browser, run, "overturn", why="the report was of another build")
    assert "f1 NOT_READY overturned by Ann Lee" in answer.text
    page = browser.get(f"/runs/{run}").text
    assert "Ann Lee overturned this verdict: NOT_READY was wrong" in page
    known = overturned_before(book.of_domain("investigator"), "f1", "Production")
    (entry,) = known
    assert entry.speaks_against("NOT_READY", ["uat"]) and "another build" in entry.text
    # Another feature, and another verdict on this one, stand.
    kept = folder_of(history, run) / "answer" / "investigation.json"
    kept.write_text(kept.read_text().replace("NOT_READY", "READY"))
    assert "overturned this verdict" not in browser.get(f"/runs/{run}").text


@pytest.mark.slow
@pytest.mark.fence
def test_a_person_overturns_a_verdict_in_a_browser(item: Path) -> None:
    check(item)
    (item.parent / "transom.yaml").write_text("workspace: .\n")
    with served(item.parent) as server, chromium(server) as watched, watched.window() as page:
        page.get_by_role("link", name="TIMING").first.click()
        page.get_by_text("Confirm or overturn this verdict").click()
        page.get_by_label("Your name").fill("Ann Lee")
        page.get_by_label("Reason").fill(WHY)
        page.get_by_role("button", name="Overturn PASS").click()
        page.get_by_text("TIMING PASS overturned by Ann Lee").wait_for()
        assert page.get_by_text(f"Ann Lee overturned PASS of this item: {WHY}").count()
        assert watched.trouble == []
    assert load_item(item).overturned[0].by == "Ann Lee"
