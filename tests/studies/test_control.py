"""Failures of the machine, in words that nobody knows: what is learned from them, and from others.

Each study has a plug-in whose machine fails from a given solve on; its text is in no list.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.studies.helpers import TAXONOMY, Plate, runner, write_study
from transom.studies.control import StudyStopped, learnable
from transom.studies.failures import JobOutput, classify, load_taxonomy
from transom.studies.result import End, result_of
from transom.studies.runner import StudyRunner
from transom.studies.solver import Solved
from transom.studies.study_stages import forget
from transom.studies.trials import StudyTrial, counts
from transom.studies.verify import Verification, verify

UNKNOWN = "kdx broker: seat 17 not granted to session 4711 (-5,357)\n"


class Flaky(Plate):
    """A plate whose machine is down during some of the solves, counted from 1."""

    def __init__(self, down: range, text: str = UNKNOWN) -> None:
        self.taxonomy, self.down, self.text, self.calls = TAXONOMY, down, text, 0

    def solve(self, folder: Path, values: Any, limits: Any) -> Solved:
        self.calls += 1
        if self.calls in self.down:
            text = self.text.replace("4711", str(self.calls))
            return Solved(classify(JobOutput({"job.log": text}, return_code=1), TAXONOMY), by="own")
        return super().solve(folder, values, limits)


def flaky(folder: Path, down: range, trials: int = 20, **more: Any) -> StudyRunner:
    made = runner(folder, write_study(folder, trials=trials), **more)
    made.solver = Flaky(down)
    return made


def test_an_outage_in_unknown_words_stops_the_study_and_leaves_no_trace(tmp_path: Path) -> None:
    made = flaky(tmp_path, range(9, 100))
    with pytest.raises(StudyStopped, match=r"which was solved before, now ends with.*kdx broker"):
        made.run()
    # Three failures in a row, the third of which led to the control, and the control.
    assert isinstance(made.solver, Flaky) and made.solver.calls == 8 + 3 + 1
    trials = made.trials()
    lost = [trial for trial in trials if trial.kind == "lost"]
    assert len(lost) == 3
    assert not [trial for trial in trials if trial.failure == "solver_error" and trial not in lost]
    # While the machine is down, the study waits: one solve is enough to see that.
    again = flaky(tmp_path, range(1, 100))
    with pytest.raises(StudyStopped, match="still fails"):
        again.run()
    assert isinstance(again.solver, Flaky) and again.solver.calls == 1
    # With the machine repaired it goes on, and neither budget nor rules have lost anything.
    after = flaky(tmp_path, range(0))
    assert counts(after.run()).total == 20
    assert {trial.failure for trial in after.trials() if trial.kind == "failed"} <= {
        "geometry_error"
    }


@pytest.mark.parametrize("begins", [3, 9, 15])
def test_after_an_outage_a_study_solves_what_it_would_have_solved(
    tmp_path: Path, begins: int
) -> None:
    for name in ("calm", "outage"):
        (tmp_path / name).mkdir()
    undisturbed = flaky(tmp_path / "calm", range(0)).run()
    with pytest.raises(StudyStopped):
        flaky(tmp_path / "outage", range(begins, 100)).run()
    repaired = flaky(tmp_path / "outage", range(0)).run()

    def designs(trials: list[StudyTrial]) -> list[Any]:
        return [trial.params for trial in trials if trial.kind != "lost"]

    assert designs(repaired) == designs(undisturbed)
    assert len(repaired) == len(undisturbed) + 3


def test_designs_that_fail_in_unknown_words_are_learned_from_as_before(tmp_path: Path) -> None:
    made = runner(tmp_path, write_study(tmp_path, trials=25))

    class Wordless(Plate):
        """A plate that breaks in words that no class describes."""

        def solve(self, folder: Path, values: Any, limits: Any) -> Solved:
            if 2 * values["hole"] / values["width"] >= 0.5:
                text = f"cell {values['hole']:.3f} would not settle\n"
                outcome = classify(JobOutput({"job.log": text}, return_code=1), TAXONOMY)
                return Solved(outcome, by=self.by)
            return super().solve(folder, values, limits)

    made.solver = Wordless(made.study, TAXONOMY)
    trials = made.run()
    assert counts(trials).total == 25
    assert not [trial for trial in trials if trial.kind == "lost"]
    assert [trial for trial in trials if trial.failure == "solver_error"]


def test_a_class_that_names_the_design_as_the_cause_needs_no_control(tmp_path: Path) -> None:
    made = flaky(tmp_path, range(9, 16))
    made.solver = solver = Flaky(range(9, 16), "*ERROR: negative jacobian in element 4711\n")
    assert counts(made.run()).total == 20 == solver.calls


def test_five_solves_that_end_alike_ask_a_person_and_resuming_is_an_answer(tmp_path: Path) -> None:
    made = flaky(tmp_path, range(1, 8))
    with pytest.raises(StudyStopped, match=r"no solve succeeded, and 5 ended alike.*kdx broker"):
        made.run()
    # The person says: these designs are to blame. The study goes on where it was.
    assert counts(flaky(tmp_path, range(1, 3)).run()).total == 20


def test_a_forgotten_trial_counts_for_nothing(tmp_path: Path) -> None:
    made = flaky(tmp_path, range(0), trials=6)
    before = made.run()
    made.machine.forget([1, 3])
    kinds = [trial.kind for trial in made.trials()]
    assert [kinds[1], kinds[3]] == ["lost", "lost"]
    after = flaky(tmp_path, range(0), trials=6).run()
    assert counts(after).total == 6 and len(after) == len(before) + 2


def test_two_workers_see_an_outage_once(tmp_path: Path) -> None:
    made = flaky(tmp_path, range(9, 100))
    made.study = made.study.model_copy(
        update={"budget": made.study.budget.model_copy(update={"workers": 3})}
    )
    with pytest.raises(StudyStopped, match="now ends with"):
        made.run()
    assert not [trial for trial in made.trials() if trial.kind == "failed" and trial.number > 10]


def _trial(
    number: int, reason: str = "", failure: str = "solver_error", **fields: Any
) -> StudyTrial:
    if not reason:
        return StudyTrial(number=number, kind="solved", params={}, values=(1.0,))
    return StudyTrial(
        number=number, kind="failed", params={}, failure=failure, reason=reason, **fields
    )


@pytest.mark.parametrize(
    ("trials", "numbers"),
    [
        # Two failures in a row may be an outage that ended by itself.
        ([_trial(0), _trial(1, "gone"), _trial(2, "gone"), _trial(3)], [0, 3]),
        # The machine worked between them.
        ([_trial(0, "gone 1"), _trial(1), _trial(2, "gone 2")], [0, 1, 2]),
        # Another text, seen once, stays unclear.
        ([_trial(0, "gone"), _trial(1), _trial(2, "gone"), _trial(3, "lost")], [0, 1, 2]),
        # A control showed that the machine works.
        ([_trial(0), _trial(1, "gone"), _trial(2, "gone", control=0)], [0, 1, 2]),
        # A class that names a fault of the design needs nothing.
        ([_trial(0), _trial(1, "bad element", "mesh_error")], [0, 1]),
    ],
)
def test_an_unclear_failure_counts_once_the_machine_was_seen_to_work(
    trials: list[StudyTrial], numbers: list[int]
) -> None:
    counting = learnable(trials, load_taxonomy())
    assert [trial.number for trial in counting] == numbers


START = (
    "start: [{width: 20, hole: 3}, {width: 22, hole: 4}, {width: 24, hole: 5},"
    " {width: 26, hole: 4}]\n"
)


def test_first_designs_of_forgotten_trials_are_solved_again_in_their_order(tmp_path: Path) -> None:
    def made(folder: Path, down: range) -> StudyRunner:
        folder.mkdir(exist_ok=True)
        prepared = runner(folder, write_study(folder, trials=14, more=START))
        prepared.solver = Flaky(down)
        return prepared

    undisturbed = made(tmp_path / "calm", range(0)).run()
    # The first design is solved; the next three fail, and with them the control.
    with pytest.raises(StudyStopped):
        made(tmp_path / "outage", range(2, 100)).run()
    repaired = made(tmp_path / "outage", range(0)).run()
    counting = [trial for trial in repaired if trial.kind != "lost"]
    assert [trial.params for trial in counting] == [trial.params for trial in undisturbed]
    assert [trial.source for trial in counting[:5]] == ["start"] * 4 + ["sampler"]
    # Once forgotten by a person, they are solved once more, and only once.
    again = made(tmp_path / "outage", range(0))
    forget(again, [trial.number for trial in again.trials()])
    last = made(tmp_path / "outage", range(0)).run()
    assert [trial.source for trial in last if trial.kind == "solved"].count("start") == 4


def test_forgotten_designs_are_queued_before_those_that_still_wait(tmp_path: Path) -> None:
    more = START.replace("]\n", ", {width: 28, hole: 6}, {width: 30, hole: 7}]\n")
    made = runner(tmp_path, write_study(tmp_path, trials=6, more=more))
    made.solver = Flaky(range(2, 100))
    with pytest.raises(StudyStopped):
        made.run()
    after = runner(tmp_path, write_study(tmp_path, trials=6, more=more))
    widths = [trial.params["width"] for trial in after.run() if trial.kind == "solved"]
    assert widths == [20, 22, 24, 26, 28, 30]


def test_a_result_taken_over_from_a_forgotten_trial_is_forgotten_too(tmp_path: Path) -> None:
    more = "start: [{width: 20, hole: 3}, {width: 20, hole: 3}]\n"
    made = runner(tmp_path, write_study(tmp_path, trials=4, more=more))
    assert made.run()[1].same_as == 0
    assert forget(made, [0]) == 2
    assert [trial.kind for trial in made.trials()][:2] == ["lost", "lost"]


def test_a_forgotten_design_that_was_verified_is_not_the_best(tmp_path: Path) -> None:
    more = "verify: {settings: {mesh: 4.9}}\n"
    made = runner(tmp_path, write_study(tmp_path, trials=6, more=more))
    trials = made.run()
    end = End(verification=verify(made.study, made.solver, tmp_path / "fine", trials))
    best = result_of(made.study, trials, end, "plate").best
    assert best is not None and best.verified
    forget(made, [best.number])
    now = result_of(made.study, made.trials(), end, "plate").best
    assert now is None or now.number != best.number


def test_two_processes_that_start_after_an_outage_repeat_the_control_once(tmp_path: Path) -> None:
    with pytest.raises(StudyStopped):
        flaky(tmp_path, range(9, 100)).run()
    both = [flaky(tmp_path, range(0)), flaky(tmp_path, range(0))]
    under_way: list[str] = []
    most = []

    def slow(made: StudyRunner) -> None:
        check = made.machine.solve

        def solve(params: Any) -> Solved:
            under_way.append("control")
            most.append(len(under_way))
            time.sleep(0.3)
            under_way.pop()
            return check(params)

        made.machine.solve = solve

    for made in both:
        slow(made)
    threads = [threading.Thread(target=made.run) for made in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_a_rule_whose_trials_are_forgotten_ends_in_a_running_study(tmp_path: Path) -> None:
    first = runner(tmp_path, write_study(tmp_path, trials=30))
    first.guide.learn(first.run(), Verification(asked=False))
    running = runner(tmp_path, write_study(tmp_path, "second", length=90))
    rules = [rule.id for rule in running.guide.rules]
    assert rules
    numbers = [trial.number for trial in first.trials()]
    forget(runner(tmp_path, write_study(tmp_path, trials=30)), numbers)
    running.guide.refresh()
    assert not running.guide.rules
    assert not running.guide.advice.playbook.items.keys() & set(rules)
    # Learned again from good solves, it is back.
    again = runner(tmp_path, write_study(tmp_path, trials=30))
    again.guide.learn(again.run(), Verification(asked=False))
    assert runner(tmp_path, write_study(tmp_path, "third", length=90)).guide.rules


ANY_TEXT = {
    "hosts": ["node alpha lost its seat", "node beta lost its seat", "node gamma lost its seat"],
    "temporary names": ["no seat in /tmp/qkujkvir", "no seat in /tmp/zzpabwom"],
    "tools": ["the desktop has gone away", "Segmentation fault", "broker overdue, handed back"],
}


class ManyTexts(Flaky):
    """A plate whose outage has another text each time."""

    def __init__(self, down: range, texts: list[str]) -> None:
        super().__init__(down)
        self.texts = texts

    def solve(self, folder: Path, values: Any, limits: Any) -> Solved:
        self.text = self.texts[self.calls % len(self.texts)]
        return super().solve(folder, values, limits)


@pytest.mark.parametrize("texts", ANY_TEXT.values(), ids=list(ANY_TEXT))
def test_an_outage_whose_text_differs_each_time_stops_the_study(
    tmp_path: Path, texts: list[str]
) -> None:
    made = runner(tmp_path, write_study(tmp_path, trials=30))
    made.solver = ManyTexts(range(9, 100), texts)
    with pytest.raises(StudyStopped, match=r"5 solves in a row failed.*now ends with"):
        made.run()
    assert made.solver.calls == 8 + 5 + 1
    trials = made.trials()
    assert [trial.kind for trial in trials[-5:]] == ["lost"] * 5
    assert not [
        trial for trial in trials if trial.failure == "solver_error" and trial.kind != "lost"
    ]


def test_failures_with_other_texts_on_a_machine_that_works_do_not_stop_a_study(
    tmp_path: Path,
) -> None:
    made = runner(tmp_path, write_study(tmp_path, trials=30))
    # The tenth to the fourteenth design fail, each in other words; the control is solved.
    made.solver = ManyTexts(range(10, 15), ["alpha is odd", "beta is odd", "gamma is odd"])
    assert counts(made.run()).total == 30
    controlled = [trial for trial in made.trials() if trial.control is not None]
    assert len(controlled) == 1
