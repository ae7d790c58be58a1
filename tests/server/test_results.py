"""What the page of a run opens on: its result, with the evidence, and every text escaped."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.cli.helpers import clean_environment
from tests.repository.tracked import ROOT
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
from transom.stories.results import StageRow, StoryResult
from transom.studies import reading
from transom.studies.solver import write_json
from transom.studies.study import Study
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
    history_chart = text.partition('<svg class="plot"')[2].partition("</svg>")[0]
    figures = text.split("<figure")[1:]
    slices = [figure for figure in figures if 'aria-label="mass over ' in figure]
    assert history_chart.count("<circle") == solved + failed
    # A slice for each variable, with each solved design, and the best one above the others.
    assert len(slices) == len(result["best"]["params"])
    assert {figure.count("<circle") for figure in slices} == {solved + 1}
    assert all(figure.count("<title>trial ") == solved + 1 for figure in slices)
    # One line for each solved design, and one for the best so far.
    assert text.count("<polyline") == solved + 1
    assert "Failures by class" in text and "geometry error" in text
    assert "NaN" not in text and "nan" not in text.partition("<figure")[2].partition("</svg>")[0]


def test_a_study_is_read_again_only_after_a_change(
    browser: TestClient, history: RunHistory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[Path] = []
    kept_trials = reading.kept_trials

    def counted(study: Study, folder: Path) -> Any:
        reads.append(folder)
        return kept_trials(study, folder)

    monkeypatch.setattr(reading, "kept_trials", counted)
    leave_study(history, tmp_path, trials=4)
    name = browser.get("/api/studies").json()["studies"][0]["study"]
    for _ in range(3):
        assert "4 designs" in browser.get(f"/studies/{name}").text
    assert len(reads) == 1
    leave_study(history, tmp_path, trials=6)
    assert "6 designs" in browser.get(f"/studies/{name}").text
    assert len(reads) == 2


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
    patterns = ["/chip/blocks/*/*.yaml", "/chip/late.yaml", "x.yaml", "/*"]
    batch = RunRow("4", "check-batch", "batch", {"targets": patterns})
    assert [row.title for row in (named, asked, empty, batch)] == [
        "LOG-01",
        "Is it ready?",
        "is-it-re",
        "batch of blocks/*/*.yaml, chip/late.yaml, x.yaml, //*",
    ]


def leave_check(history: RunHistory, block: str, name: str, status: str, **more: Any) -> str:
    """Leave a check of an item of a block, with its verdict; return its id."""
    item = f"/chip/{block}/{name}.yaml"
    run = finish(history, name, status, kind="check", inputs={"item": item, "item_id": name})
    verdict = {
        "item_id": name, "status": status, "checker_type": 1, "capability_type": 1,
        "made_by": {"transom": "0"}, "sandbox_level": "L3", "as_of": "2026-01-01", "inputs": [],
    } | more  # fmt: skip
    folder = folder_of(history, run) / "run" / "verdict"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "verdict.json").write_text(json.dumps(verdict))
    return run


def test_a_batch_shows_blocks_and_items_what_fails_first_and_who_waived(
    browser: TestClient, history: RunHistory
) -> None:
    entry = {"id": "2.1", "name": "Slack", "value": NASTY, "source_file": "a.rpt"}
    waiver = {"pattern": NASTY, "match": "exact", "matched_text": "x", "owner": "Ines"}
    waived = entry | {"reason": "below 0", "origin": "extra", "tag": "[WAIVER]", "waiver": waiver}
    found = {"found_items": [entry | {"reason": "is there"}]}
    leave_check(history, "cpu", "STA-1", "PASS", **found, waived=[waived])
    failing = leave_check(
        history, "cpu", "DRC-1", "FAIL", missing_items=[entry | {"reason": "is empty"}]
    )
    leave_check(history, "dsp", "STA-1", "PASS", **found)
    targets = ["/chip/cpu/STA-1.yaml", "/chip/cpu/DRC-1.yaml", "/chip/dsp/STA-1.yaml", "/gone.yaml"]
    batch = finish(history, "batch", "FAIL", kind="check-batch", inputs={"targets": [*targets]})
    page = browser.get(f"/runs/{batch}").text
    for text in ("1 FAIL", "cpu", "dsp", "no item", "1 missing", "Ines", "1 item has no verdict"):
        assert text in page, text
    rows = re.findall(r'<td class="name"><a href="/runs/([^"]+)">', page)
    assert rows[0] == failing and len(rows) == 3
    assert markup_in(page) == []
    document = browser.get(f"/api/runs/{batch}/result").json()
    assert [check["item_id"] for check in document["checks"]] == ["STA-1", "DRC-1", "STA-1"]
    # The files that the batch was given stand below each other.
    stages = browser.get(f"/runs/{batch}/stages").text
    assert "<div><code>/chip/dsp/STA-1.yaml</code></div>" in stages
    # An item that is checked again keeps its earlier result in sight.
    leave_check(history, "cpu", "DRC-1", "PASS", **found)
    assert "Earlier: " in browser.get(f"/runs/{failing}").text


def test_a_batch_shows_how_its_items_did_each_time(browser: TestClient, tmp_path: Path) -> None:
    data = ROOT / "examples" / "checks" / "data" / "updown"
    item = "description: Confirm that setup timing is met.\ninput_files: [{}.rpt]\n"
    good = (data / "setup_signoff.rpt").read_text()
    bad = good.replace("0.58 (MET)", "-0.58 (VIOLATED)")
    for name in ("cpu", "dsp"):
        (tmp_path / f"{name}.yaml").write_text(f"item_id: {name}\n{item.format(name)}")
        (tmp_path / f"{name}.rpt").write_text(good)
    words = ["check", "batch", "*.yaml", "--workspace", ".", "-q"]
    for report in (good, bad, good):
        (tmp_path / "dsp.rpt").write_text(report)
        command = [sys.executable, "-m", "transom", *words]
        subprocess.run(command, cwd=tmp_path, env=clean_environment(), check=False)
    checks = browser.get("/checks").text
    (run,) = re.findall(r'<a href="/runs/([^"]+)">batch of ', checks)
    # A filtered list, and the second page, are of items alone.
    assert "Newest batches" not in browser.get("/checks?status=PASS").text
    trend = browser.get(f"/api/runs/{run}/result").json()["trend"]
    assert trend["items"] == {"cpu": ["PASS"] * 3, "dsp": ["PASS", "FAIL", "PASS"]}
    assert trend["totals"] == ["2 PASS", "1 FAIL, 1 PASS", "2 PASS"]
    table = browser.get(f"/runs/{run}").text.partition("Trend")[2].partition("</table>")[0]
    assert re.findall(r"</span> (PASS|FAIL)</span>", table) == ["PASS", "FAIL", "PASS"]
    page = browser.get(f"/runs/{run}").text
    assert "Items with the same result each time: 1." in page
