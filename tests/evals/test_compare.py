"""Comparing with a baseline: by name where a model always answers alike, beyond chance where it
is sampled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from benchmarks.evals import FALSE_ALARMS, FOUND_AT_20, KINDS, Kind, rate

from tests.evals.helpers import RULES, SAMPLED
from transom.errors import InputError
from transom.evals import Evaluation, Fingerprint, Used, compare
from transom.evals.document import Comparison, Details, EpochRow, ScenarioRow, pass_k, summarise
from transom.evals.statistics import holm, paired_change, t_cdf, t_quantile
from transom.evals.stored_evaluations import find_evaluation, history, newest_baseline, remember
from transom.store import SqliteStore


def scenario(
    name: str, passes: str, scores: Mapping[str, float] = {}, *, definition: str = "d"
) -> ScenarioRow:
    """A row from `++-+-`, with the same scores in every epoch."""
    epochs = tuple(
        EpochRow(status="pass" if one == "+" else "fail", dimensions={**scores}) for one in passes
    )
    status = "pass" if set(passes) == {"+"} else "fail"
    details = Details(definition=definition, epochs=epochs)
    return ScenarioRow(
        id=name, status=status, scores={**scores}, epochs=len(passes), details=details
    )


def evaluation(
    *rows: ScenarioRow, by: Fingerprint = RULES, suite: str = "readiness", run: str = "r1"
) -> Evaluation:
    return Evaluation(
        suite=suite,
        summary=summarise(rows),
        scenarios=rows,
        fingerprint=by,
        usage=Used(),
        run_id=run,
    )


def many(passes: str, *, by: Fingerprint = SAMPLED, **scores: float) -> Evaluation:
    """Fifteen equal scenarios but for the last, whose epochs all fail."""
    rows = [scenario(f"s{n:02}", passes, scores) for n in range(14)]
    return evaluation(*rows, scenario("s14", "-" * len(passes), scores), by=by)


def test_with_rules_every_pass_that_became_none_is_a_regression_by_name() -> None:
    old = evaluation(scenario("a", "+"), scenario("b", "-"), scenario("c", "+"), scenario("d", "-"))
    new = evaluation(scenario("a", "-"), scenario("b", "+"), scenario("c", "+"), scenario("d", "-"))
    told = compare(new, old, "main")
    assert told == Comparison(
        baseline="main",
        regressions=("a: passed, and no longer does",),
        improvements=("b: passes now",),
    )
    assert new.model_copy(update={"regression_analysis": told}).exit_code == 1


def test_a_drop_of_more_than_five_points_is_a_warning_whatever_the_model() -> None:
    old = evaluation(
        scenario("a", "-", {"decision_quality": 0.9, "tool_usage": 0.8, "error_handling": 0.5})
    )
    new = evaluation(
        scenario("a", "-", {"decision_quality": 0.84, "tool_usage": 0.76, "error_handling": 0.6})
    )
    told = compare(new, old, "main")
    assert told.warnings == ("decision_quality down 6.0 points",)
    assert told.improvements == ("error_handling up 10.0 points",)
    assert told.regressions == ()


def test_one_flip_of_a_sampled_model_is_no_regression_and_a_general_drop_is() -> None:
    old = many("+++++")
    one = [scenario("s00", "-++++"), *old.scenarios[1:]]
    assert compare(evaluation(*one, by=SAMPLED), old, "main").regressions == ()
    rows = [scenario(f"s{n:02}", "+++--" if n % 2 else "++++-") for n in range(14)]
    told = compare(evaluation(*rows, old.scenarios[-1], by=SAMPLED), old, "main")
    assert told.bound is not None and told.bound < 0
    assert told.minimum_detectable_drop is not None and 0.05 < told.minimum_detectable_drop < 0.15
    (said,) = told.regressions
    assert said.startswith("pass_rate down 28.0 points (95 % bound -0.2")
    assert said.endswith("most in s01, s03, s05")


def test_a_dimension_that_falls_everywhere_is_named_though_every_scenario_passes() -> None:
    told = compare(
        many("+++++", context_management=0.7), many("+++++", context_management=1.0), "main"
    )
    assert told.regressions == ("context_management down 30.0 points",)
    assert told.bound == 0.0


def test_both_sides_count_with_the_same_number_of_epochs() -> None:
    old = many("+++++" + "-" * 15)
    assert compare(many("+++++"), old, "main") == Comparison(
        baseline="main",
        bound=0.0,
        minimum_detectable_drop=compare(many("+++++"), old, "main").minimum_detectable_drop,
    )


def test_a_sampled_model_against_rules_takes_their_one_epoch_as_certain() -> None:
    old = many("+", by=RULES)
    assert (
        compare(many("-----"), old, "main").regressions[0].startswith("pass_rate down 93.3 points")
    )


@pytest.mark.parametrize(
    ("new", "said"), [("++++", "15 scenarios, 4 epochs"), ("+" * 9, "4 scenarios, 5 epochs")]
)
def test_too_few_scenarios_or_epochs_claim_no_regression_and_say_so(new: str, said: str) -> None:
    old = many("+++++")
    rows = many(new.replace("+", "-")).scenarios
    told = compare(evaluation(*rows[: int(said.split(maxsplit=1)[0])], by=SAMPLED), old, "main")
    assert (told.regressions, told.bound) == ((), None)
    assert any(one.startswith(said) for one in told.warnings)
    assert any(
        one.startswith("passed in every epoch, and in none now: s00") for one in told.warnings
    )


def test_what_cannot_be_compared_is_named() -> None:
    old = evaluation(scenario("gone", "+"), scenario("other", "+"), scenario("same", "+"))
    new = evaluation(
        scenario("added", "-"), scenario("other", "-", definition="e"), scenario("same", "+")
    )
    told = compare(new, old, "main")
    assert told.regressions == ()
    assert told.warnings == (
        "changed since the baseline, not compared: other",
        "not in the baseline: added",
        "only in the baseline: gone",
    )
    apart = compare(evaluation(scenario("added", "+")), old, "main")
    assert apart.warnings[-1] == "nothing can be compared; save a new baseline"
    with pytest.raises(InputError, match="same suite"):
        compare(evaluation(scenario("same", "+"), suite="x"), old, "main")


def test_pass_k_is_how_likely_k_drawn_epochs_all_pass() -> None:
    passes = [True, True, True, False]
    assert [pass_k(passes, k) for k in range(1, 5)] == pytest.approx([3 / 4, 3 / 6, 1 / 4, 0])


def test_students_t_is_that_of_the_tables() -> None:
    table = {1: 6.3138, 2: 2.9200, 4: 2.1318, 14: 1.7613, 29: 1.6991, 120: 1.6577}
    assert [round(t_quantile(0.95, freedom), 4) for freedom in table] == list(table.values())
    assert t_cdf(-2.1448, 14) == pytest.approx(0.025, abs=1e-5)


def test_the_paired_t_holds_its_level_and_holm_that_of_a_family() -> None:
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(6000, 15))
    found = [paired_change(list(map(float, one)), 0.2) for one in noise]
    assert 0.04 < sum(one.high < 0 for one in found) / len(found) < 0.06
    assert 0.04 < sum(one.p < 0.05 for one in found) / len(found) < 0.06
    shifted = [
        paired_change([float(one) - found[0].detectable for one in row], 0.2) for row in noise
    ]
    assert sum(one.high < 0 for one in shifted) / len(shifted) > 0.7
    assert holm({"a": 0.012, "b": 0.9, "c": 0.02}, 0.05) == ["a", "c"]
    assert holm({"a": 0.018, "b": 0.9, "c": 0.02}, 0.05) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS[1:3], ids=str)
def test_twenty_thousand_comparisons_without_a_change(kind: Kind) -> None:
    assert FALSE_ALARMS[0] <= rate(kind, 0.0, 20_000, seed=7)[0] <= FALSE_ALARMS[1]
    assert rate(kind, 0.20, 2_000, seed=8)[0] >= FOUND_AT_20


async def test_evaluations_are_found_by_name_by_run_and_by_file(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "state.db") as store:
        assert newest_baseline(store, "readiness") is None
        for run in ("20261101-a", "20261102-b"):
            made = evaluation(scenario("a", "+"), run=run)
            await remember(store, made, f"v{run[7]}")
        await remember(store, evaluation(scenario("a", "-"), run="20261103-c"))
        await remember(store, evaluation(scenario("a", "-"), run="20261104-d", suite="other"), "v1")
        newest = newest_baseline(store, "readiness")
        assert newest is not None and (newest[0], newest[1].run_id) == ("v2", "20261102-b")
        rows = [(one.run_id, names) for one, names in history(store, "readiness")]
        assert rows == [("20261101-a", ["v1"]), ("20261102-b", ["v2"]), ("20261103-c", [])]
        assert find_evaluation(store, "readiness/v1")[1].run_id == "20261101-a"
        assert find_evaluation(store, "v2")[0] == "readiness/v2"
        assert find_evaluation(store, "other/v1")[1].run_id == "20261104-d"
        assert find_evaluation(store, "20261103")[1].summary.failed == 1
        path = tmp_path / "kept.json"
        path.write_text(newest[1].model_dump_json(by_alias=True), encoding="utf-8")
        assert find_evaluation(store, str(path))[1] == newest[1]
        for text, said in (
            ("v1", "2 evaluations match 'v1'; name one of other/v1, readiness/v1"),
            ("20261", "4 evaluations match"),
            ("v9", "unknown evaluation 'v9'; see: transom eval history SUITE"),
            (str(tmp_path / "no.json"), "no such file"),
        ):
            with pytest.raises(InputError) as raised:
                find_evaluation(store, text)
            assert said in str(raised.value)
        path.write_text(json.dumps({"schema": "transom.check/1"}), encoding="utf-8")
        with pytest.raises(InputError, match="is not an evaluation"):
            find_evaluation(store, str(path))
