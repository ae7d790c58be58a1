"""What `make wheelhouse` makes is all that a machine without a network needs, by the lines of
the README.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repository.test_docs import OFFLINE
from tests.repository.tracked import ROOT

SCRIPT = ROOT / "scripts" / "wheelhouse.sh"


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def without_network(need_tool: Callable[[str], str]) -> list[str]:
    """The beginning of a command that sees no network, not even this machine's own."""
    for option in ("-n", "-rn"):
        command = [need_tool("unshare"), option]
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            return command
    pytest.skip("this machine permits no network namespace (unshare -n)")


@pytest.mark.slow
def test_the_lines_of_the_readme_install_it_without_a_network(
    without_network: list[str], tmp_path: Path
) -> None:
    here, home, path = (tmp_path / name for name in ("here", "home", "bin"))
    for folder in (here, home, path):
        folder.mkdir()
    made = subprocess.run(
        [SCRIPT, here / "wheelhouse", sys.executable], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    assert [child.name for child in here.iterdir()] == ["wheelhouse"]

    # Not a link: an interpreter looks for its library beside the name that it was called by.
    python = Path(
        sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}"
    )
    (path / "python3").write_text(f'#!/bin/sh\nexec "{python}" "$@"\n', encoding="utf-8")
    (path / "python3").chmod(0o755)
    (block,) = OFFLINE
    done = subprocess.run(
        [*without_network, "bash", "-e", "-c", block.body],
        cwd=here,
        env={"PATH": f"{path}:/usr/bin:/bin", "HOME": str(home), "PIP_CONFIG_FILE": "/dev/null"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"

    examples = ROOT / "examples" / "checks"
    expected = {
        file.stem: json.loads(file.read_bytes())["status"]
        for file in (examples / "expected").glob("*.json")
    }
    said = {
        item: status for status, item in re.findall(r"^  (PASS|FAIL) +(\S+) +\w", done.stdout, re.M)
    }
    assert said == expected
    (installed,) = home.glob("transom/lib/python*/site-packages/transom/examples/checks")
    assert _contents(installed / "data") == _contents(examples / "data"), (
        "the demo writes nothing beside its inputs"
    )


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("chapter one\n", encoding="utf-8")
    done = subprocess.run([SCRIPT, tmp_path, "false"], capture_output=True, text=True, check=False)
    assert (done.returncode, _contents(tmp_path)) == (2, {"thesis.txt": b"chapter one\n"})
    assert done.stderr == f"wheelhouse: {tmp_path} holds something else; name another folder\n"


def test_a_wheelhouse_stays_where_no_new_one_can_be_made(tmp_path: Path) -> None:
    old = tmp_path / "wheelhouse"
    old.mkdir()
    (old / "transom-0.0.1-py3-none-any.whl").write_bytes(b"old")
    done = subprocess.run([SCRIPT, old, "false"], capture_output=True, text=True, check=False)
    assert (done.returncode, [child.name for child in tmp_path.iterdir()]) == (1, ["wheelhouse"])
    assert _contents(old) == {"transom-0.0.1-py3-none-any.whl": b"old"}
