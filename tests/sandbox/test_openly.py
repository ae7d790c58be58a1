"""A program that is run openly: how it ends, and that nothing which it started outlives it."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from transom.errors import InputError
from transom.sandbox import run_openly

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="subreapers are Linux's")

# A process in a session of its own, without the variables of its parent, that ignores signals.
STUBBORN = """
import os, signal, subprocess, sys, time
code = "import signal, time\\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\\ntime.sleep(60)"
child = subprocess.Popen([sys.executable, "-c", code], env={}, start_new_session=True)
open(sys.argv[1], "a").write(f"{child.pid}\\n")
"""
# A daemon: its parent and its grandparent have ended.
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[1], "a").write(f"{os.getpid()}\\n")
        time.sleep(60)
    os._exit(0)
time.sleep(0.5)
"""
# Started by a thread, which /proc lists apart from the main one.
FROM_A_THREAD = """
import subprocess, sys, threading, time
def start():
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    open(sys.argv[1], "a").write(f"{child.pid}\\n")
    time.sleep(60)
threading.Thread(target=start, daemon=True).start()
time.sleep(0.5)
"""
WAYS = {"stubborn": STUBBORN, "daemon": DAEMON, "thread": FROM_A_THREAD}


def survivors(file: Path) -> list[int]:
    """The processes of a list that exist, zombies too."""
    pids = [*map(int, file.read_text().split())]
    assert pids, "the program started one"
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("end", ["itself", "time", "cancelled"])
async def test_no_process_outlives_the_program(tmp_path: Path, way: str, end: str) -> None:
    file = tmp_path / "pids"
    tail = "" if end == "itself" else "\nimport time; time.sleep(60)"
    argv = [sys.executable, "-c", WAYS[way] + tail, str(file)]
    seconds = 2.0 if end == "time" else None
    work = asyncio.ensure_future(run_openly(argv, tmp_path, {}, seconds=seconds, setting="x"))
    if end == "cancelled":
        while not file.exists() or not file.read_text():
            await asyncio.sleep(0.02)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    else:
        assert (await work).ended == end
    assert not survivors(file)


async def test_a_killed_orchestrator_leaves_no_program(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    code = (
        "import asyncio, sys, pathlib; from transom.sandbox import run_openly;"
        f"asyncio.run(run_openly([sys.executable, '-c', {STUBBORN + 'time.sleep(60)'!r},"
        f" {str(file)!r}], pathlib.Path({str(tmp_path)!r}), {{}}, setting='x'))"
    )
    orchestrator = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    while not file.exists() or not file.read_text():
        await asyncio.sleep(0.02)
    orchestrator.send_signal(signal.SIGKILL)
    await orchestrator.wait()
    for _ in range(500):
        if not survivors(file):
            return
        await asyncio.sleep(0.02)
    pytest.fail("a process was left")


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -9 $$", -9), ("exit 0", 0)])
async def test_the_exit_code_is_the_programs(tmp_path: Path, script: str, code: int) -> None:
    done = await run_openly(["sh", "-c", f"cat; {script}"], tmp_path, {}, prompt="a", setting="x")
    assert (done.code, done.stdout) == (code, "a")


async def test_a_program_that_cannot_be_started_is_an_error_with_its_setting(
    tmp_path: Path,
) -> None:
    for program in ("no-such-program", str(tmp_path)):
        with pytest.raises(InputError, match=r"cannot be started.*correct the\.setting"):
            await run_openly([program], tmp_path, {}, setting="the.setting")


async def test_a_program_sees_no_file_of_the_orchestrator(tmp_path: Path) -> None:
    code = "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])"
    done = await run_openly([sys.executable, "-c", code], tmp_path, {}, setting="x")
    assert done.stdout.strip() == "[0, 1, 2]"
