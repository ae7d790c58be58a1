"""Stand-in for an extractor ("Plumb 1.3"): one capacitor and one resistor per sink from a netlist
in Yosys' JSON.

usage: write_spef.py NETLIST.json SCALE [NAME...] > OUT.spef      NAME: a header directive to leave
          blank
OpenSTA's grammar wants every directive, in this order; it does not look into the quotes.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

HEADER = (
    ("SPEF", '"IEEE 1481-1999"'),
    ("DESIGN", '"updown"'),
    ("DATE", '"Mon Mar  9 15:20:11 2026"'),
    ("VENDOR", '"Example"'),
    ("PROGRAM", '"Plumb"'),
    ("VERSION", '"1.3"'),
    ("DESIGN_FLOW", '"EXTERNAL_LOADS" "NAME_SCOPE FLAT"'),
    ("DIVIDER", "/"),
    ("DELIMITER", ":"),
    ("BUS_DELIMITER", "[]"),
    ("T_UNIT", "1 NS"),
    ("C_UNIT", "1 PF"),
    ("R_UNIT", "1 KOHM"),
    ("L_UNIT", "1 HENRY"),
)


def pins(module: dict[str, Any]) -> dict[int | str, list[tuple[str, str, str]]]:
    """Net number (or constant) -> (kind, pin, direction) of every pin on it; brackets of
    instances are escaped.
    """
    found: defaultdict[int | str, list[tuple[str, str, str]]] = defaultdict(list)
    for name, port in module["ports"].items():
        for i, bit in enumerate(port["bits"]):
            label = name if len(port["bits"]) == 1 else f"{name}[{i}]"
            found[bit].append(("P", label, port["direction"][0].upper()))
    for name, cell in module["cells"].items():
        escaped = re.sub(r"([\[\]])", r"\\\1", name)
        for pin, bits in cell["connections"].items():
            direction = "O" if pin in ("Y", "Q") else "I"
            found[bits[0]].append(("I", f"{escaped}:{pin}", direction))
    return found


def net_names(module: dict[str, Any]) -> dict[int | str, str]:
    """Net number -> name; a port's name wins."""
    names: dict[int | str, str] = {}
    nets = sorted(module["netnames"].items(), key=lambda item: item[0] not in module["ports"])
    for name, net in nets:
        for i, bit in enumerate(net["bits"]):
            names.setdefault(bit, name if len(net["bits"]) == 1 else f"{name}[{i}]")
    return names


def net_text(name: str, ends: list[tuple[str, str, str]], scale: float) -> str:
    """One *D_NET section: a star of resistors from the driver, a capacitor at every pin."""
    is_driver = [(kind, way) in (("P", "I"), ("I", "O")) for kind, _, way in ends]
    driver = ends[is_driver.index(True)][1]
    sinks = [pin for (_, pin, _), drives in zip(ends, is_driver, strict=True) if not drives]
    caps = [(driver, 0.0008 * scale)] + [
        (pin, (0.0006 + 0.0001 * (i % 3)) * scale) for i, pin in enumerate(sinks)
    ]
    lines = [f"*D_NET {name} {sum(c for _, c in caps):.6f}", "*CONN"]
    lines += [f"*{kind} {pin} {way}" for kind, pin, way in ends]
    lines += ["*CAP"] + [f"{i} {pin} {c:.6f}" for i, (pin, c) in enumerate(caps, 1)]
    lines += ["*RES"] + [f"{i} {driver} {pin} {0.12 * scale:.4f}" for i, pin in enumerate(sinks, 1)]
    return "\n".join([*lines, "*END", ""])


def main(netlist: str, scale: float, blank: set[str]) -> str:
    """The text of the SPEF file."""
    module = json.loads(Path(netlist).read_text(encoding="utf-8"))["modules"]["updown"]
    names, ends = net_names(module), pins(module)
    header = ((key, '" "' if key in blank else value) for key, value in HEADER)
    text = "".join(f"*{key} {value}\n" for key, value in header) + "\n"
    for bit in sorted(b for b in ends if isinstance(b, int)):
        if len(ends[bit]) > 1:
            text += net_text(names[bit], ends[bit], scale) + "\n"
    return text


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1], float(sys.argv[2]), set(sys.argv[3:])))
