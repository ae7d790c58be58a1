"""Transom beside other optimisers on seven families of problems whose designs can fail.

    python benchmarks/anchors.py run --arms tpe,constrained,transom --out rows.jsonl
    other-env/bin/python benchmarks/anchors.py run --arms gp,smac --out rows.jsonl
    python benchmarks/anchors.py table rows.jsonl

A family is a sequence of related studies. `tpe` is Optuna's default, which leaves failures out;
`constrained` and `gp` are its multivariate TPE and its Gaussian process, and a failure violates a
constraint; `smac` reports a failure as CRASHED; `transom` learns from each study for the next;
`surrogate` is the same with `sampler.surrogate`, and needs scikit-learn.
Optimisers other than TPE need an environment of their own: `pip install optuna torch smac`.
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
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STUDIES, SOLVES = 3, 40
DRAWS = 32  # proposals of which the surrogate picks one
FAILED_BY = 10.0
Outputs = dict[str, float]
Solve = Callable[[Mapping[str, Any]], "Outputs | str"]
"""Returns the outputs of a design, or the class of its failure."""


@dataclass(frozen=True)
class Problem:
    """One study: its part of a study file, and its solver."""

    spec: dict[str, Any]
    solve: Solve

    @property
    def objectives(self) -> list[str]:
        return [objective["name"] for objective in self.spec["objectives"]]

    def violations(self, outputs: Outputs | str) -> list[float]:
        """Return whether it failed, and each constraint's violation relative to its bound."""
        constraints = self.spec.get("constraints", [])
        if isinstance(outputs, str):
            return [FAILED_BY, *[0.0 for _ in constraints]]
        relative = [outputs[item["name"]] / item["max"] - 1 for item in constraints]
        return [-1.0, *relative]


def _length(low: float, high: float, **more: Any) -> dict[str, Any]:
    return {"low": low, "high": high, "unit": "mm", **more}


def border(number: int) -> Problem:
    """A tube under pressure: the lightest one is at the border where it buckles."""
    size = random.Random(f"border {number}").uniform(0.5, 2)
    spec = {
        "variables": {
            "radius": _length(10 * size, 80 * size),
            "wall": _length(0.3 * size, 9 * size),
        },
        "constants": {"span": {"value": 400 * size, "unit": "mm"}},
        "objectives": [{"name": "mass"}],
        "constraints": [{"name": "stress", "max": 1.0}],
    }

    def solve(values: Mapping[str, Any]) -> Outputs | str:
        radius, wall = values["radius"], values["wall"]
        if radius / wall > 24:
            return "convergence_failure"
        if wall > radius / 2.5:
            return "geometry_error"
        return {"mass": radius * wall / size**2, "stress": 90 * size**3 / (radius**2 * wall)}

    return Problem(spec, solve)


def crowded(number: int) -> Problem:
    """A box with seven sizes, of which about four in five random ones cannot be built."""
    size = random.Random(f"crowded {number}").uniform(0.6, 1.7)
    names = ("a", "b", "c", "d", "e", "f", "g")
    spec = {
        "variables": {name: _length(5 * size, 50 * size) for name in names},
        "objectives": [{"name": "mass"}],
        "constraints": [{"name": "stress", "max": 1.0}],
    }

    def solve(values: Mapping[str, Any]) -> Outputs | str:
        a, b, c, d, e, f, g = (values[name] / size for name in names)
        if b > 0.85 * a or c > 0.9 * d:
            return "geometry_error"
        if e / f > 3.2 or f / e > 3.2:
            return "mesh_error"
        stress = 5200 / (a * d + 3 * b * g + 20 * c)
        return {"mass": a + 1.5 * d + e + f + 0.8 * g + 0.5 * c, "stress": stress}

    return Problem(spec, solve)


