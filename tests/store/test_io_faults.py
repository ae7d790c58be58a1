"""A disk that fails at each call in turn, by a small library that this test builds: what was
acknowledged stays, and the store goes on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.io_faults import FAULTS

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
NEVER_FAIL = {"short"}
"""SQLite writes the rest of a write that ended in the middle."""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("there is no C compiler; run as root: apt-get install -y gcc libc6-dev")
    path = tmp_path_factory.mktemp("io") / "io_faults.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", str(path)]
    subprocess.run([*command, str(HERE / "io_faults.c"), "-ldl"], check=True)
    return path


def lines_of(library: Path, folder: Path, kind: str) -> list[str]:
    """Return what a process with the library prints."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.io_faults", str(folder), kind],
        cwd=HERE.parents[1],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_with_full_durability_every_write_is_synced(library: Path, tmp_path: Path) -> None:
    standard, full = map(int, lines_of(library, tmp_path, "durability"))
    assert standard < 3
    assert full >= 20


@pytest.mark.parametrize("kind", [*FAULTS])
def test_nothing_acknowledged_is_lost_whichever_call_fails(
    library: Path, tmp_path: Path, kind: str
) -> None:
    *problems, last = lines_of(library, tmp_path, kind)
    assert problems == []
    databases, failures = map(int, last.split())
    assert databases > 3, "the library reaches the calls of SQLite"
    if kind in NEVER_FAIL:
        assert failures == 0
    elif FAULTS[kind].is_lasting:
        assert failures > 0
    # A commit of the event loop that fails once is tried again by the thread: whether an append
    # fails then depends on who commits, and nothing is lost either way.
