"""What `check` makes again, and what it does not, when something changed since the last time."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

import pytest

from tests.cli.checks import EXAMPLES, ROUNDS, Desk, edit

pytestmark = pytest.mark.usefixtures("stage_names")

SPEC = tuple(f"spec/{name}" for name in ROUNDS)
BUILD = (
    "build/recall",
    "build/discover",
    "build/parser",
    "build/logic",
    "build/atoms",
    "build/config",
    "build/gates",
)
ALL = ("spec/inputs", "spec/similar", *SPEC, "spec/document", *BUILD, "run/verdict")


@pytest.fixture
def desk(after: Callable[..., Desk]) -> Desk:
    """A desk at which VER-01 was checked."""
    return after("all", "VER-01.yaml")


def again(desk: Desk) -> list[str]:
    """Check VER-01 once more; returns the stages that were made anew."""
    answer = desk.check("all", "VER-01.yaml")
    assert answer.code == 0, answer
    return [stage for stage in answer.stages("working") if stage != "run/verdict"]


def without_format(text: str) -> str:
    """Section 1 without the field `netlist.format`, in its list and in both examples."""
    left = re.sub(r'\n *(- `format` \(String\).*|"format": "[^"]*",)', "", text)
    assert "format`" not in left
    return left


@pytest.mark.slow
def test_nothing_changed_nothing_is_made(desk: Desk) -> None:
    assert [record["stage"] for record in desk.records("started")] == list(ALL)
    assert again(desk) == []


@pytest.mark.slow
def test_an_edited_round_counts_and_what_follows_is_made_again(desk: Desk) -> None:
    section = desk.file("round2_section1.md")
    section.write_text(without_format(section.read_text("utf-8")), "utf-8")
    assert "netlist.format" in desk.file("checker.yaml").read_text("utf-8")
    answer = desk.check("all", "VER-01.yaml")
    assert answer.stages("edited by hand") == ["spec/round2_section1"]
    assert answer.stages("unchanged") == [
        "spec/inputs",
        "spec/similar",
        "spec/round1_analysis",
        "build/recall",
    ]
    assert answer.stages("working") == [*SPEC[2:], "spec/document", *BUILD[1:], "run/verdict"]
    assert again(desk) == []
    for name in ("round3_section2.md", "checker.yaml"):
        assert "netlist.format" not in desk.file(name).read_text("utf-8"), name
    assert '"format"' not in desk.file("atom_a.py").read_text("utf-8").partition("spef")[0]


@pytest.mark.slow
@pytest.mark.parametrize("index", [0, 3])
def test_a_deleted_round_is_made_again_with_what_follows(index: int, desk: Desk) -> None:
    stage = SPEC[index]
    asked = len(desk.records("model_reply"))
    desk.file(f"{ROUNDS[index]}.md").unlink()
    made = again(desk)
    assert made[0] == stage
    assert (
        set(made) >= {"spec/document", "build/parser", "build/logic"}
        if index
        else set(made) >= set(SPEC)
    )
    replies = [record["stage"] for record in desk.records("model_reply")[asked:]]
    assert replies[0] == stage, "it is asked again, not answered from the journal"
    assert again(desk) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["atom_a.py", "checker.yaml"])
def test_a_deleted_part_of_the_checker_is_made_again(name: str, desk: Desk) -> None:
    path = desk.file(name)
    before = path.read_bytes()
    path.unlink()
    made = again(desk)
    assert "build/gates" in made
    assert not set(made) & set(SPEC)
    assert path.read_bytes() == before


@pytest.mark.slow
def test_an_edited_atom_is_held_to_the_gates_again(desk: Desk) -> None:
    edit(desk.file("atom_a.py"), "def extract_context(", "import os\n\n\ndef extract_context(")
    answer = desk.check("all", "VER-01.yaml", "--format", "json")
    assert answer.stages("edited by hand") == ["build/parser"]
    assert (answer.code, answer.document["status"]) == (3, "NEEDS_REVIEW")
    first, *found = [one["message"] for one in answer.document["warnings"]]
    assert first.startswith("[forbidden_io] atom"), "nobody mends what a person wrote"
    assert found


@pytest.mark.slow
def test_a_build_that_gave_up_is_helped_from_the_command_line(desk: Desk) -> None:
    run, atoms = desk.run_of("VER-01").name, desk.file("atoms.py")
    good = atoms.read_bytes()
    edit(desk.file("atom_a.py"), "def extract_context(", "import os\n\n\ndef extract_context(")
    said = desk.check("all", "VER-01.yaml")
    assert (said.code, said.out.splitlines()[0].split()[0]) == (3, "NEEDS_REVIEW")
    assert "[forbidden_io] atom" in said.out
    shown = desk("runs", "show", run).out
    assert f'answer with: transom answer {run} "YOUR WORDS"' in shown and "--edit" in shown
    assert (
        "it waits for: build/checker/atoms.py, build/checker/checker.yaml"
        in desk("answer", run, "--edit", str(desk.here / "VER-01.txt")).line()
    )
    (desk.here / "mine.py").write_bytes(good)
    answered = desk(
        "answer", run, "--edit", str(desk.here / "mine.py"), "words of mine", "--reset-iterations"
    )
    assert (
        answered.out
        == f"taken: atoms.py, your words, more repairs; to continue, run: transom resume {run}\n"
    )
    assert desk("resume", run).code == 0
    assert atoms.read_bytes() == good
    assert "this run waits for no answer" in desk("answer", run, "keep").line()
    assert "this run waits for no answer" in desk("answer", run, "words of mine").line(), (
        "it has ended"
    )
    assert "waits for no answer" in desk("answer", run).line()


@pytest.mark.slow
def test_a_copy_that_the_gates_refuse_is_mended_where_it_lies(desk: Desk) -> None:
    every = ("all", "VER-01.yaml", "-o", "out")
    assert desk.check(*every).code == 0
    made = desk.here / "out" / "VER-01_checker"
    names, config = {path.name for path in made.iterdir()}, made / "checker.yaml"
    edit(config, "mode: require", "mode: forbid")
    refused = config.read_bytes()
    assert desk.check(*every).code == 3
    assert config.read_bytes() == refused, "her version stays where she wrote it"
    ran = desk.check("run", "out/VER-01_checker", "--format", "json")
    assert (ran.code, ran.document["status"], ran.document["warnings"]) == (2, "ERROR", [])
    assert "this checker was not finished" in ran.document["errors"][0]["message"]
    edit(config, "mode: forbid", "mode: require")
    assert desk.check(*every).code == 0
    assert {path.name for path in made.iterdir()} == names
    assert desk.check("lint", "out/VER-01_checker").out.endswith("nothing found\n"), (
        "with the item's own inputs"
    )


@pytest.mark.slow
def test_build_goes_on_only_with_a_build_that_there_is(desk: Desk) -> None:
    spec = ("check", "build", str(desk.file("ItemSpec.md")), "--item", "VER-01.yaml", "--resume")
    assert "there is no build to resume" in desk(*spec).line()


@pytest.mark.slow
def test_a_changed_description_makes_all_again(desk: Desk) -> None:
    edit(
        desk.here / "VER-01.yaml",
        "that the netlist and SPEF versions are",
        "the netlist/spef version is",
    )
    assert set(again(desk)) >= {*SPEC, "spec/document", "build/config"}
    assert "netlist/spef version" in desk.file("checker.yaml").read_text("utf-8")


def pause(desk: Desk) -> str:
    """Edit round 2 and change what it is made from; returns the run that waits."""
    section = desk.file("round2_section1.md")
    section.write_text(without_format(section.read_text("utf-8")), "utf-8")
    edit(
        desk.here / "VER-01.yaml", "netlist and SPEF versions are", "SPEF and netlist versions are"
    )
    run = desk.run_of("VER-01").name
    line = desk.check("all", "VER-01.yaml", "-q").line(3)
    assert line.startswith(
        f"run {run} is paused: both {section} and what stage spec/round2_section1 is made from"
    )
    assert f"transom answer {run} --question spec/round2_section1 keep (or: redo)" in line
    assert desk.check("all", "VER-01.yaml", "-q").line(3) == line, "it waits until somebody answers"
    return run


@pytest.mark.slow
def test_what_a_person_keeps_is_kept(desk: Desk) -> None:
    run = pause(desk)
    mine = desk.file("round2_section1.md").read_text("utf-8")
    assert (
        desk("answer", run, "keep").out
        == f"keep spec/round2_section1; to continue, run: transom resume {run}\n"
    )
    answer = desk("resume", run)
    assert (answer.code, answer.stages("edited by hand")) == (0, ["spec/round2_section1"])
    assert desk.file("round2_section1.md").read_text("utf-8") == mine
    assert "netlist.format" not in desk.file("checker.yaml").read_text("utf-8")
    assert again(desk) == []


@pytest.mark.slow
def test_what_a_person_gives_up_is_still_not_lost(desk: Desk) -> None:
    run = pause(desk)
    mine = desk.file("round2_section1.md").read_text("utf-8")
    assert desk("answer", run, "redo", "--format", "json").document["answer"] == "redo"
    answer = desk("resume", run)
    assert answer.code == 0
    assert (
        "round2_section1.md was changed by hand; that version is kept as round2_section1.md.kept-1"
        in answer.err
    )
    assert desk.file("round2_section1.md.kept-1").read_text("utf-8") == mine
    assert "netlist.format" in desk.file("checker.yaml").read_text("utf-8")
    assert again(desk) == []


@pytest.mark.slow
def test_new_logs_change_the_verdict_and_never_the_checker(desk: Desk) -> None:
    checker = [desk.file(name).read_bytes() for name in ("atoms.py", "checker.yaml", "build.json")]
    data = desk.here / "data" / "updown"
    shutil.copy(data / "sta_eco.log", data / "sta_signoff.log")
    for command in (("all", "VER-01.yaml"), ("run", "VER-01.yaml")):
        assert desk.verdict(*command)["status"] == "FAIL"
    assert desk.attempts("build/parser") == desk.attempts("build/discover") == 1
    assert (
        len([record for record in desk.records("model_reply") if record["stage"] == "build/parser"])
        == 1
    )
    assert [
        desk.file(name).read_bytes() for name in ("atoms.py", "checker.yaml", "build.json")
    ] == checker
    shutil.copy(EXAMPLES / "data" / "updown" / "sta_signoff.log", data)
    assert desk.verdict("all", "VER-01.yaml")["status"] == "PASS"
