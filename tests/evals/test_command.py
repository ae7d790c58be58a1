"""`transom eval` as a person types it, on checklist items."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from transom.cli import main
from transom.evals import Evaluation
from transom.formats.yaml_files import dump_yaml

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "examples" / "evals" / "checklist"
ITEM = {
    "description": "Confirm that the moon is well rested.",
    "requirements": {"value": "N/A", "pattern_items": []},
    "input_files": ["${LOGS}/sta.log"],
    "waivers": {"value": "N/A", "waive_items": []},
}


class Command:
    """The command line in a folder with one small suite, whose item the rules do not understand."""

    def __init__(self, here: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.here, self.capfd = here, capfd
        (here / "logs").mkdir()
        (here / "logs" / "sta.log").write_text("slack 0.1\n", encoding="utf-8")
        (here / "moon.yaml").write_text(dump_yaml(ITEM), encoding="utf-8")
        self.write({"expected": {"verdict": "NEEDS_MODEL"}, "tags": ["words"]})

    def write(self, scenario: dict[str, Any], name: str = "moon") -> None:
        folder = self.here / "suite" / name
        folder.mkdir(parents=True, exist_ok=True)
        (self.here / "suite" / "suite.yaml").write_text(
            "product: checklist\ndata: ..\n", encoding="utf-8"
        )
        given = {"input": {"item": "moon.yaml", "variables": {"LOGS": "logs"}}, **scenario}
        (folder / "scenario.yaml").write_text(dump_yaml(given), encoding="utf-8")

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self.capfd.readouterr()
        code = main(["eval", *arguments, "--workspace", str(self.here / ".transom")])
        out, err = self.capfd.readouterr()
        assert "Traceback" not in err and "defect" not in err, err
        return code, out, err


@pytest.fixture
def command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path, capfd)


def test_a_suite_is_run_kept_and_compared(command: Command) -> None:
    code, out, err = command("run", "suite", "--save", "main", "--report", "junit:out/j.xml")
    assert "kept as the baseline main" in out
    assert "--save NAME" not in out
    assert code == 0, out + err
    assert out.startswith("pass   moon\n")
    assert "1 of 1 scenario passed, pass rate 1.00" in out
    assert "moon/1: pass" in err
    (suite,) = list(JUnitXml.fromfile(str(command.here / "out" / "j.xml")))
    assert (suite.tests, suite.failures) == (1, 0)

    command.write(
        {"expected": {"verdict": "NEEDS_MODEL"}, "faults": [{"missing_file": "moon.yaml"}]}, "gone"
    )
    (command.here / "moon.yaml").write_text(
        dump_yaml({**ITEM, "descripton": "x"}), encoding="utf-8"
    )
    code, out, _ = command("run", "suite", "--format", "json", "-q")
    made = Evaluation.model_validate_json(out)
    assert code == 2
    assert {row.id: row.status for row in made.scenarios} == {"gone": "error", "moon": "error"}
    assert "unknown key descripton" in made.scenarios[1].details.epochs[0].why[0]
    assert made.regression_analysis.baseline == "main"
    assert made.regression_analysis.regressions == ("moon: passed, and no longer does",)
    assert made.regression_analysis.warnings[-1] == "not in the baseline: gone"

    code, out, _ = command("compare", "main", made.run_id)
    assert code == 1
    assert "regression: moon: passed, and no longer does" in out
    code, out, _ = command("compare", made.run_id, "main")
    assert code == 0
    assert "better: moon: passes now" in out

    _, out, _ = command("history", "suite")
    rows = [line.split() for line in out.splitlines()]
    assert [(row[1:4], row[-1]) for row in rows[1:]] == [
        (["1", "of", "1"], "main"),
        (["0", "of", "2"], made.fingerprint.transom),
    ]
    _, out, _ = command("history", "suite", "--format", "json")
    assert [one["baselines"] for one in json.loads(out)["evaluations"]] == [["main"], []]


def test_each_epoch_is_asked_anew_and_no_item_is_claimed_for_the_workspace(
    command: Command,
) -> None:
    code, out, _ = command("run", "suite", "--epochs", "2", "--format", "json", "-q")
    assert (code, Evaluation.model_validate_json(out).summary.pass_k) == (0, {"1": 1.0, "2": 1.0})
    (run,) = (command.here / ".transom" / "runs").glob("*/*")
    assert len(list(run.glob("moon/*/work/.transom/runs/*/*"))) == 2
    assert main(["resume", run.name, "--workspace", str(command.here / ".transom")]) == 0
    assert "unchanged, reused" in command.capfd.readouterr().err


@pytest.mark.parametrize(
    ("scenario", "arguments", "said"),
    [
        ({}, ("run", "nowhere"), "nowhere: suite.yaml is missing"),
        ({}, ("run", "suite", "--only", "sun"), "no scenario has the id or tag 'sun'; known: moon"),
        ({}, ("run", "suite", "--report", "pdf:x"), "write FORMAT:PATH with one of json, junit"),
        ({}, ("run", "suite", "--judge", "nobody"), "nobody"),
        ({"tgas": []}, ("run", "suite"), "scenario.yaml:5: unknown key tgas; did you mean tags?"),
        ({}, ("compare", "a", "b"), "unknown evaluation 'a'"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    command: Command, scenario: dict[str, Any], arguments: tuple[str, ...], said: str
) -> None:
    command.write(scenario)
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert said in err and err.count("\n") == 1


def test_a_product_that_has_no_runner_is_named_with_those_that_have(command: Command) -> None:
    (command.here / "suite" / "suite.yaml").write_text("product: oracle\n", encoding="utf-8")
    code, _, err = command("run", "suite")
    assert code == 2
    assert (
        "suite.yaml: no product 'oracle' can be evaluated; write checklist or investigator" in err
    )


def test_items_and_folders_lie_below_the_data(command: Command) -> None:
    for given, said in (
        ({"item": "../moon.yaml"}, "../moon.yaml is outside the data"),
        ({"item": "moon.yaml", "variables": {"LOGS": "/etc"}}, "/etc is outside the data"),
        ({}, "the scenario has no input item"),
        ({"item": "moon.yaml", "variables": ["logs"]}, "input.variables is no mapping"),
    ):
        command.write({"input": given})
        code, out, _ = command("run", "suite")
        assert code == 2
        assert said in out


@pytest.mark.slow
def test_the_shipped_suite_passes_with_the_embedded_default(command: Command) -> None:
    code, out, err = command("run", str(SUITE), "-q")
    assert code == 0, out + err
    assert "14 of 14 scenarios passed" in out
    assert "decision_quality 1.00" in out
