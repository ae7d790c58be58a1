"""A cantilever of rectangular section with a load at its tip: beam.py WIDTH HEIGHT LENGTH LOAD, in
mm and N.

Writes out.json: mass in kg, deflection in mm, stress in MPa. It refuses beams that would buckle
sideways.
"""

import json
import sys
from pathlib import Path

YOUNG, DENSITY = 210e3, 7.85e-6  # steel; MPa, kg/mm3

width, height, length, load = map(float, sys.argv[1:])
if height > 5 * width:
    sys.exit(f"ERROR: the beam buckles sideways: it is {height / width:.1f} times as high as wide")
moment = width * height**3 / 12
results = {
    "mass": DENSITY * width * height * length,
    "deflection": load * length**3 / (3 * YOUNG * moment),
    "stress": load * length * height / 2 / moment,
}
Path("out.json").write_text(json.dumps(results), encoding="utf-8")
