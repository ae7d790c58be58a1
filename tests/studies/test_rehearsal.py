"""What a study says after its first solve, and what counts as a solve that finished."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.studies.helpers import runner
from transom.studies.control import StudyStopped
from transom.studies.trials import StudyTrial, counts

STUDY = """study: toy
variables:
  x: {{low: 0, high: 10{unit}}}
  y: {{low: 1, high: 10{unit}}}
objectives: [{{name: mass}}]
solver:
  command: [{python}, -I, -c, "{program}", "{{{{x}}}}"]
  outputs: {{mass: {{file: {file}, regex: '{pattern}'}}}}
{more}
sampler: {{kind: random, seed: 1}}
budget: {{trials: 8}}
"""
PROGRAM = "import sys; x = float(sys.argv[1]); print('mass =', x); print('converged' * (x < 5))"


def run(
    folder: Path,
    pattern: str = "mass = (.*)",
    file: str = "stdout.txt",
    more: str = "",
    unit: str = "",
) -> tuple[list[StudyTrial], list[str]]:
    """Run the toy study; returns its trials, and its lines of progress before the first trial's."""
    path = folder / "toy.yaml"
    text = STUDY.format(
        python=sys.executable, program=PROGRAM, pattern=pattern, file=file, more=more, unit=unit
    )
    path.write_text(text)
    lines: list[str] = []
    made = runner(folder, path, progress=lines.append)
    try:
        made.run()
    except StudyStopped as stopped:
        lines.append(str(stopped))
    return made.trials(), [line for line in lines if "trial" not in line or "alike" in line]


def test_the_first_solve_shows_its_outputs_and_what_its_set_up_lacks(tmp_path: Path) -> None:
    trials, lines = run(tmp_path)
    assert lines[0] == f"first solve: mass = {trials[0].outputs['mass']:.4g}"
    assert "return code 0 counts as solved" in lines[1]
    assert lines[2].startswith("first solve: x, y have no unit")
    assert len(lines) == 3


def test_a_complete_set_up_leaves_nothing_to_say(tmp_path: Path) -> None:
    trials, lines = run(tmp_path, more="  finished: mass", unit=", unit: mm")
    assert counts(trials).complete == 8
    assert [line[:20] for line in lines] == ["first solve: mass = "]


@pytest.mark.parametrize(
    ("pattern", "file", "problem"),
    [
        ("mass: (.*)", "stdout.txt", "stdout.txt has nothing at regex: mass: (.*)"),
        ("mass = (.*)", "out.txt", "no file out.txt; the solve wrote stderr.txt, stdout.txt"),
    ],
)
def test_an_output_that_is_not_found_is_named_at_once_and_does_not_spend_the_budget(
    tmp_path: Path, pattern: str, file: str, problem: str
) -> None:
    trials, lines = run(tmp_path, pattern, file)
    assert problem in lines[0]
    assert "no solve succeeded, and 5 ended alike" in lines[-1]
    assert len(trials) == 5


def test_return_code_0_without_the_mark_of_a_good_run_is_not_solved(tmp_path: Path) -> None:
    trials, _ = run(tmp_path, more="  finished: ^converged$")
    for trial in trials:
        assert (trial.kind == "solved") == (float(trial.params["x"]) < 5), trial
        if trial.kind == "failed":
            assert trial.failure == "no_result" and "no output matches" in trial.reason
