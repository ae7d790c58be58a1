"""Trials that a study takes over: after a changed bound, from a table, from Optuna; and resuming."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import optuna
import pytest
from optuna.storages import InMemoryStorage

from tests.studies.helpers import runner, write_study
from transom.errors import InputError
from transom.studies.importing import import_trials
from transom.studies.report import as_csv, as_jsonl
from transom.studies.runner import StudyRunner
from transom.studies.trials import IMPORT, StudyTrial, counts, ranked


def changed(folder: Path, old: str, new: str, trials: int = 12) -> Path:
    """Write the study anew, with one part of its text changed."""
    path = write_study(folder, trials=trials)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def solves(trials: list[StudyTrial]) -> list[StudyTrial]:
    return [trial for trial in trials if trial.kind in ("solved", "failed")]


@pytest.mark.parametrize(
    ("old", "new", "fits"),
    [
        ("high: 40", "high: 25", lambda trial: trial.params["width"] <= 25),
        ("low: 2,", "low: 6,", lambda trial: trial.params["hole"] >= 6),
        ("high: 18", "high: 30", lambda trial: True),
        (
            "settings:",
            'require: ["hole < width / 3"]\nsettings:',
            lambda trial: 3 * trial.params["hole"] < trial.params["width"],
        ),
    ],
)
def test_a_changed_bound_goes_on_with_the_trials_that_fit(
    tmp_path: Path, old: str, new: str, fits: Callable[[StudyTrial], bool]
) -> None:
    first = runner(tmp_path, write_study(tmp_path, trials=12)).run()
    again = runner(tmp_path, changed(tmp_path, old, new))
    fitting = [trial.number for trial in solves(first) if fits(trial)]
    assert [trial.number for trial in solves(again.trials())] == fitting
    after = again.run()
    assert len(solves(after)) == 12
    assert all(fits(trial) for trial in solves(after))
    # The sampler draws within the new bounds, and so do the steps.
    assert all(again.study.within_bounds(trial.params) for trial in after[len(first) :])


def test_a_bound_that_is_taken_back_brings_its_trials_back(tmp_path: Path) -> None:
    first = runner(tmp_path, write_study(tmp_path, trials=12)).run()
    narrow = runner(tmp_path, changed(tmp_path, "high: 40", "high: 25"))
    assert len(solves(narrow.trials())) < 12
    assert runner(tmp_path, write_study(tmp_path, trials=12)).run() == first


def test_a_changed_constraint_judges_the_old_trials_anew(tmp_path: Path) -> None:
    first = runner(tmp_path, write_study(tmp_path, trials=12)).run()
    again = runner(tmp_path, changed(tmp_path, "max: 100", "max: 60", trials=20))
    for old, new in zip(first, again.trials(), strict=True):
        if old.kind == "solved":
            assert new.feasible == (old.outputs["stress"] <= 60)
            assert new.violations["stress"] == pytest.approx(old.outputs["stress"] / 60 - 1)
    assert sum(trial.feasible for trial in again.trials()) < sum(t.feasible for t in first)
    after = again.run()
    seen = [again._as_seen(frozen) for frozen in again._optuna.trials]
    for trial, frozen in zip(after, seen, strict=True):
        assert frozen is not None
        assert trial.feasible == all(value <= 0 for value in frozen.constraints.values())


def test_a_constraint_on_an_output_that_no_trial_has_sets_them_aside(tmp_path: Path) -> None:
    runner(tmp_path, write_study(tmp_path, trials=4)).run()
    path = changed(tmp_path, "{name: stress, max: 100}", "{name: sag, max: 1}")
    assert solves(runner(tmp_path, path).trials()) == [] or all(
        trial.kind == "failed" for trial in solves(runner(tmp_path, path).trials())
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("low: 2, high: 18", "low: 2, high: 18, integer: true"),
        ("low: 2, high: 18", "low: 2, high: 18, log: true"),
        ("settings: {mesh: 5}", "settings: {mesh: 4}"),
        ("[{name: mass}]", "[{name: mass, direction: maximize}]"),
    ],
)
def test_what_changes_the_result_of_a_solve_is_another_problem(
    tmp_path: Path, old: str, new: str
) -> None:
    runner(tmp_path, write_study(tmp_path, trials=2)).run()
    with pytest.raises(InputError) as raised:
        runner(tmp_path, changed(tmp_path, old, new))
    assert "another problem" in str(raised.value) or "other objectives" in str(raised.value)


def test_a_study_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    storage = InMemoryStorage()
    made = runner(tmp_path, write_study(tmp_path, trials=3), storage=storage)
    made.run()
    made._optuna.set_user_attr("problem", made.study.definition)
    again = runner(tmp_path, write_study(tmp_path, trials=3), storage=storage)
    assert len(again.trials()) == 3
    assert again._optuna.user_attrs["problem"] == again.study.problem


# Optuna's storages


@pytest.mark.slow
@pytest.mark.fence
def test_a_study_in_a_database_of_optuna(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'trials.db'}"
    path = write_study(tmp_path, trials=8, more=f"storage: {url}\n")
    trials = runner(tmp_path, path).run()
    study = optuna.load_study(study_name="plate", storage=url)
    assert study.best_trial.number == ranked(runner(tmp_path, path).study, trials)[0].number
    assert runner(tmp_path, path).run() == trials  # the budget is used up


def test_a_journal_beside_the_study_file(tmp_path: Path) -> None:
    path = write_study(tmp_path, trials=3, more="storage: common.journal\n")
    runner(tmp_path, path).run()
    assert (tmp_path / "common.journal").stat().st_size > 1000
    assert not (tmp_path / "studies/plate/trials.journal").exists()


def test_a_storage_that_cannot_be_opened_is_said_without_its_password(tmp_path: Path) -> None:
    url = "nosuchdatabase://ann:sesame@host/trials"
    path = write_study(tmp_path, more=f"storage: {url}\n")
    with pytest.raises(InputError, match="the storage cannot be opened") as raised:
        runner(tmp_path, path)
    assert "sesame" not in str(raised.value)


def test_a_study_that_transom_did_not_make_is_not_mixed_with_ours(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'trials.db'}"
    optuna.create_study(study_name="plate", storage=url).optimize(
        lambda trial: trial.suggest_float("width", 10, 40), n_trials=2
    )
    with pytest.raises(InputError, match="a study plate that Transom did not make"):
        runner(tmp_path, write_study(tmp_path, more=f"storage: {url}\n"))


@pytest.mark.slow
@pytest.mark.fence
def test_processes_of_one_study_share_a_folder(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'trials.db'}"
    path = write_study(tmp_path, trials=3, more=f"storage: {url}\n")
    here = runner(tmp_path, path)
    here.run()
    elsewhere = tmp_path / "elsewhere"
    assert len(runner(elsewhere, path).trials()) == 3  # nothing is under way
    back = runner(tmp_path, path)
    back._optuna.ask(back._ranges)
    with pytest.raises(InputError, match="trials of this study are under way in"):
        runner(elsewhere, path)


# Trials that were solved elsewhere


def solved_elsewhere(tmp_path: Path) -> tuple[StudyRunner, list[StudyTrial]]:
    made = runner(tmp_path / "elsewhere", write_study(tmp_path, trials=12))
    return made, made.run()


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_an_export_comes_back_whole(tmp_path: Path, suffix: str) -> None:
    made, trials = solved_elsewhere(tmp_path)
    file = tmp_path / f"trials.{suffix}"
    text = as_csv(made.study, trials) if suffix == "csv" else as_jsonl(made.study, trials)
    file.write_text(text)
    here = runner(tmp_path, write_study(tmp_path, trials=5))
    imported = import_trials(here, str(file))
    assert (imported.added, imported.skipped) == (12, ())
    for old, new in zip(trials, here.trials(), strict=True):
        assert new.source == IMPORT
        assert (new.kind, new.failure, new.params) == (old.kind, old.failure, old.params)
        assert new.values == pytest.approx(old.values)
        assert new.violations == pytest.approx(old.violations)
    # They use no budget, and none is solved again.
    after = here.run()
    assert len(after) == 17
    assert sum(trial.source == IMPORT for trial in after) == 12
    assert import_trials(here, str(file)).added == 0


def frame_of(study: optuna.Study) -> str:
    """Return a table as `study.trials_dataframe()` writes it, which needs pandas."""
    rows = ["number,value,params_hole,params_width,user_attrs_stress,state"]
    for trial in study.trials:
        value = "" if trial.value is None else trial.value
        stress = trial.user_attrs.get("stress", "")
        rows.append(
            f"{trial.number},{value},{trial.params['hole']},{trial.params['width']},{stress},"
            f"{trial.state.name}"
        )
    return "\n".join(rows) + "\n"


def optuna_study(storage: object = None) -> optuna.Study:
    """Return a study that an Optuna user has: failures raise, and an attribute has the stress."""

    def objective(trial: optuna.Trial) -> float:
        width = trial.suggest_float("width", 10, 40)
        hole = trial.suggest_float("hole", 2, 18)
        if hole > 0.45 * width:
            raise RuntimeError("no mesh")
        trial.set_user_attr("stress", 1000 / (width - 2 * hole))
        return width - hole**2 / 30

    study = optuna.create_study(
        storage=storage,  # type: ignore[arg-type]
        study_name="mine",
        sampler=optuna.samplers.RandomSampler(seed=3),
    )
    study.optimize(objective, n_trials=15, catch=(RuntimeError,))
    return study


@pytest.mark.parametrize("form", ["url", "table", "journal"])
def test_a_study_of_optuna_is_taken_over(tmp_path: Path, form: str) -> None:
    url = f"sqlite:///{tmp_path / 'mine.db'}"
    if form == "journal":
        backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "mine.log"))
        study = optuna_study(optuna.storages.JournalStorage(backend))
    else:
        study = optuna_study(url if form == "url" else None)
    (tmp_path / "mine.csv").write_text(frame_of(study))
    source = {
        "url": url,
        "table": str(tmp_path / "mine.csv"),
        "journal": str(tmp_path / "mine.log"),
    }
    here = runner(tmp_path, write_study(tmp_path, trials=4))
    assert import_trials(here, source[form]).added == 15
    for old, new in zip(study.trials, here.trials(), strict=True):
        assert new.kind == ("failed" if old.state.name == "FAIL" else "solved")
        if new.kind == "solved":
            assert new.feasible == (old.user_attrs["stress"] <= 100)
            assert new.values == pytest.approx(old.values)
    assert len(here.run()) == 19


def test_what_cannot_be_taken_over_is_named(tmp_path: Path) -> None:
    file = tmp_path / "trials.csv"
    file.write_text(
        "width;hole;mass;stress;state\n"
        "20,5;4;18,2;80;COMPLETE\n"
        "50;4;18;80;COMPLETE\n"
        "21;x;18;80;COMPLETE\n"
        "22;4;18;;COMPLETE\n"
        "23;4;18;80;PRUNED\n"
        "24;4;;80;COMPLETE\n"
        "25;4;nan;80;COMPLETE\n"
        "20,5;4;18,2;80;COMPLETE\n"
    )
    here = runner(tmp_path, write_study(tmp_path, trials=4))
    imported = import_trials(here, str(file))
    assert imported.added == 1
    assert here.trials()[0].params == {"width": 20.5, "hole": 4.0}
    assert [place for place, _ in imported.skipped] == [f"line {n}" for n in range(3, 10)]
    reasons = [reason for _, reason in imported.skipped]
    for reason, words in zip(
        reasons,
        ["bounds", "not a number", "stress", "pruned", "mass", "nan", "trial 0"],
        strict=True,
    ):
        assert words in reason


def test_a_source_that_is_none_is_an_error(tmp_path: Path) -> None:
    here = runner(tmp_path, write_study(tmp_path, trials=4))
    (tmp_path / "empty.csv").write_text("width,hole\n")
    url = f"sqlite:///{tmp_path / 'two.db'}"
    for name in ("one", "two"):
        optuna.create_study(study_name=name, storage=url)
    cases: tuple[tuple[str, str | None, str], ...] = (
        (str(tmp_path / "nothing.csv"), None, "there is no such file"),
        (str(tmp_path / "empty.csv"), None, "it has no trials"),
        (url, None, "the storage has 2 studies"),
        (url, "three", "the storage has no study 'three'"),
    )
    for source, study_name, words in cases:
        with pytest.raises(InputError, match=words):
            import_trials(here, source, study_name)


def test_failures_elsewhere_say_nothing_of_this_machine(tmp_path: Path) -> None:
    rows = [{"params": {"width": 20 + n, "hole": 3}, "kind": "failed"} for n in range(12)]
    file = tmp_path / "trials.json"
    file.write_text(json.dumps(rows))
    here = runner(tmp_path, write_study(tmp_path, trials=4))
    assert import_trials(here, str(file)).added == 12
    assert counts(here.run()).complete  # it does not stop to ask a person


# Folders of solves


@pytest.mark.parametrize("keep", ["all", "failed", "best"])
def test_folders_of_solves_stay_as_the_study_says(tmp_path: Path, keep: str) -> None:
    made = runner(tmp_path, write_study(tmp_path, trials=16, more=f"keep: {keep}\n"))
    trials = made.run()
    best = ranked(made.study, trials)[0].number
    failed = {trial.number for trial in trials if trial.kind == "failed"}
    assert failed
    expected = {
        "all": {trial.number for trial in trials},
        "failed": {best, *failed},
        "best": {best},
    }
    folders = {int(path.name) for path in (made.folder / "trials").iterdir()}
    assert folders == expected[keep]


# Resuming


KILLED = """
import os, sys
from pathlib import Path
from tests.studies.helpers import Plate, runner
from transom.studies.runner import StudyRunner