def stepped(number: int) -> Problem:
    """A laminate of sheets: sizes come in steps."""
    load = random.Random(f"stepped {number}").uniform(0.6, 1.6)
    spec = {
        "variables": {
            "sheet": _length(0.5, 6, step=0.5),
            "core": _length(2, 40, step=2),
            "width": _length(20, 160),
            "pitch": _length(5, 60),
        },
        "constants": {"span": {"value": 600, "unit": "mm"}, "load": load},
        "objectives": [{"name": "mass"}],
        "constraints": [{"name": "sag", "max": 1.0}],
    }

    def solve(values: Mapping[str, Any]) -> Outputs | str:
        sheet, core, width, pitch = (values[name] for name in ("sheet", "core", "width", "pitch"))
        if core / sheet > 22:
            return "convergence_failure"
        if pitch > 0.6 * width:
            return "geometry_error"
        stiffness = width * (sheet * (core + sheet) ** 2 + 0.02 * core**3) * (1 + 4 / pitch)
        mass = width * (2 * sheet + 0.12 * core) * (1 + 3 / pitch) / 100
        return {"mass": mass, "sag": 60_000 * load / stiffness}

    return Problem(spec, solve)


def bands(number: int) -> Problem:
    """Eight numbers without a unit, with bands of crashes across the space."""
    centre = [random.Random(f"bands {number} {index}").uniform(-2, 2) for index in range(8)]
    names = [f"x{index}" for index in range(8)]
    spec = {
        "variables": {name: {"low": -5, "high": 5} for name in names},
        "objectives": [{"name": "cost"}],
    }

    def solve(values: Mapping[str, Any]) -> Outputs | str:
        point = [values[name] for name in names]
        if math.sin(1.3 * (point[0] + point[1])) > 0.75 or math.cos(point[2] - point[3]) > 0.92:
            return "convergence_failure"
        cost = sum((x - c) ** 2 for x, c in zip(point, centre, strict=True))
        return {"cost": 1 + cost}

    return Problem(spec, solve)


def categories(number: int) -> Problem:
    """A beam with two choices and two whole numbers; failures belong to a choice."""
    pick = random.Random(f"categories {number}")
    force, size = pick.uniform(5, 20), pick.uniform(0.6, 1.6)
    span = 500 * size
    materials = {
        "steel": (210, 235, 7.85, 1.3),
        "cast": (110, 150, 7.2, 0.8),
        "alu": (70, 200, 2.7, 3.5),
    }
    spec = {
        "variables": {
            "wall": _length(1, 12),
            "depth": _length(20 * size, 160 * size),
            "flange": _length(10 * size, 90 * size),
            "pitch": _length(10 * size, 120 * size),
            "ribs": {"low": 0, "high": 9, "integer": True},
            "bolts": {"low": 2, "high": 12, "integer": True},
            "material": {"choices": list(materials)},
            "joint": {"choices": ["weld", "bolt", "glue"]},
        },
        "constants": {"span": {"value": span, "unit": "mm"}, "force": force},
        "objectives": [{"name": "price"}],
        "constraints": [{"name": "stress", "max": 1.0}, {"name": "sag", "max": 1.0}],
    }

    def solve(values: Mapping[str, Any]) -> Outputs | str:
        wall, depth, flange = values["wall"], values["depth"], values["flange"]
        modulus, limit, weight, cost = materials[values["material"]]
        if values["material"] == "cast" and wall < 4.5:
            return "geometry_error"
        if values["joint"] == "bolt" and values["pitch"] * values["bolts"] > 1.3 * span:
            return "geometry_error"
        if values["joint"] == "glue" and values["ribs"] > 5:
            return "convergence_failure"
        if depth / wall > 28:
            return "convergence_failure"
        if wall > flange / 2.2:
            return "mesh_error"
        inertia = (flange * depth**3 - (flange - wall) * max(depth - 2 * wall, 0) ** 3) / 12
        area = 2 * flange * wall + (depth - 2 * wall) * wall
        return {
            "price": weight * 1e-6 * area * span * cost + 0.05 * values["ribs"],
            "stress": force * 1e3 * span / 16 * depth / inertia / (0.6 * limit),
            "sag": force * span**3 / (48 * modulus * inertia) * 300 / span,
        }

    return Problem(spec, solve)


