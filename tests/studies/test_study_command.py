"""`transom study`: run, resume, report and export, as people use them."""

from __future__ import annotations

import csv
import html
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.studies.helpers import write_command_study, write_study
from tests.studies.test_solver import marked, wait_for
from transom.cli import main
from transom.studies.hooks import HookOccasion
from transom.studies.report import as_csv, as_jsonl, report_html, report_text
from transom.studies.result import result_of
from transom.studies.runner import StudyRunner
from transom.studies.study_file import load_study
from transom.studies.study_stages import conclude, runner_of, standing
from transom.studies.verify import verify


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> Any:
    """The JSON that a command prints."""
    assert main([*argv, "-q", "--format", "json"]) == code, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_a_study_is_run_reported_and_exported(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_study(
        here,
        trials=20,
        more=(
            "verify: {settings: {mesh: 0}, tolerance: 0.2}\nhooks: {on_failure: [error_tracker]}\n"
        ),
    )
    assert main(["study", "run", "plate.yaml"]) == 0
    shown = capsys.readouterr()
    assert re.search(r"20/20 trial \d+: .* 0 s left", shown.err)
    assert re.search(
        r"best: mass [\d.]+ \(trial \d+: width .*, hole .*\), verified with finer settings",
        shown.out,
    )
    report = Path(re.findall(r"report: (.*)", shown.out)[0])
    page = report.read_text()
    assert "geometry error" in page and page.count("data:image/svg+xml;base64,") >= 6
    assert not re.search(r"(src|href)=\"(?!data:)", page)  # one file that needs no other
    assert {path.name for path in report.parent.iterdir()} >= {
        "best.svg",
        "history.svg",
        "failures.svg",
        "importances.svg",
        "slice.svg",
        "parallel-coordinate.svg",
        "contour.svg",
    }

    result = ran(capsys, "study", "run", "plate.yaml")
    assert result["schema"] == "transom.study/1"
    assert (
        result["trials"]["total"] == 20 == result["trials"]["complete"] + result["trials"]["failed"]
    )
    assert set(result["best"]) == {"number", "values", "params", "verified"}
    assert (
        result["best"]["verified"]
        and result["failures"]["geometry_error"] == result["trials"]["failed"]
    )
    assert report.read_text() == page  # nothing was solved again, equal bytes
    assert result["session_id"] in str(report)

    assert main(["study", "report", "plate", "-o", "out"]) == 0
    assert f"best: mass {result['best']['values'][0]:.5g}" in capsys.readouterr().out
    assert {"report.html", "history.svg"} <= {path.name for path in Path("out").iterdir()}

    assert main(["study", "export", "plate", "-o", "out/trials.csv"]) == 0
    with Path("out/trials.csv").open() as file:
        table = list(csv.DictReader(file))
    rows = ran(capsys, "study", "export", "plate")
    assert len(table) == len(rows) == 20
    assert float(table[3]["params.width"]) == rows[3]["params"]["width"]
    assert {"problem", "scope", "by", "seconds", "reason"} <= rows[0].keys()
    history = (here / ".transom/studies/plate/error_history.jsonl").read_text().splitlines()
    assert len(history) == result["trials"]["failed"]


@pytest.mark.slow
@pytest.mark.fence
def test_a_study_without_a_feasible_design_says_no(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_study(here, trials=3)
    path.write_text(path.read_text().replace("max: 100", "max: 1"))
    assert main(["study", "run", "plate.yaml", "-q"]) == 1
    assert "no feasible design was found" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["study", "run", "none.yaml"], "none.yaml: no such file"),
        (["study", "report", "none"], "unknown study 'none'; name its file, or one of: none"),
        (
            ["study", "report", "plate.yaml"],
            "the study plate was not run in this workspace; run it with",
        ),
        (
            ["study", "run", "bad.yaml"],
            "bad.yaml:4: variables.width: value error, its bounds contradict each other",
        ),
    ],
)
def test_mistakes_are_said_in_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], argv: list[str], said: str
) -> None:
    path = write_study(here)
    (here / "bad.yaml").write_text(path.read_text().replace("low: 10,", "low: 50,"))
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


