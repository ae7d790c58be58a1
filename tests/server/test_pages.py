"""The pages over HTTP: what they show, who may see them, and what they refuse."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.cli.helpers import walked
from tests.server.conftest import HTML, TOKEN, URL
from tests.server.leaving import NASTY, ask, csrf_of, finish, markup_in
from transom.learning import Playbook
from transom.runs import Workspace
from transom.runs.history import RunHistory
from transom.server import build_app
from transom.server.rendering import STATIC_FOLDER

# -- who may see a page ----------------------------------------------------------------------------


def test_a_browser_without_the_token_is_asked_for_it(browser: TestClient) -> None:
    browser.cookies.clear()
    for path in ("/", "/waiting", "/runs", "/runs/x", "/nowhere"):
        answer = browser.get(path)
        assert (answer.status_code, "Sign in" in answer.text) == (401, True)
    wrong = browser.post("/login", data={"token": "wrong"})
    assert (wrong.status_code, "not the token" in wrong.text) == (401, True)
    assert browser.get("/?token=wrong").status_code == 401
    right = browser.post("/login", data={"token": TOKEN})
    assert (right.status_code, str(right.url)) == (200, f"{URL}/")


def test_the_cookie_is_no_token_and_hidden_from_scripts(browser: TestClient) -> None:
    answer = browser.get(f"/?token={TOKEN}", follow_redirects=False)
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and TOKEN not in cookie
    assert TOKEN not in browser.get("/").text
    (name,) = [name for name in browser.cookies if name.startswith("transom-")]
    for value in ("", "x", "x.y", browser.cookies[name][:-1]):
        refused = browser.get("/", headers={"Cookie": f"{name}={value}"})
        assert refused.status_code in (200, 401)
    browser.cookies.clear()
    for value in ("", "x", "x.y", "é.é"):
        sent = f"{name}={value}".encode()
        assert browser.get("/", headers=[(b"Cookie", sent)]).status_code == 401


def test_every_answer_has_the_policy(browser: TestClient) -> None:
    for path in ("/", "/waiting", "/runs", "/nowhere", "/static/page.css", "/api/now"):
        headers = browser.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "unsafe" not in policy and "default-src 'none'" in policy, path
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
    assert browser.get("/").headers["Cache-Control"] == "no-store"


def test_a_form_counts_only_if_a_page_of_this_server_sent_it(
    browser: TestClient, history: RunHistory
) -> None:
    run = ask(history, "a", "Is it ready?", "READY", "NOT_READY")
    page = browser.get("/waiting").text
    good = {"csrf": csrf_of(page), "answer": "READY", "by": "Ann Lee"}
    for bad in ({}, {"csrf": ""}, {"csrf": "0" * 64}):
        refused = browser.post(f"/waiting/{run}", data={**good, "csrf": "", **bad})
        assert refused.status_code == 403
    for origin in ("https://evil.example", "null"):
        sent = browser.post(f"/waiting/{run}", data=good, headers={"Origin": origin})
        assert sent.status_code == 403
    assert history.run(run).state.waiting
    assert browser.get(f"/waiting/{run}").status_code == 405


def test_no_page_loads_from_elsewhere_or_styles_in_line(
    browser: TestClient, history: RunHistory
) -> None:
    run = ask(history, "a", "Is it ready?", "READY", "NOT_READY")
    for path in ("/", "/waiting", "/runs", f"/runs/{run}", "/nowhere"):
        text = browser.get(path).text
        assert not re.search(r"""(?:src|href|action)=["']?(?:https?:)?//""", text), path
        assert " style=" not in text and "<style" not in text and " onclick" not in text


def test_the_vendored_files_are_as_they_were_published() -> None:
    (folder,) = (STATIC_FOLDER / "vendor").iterdir()
    manifest = tomllib.loads((folder / "VENDORED.toml").read_text())
    assert folder.name == f"htmx-{manifest['version']}"
    assert (folder / "LICENSE").is_file()
    sums = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.js")
    }
    assert sums == manifest["sha256"]


