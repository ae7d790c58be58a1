"""The shared items by claims alone: all are right, after one answer of a person (one after two)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.checklist.judging.support import AS_OF, LocalRunner, write_files
from transom.checklist.building.checker import checker_yaml
from transom.checklist.claiming import has_patterns
from transom.checklist.claims.claim_files import write_claim
from transom.checklist.claims.claim_spec import write_claim_text
from transom.checklist.claims.ranking import candidates, read_at_once
from transom.checklist.item import parse_item
from transom.checklist.judging import Inputs, Roots, Verdict, check_files, load_checker

LISTS = {"found": "found_items", "missing": "missing_items", "extra": "extra_items"}
# Chosen once, and the unknown command in its log is accepted; the section rules read its sentence.
MOST_ANSWERS = {2: 2}


def judge_item(folder: Path, source: Path, data: Path) -> tuple[Verdict, int]:
    """Return the verdict of an item by its claim, and how many answers that took."""
    text = (source / "item.yaml").read_text(encoding="utf-8")
    item = parse_item(text, folder / f"{source.name}.yaml")
    row, answers = read_at_once(item.description, has_patterns=has_patterns(item)), 0
    if row is None:
        row = candidates(item.description, has_patterns=has_patterns(item))[0].row
        answers = 1
    files = write_claim(item, row)
    checker = {"checker/checker.yaml": checker_yaml(files.config), "checker/atoms.py": files.atoms}
    spec = write_claim_text(item, row, files.config)
    write_files(folder, {**checker, "checker/ItemSpec.md": spec})
    inputs = Inputs.of(item, Roots(base=folder, values={"CHECKLIST_ROOT": data}))
    loaded = load_checker(folder / "checker")
    verdict = asyncio.run(check_files(loaded, item, inputs, LocalRunner(), AS_OF))
    return verdict, answers + len(verdict.capped_by)


@pytest.mark.parametrize("number", range(1, 19))
def test_an_item_is_right_after_one_answer(number: int, shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "eda-items" / f"EDA-S-{number:02}"
    truth = json.loads((source / "expected.json").read_text(encoding="utf-8"))
    verdict, answers = judge_item(tmp_path, source, shared_data / "eda")
    assert (verdict.would_be or verdict.status) == truth["status"]
    assert answers <= MOST_ANSWERS.get(number, 1)
    assert verdict.checker_type == truth["checker_type"]
    for name, count in truth["counts"].items():
        if name in LISTS and count is not None:
            assert len(getattr(verdict, LISTS[name])) == count, name
    assert len(verdict.waived) == truth["counts"].get("waived", 0)
