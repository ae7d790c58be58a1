"""Many items: one line each, one table, nothing lost by a kill, and what becomes of those
without an answer.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from tests.checklist.shipped_model import MODEL
from tests.cli.checks import Desk
from tests.cli.helpers import clean_environment
from transom.cli.check.batch import paths_named

ODD = "description: Confirm that the moon is frobnicated.\n"
PROVIDERS = """\
from transom.errors import NetworkFailed
from transom.llm import Capabilities, RulesProvider


class Flaky:
    name, local, caps = "flaky", True, Capabilities()

    async def complete(self, request, *, on_delta=None):
        open("asked", "a").write(".")
        raise NetworkFailed("the line is dead")

    def estimate_tokens(self, request):
        return 1

    def fingerprint(self, role):
        return "1"

    def is_current(self, source):
        return True
"""


@pytest.fixture
def desk(here: Path, capfd: pytest.CaptureFixture[str]) -> Desk:
    return Desk.at(here, capfd)


@pytest.mark.slow
def test_every_item_has_a_line_and_a_row_whatever_comes_of_it(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(here, capfd)
    (here / "items").mkdir()
    for name in ("B", "A"):
        (here / "items" / f"{name}.yaml").write_text(ODD)
    (here / "items" / "transom.yaml").write_text("model: rules\n")
    answer = desk(
        "check",
        "batch",
        "items",
        "nosuch.yaml",
        "items/*.yaml",
        "-j",
        "2",
        "--report",
        "json:all.json",
    )
    assert answer.code == 2, "an error before a pause"
    assert [line.split()[:2] for line in answer.out.splitlines()[:3]] == [
        ["NEEDS_MODEL", "A"],
        ["NEEDS_MODEL", "B"],
        ["ERROR", "nosuch"],
    ]
    assert answer.out.endswith("\n3 checks: 1 ERROR, 2 NEEDS_MODEL\n")
    assert re.findall(r"^\[(\d)/3\] ", answer.err, re.M) == ["1", "2", "3"]
    (file,) = (here / ".transom" / "runs" / "batch").glob("*/escalations.jsonl")
    (row,) = [json.loads(line) for line in file.read_text().splitlines()]
    assert (row["item_id"], "no such file" in row["cause"]) == ("nosuch", True)
    document = json.loads((here / "all.json").read_text())
    assert (document["schema"], [one["item_id"] for one in document["checks"]]) == (
        "transom.checks/1",
        ["A", "B", "nosuch"],
    )
    one = desk("check", "batch", "items/A.yaml", "--format", "json", "-q")
    assert (one.code, one.document["schema"], one.err) == (3, "transom.checks/1", "")
    mine = desk("resume", "A", "--format", "json", "-q").document
    assert (mine["schema"], mine["item_id"]) == ("transom.check/1", "A"), (
        "an item's run is resumed by itself"
    )
    assert "there is no item" in desk("check", "batch", "none/*.yaml").line()


@pytest.mark.slow
def test_a_provider_that_failed_is_asked_again_after_a_while_and_then_given_up(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(here, capfd)
    (here / "flaky.py").write_text(PROVIDERS)
    (here / "A.yaml").write_text(ODD)
    monkeypatch.setenv("TRANSOM_EXECUTION__RETRY_AFTER", "0.5")
    # The provider's own retries within one try are another matter.
    monkeypatch.setenv("TRANSOM_LLM__RETRY__MAX_ATTEMPTS", "1")
    answer = desk("check", "batch", "A.yaml", "--model", "flaky:Flaky")
    assert (answer.code, answer.out.split()[:2]) == (2, ["ERROR", "A"])
    assert "A.yaml: a provider failed; it is asked again at " in answer.err
    assert (here / "asked").read_text() == ".."
    (held,) = desk.records("held")
    assert held["target"] == str(here / "A.yaml") and "the line is dead" in held["cause"]
    (file,) = (here / ".transom" / "runs" / "batch").glob("*/escalations.jsonl")
    assert "the line is dead" in json.loads(file.read_text())["cause"]


@pytest.mark.slow
def test_a_kill_in_the_middle_loses_nothing_and_asks_nothing_twice(model_desk: Desk) -> None:
    desk = model_desk
    command = [
        sys.executable,
        "-m",
        "transom",
        "check",
        "batch",
        ".",
        "-j",
        "4",
        "--format",
        "json",
    ]
    command += ["--var", f"CHECKLIST_ROOT={desk.here / 'data'}"]
    with subprocess.Popen(
        command,
        env=clean_environment(TRANSOM_MODEL=MODEL),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if re.match(r"\[ ?4/14\]", line):
                break
        process.send_signal(signal.SIGKILL)
    for _ in range(100):
        if not (children := _children()):
            break
        time.sleep(0.1)
    assert not children, "a process of a batch ends with it"
    replies = len(desk.records("model_reply"))
    answer = desk("resume", "batch", "--format", "json", "-q")
    summary: dict[str, Any] = answer.document["summary"]
    assert (answer.code, summary["PASS"], summary["FAIL"]) == (1, 7, 7)
    assert len(desk.records("model_reply")) == 14 * 7 > replies > 0, (
        "seven calls an item, none of them twice"
    )


@pytest.mark.slow
def test_an_item_that_waits_for_a_person_is_answered_and_the_batch_resumed(desk: Desk) -> None:
    (desk.here / "items").mkdir()
    shutil.move("VER-02.yaml", "items/VER-02.yaml")
    logs = "input_files: ['${CHECKLIST_ROOT}/updown/sta_signoff.log']\n"
    (desk.here / "items" / "NEAR.yaml").write_text(
        f"description: The netlist and SPEF header is complete.\n{logs}"
    )
    reports = [
        word for kind in ("csv", "sarif", "junit") for word in ("--report", f"{kind}:all.{kind}")
    ]
    answer = desk.check("batch", "items", *reports)
    assert (answer.code, answer.out.endswith("2 checks: 1 FAIL, 1 NEEDS_MODEL\n")) == (3, True)
    run = re.findall(
        r"^1 item waiting: transom waiting; then: transom resume (\S+)$", answer.err, re.M
    )
    (question,) = desk("waiting", "--format", "json").document["questions"]
    assert "NEAR" in question["asks"] and "not understood" in Path("all.csv").read_text()
    assert desk("answer", question["runs"][0], "--choose", "1", "--by", "Ann").code == 0
    resumed = desk("resume", *run)
    assert (resumed.code, resumed.out.endswith("2 checks: 1 PASS, 1 FAIL\n")) == (1, True), (
        resumed.out
    )
    assert [len(list(suite)) for suite in JUnitXml.fromfile("all.junit")] == [2], (
        "its reports are written anew"
    )
    assert "waiting" not in resumed.err


def _children() -> list[int]:
    """Processes of a batch in this folder."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            mine = (one / "cwd").readlink() == Path.cwd()
            if mine and b"transom.cli.hand" in (one / "cmdline").read_bytes():
                found.append(int(one.name))
        except OSError:
            continue
    return found


