"""`transom demo` shows the examples and leaves a person's workspace and item ids alone."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.checks import EXAMPLES, Desk
from tests.cli.helpers import COMMAND, clean_environment
from transom.cli.demo import product_named


@pytest.mark.slow
def test_the_demo_keeps_to_a_workspace_of_its_own(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    transom = Desk(here, capfd)
    examples = here / "examples" / "checks"
    examples.mkdir(parents=True)
    shutil.copytree(EXAMPLES / "data", examples / "data")
    for name in ("VER-01.yaml", "VER-02.yaml"):
        shutil.copy(EXAMPLES / name, examples)
    (here / "transom.yaml").write_text(
        "paths: {output_dir: mine}\nmodel: replay:nosuch.json\n", "utf-8"
    )
    first = transom("demo", "checklist")
    assert first.code == 0, first
    assert re.search(r"PASS +VER-01", first.out)
    assert re.search(r"FAIL +VER-02", first.out)
    assert "The verdict on VER-02, with the lines that decided" in first.out
    assert not (here / "mine").exists()
    again = transom("demo", "checklist")
    assert again.code == 0
    for line in re.findall(r"transom ((?:window|trace|runs) show .*)", again.out):
        assert transom(*shlex.split(line)).code == 0, line
    monkeypatch.setenv("TRANSOM_MODEL", "rules")
    assert transom("runs", "list", "--format", "json").out.count("run_id") == 0
    own = here / "own" / "VER-01.yaml"
    own.parent.mkdir()
    shutil.copy(EXAMPLES / "VER-01.yaml", own)
    data = f"CHECKLIST_ROOT={examples / 'data'}"
    assert transom("check", "all", str(own), "--var", data, "-q").code == 0, "the id is free"
    assert transom("demo", "checklist", "-q").code == 0


@pytest.mark.slow
def test_ctrl_c_says_how_the_demonstration_goes_on(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples" / "checks")
    command = ["demo", "checklist", "--workspace", "w"]
    with subprocess.Popen(
        [*COMMAND, *command],
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout
        first_item = (line for line in process.stdout if "IMP-10" in line)
        assert next(first_item), "one item is done"
        process.send_signal(signal.SIGINT)
        said = process.stdout.read()
    assert said.endswith(f"\ntransom: interrupted; to continue, run: transom {' '.join(command)}\n")
    assert process.returncode == 130


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("storis", "did you mean stories?"),
        ("chekc", "did you mean check?"),
        ("everything-else", "the products are checklist, investigator, stories, studies, learning"),
    ],
)
def test_a_name_that_is_no_product_gets_the_nearest_one_and_the_list(
    here: Path, capfd: pytest.CaptureFixture[str], word: str, hint: str
) -> None:
    result = Desk(here, capfd)("demo", word)
    assert result.code == 2
    assert f"'{word}' is not a product; {hint}" in result.err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "product"),
    [
        ("check", "checklist"),
        ("investigate", "investigator"),
        ("story", "stories"),
        ("study", "studies"),
        ("playbook", "learning"),
        ("Checklist", "checklist"),
    ],
)
def test_a_product_has_its_own_name_and_that_of_its_command(command: str, product: str) -> None:
    assert product_named(command) == product_named(product) == product


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.needs("L1")
def test_the_demo_by_a_commands_name_shows_the_product_and_no_tokens(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    transom = Desk(here, capfd)
    shown = transom("demo", "playbook", "--format", "json")
    assert shown.code == 0, shown
    document = json.loads(shown.out)
    assert document.keys() == {"schema", "learning"}
    workspace = ("--workspace", ".transom/demo/learning")
    calls = json.loads(transom("trace", "stats", *workspace, "--format", "json").out)
    assert [row["input_tokens"] for row in calls["rows"]] == [0] * len(calls["rows"])
    (run, *_) = json.loads(transom("runs", "list", *workspace, "--format", "json").out)["runs"]
    shown = transom("window", "show", run["run_id"], *workspace)
    assert " tokens in " not in shown.out
