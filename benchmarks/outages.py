"""What an outage in the first study of a family costs the studies after it.

    python benchmarks/outages.py             six wordings, four seeds
    python benchmarks/outages.py --seeds 1

Three related studies of a beam, 40 solves each. In the first one, the machine fails from the 21st
solve on, with a text that the failure classes don't know, or take for a design's; it is repaired as
soon as the study stops and asks for it. The later studies are compared with those of a family without an outage.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import optuna

from transom.studies.control import StudyStopped
from transom.studies.failures import Diagnosis, classify
from transom.studies.job_output import JobOutput
from transom.studies.runner import StudyRunner
from transom.studies.solver import Solved
from transom.studies.study import JobLimits, Number, Study
from transom.studies.taxonomy import load_taxonomy
from transom.studies.verify import Verification

WORDINGS = (
    "the desktop has gone away while the case was under way",
    "lm_seat: every seat of SHOCK is lent out to other users, come again",
    "das Netzlaufwerk S: ist nicht verbunden",
    "job controller: answer of the worker overdue, case handed back",
    # The classes take these for a mesh error and for one of convergence.
    "Error: meshing failed: solid block 17 of the cube was lost",
    "ERROR: garbage collector: iteration limit of concurrent mark",
)
BEAMS = ((800, 1500), (1000, 1200), (1200, 1000))  # length in mm, load in N
_BEGINS = 20  # solves before the outage
_TAXONOMY = load_taxonomy()


@dataclass
class Beam:
    """A solver of a beam; with a wording, it fails with that text after some solves."""

    wording: str = ""
    by: str = "beam"
    solves: int = 0

    def check(self) -> None:
        """Find that the solver can run."""

    def solve(self, folder: Path, values: Mapping[str, Number], limits: JobLimits) -> Solved:
        """Return the mass, the deflection and the stress of a beam."""
        self.solves += 1
        if self.wording and self.solves > _BEGINS:
            output = JobOutput({"job.log": self.wording + "\n"}, return_code=1)
            return Solved(classify(output, _TAXONOMY), {}, 0.1, self.by)
        width, height, length, load = (
            float(values[name]) for name in ("width", "height", "length", "load")
        )
        if height > 5 * width:  # it tips over
            return Solved(Diagnosis("singularity", "design"), {}, 0.1, self.by)
        inertia = width * height**3 / 12
        outputs = {
            "mass": 7.85e-6 * width * height * length,
            "deflection": load * length**3 / (3 * 210e3 * inertia),
            "stress": load * length * height / 2 / inertia,
        }
        return Solved(Diagnosis(None), outputs, 0.1, self.by)


def study(number: int, seed: int) -> Study:
    """Return one study of the family."""
    length, load = BEAMS[number]
    return Study.model_validate(
        {
            "study": f"beam-{number}",
            "playbook": {"scope": "beams"},
            "variables": {
                "width": {"low": 5, "high": 60, "unit": "mm"},
                "height": {"low": 5, "high": 120, "unit": "mm"},
            },
            "constants": {"length": {"value": length, "unit": "mm"}, "load": load},
            "objectives": [{"name": "mass"}],
            "constraints": [{"name": "stress", "max": 180}, {"name": "deflection", "max": 4}],
            "solver": {"use": "beam"},
            "budget": {"trials": 40},
            "sampler": {"seed": 10 * seed + number},
        }
    )


def family(seed: int, wording: str = "") -> tuple[list[float], int]:
    """Run the studies of a family; returns their best masses and the number of stops."""
    bests, stops = [], 0
    with tempfile.TemporaryDirectory() as name:
        for number in range(len(BEAMS)):
            storage = optuna.storages.InMemoryStorage()
            solver = Beam(wording if number == 0 else "")
            trials = None
            while trials is None:
                runner = StudyRunner(
                    study(number, seed), Path(name), storage=storage, own_solver=solver
                )
                try:
                    trials = runner.run()
                except StudyStopped:
                    stops += 1
                    solver.wording = ""  # a person repairs the machine, and resumes the study
            runner.guide.learn(trials, Verification(asked=False))
            bests.append(min(trial.values[0] for trial in trials if trial.feasible))
    return bests, stops


def main() -> int:
    """Print the later bests against those without an outage; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    seeds = parser.parse_args().seeds
    logging.disable(logging.WARNING)
    ratios = []
    for seed in range(seeds):
        undisturbed, _ = family(seed)
        for wording in WORDINGS:
            bests, stops = family(seed, wording)
            pairs = zip(bests[1:], undisturbed[1:], strict=True)
            later = [best / reference for best, reference in pairs]
            ratios += later
            shown = ", ".join(f"{ratio:.3f}" for ratio in later)
            print(f"seed {seed}: {shown} of undisturbed; {stops} stops; {wording}", flush=True)
    worst, mean = max(ratios), sum(ratios) / len(ratios)
    print(f"later bests: {mean:.3f} of undisturbed on average, {worst:.3f} at worst")
    return int(worst > 1.02)


if __name__ == "__main__":
    sys.exit(main())
