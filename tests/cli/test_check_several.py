"""Several items, one folder for a person's copies: nobody's verdict replaces another's."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.checks import Desk, edit


def status(path: str) -> tuple[str, str]:
    document = json.loads(Path(path).read_text("utf-8"))
    return document["item_id"], document["status"]


@pytest.mark.slow
def test_several_items_in_one_go_lie_side_by_side(desk: Desk) -> None:
    """Whatever comes of an item, it is in the document under its id, and the document has the
    same shape.
    """
    (desk.here / "ODD.yaml").write_text(
        "description: Confirm that the moon is frobnicated.\ninput_files: [x.log]\n"
    )
    shutil.copy("VER-03.yaml", "LOST.yaml")
    edit(Path("LOST.yaml"), "${CHECKLIST_ROOT}", "nowhere")
    items = ["VER-01.yaml", "nosuch.yaml", "VER-02.yaml", "ODD.yaml", "LOST.yaml"]
    answer = desk.check("all", *items, "-o", "out", "--format", "json", "-q")
    assert answer.code == 2, "nosuch.yaml: error before no"
    counts = {"PASS": 1, "FAIL": 1, "ERROR": 2, "NEEDS_MODEL": 1, "NEEDS_REVIEW": 0}
    assert (answer.document["schema"], answer.document["summary"]) == ("transom.checks/1", counts)
    checks = {one["item_id"]: one for one in answer.document["checks"]}
    assert list(checks) == ["VER-01", "nosuch", "VER-02", "ODD", "LOST"]
    assert checks["ODD"]["needs_model"]
    assert "nosuch.yaml: " in checks["nosuch"]["errors"][0]["message"]
    assert "no such file" in checks["LOST"]["errors"][0]["message"]
    assert status("out/VER-01_verdict.json") == ("VER-01", "PASS")
    assert status("out/VER-02_verdict.json") == ("VER-02", "FAIL")
    assert Path("out/VER-01_checker/atoms.py").is_file()
    assert Path("out/VER-02_checker/atoms.py").is_file()
    text = desk.check("all", "VER-01.yaml", "ODD.yaml", "-q")
    assert (text.code, "NEEDS_MODEL  ODD\n" in text.out) == (3, True)
    run = desk.run_of("VER-01").name
    again = desk("resume", run, "--format", "json", "-q")
    assert [one["item_id"] for one in again.document["checks"]] == ["VER-01", "ODD"], (
        "the command as it was given"
    )


def test_the_outcome_never_changes_the_documents_shape(desk: Desk) -> None:
    (desk.here / "ODD.yaml").write_text("description: Confirm that the moon is frobnicated.\n")
    alone = desk("check", "all", "ODD.yaml", "--format", "json", "-q")
    assert (alone.code, alone.document["schema"], alone.document["status"]) == (
        3,
        "transom.check/1",
        "NEEDS_MODEL",
    )
    none = desk("check", "all", "nosuch.yaml", "neither.yaml", "--format", "json", "-q")
    assert (none.code, none.document["schema"], none.err.count("\n")) == (2, "transom.checks/1", 2)
    assert [one["status"] for one in none.document["checks"]] == ["ERROR", "ERROR"]
    run = desk("check", "run", "nosuch.yaml", "ODD.yaml", "--format", "json", "-q").document
    assert [one["item_id"] for one in run["checks"]] == ["nosuch", "ODD"]
    told = desk("check", "all", "ODD.yaml", "--report", "text:odd.txt", "-q")
    assert (told.code, 'not understood: "' in told.out) == (3, True)
    assert Path("odd.txt").read_text("utf-8") == told.out, (
        "a report is written whatever came of the item"
    )


@pytest.mark.slow
def test_one_item_after_another_into_one_folder(after: Callable[..., Desk]) -> None:
    desk = after("all", "VER-01.yaml", "-o", "out")
    assert status("out/VER-01_verdict.json") == ("VER-01", "PASS")
    answer = desk.check("all", "VER-02.yaml", "-o", "out")
    assert answer.code == 1
    assert status("out/VER-02_verdict.json") == ("VER-02", "FAIL")
    assert not list(Path("out").glob("*.kept-*"))

    shutil.copytree("out/VER-01_checker", "twin")
    twins = desk.check(
        "run", "out/VER-01_checker", "twin", "-o", "verdicts", "--format", "json", "-q"
    )
    assert twins.code == 2
    assert (
        "twin: another target of this command is for VER-01, too; its verdict lies in " in twins.err
    )
    assert [one["status"] for one in twins.document["checks"]] == ["PASS", "ERROR"]


def test_the_help_says_how_copies_are_called(desk: Desk) -> None:
    for command in ("all", "run"):
        assert "ID_verdict.json" in desk("check", command, "--help").out
