"""Scenarios in a CSV table, and an evaluation as a log of Inspect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.evals.test_side_by_side import AFTER
from transom.errors import InputError
from transom.evals import load_suite
from transom.evals.inspect_log import inspect_log, log_name


def _suite(folder: Path, table: str) -> Path:
    (folder / "data").mkdir()
    (folder / "suite.yaml").write_text("product: investigator\ndata: data\nepochs: 2\n", "utf-8")
    (folder / "scenarios.csv").write_text(table, "utf-8")
    return folder


def test_a_row_is_a_scenario_with_the_defaults_of_the_suite(tmp_path: Path) -> None:
    table = (
        "id,question,verdict,tags,epochs,expected.criteria,limits.tokens\n"
        'one,"Is it ready, really?",READY;NOT_READY,smoke; night,3,"{""tests.unit"": ""pass""}",90\n'
        "two,Is the other ready?,,,,,\n"
    )
    one, two = load_suite(_suite(tmp_path, table)).scenarios
    assert (one.id, one.epochs, one.tags) == ("one", 3, ("smoke", "night"))
    assert one.input == {"question": "Is it ready, really?"}
    assert one.expected.verdict == ("READY", "NOT_READY")
    assert one.expected.criteria == {"tests.unit": ("pass",)}
    assert one.limits.tokens == 90
    assert (two.id, two.epochs, two.expected.verdict) == ("two", 2, ())
    assert two.data_folder == (tmp_path / "data").resolve()


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("id,question,verdct\na,Is it?,READY\n", "scenarios.csv:1: unknown column 'verdct'"),
        ("id,question\n,Is it?\n", "scenarios.csv:2: the row has no id"),
        ("id,question\na,Is it?\na,Is it?\n", "scenarios.csv:3: the id 'a' is used twice"),
        ("id,question,epochs\na,Is it?,many\n", "scenarios.csv:2: epochs"),
        ("id,question\na,Is it?,more\n", "scenarios.csv:2: the row has more cells than the head"),
        ('id,question,limits\na,Is it?,"{tokens"\n', "scenarios.csv:2: limits is not JSON"),
    ],
    ids=["column", "no id", "twice", "value", "cells", "json"],
)
def test_a_wrong_table_is_named_with_its_line(tmp_path: Path, table: str, problem: str) -> None:
    with pytest.raises(InputError) as failure:
        load_suite(_suite(tmp_path, table))
    assert problem in str(failure.value)


def test_an_id_of_a_folder_is_not_used_in_the_table(tmp_path: Path) -> None:
    folder = _suite(tmp_path, "id,question\na,Is it?\n")
    (folder / "a").mkdir()
    (folder / "a" / "scenario.yaml").write_text("input: {question: Is it?}\n", "utf-8")
    with pytest.raises(InputError, match="a folder has the id 'a', too"):
        load_suite(folder)


def test_a_log_of_inspect_has_a_sample_for_each_epoch() -> None:
    log = json.loads(json.dumps(inspect_log(AFTER)))
    epochs = [(row.id, number + 1) for row in AFTER.scenarios for number in range(row.epochs)]
    assert [(sample["id"], sample["epoch"]) for sample in log["samples"]] == epochs
    passed = [sample["scores"]["passed"]["value"] for sample in log["samples"]]
    statuses = [epoch.status for row in AFTER.scenarios for epoch in row.details.epochs]
    assert passed == [1.0 if status == "pass" else 0.0 for status in statuses]
    assert log["results"]["total_samples"] == len(epochs)
    assert log["eval"]["model"].endswith(AFTER.fingerprint.model)
    # Inspect lists files alone whose names are a time, a task and an id.
    stamp, task, identifier = log_name(AFTER).removesuffix(".json").split("_")
    assert stamp[4] == "-" and task and identifier
