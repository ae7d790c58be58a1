"""Long files in a build: the gates try a checker on an excerpt that keeps the end and what atom
A sees.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.checklist.building.atoms_for_tests import ATOM_A, CHECKER, spec_text
from tests.checklist.building.made import made
from transom.checklist.atoms import LOCKED_LAYER
from transom.checklist.building.checker import atoms_source, checker_yaml
from transom.checklist.building.excerpt import LONGEST, excerpt
from transom.checklist.building.gates import GateReport, Trial, run_gates
from transom.checklist.building.reading import read_logic
from transom.checklist.item import parse_item
from transom.checklist.writing.document import parse_spec
from transom.sandbox import Sandbox

STEP = "   No latch inferred for signal `\\core.\\n{}' from process `\\core.$proc$core.v:7$1'.\n"
LATCH = (
    "Latch inferred for signal `\\core.\\hold' from process `\\core.$proc$core.v:9$2':"
    " $auto$proc_dlatch.cc:427$3\n"
)


@pytest.mark.parametrize("size", [LONGEST - 99, LONGEST + 99, 4 * LONGEST])
def test_an_excerpt_has_the_beginning_the_end_and_the_places_that_are_asked_for(
    tmp_path: Path, size: int
) -> None:
    lines = [f"line {number} {'.' * 80}\n" for number in range(1, size // 92)]
    file = tmp_path / "run.log.gz"
    file.write_bytes(gzip.compress("".join(lines).encode(), 1))
    asked = [len(lines) // 3, len(lines) // 2, len(lines) - 2]
    text, cut = excerpt(file, asked)
    kept = text.splitlines(keepends=True)
    assert cut is excerpt(file)[1] is (len("".join(lines)) > LONGEST)
    assert len(text) <= LONGEST and (cut or text == "".join(lines))
    assert (kept[0], kept[-1]) == (lines[0], lines[-1])
    assert all(kept[kept.index(lines[line - 1]) + 1] == lines[line] for line in asked)
    have = set(kept)
    # whole lines, in their order, each once
    assert kept == [line for line in lines if line in have]


@pytest.mark.slow
async def test_a_log_that_must_end_well_is_tried_with_its_end(tmp_path: Path) -> None:
    """A synthesis log of more than a mebibyte: what it reports stands in the middle, its last
    words at the end.
    """
    noise = "".join(STEP.format(number) for number in range(20_000))
    head = (
        " Yosys 0.23 (git sha1 7ce5011c24b)\n\n2.1. Executing PROC_DLATCH pass (convert process"
        " syncs to latches).\n"
    )
    end = (
        "\nEnd of script. Logfile hash: 5a1, CPU: user 0.1s system 0.0s, MEM: 20 MB peak\nYosys"
        " 0.23 (git 7ce)\n"
    )
    (tmp_path / "synth.log").write_text(head + noise + LATCH + noise + end)
    item = tmp_path / "SYN-1.yaml"
    item.write_text(
        "description: No latches inferred during synthesis.\ninput_files: [synth.log]\n"
    )
    checker = made(item, tmp_path)
    report = await run_gates(checker.code, checker.yaml, checker.spec, checker.trial)
    assert report.passed, report.findings
    assert report.mutation is not None and report.mutation.killed == report.mutation.applicable > 2


TOTAL = """    if len(results) != int(text.rsplit("blocks: ", 1)[-1] or 0):
        raise ValueError("the report counts others")
"""


async def _held(file: Path, code: str) -> GateReport:
    logic = read_logic(f"<checker>\n```yaml\n{CHECKER}```\n</checker>")
    config = logic.config("POWER", "Report the power.")
    item = parse_item(
        f"description: Report the power.\ninput_files: [{file.name}]\n", file.with_name("item.yaml")
    )
    trial = Trial(Sandbox(), (file,), (), (file.parent,), item)
    return await run_gates(
        atoms_source(code, logic), checker_yaml(config), parse_spec(spec_text()), trial
    )


@pytest.mark.slow
async def test_what_only_the_whole_shows_is_not_refused_and_is_said(tmp_path: Path) -> None:
    rows = "".join(f"block b{number} power 0.{number}\n" for number in range(60_000))
    (tmp_path / "power.rpt").write_text(f"power report\n{rows}blocks: 60000")
    code = ATOM_A.replace(LOCKED_LAYER, TOTAL + LOCKED_LAYER)
    report = await _held(tmp_path / "power.rpt", code)
    assert report.passed, report.findings
    said = [one.message for row in report.rows for one in row.findings]
    assert any("power.rpt cannot be tried" in one and "counts others" in one for one in said), said
    (tmp_path / "power.rpt").write_text(f"power report\n{rows}blocks: 59999")
    wrong = await _held(tmp_path / "power.rpt", code)
    assert [one.gate for one in wrong.findings] == ["schema"], "the whole is read too"
