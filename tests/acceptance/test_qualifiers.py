"""A word that narrows what is asked changes what is checked, or is handed to a model: it is
never passed over.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.acceptance.common import check, check_and_accept
from transom.checklist.claims.ranking import read_at_once

pytestmark = [pytest.mark.slow, pytest.mark.fence]

TABLE: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parent / "qualifiers.yaml").read_text("utf-8")
)
ABSTAINED = ("NEEDS_MODEL", "NEEDS_REVIEW", "ERROR")


@pytest.mark.parametrize(
    "case", TABLE["cases"], ids=lambda case: f"{case.get('as', '')} {case['description']}"
)
def test_no_qualifier_is_passed_over(
    case: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if not case.get("judged") and read_at_once(case["description"], has_patterns=False) is None:
        return
    name = case.get("as", case["file"])
    (tmp_path / name).write_text(TABLE["files"][case["file"]], "utf-8")
    item = tmp_path / "item.yaml"
    with item.open("w", encoding="utf-8") as out:
        inputs = [f"${{CHECKLIST_ROOT}}/{name}"]
        yaml.safe_dump(
            {"item_id": "Q-1", "description": case["description"], "input_files": inputs}, out
        )
    if case.get("judged"):
        # What is no written sentence is asked about; the first claim that is offered must fit.
        _, document = check_and_accept(capfd, tmp_path / "w", item, tmp_path)
    else:
        _, document = check(capfd, tmp_path / "w", "all", str(item), data=tmp_path)
    status = document["status"]
    if case.get("judged"):
        assert status == case["truth"], document
    elif status != case["truth"]:
        assert status in ABSTAINED, document