def load(number: int) -> Problem:
    """A column whose border of failure moves with a load that has no unit."""
    force = random.Random(f"load {number}").uniform(1, 6)
    spec = {
        "variables": {"width": _length(4, 60), "depth": _length(4, 60), "hole": _length(1, 40)},
        "constants": {"span": {"value": 900, "unit": "mm"}, "force": force},
        "objectives": [{"name": "mass"}],
        "constraints": [{"name": "stress", "max": 1.0}],
    }

    def solve(values: Mapping[str, Any]) -> Outputs | str:
        width, depth, hole = values["width"], values["depth"], values["hole"]
        if hole > 0.8 * min(width, depth):
            return "geometry_error"
        if width * depth**3 - hole**4 < 30_000 * force:
            return "singularity"
        area = width * depth - hole**2
        return {"mass": area, "stress": 60 * force / area * (1 + hole / width)}

    return Problem(spec, solve)


def two(number: int) -> Problem:
    """A plate with two objectives, of which many random designs fail."""
    size = random.Random(f"two {number}").uniform(0.6, 1.7)
    spec = {
        "variables": {
            "length": _length(20 * size, 200 * size),
            "width": _length(20 * size, 200 * size),
            "wall": _length(0.5 * size, 20 * size),
        },
        "objectives": [{"name": "mass"}, {"name": "sag"}],
    }

    def solve(values: Mapping[str, Any]) -> Outputs | str:
        length, width, wall = (values[name] / size for name in ("length", "width", "wall"))
        if length / wall > 40 or length < 1.2 * width:
            return "mesh_error"
        return {"mass": length * width * wall / 1e5, "sag": 4 * length**2 / (width * wall**2)}

    return Problem(spec, solve)


FAMILIES: dict[str, Callable[[int], Problem]] = {
    family.__name__: family for family in (border, crowded, stepped, bands, categories, load, two)
}
_REFERENCE = (3.0, 60.0)  # mass and sag of `two` from which its hypervolume is measured


def merit(problem: Problem, results: list[Outputs | str]) -> float | None:
    """Return the best feasible objective; of two objectives, minus the hypervolume."""
    feasible = [
        [outputs[name] for name in problem.objectives]
        for outputs in results
        if not isinstance(outputs, str) and max(problem.violations(outputs)) <= 0
    ]
    if len(problem.objectives) == 1:
        return min((values[0] for values in feasible), default=None)
    area, right = 0.0, _REFERENCE[0]
    kept = sorted((values for values in feasible if values[1] < _REFERENCE[1]), key=lambda v: v[1])
    for low, high in zip(kept, [*kept[1:], [0.0, _REFERENCE[1]]], strict=True):
        right = min(right, low[0])
        area += (_REFERENCE[0] - right) * (high[1] - low[1])
    return -area or None