@pytest.mark.slow
def test_ctrl_c_ends_the_solvers_and_resume_goes_on(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_command_study(here, trials=6, workers=2)
    command = [sys.executable, "-m", "transom", "study", "run", "slow.yaml"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    calls = here / "calls.txt"
    wait_for(lambda: calls.exists() and len(calls.read_text().split()) >= 3, 60)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    run_id = re.findall(r"transom resume (\S+)", said)[0]
    wait_for(lambda: not marked(here))
    result = ran(capsys, "resume", run_id)
    assert result["trials"] == {"total": 6, "complete": 6, "failed": 0, "pruned": 0}
    assert [row["kind"] for row in ran(capsys, "study", "export", "slow")] == ["solved"] * 6


SEEN: list[HookOccasion] = []


def test_the_parts_of_a_study_without_pictures(tmp_path: Path) -> None:
    more = "verify: {settings: {mesh: 0}, tolerance: 0.2}\nhooks: {study_end: ['%s:see']}\n"
    more = more.replace("%s", __name__)
    study = load_study(write_study(tmp_path, trials=14, more=more))
    runner = StudyRunner(study, tmp_path / "studies")
    trials = runner.run()
    verification = verify(study, runner.solver, tmp_path / "verified", trials)
    result = result_of(study, trials, conclude(runner, verification), runner.solver.by)
    assert result.best and result.best.verified and result.trials.total == 14
    assert SEEN.pop().summary == {
        "trials": 14,
        "insights_added": result.insights.added,
        "items_pruned": 0,
    }
    insights = runner.guide.advice.insights("plates")
    said = report_text(study, result, insights, trials)
    assert f"(trial {result.best.number}: width" in said and "failures: geometry error" in said
    page = report_html(study, trials, result, insights, {})
    assert page.count("<tr class=") == 14 and insights[0].content in html.unescape(page)
    again = runner_of(study, tmp_path / "studies", None, print, must_have_run=True)
    assert (again.trials(), standing(again).trials) == (trials, result.trials)
    table = list(csv.DictReader(as_csv(study, trials).splitlines()))
    rows = [json.loads(line) for line in as_jsonl(study, trials).splitlines()]
    assert [float(row["params.width"]) for row in table] == [row["params"]["width"] for row in rows]


def see(occasion: HookOccasion) -> None:
    SEEN.append(occasion)


def test_the_shipped_studies_can_be_read(root: Path) -> None:
    studies = [
        load_study(root / "examples" / "studies" / f"{name}.yaml")
        for name in ("bracket", "beam", "long-beam")
    ]
    assert [(one.budget.trials, one.scope) for one in studies] == [
        (25, "brackets"),
        (40, "beams"),
        (40, "beams"),
    ]


@pytest.mark.slow
def test_what_a_study_learned_stands_in_the_playbook(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        write_study(here, name, trials=30)
    ran(capsys, "study", "run", "one.yaml")
    items = {
        row["id"]: row for row in ran(capsys, "playbook", "list", "--domain", "plates")["items"]
    }
    rule = next(
        key for key, row in items.items() if row["content"].startswith("hole / arm width ≥ 0.4")
    )
    assert ran(capsys, "study", "run", "two.yaml")["insights"]["used"]
    audited = [row for row in ran(capsys, "study", "export", "two") if rule in row["audit"]]
    standing = {
        row["id"]: row for row in ran(capsys, "playbook", "list", "--domain", "plates")["items"]
    }[rule]
    assert standing["net_score"] == len(audited)  # each was tried against the rule, and failed
    assert main(["playbook", "retire", rule, "--why", "no", "--by", "Ann", "-q"]) == 0
    capsys.readouterr()
    write_study(here, "three", trials=10)
    ran(capsys, "study", "run", "three.yaml")
    assert not any(rule in row["rules"] for row in ran(capsys, "study", "export", "three"))


@pytest.mark.slow
def test_a_second_process_helps_with_the_trials_of_the_first(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_command_study(here, trials=12, workers=1)
    command = [sys.executable, "-m", "transom", "study", "run", "slow.yaml"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    both = [
        subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    errors = [process.communicate(timeout=180)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum("another process runs this study; this one helps" in text for text in errors) == 1
    assert len({row["number"] for row in ran(capsys, "study", "export", "slow")}) == 12
    assert len((here / "calls.txt").read_text().split()) == 12


@pytest.mark.slow
@pytest.mark.fence
def test_forgotten_trials_teach_nothing_and_free_their_budget(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_study(here, trials=30)
    ran(capsys, "study", "run", "plate.yaml")
    learned = ran(capsys, "playbook", "list", "--domain", "plates")
    assert "geometry error" in json.dumps(learned)
    assert main(["study", "forget", "plate", "--trials", "3,90", "-q"]) == 2
    assert "unknown trial 90" in capsys.readouterr().err
    assert main(["study", "forget", "plate", "--trials", "3;5", "-q"]) == 2
    assert "write e.g. 3,5-9 or all" in capsys.readouterr().err
    assert ran(capsys, "study", "forget", "plate", "--trials", "3,5-6")["forgotten"] == 3
    assert ran(capsys, "study", "forget", "plate")["forgotten"] == 27
    # A related study begins without the rule: no design is rejected by it.
    write_study(here, "second", trials=12, length=90)
    assert ran(capsys, "study", "run", "second.yaml")["trials"]["pruned"] == 0
    # The budget is free again.
    result = ran(capsys, "study", "run", "plate.yaml")
    assert result["trials"]["complete"] + result["trials"]["failed"] == 30


@pytest.mark.slow
@pytest.mark.fence
def test_old_folders_of_solves_are_counted_and_removed_but_those_of_the_best(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_study(here, trials=12)
    result = ran(capsys, "study", "run", "plate.yaml")
    folders = here / ".transom/studies/plate/trials"
    assert len(list(folders.iterdir())) == 12
    assert ran(capsys, "runs", "clean", "--older-than", "1d")["solves"] == []
    for folder in folders.iterdir():
        os.utime(folder, (1e9, 1e9))
    shown = ran(capsys, "runs", "clean", "--older-than", "1d", "--dry-run")["solves"]
    assert (shown[0]["study"], shown[0]["folders"]) == ("plate", 11)
    assert shown[0]["bytes"] > 0
    assert len(list(folders.iterdir())) == 12
    assert ran(capsys, "runs", "clean", "--older-than", "1d")["solves"] == shown
    assert [int(path.name) for path in folders.iterdir()] == [result["best"]["number"]]
    # The trials stay.
    assert len(ran(capsys, "study", "export", "plate")) == 12
