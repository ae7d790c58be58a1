"""`transom files`: what each file is taken for, by what, and what was not understood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.repository.tracked import ROOT
from transom.cli import main
from transom.formats.reports import read_report_text, shipped_formats
from transom.formats.reports.loading import load_format

YOSYS = """\
 Yosys 0.23 (git sha1 7ce5011c24b)
Top module:  \\blinker
3. Executing CHECK pass (checking for obvious problems).
Found and reported 0 problems.
6. Printing statistics.

=== blinker ===

   Number of cells:                  4

End of script. Logfile hash: e3ef2339da, CPU: user 0.08s system 0.00s, MEM: 14.14 MB peak
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a log, an unknown text, a source file and a hidden file."""
    folder = tmp_path / "reports"
    (folder / "synth").mkdir(parents=True)
    (folder / "synth" / "run.txt").write_text(YOSYS, encoding="utf-8")
    (folder / "notes.txt").write_text("Nothing of note.\n", encoding="utf-8")
    (folder / "top.v").write_text("module top; endmodule\n", encoding="utf-8")
    (folder / ".hidden").write_text("x\n", encoding="utf-8")
    return folder


def listed(capsys: pytest.CaptureFixture[str], *paths: Path) -> tuple[int, list[Any]]:
    """Return the exit code and the files of the JSON document."""
    code = main(["files", *map(str, paths), "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "transom.files/1"
    return code, document["files"]


def test_each_file_of_a_folder_has_a_status(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, files = listed(capsys, folder)
    assert code == 0
    states = {Path(file["path"]).name: file["status"] for file in files}
    assert states == {"notes.txt": "unknown", "run.txt": "recognised", "top.v": "no_report"}


def test_a_report_is_shown_with_evidence_identity_and_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, (file,) = listed(capsys, folder / "synth" / "run.txt")
    log, statistics = file["sections"]
    assert log["evidence"] == "Yosys 0.23 (git sha1 7ce5011c24b)"
    assert log["identity"] == {"tool": ["Yosys"], "version": ["0.23"], "design": ["blinker"]}
    assert log["completeness"] == "complete"
    assert (statistics["format"], statistics["inside"]) == ("yosys.stat", "yosys.log")
    assert (statistics["first_line"], statistics["last_line"]) == (5, 10)
    assert (file["bytes"], file["lines"]) == (len(YOSYS), 11)


def test_the_text_names_what_is_not_explained(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "synth" / "run.txt"
    path.write_text(YOSYS.replace("=== blinker ===", "Killed by operator"), encoding="utf-8")
    assert main(["files", str(path)]) == 0
    assert "not explained: line 7: Killed by operator" in capsys.readouterr().out


def test_a_missing_file_is_an_error_beside_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, files = listed(capsys, folder / "notes.txt", folder / "gone.log")
    assert code == 2
    assert [file["status"] for file in files] == ["unknown", "unreadable"]
    assert files[1]["message"] == "no such file"


def test_the_format_on_the_page_works(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    path = tmp_path / "acme.areas.yaml"
    text = "schema: " + page.partition("```text\nschema: ")[2].partition("```")[0]
    path.write_text(text, encoding="utf-8")
    own = load_format(path)
    formats = [*shipped_formats(), own]
    good, bad = own.model.examples.good[0], own.model.examples.bad[0]
    assert read_report_text(good.text, formats).formats == ["acme.areas"]
    assert read_report_text(good.text, formats).unexplained == []
    # The first measurement is the version of the tool.
    assert read_report_text(bad.text, formats).measurements[-1].is_not_measured
