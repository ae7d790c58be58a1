"""Long files in a build: the gates try a checker on an excerpt that keeps the end and what atom
A sees.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.checklist.building.atoms_for_tests import ATOM_A, CHECKER, spec_text
from transom.checklist.atoms import LOCKED_LAYER
from transom.checklist.building.checker import atoms_source, checker_yaml
from transom.checklist.building.excerpt import LONGEST, excerpt
from transom.checklist.building.gates import GateReport, Trial, run_gates
from transom.checklist.building.reading import read_logic
from transom.checklist.item import parse_item
from transom.checklist.writing.document import parse_spec
from transom.sandbox import Sandbox


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


ENDED = """    if "block" in text and not text.rstrip().endswith(("end of report", "0.30")):
        raise ValueError("the report is cut")
"""
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
async def test_a_log_that_must_end_well_is_tried_with_its_end(tmp_path: Path) -> None:
    """A log of more than a mebibyte: its blocks stand in the middle, its last words at the end."""
    noise = "".join(f"step {number} of the power run\n" for number in range(40_000))
    rows = "block alu power 1.25\nblock rom power 0.40\n"
    (tmp_path / "power.rpt").write_text(f"power report\n{noise}{rows}{noise}end of report\n")
    code = ATOM_A.replace(LOCKED_LAYER, ENDED + LOCKED_LAYER)
    report = await _held(tmp_path / "power.rpt", code)
    messages = [finding.message for row in report.rows for finding in row.findings]
    assert not any("cannot be tried" in message for message in messages), messages


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
