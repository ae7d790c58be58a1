"""What a worker asks of the kernel in a normal check, as `strace` sees it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_CHECK = """
import sys
from pathlib import Path
from tests.checklist.judging.support import DESIGN, checker, run
from transom.sandbox import Level, Sandbox
folder = Path(sys.argv[1])
item = "requirements: {value: 2, pattern_items: ['4.2', 'Extractor']}\\n"
verdict = run(checker(folder, "versions"), folder, DESIGN, item=item, runner=Sandbox(level=Level.L2))
print(verdict.status, verdict.sandbox_level)
"""
_LOCKED = re.compile(r"^(\d+) +prctl\(PR_SET_SECCOMP, SECCOMP_MODE_FILTER.* = 0$", re.MULTILINE)
_WANTED = {"read", "write"}
_HARMLESS = {
    "brk", "clock_gettime", "clock_nanosleep", "exit_group", "futex", "getpid", "getrandom", "gettid", "madvise",
    "mmap", "mprotect", "mremap", "munmap", "prlimit64", "rt_sigprocmask", "rt_sigreturn", "sched_yield",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.needs("L2")
def test_a_worker_opens_no_file_and_makes_no_socket(tmp_path: Path) -> None:
    calls = _calls_after_lock(_trace(tmp_path))
    assert calls >= _WANTED
    assert calls <= _WANTED | _HARMLESS


def _trace(folder: Path) -> str:
    strace = shutil.which("strace")
    if strace is None:
        assert os.environ.get("CI") != "true", (
            "strace is missing: scripts/setup-tools.sh installs it"
        )
        pytest.skip("strace is not installed")
    log = folder / "trace"
    done = subprocess.run(
        [strace, "-f", "-o", str(log), sys.executable, "-c", _CHECK, str(folder)],
        capture_output=True, text=True, cwd=_ROOT, check=False,
        env={**os.environ, "PYTHONPATH": f"{_ROOT}/src:{_ROOT}"},
    )  # fmt: skip
    if "PTRACE_TRACEME" in done.stderr or "Operation not permitted" in done.stderr:
        pytest.skip(f"ptrace is forbidden here: {done.stderr.splitlines()[0]}")
    assert done.stdout == "PASS L2\n", done.stderr[-2000:]
    return log.read_text(errors="replace")


def _calls_after_lock(trace: str) -> set[str]:
    """Names of the system calls that locked workers made, those that failed included."""
    assert "openat(" in trace  # the parent's own, so it does see them
    workers = list(_LOCKED.finditer(trace))
    assert workers
    found: set[str] = set()
    for worker in workers:
        own = re.compile(rf"^{worker[1]} +(?:<\.\.\. )?(\w+)", re.MULTILINE)
        found |= {call[1] for call in own.finditer(trace, worker.end())}
    return found
