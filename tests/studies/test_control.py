"""Failures of the machine, in words that nobody knows: what is learned from them, and from others.

Each study has a plug-in whose machine fails from a given solve on; its text is in no list.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.studies.helpers import TAXONOMY, Plate, runner, write_command_study, write_study
from transom.studies.control import (
    StudyStopped,
    failures_in_a_row,
    learnable,
    needs_control,
    unproven,
)
from transom.studies.failures import classify
from transom.studies.job_output import JobOutput
from transom.studies.result import End, result_of
from transom.studies.runner import StudyRunner
from transom.studies.solver import Solved
from transom.studies.study_stages import conclude, forget, forgotten_best
from transom.studies.taxonomy import load_taxonomy
from transom.studies.trials import StudyTrial, counts, failures, ranked
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
    # A failure of a design just before the outage may be forgotten with those of the outage.
    assert len(repaired) - len(undisturbed) in (3, 4)


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


class Fussy(Plate):
    """A plate that some designs break, whenever they are solved, with texts in turn."""

    def __init__(self, share: float, texts: list[str]) -> None:
        self.taxonomy, self.share, self.texts, self.calls = TAXONOMY, share, texts, 0

    def solve(self, folder: Path, values: Any, limits: Any) -> Solved:
        self.calls += 1
        if values["width"] < 10 + 30 * self.share:
            # The same design always fails with the same words.
            text = self.texts[int(1000 * values["width"]) % len(self.texts)]
            return Solved(classify(JobOutput({"job.log": text}, return_code=1), TAXONOMY), by="own")
        return super().solve(folder, values, limits)


def test_designs_that_fail_often_in_words_of_a_design_need_few_controls(tmp_path: Path) -> None:
    made = runner(tmp_path, write_study(tmp_path, trials=40))
    made.solver = solver = Fussy(0.6, ["*ERROR: negative jacobian in element 4711\n"])
    trials = made.run()
    assert counts(trials).total == 40
    assert not [trial for trial in trials if trial.kind == "lost"]
    assert solver.calls <= 40 + 2


IN_WORDS_OF_DESIGNS = [
    "ERROR: the seat's solution did not converge with that of 4711 others\n",
    "ERROR: garbage collector: iteration limit of concurrent mark 4711\n",
    "*ERROR: negative jacobian in element 4711\n",
    "Error: meshing failed: surface 4711 of the raid's cube lost a solid block\n",
]


@pytest.mark.parametrize("text", IN_WORDS_OF_DESIGNS)
@pytest.mark.parametrize("begins", [6, 12])
def test_an_outage_in_words_of_a_design_stops_the_study_and_leaves_no_trace(
    tmp_path: Path, text: str, begins: int
) -> None:
    made = runner(tmp_path, write_study(tmp_path, trials=20))
    made.solver = solver = Flaky(range(begins, 100), text)
    with pytest.raises(StudyStopped, match="now ends with"):
        made.run()
    assert solver.calls <= begins + 6
    trials = made.trials()
    own = [trial for trial in trials if trial.number >= begins - 1 and trial.kind == "failed"]
    assert not own
    assert counts(flaky(tmp_path, range(0)).run()).total == 20


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


class Slow(Plate):
    """A plate whose solves take as long, and fail, as the test says by their order."""

    def __init__(self, seconds: dict[int, float], down: set[int]) -> None:
        self.taxonomy, self.seconds, self.down = TAXONOMY, seconds, down
        self.calls, self.lock = 0, threading.Lock()

    def solve(self, folder: Path, values: Any, limits: Any) -> Solved:
        with self.lock:
            self.calls += 1
            call = self.calls
        time.sleep(self.seconds.get(call, 0.02))
        if call in self.down:
            return Solved(
                classify(JobOutput({"job.log": UNKNOWN}, return_code=1), TAXONOMY), by="own"
            )
        return super().solve(folder, values, limits)


def with_workers(folder: Path, workers: int, trials: int = 20) -> StudyRunner:
    path = write_study(folder, trials=trials)
    path.write_text(path.read_text().replace("{trials", f"{{workers: {workers}, trials"))
    return runner(folder, path)


def test_failures_that_end_before_a_long_solve_succeeds_are_forgotten_with_the_outage(
    tmp_path: Path,
) -> None:
    # The seventh solve began before the outage, and ends well in the middle of it.
    made = with_workers(tmp_path, 3)
    made.solver = Slow({7: 0.6, **dict.fromkeys(range(8, 100), 0.15)}, set(range(8, 100)))
    with pytest.raises(StudyStopped, match="now ends with"):
        made.run()
    assert not [
        trial
        for trial in made.trials()
        if trial.failure == "solver_error" and trial.kind == "failed"
    ]
    after = with_workers(tmp_path, 3)
    after.solver = Slow({}, set())
    trials = after.run()
    assert counts(trials).total == 20 and "solver_error" not in failures(trials)


def test_a_failure_that_arrives_after_the_repair_is_forgotten(tmp_path: Path) -> None:
    made = flaky(tmp_path, range(9, 100))
    with pytest.raises(StudyStopped):
        made.run()
    # Another process has a solve that began during the outage.
    began = time.time()
    repaired = flaky(tmp_path, range(0), trials=9)
    repaired.run()
    late = repaired.trials()[-1].model_copy(
        update={
            "number": 50,
            "kind": "failed",
            "failure": "solver_error",
            "reason": UNKNOWN,
            "span": (began, time.time()),
            "worker": "elsewhere/1",
        }
    )
    assert repaired.machine.before_recording(late, repaired.trials()).control is None
    assert 50 in repaired.machine.forgotten


def _solve_at(
    number: int, begin: float, end: float, reason: str = "", worker: str = "a"
) -> StudyTrial:
    trial = _trial(number, reason)
    return trial.model_copy(update={"span": (begin, end), "worker": worker})


def test_a_worker_that_works_says_nothing_about_the_machine_of_another() -> None:
    trials = [_solve_at(0, 0, 1), _solve_at(1, 0, 1, worker="b")]
    for step in range(1, 6):  # the licence of b is gone, and a works
        trials.append(_solve_at(2 * step, step, step + 1, "gone", "b"))
        trials.append(_solve_at(2 * step + 1, step, step + 1))
    counting = learnable(trials, TAXONOMY)
    assert not [trial for trial in counting if trial.kind == "failed"]
    streak = failures_in_a_row(trials, "b")
    assert len(streak) == 5 and needs_control(streak[:3], trials, TAXONOMY)
    assert not failures_in_a_row(trials, "a")
    # A third worker ended with the same text before it was killed.
    dead = _solve_at(90, 1, 2, "gone", "c")
    assert dead in unproven([*trials, dead], streak)


def test_a_solve_that_overlaps_a_failure_does_not_show_that_the_machine_worked_after_it() -> None:
    gone, late = _solve_at(1, 0, 2, "gone"), _solve_at(2, 0, 9, "gone")
    long, between = _solve_at(3, 1, 5), _solve_at(4, 3, 5)
    assert learnable([gone, long, late], TAXONOMY) == [long]
    # The second failure began before the machine worked, so it may be of the same outage.
    assert learnable([gone, between, late], TAXONOMY) == [between]
    anew = _solve_at(5, 6, 9, "gone")
    assert learnable([gone, between, anew], TAXONOMY) == [gone, between, anew]


def test_a_worker_whose_machine_works_goes_on_during_the_outage_of_another(tmp_path: Path) -> None:
    made = flaky(tmp_path, range(9, 100))
    with pytest.raises(StudyStopped):
        made.run()
    assert made.study.study
    other = flaky(tmp_path, range(0))
    failed = _trial(40, "odd cell").model_copy(
        update={"params": {"width": 20.0, "hole": 3.0}, "span": (time.time(), time.time())}
    )
    # It tests its own machine once, and then believes it.
    for number in (40, 41):
        failed = failed.model_copy(update={"number": number})
        other.machine.before_recording(failed, other.trials())
    assert isinstance(other.solver, Flaky) and other.solver.calls == 1
    assert not {40, 41} & other.machine.forgotten


RUN = """
import sys
from pathlib import Path
from tests.studies.helpers import runner
from transom.studies.control import StudyStopped
try:
    runner(Path(sys.argv[1]), Path(sys.argv[2])).run(int(sys.argv[3]))
