"""Forms of reports that public samples of tools have, in small instances of their own."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from transom.formats.measurements import Reading
from transom.investigator.reading.analysis import read_analysis_file
from transom.investigator.reading.recognition import Recognition, recognise

SCAN = "metrics/security_scan_results"


def _recognised(data: Any, name: str = "out.json") -> Recognition:
    return recognise(PurePosixPath(name), lambda: json.dumps(data).encode())


def _read(data: Any, folder: Path, name: str = SCAN) -> Reading:
    path = folder / "out.json"
    path.write_text(json.dumps(data), "utf-8")
    return read_analysis_file(path, "out.json", name)


def _numbers(reading: Reading) -> dict[str, float | None]:
    return {fact.measure: fact.number for fact in reading.observations if fact.number is not None}


def test_a_container_scan_counts_what_is_below_each_application(tmp_path: Path) -> None:
    finding = {"id": "X-1", "severity": "high", "packageName": "tar", "title": "overflow"}
    inner = {"vulnerabilities": [finding], "ok": False, "dependencyCount": 3}
    report = {"vulnerabilities": [], "ok": True, "dependencyCount": 7, "applications": [inner]}
    assert _numbers(_read(report, tmp_path))["vulnerabilities.high"] == 1


def test_a_grave_entry_in_a_part_that_a_reader_does_not_know_holds_back(tmp_path: Path) -> None:
    report = {
        "results": [],
        "metrics": {},
        "generated_at": "2026-09-01",
        "extension": {"findings": [{"severity": "CRITICAL", "title": "key in an image"}]},
    }
    reading = _read(report, tmp_path)
    assert [fact.locator for fact in reading.observations if fact.measure == "source.outcome"] == [
        "/extension/findings/0"
    ]


def test_vulnerabilities_without_groups_are_unrated(tmp_path: Path) -> None:
    package = {"package": {"name": "lib"}, "vulnerabilities": [{"id": "OSV-1"}, {"id": "OSV-2"}]}
    report = {"results": [{"source": {"path": "go.mod"}, "packages": [package]}]}
    assert _numbers(_read(report, tmp_path))["vulnerabilities.unrated"] == 2


@pytest.mark.parametrize("status", ["fixed in 4.1.3, 4.0.9", "fixed in 2.17"])
def test_the_version_of_a_fix_closes_no_vulnerability(status: str, tmp_path: Path) -> None:
    entry = {"id": "C-1", "status": status, "severity": "critical", "packageName": "xerces"}
    report = {"image": "shop", "vulnerabilities": [entry]}
    assert _numbers(_read(report, tmp_path))["vulnerabilities.critical"] == 1


def test_a_tool_that_says_it_did_not_pass_holds_back(tmp_path: Path) -> None:
    report = {"vulnerabilities": [], "imageScanPassed": False}
    remarks = [remark.quote for remark in _read(report, tmp_path).remarks]
    assert any("imageScanPassed" in quote for quote in remarks)


def test_an_unknown_word_for_the_severity_is_counted_as_unrated(tmp_path: Path) -> None:
    risks = [{"title": "a", "severity": "low"}, {"title": "b", "severity": "elevated"}]
    assert _numbers(_read(risks, tmp_path))["vulnerabilities.unrated"] == 1


def test_a_list_of_one_finding_is_a_list_of_findings() -> None:
    finding = {"rule_id": "k8s", "file": "a.yaml", "line": 2, "severity": "CRITICAL"}
    assert _recognised([finding]).name == SCAN


@pytest.mark.parametrize(
    "data",
    [
        {"calls": {"main": {"position": {"file": "main.go", "line": 9, "column": 6}}}},
        {"results": [{"rule": "GEN-4", "description": "a secret", "passed": False}]},
        {"issues": [{"key": "AX-1", "rule": "S100", "status": "TO_REVIEW"}], "rules": {}},
        {"scan": {"type": "fuzzing", "status": "success", "start_time": "2026-09-01"}},
    ],
    ids=["a place is no coverage", "a rule is no review", "issues of a scanner", "a scan"],
)
def test_loose_words_make_no_other_report(data: dict[str, Any]) -> None:
    recognition = _recognised(data)
    assert recognition.kind is None
    assert recognition.could_matter


@pytest.mark.parametrize(
    "entry",
    [
        {"RuleID": "aws", "StartLine": 2, "Secret": "x", "Description": "a key", "Author": "Ann"},
        {"rule": "AWS key", "offender": "x", "commit": "4f1", "author": "Ann", "file": "a.tf"},
    ],
    ids=["version 8", "version 7"],
)
def test_each_version_of_a_secret_scan_is_read(entry: dict[str, Any], tmp_path: Path) -> None:
    assert _recognised([entry]).reason == "gitleaks"
    assert _numbers(_read([entry], tmp_path))["vulnerabilities.high"] == 1
