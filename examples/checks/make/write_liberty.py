"""Write a small Liberty file: nine gates and a flip-flop, linear delays in 3 x 3 tables. Units:
ns, pF.
"""

from __future__ import annotations

import sys

SLEWS = (0.01, 0.10, 0.50)
LOADS = (0.001, 0.010, 0.050)

# name: (area, function, inputs, unateness, intrinsic delay in ns, drive in ns/pF)
GATES = {
    "INV": (1.0, "!A", "A", "negative_unate", 0.010, 1.8),
    "BUF": (1.5, "A", "A", "positive_unate", 0.022, 1.2),
    "NAND2": (1.5, "!(A & B)", "AB", "negative_unate", 0.014, 2.2),
    "NOR2": (1.5, "!(A | B)", "AB", "negative_unate", 0.017, 2.8),
    "AND2": (2.0, "A & B", "AB", "positive_unate", 0.028, 1.8),
    "OR2": (2.0, "A | B", "AB", "positive_unate", 0.031, 1.8),
    "XOR2": (3.0, "A ^ B", "AB", "non_unate", 0.040, 2.6),
    "AOI21": (2.0, "!((A & B) | C)", "ABC", "negative_unate", 0.020, 2.9),
    "OAI21": (2.0, "!((A | B) & C)", "ABC", "negative_unate", 0.020, 2.9),
}


def table(kind: str, template: str, rows: list[list[float]]) -> str:
    """One lookup table of a timing arc."""
    values = ", ".join('"' + ", ".join(f"{v:.4f}" for v in row) + '"' for row in rows)
    return f"        {kind} ({template}) {{ values ({values}); }}\n"


def arc(related: str, sense: str, delay: float, drive: float, extra: str = "") -> str:
    """A delay arc: delay = intrinsic + drive * load + 0.2 * slew; the falling edge is a tenth
    faster.
    """
    text = (
        f'      timing () {{\n        related_pin : "{related}";\n        timing_sense :'
        f" {sense};\n{extra}"
    )
    for edge, factor in (("rise", 1.0), ("fall", 0.9)):
        delays = [
            [factor * (delay + drive * load + 0.2 * slew) for load in LOADS] for slew in SLEWS
        ]
        slews = [
            [factor * (0.008 + 2.0 * drive * load + 0.05 * slew) for load in LOADS]
            for slew in SLEWS
        ]
        text += table(f"cell_{edge}", "delay", delays) + table(f"{edge}_transition", "delay", slews)
    return text + "      }\n"


def gate(name: str) -> str:
    """A combinational cell."""
    area, function, inputs, sense, delay, drive = GATES[name]
    pins = "".join(
        f"    pin ({p}) {{ direction : input; capacitance : 0.0015; }}\n" for p in inputs
    )
    arcs = "".join(arc(p, sense, delay + 0.003 * i, drive) for i, p in enumerate(inputs))
    return (
        f"  cell ({name}) {{\n    area : {area};\n{pins}"
        f'    pin (Y) {{\n      direction : output;\n      function : "{function}";\n{arcs}    }}\n'
        "  }\n"
    )


def check(kind: str, value: float) -> str:
    """A setup or hold check of D against the rising clock."""
    rows = [[value + 0.1 * data - 0.05 * clock for clock in SLEWS] for data in SLEWS]
    both = table("rise_constraint", "check", rows) + table("fall_constraint", "check", rows)
    return (
        '      timing () {\n        related_pin : "CK";\n        timing_type :'
        f" {kind}_rising;\n{both}      }}\n"
    )


def flip_flop() -> str:
    """A flip-flop without reset."""
    edge = "        timing_type : rising_edge;\n"
    return (
        '  cell (DFF) {\n    area : 6.0;\n    ff (IQ, IQN) { clocked_on : "CK"; next_state :'
        ' "D"; }\n'
        "    pin (CK) { direction : input; clock : true; capacitance : 0.0012; }\n"
        f"    pin (D) {{\n      direction : input;\n      capacitance : 0.0014;\n"
        f"{check('setup', 0.045)}{check('hold', 0.012)}    }}\n"
        f'    pin (Q) {{\n      direction : output;\n      function : "IQ";\n'
        f"{arc('CK', 'non_unate', 0.095, 1.6, edge)}    }}\n  }}\n"
    )


def library() -> str:
    """The whole file."""
    slews, loads = (", ".join(map(str, axis)) for axis in (SLEWS, LOADS))
    return (
        "/* Example library: invented cells and numbers. */\n"
        "library (example_tt) {\n  delay_model : table_lookup;\n"
        '  time_unit : "1ns";\n  voltage_unit : "1V";\n  current_unit : "1mA";\n'
        '  pulling_resistance_unit : "1kohm";\n  capacitive_load_unit (1, pf);\n '
        ' leakage_power_unit : "1nW";\n'
        "  nom_process : 1.0;\n  nom_voltage : 1.0;\n  nom_temperature : 25.0;\n"
        "  input_threshold_pct_rise : 50;\n  input_threshold_pct_fall : 50;\n"
        "  output_threshold_pct_rise : 50;\n  output_threshold_pct_fall : 50;\n"
        "  slew_lower_threshold_pct_rise : 20;\n  slew_lower_threshold_pct_fall : 20;\n"
        "  slew_upper_threshold_pct_rise : 80;\n  slew_upper_threshold_pct_fall : 80;\n"
        f"  lu_table_template (delay) {{\n    variable_1 : input_net_transition;\n"
        f"    variable_2 : total_output_net_capacitance;\n"
        f'    index_1 ("{slews}");\n    index_2 ("{loads}");\n  }}\n'
        f"  lu_table_template (check) {{\n    variable_1 : constrained_pin_transition;\n"
        f"    variable_2 : related_pin_transition;\n"
        f'    index_1 ("{slews}");\n    index_2 ("{slews}");\n  }}\n'
        + "".join(gate(name) for name in GATES)
        + flip_flop()
        + "}\n"
    )


if __name__ == "__main__":
    sys.stdout.write(library())
