"""`optimize`: a Python function in place of a solver and a study file."""

from __future__ import annotations

import faulthandler
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from transom.errors import InputError
from transom.studies import Optimum, StudyFolder, optimize


def beam(width: float, height: float) -> dict[str, float]:
    if height > 3 * width:
        raise RuntimeError("the beam buckles: matrix is singular")
    return {"mass": width * height, "stress": 9e6 / (width * height**2)}


BEAM = {"width": (5, 60), "height": (10, 120)}


@pytest.mark.slow
@pytest.mark.fence
def test_a_function_is_optimised_within_its_constraints(tmp_path: Path) -> None:
    best = optimize(beam, BEAM, minimize="mass", constraints=["stress <= 180"], n_trials=30, seed=1)
    assert best.params is not None and best.value is not None
    assert best.outputs["stress"] <= 180
    assert best.value == best.outputs["mass"]
    assert best.value < 1200
    assert set(best.failures) == {"singularity"}
    assert len([trial for trial in best.trials if trial.kind != "rejected"]) == 30
    assert best.stopped == ""


def test_without_constraints_ten_lines_are_enough() -> None:
    best = optimize(lambda x: (x - 3) ** 2, {"x": (0.0, 10.0)}, n_trials=15, seed=1)
    assert best.params is not None
    assert abs(float(best.params["x"]) - 3) < 1


def test_integers_choices_and_maximising() -> None:
    def count(n: int, kind: str) -> float:
        assert n % 2 == 1
        return n if kind == "good" else 0

    space = {"n": range(1, 10, 2), "kind": ["good", "bad"]}
    best = optimize(count, space, maximize="value", n_trials=15, seed=1)
    assert best.params == {"n": 9, "kind": "good"}


@pytest.mark.slow
def test_what_failed_is_learned_for_the_next_study_in_the_folder(tmp_path: Path) -> None:
    space = {
        "width": {"low": 5, "high": 60, "unit": "mm"},
        "height": {"low": 10, "high": 120, "unit": "mm"},
    }

    def find(study_name: str, n_trials: int) -> Optimum:
        folder = StudyFolder(tmp_path, study_name, scope="beams")
        return optimize(beam, space, minimize="mass", folder=folder, seed=1, n_trials=n_trials)

    first = find("first", 40)
    assert any("singularity" in rule for rule in first.rules)
    again = find("first", 40)
    assert again.trials == first.trials
    second = find("second", 20)
    assert sum(second.failures.values()) <= 2


def test_a_study_begins_with_the_designs_that_one_has() -> None:
    start = [{"width": 20, "height": 60}, {"width": 33}]
    best = optimize(beam, BEAM, minimize="mass", start=start, n_trials=4, seed=1)
    first = [dict(trial.params) for trial in best.trials][:2]
    assert first[0] == start[0] and first[1]["width"] == 33
    assert [trial.source for trial in best.trials] == ["start", "start", "step", "sampler"]


def hangs(x: float) -> float:
    if os.fork() == 0:  # what it starts is ended with it
        time.sleep(60)
    time.sleep(60)
    return x


def test_a_call_that_hangs_is_ended_with_all_that_it_started() -> None:
    began = time.monotonic()
    best = optimize(hangs, {"x": (0.0, 1.0)}, n_trials=1, limits={"seconds": 0.5})
    assert time.monotonic() - began < 20
    assert best.failures == {"timeout": 1} and best.params is None


def dies(x: float) -> float:
    faulthandler.disable()  # pytest's own would print here
    os.kill(os.getpid(), 11)
    return x


def prints(x: float) -> float:
    sys.stdout.write("a line of the function")
    return x


def nothing(x: float) -> None:
    return None


def wrong(x: float) -> str:
    return "much"


@pytest.mark.parametrize(
    ("function", "failure"),
    [(dies, "crash"), (nothing, "not_finite"), (wrong, "solver_error")],
)
def test_a_call_that_dies_or_returns_no_number_fails_its_design(
    function: Callable[..., object], failure: str
) -> None:
    assert optimize(function, {"x": (0.0, 1.0)}, n_trials=2).failures == {failure: 2}


def test_what_a_function_prints_stays_out_of_the_terminal(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    optimize(prints, {"x": (0.0, 1.0)}, n_trials=1, folder=tmp_path)
    assert "a line" not in capfd.readouterr().out
    assert "a line" in (tmp_path / "prints/trials/00000/stdout.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"space": {"x": 3}}, "x: 3 is not a range"),
        ({"space": {"y": (0, 1)}}, "the function cannot be called"),
        ({"space": {"x": (1, 0)}}, "bounds contradict each other"),
        ({"constraints": ["x < 3"]}, "'x < 3' is not a constraint"),
        ({"constraints": ["value <= import os"]}, "is not a formula"),
        ({"require": ["x <"]}, "is not a formula"),
        ({"require": ["z < 1"]}, "unknown name z"),
        ({"start": [{"x": 7}]}, "x = 7 is outside its bounds"),
        ({"minimize": "a", "maximize": "b"}, "both minimize and maximize"),
    ],
)
def test_a_wrong_argument_is_one_error(arguments: dict[str, object], message: str) -> None:
    given = {"space": {"x": (0.0, 1.0)}, "n_trials": 1, **arguments}
    with pytest.raises(InputError, match=message):
        optimize(prints, **given)  # type: ignore[arg-type]


def test_arguments_of_the_version_before_warn_and_still_count(tmp_path: Path) -> None:
    old: dict[str, Any] = {
        "name": "first",
        "scope": "lines",
        "workers": 2,
        "seconds": 30,
        "memory": 3e9,
    }
    with pytest.warns(DeprecationWarning) as warned:
        optimize(prints, {"x": (0.0, 1.0)}, n_trials=2, folder=tmp_path, **old)
    assert [name for name in old if not any(f"({name}=)" in str(w.message) for w in warned)] == []
    assert {warning.filename for warning in warned} == {__file__}
    assert (tmp_path / "first/trials/00001/stdout.txt").is_file()
    current = StudyFolder(tmp_path, "first", scope="lines")
    # The same study goes on: all its trials are there already.
    again = optimize(
        prints,
        {"x": (0.0, 1.0)},
        n_trials=2,
        folder=current,
        n_jobs=2,
        limits={"seconds": 30, "memory": "3 GB"},
    )
    assert [trial.number for trial in again.trials] == [0, 1]


def test_an_argument_that_never_was_is_an_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'sampler'"):
        optimize(prints, {"x": (0.0, 1.0)}, sampler="tpe")


def test_a_misspelled_output_does_not_spend_the_budget() -> None:
    with pytest.raises(InputError, match="has no output mas, which"):
        optimize(beam, BEAM, minimize="mas", n_trials=40, seed=1)
