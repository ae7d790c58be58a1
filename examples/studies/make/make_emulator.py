"""Make the bracket's emulator: solve random brackets with CalculiX, and fit the coefficients that ship.

    python examples/studies/make/make_emulator.py solve SOLVES.jsonl --number 1500
    python examples/studies/make/make_emulator.py fit SOLVES.jsonl

Solving may be interrupted and given again; it appends.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import sys
import tempfile
from pathlib import Path

from transom.studies.bracket import build
from transom.studies.bracket.solver import OUTPUTS
from transom.studies.extract import extract
from transom.studies.failures import load_taxonomy
from transom.studies.solver import run_and_judge, write_json
from transom.studies.study import JobLimits

METALS = ((70000.0, 0.33, 2.7e-6), (210000.0, 0.3, 7.85e-6), (110000.0, 0.34, 4.43e-6))


def random_bracket(pick: random.Random) -> dict[str, float]:
    """A bracket from a family that is wider than any study's."""
    length = pick.uniform(50, 130)
    width = length * pick.uniform(0.1, 0.5)
    young, poisson, density = pick.choice(METALS)
    strength = pick.uniform(150, 500)
    thickness = pick.uniform(0.8, 8)
    # Nominal bending at the corner against its plastic limit: from idle to far beyond collapse.
    utilised = math.exp(pick.uniform(math.log(0.03), math.log(2.5)))
    return {
        "length": length,
        "width": width,
        "fillet": length * pick.uniform(0.005, 0.3),
        "hole": width / 2 * pick.uniform(0.1, 1.15),
        "thickness": thickness,
        "load": utilised * thickness * width**2 / 4 * strength / (length - width / 2),
        "young": young,
        "poisson": poisson,
        "yield_stress": strength,
        "density": density,
        "mesh": length * math.exp(pick.uniform(math.log(0.035), math.log(0.16))),
        "step": pick.choice((0.25, 0.5, 1.0)),
    }


def solve(path: Path, number: int, seed: int) -> None:
    ccx = shutil.which("ccx")
    if ccx is None:
        sys.exit("ccx is not installed: apt install calculix-ccx libglu1-mesa libxcursor1 libxft2 libxinerama1")
    pick, taxonomy = random.Random(seed), load_taxonomy()
    limits = JobLimits(seconds=20)
    with path.open("a", encoding="utf-8") as out:
        for _ in range(number):
            job = {name: float(f"{value:.6g}") for name, value in random_bracket(pick).items()}
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                write_json(folder / "job.json", job)

                def outputs() -> dict[str, float]:
                    read = {key: extract(one, folder) for key, one in OUTPUTS.items()}  # noqa: B023  called at once
                    return {key: value for key, value in read.items() if value is not None}

                command = [sys.executable, "-I", build.__file__, ccx, "job.json"]
                solved = run_and_judge(command, folder, limits, taxonomy, outputs, set(OUTPUTS), "ccx")
            row = {"job": job, "failure": solved.diagnosis.failure, "outputs": dict(solved.outputs)}
            row |= {"seconds": round(solved.seconds, 2), "why": solved.diagnosis.reason[:120]}
            out.write(json.dumps(row) + "\n")
            out.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("solve", "fit"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--number", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.what == "solve":
        solve(given.path, given.number, given.seed)
