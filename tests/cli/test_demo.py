"""`transom demo` shows the examples and leaves a person's workspace and item ids alone."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.checks import EXAMPLES, Desk
from tests.cli.helpers import COMMAND, clean_environment


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
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr
        assert process.stderr.readline().startswith("IMP-10"), "one item is done"
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert said.endswith(f"\ntransom: interrupted; go on with: transom {' '.join(command)}\n")
    assert process.returncode == 130
