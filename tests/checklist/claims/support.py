"""Judging a report by a claim, as `check all` does it for a chosen claim."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from tests.checklist.judging.support import AS_OF, LocalRunner, write_files
from transom.checklist.atoms import ClaimRow
from transom.checklist.building.checker import checker_yaml
from transom.checklist.claims.claim_files import write_claim
from transom.checklist.claims.claim_spec import write_claim_text
from transom.checklist.item import parse_item
from transom.checklist.judging import Inputs, Roots, Verdict, check_files, load_checker
from transom.formats.yaml_files import dump_yaml


def judge(
    folder: Path, claim: ClaimRow, report: str | bytes, more: Mapping[str, object] | None = None
) -> Verdict:
    """Return the verdict of a claim over a report; `more` are further keys of the item."""
    data: dict[str, object] = {"description": "Confirm it.", "input_files": ["a.rpt"]}
    data.update(more or {})
    item = parse_item(dump_yaml(data), folder / "CLAIM-1.yaml")
    files = write_claim(item, claim)
    texts: dict[str, str | bytes] = {
        "checker/checker.yaml": checker_yaml(files.config),
        "checker/atoms.py": files.atoms,
        "checker/ItemSpec.md": write_claim_text(item, claim, files.config),
        "a.rpt": report,
    }
    write_files(folder, texts)
    inputs = Inputs.of(item, Roots(base=folder))
    loaded = load_checker(folder / "checker")
    return asyncio.run(check_files(loaded, item, inputs, LocalRunner(), AS_OF))
