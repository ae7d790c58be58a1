"""The shipped data: each feature's verdict, with every piece of evidence in its place."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.investigator.helpers import EXAMPLES, judged, misplaced, status
from transom.investigator.reading.recognition import ANALYSIS_TYPES
from transom.investigator.sources import DataFolder

EXPECTED = {
    "feature1": ("READY", "appropriate", set()),
    "feature2": (
        "NOT_READY",
        "premature",
        {
            "tests.unit",
            "tests.coverage",
            "pipeline.latest",
            "security.scan",
            "jira.blockers",
            "performance.targets",
            "uat.passed",
            "review.security",
        },
    ),
    "feature3": ("NEEDS_JUDGEMENT", "appropriate", set()),
    "feature4": (
        "NOT_READY",
        "appropriate",
        {"docs.deployment", "uat.passed", "review.security", "review.stakeholders"},
    ),
    "feature5": ("NOT_READY", "premature", {"tests.unit", "security.scan"}),
    "feature6": ("READY", "appropriate", set()),
}


@pytest.mark.parametrize("folder", EXPECTED)
def test_each_feature_has_its_verdict_and_its_evidence(folder: str) -> None:
    decision, ledger = judged(EXAMPLES, folder)
    verdict, fit, failing = EXPECTED[folder]
    assert (decision.verdict, decision.stage_fit) == (verdict, fit)
    assert {one.id for one in decision.criteria if one.required and one.status == "fail"} == failing
    assert misplaced(ledger, DataFolder(EXAMPLES).read) == []
    for one in decision.criteria:
        assert one.evidence or "absent" in (one.doubt, status(decision, one.id)), one.id
        assert all(evidence in ledger for evidence in one.evidence)
    assert bool(decision.injections) == (folder == "feature5")


@pytest.mark.slow
@pytest.mark.fence
def test_an_estimate_is_no_measurement_and_a_placeholder_is_missing_data() -> None:
    mixed, _ = judged(EXAMPLES, "feature3")
    assert status(mixed, "performance.targets") == "not_measured"
    partial, _ = judged(EXAMPLES, "feature2")
    assert status(partial, "review.stakeholders") == "absent"
    assert mixed.confidence < judged(EXAMPLES, "feature1")[0].confidence


def test_every_attempt_to_steer_is_reported_with_its_place() -> None:
    decision, ledger = judged(EXAMPLES, "feature5")
    places = {
        (one.source.rpartition("/")[2], one.locator.partition(":")[0])
        for one in decision.injections
    }
    assert {name for name, _ in places} == {
        "feature_issue.json",
        "security_scan_results.json",
        "unit_test_results.json",
        "security.json",
        "DESIGN_DOC.md",
        "MEETING_NOTES.md",
        "TEST_STRATEGY.md",
    }
    assert any("risk accepted by the board" in one.text for one in decision.unsupported)
    assert all("ignore" not in row.quote for row in ledger)


def test_the_data_has_the_tree_and_the_size_that_it_should_have() -> None:
    data = DataFolder(EXAMPLES)
    assert [feature.folder for feature in data.features] == list(EXPECTED)
    for feature in data.features:
        assert all(data.analysis_files(feature, name) for name in ANALYSIS_TYPES)
        assert len(data.docs(feature)) == 10
    size = sum(path.stat().st_size for path in EXAMPLES.rglob("*") if path.is_file())
    assert 700_000 < size < 1_300_000


def test_no_field_gives_the_answer_away() -> None:
    """Features 5 tries to; nothing else speaks of readiness or of the quality of its own data."""
    for path in EXAMPLES.rglob("*.json"):
        if "feature5" not in path.parts:
            text = path.read_text(encoding="utf-8")
            telling = r"data_quality|readiness|go.no.go|\bverdict\b|\bNOT_READY\b|\bambiguous\b"
            assert not re.search(telling, text, re.IGNORECASE), path


def test_the_script_writes_the_same_documents_again(tmp_path: Path) -> None:
    for name in ("make.py", "features.yaml", "texts.yaml"):
        (tmp_path / name).write_bytes((EXAMPLES / name).read_bytes())
    subprocess.run([sys.executable, tmp_path / "make.py"], check=True)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.md")}
    assert made == {
        path.relative_to(EXAMPLES): path.read_bytes() for path in EXAMPLES.glob("*/planning/*.md")
    }