# -- what pages show -------------------------------------------------------------------------------


def test_texts_of_runs_are_never_markup(browser: TestClient, history: RunHistory) -> None:
    run = ask(history, "a-run", NASTY, NASTY, "no")
    finish(history, "b", "PASS", waits=NASTY, judgement={"by": NASTY, "rules": NASTY})
    for path in ("/", "/waiting", "/runs", f"/runs/{run}", f"/waiting?answered={NASTY}"):
        text = browser.get(path).text
        assert "<script>alert" not in text and "<img src=x" not in text, path
    assert "&lt;script&gt;" in browser.get("/waiting").text


def test_an_answer_is_recorded_with_its_name_which_is_kept(
    browser: TestClient, history: RunHistory
) -> None:
    run = ask(history, "a", "Is it ready?", "READY", "NOT_READY")
    page = browser.get("/waiting").text
    assert "Is it ready?" in page and '<span class="count">1</span>' in page
    form = {"csrf": csrf_of(page), "answer": "READY", "by": "Ann Lee", "reason": "seen"}
    answer = browser.post(f"/waiting/{run}", data=form)
    assert str(answer.url).startswith(f"{URL}/waiting?answered=Answered")
    assert "Answered READY. Run a does not go on by itself" in answer.text
    assert "No question is open" in answer.text
    (decided,) = [one.data for one in history.run(run).records if one.kind == "decided"]
    assert (decided["answer"], decided["by"], decided["reason"]) == ("READY", "Ann Lee", "seen")  # type: ignore[index,call-overload]
    ask(history, "b", "And this?", "yes", "no")
    assert 'value="Ann Lee"' in browser.get("/waiting").text


def test_a_question_stands_beside_the_diff_that_it_is_about(
    browser: TestClient, history: RunHistory
) -> None:
    lines = ["diff --git a/a.py b/a.py", "--- a/a.py", "+++ b/a.py", "@@ -1 +1,2 @@"]
    lines += ["-old", f"+{NASTY}", " same"]
    ask(history, "a", "May it be merged?", "merge it", "give up", evidence="\n".join(lines))
    text = browser.get("/waiting").text
    assert not markup_in(text)
    assert '<span class="removed">-old\n</span>' in text
    assert '<span class="added">+&lt;script&gt;' in text
    assert '<span class="file">+++ b/a.py\n</span>' in text and "<span> same\n</span>" in text
    (question,) = browser.get("/api/waiting").json()["questions"]
    assert question["evidence"]["is_diff"] and question["evidence"]["text"] == "\n".join(lines)

    ask(history, "b", "Is the log right?", "yes", evidence=f"12 errors\n{NASTY}")
    text = browser.get("/waiting").text
    assert "12 errors" in text and not markup_in(text)


def test_a_sheet_answers_many_questions_at_once(browser: TestClient, history: RunHistory) -> None:
    runs = [ask(history, f"item-{number}", f"Is {number} met?", "yes", "no") for number in range(5)]
    assert "Answer 5 questions in one sitting" in browser.get("/waiting").text
    text = browser.get("/waiting/sheet").text
    fields = dict(re.findall(r'name="(answer/([^/]+)/[0-9a-f]+)"', text))
    by_run = {run: field for field, run in fields.items()}
    assert {*by_run} == {*runs}
    form = {"csrf": csrf_of(text), "by": "Ann Lee", "reason": "seen"}
    form |= {by_run[run]: "yes" for run in runs[:3]}
    form |= {by_run[runs[3]]: "perhaps", "answer/no-such-run/abc": "yes"}
    assert browser.post("/waiting/sheet", data={**form, "csrf": ""}).status_code == 403
    answer = browser.post("/waiting/sheet", data=form)
    assert "3 questions answered." in answer.text and answer.text.count("Not answered:") == 2
    for run in runs[:3]:
        (decided,) = [one.data for one in history.run(run).records if one.kind == "decided"]
        assert (decided["answer"], decided["by"], decided["reason"]) == ("yes", "Ann Lee", "seen")  # type: ignore[index,call-overload]
    assert all(history.run(run).state.waiting for run in runs[3:])
    # Without a name, nothing is recorded.
    nameless = {"csrf": form["csrf"], by_run[runs[4]]: "yes"}
    assert "0 questions answered." in browser.post("/waiting/sheet", data=nameless).text
    assert history.run(runs[4]).state.waiting


