"""What must not appear, in all four run types: from a description to the verdict, on logs of our
own.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.acceptance.common import check, choose_first

pytestmark = [pytest.mark.slow, pytest.mark.fence]

LOG = """\
Yosys 0.38 (git sha1 543faed9c8c)
1. Executing Verilog-2005 frontend: fifo.v
Warning: Replacing memory \\mem with list of registers.
echo on
7.3. Executing PROC_DLATCH pass (convert process syncs to latches).
No latch inferred for signal `\\fifo.\\full' from process `\\fifo.$proc$fifo.v:9$1'.
{line}
Warnings: 1 unique messages, 1 total
End of script. Logfile hash: 3f1c5a7e20, CPU: user 0.03s system 0.00s, MEM: 12.54 MB peak
"""
ERROR = "ERROR: Module `\\fifo_mem' referenced in module `\\fifo' is not part of the design."
LATCH = (
    "Latch inferred for signal `\\fifo.\\next' from process `\\fifo.$proc$fifo.v:9$2':"
    " $auto$proc_dlatch.cc:1$3"
)
NO_ERRORS = "The log must be free of errors."
NO_LATCH = "Confirm that no latch was inferred in synthesis. One violation per latch."


def run(
    folder: Path,
    capfd: pytest.CaptureFixture[str],
    told: tuple[str, str],
    patterns: list[str] | None = None,
    waivers: list[str] | None = None,
    *,
    chooses: bool = True,
) -> tuple[str, dict[str, int]]:
    """Status, and how many stand in each list."""
    description, line = told
    folder.mkdir()
    (folder / "synth.log").write_text(LOG.format(line=line))
    item = {
        "item_id": "FORBID-1",
        "description": description,
        "requirements": {
            "value": len(patterns) if patterns else "N/A",
            "pattern_items": patterns or [],
        },
        "input_files": [str(folder / "synth.log")],
        "waivers": {
            "value": "N/A" if waivers is None else len(waivers),
            "waive_items": waivers or [],
        },
    }
    with (folder / "item.yaml").open("w") as out:
        yaml.safe_dump(item, out, sort_keys=False, allow_unicode=True)
    verdict = check(capfd, folder / "w", "all", str(folder / "item.yaml"), data=folder)[1]
    if verdict.get("readings") and chooses and not patterns:
        verdict = choose_first(capfd, folder / "w", folder / "item.yaml", verdict, folder)[1]
    lists = {
        name: len(verdict.get(name, ()))
        for name in ("found_items", "missing_items", "extra_items", "waived")
    }
    return verdict["status"], {name: count for name, count in lists.items() if count}


# No latch is proved by two facts of the log, which also stand beside a violation: the pass that
# looks for latches, and what it says of a signal.
@pytest.mark.parametrize(
    ("told", "clean", "facts"),
    [
        ((NO_ERRORS, ERROR), {"found_items": 1}, {}),
        ((NO_LATCH, LATCH), {"found_items": 2}, {"found_items": 2}),
    ],
    ids=["errors", "latches"],
)
def test_types_one_and_four(
    told: tuple[str, str],
    clean: dict[str, int],
    facts: dict[str, int],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    failed, waived = {**facts, "missing_items": 1}, {**facts, "waived": 1}
    assert run(tmp_path / "1", capfd, (told[0], "")) == ("PASS", clean)
    assert run(tmp_path / "2", capfd, told) == ("FAIL", failed)
    assert run(tmp_path / "3", capfd, told, waivers=["*fifo*"]) == ("PASS", waived)
    assert run(tmp_path / "4", capfd, told, waivers=["*other*"]) == ("FAIL", failed)
    assert run(tmp_path / "5", capfd, told, waivers=[]) == ("PASS", waived)


@pytest.mark.parametrize("told", [(NO_ERRORS, ERROR), (NO_LATCH, LATCH)], ids=["errors", "latches"])
def test_a_list_of_what_must_not_appear_is_asked_about(
    told: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """No claim reads patterns as what must not appear, so a person or a model says it."""
    assert run(tmp_path / "1", capfd, told, ["*fifo*", "*never*"]) == ("NEEDS_MODEL", {})
    assert run(tmp_path / "2", capfd, told, ["*never*"]) == ("NEEDS_MODEL", {})
    assert run(tmp_path / "3", capfd, (told[0], ""), ["*fifo*"]) == ("NEEDS_MODEL", {})
    assert run(tmp_path / "4", capfd, told, ["*fifo*"], ["*fifo*"]) == ("NEEDS_MODEL", {})


@pytest.mark.parametrize(
    ("description", "line"),
    [
        (NO_ERRORS, "Synthesis had an error of some kind in fifo"),
        (NO_LATCH, "Info: Inferred latch for fifo"),
        ("No errors and no warnings in the log.", "A warning of some kind"),
        ("The OpenROAD log must be free of errors.", ""),
    ],
)
def test_what_is_not_understood_in_the_log_is_no_pass(
    description: str, line: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, _ = run(tmp_path / "x", capfd, (description, line), chooses=False)
    assert status in ("NEEDS_MODEL", "NEEDS_REVIEW", "ERROR")
