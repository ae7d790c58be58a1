"""Make the bracket's emulator: solve random brackets with CalculiX, and fit the coefficients that
ship.

    python examples/studies/make/make_emulator.py solve SOLVES.jsonl --number 1500
    python examples/studies/make/make_emulator.py fit SOLVES.jsonl

The paths are meant from the root of a checkout. Solving may be interrupted and given again; it
appends. Fitting overwrites the coefficients of the installed package.
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
from typing import Any

from transom.studies.bracket import build
from transom.studies.bracket.emulator import (
    COEFFICIENTS,
    STEPS,
    beam_displacement,
    geometry_fault,
    ratios,
    terms,
)
from transom.studies.bracket.solver import OUTPUTS
from transom.studies.solver import run_and_judge, write_json
from transom.studies.study import JobLimits
from transom.studies.taxonomy import load_taxonomy

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
    """Append solves of random brackets."""
    ccx = shutil.which("ccx")
    if ccx is None:
        sys.exit(
            "ccx is not installed: apt install calculix-ccx libglu1-mesa libxcursor1 libxft2"
            " libxinerama1"
        )
    pick, taxonomy = random.Random(seed), load_taxonomy()
    limits = JobLimits(seconds=20)
    with path.open("a", encoding="utf-8") as out:
        for _ in range(number):
            job = {name: float(f"{value:.6g}") for name, value in random_bracket(pick).items()}
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                write_json(folder / "job.json", job)
                command = [sys.executable, "-I", build.__file__, ccx, "job.json"]
                solved = run_and_judge(
                    command, folder, limits, taxonomy, OUTPUTS, set(OUTPUTS), "ccx"
                )
            row = {"job": job, "failure": solved.diagnosis.failure, "outputs": dict(solved.outputs)}
            row |= {"seconds": round(solved.seconds, 2), "why": solved.diagnosis.reason[:120]}
            out.write(json.dumps(row) + "\n")
            out.flush()


def fit(path: Path) -> None:
    """Fit the emulator's coefficients, and overwrite `COEFFICIENTS` in the installed package.

    Every fifth solve is held out and says how good they are.
    """
    import numpy as np

    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for row in rows:
        if (geometry_fault(row["job"]) is not None) != (row["failure"] == "geometry_error"):
            print("geometry:", row["failure"], geometry_fault(row["job"]), row["why"])
    rows = [row for row in rows if row["failure"] in (None, *STEPS)]
    features = np.array([ratios(row["job"]) for row in rows])
    centre, scale = features.mean(0), features.std(0)
    table = np.array([terms(row) for row in (features - centre) / scale])
    held_out = np.arange(len(rows)) % 5 == 0
    weights: dict[str, list[float]] = {}
    reached = np.ones(len(rows), dtype=bool)
    for step in STEPS:
        failed = np.array([row["failure"] == step for row in rows])
        use, test = reached & ~held_out, reached & held_out
        odds = logistic(table[use], failed[use].astype(float))
        guess = table[test] @ odds > 0
        print(
            f"{step}: {failed[reached].mean():.2f} fail, {(guess == failed[test]).mean():.3f} of"
            " the held out right"
        )
        weights[step] = [
            float(f"{weight:.5g}")
            for weight in logistic(table[reached], failed[reached].astype(float))
        ]
        reached &= ~failed
    use, test = reached & ~held_out, reached & held_out
    for name in ("displacement", "stress"):
        by = beam_displacement if name == "displacement" else (lambda job: job["yield_stress"])
        target = np.array(
            [
                math.log(row["outputs"][name] / by(row["job"])) if ok else 0
                for row, ok in zip(rows, reached, strict=True)
            ]
        )
        error = table[test] @ ridge(table[use], target[use]) - target[test]
        print(
            f"{name}: held out, median error {np.median(abs(error)):.3f}, "
            f"95 % within {np.quantile(abs(error), 0.95):.3f}"
        )
        weights[name] = [
            float(f"{weight:.5g}") for weight in ridge(table[reached], target[reached])
        ]
    rounded = {
        "centre": [round(x, 5) for x in centre.tolist()],
        "scale": [round(x, 5) for x in scale.tolist()],
    }
    note = f"fitted by examples/studies/make/make_emulator.py on {len(rows)} solves with CalculiX"
    COEFFICIENTS.write_text(
        json.dumps({"note": note, **rounded, "models": weights}, indent=1) + "\n", "utf-8"
    )


def ridge(table: Any, target: Any, strength: float = 1.0) -> Any:
    """Weights of a linear regression with a ridge; `strength` is its penalty."""
    import numpy as np

    return np.linalg.solve(table.T @ table + strength * np.eye(table.shape[1]), table.T @ target)


def logistic(table: Any, target: Any, strength: float = 1.0) -> Any:
    """Weights of a logistic regression with a ridge, by Newton's method."""
    import numpy as np

    weights = np.zeros(table.shape[1])
    for _ in range(60):
        share = 1 / (1 + np.exp(-np.clip(table @ weights, -40, 40)))
        slope = table.T @ (target - share) - strength * weights
        curve = (table.T * (share * (1 - share) + 1e-9)) @ table + strength * np.eye(len(weights))
        step = np.linalg.solve(curve, slope)
        weights += step * min(1.0, 3 / max(1e-9, abs(step).max()))
        if abs(step).max() < 1e-6:
            break
    return weights


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("solve", "fit"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--number", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.what == "solve":
        solve(given.path, given.number, given.seed)
    else:
        fit(given.path)