def test_an_answer_that_does_not_fit_says_so(browser: TestClient, history: RunHistory) -> None:
    run = ask(history, "a", "Is it ready?", "READY", "NOT_READY")
    form = {"csrf": csrf_of(browser.get("/waiting").text), "answer": "perhaps", "by": "Ann Lee"}
    answer = browser.post(f"/waiting/{run}", data=form)
    assert answer.status_code == 422 and "is no answer" in answer.text
    answer = browser.post(f"/waiting/{run}", data={**form, "answer": "READY", "by": ""})
    assert answer.status_code == 422 and "no name" in answer.text
    fragment = browser.post(f"/waiting/{run}", data=form, headers={"HX-Request": "true"})
    assert fragment.status_code == 200 and fragment.text.lstrip().startswith("<article")
    assert "Not answered" in fragment.text
    assert browser.post("/waiting/none", data=form).status_code == 404
    assert history.run(run).state.waiting


def test_a_judgement_is_the_state_and_the_rules_stand_beside(
    browser: TestClient, history: RunHistory
) -> None:
    judgement = {"by": "Ann Lee", "rules": "NEEDS_JUDGEMENT"}
    run = finish(history, "a", "READY", judgement=judgement)
    for path in ("/", "/runs", f"/runs/{run}"):
        text = browser.get(path).text
        assert "READY</span>" in text
        assert "judged by Ann Lee (rules: NEEDS JUDGEMENT)" in text


def test_runs_are_filtered_by_links_and_shown_page_by_page(
    browser: TestClient, history: RunHistory
) -> None:
    for number in range(60):
        finish(history, f"run-{number:02}", "PASS" if number % 3 else "FAIL")
    first = browser.get("/runs").text
    assert first.count("<tr>") == 51 and "1 to 50 of 60" in first
    assert 'href="/runs?status=FAIL"' in first
    second = browser.get("/runs?offset=50").text
    assert second.count("<tr>") == 11 and "51 to 60 of 60" in second
    failed = browser.get("/runs?status=FAIL").text
    assert failed.count("<tr>") == 21 and "PASS</span>" not in failed
    document = browser.get("/api/runs?status=FAIL&limit=5").json()
    assert [run["status"] for run in document["runs"]] == ["FAIL"] * 5
    assert browser.get("/runs?offset=x").status_code == 422


def test_the_page_of_a_run_that_there_is_not_says_so(browser: TestClient) -> None:
    answer = browser.get("/runs/nothing")
    assert answer.status_code == 404 and "no run" in answer.text
    assert browser.get("/api/runs/nothing").headers["Content-Type"] == "application/problem+json"


def test_empty_pages_say_what_will_be_there(browser: TestClient) -> None:
    assert "Nothing is running. Start a check" in browser.get("/").text
    assert "No question is open" in browser.get("/waiting").text
    assert "Nothing was run here yet" in browser.get("/runs").text
    assert "Nothing was checked here yet" in browser.get("/checks").text
    assert "of this kind and state" in browser.get("/runs?status=FAIL").text


# -- one run in depth ------------------------------------------------------------------------------


