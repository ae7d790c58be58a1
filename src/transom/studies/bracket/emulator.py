"""A fast stand-in for the bracket's real solves, fitted on solves that were made with CalculiX.

Geometry is judged exactly. Whether the mesh, the supports and the iteration hold is drawn with
fitted odds, by a number that belongs to the design: the same design always ends the same way.
Displacement and stress are regressions.
`examples/studies/make/make_emulator.py` makes the solves and fits.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from transom.studies.bracket.build import HARDENING, HOLE_AT

COEFFICIENTS = Path(__file__).with_name("emulator.json")
STEPS = ("mesh_error", "singularity", "convergence_failure")
"""Failures behind the geometry, in the order in which a solve meets them."""

_WHY = {
    "mesh_error": "the emulator expects elements with a jacobian below 0",
    "singularity": "the emulator expects too few supports",
    "convergence_failure": "the emulator expects that the iteration finds no equilibrium",
}


def ratios(job: Mapping[str, float]) -> list[float]:
    """Logarithms of the dimensionless numbers that a bracket's behaviour rests on."""
    length, width, hole, thickness = job["length"], job["width"], job["hole"], job["thickness"]
    plastic = thickness * width**2 / 4 * job["yield_stress"]
    # The floors keep logarithms finite for holes as wide as the arm.
    net = max(1 - (2 * hole / width) ** 2, 1e-4)
    numbers = (
        width / length,
        2 * hole / width,
        max(1 - 2 * hole / width, 1e-3),
        job["fillet"] / width,
        job["mesh"] / width,
        max(width / 2 - hole, 1e-4 * width) / job["mesh"],
        job["load"] * (length - width / 2) / plastic,
        job["load"] * length * (1 - HOLE_AT) / (plastic * net),
        job["load"] / (thickness * width * max(1 - 2 * hole / width, 1e-3) * job["yield_stress"]),
        job["step"],
        job["young"] / job["yield_stress"],
    )
    return [math.log(number) for number in numbers]


def terms(features: Sequence[float]) -> list[float]:
    """1, the features, and their products."""
    return [1.0, *features, *(a * b for n, a in enumerate(features) for b in features[n:])]


def area(job: Mapping[str, float]) -> float:
    """Area of the bracket in mm²."""
    length, width = job["length"], job["width"]
    corner = (1 - math.pi / 4) * job["fillet"] ** 2
    return 2 * length * width - width**2 + corner - math.pi * job["hole"] ** 2


def geometry_fault(job: Mapping[str, float]) -> str | None:
    """Return why the bracket cannot be made, or None."""
    if job["fillet"] > job["length"] - job["width"]:
        return f"a fillet of {job['fillet']:g} does not fit"
    if job["hole"] >= job["width"] / 2:
        return "the hole leaves 2 disconnected bodies"
    return None


@dataclass(frozen=True)
class Emulator:
    """Called with a bracket's numbers: the class of its failure or None, the reason, and its
    outputs.

    Attributes:
        centre, scale: normalisation of the features.
        models: weights of the terms, for each of `STEPS` (log odds), `displacement` and `stress`
            (logarithms of displacement over what beam theory gives, and of stress over yield
            stress).
        low, high: bounds of those two.
    """

    centre: tuple[float, ...]
    scale: tuple[float, ...]
    models: Mapping[str, tuple[float, ...]]

    @staticmethod
    def load(path: Path = COEFFICIENTS) -> Emulator:
        data = json.loads(path.read_text("utf-8"))
        models = {name: tuple(weights) for name, weights in data["models"].items()}
        return Emulator(tuple(data["centre"]), tuple(data["scale"]), models)

    def __call__(self, job: Mapping[str, float]) -> tuple[str | None, str, dict[str, float]]:
        if why := geometry_fault(job):
            return "geometry_error", why, {}
        terms_ = terms(
            [(x - c) / s for x, c, s in zip(ratios(job), self.centre, self.scale, strict=True)]
        )
        # A solve meets the failures in this order, so the first that is drawn is the one it
        # reports.
        for step in STEPS:
            if _draw(job, step) < 1 / (
                1 + math.exp(-max(-40.0, min(40.0, self._sum(step, terms_))))
            ):
                return step, _WHY[step], {}
        beam = beam_displacement(job)
        strength = job["yield_stress"]
        # Regressions run away outside of their data: plasticity and the bracket's size are the
        # bounds.
        stress = min(strength * math.exp(self._sum("stress", terms_)), strength + HARDENING)
        displacement = min(beam * math.exp(self._sum("displacement", terms_)), job["length"])
        mass = area(job) * job["thickness"] * job["density"]
        return None, "", {"mass": mass, "displacement": displacement, "stress": stress}

    def _sum(self, name: str, terms_: Sequence[float]) -> float:
        return sum(weight * term for weight, term in zip(self.models[name], terms_, strict=True))


def beam_displacement(job: Mapping[str, float]) -> float:
    """Displacement of the tip as two beams in a row would have it, in mm."""
    inertia = job["thickness"] * job["width"] ** 3 / 12
    arm = job["length"] - job["width"] / 2
    return job["load"] * arm**2 * (arm / 3 + job["length"] * 0.6) / (job["young"] * inertia)


def _draw(job: Mapping[str, float], step: str) -> float:
    """Return a pseudo-random number from 0 to 1, fixed for this design and step."""
    text = step + ",".join(f"{name}={job[name]:.9g}" for name in sorted(job))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "big") / 2**56
