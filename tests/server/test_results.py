"""What the page of a run opens on: its result, with the evidence, and every text escaped."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from tests.server.leaving import NASTY, finish, folder_of, markup_in
from tests.studies.helpers import runner, write_study
from transom.canonical import pretty_json
from transom.investigator.concluding import Kept
from transom.investigator.ledger import Evidence
from transom.investigator.result import (
    Contradiction,
    CriterionResult,
    Injection,
    Investigation,
    Risk,
    Unread,
)
from transom.runs.history import RunHistory
from transom.runs.summarising import RunRow
from transom.server.site import title_of
from transom.stories.results import StageRow, StoryResult
from transom.studies.solver import write_json
from transom.studies.study_stages import STUDY


def leave_investigation(history: RunHistory, text: str = "UAT passed", status: str = "fail") -> str:
    """Leave an investigation with one criterion whose texts are the given one."""
    inputs = {"question": f"Is {text} ready?"}
    run = finish(history, "is-it-ready", "NOT_READY", kind="investigate", inputs=inputs)  # type: ignore[arg-type]
    criteria = [
        CriterionResult(
            id="uat", name=text, required=True, status=status, evidence=["E1"], why=text, owner=text
        )
    ]
    investigation = Investigation(
        question=text,
        feature_id="f1",
        feature_name=text,
        current_stage=text,
        target_stage="Production",
        stage_fit="appropriate",
        verdict="NOT_READY",
        confidence=0.5,
        criteria=criteria,
        risks=[Risk(text=text, severity="high")],
        evidence=[Evidence(id="E1", source=text, locator="/a", value=text, quote=text)],
        injection_attempts=[Injection(source=text, locator="", quote=text)],
        contradictions=[Contradiction(text=text)],
        questions=[text],
        unread=[Unread(source=text, why=text)],
        justification=text,
    )
    kept = Kept(investigation=investigation, shown=[], thread="case")
    folder = folder_of(history, run) / "answer"
    folder.mkdir(parents=True)
    (folder / "investigation.json").write_text(pretty_json(kept), encoding="utf-8")
    return run


def leave_story(history: RunHistory, text: str = "Discounts", status: str = "done") -> str:
    """Leave an epic of one story whose texts are the given one."""
    run = finish(history, "till-epic-1", status, kind="story")
    rows = [
        StageRow(stage="po", decision="APPROVED", summary=text, by=text),
        StageRow(stage="dev", attempt=2, summary=text, evidence={"findings": [text]}),
    ]
    story = StoryResult(
        id="story-1", title=text, status=status, reason=text, stages=rows,
        tests={"passed": 6, "failed": 1}, parked=[text],
    )  # fmt: skip
    folder = folder_of(history, run) / "story-1"
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(pretty_json(story), encoding="utf-8")
    return run


def leave_study(history: RunHistory, tmp_path: Path, trials: int = 12) -> str:
    """Leave a study of a plate, with feasible designs and failures."""
    made = runner(tmp_path, write_study(tmp_path, trials=trials))
    made.run()
    study = made.study
    document = {"folder": str(study.folder), "study": study.model_dump_json(by_alias=True)}
    write_json(made.folder / STUDY, document)
    return finish(history, study.study, "done", kind="study")


def test_an_investigation_shows_its_criteria_their_evidence_and_who_has_to_act(
    browser: TestClient, history: RunHistory
) -> None:
    run = leave_investigation(history)
    text = browser.get(f"/runs/{run}").text
    assert "<h1>Is UAT passed ready?</h1>" in text
    assert "Who has to act" in text and "feature" not in text.partition("Who has to act")[0]
    assert "UAT passed#/a" in text and "confidence 50 %" in text
    assert browser.get(f"/api/runs/{run}/result").json()["criteria"][0]["id"] == "uat"
    for path in ("/", "/runs", f"/runs/{run}/stages"):
        assert "Is UAT passed ready?" in browser.get(path).text, path


def test_an_epic_shows_a_lane_for_each_story(browser: TestClient, history: RunHistory) -> None:
    run = leave_story(history)
    text = browser.get(f"/runs/{run}").text
    assert "<strong>APPROVED</strong>" in text and "attempt 2" in text
    assert "6 passed" in text and "was not asked" in text
    (story,) = browser.get(f"/api/runs/{run}/result").json()["stories"]
    assert story["id"] == "story-1"


def test_a_study_shows_its_best_design_and_its_charts(
    browser: TestClient, history: RunHistory, tmp_path: Path
) -> None:
    run = leave_study(history, tmp_path)
    text = browser.get(f"/runs/{run}").text
    result = browser.get(f"/api/runs/{run}/result").json()
    assert f"Trial {result['best']['number']}" in text
    solved, failed = result["trials"]["complete"], result["trials"]["failed"]
    assert text.count("<circle") == solved + failed
    # One line for each solved design, and one for the best so far.
    assert text.count("<polyline") == solved + 1
    assert "Failures by class" in text and "geometry error" in text
    assert "NaN" not in text and "nan" not in text.partition("<figure")[2].partition("</svg>")[0]


def test_texts_of_results_are_never_markup(browser: TestClient, history: RunHistory) -> None:
    for run in (leave_investigation(history, NASTY), leave_story(history, NASTY)):
        for path in (f"/runs/{run}", f"/runs/{run}/stages", f"/runs/{run}/calls"):
            answer = browser.get(path)
            assert (answer.status_code, markup_in(answer.text)) == (200, []), path


def test_a_run_without_a_result_opens_on_its_stages(
    browser: TestClient, history: RunHistory
) -> None:
    for kind in ("check", "investigate", "story", "study"):
        run = finish(history, f"a-{kind}", "failed", kind=kind)
        text = browser.get(f"/runs/{run}").text
        assert "No stage has begun" in text and "no model was asked" in text
        assert browser.get(f"/api/runs/{run}/result").status_code == 404


def test_a_run_is_called_by_its_question() -> None:
    named = RunRow("1", "check", "LOG-01", {"item": "LOG-01.yaml"})
    asked = RunRow("2", "investigate", "is-it-re", {"question": "Is it ready?"})
    empty = RunRow("3", "investigate", "is-it-re", {"question": " "})
    assert [title_of(row) for row in (named, asked, empty)] == [
        "LOG-01",
        "Is it ready?",
        "is-it-re",
    ]
