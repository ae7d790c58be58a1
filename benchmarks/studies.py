"""The worth of learning across studies: ten related bracket studies, three ways to treat failures,
paired by study.

    python benchmarks/studies.py                 20 seeds on the emulator, some minutes
    python benchmarks/studies.py --seeds 3 --ccx with CalculiX, about an hour
    python benchmarks/studies.py --seeds 1 --ccx --studies 5 --arms constrained,transom
    python benchmarks/studies.py --arms constrained,steps,transom
    python benchmarks/studies.py --only SHARED   holds the emulator against solves that others made

`default` tells Optuna of a failed solve as a failed trial, which its samplers leave out;
`constrained` tells it as an infeasible one; `steps` adds steps from the best design in the second
half of a study; `transom` adds rules, designs and margins from the studies before. All have the
same TPE, seeds, constraints, number of solves and verification.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna

from transom.studies.bracket.emulator import Emulator, geometry_fault
from transom.studies.runner import StudyRunner
from transom.studies.study import Study, random_design
from transom.studies.trials import StudyTrial, violations
from transom.studies.verify import Verification, verify

ARMS = ("default", "constrained", "transom")
STUDIES, SOLVES = 10, 40
WORKERS = 1
METALS = (
    (70000.0, 0.33, 2.7e-6, 240.0),
    (210000.0, 0.3, 7.85e-6, 355.0),
    (110000.0, 0.34, 4.43e-6, 450.0),
)


def study(number: int, seed: int, *, learning: bool, steps: bool, emulate: str) -> Study:
    """One of the related studies: another size, load, metal and limits; bounds as an engineer
    would set them.
    """
    pick = random.Random(f"study {number}")
    length = round(pick.uniform(60, 120), 1)
    young, poisson, density, strength = METALS[pick.randrange(3)]
    load = round(strength * length**2 * pick.uniform(2e-4, 8e-4), 1)
    data: dict[str, Any] = {
        "study": f"bracket-{number}",
        "playbook": {"scope": "brackets"},
        "variables": {
            "width": {"low": 0.14 * length, "high": 0.46 * length, "unit": "mm"},
            "hole": {"low": 0.025 * length, "high": 0.2 * length, "unit": "mm"},
            "fillet": {"low": 0.01 * length, "high": 0.26 * length, "unit": "mm"},
            "thickness": {"low": 0.01 * length, "high": 0.08 * length, "unit": "mm"},
        },
        "constants": {
            "length": {"value": length, "unit": "mm"},
            "load": load,
            "young": young,
            "poisson": poisson,
            "density": density,
            "yield_stress": strength,
        },
        "features": {
            "corner_bending": "load*length / (thickness*width**2*yield_stress)",
            "hole_bending": (
                "load*length / (thickness*max(width**2 - 4*hole**2, 0.001)*yield_stress)"
            ),
            "hole_shear": "load / (thickness*max(width - 2*hole, 0.01)*yield_stress)",
        },
        "settings": {"mesh": round(0.085 * length, 2), "step": 0.5},
        "verify": {"settings": {"mesh": round(0.045 * length, 2), "step": 0.25}, "tolerance": 0.3},
        "objectives": [{"name": "mass"}],
        "constraints": [
            {"name": "stress", "max": round(0.85 * strength, 1)},
            {"name": "displacement", "max": round(0.02 * length, 2)},
        ],
        "solver": {"use": "bracket", "options": {"emulate": emulate}},
        "budget": {"trials": SOLVES, "workers": WORKERS},
        "limits": {"seconds": 60},
        "sampler": {"seed": 1000 * seed + number, "steps": steps},
        "learning": {"rules": learning, "warm_start": 5 if learning else 0},
    }
    return Study.model_validate(data)


class DefaultRunner(StudyRunner):
    """Tells failed solves as Optuna's `optimize` does."""

    def _tell(self, trial: optuna.Trial, done: StudyTrial) -> None:
        if done.kind != "failed":
            return super()._tell(trial, done)
        self._optuna.tell(trial, state=optuna.trial.TrialState.FAIL)
        return None


@dataclass(frozen=True)
class Outcome:
    """One study in one arm."""

    solves: int
    failed: int
    repeats: int
    late: float
    best: float | None
    exploited_best: bool
    rejected: int


def sequence(
    arm: str, seed: int, emulate: str, known: dict[int, float], studies: int = STUDIES
) -> Iterator[Outcome]:
    """The ten studies of one arm, one after the other."""
    with tempfile.TemporaryDirectory() as name:
        root, met = Path(name), set[str]()
        for number in range(studies):
            one = study(
                number,
                seed,
                learning=arm == "transom",
                steps=arm in ("steps", "transom"),
                emulate=emulate,
            )
            runner_of = DefaultRunner if arm == "default" else StudyRunner
            runner = runner_of(one, root, storage=optuna.storages.InMemoryStorage())
            trials = runner.run()
            verification = verify(one, runner.solver, runner.folder / "verified", trials)
            if arm == "transom":
                runner.guide.learn(trials, verification)
            yield outcome(trials, verification, met, number, known)


