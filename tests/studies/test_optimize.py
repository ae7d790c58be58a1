"""`optimize`: a Python function in place of a solver and a study file."""

from __future__ import annotations

import enum
import faulthandler
import functools
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from transom.errors import InputError
from transom.studies import Optimum, StudyFolder, optimize
from transom.studies.function_digest import UnknownFunction, function_digest


def beam(width: float, height: float) -> dict[str, float]:
    if height > 3 * width:
        raise RuntimeError("the beam buckles: matrix is singular")
    return {"mass": width * height, "stress": 9e6 / (width * height**2)}


BEAM = {"width": (5, 60), "height": (10, 120)}


@pytest.mark.slow
@pytest.mark.fence
def test_a_function_is_optimised_within_its_constraints(tmp_path: Path) -> None:
    best = optimize(beam, BEAM, minimize="mass", constraints=["stress <= 180"], n_trials=30, seed=1)
    assert best.params is not None and best.value is not None
    assert best.outputs["stress"] <= 180
    assert best.value == best.outputs["mass"]
    assert best.value < 1200
    assert set(best.failures) == {"singularity"}
    assert len([trial for trial in best.trials if trial.kind != "rejected"]) == 30
    assert best.stopped == ""


def test_without_constraints_ten_lines_are_enough() -> None:
    best = optimize(lambda x: (x - 3) ** 2, {"x": (0.0, 10.0)}, n_trials=15, seed=1)
    assert best.params is not None
    assert abs(float(best.params["x"]) - 3) < 1


def test_integers_choices_and_maximising() -> None:
    def count(n: int, kind: str) -> float:
        assert n % 2 == 1
        return n if kind == "good" else 0

    space = {"n": range(1, 10, 2), "kind": ["good", "bad"]}
    best = optimize(count, space, maximize="value", n_trials=15, seed=1)
    assert best.params == {"n": 9, "kind": "good"}


@pytest.mark.slow
def test_what_failed_is_learned_for_the_next_study_in_the_folder(tmp_path: Path) -> None:
    space = {
        "width": {"low": 5, "high": 60, "unit": "mm"},
        "height": {"low": 10, "high": 120, "unit": "mm"},
    }

    def find(study_name: str, n_trials: int) -> Optimum:
        folder = StudyFolder(tmp_path, study_name, scope="beams")
        return optimize(beam, space, minimize="mass", folder=folder, seed=1, n_trials=n_trials)

    first = find("first", 40)
    assert any("singularity" in rule for rule in first.rules)
    again = find("first", 40)
    assert again.trials == first.trials
    second = find("second", 20)
    assert sum(second.failures.values()) <= 2


def test_a_study_begins_with_the_designs_that_one_has() -> None:
    start = [{"width": 20, "height": 60}, {"width": 33}]
    best = optimize(beam, BEAM, minimize="mass", start=start, n_trials=4, seed=1)
    first = [dict(trial.params) for trial in best.trials][:2]
    assert first[0] == start[0] and first[1]["width"] == 33
    assert [trial.source for trial in best.trials] == ["start", "start", "step", "sampler"]


def hangs(x: float) -> float:
    if os.fork() == 0:  # what it starts is ended with it
        time.sleep(60)
    time.sleep(60)
    return x


def test_a_call_that_hangs_is_ended_with_all_that_it_started() -> None:
    began = time.monotonic()
    best = optimize(hangs, {"x": (0.0, 1.0)}, n_trials=1, limits={"seconds": 0.5})
    assert time.monotonic() - began < 20
    assert best.failures == {"timeout": 1} and best.params is None


def dies(x: float) -> float:
    faulthandler.disable()  # pytest's own would print here
    os.kill(os.getpid(), 11)
    return x


def prints(x: float) -> float:
    sys.stdout.write("a line of the function")
    return x


def nothing(x: float) -> None:
    return None


def wrong(x: float) -> str:
    return "much"


@pytest.mark.parametrize(
    ("function", "failure"),
    [(dies, "crash"), (nothing, "not_finite"), (wrong, "solver_error")],
)
def test_a_call_that_dies_or_returns_no_number_fails_its_design(
    function: Callable[..., object], failure: str
) -> None:
    assert optimize(function, {"x": (0.0, 1.0)}, n_trials=2).failures == {failure: 2}