@pytest.fixture
def visitor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[TestClient, str]]:
    """A browser at a workspace with one run of two stages that asked a model; the run's id."""
    monkeypatch.chdir(tmp_path)
    _, run = walked(tmp_path)
    workspace = Workspace.known(tmp_path / ".transom")
    store = workspace.open_store()
    with (
        Playbook(workspace.database) as book,
        TestClient(build_app(book, RunHistory(workspace, store), TOKEN), base_url=URL) as client,
    ):
        client.headers = {**HTML, "Authorization": f"Bearer {TOKEN}"}
        yield client, run
    asyncio.run(store.close())


@pytest.mark.slow
@pytest.mark.fence
def test_a_run_shows_its_stages_calls_and_trace(visitor: tuple[TestClient, str]) -> None:
    client, run = visitor
    page = client.get(f"/runs/{run}").text
    assert "<code>one</code>" in page and f'href="/runs/{run}/calls"' in page
    calls = client.get(f"/runs/{run}/calls").text
    document = client.get(f"/api/runs/{run}/calls").json()
    assert calls.count("<svg") == len(document["calls"]) > 0
    for number, call in enumerate(document["calls"], 1):
        text = client.get(f"/runs/{run}/calls/{number}").text
        for block in call["blocks"]:
            assert f"{block['name']}: {block['tokens']} tokens</title>" in text
        assert text.count("<rect") == len(call["blocks"]) + len(call["turns"]) + len(call["tools"])
        assert "Nothing was left out" in text
    beyond = client.get(f"/runs/{run}/calls/{len(document['calls']) + 1}")
    assert beyond.status_code == 404 and "it has calls 1 to" in beyond.text
    spans = client.get(f"/api/runs/{run}/trace").json()["spans"]
    trace = client.get(f"/runs/{run}/trace").text
    assert trace.count("<rect") == len(spans) > 0 and "stage one" in trace


def test_a_run_without_a_trace_says_so(browser: TestClient, history: RunHistory) -> None:
    run = finish(history, "a", "done")
    (trace,) = history.workspace.traces.glob("*.jsonl")
    trace.unlink()
    assert "has no trace here" in browser.get(f"/runs/{run}/trace").text
    assert "No model was asked" in browser.get(f"/runs/{run}/calls").text


def test_a_verdict_shows_the_line_that_decided_as_text(
    browser: TestClient, history: RunHistory, tmp_path: Path
) -> None:
    run = finish(history, "LOG-01", "FAIL", kind="check")
    row = history.row(history.summary(run))
    entry = {"id": "2.1", "name": NASTY, "value": NASTY, "reason": NASTY, "source_file": "a.log"}
    missing = [entry | {"line_number": 2, "matched_content": "an error"}]
    verdict = {
        "item_id": "LOG-01", "status": "FAIL", "checker_type": 1, "capability_type": 1,
        "missing_items": missing, "found_items": [entry], "made_by": {"transom": "0"},
        "sandbox_level": "L3", "as_of": "2026-01-01", "inputs": [],
    }  # fmt: skip
    folder = history.workspace.run_folder(row.name, run) / "run" / "verdict"
    folder.mkdir(parents=True)
    (folder / "verdict.json").write_text(json.dumps(verdict))
    text = browser.get(f"/runs/{run}").text
    assert "a.log:2" in text and "an error" in text
    assert "<script>alert" not in text and "<img src=x" not in text
    assert browser.get(f"/api/runs/{run}/result").json()["item_id"] == "LOG-01"
    other = finish(history, "other", "done")
    assert browser.get(f"/api/runs/{other}/result").status_code == 404
    assert f'href="/runs/{run}"' in browser.get("/checks").text


# -- what goes wrong -------------------------------------------------------------------------------


def test_an_error_says_what_to_do_and_leads_to_the_pages(browser: TestClient) -> None:
    for path, status, words in (
        ("/nowhere", 404, "There is no page at this address"),
        ("/start/check", 405, "takes a form"),
        ("/runs?offset=x", 422, "cannot be used: offset"),
    ):
        answer = browser.get(path)
        assert (answer.status_code, words in answer.text) == (status, True), path
        assert 'href="/waiting"' in answer.text and 'aria-current="page"' not in answer.text


