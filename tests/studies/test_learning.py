"""What studies learn from each other: rules, designs to begin with, margins; and how a person
overrules them.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.storages import InMemoryStorage

from tests.fuzzing import examples
from tests.studies.helpers import runner, write_study
from transom.studies.advice import DESIGN, NUMERICS, RULE, Advice, StudyInsight
from transom.studies.failure_rules import (
    CERTAIN,
    FailureRule,
    FeatureCondition,
    Features,
    SolveRow,
    learn,
    wilson,
)
from transom.studies.guide import StudyGuide
from transom.studies.report import report_text
from transom.studies.result import End, result_of
from transom.studies.runner import StudyRunner
from transom.studies.study_file import load_study
from transom.studies.trials import counts, ranked, violations
from transom.studies.verify import Verification, verify


def plates(number: int, seed: int = 0) -> list[SolveRow]:
    pick = random.Random(seed)
    rows = []
    for _ in range(number):
        width, slack, noise = pick.uniform(10, 40), pick.uniform(0.1, 0.6), pick.random()
        thin = pick.uniform(0.5, 4)
        broken = (
            "geometry_error"
            if slack >= 0.48
            else "mesh_error"
            if slack >= 0.4 and thin <= 1
            else None
        )
        rows.append(
            SolveRow(
                {"hole / width": slack, "thickness": thin, "width": width, "noise": noise}, broken
            )
        )
    return rows


def test_rules_are_found_with_their_thresholds_and_told_in_words() -> None:
    rules = learn(plates(500))
    first = rules[0]
    assert (first.failure, first.hits) == ("geometry_error", first.total)
    assert first.sentence.startswith("hole / width ≥ 0.48 → geometry error, ")
    second = next(rule for rule in rules if rule.failure == "mesh_error")
    assert {condition.feature for condition in second.conditions} == {"hole / width", "thickness"}
    unseen = plates(500, seed=1)
    caught = [any(rule.matches(row.features) for rule in rules) for row in unseen]
    failed = [row.failure is not None for row in unseen]
    assert sum(a and b for a, b in zip(caught, failed, strict=True)) > 0.95 * sum(failed)
    assert sum(a and not b for a, b in zip(caught, failed, strict=True)) <= 0.01 * len(unseen)


@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.3, 0.5]))
@settings(max_examples=examples(10))
def test_rules_of_noise_are_few_and_every_rule_is_certain_on_its_rows(
    seed: int, share: float
) -> None:
    pick = random.Random(seed)
    rows = [
        SolveRow(
            {"a": pick.random(), "b": pick.random()}, "crash" if pick.random() < share else None
        )
        for _ in range(150)
    ]
    rules = learn(rows)
    assert len(rules) <= 2
    for rule in rules:
        covered = [row for row in rows if rule.matches(row.features)]
        assert (rule.total, rule.hits) == (
            len(covered),
            sum(row.failure is not None for row in covered),
        )
        # the rule itself was held to rows that were still open
        assert wilson(rule.hits, rule.total) > CERTAIN - 0.1


def test_features_are_ratios_of_what_has_one_unit(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path, more='features: {area: "hole**2 / width**2"}\n'))
    found = Features.of(study)
    assert sorted(found.formulas) == ["area", "hole / length", "hole / width", "length / width"]
    assert found(study.values({"width": 20.0, "hole": 5.0}))["area"] == 0.0625


def made(
    folder: Path, name: str, trials: int = 40, length: float = 80, more: str = ""
) -> StudyRunner:
    # Which storage keeps the trials is not what is tested here; the one in memory waits for no
    # disk.
    return runner(
        folder, write_study(folder, name, trials, length, more), storage=InMemoryStorage()
    )


def conclude(one: StudyRunner) -> Verification:
    trials = one.run()
    found = verify(one.study, one.solver, one.folder / "verified", trials)
    one.guide.learn(trials, found)
    return found


def test_the_second_study_does_not_repeat_the_mistakes_of_the_first(tmp_path: Path) -> None:
    first = made(tmp_path, "first")
    conclude(first)
    assert counts(first.trials()).pruned == 0
    second = made(tmp_path, "second", length=120)
    conclude(second)
    trials = second.trials()
    assert counts(trials).failed < counts(first.trials()).failed / 2
    rejected = [trial for trial in trials if trial.kind == "rejected"]
    audited = [trial for trial in trials if trial.audit]
    assert rejected and all(
        trial.params["hole"] / trial.params["width"] > 0.4  # type: ignore[operator]  # both are numbers
        for trial in rejected
    )
    assert "hole / arm width ≥ 0.4" in rejected[0].reason and "geometry error" in rejected[0].reason
    stored = {one.number: one for one in second._optuna.trials}
    assert all(stored[trial.number].state.name == "COMPLETE" for trial in rejected)
    assert all(stored[trial.number].constraints["solved"] > 0 for trial in rejected)
    known = {one.id: one for one in Advice(tmp_path / "studies").insights("plates")}
    assert sum(one.helpful + one.harmful for one in known.values() if one.kind == RULE) == sum(
        len(trial.audit) for trial in audited
    )
    began = [trial for trial in trials if trial.source not in ("sampler", "step")]
    assert began and all(trial.feasible for trial in began)
    assert {known[trial.source].kind for trial in began} == {DESIGN}


def test_a_rule_that_is_wrong_loses_its_standing_unless_it_is_pinned_and_a_veto_ends_it(
    tmp_path: Path,
) -> None:
    advice = Advice(tmp_path / "studies")
    wrong = FailureRule((FeatureCondition("hole / width", False, 0.3),), "mesh_error", 40, 40)
    rule_id = advice.add(StudyInsight("plates", RULE, wrong.sentence, wrong.to_data()))
    audits = "learning: {audit: 0.5}\n"
    first = made(tmp_path, "first", more=audits)
    assert [rule.id for rule in first.guide.rules] == [rule_id]
    conclude(first)
    (left,) = [one for one in advice.insights("plates") if one.id == rule_id]
    assert (left.helpful, left.harmful >= 2) == (0, True)
    assert not left.acts
    pinned = made(tmp_path, "second", more=f"learning: {{pin: [{rule_id}]}}\n")
    assert rule_id in {rule.id for rule in pinned.guide.rules}
    vetoed = made(tmp_path, "third", more=f"learning: {{veto: [{rule_id}]}}\n")
    assert rule_id not in {rule.id for rule in vetoed.guide.rules}


def test_designs_that_exploit_a_coarse_mesh_are_reported_and_the_next_study_keeps_its_distance(
    tmp_path: Path,
) -> None:
    # on it the plate's stress is 10 % higher
    finer = "verify: {settings: {mesh: 0}, tolerance: 0.2}\n"
    first = made(tmp_path, "first", more=finer)
    found = conclude(first)
    assert found.exploited and "it violates stress by" in found.exploited[0].reason
    best = found.best
    assert best is not None and best.fine["stress"] <= 100
    margin = made(tmp_path, "second", more=finer).guide.margin
    assert margin["stress"] == pytest.approx(1.1)
    second = made(tmp_path, "second", more=finer)
    again = conclude(second)
    assert not again.exploited
    assert {one.kind for one in second.guide.insights} == {RULE, DESIGN, NUMERICS}


def test_no_outcome_is_lost_with_four_writers_and_none_counts_twice(tmp_path: Path) -> None:
    store = Advice(tmp_path)
    assert store.add(StudyInsight("s", DESIGN, "a design", {"key": "a"})) == "str-00001"
    assert store.add(StudyInsight("s", DESIGN, "the design again", {"key": "a"})) == "str-00001"
    children = []
    for name in "abcd":
        child = os.fork()
        if not child:
            for number in range(100):
                Advice(tmp_path).outcome("str-00001", helpful=True, study=name, trial=number)
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    with store.path.open("a") as file:
        file.write('{"event": "add", "id": "str-0')  # cut short, as by a kill
    store.outcome("str-00001", helpful=True, study="a", trial=5)
    store.outcome("str-00001", helpful=False, study="e", trial=1)
    store.keep("s", "e", [])
    (one,) = store.insights("s")
    assert (one.helpful, one.harmful, one.content) == (400, 1, "the design again")
    assert all(json.loads(line) for line in store.path.read_text().splitlines())


def test_rows_of_a_study_that_is_run_again_take_the_place_of_its_old_ones(tmp_path: Path) -> None:
    rows = Advice(tmp_path)
    rows.keep("s", "one", [SolveRow({"a": 1.0}, None)])
    rows.keep("s", "two", [SolveRow({"a": 2.0}, "crash")])
    rows.keep("s", "one", [SolveRow({"a": 3.0}, None)])
    rows.keep("other", "three", [SolveRow({"a": 4.0}, None)])
    assert sorted(row.features["a"] for row in rows.rows("s")) == [2.0, 3.0]


def test_requirements_are_kept_without_a_solve(tmp_path: Path) -> None:
    one = made(tmp_path, "strict", 10, more="require: ['hole <= 4']\n")
    trials = one.run()
    assert all(float(trial.params["hole"]) <= 4 for trial in trials if trial.kind != "rejected")
    assert counts(trials).complete == 10 and counts(trials).pruned > 0
    assert StudyGuide(one.study, one.guide.advice).rules == []


def test_what_finer_settings_change_never_excuses_a_design(tmp_path: Path) -> None:
    more = 'constraints: [{name: stress, max: 100}, {name: "safety", min: 2}]'
    path = write_study(tmp_path)
    path.write_text(path.read_text().replace("constraints: [{name: stress, max: 100}]", more))
    study = load_study(path)
    found = violations(study, {"stress": 95, "safety": 1.9}, {"stress": 1.1, "safety": 1.1})
    assert found["stress"] == pytest.approx(0.045) and found["safety"] == pytest.approx(0.05)


def test_a_design_that_finer_settings_refute_is_no_best_and_one_that_drifts_is_not_verified(
    tmp_path: Path,
) -> None:
    # the stress rises by 10 %
    one = made(tmp_path, "plate", more="verify: {settings: {mesh: 0}, tolerance: 0.05}\n")
    trials = one.run()
    found = verify(one.study, one.solver, one.folder / "verified", trials)
    result = result_of(one.study, trials, End(verification=found), "plate")
    assert result.best and result.best.verified is False
    assert [each.number for each in result.drifting] == [result.best.number]
    assert "stress differs by 10.0%" in report_text(one.study, result, [], trials)
    refuted = found.tried[0].model_copy(
        update={"verdict": "exploits", "number": ranked(one.study, trials)[0].number}
    )
    result = result_of(
        one.study, trials, End(verification=Verification(asked=True, tried=(refuted,))), "plate"
    )
    assert result.best and result.best.number != refuted.number
