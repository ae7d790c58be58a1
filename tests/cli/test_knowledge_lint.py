"""`transom check knowledge lint` on the file of a report format of one's own."""

from __future__ import annotations

from pathlib import Path

from tests.cli.checks import ROOT, Desk

ERC = ROOT / "src" / "transom" / "examples" / "knowledge" / "erc.yaml"


def test_a_regular_expression_that_a_long_line_stops_is_a_finding(desk: Desk) -> None:
    text, skipped = ERC.read_text("utf-8"), "'^ERC-\\d+: loaded'"
    assert skipped in text
    file = Path("site", "erc.yaml")
    file.parent.mkdir()
    file.write_text(text, "utf-8")
    assert desk("check", "knowledge", "lint", str(file)).code == 0
    file.write_text(text.replace(skipped, "'^ERC-\\d+:(.*?)\\s*loaded$'"), "utf-8")
    answer = desk("check", "knowledge", "lint", str(file))
    assert answer.code == 1
    assert "may_be_skipped: the regular expression" in answer.out
    assert "takes more than linear time, for example" in answer.out
