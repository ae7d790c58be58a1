"""Suites as people write them: what is read, and what is said where a file is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.evals.helpers import SCENARIO, write_suite
from transom.errors import InputError
from transom.evals import load_suite


def test_a_suite_gives_its_scenarios_what_they_leave_out(tmp_path: Path) -> None:
    own = {"epochs": 2, "least": {"numbers": 0.5}, "data": "own"}
    (tmp_path / "b" / "own").mkdir(parents=True)
    folder = write_suite(
        tmp_path, {"b": own, "a": {}}, epochs=7, timeout=30, least={"verdict": 0.0}
    )
    suite = load_suite(folder)
    first, second = suite.scenarios
    assert (suite.name, suite.product) == (tmp_path.name, "readiness")
    assert (first.id, first.epochs, first.timeout, first.least) == ("a", 7, 30, {"verdict": 0.0})
    assert (second.id, second.epochs, second.timeout) == ("b", 2, 30)
    assert second.least == {"verdict": 0.0, "numbers": 0.5}
    assert (first.data_folder, second.data_folder) == (tmp_path / "data", tmp_path / "b" / "own")


def test_scenarios_are_chosen_by_id_or_tag(tmp_path: Path) -> None:
    suite = load_suite(
        write_suite(tmp_path, {"one": SCENARIO, "two": {"tags": "edge"}, "three": {}})
    )
    assert [one.id for one in suite.only(["edge", "one"]).scenarios] == ["one", "two"]
    with pytest.raises(InputError, match="'four'; known: edge, one, readiness, three, two"):
        suite.only(["four"])


def test_a_scenario_changes_its_definition_with_what_is_right_and_not_with_thresholds(
    tmp_path: Path,
) -> None:
    def definition(scenario: dict[str, Any]) -> str:
        (one,) = load_suite(write_suite(tmp_path, {"failing": scenario})).scenarios
        return one.digest

    first = definition(SCENARIO)
    assert definition({**SCENARIO, "epochs": 3, "title": "x", "least": {"numbers": 0.2}}) == first
    assert (
        definition({**SCENARIO, "expected": {**SCENARIO["expected"], "verdict": "READY"}}) != first
    )


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (
            {"expected": {"verdit": "READY"}},
            "scenario.yaml:2: unknown key expected.verdit; did you mean verdict?",
        ),
        (
            {"least": {"number": 0.5}},
            "scenario.yaml:2: least: unknown scorer 'number'; did you mean numbers?",
        ),
        ({"least": {"numbers": 1.5}}, "least.numbers: input should be less than or equal to 1"),
        (
            {"faults": [{"missing_file": "a", "memory": "down"}]},
            "give exactly one of missing_file, broken_json",
        ),
        ({"epochs": 0}, "epochs: input should be greater than or equal to 1"),
        ({"id": "x"}, "unknown key id; remove it; the folder's name is the id"),
        ({"data": "nowhere"}, "scenario.yaml:1: the data folder nowhere does not exist"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, scenario: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as raised:
        load_suite(write_suite(tmp_path, {"failing": scenario}))
    assert said in str(raised.value)


def test_a_folder_without_a_suite_or_without_scenarios_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"suite\.yaml is missing"):
        load_suite(tmp_path)
    (tmp_path / "suite.yaml").write_text("product: x\n", encoding="utf-8")
    with pytest.raises(InputError, match="no scenario"):
        load_suite(tmp_path)
