"""Transom's sampler for `optuna.create_study`: Optuna's own checks, and what it learns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import optuna
import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)

from transom.learning import Curator, Playbook
from transom.studies.samplers import TransomSampler

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")


class TestOptunasChecks(BasicSamplerTestCase, MultiObjectiveSamplerTestCase):
    """The checks that all of Optuna's own samplers pass."""

    @pytest.fixture
    def sampler(self, tmp_path: Path) -> Callable[[], BaseSampler]:
        return lambda: TransomSampler(folder=tmp_path / "rules", seed=1)


class TestOptunasChecksOfRelativeSamplers(RelativeSamplerTestCase):
    """The checks of samplers that propose several parameters at once, from the first trial on."""

    @pytest.fixture
    def sampler(self, tmp_path: Path) -> Callable[[], BaseSampler]:
        base = optuna.samplers.TPESampler(n_startup_trials=0, multivariate=True, seed=1)
        return lambda: TransomSampler(folder=tmp_path / "rules", base=base)


def objective(trial: optuna.Trial) -> float:
    a, b = trial.suggest_float("a", 1, 10), trial.suggest_float("b", 1, 10)
    if a < b / 1.5:
        raise RuntimeError("did not converge")
    return a * b


def failed_share(sampler: BaseSampler, trials: int = 40) -> float:
    """Return the share of trials that failed in a study of the sampler."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=trials, catch=(RuntimeError,))
    return sum(trial.state.name == "FAIL" for trial in study.trials) / trials


def transom(folder: Path, seed: int) -> TransomSampler:
    return TransomSampler(folder=folder, scope="plates", features={"a / b": "a / b"}, seed=seed)


@pytest.mark.slow
@pytest.mark.fence
def test_a_later_study_keeps_out_of_the_region_where_an_earlier_one_failed(tmp_path: Path) -> None:
    alone = [failed_share(TransomSampler(seed=seed)) for seed in (2, 3)]
    failed_share(transom(tmp_path, 1))
    later = [failed_share(transom(tmp_path, seed)) for seed in (2, 3)]
    assert sum(later) < sum(alone) / 2
    assert next(iter(transom(tmp_path, 4).rules)).content.startswith("a / b ≤ 0.")


def test_failures_steer_the_default_sampler_within_a_study(tmp_path: Path) -> None:
    plain = optuna.samplers.TPESampler(seed=1, multivariate=True, constant_liar=True)
    assert failed_share(TransomSampler(seed=1), 60) < failed_share(plain, 60)


def test_an_outage_at_the_end_of_a_study_teaches_nothing(tmp_path: Path) -> None:
    study = optuna.create_study(sampler=transom(tmp_path, 1))

    def breaks(trial: optuna.Trial) -> float:
        a, b = trial.suggest_float("a", 1, 10), trial.suggest_float("b", 1, 10)
        if trial.number >= 15:
            raise ConnectionError("the licence server does not answer")
        return a * b

    study.optimize(breaks, n_trials=60, catch=(ConnectionError,))
    assert transom(tmp_path, 2).rules == []


def test_rules_know_choices(tmp_path: Path) -> None:
    """Glue fails with many ribs: a rule says so, and the second study keeps off."""

    def objective(trial: optuna.Trial) -> float:
        joint = trial.suggest_categorical("joint", ["weld", "bolt", "glue"])
        ribs = trial.suggest_int("ribs", 0, 9)
        if joint == "glue" and ribs > 4:
            raise RuntimeError("no equilibrium")
        return float(10 - ribs)

    failed = []
    for seed in range(2):
        sampler = TransomSampler(scope="joints", folder=tmp_path, seed=seed)
        study = optuna.create_study(sampler=sampler, study_name=f"joints-{seed}")
        if seed:
            assert any("joint is glue" in rule.content for rule in sampler.rules)
        random_design = optuna.samplers.RandomSampler(seed=seed)
        sampler.base = random_design
        study.optimize(objective, n_trials=120, catch=(RuntimeError,))
        failed.append(sum(trial.state.name == "FAIL" for trial in study.trials))
    assert failed[0] >= 10 and failed[1] <= failed[0] / 2


def test_a_rule_that_a_person_retires_ends_before_the_next_trial(tmp_path: Path) -> None:
    failed_share(transom(tmp_path, 1))
    sampler = transom(tmp_path, 2)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=2, catch=(RuntimeError,))
    rules = list(sampler.rules)
    assert rules
    curator = Curator(Playbook(tmp_path / "playbook.db"))
    for rule in rules:
        curator.retire(rule.id, why="the mesher was replaced", by="ada")
    # Another rule, or none, may act; the retired ones do not, before any new failure.
    study.ask()
    assert not {rule.id for rule in rules} & {rule.id for rule in sampler.rules}
