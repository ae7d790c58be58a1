"""Gates on atoms B and C of a checker's own: likeness with the shipped ones, no value of the
item.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.building.atoms_for_tests import ATOM_A, CHECKER
from transom.checklist.atoms import CheckerConfig
from transom.checklist.building.artifacts import split
from transom.checklist.building.checker import atoms_source
from transom.checklist.building.logic_gates import check_hard_coding, check_likeness, item_values
from transom.checklist.building.prober import Prober
from transom.checklist.building.reading import LogicReply, read_logic
from transom.checklist.item import Item, parse_item
from transom.checklist.vectors import STANDARD_SOURCE
from transom.evidence.findings import Finding
from transom.sandbox import Sandbox

# Ours by another name: whatever is changed in it is a checker's own.
OWN = STANDARD_SOURCE.replace('"""The audited atoms', '"""Own atoms')
ITEM = """description: Report the power of each block.
requirements:
  value: 2
  pattern_items: ["alu 1.2*", "rom"]
waivers:
  value: 1
  waive_items: ["*_retention*"]
input_files: ["${LOG_ROOT}/power_signoff.rpt"]
"""


def item() -> Item:
    return parse_item(ITEM, Path("POWER-7.yaml"))


def config(text: str = CHECKER) -> CheckerConfig:
    return read_logic(f"<checker>\n```yaml\n{text}```\n</checker>").config(
        "POWER-7", "Report the power of each block."
    )


def whole(before: str = "", after: str = "") -> str:
    assert before in OWN
    return atoms_source(
        ATOM_A, LogicReply(checker={}, atoms=OWN.replace(before, after) if before else OWN)
    )


async def likeness(code: str) -> list[Finding]:
    async with Prober(code, Sandbox()) as prober:
        return await check_likeness(prober, split(code))


async def test_what_answers_as_the_shipped_ones_is_alike() -> None:
    assert await likeness(whole()) == []


async def test_a_text_of_the_item_is_compared_like_any_other() -> None:
    """However it is written down: here no literal holds it."""
    spelled = '    subject = "" if subject == "".join(["al", "u 1.25"]) else subject\n'
    hidden = whole('    if "|" in wanted:\n', f'{spelled}    if "|" in wanted:\n')
    assert await likeness(hidden) == []
    async with Prober(hidden, Sandbox()) as prober:
        (finding,) = await check_likeness(prober, split(hidden), ("alu 1.25", "cpu"))
    assert (finding.artifact, "this item's own" in finding.message, "alu" in finding.message) == (
        "atom_b",
        True,
        False,
    )


async def test_another_kind_is_an_extension_and_not_compared() -> None:
    extended = whole(
        '    if "|" in wanted:\n',
        '    if wanted.startswith("regex:^"):\n        return _transom_answer(True, "anchored", "by'
        ' its own rules")\n    if "|" in wanted:\n',
    )
    assert await likeness(extended) == []


@pytest.mark.parametrize(
    ("before", "after", "artifact"),
    [
        ('if "*" in wanted or "?" in wanted:', "if False:", "atom_b"),
        ('hit, "wildcard", f"the text', 'not hit, "wildcard", f"the text', "atom_b"),
        ('wanted[index] in ("?", subject[at])', 'wanted[index] in ("?", "a")', "atom_b"),
        ("subject == wanted", "subject.strip() == wanted.strip()", "atom_b"),
        ("if segment.strip() and ", "if ", "atom_b"),
        ("count > 0", "count > 1", "atom_c"),
        ('"evidence": items,', '"evidence": items[:1],', "atom_c"),
    ],
)  # fmt: skip
async def test_what_answers_otherwise_is_named(before: str, after: str, artifact: str) -> None:
    findings = await likeness(whole(before, after))
    assert {finding.artifact for finding in findings} == {artifact}
    assert all("the shipped one" in finding.message and finding.line for finding in findings)


@pytest.mark.parametrize(
    ("literal", "what"),
    [
        ("alu 1.2*", "a pattern"),
        ("*_retention*", "a waiver"),
        ("the rom is special", None),
        ("rom", "a pattern"),
        ("see POWER-7 for it", "the id"),
        ("power_signoff.rpt", "a file name"),
        ("Block power is reported", "an item's name"),
        ("2.1", "an item's id"),
        ("alternatives", None),
        ("Invalid Regex: ", None),
        ("nothing of the sort", None),
    ],
)
def test_a_value_of_the_item_in_atom_b(literal: str, what: str | None) -> None:
    code = whole("    subject = ", f"    special = {literal!r}\n    subject = ")
    findings = check_hard_coding(split(code), item_values(config(), item(), ()))
    if what is None:
        assert findings == []
    else:
        (finding,) = findings
        assert finding.artifact == "atom_b"
        assert what in finding.message
        assert code.split("\n")[(finding.line or 0) - 1].strip().startswith("special =")


def test_the_shipped_atoms_hold_no_value_whatever_the_item() -> None:
    code = atoms_source(ATOM_A, LogicReply(checker={}))
    assert check_hard_coding(split(code), {"regex": "a keyword", "fits": "a keyword"}) == []