def test_what_a_function_prints_stays_out_of_the_terminal(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    optimize(prints, {"x": (0.0, 1.0)}, n_trials=1, folder=tmp_path)
    assert "a line" not in capfd.readouterr().out
    assert "a line" in (tmp_path / "prints/trials/00000/stdout.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"space": {"x": 3}}, "x: 3 is not a range"),
        ({"space": {"y": (0, 1)}}, "the function cannot be called"),
        ({"space": {"x": (1, 0)}}, "bounds contradict each other"),
        ({"constraints": ["x < 3"]}, "'x < 3' is not a constraint"),
        ({"constraints": ["value <= import os"]}, "is not a formula"),
        ({"require": ["x <"]}, "is not a formula"),
        ({"require": ["z < 1"]}, "unknown name z"),
        ({"start": [{"x": 7}]}, "x = 7 is outside its bounds"),
        ({"minimize": "a", "maximize": "b"}, "both minimize and maximize"),
    ],
)
def test_a_wrong_argument_is_one_error(arguments: dict[str, object], message: str) -> None:
    given = {"space": {"x": (0.0, 1.0)}, "n_trials": 1, **arguments}
    with pytest.raises(InputError, match=message):
        optimize(prints, **given)  # type: ignore[arg-type]


def test_arguments_of_the_version_before_warn_and_still_count(tmp_path: Path) -> None:
    old: dict[str, Any] = {
        "name": "first",
        "scope": "lines",
        "workers": 2,
        "seconds": 30,
        "memory": 3e9,
    }
    with pytest.warns(DeprecationWarning) as warned:
        optimize(prints, {"x": (0.0, 1.0)}, n_trials=2, folder=tmp_path, **old)
    assert [name for name in old if not any(f"({name}=)" in str(w.message) for w in warned)] == []
    assert {warning.filename for warning in warned} == {__file__}
    assert (tmp_path / "first/trials/00001/stdout.txt").is_file()
    current = StudyFolder(tmp_path, "first", scope="lines")
    # The same study goes on: all its trials are there already.
    again = optimize(
        prints,
        {"x": (0.0, 1.0)},
        n_trials=2,
        folder=current,
        n_jobs=2,
        limits={"seconds": 30, "memory": "3 GB"},
    )
    assert [trial.number for trial in again.trials] == [0, 1]


def test_an_argument_that_never_was_is_an_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'sampler'"):
        optimize(prints, {"x": (0.0, 1.0)}, sampler="tpe")


def test_a_misspelled_output_does_not_spend_the_budget() -> None:
    with pytest.raises(InputError, match="has no output mas, which"):
        optimize(beam, BEAM, minimize="mas", n_trials=40, seed=1)


def loaded(width: float, load: float = 1.0) -> float:
    return width * load


def closure_of(value: Any) -> Callable[[float], object]:
    def weigh(width: float) -> object:
        return width, value

    return weigh


