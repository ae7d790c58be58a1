"""`check spec`, `build` and `run` one by one and in one go; whose files they are; several
targets; going on later.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checklist.shipped_model import MODEL
from tests.cli.checks import EXAMPLES, ROOT, Desk, edit
from tests.cli.helpers import COMMAND, clean_environment
from tests.llm.recording import write_recording
from transom.checklist.item import load_item
from transom.cli.app import load
from transom.cli.check.options import descriptions_of
from transom.cli.command import arguments_of

STEPS = ("IMP-10-0-0-00", "STA-02")


@pytest.fixture
def desk(model_desk: Desk) -> Desk:
    return model_desk


@pytest.mark.slow
@pytest.mark.parametrize("item", STEPS)
def test_steps_give_the_verdict_of_all(item: str, desk: Desk) -> None:
    spec = desk("check", "spec", f"{item}.yaml", "-o", "specs", "--format", "json", "-q")
    assert (spec.code, spec.document["status"]) == (0, "READY")
    document = spec.document["itemspec_path"]
    assert document == f"specs/{item}_ItemSpec.md"
    build = desk.check(
        "build", document, "--item", f"{item}.yaml", "-o", "checkers", "--format", "json", "-q"
    )
    assert (build.code, build.document["status"]) == (0, "done")
    assert sorted(path.name for path in Path("checkers", f"{item}_checker").iterdir()) == [
        "ItemSpec.md",
        "atoms.py",
        "build.json",
        "checker.yaml",
        "item.yaml",
    ]
    by_folder = desk.verdict("run", f"checkers/{item}_checker")
    by_item = desk.verdict("run", f"{item}.yaml")
    at_once = desk.verdict("all", f"{item}.yaml", "-o", "out")
    assert by_folder == by_item == at_once
    expected = json.loads((EXAMPLES / "expected" / f"{item}.json").read_text("utf-8"))
    assert at_once["status"] == expected["status"]


@pytest.mark.slow
@pytest.mark.fence
def test_check_run_takes_several_roots_as_build_does(desk: Desk) -> None:
    """The netlist and the parasitics that the log names lie in folders of their own."""
    for folder, name in (("logs", "sta_signoff.log"), ("nets", "updown_routed.v")):
        Path(folder).mkdir()
        Path("data/updown", name).rename(Path(folder, name))
    item = Path("items/VER-01.yaml")
    item.parent.mkdir()
    Path("VER-01.yaml").rename(item)
    edit(item, "${CHECKLIST_ROOT}/updown", "../logs")
    roots = ("--root", "nets", "--root", "data/updown")
    document = desk("check", "all", str(item), *roots, "--format", "json", "-q").document
    assert document["status"] == "PASS"
    again = desk("check", "run", str(item), *roots, "--format", "json", "-q").document
    assert (again["status"], again["inputs"]) == ("PASS", document["inputs"])
    without_parasitics = desk("check", "run", str(item), "--root", "nets", "-q")
    assert without_parasitics.code == 1
    assert "updown.spef is named here, but it cannot be found" in without_parasitics.out


@pytest.mark.parametrize(("recorded", "roots"), [("logs", (Path("logs"),)), (None, ())])
def test_a_run_that_recorded_a_single_root_keeps_it_when_it_is_resumed(
    recorded: str | None, roots: tuple[Path, ...]
) -> None:
    load("check")
    entry = {"command": "check all", "given": {"items": ["a.yaml"], "root": recorded}}
    assert arguments_of(entry, "a run")["options"].roots == roots


@pytest.mark.slow
def test_a_checker_without_item_takes_its_name_from_the_title(desk: Desk) -> None:
    desk("check", "spec", "VER-01.yaml", "-o", "specs", "-q")
    Path("specs/VER-01_ItemSpec.md").rename("some.md")
    answer = desk("check", "build", "some.md", "--root", "data/updown", "-o", "checkers", "-q")
    assert answer.code == 0, answer
    assert sorted(path.name for path in Path("checkers").iterdir()) == ["VER-01_checker"]
    shutil.move("checkers/VER-01_checker", "elsewhere")
    shutil.copy("VER-01.yaml", "elsewhere/item.yaml")
    assert desk.verdict("run", "elsewhere")["status"] == "PASS"


@pytest.mark.slow
def test_without_item_and_root_logs_are_looked_for_beside_the_item_spec(desk: Desk) -> None:
    desk("check", "spec", "VER-01.yaml", "-o", "specs", "-q")
    answer = desk("check", "build", "specs/VER-01_ItemSpec.md", "--format", "json", "-q")
    assert (answer.code, answer.document["status"]) == (3, "needs_review")
    assert str(desk.here / "specs") in answer.document["waits_for"]
    shutil.copytree("data/updown", "specs/logs")
    answer = desk("check", "build", "specs/VER-01_ItemSpec.md", "--format", "json", "-q")
    assert (answer.code, answer.document["status"]) == (0, "done")


@pytest.mark.slow
def test_relative_inputs_are_meant_from_the_items_folder_wherever_the_checker_lies(
    desk: Desk,
) -> None:
    edit(desk.here / "VER-01.yaml", "${CHECKLIST_ROOT}/", "data/")
    all_ = desk("check", "all", "VER-01.yaml", "-o", "deep/out", "-q")
    assert all_.code == 0, all_
    os.chdir("deep")
    for target in ("out/VER-01_checker", "../VER-01.yaml"):
        answer = desk(
            "check",
            "run",
            target,
            "--format",
            "json",
            "-q",
            "--workspace",
            str(desk.here / ".transom"),
        )
        assert (answer.code, answer.document["status"]) == (0, "PASS"), target


@pytest.mark.slow
@pytest.mark.usefixtures("stage_names")
def test_an_item_is_the_same_however_its_path_is_written(desk: Desk) -> None:
    (desk.here / "sub").mkdir()
    assert desk.check("all", "sub/../VER-01.yaml", "-q").code == 0
    assert desk.check("run", "VER-01.yaml", "-q").code == 0
    again = desk.check("all", str(desk.here / "VER-01.yaml"))
    assert again.stages("working") == ["run/verdict"]
    (desk.here / "link.yaml").symlink_to("VER-01.yaml")
    assert (
        desk.check("run", "link.yaml", "-q")
        .line()
        .startswith("link.yaml: no checker was built for this item")
    )


@pytest.mark.slow
def test_run_refuses_a_checker_that_is_stale(after: Callable[..., Desk]) -> None:
    desk = after("all", "VER-01.yaml", "-o", "out")
    item = desk.here / "VER-01.yaml"
    build = "; build one with: transom check all VER-01.yaml"
    edit(item, "correct.", "correct. One item per file.")
    assert desk.check("run", "VER-01.yaml", "-q").line() == (
        f"VER-01.yaml: its description or its ItemSpec changed since its checker was built{build}"
    )
    edit(item, "correct. One item per file.", "correct.")
    assert desk.check("run", "VER-01.yaml", "-q").code == 0
    edit(desk.here / "out" / "VER-01_ItemSpec.md", "**Purpose**:", "**Purpose**: In short:")
    assert desk("check", "spec", "VER-01.yaml", "-o", "out", "-q").code == 0
    assert desk.check("run", "VER-01.yaml", "-q").line() == (
        f"VER-01.yaml: its description or its ItemSpec changed since its checker was built{build}"
    )
    assert desk.check("all", "VER-01.yaml", "-o", "out", "-q").code == 0
    assert desk.check("run", "VER-01.yaml", "-q").code == 0
    shutil.rmtree("out/VER-01_checker")
    assert "is gone; build one" in desk.check("run", "VER-01.yaml", "-q").line()


@pytest.mark.slow
def test_values_of_the_item_win_over_the_checkers_without_a_rebuild(
    after: Callable[..., Desk],
) -> None:
    desk = after("all", "VER-02.yaml", "-o", "out")
    edit(desk.here / "VER-02.yaml", "waivers:\n  value: N/A", "waivers:\n  value: 0")
    verdict = desk.verdict("run", "VER-02.yaml")
    assert verdict["status"] == "PASS"
    assert [(one["key"], one["item"], one["checker"]) for one in verdict["config_differences"]] == [
        ("waivers.value", "0", "N/A")
    ]


# --- several targets


@pytest.mark.slow
def test_several_targets_are_one_document_and_the_gravest_code(after: Callable[..., Desk]) -> None:
    desk = after("all", "VER-01.yaml", "VER-02.yaml", "STA-01.yaml", "-o", "out")
    report = ("--report", "json:reports.json", "--report", "text:reports.txt")
    targets = ["VER-01.yaml", "out/VER-02_checker", "STA-01.yaml"]
    answer = desk.check("run", *targets, "-o", "verdicts", *report, "--format", "json", "-q")
    assert answer.code == 1
    assert answer.document["schema"] == "transom.checks/1"
    assert answer.document["summary"] == {
        "PASS": 2,
        "FAIL": 1,
        "ERROR": 0,
        "NEEDS_MODEL": 0,
        "NEEDS_REVIEW": 0,
    }
    assert [check["item_id"] for check in answer.document["checks"]] == [
        "VER-01",
        "VER-02",
        "STA-01",
    ]
    assert json.loads(Path("reports.json").read_text("utf-8")) == answer.document
    assert "3 checks: 2 PASS, 1 FAIL" in Path("reports.txt").read_text("utf-8")
    for item, status in (("VER-01", "PASS"), ("VER-02", "FAIL"), ("STA-01", "PASS")):
        assert (
            json.loads(Path("verdicts", f"{item}_verdict.json").read_text("utf-8"))["status"]
            == status
        )
    Path("data/updown/sta_signoff.log").unlink()
    assert desk.check("run", *targets, "-q").code == 2, "error before no"


@pytest.mark.slow
def test_reports_are_written_in_every_format_with_evidence_in_its_lines(desk: Desk) -> None:
    desk.check("all", "STA-04.yaml", "-q")
    wanted = [
        f"--report={kind}:out/r.{kind}"
        for kind in ("json", "text", "junit", "sarif", "csv", "html")
    ]
    assert desk.check("run", "STA-04.yaml", *wanted, "-q").code == 1
    page = Path("out/r.html").read_text("utf-8")
    assert '<span class="line marked"><span class="number">' in page
    assert page.count(html.escape(load_item(Path("STA-04.yaml")).description)) == 1
    assert page.count('class="line"') > 20, "each line of evidence stands between its neighbours"
    log = json.loads(Path("out/r.sarif").read_text("utf-8"))
    assert ["suppressions" in one for one in log["runs"][0]["results"]] == [False, False, True]
    assert b'failures="1"' in Path("out/r.junit").read_bytes()
    assert len(Path("out/r.csv").read_text("utf-8-sig").splitlines()) == 19


def test_a_report_takes_descriptions_from_items_and_checkers(desk: Desk, root: Path) -> None:
    checker = root / "tests/checklist/judging/data/versions.yaml"
    Path("checker").mkdir()
    shutil.copy(checker, "checker/checker.yaml")
    shutil.copy(checker.with_suffix(".atoms"), "checker/atoms.py")
    Path("broken.yaml").write_text("description: [")
    found = descriptions_of([Path("VER-01.yaml"), Path("checker"), Path("broken.yaml")])
    assert found["VER-01"] == "Confirm that the netlist and SPEF versions are correct."
    assert len(found) == 2


@pytest.mark.slow
def test_a_report_that_cannot_be_written_costs_no_verdict(after: Callable[..., Desk]) -> None:
    desk = after("all", "VER-02.yaml", "-o", "out")
    answer = desk.check("run", "VER-02.yaml", "--report", "text:data", "--format", "json", "-q")
    assert answer.code == 2
    assert answer.document["status"] == "FAIL"
    assert re.fullmatch(r"transom: data: cannot write: Is a directory; .*\n", answer.err)


# --- whose files


@pytest.mark.slow
def test_out_holds_what_was_made_and_keeps_what_was_there(desk: Desk) -> None:
    out = desk.here / "out"
    theirs = [
        "VER-01_ItemSpec.md",
        "VER-01_checker/atoms.py",
        "VER-01_debug/round1_prompt.md",
        "VER-01_verdict.json",
    ]
    for name in theirs:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("mine", "utf-8")
    assert desk("check", "spec", "VER-01.yaml", "-o", "out", "--debug", "-q").code == 0
    answer = desk.check("all", "VER-01.yaml", "-o", "out")
    assert answer.code == 0
    for name in theirs:
        assert (out / f"{name}.kept-1").read_text("utf-8") == "mine"
        assert (out / name).read_text("utf-8") != "mine"
    assert "is kept as atoms.py.kept-1" in answer.err
    prompts = {path.name for path in (out / "VER-01_debug").iterdir() if "kept" not in path.name}
    parts = ("prompt", "system_prompt", "response")
    assert {f"round{number}_{part}.md" for number in range(1, 6) for part in parts} <= prompts
    desk.check("all", "VER-01.yaml", "-o", "out", "-q")
    assert not list(out.rglob("*.kept-2")), "what is ours is simply written again"


@pytest.mark.slow
@pytest.mark.usefixtures("stage_names")
def test_an_edit_of_the_copy_counts_and_reaches_the_checker(after: Callable[..., Desk]) -> None:
    desk = after("all", "VER-01.yaml", "-o", "out")
    spec = desk.here / "out" / "VER-01_ItemSpec.md"
    edit(spec, "**Purpose**:", "**Purpose**: In short:")
    mine = spec.read_text("utf-8")
    answer = desk.check("all", "VER-01.yaml", "-o", "out")
    assert answer.code == 0, answer
    assert "VER-01_ItemSpec.md was changed by hand; the change counts" in answer.err
    assert answer.stages("edited by hand") == ["spec/document"]
    assert "build/parser" in answer.stages("working")
    assert spec.read_text("utf-8") == mine
    assert (spec.parent / "VER-01_checker" / "ItemSpec.md").read_text("utf-8") == mine
    assert not list(spec.parent.rglob("*.kept-*"))


def test_the_name_of_an_item_spec_follows_its_findings(desk: Desk) -> None:
    out = desk.here / "out"
    ready, review = out / "VER-01_ItemSpec.md", out / "VER-01_ItemSpec_NEEDS_REVIEW.md"
    spec = ("check", "spec", "VER-01.yaml", "-o", "out", "-q")
    assert desk(*spec).code == 0
    for _ in range(2):
        edit(ready, "### 4.3", "### 4.9")
        assert desk(*spec).code == 1
        assert [path.name for path in out.iterdir()] == [review.name], "the stale twin is removed"
        assert review.read_text("utf-8").startswith("<!--\nNEEDS REVIEW: 2 findings\n")
        edit(review, "### 4.9", "### 4.3")
        assert desk(*spec).code == 0
        assert [path.name for path in out.iterdir()] == [ready.name], "and so is the mended one"


def test_a_section_cut_out_of_the_copy_says_how_to_go_on(desk: Desk) -> None:
    spec = ("check", "spec", "VER-01.yaml", "-o", "out", "-q")
    desk(*spec)
    copy = desk.here / "out" / "VER-01_ItemSpec.md"
    copy.write_text(copy.read_text("utf-8").partition("## 3.")[0], "utf-8")
    line = desk(*spec).line()
    assert line.startswith(
        "out/VER-01_ItemSpec.md: sections 3 (Waiver Logic), 4 (Implementation Guide) missing"
    )
    kept = re.search(r"delete (\S+) to have it made anew", line)
    assert kept, line
    Path(kept[1]).unlink()
    assert desk(*spec).code == 0
    assert "## 4." in copy.read_text("utf-8")


# --- ids


def test_two_items_of_one_id_are_told_apart(desk: Desk) -> None:
    desk("check", "spec", "VER-01.yaml", "-q")
    other = desk.here / "other" / "VER-01.yaml"
    other.parent.mkdir()
    shutil.copy("VER-02.yaml", other)
    line = desk("check", "spec", "other/VER-01.yaml", "-q").line()
    assert str(desk.here / "VER-01.yaml") in line
    assert str(other) in line
    assert "write an item_id of its own" in line
    other.write_text(f"item_id: VER-01b\n{other.read_text('utf-8')}", "utf-8")
    assert desk("check", "spec", "other/VER-01.yaml", "-q").code == 0


def test_an_item_that_moved_takes_its_id_along(desk: Desk) -> None:
    desk("check", "spec", "VER-01.yaml", "-q")
    (desk.here / "moved").mkdir()
    shutil.move("VER-01.yaml", "moved/VER-01.yaml")
    assert desk("check", "spec", "moved/VER-01.yaml", "-q").code == 0
    shutil.copy("moved/VER-01.yaml", "VER-01.yaml")
    assert "belongs to" in desk("check", "spec", "VER-01.yaml", "-q").line()


# --- going on


@pytest.mark.slow
def test_resume_gives_the_command_again_from_anywhere(
    desk: Desk, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (desk.here / "transom.yaml").write_text(
        "paths:\n  search_root: data\n  output_dir: made\n", "utf-8"
    )
    desk("check", "all", "VER-04.yaml", "--as-of", "2026-05-05", "--fail-on-unused-waivers", "-q")
    desk(
        "check",
        "run",
        "VER-04.yaml",
        "--as-of",
        "2026-05-05",
        "--report",
        "json:report.json",
        "-o",
        "here",
        "-q",
    )
    runs = {kind: desk.run_of("VER-04", kind).name for kind in ("check", "check-run")}
    for path in (desk.here / "made", desk.here / "here"):
        shutil.rmtree(path)
    Path("report.json").unlink()
    away = tmp_path_factory.mktemp("away")
    os.chdir(away)
    workspace = ("--workspace", str(desk.here / ".transom"), "--format", "json", "-q")
    again = desk("resume", runs["check"], *workspace)
    assert (again.code, again.document["status"], again.document["as_of"]) == (
        1,
        "FAIL",
        "2026-05-05",
    )
    assert again.document["unused_waivers"], "the option was kept"
    assert (desk.here / "made" / "VER-04_ItemSpec.md").is_file()
    again = desk("resume", runs["check-run"], *workspace)
    assert (again.code, again.document["as_of"]) == (0, "2026-05-05")
    assert (desk.here / "here" / "VER-04_verdict.json").is_file()
    assert json.loads((desk.here / "report.json").read_text("utf-8")) == again.document
    assert list(away.iterdir()) == []


def test_resume_asks_whom_the_command_named(desk: Desk) -> None:
    write_recording(desk.here / "none.json", [])
    first = desk("check", "spec", "VER-01.yaml", "--model", "replay:none.json", "-q")
    assert "none.json" in first.line()
    run = desk.run_of("VER-01").name
    assert desk("resume", run, "-q").line() == first.line()
    assert desk("resume", run, "-q", "--model", MODEL).code == 0, "unless another is named today"


def _endless(desk: Desk) -> Path:
    atoms = desk.here / "out" / "VER-01_checker" / "atoms.py"
    edit(
        atoms,
        "    standardized_output = []",
        "    while True:\n        pass\n    standardized_output = []",
    )
    return atoms


@pytest.mark.slow
def test_an_interrupted_run_says_how_to_go_on_and_does(after: Callable[..., Desk]) -> None:
    desk = after("all", "VER-01.yaml", "-o", "out")
    atoms = _endless(desk)
    target = ["check", "run", "out/VER-01_checker", "--var", "CHECKLIST_ROOT=data"]
    process = subprocess.Popen(
        [*COMMAND, *target],
        cwd=desk.here,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    assert process.stderr.readline() == "the checker runs on the input files\n"
    busy = desk.check("run", "out/VER-01_checker", "-q").line()
    assert re.match(rf"process {process.pid} has run \S+ of \S+ open; wait for it to end", busy)
    time.sleep(0.2)  # into the sandbox; before that it would do as well
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    run = desk.run_of("VER-01", "check-run").name
    assert err == f"\ntransom: interrupted; to continue, run: transom resume {run}\n"
    edit(atoms, "    while True:\n        pass\n", "")
    answer = desk("resume", run, "--format", "json", "-q")
    assert (answer.code, answer.document["status"]) == (0, "PASS")


# --- disks


def _mount(desk: Desk, options: str, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in the desk's folder with a small disk mounted at `disk`, seen by that script
    alone.
    """
    (desk.here / "disk").mkdir()
    mount = f"mount -t tmpfs -o {options} tmpfs disk"
    able = ["unshare", "--mount", "sh", "-c", mount]
    if (
        not shutil.which("unshare")
        or subprocess.run(able, cwd=desk.here, capture_output=True, check=False).returncode
    ):
        pytest.skip("mounting a disk needs rights that this user lacks")
    words = ["unshare", "--mount", "sh", "-c", f"{mount} && {script}"]
    return subprocess.run(
        words,
        cwd=desk.here,
        env=clean_environment(TRANSOM_MODEL=MODEL),
        capture_output=True,
        text=True,
        check=False,
    )


