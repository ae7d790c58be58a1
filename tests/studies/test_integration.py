"""Learning for runners of other people, in the two forms that they may take."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest

from transom.errors import InputError
from transom.learning import Curator
from transom.studies import samplers
from transom.studies.advice import RULE, Advice, StudyInsight
from transom.studies.failure_rules import FailureRule, FeatureCondition
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


class RunnerOnAMachine:
    """A runner whose width grows from trial to trial, with an outage of the machine in between."""

    def __init__(self, outage: str) -> None:
        self.outage = outage

    def objective(self, params: dict[str, float]) -> float:
        if 14 <= params["number"] < 30:
            raise OSError(self.outage)
        return params["width"]

    def run(self, n_trials: int) -> None:
        for number in range(n_trials):
            with contextlib.suppress(OSError):
                self.objective({"number": number, "width": 1 + number * 0.2})


@pytest.mark.parametrize(
    "outage",
    [
        "cannot check out a licence: licence server is down",
        "[Errno 116] Stale file handle: '/net/plates'",
        "[Errno 28] No space left on device",
        "the desktop has gone away",
        "queue broker overdue, handed back",
    ],
)
@pytest.mark.parametrize("n_trials", [30, 31])
def test_an_outage_teaches_no_rule_and_scores_none(
    tmp_path: Path, outage: str, n_trials: int
) -> None:
    measured: Any = {"folder": tmp_path, "features": {"width": "width"}}
    advice = Advice(tmp_path)
    # A rule of an earlier study, which warns of every design of the outage.
    rule = FailureRule((FeatureCondition("width", True, 3.5),), "mesh_error", 9, 9)
    earlier = advice.add(StudyInsight("plates", RULE, "wide plates fail", rule.to_data()))
    runner: Any = ContextAwareRunner(RunnerOnAMachine(outage), "s1", "plates", **measured)
    runner.run(n_trials=n_trials)
    report = runner.get_learning_report()
    assert sum(report["failures"].values()) == 16 and report["total_trials"] == n_trials
    assert report["insights_added"] == 0
    assert all(row.failure is None for row in advice.rows("plates"))
    assert len(advice.rows("plates")) == n_trials - 16
    (insight,) = advice.insights("plates")
    assert (insight.id, insight.helpful) == (earlier, 0)


def test_an_unclear_failure_between_good_trials_teaches_a_rule(tmp_path: Path) -> None:
    class Runner(RunnerOnAMachine):
        def objective(self, params: dict[str, float]) -> float:
            if params["number"] % 3 == 0:
                raise OSError("solver said: bad plate")
            return params["width"]

        def run(self, n_trials: int) -> None:
            for number in range(n_trials):
                width = 9.0 + number * 0.01 if number % 3 == 0 else 1 + number * 0.02
                with contextlib.suppress(OSError):
                    self.objective({"number": number, "width": width})

    measured: Any = {"folder": tmp_path, "features": {"width": "width"}}
    runner: Any = ContextAwareRunner(Runner(""), "s1", "plates", **measured)
    runner.run(n_trials=45)
    (insight,) = runner.get_learning_report()["insights"]
    assert insight["content"].startswith("width ≥")


class OwnStudy(TheirRunner):
    """A runner that has its study, and during whose tenth trial a person does something."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__(5)
        self.act = act
        self.study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=5))

    def run(self, n_trials: int) -> optuna.Study:
        def objective(trial: optuna.Trial) -> float:
            if trial.number == 10:
                self.act()
            return self.objective(trial)

        self.study.optimize(objective, n_trials=n_trials, catch=(RuntimeError,))
        return self.study


@pytest.mark.parametrize("way", ["retire", "forget the run", "forget its trials"])
def test_a_runner_of_ones_own_follows_no_rule_that_ends_during_its_run(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No design that a rule rejects is tried nevertheless.
    monkeypatch.setattr(samplers, "_AUDIT", 0.0)
    Mine(tmp_path).run(n_trials=60)
    advice = Advice(tmp_path)
    (rule,) = [insight for insight in advice.insights("plates") if insight.kind == RULE]

    def act() -> None:
        if way == "forget its trials":
            advice.forget(keys=[], ids=[rule.id])
        elif way == "retire":
            Curator(advice.playbook).retire(rule.id, "an outage")
        else:
            Curator(advice.playbook).forget("first")

    wrapped: Any = ContextAwareRunner(
        OwnStudy(act), "second", "plates", folder=tmp_path, features=FEATURES
    )
    study = wrapped.run(n_trials=70)
    failed = [trial.number for trial in study.trials if trial.state.name == "FAIL"]
    assert len([number for number in failed if number < 10]) <= 2
    assert len([number for number in failed if number > 10]) > 10
    assert not wrapped._learning.warnings({"width": 20, "hole": 15})


@pytest.mark.parametrize("value", [[], (), "", "12.5", [1.0, float("nan")], None])
def test_an_objective_without_a_number_has_not_solved(tmp_path: Path, value: object) -> None:
    class Returning:
        def objective(self, trial: object) -> object:
            return value

        def run(self) -> object:
            return self.objective({"width": 20.0})

    theirs: Any = ContextAwareRunner(Returning(), folder=tmp_path)
    assert theirs.run() is value
    report = theirs.get_learning_report()
    assert (report["total_trials"], report["success_rate"]) == (1, 0.0)
