"""A study's trials: budget, resume, kills, machines that fail, and what samplers are told."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Container
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import optuna
import psutil
import pytest
from optuna.storages import InMemoryStorage

from tests.studies.helpers import TAXONOMY, runner, worker_command, write_command_study, write_study
from tests.studies.test_solver import BRACKET, marked, wait_for
from transom.errors import InputError
from transom.studies.control import StudyStopped
from transom.studies.failures import Diagnosis, FailureEvidence, diagnosis
from transom.studies.runner import StudyRunner
from transom.studies.solver import Solved
from transom.studies.storage import FileLock
from transom.studies.trials import StudyTrial, counts, failures, front, ranked


def test_a_study_ends_at_its_budget_and_goes_on_with_a_larger_one(tmp_path: Path) -> None:
    lines: list[str] = []
    first = runner(tmp_path, write_study(tmp_path, trials=8), progress=lines.append)
    trials = first.run()
    assert counts(trials).total == 8 == len([line for line in lines if "/8 trial" in line])
    assert "left" in lines[-1]
    assert set(failures(trials)) <= {"geometry_error"}
    again = runner(tmp_path, write_study(tmp_path, trials=8))
    assert again.run() == trials
    more = again.run(12)
    assert (counts(more).total, more[:8]) == (12, trials)
    # a resumed sampler repeats nothing
    assert len({tuple(trial.params.items()) for trial in more}) == 12
    best = ranked(again.study, more)[0]
    assert best.feasible and best.outputs["stress"] <= 100


def test_steps_from_the_best_design_reach_an_optimum_that_lies_on_a_constraint(
    tmp_path: Path,
) -> None:
    optimum = 14 - math.pi * 2**2 / 100  # the smallest hole, and a width that just holds
    gaps = []
    for name, more in (("with", ""), ("without", "sampler: {seed: 1, steps: false}\n")):
        path = write_study(tmp_path, name, trials=30)
        path.write_text(
            path.read_text().replace("sampler: {seed: 1}\n", more or "sampler: {seed: 1}\n")
        )
        made = runner(tmp_path, path, storage=InMemoryStorage())
        gaps.append(ranked(made.study, made.run())[0].values[0] / optimum - 1)
    assert 0 <= gaps[0] < 0.01 < gaps[1]


def test_another_problem_under_the_same_name_is_refused(tmp_path: Path) -> None:
    runner(tmp_path, write_study(tmp_path, trials=2)).run()
    with pytest.raises(InputError, match="trials of another problem are kept under this name"):
        runner(tmp_path, write_study(tmp_path, trials=2, length=90))


def test_a_failed_design_is_told_as_infeasible(tmp_path: Path) -> None:
    made = runner(tmp_path, write_study(tmp_path, trials=20))
    trials = made.run()
    stored = {one.number: one for one in made._optuna.trials}
    assert failures(trials)
    for trial in trials:
        assert stored[trial.number].state.name == "COMPLETE"
        assert (stored[trial.number].constraints["solved"] > 0) == (trial.failure is not None)


class Machine:
    """A solver whose machine fails at the given calls."""

    by = "machine"

    def __init__(self, fails: set[int], name: str = "killed") -> None:
        self.fails, self.name, self.calls = fails, name, 0

    def check(self) -> None:
        """Always there."""

    def solve(self, *given: Any) -> Solved:
        self.calls += 1
        if self.calls in self.fails:
            return Solved(diagnosis(self.name, TAXONOMY, FailureEvidence("limit", "it was ended")))
        return Solved(Diagnosis(None), {"mass": 1.0, "stress": 1.0})


def test_only_what_the_machine_failed_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transom.studies.solving._PAUSES", (0, 0))
    made = runner(tmp_path, write_study(tmp_path, trials=3))
    made.solver = machine = Machine({1, 4, 5, 6})
    trials = made.run()
    assert [(trial.kind, trial.attempts) for trial in trials] == [
        ("solved", 2),
        ("solved", 1),
        ("lost", 3),
        ("solved", 1),
    ]
    assert machine.calls == 7
    design = runner(tmp_path, write_study(tmp_path, "other", trials=2))
    design.solver = machine = Machine({1}, "mesh_error")
    assert [trial.attempts for trial in design.run()] == [1, 1]


def test_a_full_disk_stops_the_study_which_stays_resumable(tmp_path: Path) -> None:
    path = write_study(tmp_path, trials=4)
    made = runner(tmp_path, path)
    made.solver = Machine({3}, "disk_full")
    with pytest.raises(StudyStopped, match=r"the disk is full .*make room.*then resume"):
        made.run()
    trials = runner(tmp_path, path).run()
    assert [trial.number for trial in trials] == [0, 1, 2, 3]
    assert counts(trials).total == 4


def test_a_journal_that_a_full_disk_cut_short_goes_on(tmp_path: Path) -> None:
    path = write_study(tmp_path, trials=3)
    before = runner(tmp_path, path).run()
    with (tmp_path / "studies/plate/trials.journal").open("a") as journal:
        journal.write('{"op_code":4,"worker_id":"a-1","stu')
    after = runner(tmp_path, path).run(5)
    assert (after[:3], counts(after).total) == (before, 5)


def test_a_hook_that_fails_loses_no_trial(tmp_path: Path) -> None:
    more = (
        "hooks: {post_solve: [error_tracker, 'tests.studies.test_runner:bad_hook'], pre_solve:"
        " [error_tracker]}\n"
    )
    lines: list[str] = []
    trials = runner(
        tmp_path, write_study(tmp_path, trials=10, more=more), progress=lines.append
    ).run()
    assert counts(trials).total == 10
    assert (
        sum(
            "hook tests.studies.test_runner:bad_hook failed at post_solve: ValueError" in line
            for line in lines
        )
        == 10
    )
    history = (tmp_path / "studies/plate/error_history.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in history]
    assert [row["trial"] for row in rows] == [trial.number for trial in trials if trial.failure]
    assert rows[0]["error_type"] == "geometry_error"


def bad_hook(occasion: object) -> None:
    raise ValueError("no")


def test_a_plug_in_that_raises_costs_one_design(tmp_path: Path) -> None:
    made = runner(tmp_path, write_study(tmp_path, trials=2))

    class Broken(Machine):
        def solve(self, *given: Any) -> Solved:
            if not self.calls:
                self.calls = 1
                raise ZeroDivisionError("half a solver")
            return super().solve(*given)

    made.solver = Broken(set())
    trials = made.run()
    assert [trial.failure for trial in trials] == ["solver_error", None]
    assert "ZeroDivisionError: half a solver" in trials[0].reason


def test_a_solve_that_was_over_when_its_worker_was_killed_is_told_and_not_repeated(
    tmp_path: Path,
) -> None:
    path = write_study(tmp_path, trials=1)
    made = runner(tmp_path, path)
    made.solver = Machine(set())

    def stop(*given: object) -> None:
        raise KeyboardInterrupt

    made._tell = stop  # type: ignore[assignment]  # as a kill between the solve and the storage
    with pytest.raises(KeyboardInterrupt):
        made.run()
    again = runner(tmp_path, path)
    again.solver = nobody = Machine(set())
    assert [(trial.number, trial.kind) for trial in again.run()] == [(0, "solved")]
    assert nobody.calls == 0


def run_workers(folder: Path, path: Path, number: int) -> list[subprocess.Popen[bytes]]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path]),
    }
    command = worker_command(folder, path)
    return [
        subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) for _ in range(number)
    ]


def finished(folder: Path, path: Path, trials: int) -> None:
    """Go on until the budget is used up, and hold the result to what no kill may change."""
    for worker in run_workers(folder, path, 1):
        assert worker.wait(120) == 0
    ended = runner(folder, path).trials()
    assert [trial.number for trial in ended] == list(range(len(ended)))
    # A solver that was killed itself is tried again; where it is killed thrice its trial is lost,
    # and another is made.
    assert Counter(trial.kind for trial in ended)["solved"] == trials
    for trial in ended:
        if trial.kind == "solved":
            assert trial.outputs["y"] == pytest.approx((float(trial.params["x"]) - 3) ** 2)
    wait_for(lambda: not marked(folder))


def run_side_by_side(runners: list[StudyRunner]) -> list[StudyTrial]:
    """Run several runners of one study at once, each with locks of its own."""
    with ThreadPoolExecutor(len(runners)) as pool:
        for done in [pool.submit(each.run) for each in runners]:
            done.result(120)
    return runners[0].trials()


@pytest.mark.parametrize("kind", ["tpe", "random"])
def test_runs_side_by_side_with_one_seed_draw_different_designs(tmp_path: Path, kind: str) -> None:
    path = write_command_study(tmp_path, trials=12, workers=1)
    path.write_text(path.read_text().replace("kind: random", f"kind: {kind}, seed: 1"))
    trials = run_side_by_side([runner(tmp_path, path) for _ in range(4)])
    assert len({trial.params["x"] for trial in trials}) == len(trials) == 12
    assert not [trial for trial in trials if trial.same_as is not None]


def test_a_run_with_a_seed_is_repeated_exactly_in_another_folder(tmp_path: Path) -> None:
    designs = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        path = write_study(tmp_path / name, trials=6)
        designs.append([trial.params for trial in runner(tmp_path / name, path).run()])
    assert designs[0] == designs[1]


def test_a_design_that_is_under_way_is_not_solved_a_second_time(tmp_path: Path) -> None:
    path = write_command_study(tmp_path, trials=9, workers=3)
    path.write_text(path.read_text().replace("low: 0, high: 10", "choices: [1, 2, 3]"))
    trials = run_side_by_side([runner(tmp_path, path) for _ in range(2)])
    solves = (tmp_path / "calls.txt").read_text().split()
    assert len(solves) == len({trial.params["x"] for trial in trials}) <= 3
    assert counts(trials).total == 9
    first = {trial.params["x"]: trial for trial in trials if trial.same_as is None}
    for trial in trials:
        assert trial.values == first[trial.params["x"]].values


def test_a_design_whose_worker_was_killed_is_solved_once_by_the_next(tmp_path: Path) -> None:
    path = write_command_study(tmp_path, trials=4, workers=2)
    path.write_text(path.read_text().replace("low: 0, high: 10", "choices: [7]"))
    abandoned = runner(tmp_path, path)
    abandoned._optuna.ask(abandoned._ranges)  # a trial that no worker has
    trials = run_side_by_side([runner(tmp_path, path) for _ in range(2)])
    assert len((tmp_path / "calls.txt").read_text().split()) == 1
    assert counts(trials).total == 4


@pytest.mark.slow
def test_two_workers_share_a_study_and_one_is_killed(tmp_path: Path) -> None:
    path = write_command_study(tmp_path, trials=6, workers=1)
    workers = run_workers(tmp_path, path, 2)
    calls = tmp_path / "calls.txt"
    wait_for(lambda: calls.exists() and len(calls.read_text().split()) >= 3, 60)
    workers[0].send_signal(signal.SIGKILL)
    for worker in workers:
        worker.wait(120)
    finished(tmp_path, path, 6)
    begun = Counter(calls.read_text().split())
    assert sum(begun.values()) <= 6 + 1  # what was under way in the killed worker, and nothing else


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_kills_at_random_of_workers_and_solvers(tmp_path: Path, seed: int) -> None:
    pick = random.Random(seed)
    path = write_command_study(tmp_path, trials=10, workers=2)
    for _ in range(4):
        workers = run_workers(tmp_path, path, 2)
        for _ in range(2):
            time.sleep(pick.uniform(0.3, 1.2))
            for pid in marked(tmp_path)[:1]:
                with suppress(psutil.NoSuchProcess):  # it may have ended just now
                    psutil.Process(pid).kill()
        time.sleep(pick.uniform(0.0, 0.5))
        for worker in workers:
            worker.send_signal(signal.SIGKILL)
            worker.wait()
        wait_for(lambda: not marked(tmp_path))
    finished(tmp_path, path, 10)


@pytest.mark.slow
def test_kills_at_random_of_workers_and_calculix(
    tmp_path: Path, need_tool: Callable[[str], str]
) -> None:
    need_tool("ccx")
    pick = random.Random(0)
    path = tmp_path / "bracket.yaml"
    text = BRACKET.replace("MODE", "never")
    path.write_text(text + "sampler: {kind: random, seed: 1}\nbudget: {trials: 20, workers: 2}\n")
    for _ in range(3):
        workers = run_workers(tmp_path, path, 2)
        wait_for(lambda: len(marked(tmp_path)) > 1, 60)
        for _ in range(3):
            for pid in marked(tmp_path)[:1]:
                with suppress(psutil.NoSuchProcess):
                    psutil.Process(pid).kill()
            time.sleep(pick.uniform(0.2, 0.6))
        for worker in workers:
            worker.send_signal(signal.SIGKILL)
            worker.wait()
        wait_for(lambda: not marked(tmp_path))
    (last,) = run_workers(tmp_path, path, 1)
    assert last.wait(300) == 0
    made = runner(tmp_path, path)
    trials = made.trials()
    assert [trial.number for trial in trials] == list(range(len(trials)))
    assert (counts(trials).total, {trial.by for trial in trials if trial.kind != "lost"}) == (
        20,
        {"ccx"},
    )
    for trial in trials:
        if trial.kind != "lost":  # each ended as it does where nobody kills
            folder = tmp_path / "again" / str(trial.number)
            folder.mkdir(parents=True)
            again = made.solver.solve(folder, made.study.values(trial.params), made.study.limits)
            assert (again.diagnosis.failure, dict(again.outputs)) == (trial.failure, trial.outputs)


class Late(InMemoryStorage):
    """Tells of running trials as they were a moment ago: `meanwhile` happens between the look
    and the answer.
    """

    meanwhile: Callable[[], None] | None = None

    def get_all_trials(
        self,
        study_id: int,
        deepcopy: bool = True,
        states: Container[optuna.trial.TrialState] | None = None,
    ) -> list[optuna.trial.FrozenTrial]:
        found = super().get_all_trials(study_id, deepcopy=True, states=states)
        if states is not None and found and self.meanwhile:
            happens, self.meanwhile = self.meanwhile, None
            happens()
        return found


def test_a_trial_whose_worker_ends_while_another_looks_is_not_solved_again(tmp_path: Path) -> None:
    storage = Late()
    first = runner(tmp_path, write_study(tmp_path), storage=storage)
    study = optuna.load_study(study_name="plate", storage=storage)
    trial = study.ask({name: one.distribution() for name, one in first.study.variables.items()})
    claim = FileLock(first.folder / "locks" / "00000")
    claim.acquire()

    def end() -> None:
        study.tell(trial, 1.0)
        claim.release()

    storage.meanwhile = end
    first.run(2)
    assert not (first.folder / "trials" / "00000").exists()
    assert next(one.values for one in study.trials) == [1.0]


def test_several_objectives_have_a_front(tmp_path: Path) -> None:
    path = write_study(tmp_path, trials=25)
    path.write_text(
        path.read_text().replace(
            "objectives: [{name: mass}]", "objectives: [{name: mass}, {name: stress}]"
        )
    )
    made = runner(tmp_path, path, storage=InMemoryStorage())
    trials = made.run()
    found = front(made.study, trials)
    assert len(found) > 1
    feasible = [trial.values for trial in trials if trial.feasible]
    # Both objectives are minimized: less of one must cost more of the other.
    undominated = [
        values
        for values in feasible
        if not any(
            other != values and other[0] <= values[0] and other[1] <= values[1]
            for other in feasible
        )
    ]
    assert sorted(trial.values for trial in found) == sorted(undominated)
    assert (
        found
        == sorted(found, key=lambda trial: trial.values[0])
        == sorted(found, key=lambda trial: -trial.values[1])
    )


def test_a_design_that_was_solved_before_is_not_solved_again(tmp_path: Path) -> None:
    path = write_study(tmp_path, trials=12)
    ranges = "width: {low: 10, high: 40, step: 10, unit: mm}\n  hole: {choices: [4, 18]}"
    text = path.read_text()
    path.write_text(text[: text.index("width:")] + ranges + text[text.index("\nconstants:") :])
    lines: list[str] = []
    made = runner(tmp_path, path, progress=lines.append)
    trials = made.run()
    lines = [line for line in lines if not line.startswith("first solve")]
    again = [trial for trial in trials if trial.same_as is not None]
    assert again and counts(trials).total == 12
    for trial in again:
        first = trials[trial.same_as or 0]
        assert (trial.params, trial.kind, trial.values) == (first.params, first.kind, first.values)
        assert trial.reason.startswith(f"the same design as trial {first.number}")
        assert f"as trial {first.number}" in lines[trial.number]
        assert not (made.folder / "trials" / f"{trial.number:05d}").exists()
    assert len({str(trial.params) for trial in trials}) == 12 - len(again)
