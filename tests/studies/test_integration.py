"""Learning for runners of other people, in the two forms that they may take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
import pytest

from transom.errors import InputError
from transom.studies.integration import ContextAwareRunner, ContextEngineeringMixin, Learning

FEATURES = {"hole / width": "hole / width"}


class TheirRunner:
    """As people write them around Optuna."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def objective(self, trial: optuna.Trial) -> float:
        width, hole = trial.suggest_float("width", 10, 40), trial.suggest_float("hole", 2, 18)
        if hole / width > 0.45:
            raise RuntimeError("mesh failed: element 3 has a negative jacobian")
        return width - hole

    def run(self, n_trials: int) -> optuna.Study:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=self.seed))
        study.optimize(self.objective, n_trials=n_trials, catch=(RuntimeError,))
        return study


class Mine(ContextEngineeringMixin, TheirRunner):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.init_context_engineering("first", "plates", folder=folder, features=FEATURES)


def test_a_mixin_and_a_wrapper_learn_from_each_other(tmp_path: Path) -> None:
    mine = Mine(tmp_path)
    study = mine.run(n_trials=60)
    report = mine.get_learning_report()
    failed = sum(trial.state.name == "FAIL" for trial in study.trials)
    assert report["failures"] == {"mesh_error": failed} and failed > 6
    assert report["insights"][0]["content"].startswith("hole / width ≥ 0.4")

    theirs: Any = ContextAwareRunner(
        TheirRunner(1), "second", "plates", folder=tmp_path, features=FEATURES
    )
    assert theirs.seed == 1
    theirs.run(n_trials=60)
    second = theirs.get_learning_report()
    (insight,) = second["insights"]
    assert (insight["helpful_count"] >= 5, insight["harmful_count"]) == (True, 0)
    assert second["insights_added"] == 0  # the same rule, with the numbers of both


def test_a_rule_warns_before_a_solve_and_a_runner_without_an_objective_is_refused(
    tmp_path: Path,
) -> None:
    Mine(tmp_path).run(n_trials=60)
    learning = Learning("next", "plates", tmp_path, features=FEATURES)
    assert [one.rule.failure for one in learning.warnings({"width": 20.0, "hole": 15.0})] == [
        "mesh_error"
    ]
    assert not learning.warnings({"width": 20.0, "hole": 5.0})
    with pytest.raises(InputError, match="object has no method objective"):
        ContextAwareRunner(object(), folder=tmp_path)


class RunnerWithStudy:
    """A runner that keeps its Optuna study as an attribute, as many do."""

    def __init__(self, seed: int) -> None:
        self.own_sampler = optuna.samplers.RandomSampler(seed=seed)
        self.study = optuna.create_study(sampler=self.own_sampler)

    def objective(self, trial: optuna.Trial) -> float:
        width = trial.suggest_float("width", 5, 60)
        hole = trial.suggest_float("hole", 1, 20)
        if hole > 0.45 * width:
            raise RuntimeError("the mesh has a negative jacobian")
        return width - hole

    def run(self, n_trials: int) -> int:
        self.study.optimize(self.objective, n_trials=n_trials, catch=(RuntimeError,))
        return sum(trial.state.name == "FAIL" for trial in self.study.trials)


def test_rules_act_on_a_runner_whose_study_is_an_attribute(tmp_path: Path) -> None:
    failed = []
    for seed in range(2):
        theirs = RunnerWithStudy(seed)
        more: Any = {"folder": tmp_path, "features": FEATURES}
        failed.append(ContextAwareRunner(theirs, f"s{seed}", "plates", **more).run(n_trials=60))
        assert theirs.study.sampler is theirs.own_sampler
    assert failed[0] >= 10 and failed[1] <= failed[0] / 2
