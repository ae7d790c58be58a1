"""Solvers are real processes here: what they print, how they end, and that none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from transom.errors import InputError
from transom.studies.guard import MARK
from transom.studies.solver import Solved, make_solver
from transom.studies.study import JobLimits
from transom.studies.study_file import load_study
from transom.studies.taxonomy import load_taxonomy

TAXONOMY = load_taxonomy()
LIMITS = JobLimits(seconds=20)
STUDY = """
study: pipe
variables:
  x: {{low: 0, high: 10}}
objectives:
  - {{name: y}}
solver:
  command: [{python}, -I, "{{{{study_folder}}}}/solver.py", "{{{{x}}}}"]
  templates: {{in/deck.txt: deck.txt}}
  outputs:
    y: {{file: out.txt, regex: '^y = (\\S+)'}}
"""


def solve(folder: Path, program: str, limits: JobLimits = LIMITS, x: float = 3.0) -> Solved:
    """Have a Python program compute one design in `folder/job`."""
    (folder / "solver.py").write_text(textwrap.dedent(program))
    (folder / "deck.txt").write_text("x is {{x:6.2f}}, its square {{x**2}}\n")
    (folder / "study.yaml").write_text(STUDY.format(python=sys.executable))
    study = load_study(folder / "study.yaml")
    job = folder / "job"
    job.mkdir()
    return make_solver(study, TAXONOMY).solve(job, study.values({"x": x}), limits)


def marked(folder: Path) -> list[int]:
    """Processes of jobs below a folder that are still there."""
    found = []
    for process in psutil.process_iter():
        try:
            if (
                str(folder) in process.environ().get(MARK, "")
                and process.status() != psutil.STATUS_ZOMBIE
            ):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def wait_for(happened: Callable[[], object], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def test_a_command_line_computes_with_templates_and_outputs(tmp_path: Path) -> None:
    program = """
        import os, sys
        print("threads", os.environ["OMP_NUM_THREADS"])
        open("out.txt", "w").write(f"y = 0\\ny = {2 * float(sys.argv[1])}\\n")
    """
    solved = solve(tmp_path, program)
    assert (solved.diagnosis.failure, solved.outputs) == (None, {"y": 6.0})
    assert (tmp_path / "job/in/deck.txt").read_text() == "x is   3.00, its square 9.0\n"
    assert "threads 1" in (tmp_path / "job/stdout.txt").read_text()


@pytest.mark.parametrize(
    ("program", "failure"),
    [
        ("raise SystemExit(0)", "no_result"),
        ("open('out.txt', 'w').write('y = nan')", "not_finite"),
        ("import os; os.abort()", "crash"),
        ("import sys; sys.exit('ERROR: element 7 has a negative jacobian')", "mesh_error"),
        ("import os; os.kill(os.getpid(), 9)", "killed"),
        ("open('/dev/full', 'w').write('x' * 100_000)", "disk_full"),
    ],
)
def test_how_it_ended_is_diagnosed(tmp_path: Path, program: str, failure: str) -> None:
    solved = solve(tmp_path, program)
    assert (solved.diagnosis.failure, solved.outputs) == (failure, {}), solved.diagnosis.reason


def test_a_failure_while_the_disk_is_full_is_not_the_designs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transom.studies.jobs._ROOM", 1e18)
    found = solve(tmp_path, "raise SystemExit(1)").diagnosis
    assert (found.failure, found.severity) == ("disk_full", "study")


def test_a_hanging_solver_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    program = """
        import os, subprocess, sys, time
        child = "import time; open('child', 'w'); time.sleep(60)"
        subprocess.Popen([sys.executable, "-I", "-c", child])
        if os.fork() == 0:  # a daemon that leaves the tree
            os.setsid()
            if os.fork() == 0:
                open('daemon', 'w')
                time.sleep(60)
            os._exit(0)
        time.sleep(60)
    """
    began = time.monotonic()
    solved = solve(tmp_path, program, JobLimits(seconds=0.6))
    assert solved.diagnosis.failure == "timeout"
    assert time.monotonic() - began < 8
    assert (tmp_path / "job/daemon").exists()
    wait_for(lambda: not marked(tmp_path))


def test_a_solver_that_takes_too_much_memory_or_prints_without_end_is_stopped(
    tmp_path: Path,
) -> None:
    hog = solve(
        tmp_path,
        "import time; x = bytearray(300_000_000); time.sleep(30)",
        JobLimits(seconds=20, memory=1e8),
    )
    assert hog.diagnosis.failure == "memory_error"
    (tmp_path / "job").rename(tmp_path / "before")
    flood = solve(tmp_path, "while True: print('x' * 1000)", JobLimits(seconds=20, disk=5e6))
    assert flood.diagnosis.failure == "output_flood"
    assert (tmp_path / "job/stdout.txt").stat().st_size < 5e6


def test_a_worker_that_is_killed_leaves_no_solver_behind(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    program = f"""
        from pathlib import Path
        from transom.studies.jobs import run_job
        from transom.studies.study import JobLimits
        run_job(["sh", "-c", "sleep 61 & sleep 62"], Path({str(tmp_path / "job")!r}), JobLimits())
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    worker = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], env=environment)
    wait_for(lambda: len(marked(tmp_path)) == 3)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    wait_for(lambda: not marked(tmp_path))


