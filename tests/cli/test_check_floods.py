"""`check all` on a report with a line of any length: a verdict or one clear line, in about the time
of the clean report.
"""

from __future__ import annotations

import gzip
import resource
from pathlib import Path

import pytest

from tests.checklist.rules.floods import FLOODS
from tests.cli.checks import Answer, Desk

pytestmark = [pytest.mark.slow, pytest.mark.fence]

REPORT = """\
max_delay/setup group core

                                     Required  Actual
Endpoint                               Delay   Delay   Slack
------------------------------------------------------------
sum_reg[0]/D (DFF)                      1.15    0.50    0.65 (MET)
sum_reg[1]/D (DFF)                      1.15    0.51    0.64 (MET)
sum_reg[2]/D (DFF)                      1.15    0.52    0.63 (MET)

"""
ITEM = "description: Confirm that every endpoint in the setup report meets timing.\n"
MOST_TIMES_THE_CLEAN_REPORT = 3


def check(desk: Desk, name: str, data: bytes) -> tuple[Answer, float]:
    """Return the answer and the CPU seconds of this process and of the sandbox."""
    Path(name).write_bytes(data)
    item = Path(f"{name.partition('.')[0]}.yaml")
    item.write_text(f"{ITEM}input_files: [{name}]\n", "utf-8")
    begin = _cpu_seconds()
    answer = desk("check", "all", str(item), "-q")
    return answer, _cpu_seconds() - begin


def _cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_behind_a_report_changes_neither_the_verdict_nor_much_of_the_time(
    desk: Desk, flood: str
) -> None:
    clean, usual = check(desk, "clean.rpt", REPORT.encode())
    assert clean.out.startswith("PASS")
    for length in (50_000, 200_000):
        data = f"{REPORT}{FLOODS[flood](length)}\n".encode()
        answer, seconds = check(desk, f"flood{length}.rpt", data)
        assert answer.out.partition(" ")[0] == "PASS"
        assert seconds < MOST_TIMES_THE_CLEAN_REPORT * usual


def test_a_megabyte_of_zero_bytes_costs_little(desk: Desk) -> None:
    _, usual = check(desk, "clean.rpt", REPORT.encode())
    answer, seconds = check(desk, "zero.rpt", REPORT.encode() + bytes(1_000_000) + b"\n")
    assert answer.out.startswith("PASS")
    assert seconds < MOST_TIMES_THE_CLEAN_REPORT * usual


def test_a_line_of_300_megabytes_is_one_clear_line(desk: Desk) -> None:
    _, usual = check(desk, "clean.rpt", REPORT.encode())
    packed = gzip.compress(REPORT.encode() + b"a" * (300 << 20), 1)
    answer, seconds = check(desk, "long.rpt.gz", packed)
    assert answer.line().endswith("holds a line of more than 16 MiB; split it")
    assert seconds < MOST_TIMES_THE_CLEAN_REPORT * usual
