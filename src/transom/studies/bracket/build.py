"""Mesh an L-bracket and solve it: a program that becomes CalculiX, run in a job's folder as
`build.py CCX job.json`.

The bracket lies in a plane: two arms of `length` and `width`, a `fillet` between them, a round
`hole` (its radius) in the horizontal arm. Two bolts hold the vertical arm, `load` pulls the
horizontal arm's tip down; the material yields and hardens. Lengths in mm, forces in N, stresses in
MPa, density in kg/mm³. It imports nothing of Transom.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HOLE_AT = 0.62
"""Position of the hole from the corner, in lengths of the arm."""
BOLTS_AT = (0.64, 0.9)
BOLT = 0.045
"""Radius of the region that a bolt holds, in lengths of the arm."""
HARDENING = 700.0

_TRIANGLE = 9  # gmsh's number of the triangle with six nodes
_MAX_INCREMENTS = 25


class GeometryError(Exception):
    """The bracket cannot be made."""


class MeshError(Exception):
    """The mesh cannot be used."""


def mesh(
    job: dict[str, float],
) -> tuple[dict[int, tuple[float, float]], dict[int, list[int]], float]:
    """Nodes, elements of six nodes, and the area of the bracket in mm²."""
    import gmsh  # type: ignore[import-untyped]  # noqa: PLC0415  slow

    gmsh.initialize(interruptible=False)
    gmsh.option.setNumber("General.Terminal", 1)
    gmsh.option.setNumber("General.Verbosity", 2)
    gmsh.option.setNumber("General.NumThreads", 1)
    length, width, fillet = job["length"], job["width"], job["fillet"]
    if fillet > length - width:
        raise GeometryError(
            f"a fillet of {fillet:g} does not fit between arms that are {length - width:g} long"
        )
    occ = gmsh.model.occ
    rim = [
        (0, 0),
        (length, 0),
        (length, width),
        (width + fillet, width),
        (width, width + fillet),
        (width, length),
    ]
    points = [occ.addPoint(x, y, 0) for x, y in (*rim, (0, length))]
    centre = occ.addPoint(width + fillet, width + fillet, 0)
    curves = []
    for n in range(7):
        curves.append(
            occ.addCircleArc(points[n], centre, points[n + 1])
            if n == 3
            else occ.addLine(points[n], points[(n + 1) % 7])
        )
    plate = occ.addPlaneSurface([occ.addCurveLoop(curves)])
    hole = occ.addDisk(HOLE_AT * length, width / 2, 0, job["hole"], job["hole"])
    remaining, _ = occ.cut([(2, plate)], [(2, hole)])
    occ.synchronize()
    # gmsh cuts without an error also if the hole splits the plate.
    if len(remaining) != 1:
        raise GeometryError(f"the hole leaves {len(remaining)} disconnected bodies")
    area = occ.getMass(2, remaining[0][1])
    gmsh.option.setNumber("Mesh.MeshSizeMax", job["mesh"])
    gmsh.option.setNumber("Mesh.MeshSizeMin", job["mesh"] / 4)
    gmsh.option.setNumber("Mesh.MeshSizeFromCurvature", 10)
    gmsh.option.setNumber("Mesh.ElementOrder", 2)
    gmsh.model.mesh.generate(2)
    tags, coordinates, _ = gmsh.model.mesh.getNodes(2, remaining[0][1], includeBoundary=True)
    nodes = {int(tag): (coordinates[3 * n], coordinates[3 * n + 1]) for n, tag in enumerate(tags)}
    numbers, members = gmsh.model.mesh.getElementsByType(_TRIANGLE)
    if not len(numbers):
        raise MeshError("no elements in surface 1")
    worst = gmsh.model.mesh.getElementQualities(numbers, "minDetJac")
    # CalculiX would stop at these elements; here the message names how many there are.
    if bad := sum(quality <= 0 for quality in worst):
        raise MeshError(f"{bad} elements have a jacobian below 0")
    elements = {}
    for n, tag in enumerate(numbers):
        elements[int(tag)] = [int(node) for node in members[6 * n : 6 * n + 6]]
    return nodes, elements, area


def deck(
    job: dict[str, float], nodes: dict[int, tuple[float, float]], elements: dict[int, list[int]]
) -> Iterator[str]:
    """Lines of the input deck."""
    length, middle, near = job["length"], job["width"] / 2, BOLT * job["length"]
    bolts = [(middle, place * length) for place in BOLTS_AT]
    fixed = []
    # A bolt holds all nodes within its radius, since no node needs to be at its centre.
    for n, (x, y) in nodes.items():
        if any((x - a) ** 2 + (y - b) ** 2 <= near**2 for a, b in bolts):
            fixed.append(n)
    tip = []
    for n, (x, _) in nodes.items():
        if x > length * (1 - 1e-9):
            tip.append(n)
    # Lists of one node a line: CalculiX refuses long data lines.
    yield "*NODE,NSET=NALL"
    yield from (f"{n},{x:.9g},{y:.9g},0." for n, (x, y) in nodes.items())
    yield "*ELEMENT,TYPE=CPS6,ELSET=EALL"
    yield from (f"{n}," + ",".join(map(str, members)) for n, members in elements.items())
    yield "*NSET,NSET=BOLTS"
    yield from (f"{n}," for n in fixed)
    yield "*NSET,NSET=TIP"
    yield from (f"{n}," for n in tip)
    yield from (
        "*MATERIAL,NAME=METAL",
        "*ELASTIC",
        f"{job['young']:g},{job['poisson']:g}",
        "*PLASTIC",
    )
    yield from (f"{job['yield_stress']:g},0.", f"{job['yield_stress'] + HARDENING / 2:g},0.5")
    yield from ("*SOLID SECTION,ELSET=EALL,MATERIAL=METAL", f"{job['thickness']:.9g}")
    yield from ("*BOUNDARY", "BOLTS,1,2", f"*STEP,NLGEOM,INC={_MAX_INCREMENTS}", "*STATIC")
    yield f"{job['step']:g},1.,0.02,{job['step']:g}"
    yield from ("*CLOAD", f"TIP,2,{-job['load'] / len(tip):.9g}")
    yield from (
        "*NODE PRINT,NSET=NALL,FREQUENCY=999",
        "U",
        "*EL PRINT,ELSET=EALL,FREQUENCY=999",
        "S",
        "*END STEP",
    )


def main(arguments: list[str]) -> None:
    """Mesh, write the deck and the mass, and become CalculiX; ends with 1 and one line where
    that cannot be.
    """
    solver, name = arguments
    job: dict[str, Any] = json.loads(Path(name).read_text())
    try:
        nodes, elements, area = mesh(job)
    except Exception as error:  # noqa: BLE001  gmsh raises plain exceptions
        sys.exit(f"{type(error).__name__}: {error}")
    Path("job.inp").write_text("\n".join(deck(job, nodes, elements)) + "\n")
    mass = area * job["thickness"] * job["density"]
    Path("mesh.json").write_text(
        json.dumps({"mass": mass, "nodes": len(nodes), "elements": len(elements)})
    )
    sys.stdout.flush()
    os.execv(solver, [solver, "job"])  # this process, and its mark and limits, become the solver's


if __name__ == "__main__":
    main(sys.argv[1:])
