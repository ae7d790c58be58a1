"""`study.yaml`: what can be wrong is said with its line and what to write instead."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import examples
from tests.studies.helpers import runner, write_study
from transom.errors import InputError
from transom.studies.expression import Formula, fill
from transom.studies.job_files import extract
from transom.studies.study import Extractor, Study
from transom.studies.study_file import load_study

STUDY = """study: plate
variables:
  width: {low: 10, high: 40, unit: mm}
  hole: {low: 2, high: 15, unit: mm}
constants:
  load: 100
require:
  - 2*hole + 3 <= width
objectives:
  - {name: mass}
constraints:
  - {name: stress, max: 200}
settings: {mesh: 5}
solver:
  command: [sh, -c, "echo {{width}}"]
  outputs:
    mass: {file: out.json, json: /mass}
    stress: {file: out.json, json: /stress}
budget: {trials: 5}
limits: {seconds: 120, memory: 1.5 GB}
"""


def read(folder: Path, text: str) -> Study:
    path = folder / "study.yaml"
    path.write_text(text)
    return load_study(path)


def test_a_study_is_read(tmp_path: Path) -> None:
    study = read(tmp_path, STUDY)
    assert (study.limits.seconds, study.limits.memory) == (120, 1.5e9)
    assert study.fixed == {"load": 100, "mesh": 5}
    assert study.problem != read(tmp_path, STUDY.replace("mesh: 5", "mesh: 6")).problem
    assert study.problem == read(tmp_path, STUDY.replace("trials: 5", "trials: 50")).problem


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "low: 10, high: 40",
            "low: 50, high: 40",
            r"study.yaml:3: .*bounds contradict.*low 50 is above high 40",
        ),
        ("low: 10, high: 40", "low: 0, high: 40, log: true", r":3: .*`low > 0` must hold"),
        (
            "mass: {file: out.json, json: /mass}",
            "mass: {file: a, regex: 'm ('}",
            r":17: .*is not a regular expression",
        ),
        (
            "high: 40,",
            "high: 40, integer: true, step: 0.5,",
            r":3: .*low, high and step must be whole numbers",
        ),
        ("low: 10, high: 40", "low: 10", r":3: .*needs low and high, or choices"),
        ("high: 40", "hihg: 40", r"did you mean high\?"),
        (
            "2*hole + 3 <= width",
            "2*hole >= 100 * width",
            (
                r":8: the space is infeasible: none of 4000 designs .* first of all '2\*hole >= 100"
                r" \* width'"
            ),
        ),
        ("2*hole + 3 <= width", "2*hole + 3", r":8: require.0: .* is not a comparison"),
        ("2*hole + 3 <= width", "2*radius <= width", r":8: require.0: unknown name radius"),
        (
            "2*hole + 3 <= width",
            "__import__('os').system('x') < 1",
            r":8: .*is not allowed in a formula",
        ),
        ("{name: mass}", "{name: volume}", r":10: objectives.0.name: unknown name volume"),
        ("max: 200", "min: 300, max: 200", r":12: .*min 300 is above max 200"),
        (
            "{name: stress, max: 200}",
            "{name: stress, max: 200}\n  - {name: stress, min: 10}",
            r":13: two of constraints are named stress",
        ),
        (
            "    mass: {file",
            "    load: {file: a, json: /}\n    mass: {file",
            r"load is in constants and in sol",
        ),
        (
            "settings: {mesh: 5}",
            "settings: {width: 5}",
            r":13: width is in variables and in settings",
        ),
        ("command: [sh,", "use: bracket\n  command: [sh,", "needs either use: NAME or command"),
        ("1.5 GB", "1.5 apples", r":20: limits.memory: could not interpret byte unit"),
        (
            "mass: {file: out.json, json: /mass}",
            "mass: {file: out.json}",
            "needs one of json, regex",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in STUDY
    with pytest.raises(InputError, match=message):
        read(tmp_path, STUDY.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "command: [sh,",
            "templates: {a: latin.txt}\n  command: [sh,",
            r"latin.txt:1: is not UTF-8",
        ),
        ("command: [sh,", "templates: {a: none.txt}\n  command: [sh,", r"none.txt: no such file"),
        ("budget:", "failures: [own.yaml]\nbudget:", r"own.yaml: no such file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_before_anything_is_solved(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    (tmp_path / "latin.txt").write_bytes(b"Gr\xf6\xdfe {{width}}")
    (tmp_path / "study.yaml").write_text(STUDY.replace(old, new))
    with pytest.raises(InputError, match=message):
        runner(tmp_path, tmp_path / "study.yaml")


def test_formulas_and_templates() -> None:
    values: dict[str, float | int | str] = {"width": 10.0, "hole": 4.0, "name": "steel"}
    assert Formula.parse("max(2*hole, 3) / width")(values) == 0.8
    assert Formula.parse("1 / (hole - 4)")(values) != Formula.parse("1 / (hole - 4)")(values)  # nan
    assert [Formula.parse(text)(values) for text in ("2*hole <= width", "3 <= hole < 4")] == [1, 0]
    assert (
        fill("w={{width:8.3f}} a={{pi*hole**2:.1f}} {{ name }}", values)
        == "w=  10.000 a=50.3 steel"
    )
    with pytest.raises(ValueError, match="unknown name depth"):
        fill("{{depth}}", values)


@given(st.text(alphabet="0123456789.+-*/()<= abhole_,'[]{}:\n\\", max_size=30))
@settings(max_examples=examples(60))
def test_whatever_is_written_as_a_formula_is_refused_or_gives_a_number(text: str) -> None:
    try:
        formula = Formula.parse(text)
    except ValueError:
        return
    assert isinstance(formula(defaultdict(lambda: -3.0, hole=2.0, a=1e200)), float)


def test_an_output_that_a_plug_in_does_not_give_is_named(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    path.write_text(path.read_text().replace("name: mass", "name: mas"))
    with pytest.raises(InputError, match="the solver plate has no output mas"):
        runner(tmp_path, path).run()


def test_a_number_of_fortran_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mass = 1.5d+03\n")
    assert extract(Extractor(file="a", regex=r"mass = (\S+)"), tmp_path) == 1500


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "what", "number"),
    [
        # What MYSTRAN's F06 says of the same two runs: a plate held at one end, and its modes.
        ("plate.op2", "displacement", 6.26184e-2),
        ("plate.op2", "mises", 21.3609),
        ("plate.op2", "mass", None),
        ("modes.op2", "frequency", 3835.201),
        ("none.op2", "mises", None),
    ],
)
def test_an_op2_file_is_read(
    file: str, what: Literal["displacement", "mises", "mass", "frequency"], number: float | None
) -> None:
    pytest.importorskip("pyNastran")
    found = extract(Extractor(file=file, nastran=what), Path(__file__).with_name("data"))
    assert found == (None if number is None else pytest.approx(number, rel=1e-5))


def test_a_study_that_is_mended_before_its_first_result_begins_anew(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    right = path.read_text().replace("high: 18", "high: 4")  # no design fails
    path.write_text(right.replace("name: mass", "name: mas"))
    with pytest.raises(InputError):
        runner(tmp_path, path).run()
    path.write_text(right)
    assert len(runner(tmp_path, path).run(trials=2)) == 2