@pytest.mark.slow
def test_only_what_is_new_since_a_baseline_fails(desk: Desk) -> None:
    first = desk.check("batch", "VER-02.yaml", "-q", "--report", "json:before.json")
    assert first.code == 1
    known = desk.check(
        "all", "VER-02.yaml", "--baseline", "before.json", "-q", "--report", "sarif:r.sarif"
    )
    assert (known.code, known.out.splitlines()[0][:25]) == (0, "FAIL, nothing new  VER-02")
    states = [
        one["baselineState"]
        for one in json.loads(Path("r.sarif").read_text())["runs"][0]["results"]
    ]
    assert states == ["unchanged"]
    netlist = desk.here / "data" / "updown" / "updown.spef"
    netlist.write_text(netlist.read_text().replace("*PROGRAM", "*PROGRAMME"))
    fresh = desk.check("run", "VER-02.yaml", "--baseline", "before.json", "--format", "json", "-q")
    assert (fresh.code, fresh.document["baseline"]) == (1, {"new": 1, "known": 1, "gone": 0})
    assert [one["id"] for one in fresh.document["missing_items"]] == ["2.4"]
    assert (
        "is no result of transom check"
        in desk.check("run", "VER-02.yaml", "--baseline", "VER-02.yaml").line()
    )
    told = desk("check", "explain", "batch", "VER-02")
    assert (told.code, "  2.2 Netlist Version Completeness: " in told.out) == (0, True)


@pytest.mark.slow
def test_each_waiver_that_counted_stands_in_the_audit(desk: Desk) -> None:
    assert desk.check("all", "VER-04.yaml", "-q").code == 0
    (row,) = [
        json.loads(line)
        for line in (desk.here / ".transom" / "waiver_audit.jsonl").read_text().splitlines()
    ]
    assert (row["item_id"], row["match"], row["approver"], row["expires"]) == (
        "VER-04",
        "exact",
        None,
        None,
    )
    assert row["reason"] and row["time"] and row["finding"]["id"] == "2.2"


def test_a_glob_of_items_takes_no_checker_out_of_a_workspace(here: Path) -> None:
    for name in ("A.yaml", "block/B.yaml", "ws/runs/A/20261121-093000-0123456789/checker.yaml"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text("description: x\n")
    assert sorted(map(str, paths_named(["**/*.yaml"]))) == ["A.yaml", "block/B.yaml"]
