"""An approval holds for a checker as it was, and for no other; an edit by hand is said in every
verdict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.checks import Desk, edit

CHECKER = Path("out/VER-01_checker")


@pytest.fixture
def desk(after: Callable[..., Desk]) -> Desk:
    """A desk at which VER-01 was checked."""
    return after("all", "VER-01.yaml", "-o", "out")


def messages(verdict: dict[str, object]) -> list[tuple[str | None, str]]:
    warnings = verdict["warnings"]
    assert isinstance(warnings, list)
    return [(one["source_file"], one["message"]) for one in warnings]


@pytest.mark.slow
def test_a_checker_edited_by_hand_says_so(desk: Desk) -> None:
    before = desk.verdict("run", str(CHECKER))
    assert not [where for where, _ in messages(before) if where in ("atoms.py", "checker.yaml")]
    said = "was changed by hand after the gates passed the checker"
    for name in ("atoms.py", "checker.yaml"):
        edit_comment(CHECKER / name)
        for target in (str(CHECKER), "VER-01.yaml"):
            verdict = unreviewed(desk, target)
            assert any(
                where == name and message.startswith(f"{said}; hold it")
                for where, message in messages(verdict)
            )
            found = verdict["found_items"]
            assert isinstance(found, list) and len(found) == 4, "what it would say is shown"
    answer = desk("check", "approve", str(CHECKER), "--by", "ann")
    assert "atoms.py was changed by hand after the gates passed the checker\n" in answer.err
    approved = desk.verdict("run", str(CHECKER))
    assert (approved["status"], ("atoms.py", said) in messages(approved)) == ("PASS", True)
    edit_comment(CHECKER / "atoms.py")
    assert unreviewed(desk, str(CHECKER)), "it was for the edit before"
    assert desk("check", "lint", str(CHECKER), "--var", "CHECKLIST_ROOT=data").code == 0
    assert desk.verdict("run", str(CHECKER))["status"] == "PASS", "the gates ran again"
    assert desk.check("all", "VER-01.yaml", "-o", "out", "-q").code == 0, "the gates pass the edit"
    void = "the approval of the checker is void: atoms.py, build.json changed since ann approved it"
    assert messages(desk.verdict("run", str(CHECKER))) == [(None, void)], (
        "it was for one that rules wrote"
    )


def unreviewed(desk: Desk, target: str) -> dict[str, object]:
    answer = desk.check("run", target, "--format", "json", "-q")
    assert (answer.code, answer.document["status"]) == (3, "NEEDS_REVIEW")
    verdict: dict[str, object] = answer.document
    return verdict


def edit_comment(path: Path) -> None:
    path.write_text(path.read_text("utf-8") + "# a remark\n", "utf-8")


@pytest.mark.slow
def test_an_approval_holds_until_a_file_changes(desk: Desk) -> None:
    only = ("run", str(CHECKER), "--approved-only", "-q")
    line = desk.check(*only).line()
    assert (
        line
        == f"{CHECKER}: not approved: nobody approved it; approve it with: transom check approve"
        f" {CHECKER} --by NAME"
    )
    assert desk.verdict("run", str(CHECKER))["made_by"]["approved_by"] is None
    answer = desk("check", "approve", str(CHECKER), "--by", " Ann  Lee ", "--format", "json")
    assert (answer.code, answer.document) == (
        0,
        json.loads((CHECKER / "approval.json").read_text("utf-8")),
    )
    assert answer.document["schema"] == "transom.approval/1"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", answer.document["at"])
    assert sorted(answer.document["files"]) == [
        "ItemSpec.md",
        "atoms.py",
        "build.json",
        "checker.yaml",
    ]
    assert desk.check(*only).code == 0
    assert desk.verdict("run", "VER-01.yaml")["made_by"]["approved_by"] == "Ann Lee"
    assert desk.verdict("all", "VER-01.yaml", "-o", "out")["made_by"]["approved_by"] == "Ann Lee", (
        "built as it was"
    )
    for name in ("atoms.py", "checker.yaml", "ItemSpec.md"):
        before = (CHECKER / name).read_bytes()
        edit_comment(CHECKER / name)
        assert (
            f"not approved: {name} changed since Ann Lee approved it; " in desk.check(*only).line()
        )
        verdict = desk.verdict("run", str(CHECKER))
        assert verdict["made_by"]["approved_by"] is None
        void = f"the approval of the checker is void: {name} changed since Ann Lee approved it"
        assert (None, void) in messages(verdict)
        (CHECKER / name).write_bytes(before)
    assert desk.check(*only).code == 0, "as it was approved"
    (CHECKER / "ItemSpec.md").unlink()
    assert "ItemSpec.md changed since" in desk.check(*only).line()


@pytest.mark.slow
def test_an_approval_that_cannot_be_read_approves_nothing(desk: Desk) -> None:
    (CHECKER / "approval.json").write_text('{"by": "ann"}', "utf-8")
    assert (
        "its approval.json cannot be read"
        in desk.check("run", str(CHECKER), "--approved-only", "-q").line()
    )
    assert desk.verdict("run", str(CHECKER))["made_by"]["approved_by"] is None
    edit(CHECKER / "build.json", '"provider"', '"approved_by": "ann",\n  "provider"')
    assert "build.json: is no record of a build" in desk.check("run", str(CHECKER), "-q").line(), (
        "it approves nothing"
    )
    edit(CHECKER / "build.json", '"approved_by": "ann",\n  "provider"', '"provider"')
    assert desk("check", "approve", str(CHECKER), "--by", "ann", "-q").code == 0
    edit(CHECKER / "build.json", '"provider": "scripted"', '"provider": "a better one"')
    assert (
        "build.json changed since ann"
        in desk.check("run", str(CHECKER), "--approved-only", "-q").line()
    )
    edit(CHECKER / "build.json", '"status": "done"', '"status": "human_required"')
    assert desk("check", "approve", str(CHECKER), "--by", "ann").code == 2
    edit(CHECKER / "build.json", '"status": "human_required"', '"status": "done"')
    for name in ("", "  ", "a\x1bb", "x" * 300):
        assert (
            "is no name; pass the name of the person who approves"
            in desk("check", "approve", str(CHECKER), "--by", name).line()
        )
    assert "no checker folder" in desk("check", "approve", "nosuch", "--by", "ann").line()


@pytest.mark.slow
def test_of_several_the_approved_ones_are_judged(desk: Desk) -> None:
    assert desk.check("all", "VER-02.yaml", "-o", "out", "-q").code == 1
    assert desk("check", "approve", str(CHECKER), "--by", "ann", "-q").code == 0
    targets = (str(CHECKER), "out/VER-02_checker")
    answer = desk.check("run", *targets, "--approved-only", "--format", "json", "-q")
    assert (answer.code, [one["status"] for one in answer.document["checks"]]) == (
        2,
        ["PASS", "ERROR"],
    )
    assert "out/VER-02_checker: not approved" in answer.err
