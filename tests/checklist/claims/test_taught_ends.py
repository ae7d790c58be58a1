"""Logs that were taught with their end: no log without it passes, wherever it breaks off."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.claims.support import judge
from transom.checklist.atoms import ClaimRow
from transom.checklist.marking import MarkedLogs
from transom.checklist.taught_format import claim_name, format_text

# The log, the marks, and the number of its last lines that may be cut off without a loss: blanks.
LOGS = {
    "the last line says so": (
        "ring 1 closed: yes\nring 2 closed: yes\nall rings done\n",
        [("good", "a.rpt:1")],
    ),
    "a line that was marked": (
        "ring 1 closed: yes\nring 2 closed: yes\n-- 2 rings --\n",
        [("good", "a.rpt:1"), ("end", "a.rpt:3")],
    ),
    "lines behind the end": (
        "ring 1 closed: yes\n-- 2 rings --\ncpu 4.2 s\nmemory 12 MB\n",
        [("good", "a.rpt:1"), ("end", "a.rpt:2")],
    ),
    "a row is the end": (
        "step 1\nstep 2\nrings closed: 12\n",
        [("limit", "a.rpt:3 >= 12"), ("end", "a.rpt:3")],
    ),
    "bad lines alone": (
        "segment 1 closed\nsegment 2 closed\n-- 2 segments --\n",
        [("bad", "ring 9 is broken"), ("end", "a.rpt:3")],
    ),
    "a limit and an end": (
        "coverage 98.5 %\nstep 2\n-- end of coverage --\n",
        [("limit", "a.rpt:1 >= 98"), ("end", "a.rpt:3")],
    ),
}


@pytest.mark.parametrize("log", LOGS)
def test_a_log_that_breaks_off_before_its_end_does_not_pass(tmp_path: Path, log: str) -> None:
    text, marks = LOGS[log]
    (tmp_path / "a.rpt").write_text(text, "utf-8")
    taught = MarkedLogs([tmp_path / "a.rpt"], tmp_path).learn(marks)
    assert not taught.open_ended
    (tmp_path / "line.yaml").write_text(format_text("taught.a", "a log", taught.lesson), "utf-8")
    row = ClaimRow(name=claim_name(taught.lesson), format="line.yaml")
    assert judge(tmp_path, row, text).status == "PASS"
    lines = text.splitlines(keepends=True)
    end = next(
        int(place.split(":")[1][0])
        for mark, place in [*marks[::-1], ("", "a:3")]
        if mark in ("end", "")
    )
    for count in range(end):
        cut = "".join(lines[:count])
        assert judge(tmp_path, row, cut).status != "PASS", cut
        # Half of the line that ends it is no end.
        half = cut + lines[count][: len(lines[count]) // 2]
        assert judge(tmp_path, row, half).status != "PASS", half
    assert judge(tmp_path, row, f"{text}FATAL: the tool broke\n").status != "PASS"