except StudyStopped:
    sys.exit(42)
"""
VANISHED = """
import os, sys
if os.path.exists(os.path.join(os.path.dirname(__file__), "broken")):
    sys.exit("ERROR: backend vanished")
open("out.txt", "w").write(sys.argv[1])
"""


def vanishing(folder: Path) -> Path:
    path = write_command_study(folder, trials=20, workers=1)
    (folder / "solver.py").write_text(VANISHED)
    runner(folder, path).run(3)
    (folder / "broken").touch()
    return path


def test_an_outage_is_seen_across_runs_in_processes_of_their_own(tmp_path: Path) -> None:
    path = vanishing(tmp_path)
    places = [str(Path(__file__).parents[2]), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    ends = []
    for total in (5, 7):
        command = [sys.executable, "-c", RUN, str(tmp_path), str(path), str(total)]
        ends.append(subprocess.run(command, env=environment, check=False).returncode)
    assert ends == [0, 42]
    (tmp_path / "broken").unlink()
    trials = runner(tmp_path, path).run(9)
    # What failed of the machine left no trace.
    assert counts(trials).total == 9 and not failures(trials)


def test_an_outage_is_seen_across_runs_on_machines_with_new_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = vanishing(tmp_path)
    for total in (4, 5):
        monkeypatch.setattr("socket.gethostname", lambda total=total: f"container-{total}")
        runner(tmp_path, path).run(total)
    monkeypatch.setattr("socket.gethostname", lambda: "container-6")
    with pytest.raises(StudyStopped, match="now ends with"):
        runner(tmp_path, path).run(6)


def test_the_control_of_the_next_run_is_no_forgotten_trial(tmp_path: Path) -> None:
    made = flaky(tmp_path, range(9, 100))
    with pytest.raises(StudyStopped):
        made.run()
    solved = [trial for trial in made.trials() if trial.kind == "solved"]
    forget(made, [solved[-1].number])
    again = flaky(tmp_path, range(0))
    designs: list[Any] = []
    solve = again.machine.solve

    def recorded(params: Any) -> Solved:
        designs.append(params)
        return solve(params)

    again.machine.solve = recorded
    again.run()
    assert designs[0] == solved[-2].params


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


@pytest.mark.parametrize("is_single", [True, False])
def test_optunas_own_best_may_be_forgotten_and_is_named(tmp_path: Path, is_single: bool) -> None:
    path = write_study(tmp_path, trials=8)
    if not is_single:
        path.write_text(path.read_text().replace("{name: mass}", "{name: mass}, {name: stress}"))
    made = runner(tmp_path, path)
    best = ranked(made.study, made.run())[0].number
    assert forgotten_best(made) is None
    forget(made, [best])
    assert forgotten_best(made) == best
    assert ranked(made.study, made.trials())[0].number != best


def test_two_processes_that_start_after_an_outage_repeat_the_control_once(tmp_path: Path) -> None:
    with pytest.raises(StudyStopped):
        flaky(tmp_path, range(9, 100)).run()
    both = [flaky(tmp_path, range(0)), flaky(tmp_path, range(0))]
    starting: list[str] = []
    most = []

    def slow(made: StudyRunner) -> None:
        check, begin = made.machine.solve, made.machine.before_run

        def before_run(trials: Any) -> None:
            starting.append("process")
            begin(trials)
            starting.pop()

        def solve(params: Any) -> Solved:
            # Failures in a row may ask for another control later.
            if starting:
                most.append(len(starting))
                time.sleep(0.3)
            return check(params)

        # The attributes are methods of this object alone.
        vars(made.machine).update(solve=solve, before_run=before_run)

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
    with pytest.raises(StudyStopped, match=r"solves in a row failed.*now ends with"):
        made.run()
    # The texts are believed for as long as so many failures in a row are probable.
    assert made.solver.calls <= 8 + 5 + 1
    trials = made.trials()
    assert [trial.kind for trial in trials[8:]] == ["lost"] * len(trials[8:])
    assert not [
        trial for trial in trials if trial.failure == "solver_error" and trial.kind != "lost"
    ]


def test_failures_of_designs_with_other_texts_do_not_stop_a_study(tmp_path: Path) -> None:
    made = runner(tmp_path, write_study(tmp_path, trials=40))
    made.solver = Fussy(0.4, ["alpha is odd", "beta is odd", "gamma is odd"])
    trials = made.run()
    assert counts(trials).total == 40
    assert not [trial for trial in trials if trial.kind == "lost"]


def test_failures_of_a_moment_are_forgotten_without_a_stop(tmp_path: Path) -> None:
    made = runner(tmp_path, write_study(tmp_path, trials=30))
    # The machine works again when the control is made.
    made.solver = Flaky(range(10, 13))
    trials = made.run()
    assert counts(trials).total == 30
    assert len([trial for trial in trials if trial.kind == "lost"]) >= 3
    assert not [
        trial for trial in trials if trial.failure == "solver_error" and trial.kind != "lost"
    ]


def _audited(folder: Path) -> tuple[StudyRunner, str]:
    """Return a study that tries each rejected design all the same, and its rule."""
    first = runner(folder, write_study(folder, trials=30))
    first.guide.learn(first.run(), Verification(asked=False))
    path = write_study(folder, "second", trials=25, length=90, more="learning: {audit: 0.9}\n")
    second = runner(folder, path)
    (rule,) = second.guide.rules
    return second, rule.id


def _outcomes(made: StudyRunner, rule: str) -> int:
    entry = made.guide.advice.playbook.require(rule)
    return entry.for_count + entry.against_count


def test_outcomes_of_forgotten_trials_count_no_more(tmp_path: Path) -> None:
    second, rule = _audited(tmp_path)
    assert _outcomes(second, rule) == 0
    audited = [trial.number for trial in second.run() if rule in trial.audit]
    assert _outcomes(second, rule) == len(audited) > 1
    forget(second, audited[:1])
    assert _outcomes(second, rule) == len(audited) - 1
    forget(second, audited[:1])
    assert _outcomes(second, rule) == len(audited) - 1
    # The same of another study with the same numbers stays.
    other, _ = _audited_again(tmp_path)
    other.guide.take_back([0])
    assert _outcomes(second, rule) == len(audited) - 1


def _audited_again(folder: Path) -> tuple[StudyRunner, Path]:
    path = write_study(folder, "third", trials=3, length=70)
    return runner(folder, path), path


def test_outcomes_of_an_outage_count_for_no_rule(tmp_path: Path) -> None:
    second, rule = _audited(tmp_path)
    second.solver = Flaky(range(4, 100))
    with pytest.raises(StudyStopped):
        second.run()
    counting = [
        trial
        for trial in second.trials()
        if rule in trial.audit and trial.kind in ("solved", "failed")
    ]
    assert _outcomes(second, rule) == len(counting)


def test_two_processes_that_forget_at_once_lose_nothing(tmp_path: Path) -> None:
    runner(tmp_path, write_study(tmp_path, trials=12)).run()
    several = [runner(tmp_path, write_study(tmp_path, trials=12)) for _ in range(4)]
    threads = []
    for number, made in enumerate(several):
        parts = [[3 * number], [3 * number + 1], [3 * number + 2]]
        threads.append(
            threading.Thread(target=lambda made=made, parts=parts: [forget(made, p) for p in parts])
        )
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert several[0].machine.forgotten == set(range(12))


def test_what_is_forgotten_while_a_study_runs_stays_forgotten(tmp_path: Path) -> None:
    made = runner(tmp_path, write_study(tmp_path, trials=20))
    at_end: list[int] = []

    class Watched(Plate):
        """A plate during whose tenth solve a person forgets a trial."""

        calls = 0

        def solve(self, folder: Path, values: Any, limits: Any) -> Solved:
            Watched.calls += 1
            if Watched.calls == 10:
                at_end.append(forget(runner(tmp_path, write_study(tmp_path, trials=20)), [2, 4]))
            return super().solve(folder, values, limits)

    made.solver = Watched(made.study, TAXONOMY)
    trials = made.run()
    assert at_end == [2]
    assert [trials[2].kind, trials[4].kind] == ["lost", "lost"] and counts(trials).total == 20
    # A person forgets another one during the verification, before the run concludes.
    best = min(trial.values[0] for trial in trials if trial.feasible)
    number = next(trial.number for trial in trials if trial.feasible and trial.values[0] == best)
    forget(runner(tmp_path, write_study(tmp_path, trials=20)), [number])
    conclude(made, Verification(asked=False))
    rows = made.guide.advice.rows("plates")
    assert len(rows) == len(
        [trial for trial in made.trials() if trial.kind in ("solved", "failed")]
    )
    keys = [insight.data.get("key") for insight in made.guide.advice.insights("plates")]
    assert f"plate/{number}" not in keys
