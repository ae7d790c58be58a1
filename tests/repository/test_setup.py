"""The set-up scripts on a machine that lacks packages: they install them, or name the command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.tracked import ROOT

# programs that the scripts use, and that every Debian has
ESSENTIAL = ("bash", "cat", "dirname", "mktemp", "rm", "touch")


class Machine:
    """A copy of the scripts, and a folder that is all of the machine's search path.

    `id` says who the user is. `apt-get` installs by making the packages' programs.
    """

    def __init__(self, folder: Path, user_id: int) -> None:
        self.folder = folder
        self.programs = folder / "bin"
        self.programs.mkdir()
        shutil.copytree(ROOT / "scripts", folder / "scripts")
        for name in ESSENTIAL:
            self.add(name, Path(shutil.which(name) or f"/bin/{name}"))
        self.script("id", f"echo {user_id}")
        self.script(
            "apt-get",
            f'echo "$@" >>{folder}/installed\n'
            'for word in "$@"; do case $word in\n'
            f"  bubblewrap) {sys.executable} -c \"open('{self.programs}/bwrap', 'w')\"\n"
            f"    {sys.executable} -c \"import os; os.chmod('{self.programs}/bwrap', 0o755)\" ;;\n"
            f"  python3) {sys.executable} -c \"import os; os.symlink('{sys.executable}',"
            f" '{self.programs}/python3')\" ;;\n"
            "esac; done",
        )

    def add(self, name: str, target: Path) -> None:
        (self.programs / name).symlink_to(target)

    def script(self, name: str, body: str) -> None:
        path = self.programs / name
        path.write_text(f"#!/bin/bash\n{body}\n", "utf-8")
        path.chmod(0o755)

    def run(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.programs), **environ}
        return subprocess.run(
            ["/bin/bash", *words],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def installed(self) -> str:
        path = self.folder / "installed"
        return path.read_text("utf-8") if path.exists() else ""


@pytest.fixture
def user(tmp_path: Path) -> Machine:
    return Machine(tmp_path, 1000)


@pytest.fixture
def root(tmp_path: Path) -> Machine:
    return Machine(tmp_path, 0)


def test_a_user_without_python_is_told_what_root_must_type(user: Machine) -> None:
    done = user.run("scripts/setup-venv.sh", "core")
    assert done.returncode == 2
    assert done.stderr == (
        "setup: there is no Python 3.11 or later; run as root: apt-get install -y python3"
        " python3-venv\n"
    )
    assert user.installed == ""


@pytest.mark.slow
def test_root_without_python_gets_it_installed(root: Machine) -> None:
    done = root.run("scripts/setup-venv.sh", "nothing-of-this-name")
    assert "setup: apt-get install -y python3 python3-venv\n" in done.stderr
    assert "python3 python3-venv" in root.installed
    assert "setup: making .venv with Python 3." in done.stderr
    assert (root.folder / ".venv" / "bin" / "python").exists()


def test_an_interpreter_that_the_caller_names_is_not_replaced_by_a_package(root: Machine) -> None:
    done = root.run("scripts/setup-venv.sh", "core", PYTHON="/no/such/python")
    assert done.returncode == 2
    assert done.stderr == "setup: there is no program /no/such/python; correct PYTHON\n"
    assert root.installed == ""


def test_an_older_python_asks_for_another_one(user: Machine) -> None:
    user.script("python3", "exit 1")
    done = user.run("scripts/setup-venv.sh", "core")
    assert done.returncode == 2
    assert "set PYTHON=/path/to/python3.11" in done.stderr and "apt-get" not in done.stderr


def test_a_machine_without_apt_asks_for_an_interpreter(user: Machine) -> None:
    (user.programs / "apt-get").unlink()
    done = user.run("scripts/setup-venv.sh", "core")
    assert done.returncode == 2
    assert "set PYTHON=/path/to/python3.11 or later" in done.stderr


@pytest.mark.parametrize("command", ["demo", "test", "fence"])
def test_each_command_installs_the_sandbox_for_root(root: Machine, command: str) -> None:
    for name in ("git", "yosys", "sta", "strace", "pg_createcluster", "chromium"):
        root.script(name, "exit 0")
    done = root.run("scripts/setup-tools.sh", command)
    assert done.returncode == 0
    assert done.stderr == "setup: apt-get install -y bubblewrap\n"
    assert "bubblewrap" in root.installed
    again = root.run("scripts/setup-tools.sh", command)
    assert (again.returncode, again.stderr) == (0, "")


@pytest.mark.parametrize("command", ["demo", "test", "fence"])
def test_a_user_is_told_of_missing_tools_and_the_command_goes_on(
    user: Machine, command: str
) -> None:
    for name in ("git", "yosys", "sta", "strace", "pg_createcluster", "chromium"):
        user.script(name, "exit 0")
    done = user.run("scripts/setup-tools.sh", command)
    assert done.returncode == 0
    assert done.stderr == (
        "setup: missing: bubblewrap; run as root: apt-get install -y bubblewrap\n"
    )
    strict = user.run("scripts/setup-tools.sh", command, CI="true")
    assert strict.returncode == (0 if command == "demo" else 1)


def test_the_scripts_for_a_bare_machine_are_executable() -> None:
    for name in ("setup-venv.sh", "setup-tools.sh", "fresh-enter.sh"):
        assert os.access(ROOT / "scripts" / name, os.X_OK)
