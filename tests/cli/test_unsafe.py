"""`--unsafe-no-sandbox`: asked for by name, told on stderr, marked in the verdict; without it no
code is run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checklist.judging.support import DESIGN, checker, write_files

_MAIN = "from transom.cli import main\nraise SystemExit(main())\n"
_NO_SECCOMP = """
import errno, pyseccomp, sys
from transom.sandbox.seccomp import filter_program
filter_program()
rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
rules.add_rule(pyseccomp.ERRNO(errno.EINVAL), "prctl", pyseccomp.Arg(0, pyseccomp.EQ, 22))
rules.load()
"""
_OTHER_PROCESSOR = "import platform\nplatform.machine = lambda: 's390x'\n"


def _run(folder: Path, *arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    checker(folder, "versions")
    item = "description: Confirm it.\nitem_id: VERSIONS\ninput_files: [sta.log]\n"
    write_files(folder, {**DESIGN, "ITEM.yaml": item, "checker/item.yaml": item})
    command = [
        sys.executable,
        "-c",
        before + _MAIN,
        "check",
        "run",
        "checker",
        "--format",
        "json",
        *arguments,
    ]
    variables = [f"--var=CHECKLIST_ROOT={folder}"]
    return subprocess.run(
        [*command, *variables],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )


@pytest.mark.slow
def test_the_flag_says_what_it_risks_and_marks_the_verdict(tmp_path: Path) -> None:
    done = _run(tmp_path, "--unsafe-no-sandbox")
    assert "--unsafe-no-sandbox: generated code runs with your rights" in done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["sandbox_level"] == "none"
    assert "without a sandbox" in verdict["warnings"][-1]["message"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "before", [_NO_SECCOMP, _OTHER_PROCESSOR], ids=["no seccomp", "unknown processor"]
)
def test_without_a_sandbox_it_refuses_in_one_line_that_names_the_flag(
    tmp_path: Path, before: str
) -> None:
    done = _run(tmp_path, "--quiet", before=before)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "cannot be isolated" in done.stderr
    assert "--unsafe-no-sandbox" in done.stderr
    done = _run(tmp_path, "--unsafe-no-sandbox", before=before)
    assert json.loads(done.stdout)["sandbox_level"] == "none"


@pytest.mark.slow
def test_the_flag_does_not_overrule_settings_that_insist(tmp_path: Path) -> None:
    (tmp_path / "transom.yaml").write_text("sandbox: {level: L1}\n")
    done = _run(tmp_path, "--unsafe-no-sandbox")
    assert done.returncode == 2
    assert "the settings insist on sandbox.level L1" in done.stderr