def test_who_signs_in_comes_to_the_page_that_was_asked_for(browser: TestClient) -> None:
    browser.cookies.clear()
    for path in ("/runs?kind=check&status=FAIL", "/waiting"):
        page = browser.get(path)
        (target,) = re.findall(r'name="target" value="([^"]*)"', page.text)
        form = {"token": TOKEN, "target": target.replace("&amp;", "&")}
        answer = browser.post("/login", data=form, follow_redirects=False)
        assert answer.headers["Location"] == path
        browser.cookies.clear()
    # A form of a page whose server was started again leads back to this page.
    referer = {"Referer": f"{URL}/playbook?query=a"}
    page = browser.post("/waiting/x", data={"answer": "yes"}, headers=referer)
    assert 'name="target" value="/playbook?query=a"' in page.text
    for elsewhere in ("//evil.example", "/\\evil.example", "https://evil.example", "", "/\t/e"):
        form = {"token": TOKEN, "target": elsewhere}
        answer = browser.post("/login", data=form, follow_redirects=False)
        assert answer.headers["Location"] == "/", elsewhere


def test_a_question_that_was_not_answered_keeps_what_was_filled_in(
    browser: TestClient, history: RunHistory
) -> None:
    run = ask(history, "a", "What does it mean?")
    (question,) = browser.get("/api/waiting").json()["questions"]
    form = {"csrf": csrf_of(browser.get("/waiting").text), "question": question["question"]}
    form |= {"answer": NASTY, "by": "", "reason": "seen"}
    answer = browser.post(f"/waiting/{run}", data=form, headers={"HX-Request": "true"})
    assert 'role="alert"' in answer.text and "Not answered: the answer has no name" in answer.text
    assert 'value="seen"' in answer.text and "&lt;script&gt;" in answer.text
    assert markup_in(answer.text) == []
    done = browser.post(
        f"/waiting/{run}", data=form | {"by": "Ann Lee"}, headers={"HX-Request": "true"}
    )
    assert "Answered" in done.text and "<form" not in done.text


def test_every_page_leads_to_its_data_with_the_same_filters(
    browser: TestClient, history: RunHistory
) -> None:
    run = finish(history, "one", "FAIL", kind="check")
    finish(history, "two", "PASS", kind="study")
    for path in (
        *(
            "/",
            "/waiting",
            "/start",
            "/runs?kind=study",
            "/checks?status=FAIL",
            "/playbook?query=a",
        ),
        *("/releases", "/stories", "/studies", "/costs?days=7", "/evals", "/memory", "/settings"),
        *(f"/runs/{run}", f"/runs/{run}/stages", f"/runs/{run}/calls", f"/runs/{run}/trace"),
    ):
        (address,) = re.findall(r'<a href="(/api/[^"]*)"', browser.get(path).text)
        address = address.replace("&amp;", "&")
        assert browser.get(address).status_code == 200, address
        assert path.partition("?")[2] in address, address
    assert browser.get("/api/checks").json()["total"] == 1
    assert browser.get("/api/runs?status=PASS").json()["total"] == 1
    assert browser.get(f"/api/runs/{run}/calls/1").status_code == 404


def test_a_run_that_waits_without_a_question_is_resumed_from_its_page(
    browser: TestClient, history: RunHistory
) -> None:
    later = finish(history, "later", "needs_review", waits="a review")
    model = finish(history, "model", "NEEDS_MODEL", waits="a model")
    text = browser.get("/waiting").text
    assert f'formaction="/runs/{later}/resume"' in text and f"transom resume {later}" not in text
    # Only the command says which model.
    assert f'formaction="/runs/{model}/resume"' not in text
    assert f"transom resume {model} --model" in text