def test_a_solver_that_is_not_there_is_named_before_anything_is_solved(tmp_path: Path) -> None:
    (tmp_path / "deck.txt").write_text("{{x}}")
    text = STUDY.format(python=sys.executable)
    (tmp_path / "study.yaml").write_text(text.replace(sys.executable, "no-such-solver"))
    with pytest.raises(InputError, match="the solver no-such-solver was not found; install it"):
        make_solver(load_study(tmp_path / "study.yaml"), TAXONOMY).check()
    (tmp_path / "study.yaml").write_text(text)
    (tmp_path / "deck.txt").write_text("{{width}}")
    with pytest.raises(
        InputError, match=r"template in/deck.txt: \{\{width\}\}: unknown name width"
    ):
        make_solver(load_study(tmp_path / "study.yaml"), TAXONOMY).check()
    (tmp_path / "study.yaml").write_text(
        "study: s\nvariables: {x: {low: 0, high: 1}}\nobjectives: [{name: y}]\nsolver: {use: abc}\n"
    )
    with pytest.raises(InputError, match="unknown solver 'abc'; known: bracket"):
        make_solver(load_study(tmp_path / "study.yaml"), TAXONOMY).check()


BRACKET = """
study: bracket
variables:
  width: {low: 10, high: 40, unit: mm}
  hole: {low: 2, high: 16, unit: mm}
  fillet: {low: 1, high: 20, unit: mm}
  thickness: {low: 1, high: 6, unit: mm}
settings: {mesh: 8}
objectives: [{name: mass}]
constraints: [{name: stress, max: 200}]
solver: {use: bracket, options: {emulate: MODE}}
"""
GOOD = {"width": 25.0, "hole": 5.0, "fillet": 6.0, "thickness": 3.0}


def bracket(folder: Path, mode: str, design: dict[str, float]) -> Solved:
    (folder / "study.yaml").write_text(BRACKET.replace("MODE", mode))
    study = load_study(folder / "study.yaml")
    job = folder / f"job{len(list(folder.iterdir()))}"
    job.mkdir()
    return make_solver(study, TAXONOMY).solve(job, study.values(design), LIMITS)


@pytest.mark.slow
def test_the_bracket_is_solved_by_calculix_or_its_emulator(
    tmp_path: Path, need_tool: Callable[[str], str]
) -> None:
    need_tool("ccx")
    real, emulated = bracket(tmp_path, "never", GOOD), bracket(tmp_path, "always", GOOD)
    assert (real.by, emulated.by) == ("ccx", "emulator of ccx")
    # by hand: area 3304.2 mm², 3 mm, 2.7e-6 kg/mm³
    assert real.outputs["mass"] == pytest.approx(0.026764, rel=1e-4)
    assert real.outputs == pytest.approx(emulated.outputs, rel=0.3)
    for mode in ("never", "always"):
        assert bracket(tmp_path, mode, GOOD | {"hole": 13.0}).diagnosis.failure == "geometry_error"
        collapse = GOOD | {"width": 14.0, "hole": 2.0, "thickness": 1.0}
        assert bracket(tmp_path, mode, collapse).diagnosis.failure == "convergence_failure"


def test_a_script_beside_the_study_is_named_by_its_folder(tmp_path: Path) -> None:
    (tmp_path / "solver.py").write_text("")
    (tmp_path / "deck.txt").write_text("")
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.format(python=sys.executable).replace("{{study_folder}}/", ""))
    with pytest.raises(InputError, match=r"solver\.py is beside the study") as raised:
        make_solver(load_study(path), TAXONOMY).check()
    assert '"{{study_folder}}/solver.py"' in str(raised.value.hint)
