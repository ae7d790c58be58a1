"""`transom demo learning`, and a person's word on a verdict: from a failed gate to the next
window and back.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.checks import EXAMPLES, Desk


@pytest.mark.slow
def test_what_one_build_got_wrong_the_next_one_is_shown(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    transom = Desk(here, capfd)
    for name in ("checks", "learning"):
        shutil.copytree(EXAMPLES.parent / name, here / "examples" / name)
    shown = transom("demo", "learning", "-q")
    assert shown.code == 0, shown
    (line,) = re.findall(r"what the parser was shown: +transom (.*)", shown.out)
    assert re.search(
        r"^  playbook +session +untrusted .* \d+ tokens$", transom(*line.split()).out, re.M
    )
    document: Any = json.loads(transom("demo", "learning", "-q", "--format", "json").out)[
        "learning"
    ]
    low, higher, high = document["standing"]
    assert low < higher < high
    assert document["history"] == ["added", "feedback", "feedback"]

    at = ("--workspace", str(here / ".transom" / "demo" / "learning"))
    rows = transom("runs", "list", "--format", "json", *at).document["runs"]
    first, run = (
        next(row["run_id"] for row in rows if row["name"] == f"POWER-0{n}") for n in (1, 2)
    )
    diff = transom("window", "show", run, "--call", "2", "--diff", "1", *at)
    assert "locked layer of the parser was changed" not in diff.out, "both calls of the run see it"
    assert (
        "locked layer of the parser was changed"
        in transom("window", "show", run, "--call", "1", *at).out
    )
    between = transom("window", "show", run, "--call", "1", "--diff", first, *at).out
    assert (
        f"+[{document['insight']}] helpful=0 harmful=0 :: The locked layer of the parser was"
        " changed" in between
    )
    assert (
        "no-such-run"
        in transom("window", "show", run, "--call", "2", "--diff", "no-such-run", *at).line()
    )
    again = transom("check", "confirm", run, "POWER-02", "--by", "Ann Lee", *at)
    assert "named no insight that this counts for" in again.out, "the same word counts once"
    why = ("--reason", "the report is of another corner")
    word: Any = transom(
        "check", "overturn", run, "POWER-02", "--by", "Bo", *why, "--format", "json", *at
    ).document
    assert word["counted"] == [document["insight"]]
    told = transom("playbook", "show", word["learned"], *at).out
    assert 'PASS was wrong for "Confirm that the radio reports' in told
    assert "another corner" in told
    assert "Bo" in told
    wrong = transom("check", "confirm", run, "POWER-01", "--by", "Ann", *at).line()
    assert "the verdict is on POWER-02, not on POWER-01" in wrong
