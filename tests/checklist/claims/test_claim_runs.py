"""What a run of a claim leaves behind, by the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from transom.cli import main

MOST_FILES = 12

ITEM = """\
description: Confirm that synthesis inferred no latch.
input_files: [synth.log]
reads_as: {claim: no_errors}
"""
REPORT = """\
OpenROAD v2.0-14000
[INFO ODB-0128] Design: lamp
Elapsed time: 0:27.63[h:]min:sec. CPU time: user 26.35 sys 1.25 (99%). Peak memory: 9KB.
"""


def check(folder: Path) -> int:
    item, workspace = folder / "LOG-01.yaml", folder / "w"
    return main(["check", "all", str(item), "--workspace", str(workspace), "-q"])


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "w" / "runs").rglob("*") if path.is_file())


def test_a_pass_leaves_few_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "LOG-01.yaml").write_text(ITEM)
    (tmp_path / "synth.log").write_text(REPORT)
    assert check(tmp_path) == 0, capfd.readouterr()
    assert len(files_of(tmp_path)) <= MOST_FILES
    (spec,) = (tmp_path / "w").rglob("ItemSpec.md")
    spec.write_text("what a person wrote\n")
    assert check(tmp_path) == 0
    aside = {path.read_text() for path in files_of(tmp_path) if ".kept-" in path.name}
    assert aside == {"what a person wrote\n"}


@pytest.mark.parametrize(
    ("limit", "problem"),
    [
        ("foo", "the limit 'foo' is no comparison"),
        ("at most", "the limit 'at most' is no comparison"),
        ("at least 3 V", "the limit 'at least 3 V' is no time"),
    ],
)
def test_a_limit_that_is_none_is_refused_with_its_file_and_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], limit: str, problem: str
) -> None:
    lines = (
        "description: Confirm the slack.",
        "input_files: [synth.log]",
        "reads_as:",
        "  claim: number_limit",
        f"  parameters: {{measure: worst_slack, limit: {limit}}}",
    )
    (tmp_path / "LOG-01.yaml").write_text("\n".join(lines) + "\n")
    (tmp_path / "synth.log").write_text(REPORT)
    assert check(tmp_path) == 2
    printed = "".join(capfd.readouterr())
    assert f"LOG-01.yaml:5: {problem}" in printed
