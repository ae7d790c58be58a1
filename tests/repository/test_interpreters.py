"""The steps of the Containerfile on this machine, with each interpreter that it has: all modules
are imported, and two products are shown.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.helpers import clean_environment
from tests.repository.tracked import ROOT, tracked

VERSIONS = ("3.11", "3.12", "3.13")

# Run by the interpreter under test, in an empty folder. It imports every module, in the order of
# their names, and prints those that cannot be imported.
IMPORT_ALL = """\
import importlib, pkgutil, sys
import transom

names = [module.name for module in pkgutil.walk_packages(transom.__path__, "transom.")]
for name in names:
    # The command itself would run, and what ships as an example is no part of the library.
    if name == "transom.__main__" or ".examples" in name:
        continue
    try:
        importlib.import_module(name)
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}")
print(len(names), "modules", sys.version.split()[0])
"""


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Containerfile, each in one line."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    steps = []
    for line in joined.splitlines():
        word, _, rest = line.partition(" ")
        steps.append((word, rest))
    return steps


def interpreter(version: str) -> str:
    """The path of an interpreter of that version; without one the test skips."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [shutil.which(f"python{version}"), "/usr/bin/python3"]
    candidates += [str(path) for path in sorted(root.glob(f"versions/{version}.*/bin/python3"))]
    for candidate in candidates:
        if candidate is None or not Path(candidate).exists():
            continue
        # Another interpreter's shim is there, too, and only fails; and a venv needs ensurepip.
        script = "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run(
            [candidate, "-c", script], capture_output=True, text=True, check=False
        )
        if done.stdout.strip() == version:
            return candidate
    pytest.skip(f"there is no Python {version} on this machine")


def test_what_the_containerfile_copies_is_in_the_repository() -> None:
    files = {path.relative_to(ROOT).as_posix() for path in tracked()}
    for word, rest in instructions():
        if word == "COPY":
            *sources, _ = rest.split()
            for source in sources:
                assert any(name == source or name.startswith(f"{source}/") for name in files), (
                    source
                )
    sets = {path.stem for path in (ROOT / "requirements").glob("*.txt")}
    assert {"build", "core", "anthropic", "openai", "studies", "server"} <= sets


def build(python: str, place: Path) -> Path:
    """Carry out the Containerfile's steps below a folder; returns its program."""
    env = clean_environment(EXTRAS="postgres server studies workers")
    for word, rest in instructions():
        step = rest.replace("/opt/transom", f"{place}/transom").replace(
            "/source", f"{place}/source"
        )
        if word == "COPY":
            *sources, target = step.split()
            for source in sources:
                origin, copy = ROOT / source, Path(target)
                if origin.is_dir():
                    shutil.copytree(origin, copy, symlinks=True, ignore=_INCIDENTAL)
                else:
                    copy.mkdir(parents=True, exist_ok=True)
                    shutil.copy(origin, copy)
        elif word == "RUN" and "/pip " in step:
            command = step.replace("python3 -m venv", f"{python} -m venv")
            done = subprocess.run(
                ["/bin/sh", "-c", command], env=env, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr[-2_000:]
    (entry,) = [rest for word, rest in instructions() if word == "ENTRYPOINT"]
    assert entry == '["/opt/transom/bin/transom"]'
    return place / "transom" / "bin" / "transom"


_INCIDENTAL = shutil.ignore_patterns("__pycache__", "*.egg-info", ".transom")


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_every_room_is_imported_and_two_products_are_shown(version: str, tmp_path: Path) -> None:
    program = build(interpreter(version), tmp_path)
    here = tmp_path / "here"
    here.mkdir()

    def run(*command: str) -> str:
        done = subprocess.run(
            command, cwd=here, env=clean_environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    python = program.with_name("python")
    *failed, counted = run(str(python), "-W", "error::SyntaxWarning", "-c", IMPORT_ALL).splitlines()
    assert failed == []
    assert counted.endswith(f"modules {run(str(python), '-V').split()[1].strip()}")
    assert int(counted.split()[0]) > 600
    assert f"Python {version}." in run(str(python), "-V")
    shown = run(str(program), "demo", "checklist", "investigator", "--workspace", "w")
    assert "FAIL" in shown and "NOT_READY" in shown
