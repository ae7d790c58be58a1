"""Studies that tests run: solvers in this process, and programs that tests may kill."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transom.studies.failures import Diagnosis, FailureEvidence, diagnosis
from transom.studies.runner import StudyRunner
from transom.studies.solver import Solved
from transom.studies.study import JobLimits, Number, Study
from transom.studies.study_file import load_study
from transom.studies.taxonomy import Taxonomy, load_taxonomy

TAXONOMY = load_taxonomy()

PLATE = """study: {name}
playbook: {{scope: plates}}
variables:
  width: {{low: 10, high: 40, unit: mm, title: arm width}}
  hole: {{low: 2, high: 18, unit: mm}}
constants: {{length: {{value: {length}, unit: mm}}}}
settings: {{mesh: 5}}
objectives: [{{name: mass}}]
constraints: [{{name: stress, max: 100}}]
solver: {{use: "tests.studies.helpers:Plate"}}
sampler: {{seed: 1}}
budget: {{trials: {trials}}}
"""


class Plate:
    """A plate whose hole breaks it where 2 hole / width is 0.9 or more; its stress is higher on
    a fine mesh.
    """

    by = "plate"

    def __init__(self, study: Study, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy

    def check(self) -> None:
        """Always there."""

    def solve(self, folder: Path, values: Mapping[str, Number], limits: JobLimits) -> Solved:
        width, hole, mesh = (float(values[name]) for name in ("width", "hole", "mesh"))
        (folder / "log.txt").write_text("solved\n")
        if 2 * hole / width >= 0.9:
            return Solved(
                diagnosis("geometry_error", self.taxonomy, FailureEvidence("message", "2 bodies")),
                by=self.by,
            )
        stress = 1000 / (width - 2 * hole) * (1 + 0.02 * (5 - mesh))
        return Solved(
            Diagnosis(None),
            {"mass": width - math.pi * hole**2 / 100, "stress": stress},
            0.01,
            by=self.by,
        )

    def draw(self, axes: Any, values: Mapping[str, Number]) -> None:
        """Draw the plate's width."""
        axes.plot([0, float(values["width"])], [0, 0])


def write_study(
    folder: Path, name: str = "plate", trials: int = 12, length: float = 80, more: str = ""
) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(PLATE.format(name=name, trials=trials, length=length) + more)
    return path


def runner(folder: Path, path: Path, **given: Any) -> StudyRunner:
    """A runner whose study's folder and advice are below `folder`."""
    return StudyRunner(load_study(path), folder / "studies", **given)


COMMAND = """study: slow
variables:
  x: {{low: 0, high: 10}}
objectives: [{{name: y}}]
solver:
  command: [{python}, -I, "{{{{study_folder}}}}/solver.py", "{{{{x}}}}"]
  outputs: {{y: {{file: out.txt, regex: '.+'}}}}
sampler: {{kind: random}}
budget: {{trials: {trials}, workers: {workers}}}
"""

SOLVER = """
import os, subprocess, sys, time
with open(os.path.join(os.path.dirname(__file__), "calls.txt"), "a") as calls:
    calls.write(os.path.basename(os.getcwd()) + "\\n")
subprocess.run(["sleep", "0.15"])
open("out.txt", "w").write(str((float(sys.argv[1]) - 3) ** 2))
"""

WORKER = """
import sys
from pathlib import Path
from tests.studies.helpers import runner
runner(Path(sys.argv[1]), Path(sys.argv[2])).run()
"""


def write_command_study(folder: Path, trials: int, workers: int) -> Path:
    (folder / "solver.py").write_text(SOLVER)
    path = folder / "slow.yaml"
    path.write_text(COMMAND.format(python=sys.executable, trials=trials, workers=workers))
    return path


def worker_command(folder: Path, path: Path) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(WORKER), str(folder), str(path)]