def doubled(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def twice(*args: Any, **kwargs: Any) -> Any:
        return 2 * function(*args, **kwargs)

    return twice


def with_default(value: Any) -> Callable[..., object]:
    def weigh(width: float, *, factor: Any = value) -> object:
        return width, factor

    return weigh


def with_attribute(value: Any) -> Callable[..., object]:
    weigh: Any = closure_of(0)
    weigh.factor = value
    return weigh  # type: ignore[no-any-return]


class Plate:
    def __init__(self, load: Any) -> None:
        self.load = load

    def __call__(self, width: float) -> object:
        return width, self.load

    def weigh(self, width: float) -> object:
        return self(width)


class Shell(Plate):
    __slots__ = ("ribs",)

    def __init__(self, ribs: Any) -> None:
        super().__init__(1)
        self.ribs = ribs


@dataclass
class Bar:
    load: Any
    marks: list[str] = field(default_factory=list)

    def __call__(self, width: float) -> object:
        return width, self.load


class Point(NamedTuple):
    x: float
    y: float = 0.0


class Joint(enum.Enum):
    WELD = 1
    BOLT = 2


def class_of(sign: int) -> type:
    class Local:
        def __call__(self, width: float) -> float:
            return sign * width

    return Local


def global_load(load: float) -> Callable[..., object]:
    """Return a function as it is after the global value that it names was edited."""
    import types

    names: dict[str, Any] = {"__name__": __name__, "LOAD": load}
    return types.FunctionType(reads_global.__code__, names, "reads_global")


LOAD = 1.0


def reads_global(width: float) -> float:
    return width * LOAD


DIFFERENT: list[tuple[Any, ...]] = [
    (functools.partial(loaded, load=1), functools.partial(loaded, load=-1)),
    (functools.partial(loaded, load=1), loaded),
    (functools.partial(closure_of(1)), functools.partial(closure_of(2))),
    (closure_of(1), closure_of(-1)),
    (closure_of(1), closure_of(1.0)),
    (closure_of(1), closure_of("1")),
    (closure_of(None), closure_of(False)),
    (closure_of({"steel": 7.8}), closure_of({"steel": 2.7})),
    (closure_of([1, 2]), closure_of((1, 2))),
    (closure_of({"a", "b"}), closure_of({"a", "c"})),
    (closure_of(b"one"), closure_of(b"two")),
    (closure_of(np.arange(4.0)), closure_of(np.arange(4.0) + 1)),
    (closure_of(np.arange(4.0)), closure_of(np.arange(4.0).reshape(2, 2))),
    (closure_of(np.float64(1)), closure_of(np.float64(2))),
    (closure_of(np.sin), closure_of(np.cos)),
    (closure_of(abs), closure_of(max)),
    (closure_of([1].count), closure_of([2].count)),
    (closure_of(Joint.WELD), closure_of(Joint.BOLT)),
    (closure_of(Point(1, 2)), closure_of(Point(1, 3))),
    (closure_of(Path("steel.csv")), closure_of(Path("wood.csv"))),
    (closure_of(re.compile("a")), closure_of(re.compile("b"))),
    (closure_of(closure_of(1)), closure_of(closure_of(2))),
    (closure_of(Plate(Bar(1))), closure_of(Plate(Bar(2)))),
    (doubled(loaded), loaded),
    (doubled(loaded), doubled(reads_global)),
    (doubled(closure_of(1)), doubled(closure_of(2))),
    (functools.lru_cache(closure_of(1)), functools.lru_cache(closure_of(2))),
    (np.vectorize(closure_of(1)), np.vectorize(closure_of(2))),
    (with_default(1), with_default(2)),
    (with_attribute(1), with_attribute(2)),
    (Plate(1), Plate(2)),
    (Plate(1), Shell(1)),
    (Shell(1), Shell(2)),
    (Plate(1).weigh, Plate(2).weigh),
    (Plate(1).weigh, Plate(1)),
    (Bar(1), Bar(2)),
    (Bar(1), Bar(1, ["a"])),
    (class_of(1)(), class_of(-1)()),
    (global_load(1.0), global_load(2.0)),
    (lambda width: width, lambda width: -width),
    (*[closure_of(one) for one in (lambda width: width, lambda width: -width)],),  # one line
]


@pytest.mark.parametrize("number", range(len(DIFFERENT)))
def test_functions_with_other_values_are_other_problems(number: int) -> None:
    one, other = DIFFERENT[number]
    assert function_digest(one) != function_digest(other)
    assert function_digest(one) == function_digest(one)


SAME: list[Callable[[], Any]] = [
    lambda: functools.partial(loaded, load=1),
    lambda: closure_of({"steel": 7.8, "wood": [0.6, {"a", "b", "c", "d"}]}),
    lambda: closure_of(np.linspace(0, 1, 5)),
    lambda: closure_of(Plate(Bar(Point(1, 2)))),
    lambda: closure_of(Joint.BOLT),
    lambda: closure_of(re.compile("a")),
    lambda: doubled(closure_of(1)),
    lambda: with_default(1),
    lambda: Plate(object()),
    lambda: Shell(3).weigh,
    lambda: Bar(2, ["a"]),
    lambda: class_of(1)(),
    lambda: lambda width: width,
    lambda: reads_global,
]


def test_the_same_function_is_the_same_problem_in_another_process() -> None:
    digests = [function_digest(make()) for make in SAME]
    assert digests == [function_digest(make()) for make in SAME]
    code = (
        "from transom.studies.function_digest import function_digest\n"
        "from tests.studies.test_optimize import SAME\n"
        "print(*[function_digest(make()) for make in SAME])\n"
    )
    for hash_seed in ("1", "2"):
        restarted = subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).resolve().parents[2],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert restarted.stdout.split() == digests


UNKNOWN: Any = socket.socket()


def typed_in() -> Callable[..., Any]:
    names: dict[str, Any] = {}
    exec("def typed(width):\n    return width\n", names)
    return names["typed"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (typed_in(), "the source of typed is unknown"),
        (closure_of(threading.Lock()), "it holds a lock"),
        (Plate(n for n in range(3)), "it holds a generator"),
        (functools.partial(loaded, load=UNKNOWN), "it holds a socket"),
    ],
)
def test_what_cannot_be_compared_needs_a_name_in_a_folder(
    tmp_path: Path, function: Any, message: str
) -> None:
    with pytest.raises(UnknownFunction, match=message):
        function_digest(function)
    with pytest.raises(InputError, match=message) as refused:
        optimize(function, {"width": (1, 9)}, folder=tmp_path, n_trials=2)
    assert "study_name" in str(refused.value.hint)
    assert not any(tmp_path.iterdir())


def test_a_name_or_no_folder_lets_any_function_run(tmp_path: Path) -> None:
    for folder in (None, StudyFolder(tmp_path, study_name="typed")):
        best = optimize(typed_in(), {"width": (1, 9)}, folder=folder, n_trials=3, seed=1)
        assert len(best.trials) == 3


def test_another_partial_does_not_get_the_trials_in_the_folder(tmp_path: Path) -> None:
    def find(load: float) -> Optimum:
        function = functools.partial(loaded, load=load)
        return optimize(function, {"width": (1, 10)}, folder=tmp_path, n_trials=3, seed=1)

    first = find(1)
    assert find(1).trials == first.trials
    with pytest.raises(InputError, match="trials of another problem"):
        find(-1)
