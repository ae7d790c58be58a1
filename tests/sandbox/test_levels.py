"""What a machine offers is found by trying, and what is missing is named. Each poorer machine
here is a real one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from transom.errors import SandboxUnavailable
from transom.sandbox import Level, Probe, Sandbox, needs, probe
from transom.sandbox.seccomp import filter_program

_REPORT = """
from transom.errors import SandboxUnavailable
from transom.errors import SandboxUnavailable
from transom.sandbox import Level, Sandbox, probe
found = probe()
print(found.level.value)
for level, missing in found.missing:
    print(level.value, missing)
for wanted in (None, Level.L3):
    try:
        print("took", Sandbox(level=wanted).level.value)
    except SandboxUnavailable as error:
        print(error)
"""
_NO_LANDLOCK = """
import errno, pyseccomp
rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), 444)
rules.load()
"""
_NO_SECCOMP = """
import errno, pyseccomp
from transom.sandbox.seccomp import filter_program
filter_program()
rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
rules.add_rule(pyseccomp.ERRNO(errno.EINVAL), "prctl", pyseccomp.Arg(0, pyseccomp.EQ, 22))
rules.load()
"""


def _report(code: str = "", prefix: tuple[str, ...] = (), python_path: str = "") -> list[str]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": python_path}
    done = subprocess.run(
        [*prefix, sys.executable, "-c", code + _REPORT],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_probe_is_asked_once_and_names_every_higher_level() -> None:
    found = probe()
    assert found is probe()
    order = [Level.NONE, Level.L1, Level.L2, Level.L3]
    assert [level for level, _ in found.missing] == order[order.index(found.level) + 1 :]
    assert found == Probe(found.level, found.missing)


@pytest.mark.needs("L1")
def test_the_best_level_is_taken() -> None:
    assert Sandbox().level is probe().level
    assert Sandbox(level=Level.L1).level is Level.L1


@pytest.fixture
def probed_anew() -> Iterator[None]:
    probe.cache_clear()
    yield
    probe.cache_clear()


@pytest.mark.needs("L2")
@pytest.mark.usefixtures("probed_anew")
def test_without_bubblewrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert probe() == Probe(
        Level.L2,
        (
            (
                Level.L3,
                "bubblewrap is not installed; run as root: apt-get install -y bubblewrap",
            ),
        ),
    )
    assert needs(Level.L3) == dict(probe().missing)[Level.L3]
    assert needs(Level.L2) == needs(Level.L1) == ""
    assert Sandbox().level is Level.L2
    with pytest.raises(SandboxUnavailable, match="at level L3: bubblewrap is not installed"):
        Sandbox(level=Level.L3)


@pytest.mark.needs("L2")
@pytest.mark.usefixtures("probed_anew")
@pytest.mark.parametrize(
    ("script", "missing"),
    [
        (
            "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n",
            "bwrap: No permissions",
        ),
        ("#!/bin/sh\nexit 3\n", "the child ended with code 3"),
        ("no program", "the child did not start: "),
        ("#!/bin/sh\nexec sleep 9\n", "the child did not answer within 0.2 s"),
    ],
)
def test_with_a_bubblewrap_that_does_not_work(
    script: str, missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = tmp_path / "bwrap"
    refusing.write_text(script)
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    if "sleep" in script:
        monkeypatch.setattr("transom.sandbox.levels._PROBE_SECONDS", 0.2)
    assert dict(probe().missing)[Level.L3].startswith(missing)


@pytest.mark.needs("L2")
def test_on_a_kernel_without_landlock() -> None:
    said = _report(_NO_LANDLOCK)
    assert said[0] == "L1"
    assert said[1].startswith("L2 Landlock: Function not implemented; use Linux 5.13 or later")
    assert said[3] == "took L1"


@pytest.mark.needs("L2")
def test_on_a_kernel_without_seccomp() -> None:
    said = _report(_NO_SECCOMP)
    assert said[0] == "none"
    assert said[1].startswith("L1 seccomp: ")
    assert said[4].startswith("untrusted code cannot be isolated at level L1: seccomp: ")
    assert said[4].endswith("--unsafe-no-sandbox")


def test_without_libseccomp(tmp_path: Path) -> None:
    (tmp_path / "pyseccomp.py").write_text("raise RuntimeError('Unable to find libseccomp')")
    said = _report(python_path=str(tmp_path))
    assert said[0] == "none"
    assert "libseccomp cannot be loaded: Unable to find libseccomp" in said[4]


@pytest.mark.skipif(shutil.which("setarch") is None, reason="needs util-linux")
def test_on_an_unknown_processor() -> None:
    said = _report(prefix=("setarch", "linux32"))
    assert said[0] == "none"
    assert "unknown processor i686" in said[4]


@pytest.mark.usefixtures("probed_anew")
def test_on_another_system(monkeypatch: pytest.MonkeyPatch) -> None:
    filter_program.cache_clear()
    with monkeypatch.context() as changed:
        changed.setattr("transom.sandbox.seccomp.sys.platform", "sunos5")
        assert probe().level is Level.NONE
        with pytest.raises(SandboxUnavailable, match="at level L1: sunos5 has no seccomp"):
            Sandbox()