def by_optuna(problem: Problem, seed: int, arm: str) -> list[Outputs | str]:
    """Solve with a sampler of Optuna."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    constraints: Any = lambda trial: trial.user_attrs["violations"]  # noqa: E731
    samplers = optuna.samplers
    sampler: Any
    if arm == "gp":
        sampler = samplers.GPSampler(seed=seed, constraints_func=constraints)
    else:
        multivariate = arm == "constrained"
        sampler = samplers.TPESampler(
            seed=seed,
            multivariate=multivariate,
            constant_liar=multivariate,
            constraints_func=constraints,
        )
    study = optuna.create_study(directions=["minimize"] * len(problem.objectives), sampler=sampler)
    results: list[Outputs | str] = []
    for _ in range(SOLVES):
        trial = study.ask()
        outputs = problem.solve(_suggested(trial, problem.spec["variables"]))
        results.append(outputs)
        trial.set_user_attr("violations", problem.violations(outputs))
        if not isinstance(outputs, str):
            study.tell(trial, [outputs[name] for name in problem.objectives])
        elif arm == "tpe":
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:  # the Gaussian process needs finite values
            worst = 1e6 if arm == "gp" else math.inf
            study.tell(trial, [worst] * len(problem.objectives))
    return results


def _suggested(trial: Any, variables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    values = {}
    for name, item in variables.items():
        if "choices" in item:
            values[name] = trial.suggest_categorical(name, item["choices"])
        elif item.get("integer"):
            values[name] = trial.suggest_int(name, item["low"], item["high"])
        else:
            values[name] = trial.suggest_float(
                name, item["low"], item["high"], step=item.get("step")
            )
    return values


def by_smac(problem: Problem, seed: int) -> list[Outputs | str]:
    """Solve with SMAC; a violated constraint is added to the cost, for it knows none."""
    from ConfigSpace import Categorical, ConfigurationSpace, Float, Integer
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory import StatusType, TrialValue

    space = ConfigurationSpace(seed=seed)
    for name, item in problem.spec["variables"].items():
        low, high = item.get("low"), item.get("high")
        if "choices" in item:
            space.add(Categorical(name, item["choices"]))
        elif item.get("integer"):
            space.add(Integer(name, (low, high)))
        elif item.get("step"):
            space.add(Integer(name, (0, round((high - low) / item["step"]))))
        else:
            space.add(Float(name, (float(low), float(high))))
    results: list[Outputs | str] = []
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            space, deterministic=True, n_trials=SOLVES, seed=seed, output_directory=Path(folder)
        )
        facade = HyperparameterOptimizationFacade(
            scenario, lambda config, seed=0: 0.0, overwrite=True, logging_level=50
        )
        for _ in range(SOLVES):
            asked = facade.ask()
            values = dict(asked.config)
            for name, item in problem.spec["variables"].items():
                if item.get("step"):
                    values[name] = item["low"] + item["step"] * values[name]
            outputs = problem.solve(values)
            results.append(outputs)
            if isinstance(outputs, str):
                facade.tell(asked, TrialValue(cost=1e6, status=StatusType.CRASHED))
            else:
                over = sum(max(0.0, by) for by in problem.violations(outputs))
                cost = outputs[problem.objectives[0]]
                facade.tell(asked, TrialValue(cost=cost * (1 + FAILED_BY * over)))
    return results


def by_transom(
    family: str, number: int, seed: int, root: Path, *, surrogate: int = 0
) -> list[Outputs | str]:
    """Solve with Transom, whose folder has the studies before."""
    import optuna

    from transom.studies.control import StudyStopped
    from transom.studies.failures import Diagnosis
    from transom.studies.runner import StudyRunner
    from transom.studies.solver import Solved
    from transom.studies.study import Study
    from transom.studies.verify import Verification

    problem = FAMILIES[family](number)
    results: list[Outputs | str] = []

    class OwnSolver:
        by = "own"

        def check(self) -> None:
            """Find that the solver can run."""

        def solve(self, folder: Path, values: Any, limits: Any) -> Solved:
            """Solve a design."""
            outputs = problem.solve(values)
            # A good design that is solved again to test the machine is no solve of the budget.
            if folder.name != "control":
                results.append(outputs)
            if isinstance(outputs, str):
                return Solved(Diagnosis(outputs, "design"), {}, 0.01, "own")
            return Solved(Diagnosis(None), outputs, 0.01, "own")

    study = Study.model_validate(
        {
            "study": f"{family}-{number}",
            "playbook": {"scope": family},
            "solver": {"use": "own"},
            "budget": {"trials": SOLVES},
            "sampler": {"seed": seed, "surrogate": surrogate},
            **problem.spec,
        }
    )
    storage = optuna.storages.InMemoryStorage()
    trials = None
    while trials is None:
        runner = StudyRunner(study, root, storage=storage, own_solver=OwnSolver())
        # No solve succeeded, and all ended alike: a person says that the designs are to blame.
        with suppress(StudyStopped):
            trials = runner.run()
    runner.guide.learn(trials, Verification(asked=False))
    return results


def rows(arm: str, family: str, seed: int) -> Iterator[dict[str, Any]]:
    """Run the studies of a family in one arm; yields a row for each."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(STUDIES):
            problem, began = FAMILIES[family](number), time.process_time()
            study_seed = 1000 * seed + number
            if arm == "transom":
                results = by_transom(family, number, study_seed, Path(folder))
            elif arm == "surrogate":
                results = by_transom(family, number, study_seed, Path(folder), surrogate=DRAWS)
            elif arm == "smac":
                results = by_smac(problem, study_seed)
            else:
                results = by_optuna(problem, study_seed, arm)
            yield {
                "arm": arm,
                "family": family,
                "seed": seed,
                "study": number,
                "failed": sum(isinstance(outputs, str) for outputs in results) / len(results),
                "best": merit(problem, results),
                "seconds": round(time.process_time() - began, 2),
            }


