"""`transom check all` on a report with a line of any length: a verdict or one clear line, in about
the time of the clean report, and in bounded memory.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.checklist.floods import FLOODS
from tests.cli.helpers import COMMAND, clean_environment

pytestmark = [pytest.mark.fence, pytest.mark.slow]

REPORT = """\
max_delay/setup group core

                                     Required  Actual
Endpoint                               Delay   Delay   Slack
------------------------------------------------------------
sum_reg[0]/D (DFF)                      1.15    0.50    0.65 (MET)
sum_reg[1]/D (DFF)                      1.15    0.51    0.64 (MET)
sum_reg[2]/D (DFF)                      1.15    0.52    0.63 (MET)

"""
ITEM = "description: Confirm that setup timing is met.\n"
MOST_TIMES_THE_CLEAN_REPORT = 3
MORE_SECONDS = 1.0
"""A constant that does not depend on the report."""
MORE_MEMORY = 128 << 20
"""A line may have 16 MiB, and stands in memory some times, as bytes and as text."""


@dataclass(frozen=True)
class Cost:
    """How a command ended, and what it took of the machine with all its child processes."""

    output: str
    errors: str
    seconds: float
    memory: int


def check(folder: Path, name: str, parts: Iterator[bytes]) -> Cost:
    """Write a report and check it in a process of its own."""
    with (folder / name).open("wb") as file:
        file.writelines(parts)
    item = folder / f"{name.partition('.')[0]}.yaml"
    item.write_text(f"{ITEM}input_files: [{name}]\n", "utf-8")
    output, errors = folder / "output.txt", folder / "errors.txt"
    with output.open("w") as out, errors.open("w") as err:
        process = subprocess.Popen(
            [*COMMAND, "check", "all", item.name, "-q", "--workspace", f"of-{name}"],
            cwd=folder,
            env=clean_environment(),
            stdout=out,
            stderr=err,
        )
        # The usage of a process includes that of the children that it waited for.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(
        output.read_text("utf-8"),
        errors.read_text("utf-8"),
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss * 1024,
    )


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Cost:
    """The cost of the report without a flood."""
    folder = tmp_path_factory.mktemp("clean")
    check(folder, "warm.rpt", iter([REPORT.encode()]))
    cost = check(folder, "clean.rpt", iter([REPORT.encode()]))
    assert cost.output.startswith("PASS")
    return cost


def assert_is_cheap(cost: Cost, clean: Cost) -> None:
    assert cost.seconds < MOST_TIMES_THE_CLEAN_REPORT * clean.seconds + MORE_SECONDS
    assert cost.memory < clean.memory + MORE_MEMORY


@pytest.mark.parametrize(
    "line",
    [b" " * 100_000, b"\0" * 1_000_000, b"\xb0" + b" \t" * 500_000 + b"\xe9"],
    ids=["blanks", "zero bytes", "blanks between letters of Latin-1"],
)
def test_a_long_line_behind_a_report_changes_neither_the_verdict_nor_much_of_the_cost(
    tmp_path: Path, clean: Cost, line: bytes
) -> None:
    cost = check(tmp_path, "long.rpt", iter([REPORT.encode(), line, b"\n"]))
    assert cost.output.startswith("PASS"), cost.errors
    assert_is_cheap(cost, clean)


LENGTHS = [
    *((flood, 1_000_000) for flood in FLOODS),
    # Short enough to be read whole; one of blanks, one of words, one of numbers.
    *((flood, 50_000) for flood in ("tabs and a sign", "words", "numbers")),
]


@pytest.mark.parametrize(("flood", "length"), LENGTHS)
def test_no_flood_costs_more_than_its_length(
    tmp_path: Path, clean: Cost, flood: str, length: int
) -> None:
    parts = iter([REPORT.encode(), FLOODS[flood](length).encode(), b"\n"])
    cost = check(tmp_path, "flood.rpt", parts)
    # A line that nothing explains holds a PASS back, and one of dots alone is asked about; the
    # subject here is what they cost.
    assert cost.output.startswith(("PASS", "NEEDS_REVIEW", "NEEDS_MODEL")), cost.errors
    assert_is_cheap(cost, clean)


def test_a_line_of_300_megabytes_is_one_clear_line(tmp_path: Path, clean: Cost) -> None:
    parts = [REPORT.encode(), *[b"a" * (1 << 20)] * 300]
    cost = check(tmp_path, "long.rpt", iter(parts))
    assert cost.output.startswith("ERROR ")
    assert cost.errors.count("\n") == 1
    assert "long.rpt: holds a line of more than 16 MiB; split it" in cost.errors
    assert_is_cheap(cost, clean)
