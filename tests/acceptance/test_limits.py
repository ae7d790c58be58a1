"""Numbers against limits, from a description to the verdict: as printed; units are converted or
the check abstains.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.acceptance.common import check, table

pytestmark = [pytest.mark.slow, pytest.mark.fence]

UNITS = "report_units\n time 1{unit}\n capacitance 1pF\n resistance 1kohm\n"
PLAIN = "OpenSTA 2.5.0\nworst slack max {setup}\nworst slack min {hold}\nwns max 0.00\n"
TABLE = """\
+--------------------+---------+---------+
|     Setup mode     |   all   | reg2reg |
+--------------------+---------+---------+
|           WNS (ns):|  {setup}  |  0.900  |
|           TNS (ns):|  0.000  |  0.000  |
+--------------------+---------+---------+
+--------------------+---------+---------+
|     Hold mode      |   all   | reg2reg |
+--------------------+---------+---------+
|           WNS (ns):|  {hold}  |  0.900  |
+--------------------+---------+---------+
"""

POWER = """\
Group                  Internal  Switching    Leakage      Total
                          Power      Power      Power      Power (Watts)
----------------------------------------------------------------
Sequential             1.08e-03   1.59e-04   4.26e-10   1.24e-03  59.9%
Combinational          4.30e-04   4.10e-04   6.10e-10   8.40e-04  40.1%
----------------------------------------------------------------
Total                  1.51e-03   5.69e-04   1.04e-09   2.08e-03 100.0%
"""
AREA = "Design area 5120 u^2 64% utilization.\n"


def status(
    folder: Path,
    capfd: pytest.CaptureFixture[str],
    description: str,
    report: str,
    waivers: list[str] | None = None,
) -> tuple[str, int]:
    folder.mkdir(exist_ok=True)
    (folder / "timing.rpt").write_text(report)
    item = {
        "item_id": "LIMIT-1",
        "description": description,
        "requirements": {"value": "N/A", "pattern_items": []},
        "input_files": [str(folder / "timing.rpt")],
        "waivers": {
            "value": "N/A" if waivers is None else len(waivers),
            "waive_items": waivers or [],
        },
    }
    with (folder / "item.yaml").open("w") as out:
        yaml.safe_dump(item, out, sort_keys=False, allow_unicode=True)
    _, verdict = check(capfd, folder / "w", "all", str(folder / "item.yaml"), data=folder)
    return verdict["status"], len(verdict.get("missing_items", ()))


@pytest.mark.parametrize(
    ("description", "report", "expected"),
    [
        ("WNS >= 0", PLAIN.format(setup="0.12", hold="-0.01"), "PASS"),
        ("WNS > 0", PLAIN.format(setup="0.00", hold="0.1"), "FAIL"),
        ("WNS > 0", PLAIN.format(setup="-0.01", hold="0.1"), "FAIL"),
        (
            "The worst hold slack must be at least 0.",
            PLAIN.format(setup="0.12", hold="-3.64e-08"),
            "FAIL",
        ),
        (
            "The worst setup slack is at least 0.1 ns.",
            UNITS.format(unit="ns") + PLAIN.format(setup="0.1", hold="9"),
            "PASS",
        ),
        (
            "The worst setup slack is at least 0.1 ns.",
            UNITS.format(unit="ps") + PLAIN.format(setup="99", hold="9"),
            "FAIL",
        ),
        (
            "The worst setup slack is at least 0.1 ns.",
            UNITS.format(unit="s") + PLAIN.format(setup="1.1e-10", hold="9"),
            "PASS",
        ),
        (
            "The worst setup slack is above 100 ps.",
            UNITS.format(unit="ns") + PLAIN.format(setup="0.09", hold="9"),
            "FAIL",
        ),
        (
            "The worst setup slack is at least 0.1 ns.",
            PLAIN.format(setup="0.5", hold="0.5"),
            "NEEDS_MODEL",
        ),
        (
            "The worst setup slack is at least 100 ps.",
            TABLE.format(setup="0.101", hold="0.010"),
            "PASS",
        ),
        (
            "The worst hold slack is at least 100 ps.",
            TABLE.format(setup="0.100", hold="0.010"),
            "FAIL",
        ),
        ("Total power below 5 mW", POWER, "PASS"),
        ("The total power does not exceed 2080 uW.", POWER, "PASS"),
        ("The total power does not exceed 2079 uW.", POWER, "FAIL"),
        ("The total power does not exceed 2086 uW.", POWER, "PASS"),
        ("The total power must be below 0.002 W.", POWER, "FAIL"),
        ("Total power below 5 mW", POWER.replace(" (Watts)", ""), "NEEDS_MODEL"),
        ("Total power below 5 MW", POWER, "NEEDS_MODEL"),
        (
            "Total power below 5 mW",
            "Power Units = 1uW\nTotal Power:   4999.0   100.0000%\n",
            "PASS",
        ),
        ("Total power below 5 mW", "Total Power:   4.9   100.0000%\n", "NEEDS_MODEL"),
        ("Utilization must not exceed 64 %.", AREA, "PASS"),
        ("Utilization must not exceed 65 %.", AREA, "PASS"),
        ("The core utilization must be below 63%", AREA, "FAIL"),
        ("Utilization must not exceed 80 %.", "Core utilization = 0.64\n", "NEEDS_MODEL"),
        ("WNS >= 0.1 ns", "OpenSTA 2.5.0\nwns max 0.00\n", "NEEDS_MODEL"),
    ],
)
def test_limits(
    description: str, report: str, expected: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found, missing = status(tmp_path / "x", capfd, description, report)
    assert found == expected
    assert missing == (1 if expected == "FAIL" else 0)


def test_a_deviation_is_waived(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    report = UNITS.format(unit="ns") + PLAIN.format(setup="0.05", hold="1")
    assert status(
        tmp_path / "x", capfd, "Worst setup slack >= 0.1 ns", report, ["*worst slack*"]
    ) == ("PASS", 0)


ANSWERED = {
    "slack": (
        "The worst setup slack is at least 0.1 ns.",
        UNITS.format(unit="ns") + PLAIN.format(setup="0.5", hold="0.5"),
    ),
    "power": ("Total power below 5 mW", POWER),
    "utilization": ("Utilization must not exceed 80 %.", AREA),
}


@pytest.mark.parametrize("domain", ANSWERED)
def test_near_misses_of_a_limit_abstain(
    domain: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plain, report = ANSWERED[domain]
    assert status(tmp_path / "plain", capfd, plain, report) == ("PASS", 0), (
        "the report itself can be judged"
    )
    rows = table("near_misses_limits.yaml")[domain]
    assert len(rows) >= 10
    found = {
        row["description"]: status(tmp_path / row["id"], capfd, row["description"], report)[0]
        for row in rows
    }
    judged = {text: said for text, said in found.items() if said in ("PASS", "FAIL")}
    assert judged == {}
