"""The pictures of a report: Optuna's own plots, as SVG that is the same for the same study."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.studies.helpers import runner, write_study
from transom.studies import pictures
from transom.studies.pictures import as_optuna, importances, write_pictures
from transom.studies.trials import StudyTrial, front, ranked

TWO = "[{name: mass}, {name: stress}]"


@pytest.mark.slow
@pytest.mark.fence
def test_two_objectives_have_a_front_and_a_history_of_the_hypervolume(tmp_path: Path) -> None:
    path = write_study(tmp_path, trials=20)
    path.write_text(path.read_text().replace("[{name: mass}]", TWO))
    made = runner(tmp_path, path)
    trials = made.run()
    written = write_pictures(made, trials, tmp_path / "pictures")
    assert {
        "history",
        "slice",
        "parallel-coordinate",
        "contour",
        "front",
        "hypervolume",
    } <= written.keys()
    for file in written.values():
        assert ElementTree.parse(file).getroot().tag.endswith("}svg")
    # Optuna's front is ours.
    best = {trial.values for trial in front(made.study, trials)}
    assert {tuple(trial.values) for trial in as_optuna(made.study, trials).best_trials} == best


@pytest.mark.slow
@pytest.mark.fence
def test_equal_studies_have_equal_pictures(tmp_path: Path) -> None:
    made = runner(tmp_path, write_study(tmp_path, trials=12))
    trials = made.run()
    best = ranked(made.study, trials)[0]
    assert as_optuna(made.study, trials).best_value == best.values[0]
    one = write_pictures(made, trials, tmp_path / "one")
    two = write_pictures(made, trials, tmp_path / "two")
    assert one.keys() == two.keys() >= {"history", "slice", "contour"}
    for name, file in one.items():
        assert file.read_bytes() == two[name].read_bytes()
        # Nothing is fetched when the page is opened.
        links = re.findall(r'href="([^"]+)"', file.read_text())
        assert all(link.startswith(("#", "data:")) for link in links)


def test_without_scipy_all_but_the_contour_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pip install .[studies]` brings no scipy."""
    made = runner(tmp_path, write_study(tmp_path, trials=12))
    trials = made.run()
    monkeypatch.setattr(pictures, "find_spec", lambda name: None)
    drawn = write_pictures(made, trials, tmp_path / "plain")
    assert {"history", "slice", "parallel-coordinate"} <= drawn.keys()
    assert "contour" not in drawn


def test_a_study_without_a_solved_design_has_no_plots(tmp_path: Path) -> None:
    made = runner(tmp_path, write_study(tmp_path, trials=12))
    assert write_pictures(made, [], tmp_path / "none") == {}


@pytest.mark.parametrize("trials", [8, 40])
def test_no_variable_matters_where_all_designs_are_equally_good(
    tmp_path: Path, trials: int
) -> None:
    made = runner(tmp_path, write_study(tmp_path, trials=12))
    designs = []
    for number in range(trials):
        design = StudyTrial(
            number=number,
            kind="solved",
            params={"width": 11 + number / 2, "hole": 2 + number % 7},
            values=(3.0,),
        )
        designs.append(design)
    assert importances(made.study, designs) == {}
    assert "importances" not in write_pictures(made, designs, tmp_path / "equal")
    differing = [
        design.model_copy(update={"values": (design.params["width"],)}) for design in designs
    ]
    shares = importances(made.study, differing)
    assert shares["width"] > shares["hole"]