def interval(values: list[float]) -> tuple[float, float]:
    """Return a mean over seeds and two standard errors."""
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return statistics.fmean(values), 2 * error


def table(path: Path) -> None:
    """Print the table of all rows."""
    found: dict[tuple[str, str], dict[int, list[dict[str, Any]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        found[row["family"], row["arm"]][row["seed"]].append(row)
    print("| family | arm | seeds | failed, % | best against constrained TPE | none found |")
    print("|---|---|---|---|---|---|")
    for (family, arm), by_seed in found.items():
        anchor = found[family, "constrained"]
        failed = [
            100 * statistics.fmean(row["failed"] for row in each) for each in by_seed.values()
        ]
        ratios = []
        for seed, each in by_seed.items():
            bests = {row["study"]: row["best"] for row in anchor.get(seed, [])}
            logs = [
                math.log(row["best"] / bests[row["study"]])
                for row in each
                if row["best"] and bests.get(row["study"])
            ]
            if logs:
                ratios.append(statistics.fmean(logs))
        mean, error = interval(failed)
        ratio = "-"
        if ratios:
            middle, spread = interval(ratios)
            low, high = math.exp(middle - spread), math.exp(middle + spread)
            ratio = f"{math.exp(middle):.2f} [{low:.2f}, {high:.2f}]"
        none = sum(row["best"] is None for each in by_seed.values() for row in each)
        total = sum(map(len, by_seed.values()))
        print(
            f"| {family} | {arm} | {len(by_seed)} | {mean:.1f} ± {error:.1f} | {ratio} |"
            f" {none} of {total} |"
        )


def main() -> int:
    """Run arms, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("--arms", default="tpe,constrained,transom")
    run.add_argument("--families", default=",".join(FAMILIES))
    run.add_argument("--seeds", type=int, default=10)
    run.add_argument("--first", type=int, default=0, help="number of the first seed")
    run.add_argument("--out", type=Path, required=True)
    commands.add_parser("table").add_argument("rows", type=Path)
    given = parser.parse_args()
    if given.command == "table":
        table(given.rows)
        return 0
    logging.disable(logging.WARNING)
    warnings.filterwarnings("ignore")
    for seed in range(given.first, given.first + given.seeds):
        for family in given.families.split(","):
            for arm in given.arms.split(","):
                # The facade of SMAC for several objectives knows no constraint.
                if arm in ("smac", "surrogate") and len(FAMILIES[family](0).objectives) > 1:
                    continue
                with given.out.open("a") as out:
                    for row in rows(arm, family, seed):
                        out.write(json.dumps(row) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
