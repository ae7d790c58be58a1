"""The pages of the products: features, stories, studies, and the playbook with its buttons."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from tests.server.leaving import NASTY, csrf_of, finish, markup_in
from tests.server.test_results import leave_investigation, leave_story, leave_study
from transom.learning import InsightCategory, InsightSource, Playbook
from transom.learning.ledger import scores_of
from transom.runs.history import RunHistory


def test_releases_show_each_feature_by_its_newest_investigation(
    browser: TestClient, history: RunHistory
) -> None:
    assert "No feature was judged yet" in browser.get("/releases").text
    leave_investigation(history, "first")
    newest = leave_investigation(history, "second", status="pass")
    (feature,) = browser.get("/api/releases").json()["features"]
    assert (feature["run_id"], feature["criteria"], feature["actions"]) == (
        newest,
        {"uat": "pass"},
        {},
    )
    text = browser.get("/releases").text
    assert f"/runs/{newest}#criterion-uat" in text and "first" not in text


def test_stories_list_epics_with_their_stories(browser: TestClient, history: RunHistory) -> None:
    assert "No epic was worked on yet" in browser.get("/stories").text
    run = leave_story(history)
    other = finish(history, "other", "failed", kind="story")
    text = browser.get("/stories").text
    assert f"/runs/{run}#story-story-1" in text and "None of its stories has ended" in text
    epics = browser.get("/api/stories").json()["epics"]
    stories = {epic["run_id"]: [story["id"] for story in epic["stories"]] for epic in epics}
    assert stories == {run: ["story-1"], other: []}


def test_studies_are_listed_and_shown_while_no_run_is_asked_for(
    browser: TestClient, history: RunHistory, tmp_path: Path
) -> None:
    assert "No study ran here yet" in browser.get("/studies").text
    leave_study(history, tmp_path)
    assert 'href="/studies/plate"' in browser.get("/studies").text
    assert "<h2>Best design</h2>" in browser.get("/studies/plate").text
    (study,) = browser.get("/api/studies").json()["studies"]
    assert browser.get("/api/studies/plate").json() == study
    assert browser.get("/studies/none").status_code == 404


def test_the_playbook_is_searched_in_all_scopes(
    browser: TestClient, book: Playbook, tmp_path: Path
) -> None:
    assert "No insight is here" in browser.get("/playbook").text
    book.add_insight(InsightCategory.MISTAKE, "Never sign off on a stale netlist", tags=["netlist"])
    with Playbook(tmp_path / "state.db", domain="checklist") as narrow:
        narrow.add_insight(InsightCategory.STRATEGY, "Read the header first")
    text = browser.get("/playbook").text
    assert "mis-00001" in text and "str-00002" in text and "domain/checklist" in text
    found = browser.get("/api/playbook?query=stale%20NETLIST").json()
    assert [item["id"] for item in found["items"]] == ["mis-00001"]
    assert browser.get("/api/playbook?scope=domain/checklist").json()["total"] == 1


def test_a_person_counts_outcomes_and_retires_an_insight(
    browser: TestClient, book: Playbook
) -> None:
    insight = book.add_insight(InsightCategory.STRATEGY, "Read the header first")
    address = f"/playbook/{insight.id}"
    form = {"csrf": csrf_of(browser.get(address).text), "by": "Ann Lee"}
    for change, score in (("helpful", 1), ("harmful", 0), ("harmful", -1)):
        answer = browser.post(address, data={**form, "change": change})
        assert f"Counted as {change}" in answer.text
        assert book.require(insight.id).net_score == score
    chart = answer.text.partition("Score over time")[2].partition("</svg>")[0]
    assert chart.count("<circle") == 3
    assert [score for _, score in scores_of(book.events(insight.id))] == [1, 0, -1]
    history = browser.get(f"/api{address}").json()["history"]
    assert history[-1]["data"]["source"] == {"by": "Ann Lee"}
    for bad in ({"by": ""}, {"change": "delete"}, {"change": "retire", "why": " "}):
        refused = browser.post(address, data={**form, "change": "helpful", **bad})
        assert refused.status_code == 422, bad
    assert browser.post(address, data={"change": "helpful", "by": "x"}).status_code == 403
    browser.post(address, data={**form, "change": "retire", "why": "it is wrong"})
    assert book.require(insight.id).retired == "it is wrong"
    assert insight.id in browser.get("/playbook?retired=true").text
    browser.post(address, data={**form, "change": "restore"})
    assert not book.require(insight.id).retired


def test_the_insight_of_another_person_is_not_shown(
    browser: TestClient, book: Playbook, tmp_path: Path
) -> None:
    with Playbook(tmp_path / "state.db", user="bob") as own:
        insight = own.add_insight(InsightCategory.STRATEGY, "Ask Carol", personal=True)
    assert insight.id not in browser.get("/playbook").text
    assert browser.get(f"/playbook/{insight.id}").status_code == 404
    assert browser.get(f"/api/playbook/{insight.id}").status_code == 404


def test_texts_of_the_products_are_never_markup(
    browser: TestClient, history: RunHistory, book: Playbook
) -> None:
    leave_investigation(history, NASTY)
    leave_story(history, NASTY)
    source = InsightSource(run=NASTY, stage=NASTY, study=NASTY, by=NASTY)
    insight = book.add_insight(InsightCategory.STRATEGY, NASTY, tags=[NASTY], source=source)
    book.record_outcome(insight.id, True, followed=True, source=source)
    paths = ("/releases", "/stories", "/studies", "/playbook", f"/playbook?query={NASTY}")
    for path in (*paths, f"/playbook/{insight.id}", f"/playbook/{insight.id}?note={NASTY}"):
        answer = browser.get(path)
        assert (answer.status_code, markup_in(answer.text)) == (200, []), path


def test_a_person_answers_what_the_playbook_asks_to_review(
    browser: TestClient, book: Playbook
) -> None:
    insight = book.add_insight(InsightCategory.STRATEGY, "Read the header first")
    for helped in (True, True, False, False):
        book.record_outcome(insight.id, helped, followed=True, source=InsightSource(by="Bo"))
    assert "To review" in browser.get("/playbook").text
    (question,) = browser.get("/api/playbook").json()["questions"]
    assert (question["kind"], question["insight"]) == ("uncertain", insight.id)
    address = f"/playbook/{insight.id}"
    page = browser.get(address).text
    assert question["text"] in page and ">It holds</button>" in page
    form = {"csrf": csrf_of(page), "by": "Ann Lee", "change": "confirm"}
    assert "Confirmed" in browser.post(address, data=form).text
    assert book.events(insight.id)[-1].kind == "confirmed"
    assert book.require(insight.id).for_count == 3


def test_a_near_insight_is_edited_or_merged(browser: TestClient, book: Playbook) -> None:
    of_run = InsightSource(run="20261201-010134-11704b7f87", stage="build", by="checklist")
    kept = book.add_insight(
        InsightCategory.STRATEGY, "Read the header of the report first, always", source=of_run
    )
    near = book.add_insight(
        InsightCategory.STRATEGY, "Always read the header of a report first", source=of_run
    )
    book.record_outcome(near.id, True, followed=True, source=of_run)
    (question,) = browser.get("/api/playbook").json()["questions"]
    assert (question["kind"], question["insight"], question["other"]) == ("near", near.id, kept.id)
    address = f"/playbook/{near.id}"
    page = browser.get(address).text
    assert f"Merge {kept.id} into it" in page and markup_in(page) == []
    form = {"csrf": csrf_of(page), "by": "Ann Lee"}
    assert browser.post(address, data=form | {"change": "edit", "content": " "}).status_code == 422
    text = f"Read the header of a report first {NASTY}"
    answer = browser.post(address, data=form | {"change": "edit", "content": text})
    assert "Edited" in answer.text and markup_in(answer.text) == []
    assert book.require(near.id).content == text
    assert "before, it was" in answer.text
    assert browser.post(address, data=form | {"change": "merge no-00099"}).status_code >= 400
    answer = browser.post(address, data=form | {"change": f"merge {kept.id}"})
    assert f"Merged: {kept.id} is part of it" in answer.text
    assert book.require(kept.id).merged_into == near.id
    # The graph leads to the run that taught it, to what was merged into it, and to outcomes.
    graph = answer.text.partition('class="plot graph"')[2].partition("</svg>")[0]
    assert f'href="/runs/{of_run.run}"' in graph and f'href="/playbook/{kept.id}"' in graph
    assert "1 for, 0 against" in graph and markup_in(graph) == []
    assert graph.count("<circle") == 4 and graph.count("<path") == 3


def test_all_that_came_of_a_run_is_listed_and_forgotten(
    browser: TestClient, book: Playbook
) -> None:
    of_run = InsightSource(run="20261201-010134-11704b7f87", by="checklist")
    taught = book.add_insight(InsightCategory.STRATEGY, "Read the header first", source=of_run)
    other = book.add_insight(InsightCategory.MISTAKE, "Never trust a stale netlist")
    unrelated = book.add_insight(InsightCategory.TOOL, "Use the newest reader")
    book.record_outcome(other.id, True, followed=True, source=of_run)
    address = f"/playbook?origin={of_run.run}"
    page = browser.get(address).text
    assert taught.id in page and other.id in page and unrelated.id not in page
    form = {"csrf": csrf_of(page), "origin": of_run.run}
    assert browser.post("/playbook", data=form).status_code == 422
    answer = browser.post("/playbook", data=form | {"by": "Ann Lee"})
    assert "Retired insights: 1; outcomes taken back: 1." in answer.text
    assert book.require(taught.id).retired and not book.require(other.id).retired
    assert book.require(other.id).net_score == 0