folder, solves = Path(sys.argv[1]), int(sys.argv[2])
made = runner(folder, folder / "plate.yaml")
real, count = made.solver.solve, 0

def solve(*arguments):
    global count
    count += 1
    if count == solves:
        os._exit(9)
    return real(*arguments)

made.solver.solve = solve
made.run()
"""


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.parametrize("kind", ["tpe", "random"])
def test_a_killed_study_gives_the_designs_of_an_undisturbed_one(tmp_path: Path, kind: str) -> None:
    found = []
    for name in ("undisturbed", "killed"):
        folder = tmp_path / name
        folder.mkdir()
        path = write_study(folder, trials=30)
        path.write_text(path.read_text().replace("{seed: 1}", f"{{seed: 1, kind: {kind}}}"))
        if name == "killed":
            for solves in (3, 9, 7):
                command = [sys.executable, "-c", KILLED, str(folder), str(solves)]
                assert subprocess.run(command, check=False).returncode == 9
        found.append(runner(folder, path).run())
    undisturbed, killed = found
    assert [trial.params for trial in killed] == [trial.params for trial in undisturbed]
    assert [trial.source for trial in killed] == [trial.source for trial in undisturbed]


def test_a_trial_that_was_killed_before_it_had_a_design_gets_that_of_its_number(
    tmp_path: Path,
) -> None:
    undisturbed = runner(tmp_path / "a", write_study(tmp_path, trials=3)).run()
    made = runner(tmp_path / "b", write_study(tmp_path, trials=3))
    made._optuna.ask()  # no parameter yet
    assert [trial.params for trial in made.run()] == [trial.params for trial in undisturbed]
