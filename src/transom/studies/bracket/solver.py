"""The bracket as a solver: gmsh and CalculiX where both are installed, else the emulator."""

from __future__ import annotations

import importlib.util
import math
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transom.errors import InputError, install_hint
from transom.studies.bracket import build
from transom.studies.bracket.emulator import Emulator
from transom.studies.failures import Diagnosis, FailureEvidence, diagnosis
from transom.studies.solver import Solved, run_and_judge, write_json
from transom.studies.study import Extractor, JobLimits, Number, Study
from transom.studies.taxonomy import Taxonomy

DEFAULTS: dict[str, Number] = {
    "length": 80.0,
    "load": 400.0,
    "young": 70000.0,
    "poisson": 0.33,
    "yield_stress": 240.0,
    "density": 2.7e-6,
    "mesh": 6.0,
    "step": 0.5,
}
"""Defaults: an aluminium bracket (mm, N, MPa, kg/mm³)."""
VARIABLES = ("width", "hole", "fillet", "thickness")
OUTPUTS = {
    "mass": Extractor.model_validate({"file": "mesh.json", "json": "/mass"}),
    "displacement": Extractor.model_validate({"file": "job.dat", "calculix": "displacement"}),
    "stress": Extractor.model_validate({"file": "job.dat", "calculix": "mises"}),
}


class Bracket:
    """Outputs: `mass` in kg, `displacement` of the tip in mm, `stress` (largest von Mises) in MPa.

    Option `emulate`: `auto` (the emulator where `ccx` or gmsh is missing), `never`, `always`.
    """

    def __init__(self, study: Study, taxonomy: Taxonomy) -> None:
        self.study, self.taxonomy = study, taxonomy
        self.ccx = shutil.which(str(study.solver.options.get("ccx", "ccx")))
        mode = study.solver.options.get("emulate", "auto")
        if mode not in ("auto", "never", "always"):
            raise InputError(
                f"emulate is {mode!r}", place="solver.options", hint="write auto, never or always"
            )
        # Both are needed: gmsh makes the mesh, CalculiX solves it.
        is_installed = self.ccx is not None and gmsh_works()
        self.emulator = (
            Emulator.load() if mode == "always" or (mode == "auto" and not is_installed) else None
        )
        self.by = "emulator of ccx" if self.emulator else "ccx"

    def check(self) -> None:
        names = {*self.study.variables, *self.study.fixed}
        if missing := sorted(set(VARIABLES) - names):
            raise InputError(
                f"the bracket needs {missing[0]}",
                place=self.study.study,
                hint="add it to `variables`",
            )
        if not self.emulator and self.ccx is None:
            hint = "apt install calculix-ccx, or solver.options.emulate: auto"
            raise InputError("the solver ccx is not installed", place="solver", hint=hint)
        if not self.emulator and not gmsh_works():
            hint = (
                "apt install libglu1-mesa libxcursor1 libxft2 libxinerama1;"
                f" {install_hint('studies')}"
            )
            raise InputError("gmsh cannot be loaded", place="solver", hint=hint)

    def solve(self, folder: Path, values: Mapping[str, Number], limits: JobLimits) -> Solved:
        job = {}
        for name, default in {**DEFAULTS, **values}.items():
            job[name] = float(values.get(name, default))
        if self.emulator:
            began = time.monotonic()
            failure, why, outputs = self.emulator(job)
            diagnosed = (
                diagnosis(failure, self.taxonomy, FailureEvidence("message", why))
                if failure
                else Diagnosis(None)
            )
            return Solved(diagnosed, outputs, time.monotonic() - began, by=self.by)
        write_json(folder / "job.json", job)
        # A process of its own, since gmsh may crash on a bad shape and take Transom with it.
        command = [sys.executable, "-I", build.__file__, self.ccx or "ccx", "job.json"]
        return run_and_judge(command, folder, limits, self.taxonomy, OUTPUTS, set(OUTPUTS), self.by)

    def draw(self, axes: Any, values: Mapping[str, Number]) -> None:
        """Draw the bracket's outline, its bolts and its load."""
        from matplotlib.patches import Circle, Polygon  # noqa: PLC0415  slow

        job = {}
        for name, default in {**DEFAULTS, **values}.items():
            job[name] = float(values.get(name, default))
        length, width, fillet = (
            job["length"],
            job["width"],
            min(job["fillet"], job["length"] - job["width"]),
        )
        turn = [math.pi * (1.5 - n / 32) for n in range(17)]
        corner = []
        for a in turn:
            corner.append((width + fillet * (1 + math.cos(a)), width + fillet * (1 + math.sin(a))))
        outline = [(0, 0), (length, 0), (length, width), *corner, (width, length), (0, length)]
        axes.add_patch(Polygon(outline, facecolor="#9db4c0", edgecolor="#253237"))
        axes.add_patch(
            Circle(
                (build.HOLE_AT * length, width / 2),
                job["hole"],
                facecolor="white",
                edgecolor="#253237",
            )
        )
        for position in build.BOLTS_AT:
            axes.add_patch(
                Circle((width / 2, position * length), build.BOLT * length, facecolor="#253237")
            )
        axes.annotate(
            "",
            (length, -0.12 * length),
            (length, 0),
            arrowprops={"arrowstyle": "->", "color": "#b3412f"},
        )
        axes.set(
            xlim=(-0.1 * length, 1.1 * length),
            ylim=(-0.15 * length, 1.05 * length),
            aspect="equal",
            xlabel="mm",
        )


def gmsh_works() -> bool:
    """Check that gmsh and the libraries that it loads are installed."""
    if importlib.util.find_spec("gmsh") is None:
        return False
    try:
        # Slow: it loads its libraries.
        import gmsh  # type: ignore[import-untyped]  # noqa: F401, PLC0415
    except OSError:
        return False
    return True