FULL = {
    "the copies": "check all VER-01.yaml --var CHECKLIST_ROOT=data -q -o disk",
    "the workspace": "check all VER-01.yaml --var CHECKLIST_ROOT=data -q --workspace disk/w",
}
SIZES = [("the copies", 16), ("the workspace", 16), ("the workspace", 300)]


@pytest.mark.slow
@pytest.mark.parametrize(("what", "size"), SIZES)
def test_no_space_left(what: str, size: int, desk: Desk) -> None:
    done = _mount(desk, f"size={size}k", f"{' '.join(COMMAND)} {FULL[what]}")
    assert (done.returncode, done.stdout) == (2, ""), done
    assert re.fullmatch(r"transom: \S*disk\S*: .*; .*\n", done.stderr), done.stderr
    if what == "the copies":
        assert "No space left on device" in done.stderr
        assert desk("resume", desk.run_of("VER-01").name, "-q").code == 0, (
            "the folder lies on a larger disk now"
        )
        assert desk.attempts("spec/round1_analysis") == 1, "what was done is not lost"


@pytest.mark.slow
@pytest.mark.parametrize("what", FULL)
def test_a_read_only_folder(what: str, desk: Desk) -> None:
    done = _mount(desk, "ro", f"{' '.join(COMMAND)} {FULL[what]}")
    assert (done.returncode, done.stdout) == (2, ""), done
    assert re.fullmatch(r"transom: \S*disk\S*: .*Read-only file system; .*\n", done.stderr), (
        done.stderr
    )


def test_a_folder_that_may_not_be_written(desk: Desk) -> None:
    (desk.here / "shut").mkdir(mode=0o500)
    if os.access("shut", os.W_OK):
        (desk.here / "shut").rmdir()
        (desk.here / "shut").write_text("a file")  # root may write anywhere, but not into a file
    line = desk("check", "spec", "VER-01.yaml", "-q", "-o", "shut").line()
    assert re.match(
        r"shut/\S+: cannot write: .*; make room or choose another folder, then resume", line
    )


@pytest.mark.slow
def test_the_shell_sees_what_the_function_returns(desk: Desk) -> None:
    """The installed command itself, once."""
    script = ROOT / ".venv" / "bin" / "transom"
    command = [str(script)] if script.exists() else COMMAND
    arguments = ["check", "all", "VER-02.yaml", "--var", "CHECKLIST_ROOT=data", "--format", "json"]
    done = subprocess.run(
        [*command, *arguments], cwd=desk.here, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["status"] == "FAIL"
    assert done.stderr.endswith("the checker runs on the input files\n")
