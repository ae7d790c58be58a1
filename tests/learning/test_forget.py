"""Undoing what a run left in the playbook, and seeing whether an insight misleads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.studies.helpers import runner, write_study
from transom.errors import InputError
from transom.learning import Curator, InsightCategory, InsightSource, Playbook
from transom.studies.advice import RULE, Advice, StudyInsight
from transom.studies.failure_rules import SolveRow

MISTAKE = InsightCategory.MISTAKE


def test_all_that_came_of_a_run_is_undone() -> None:
    with Playbook() as playbook:
        poisoned = playbook.add_insight(
            MISTAKE, "Never use a wall", source=InsightSource(run="bad")
        )
        shared = playbook.add_insight(MISTAKE, "Fillets crack", source=InsightSource(run="good"))
        playbook.add_insight(MISTAKE, "Fillets crack", source=InsightSource(run="bad"))
        other = playbook.add_insight(MISTAKE, "Ribs buckle", source=InsightSource(run="good"))
        for trial, run in enumerate(["bad", "bad", "good"]):
            source = InsightSource(run=run, trial=trial)
            playbook.record_outcome(other.id, False, followed=False, source=source, key=f"{trial}")
        before = playbook.require(other.id)
        forgotten = Curator(playbook).forget("bad", by="ada")
        assert (forgotten.retired, forgotten.shared) == ((poisoned.id,), (shared.id,))
        assert forgotten.withdrawn == 2
        after = playbook.require(other.id)
        assert before.for_count + before.against_count == 3
        assert after.for_count + after.against_count == 1
        # It is not learned again, and undoing it twice changes nothing.
        assert playbook.require(poisoned.id).retired
        playbook.ledger.rebuild()
        assert playbook.require(other.id) == after
        assert Curator(playbook).forget("bad").withdrawn == 0


def test_what_nothing_came_of_is_an_error() -> None:
    with Playbook() as playbook, pytest.raises(InputError, match="nothing in the playbook came of"):
        Curator(playbook).forget("20261101-000000-aaaaaaaaaa")


def test_outcomes_before_and_after_an_insight_show_that_it_misleads() -> None:
    with Playbook(domain="plates") as playbook:
        old = playbook.add_insight(MISTAKE, "Ribs buckle", level="domain")
        for trial in range(10):
            source = InsightSource(run="r", trial=trial)
            playbook.record_outcome(old.id, trial < 8, source=source, key=f"{trial}")
        poisoned = playbook.add_insight(MISTAKE, "Never use a wall", level="domain")
        for trial in range(10, 20):
            source = InsightSource(run="r", trial=trial)
            for insight in (old, poisoned):  # one outcome counts for both, and once here
                playbook.record_outcome(insight.id, trial < 13, source=source, key=f"{trial}")
        assert playbook.outcomes_around(poisoned) == ((8, 10), (3, 10))


def poison(root: Path) -> StudyInsight:
    """Leave a rule that rejects most designs of a plate."""
    advice = Advice(root)
    rows = [SolveRow({"hole / width": 0.1 + n / 100}, "solver_error") for n in range(12)]
    rows += [SolveRow({"hole / width": 0.05 - n / 1000}, None) for n in range(12)]
    advice.keep("plates", "outage", rows)
    advice.learn("plates", "outage")
    (rule,) = [item for item in advice.insights("plates") if item.kind == RULE]
    return rule


@pytest.mark.parametrize(
    "end",
    [
        lambda playbook, rule: Curator(playbook).retire(rule.id, "an outage"),
        lambda playbook, rule: Curator(playbook).forget("outage"),
    ],
)
def test_a_rule_that_a_person_retires_ends_within_the_study(
    tmp_path: Path, end: Callable[[Playbook, StudyInsight], Any]
) -> None:
    root = tmp_path / "studies"
    rule = poison(root)
    path = write_study(tmp_path, trials=8)
    lines: list[str] = []
    made = runner(tmp_path, path, progress=lines.append)
    assert [item.id for item in made.guide.rules] == [rule.id]
    made.run()
    rejected = [trial for trial in made.trials() if rule.id in trial.rules]
    assert rejected
    # Another process: a person looks at the insight while the study goes on.
    with Playbook(root / "playbook.db") as playbook:
        end(playbook, rule)
    after = made.run(20)
    new = after[len(made.trials()) - 12 :]
    assert made.guide.rules == []
    assert not any(rule.id in trial.rules or rule.id in trial.audit for trial in new)
