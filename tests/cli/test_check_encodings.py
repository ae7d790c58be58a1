"""The verdict on a report does not depend on the encoding in which a tool wrote it."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from tests.cli.checks import Desk

REPORT = """\
Temperatur: 125 °C, Ingénieur: Müller
Path Type: max
   0.05   slack (MET)
"""
ITEM = "description: Confirm setup timing is met.\ninput_files: [timing.rpt]\n"
OTHER_ENCODINGS = {
    "latin-1": REPORT.encode("latin-1"),
    "one odd byte at the end of a UTF-8 file": REPORT.encode() + b"# \xe9",
    "latin-1, compressed": gzip.compress(REPORT.encode("latin-1")),
    "utf-16 without a mark": REPORT.encode("utf-16-le"),
    "utf-16, compressed": gzip.compress(REPORT.encode("utf-16")),
    "half a UTF-8 character": REPORT.encode().replace("°".encode(), b"\xc2"),
}


def check(desk: Desk, data: bytes) -> dict[str, Any]:
    Path("timing.rpt").write_bytes(data)
    Path("timing.yaml").write_text(ITEM, "utf-8")
    document: dict[str, Any] = desk(
        "check", "all", "timing.yaml", "--format", "json", "-q"
    ).document
    return document


def judged(document: dict[str, Any]) -> tuple[str, list[tuple[str, int, str]]]:
    items = document["found_items"]
    return document["status"], [
        (item["source_file"], item["line_number"], item["value"]) for item in items
    ]


@pytest.mark.parametrize("name", OTHER_ENCODINGS)
def test_a_report_in_another_encoding_is_judged_as_its_utf_8_form(desk: Desk, name: str) -> None:
    verdict = check(desk, OTHER_ENCODINGS[name])
    notes = [warning["message"] for warning in verdict["warnings"]]
    assert any("read as Latin-1" in note or "read as UTF-16" in note for note in notes)
    usual = check(desk, REPORT.encode())
    assert judged(verdict) == judged(usual)
    assert usual["found_items"]
    assert not any("read as" in warning["message"] for warning in usual["warnings"])


def test_check_lint_ends_on_a_report_that_is_not_utf_8(desk: Desk) -> None:
    check(desk, OTHER_ENCODINGS["latin-1"])
    desk("check", "all", "timing.yaml", "-o", "out", "-q")
    assert desk("check", "lint", "out/timing_checker", "-q").code == 0
