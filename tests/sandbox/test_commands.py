"""Real commands in a project's folder: what they may do, what they may not, and that nothing of
them stays.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from transom.errors import InputError
from transom.sandbox import CommandLimits, Done, Level, run_command

EACH_LEVEL = pytest.mark.parametrize(
    "shut_in",
    [
        pytest.param(Level.L3, marks=pytest.mark.needs("L3"), id="L3"),
        pytest.param(Level.L2, marks=pytest.mark.needs("L2"), id="L2"),
    ],
)
_BASE = Path(sys.base_prefix)


def command(project: Path, level: Level, *argv: str, **limits: float) -> Done:
    project.mkdir(exist_ok=True)
    given = CommandLimits(**limits)  # type: ignore[arg-type]  # fields of CommandLimits
    return asyncio.run(run_command(argv, project, limits=given, readable=[_BASE], level=level))


def python(project: Path, level: Level, code: str, **limits: float) -> Done:
    interpreter = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]  # the interpreter behind a venv has no public name
    return command(project, level, str(interpreter), "-c", code, **limits)


@EACH_LEVEL
def test_git_and_python_work_in_the_project(tmp_path: Path, shut_in: Level) -> None:
    project = tmp_path / "p"
    assert command(project, shut_in, "git", "init", "-q").code == 0
    done = python(
        project,
        shut_in,
        "open('a.txt', 'w').write('hello'); import sys; print('out'); print('err',"
        " file=sys.stderr)",
    )
    assert done == Done(0, "out\n", "err\n")
    assert command(project, shut_in, "git", "add", "a.txt").code == 0
    who = ["-c", "user.name=n", "-c", "user.email=e@x"]
    assert command(project, shut_in, "git", *who, "commit", "-qm", "first").code == 0
    assert command(project, shut_in, "git", "log", "--format=%s").stdout == "first\n"
    assert command(project, shut_in, "sh", "-c", "exit 7").code == 7
    assert (project / "a.txt").read_text() == "hello"


@pytest.mark.needs("L3")
def test_the_link_of_a_worktree_to_its_repository_cannot_be_replaced(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    for words in (
        ["rm", "-f", ".git"],
        ["mv", ".git", "git"],
        ["sh", "-c", "echo x > .git"],
        ["ln", "-sf", "a", ".git"],
    ):
        assert command(tmp_path, Level.L3, *words).code
    assert (tmp_path / ".git").read_text() == "gitdir: elsewhere\n" and command(
        tmp_path, Level.L3, "touch", "b"
    ).code == 0


@EACH_LEVEL
@pytest.mark.parametrize(
    "code",
    [
        "open('{outside}/secret').read()",
        "open('/usr/mark', 'w')",
        "open('/mark', 'w')",
        "open('/dev/mark', 'w')",
        "open('/etc/passwd').read()",
        "import socket; socket.socket(socket.AF_INET)",
        "import socket; socket.socket(socket.AF_UNIX)",
        "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
        "import os; os.kill({pid}, 0)",
        "import os; os.environ['TRANSOM_SECRET']",
        "import os; os.read({held}, 1)",
        "open('a', 'wb').write(bytes(3 << 20))",
        "bytes(2 << 30)",
    ],
)
def test_what_lies_outside_is_out_of_reach(
    tmp_path: Path, shut_in: Level, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "os.kill" in code and shut_in is Level.L2:
        pytest.skip("at level L2 an older kernel lets a command signal the user's processes")
    monkeypatch.setenv("TRANSOM_SECRET", "x")
    (tmp_path / "secret").write_text("x")
    held, other = os.pipe()
    os.set_inheritable(held, True)
    filled = code.format(outside=tmp_path, pid=os.getpid(), held=held)
    done = python(tmp_path / "p", shut_in, filled, file_bytes=1 << 20, memory_bytes=1 << 30)
    os.close(held)
    os.close(other)
    assert done.code != 0 and "Traceback" in done.stderr


@pytest.mark.needs("L3")
def test_its_scratch_is_its_own(tmp_path: Path) -> None:
    done = python(tmp_path / "p", Level.L3, f"open('{tmp_path}/mark', 'w'); open('/tmp/mark', 'w')")
    assert done.code == 0
    assert not (tmp_path / "mark").exists()
    assert not Path("/tmp/mark").exists()


@pytest.mark.needs("L2")
def test_temporary_files_at_level_2_are_removed_with_the_command(tmp_path: Path) -> None:
    code = "import tempfile; print(tempfile.mkstemp()[1])"
    done = python(tmp_path / "p", Level.L2, code)
    assert done.code == 0, done.stderr
    created = Path(done.stdout.strip())
    assert not created.exists() and not created.parent.exists()


@pytest.mark.fence
@pytest.mark.slow
@pytest.mark.needs("L2")
def test_a_command_at_level_2_ends_with_the_caller_although_that_is_killed(tmp_path: Path) -> None:
    """The command starts a daemon in its own session, which is ended too."""
    (tmp_path / "p").mkdir()
    daemon = "setsid sh -c 'touch begun; sleep 2; touch late' & sleep 60"
    caller = (
        "import asyncio, pathlib, sys\n"
        "from transom.sandbox import Level, run_command\n"
        "words = ['sh', '-c', sys.argv[2]]\n"
        "asyncio.run(run_command(words, pathlib.Path(sys.argv[1]), level=Level.L2))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", caller, str(tmp_path / "p"), daemon])
    deadline = time.monotonic() + 60
    while not (tmp_path / "p" / "begun").exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    time.sleep(2.5)
    assert not (tmp_path / "p" / "late").exists()


def test_a_command_is_never_run_at_a_level_without_a_file_system_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="level L2 or L3, not L1"):
        asyncio.run(run_command(["true"], tmp_path, level=Level.L1))


@EACH_LEVEL
@pytest.mark.slow
def test_the_clock_ends_the_whole_tree_and_daemons_do_not_outlive_a_command(
    tmp_path: Path, shut_in: Level
) -> None:
    daemon = (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n{late}\n   "
        " os._exit(0)\n"
    )
    late = "        time.sleep(0.6); open('late', 'w')"
    ended = python(tmp_path / "p", shut_in, daemon.format(late=late))
    assert (ended.code, ended.ended) == (0, "itself")
    start = time.monotonic()
    slow = python(
        tmp_path / "p", shut_in, daemon.format(late=late) + "time.sleep(60)", wall_seconds=0.4
    )
    assert slow.ended == "time"
    assert time.monotonic() - start < 50
    time.sleep(0.7)
    assert not (tmp_path / "p" / "late").exists()


@EACH_LEVEL
def test_a_flood_and_a_bomb_of_processes_are_stopped(tmp_path: Path, shut_in: Level) -> None:
    flood = python(tmp_path / "p", shut_in, "while True: print('x' * 1000)", output_bytes=10_000)
    assert (flood.ended, len(flood.stdout)) == ("output", 10_000)
    bomb = (
        "import os, time\nfor _ in range(2000):\n    if os.fork() == 0:\n        time.sleep(60)\n  "
        "  time.sleep(0.002)"
    )
    start = time.monotonic()
    assert python(tmp_path / "p", shut_in, bomb, processes=40, wall_seconds=60).ended == "processes"
    assert time.monotonic() - start < 50


@EACH_LEVEL
def test_a_command_that_is_none_and_a_folder_that_is_none(tmp_path: Path, shut_in: Level) -> None:
    assert command(tmp_path / "p", shut_in, "no-such-program").code != 0
    with pytest.raises(InputError, match="no command"):
        command(tmp_path / "p", shut_in)
    with pytest.raises(InputError, match="is not a folder"):
        asyncio.run(run_command(["true"], tmp_path / "absent", level=shut_in))


@EACH_LEVEL
def test_cancelling_ends_the_command(tmp_path: Path, shut_in: Level) -> None:
    words = ["sh", "-c", "sleep 0.5; touch late"]

    async def go() -> None:
        task = asyncio.create_task(run_command(words, tmp_path, level=shut_in))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    time.sleep(0.5)
    assert not (tmp_path / "late").exists()