def outcome(
    trials: Sequence[StudyTrial],
    verification: Verification,
    met: set[str],
    number: int,
    known: dict[int, float],
) -> Outcome:
    """Count, and remember the lightest design that was ever verified."""
    solved = [trial for trial in trials if trial.kind in ("solved", "failed")]
    repeats = 0
    for trial in solved:
        if trial.kind == "failed":
            repeats += trial.failure in met
            met.add(str(trial.failure))
    late = solved[len(solved) // 2 :]
    best = verification.best
    if best:
        known[number] = min(known.get(number, math.inf), best.values[0])
    return Outcome(
        len(solved),
        sum(trial.kind == "failed" for trial in solved),
        repeats,
        sum(trial.kind == "failed" for trial in late) / len(late),
        best.values[0] if best else None,
        bool(best and best.verdict != "verified"),
        sum(trial.kind == "rejected" for trial in trials),
    )


def false_rejects(rows: int = 400) -> tuple[int, int]:
    """Of good random designs (feasible, by the emulator), how many the rules of the studies
    before reject.
    """
    emulator, pick, good, rejected = Emulator.load(), random.Random(0), 0, 0
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for number in range(STUDIES):
            one = study(number, 0, learning=True, steps=True, emulate="always")
            runner = StudyRunner(one, root, storage=optuna.storages.InMemoryStorage())
            guide = runner.guide
            for _ in range(rows if guide.rules else 0):
                design = random_design(one, pick)
                values = one.values(design)
                failure, _, outputs = emulator({key: float(value) for key, value in values.items()})
                if failure is None and all(
                    by <= 0 for by in violations(one, {**values, **outputs}).values()
                ):
                    good += 1
                    rejected += guide.judge(values) is not None
            trials = runner.run()
            guide.learn(trials, verify(one, runner.solver, runner.folder / "verified", trials))
    return rejected, good


def lower_bound(differences: Sequence[float]) -> float | None:
    """One-sided 95 % bound of a mean, by t over seeds."""
    if len(differences) < 2:
        return None
    t = {1: 6.31, 2: 2.92, 3: 2.35, 4: 2.13, 5: 2.02, 9: 1.83, 14: 1.76, 19: 1.73}
    quantile = t[max(key for key in t if key <= len(differences) - 1)]
    spread = statistics.stdev(differences) / math.sqrt(len(differences))
    return round(statistics.mean(differences) - quantile * spread, 3)


def compare(seeds: int, emulate: str, arms: Sequence[str], studies: int) -> dict[str, Any]:
    """All arms with all seeds, and the differences with their bounds."""
    known: dict[int, float] = {}
    outcomes: dict[str, list[list[Outcome]]] = {arm: [] for arm in arms}
    for seed in range(seeds):
        for arm in arms:
            began = time.monotonic()
            outcomes[arm].append(list(sequence(arm, seed, emulate, known, studies)))
            made = outcomes[arm][-1]
            say(
                f"seed {seed} {arm}: {share(made):.1%} failed, {sum(one.repeats for one in made)}"
                f" repeats, {time.monotonic() - began:.0f} s"
            )
    rows = {arm: summary(outcomes[arm], known) for arm in arms}
    ours, plain, default = (outcomes.get(arm, []) for arm in ("transom", "constrained", "default"))
    gains = [100 * (share(b) - share(a)) for a, b in zip(ours, plain, strict=False)]
    fewer = [1 - repeated(a) / max(1, repeated(b)) for a, b in zip(ours, plain, strict=False)]
    against = [1 - repeated(a) / max(1, repeated(b)) for a, b in zip(ours, default, strict=False)]
    rows["against constrained"] = {
        "success, points": round(statistics.mean(gains), 1) if gains else None,
        "bound": lower_bound(gains),
        "repeats, share less": round(statistics.mean(fewer), 3) if fewer else None,
        "repeats bound": lower_bound(fewer),
        "repeats, share less than default": round(statistics.mean(against), 3) if against else None,
    }
    return rows


def share(made: Sequence[Outcome]) -> float:
    return sum(one.failed for one in made) / sum(one.solves for one in made)


def repeated(made: Sequence[Outcome]) -> int:
    return sum(one.repeats for one in made)


def summary(runs: Sequence[Sequence[Outcome]], known: Mapping[int, float]) -> dict[str, Any]:
    """Means over seeds and studies."""
    flat = [(number, one) for run in runs for number, one in enumerate(run)]
    gaps = [one.best / known[number] - 1 for number, one in flat if one.best]
    return {
        "failed": round(statistics.mean(share(run) for run in runs), 3),
        "repeats a sequence": round(statistics.mean(map(repeated, runs)), 1),
        "late failures": round(statistics.mean(one.late for _, one in flat), 3),
        "gap to the best known": round(statistics.mean(gaps), 3) if gaps else None,
        "no verified best": sum(one.best is None for _, one in flat),
        "verified bests that drift": sum(one.exploited_best for _, one in flat),
        "rejected a study": round(statistics.mean(one.rejected for _, one in flat), 1),
    }


def check(path: Path) -> dict[str, float]:
    """Hold the geometry's rule against real solves of brackets of the same family, made by
    others.
    """
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    right = 0
    for row in rows:
        x = row["x"]
        job = {"length": 80.0, "width": x["b"], "hole": x["rh"], "fillet": x["r"]}
        right += (geometry_fault(job) is not None) == (row.get("stage") == "mesh")
    return {"rows": len(rows), "geometry right": round(right / len(rows), 4)}


def say(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--ccx", action="store_true")
    parser.add_argument("--studies", type=int, default=STUDIES)
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--only", type=Path, metavar="SOLVES.jsonl")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    if given.only:
        result: Any = check(given.only)
    else:
        WORKERS = given.workers
        result = compare(
            given.seeds, "never" if given.ccx else "always", given.arms.split(","), given.studies
        )
        if not given.ccx:
            rejected, good = false_rejects()
            result["good designs rejected"] = {
                "rejected": rejected,
                "of": good,
                "share": round(rejected / max(1, good), 4),
            }
    sys.stdout.write(json.dumps(result, indent=1) + "\n")
