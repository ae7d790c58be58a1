"""The surrogate: what it picks, when it is silent, and how its error is shown."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from transom.errors import InputError
from transom.studies import optimize
from transom.studies.study import Number, Study, random_design
from transom.studies.study_file import check_study
from transom.studies.surrogate import Surrogate, prediction_error
from transom.studies.trials import StudyTrial, ranked

pytest.importorskip("sklearn")

Truth = Callable[[Mapping[str, Any]], tuple[float, float] | None]
"""Returns objective and violation of a design; None: its solve fails."""


def cup_study(direction: str = "minimize", **changes: Any) -> Study:
    """A study with a number, a logarithmic number, a whole number, a choice, and a constant."""
    data: dict[str, Any] = {
        "study": "cup",
        "variables": {
            "radius": {"low": 1, "high": 9},
            "wall": {"low": 0.01, "high": 1, "log": True},
            "ribs": {"low": 0, "high": 6, "integer": True},
            "glaze": {"choices": ["matt", "gloss"]},
            "height": {"low": 4, "high": 4},
        },
        "objectives": [{"name": "weight", "direction": direction}],
        "constraints": [{"name": "stress", "max": 10}],
        "solver": {"use": "own"},
    }
    return check_study({**data, **changes}, where="test")


def cup(design: Mapping[str, Any]) -> tuple[float, float] | None:
    if design["radius"] > 7 and design["glaze"] == "gloss":
        return None
    weight = design["radius"] ** 2 + 30 * design["wall"] + design["ribs"]
    stress = 40 / design["radius"] / (1 + design["wall"])
    return weight, stress / 10 - 1


def solves(study: Study, truth: Truth, number: int, seed: int = 0) -> list[StudyTrial]:
    """Return trials of random designs."""
    pick = random.Random(seed)
    trials = []
    for index in range(number):
        design = random_design(study, pick)
        outcome = truth(design)
        if outcome is None:
            trials.append(
                StudyTrial(number=index, kind="failed", params=design, failure="mesh_error")
            )
            continue
        trials.append(
            StudyTrial(
                number=index,
                kind="solved",
                params=design,
                values=(outcome[0],),
                violations={"stress": outcome[1]},
            )
        )
    return trials


def improvements(study: Study, truth: Truth, sign: float = 1.0) -> float:
    """Return the share of studies in which the pick is feasible, and better than all solves.

    Studies in which no design that is drawn is so do not count.
    """
    improved = possible = 0
    for seed in range(16):
        trials = solves(study, truth, 60, seed)
        # The best designs are left out, so that some of those that are drawn are better.
        ordered = sorted(trials, key=lambda trial: sign * (trial.values or (1e9,))[0])
        trials = sorted(ordered[15:], key=lambda trial: trial.number)
        surrogate = Surrogate.fit(study, trials)
        assert surrogate is not None
        pick = random.Random(f"designs {seed}")
        designs = [random_design(study, pick) for _ in range(40)]
        chosen, _ = surrogate.pick(designs)
        best = ranked(study, trials)[0].values[0]
        better = []
        for number, design in enumerate(designs):
            outcome = truth(design)
            if outcome and outcome[1] <= 0 and sign * (outcome[0] - best) < 0:
                better.append(number)
        possible += bool(better)
        improved += chosen in better
    assert possible >= 8
    return improved / possible


def test_it_picks_designs_that_hold_and_are_better() -> None:
    assert improvements(cup_study(), cup) >= 0.8


def test_more_is_better_if_the_objective_is_maximised() -> None:
    def bowl(design: Mapping[str, Any]) -> tuple[float, float] | None:
        return None if design["radius"] < 2 else cup({**design, "glaze": "matt"})

    assert improvements(cup_study("maximize"), bowl, sign=-1.0) >= 0.8


def test_it_predicts_the_objective_in_its_own_sign_and_unit() -> None:
    for direction in ("minimize", "maximize"):
        study = cup_study(direction)
        surrogate = Surrogate.fit(study, solves(study, cup, 60))
        assert surrogate is not None
        design: dict[str, Number] = {
            "radius": 5.0,
            "wall": 0.1,
            "ribs": 3,
            "glaze": "matt",
            "height": 4.0,
        }
        expected = cup(design)
        assert expected is not None
        assert surrogate.pick([design])[1] == pytest.approx(expected[0], rel=0.1)


def test_without_a_feasible_design_it_looks_for_one() -> None:
    study = cup_study()

    def narrow(design: Mapping[str, Any]) -> tuple[float, float] | None:
        return design["radius"] ** 2, 8.5 - design["radius"]

    trials = [trial for trial in solves(study, narrow, 60) if float(trial.params["radius"]) < 8]
    surrogate = Surrogate.fit(study, trials)
    assert surrogate is not None
    assert surrogate.best is None
    pick = random.Random(1)
    designs = [random_design(study, pick) for _ in range(40)]
    chosen, _ = surrogate.pick(designs)
    widest = sorted(designs, key=lambda design: -float(design["radius"]))
    assert designs[chosen] in widest[:3]


def test_it_is_silent_while_solves_are_few() -> None:
    study = cup_study()
    assert Surrogate.fit(study, solves(study, cup, 12)) is None


def test_it_is_silent_if_nothing_can_be_predicted() -> None:
    study = cup_study()
    noise = random.Random(5)
    trials = solves(study, lambda design: (noise.random(), -1.0), 50)
    assert Surrogate.fit(study, trials) is None


def test_solves_that_were_taken_over_count_once() -> None:
    study = cup_study()
    trials = solves(study, cup, 12)
    copies = [trial.model_copy(update={"same_as": 0, "number": 100}) for trial in trials]
    assert Surrogate.fit(study, [*trials, *copies * 3]) is None


def valley(x: float, y: float) -> float:
    return 1 + (x - 3) ** 2 + 2 * (y - 1) ** 2


def find(tmp_path: Path, **arguments: Any) -> list[StudyTrial]:
    optimum = optimize(
        valley, {"x": (-9, 9), "y": (-9, 9)}, n_trials=30, folder=tmp_path, **arguments
    )
    return list(optimum.trials)


def test_a_study_says_how_far_its_predictions_were_off(tmp_path: Path) -> None:
    trials = find(tmp_path, seed=1, surrogate=16)
    predicted = [trial for trial in trials if trial.predicted is not None]
    assert predicted
    assert {trial.source for trial in predicted} == {"sampler"}
    error = prediction_error(trials)
    assert error is not None
    assert error.picked == len(predicted)
    assert error.error < error.mean_error


def test_a_study_with_a_seed_proposes_the_same_again(tmp_path: Path) -> None:
    first = find(tmp_path / "a", seed=3, surrogate=8)
    again = find(tmp_path / "b", seed=3, surrogate=8)
    assert [trial.params for trial in first] == [trial.params for trial in again]
    assert [trial.predicted for trial in first] == [trial.predicted for trial in again]


def test_the_report_shows_the_error(tmp_path: Path) -> None:
    from transom.studies.report import report_text
    from transom.studies.result import End, result_of
    from transom.studies.verify import Verification

    trials = find(tmp_path, seed=1, surrogate=16)
    study = cup_study(constraints=[])
    result = result_of(study, [], End(verification=Verification(asked=False)), "own")
    text = report_text(study, result, [], trials)
    assert "of the range of the objective in the median" in text
    assert "surrogate: picked" in text


def test_without_scikit_learn_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.gaussian_process", None)
    with pytest.raises(InputError, match=r"surrogate needs scikit-learn.*surrogate"):
        find(tmp_path, surrogate=8)


def test_two_objectives_are_one_error() -> None:
    two: list[dict[str, Number]] = [{"name": "weight"}, {"name": "cost"}]
    with pytest.raises(InputError, match="a single objective"):
        cup_study(objectives=two, sampler={"surrogate": 8})
