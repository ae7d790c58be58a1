"""A worker with honest code: what it returns, what its failures say, how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzzing import examples
from transom.errors import AtomFailed, SandboxError, SandboxUnavailable, TransomError
from transom.sandbox import Level, Sandbox, Worker, WorkerLimits
from transom.sandbox.child import IMPORTABLE

from .conftest import LEVELS
from .running import NAME, call_once

ATOM = """
from dataclasses import dataclass
from datetime import datetime

SCOPE = "file"
SOURCES = [{"kind": "sta_log", "rank": "primary", "files": ["*.log"]}]
STRANGE = {1, 2}


@dataclass
class Seen:
    word: str


def helper(line: str) -> Optional[Dict]:
    found = re.search(r"at (\\d{4}-\\d\\d-\\d\\d)", line)
    return {"when": datetime.strptime(found[1], "%Y-%m-%d").year} if found else None


def extract_context(text: str, source_file: str) -> List[Dict]:
    print("looking at", source_file)
    results: List[Dict[str, Any]] = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = helper(line)
        if fields:
            results.append({"value": Seen(line).word, "line_number": number, "parsed_fields": fields})
    return results
"""
_TIME = "time = re.enum.sys.modules['time']\n"


def failure(
    code: str, level: Level | None = None, limits: WorkerLimits | None = None
) -> AtomFailed:
    with pytest.raises(AtomFailed) as failed:
        call_once(code, level or LEVELS[0], limits=limits, text="a\nb")
    return failed.value


def test_an_atom_with_helpers_annotations_and_lazy_modules(level: Level) -> None:
    expected = [{"value": "made at 2026-01-02", "line_number": 2, "parsed_fields": {"when": 2026}}]
    assert call_once(ATOM, level, text="nothing\nmade at 2026-01-02") == expected


def test_calls_constants_and_prints_share_one_worker(level: Level) -> None:
    async def go() -> None:
        async with Sandbox(level=level).worker(ATOM) as worker:
            assert await worker.constants(["SCOPE", "SOURCES", "ABSENT"]) == {
                "SCOPE": "file",
                "SOURCES": [{"kind": "sta_log", "rank": "primary", "files": ["*.log"]}],
            }
            for _ in range(3):
                assert await worker.call(NAME, {"text": "", "source_file": "x.log"}) == []
            with pytest.raises(AtomFailed, match="not JSON") as failed:
                await worker.constants(["STRANGE"])
            assert failed.value.kind == "schema"
            assert worker.printed == "looking at x.log\n" * 3

    asyncio.run(go())


@settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
# what a file can hold: no half of a surrogate pair
@given(text=st.text(max_size=200), other=st.text(max_size=5))
def test_any_text_arrives_as_it_was_sent(
    echo: tuple[asyncio.Runner, Worker], text: str, other: str
) -> None:
    runner, worker = echo
    assert runner.run(worker.call(NAME, {"text": text, "other": other})) == [text, other]


@pytest.fixture(scope="module")
def echo() -> object:
    async def start() -> Worker:
        return (
            await Sandbox(level=LEVELS[0])
            .worker(f"def {NAME}(text, other):\n    return [text, other]")
            .__aenter__()
        )

    with asyncio.Runner() as runner:
        worker = runner.run(start())
        yield runner, worker
        runner.run(worker.close())


def test_forged_constants_are_refused() -> None:
    code = "import re\nre.enum.sys.modules['__main__'].Host._constants = lambda *a: {'OTHER': 1}"

    async def go() -> None:
        async with Sandbox(level=LEVELS[0]).worker(code) as worker:
            with pytest.raises(AtomFailed, match="not an object with the") as failed:
                await worker.constants(["SCOPE"])
            assert failed.value.kind == "schema"
            with pytest.raises(SandboxError, match="has ended"):
                await worker.constants([])

    asyncio.run(go())


def test_every_module_that_is_offered_can_be_imported(level: Level) -> None:
    code = "".join(f"import {name}\n" for name in IMPORTABLE if name != "__future__")
    assert call_once(
        f"{code}def {NAME}(text, source_file):\n    return sorted(heapq.nlargest(2, [1, 3, 2]))",
        level,
    )


def test_a_refused_import_names_what_there_is() -> None:
    error = failure(f"def {NAME}(text, source_file):\n    import numpy")
    assert (error.kind, error.place) == ("crash", "atoms.py:2")
    assert "numpy cannot be imported here; there are re, fnmatch" in error.problem
    error = failure(f"def {NAME}(text, source_file):\n    import os.path")
    assert (error.kind, error.place) == ("crash", "atoms.py:2")
    assert "os.path cannot be imported here" in error.problem


@pytest.mark.parametrize(
    ("code", "kind", "where", "what"),
    [
        (
            "x = 1\nraise ValueError('no\\nway\\x1b[31m')",
            "crash",
            "atoms.py:2",
            "ValueError: no way [31m",
        ),
        ("x = (", "crash", "atoms.py:1", "SyntaxError"),
        ("x = 1", "crash", "atoms.py", "the code defines no function extract_context"),
        (f"def {NAME}(text):\n    pass", "crash", "atoms.py", "TypeError"),
        (
            f"def {NAME}(text, source_file):\n    return {{1, 2}}",
            "schema",
            "atoms.py",
            "set is not JSON",
        ),
        (
            f"def {NAME}(text, source_file):\n    return float('nan')",
            "schema",
            "atoms.py",
            "not JSON",
        ),
        (
            f"def {NAME}(text, source_file):\n    a = []\n    a.append(a)\n    return a",
            "schema",
            "atoms.py",
            "not JSON",
        ),
        (
            f"def {NAME}(text, source_file):\n\n    return open(text)",
            "killed",
            "atoms.py:3",
            "does not allow open",
        ),
        ("class E(Exception):\n    def __str__(self): 1 / 0\nraise E", "crash", "atoms.py:3", "E"),
    ],
)
def test_failures_say_what_and_where(
    code: str, kind: str, where: str, what: str, level: Level
) -> None:
    error = failure(code, level)
    assert (error.kind, error.place) == (kind, where)
    assert what in error.problem
    assert "\n" not in str(error)


def test_a_chatty_atom_is_no_failure(level: Level) -> None:
    code = (
        f"def {NAME}(text, source_file):\n    for _ in range(10_000): print('x' * 99)\n    return"
        " 'good'"
    )

    async def go() -> None:
        async with Sandbox(WorkerLimits(stderr_bytes=1000), level).worker(code) as worker:
            assert await worker.call(NAME, {"text": "", "source_file": ""}) == "good"
        assert 900 < len(worker.printed) <= 1000

    asyncio.run(go())


def test_closing_under_a_call_ends_that_call() -> None:
    async def go() -> None:
        worker = (
            await Sandbox(level=LEVELS[0]).worker("def f():\n    while True: pass").__aenter__()
        )
        call = asyncio.create_task(worker.call("f", {}))
        await asyncio.sleep(0.05)
        await worker.close()
        with pytest.raises(AtomFailed, match="killed"):
            await call

    asyncio.run(go())


def test_too_large_a_text_is_told_before_it_is_sent() -> None:
    limits = WorkerLimits(text_bytes=1 << 20)
    for text in ("x" * ((1 << 20) + 1), "é" * ((1 << 19) + 1)):
        with pytest.raises(AtomFailed, match="larger than 1 MiB"):
            call_once(ATOM, LEVELS[0], text=text, limits=limits)
    assert call_once(ATOM, LEVELS[0], text="x" * (1 << 20), limits=limits) == []


@pytest.mark.slow
def test_processor_time_is_counted_per_call() -> None:
    code = (
        f"{_TIME}def {NAME}(s):\n    end = time.process_time() + s\n    while time.process_time() <"
        " end: pass"
    )

    async def go() -> None:
        async with Sandbox(WorkerLimits(cpu_seconds=1, wall_seconds=20), LEVELS[-1]).worker(
            code
        ) as worker:
            for _ in range(3):
                await worker.call(NAME, {"s": 0.6})
            with pytest.raises(AtomFailed, match="CPU time") as failed:
                await worker.call(NAME, {"s": 9})
            assert failed.value.kind == "timeout"

    asyncio.run(go())


def test_a_worker_that_failed_answers_nothing_more() -> None:
    async def go() -> None:
        async with Sandbox(level=LEVELS[0]).worker("def f(x):\n    return 1 / x") as worker:
            assert await worker.call("f", {"x": 1}) == 1.0
            with pytest.raises(AtomFailed, match="ZeroDivisionError"):
                await worker.call("f", {"x": 0})
            with pytest.raises(SandboxError, match="has ended"):
                await worker.call("f", {"x": 1})

    asyncio.run(go())


def test_the_order_of_a_set_depends_on_the_seed_alone() -> None:
    code = f"def {NAME}(text, source_file):\n    return list({{str(n) for n in range(99)}})"

    async def order(seed: int) -> object:
        async with Sandbox(level=LEVELS[0], hash_seed=seed).worker(code) as worker:
            return await worker.call(NAME, {"text": "", "source_file": ""})

    first, again, other = (asyncio.run(order(seed)) for seed in (0, 0, 1))
    assert first == again != other


def test_killed_from_outside_is_told(level: Level) -> None:
    async def go() -> None:
        async with Sandbox(level=level).worker(
            "import re\ndef f(text):\n    re.enum.sys.modules['time'].sleep(60)"
        ) as worker:
            call = asyncio.create_task(worker.call("f", {"text": "x" * (8 << 20)}))
            await asyncio.sleep(0.1)
            for pid in _children(os.getpid()):
                with contextlib.suppress(ProcessLookupError):  # it may end with the one before
                    os.kill(pid, signal.SIGKILL)
            with pytest.raises(AtomFailed, match="killed from outside") as failed:
                await call
            assert failed.value.kind == "killed"

    asyncio.run(go())


def test_cancelling_a_call_ends_the_process(level: Level) -> None:
    async def go() -> None:
        async with Sandbox(level=level).worker("def f():\n    while True: pass") as worker:
            call = asyncio.create_task(worker.call("f", {}))
            await asyncio.sleep(0.1)
            pids = _children(os.getpid())
            assert pids
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            _wait_for_end(pids)

    asyncio.run(go())


_ENDLESS = """
import asyncio, sys
from transom.sandbox import Level, Sandbox

async def main():
    async with Sandbox(level=Level(sys.argv[1])).worker("def f():\\n    while True: pass") as worker:
        print("ready", flush=True)
        await worker.call("f", {})

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_child_outlives_its_parent(number: signal.Signals, level: Level) -> None:
    command = [sys.executable, "-c", _ENDLESS, str(level.value)]
    out, bare = subprocess.PIPE, {"PATH": os.environ["PATH"]}
    with subprocess.Popen(command, stdout=out, stderr=out, text=True, env=bare) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        pids = _children(parent.pid)
        assert len(pids) == (3 if level is Level.L3 else 1)
        parent.send_signal(number)
        parent.wait(10)
    _wait_for_end(pids)


def _children(pid: int) -> list[int]:
    """Processes below this one, children first."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *_children(child)]
    return found


def _wait_for_end(pids: list[int]) -> None:
    deadline = time.monotonic() + 60
    alive = set(pids)
    while alive and time.monotonic() < deadline:
        alive = {pid for pid in alive if _alive(pid)}
        time.sleep(0.02)
    assert not alive


def _alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def test_without_a_sandbox_it_still_is_another_process() -> None:
    code = (
        f"os = re.enum.sys.modules['os']\ndef {NAME}(text, source_file):\n    return [os.getpid(),"
        " dict(os.environ)]"
    )
    assert call_once(ATOM, Level.NONE, text="made at 2026-01-02")
    pid, environment = call_once(code, Level.NONE)
    assert pid != os.getpid()
    assert environment == {}


def test_a_machine_whose_lock_fails_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # the kernel refuses that filter
    monkeypatch.setattr("transom.sandbox.launch.filter_program", lambda: b"\0" * 8)
    with pytest.raises(SandboxUnavailable, match="seccomp: Invalid argument") as failed:
        call_once(ATOM, LEVELS[0])
    assert isinstance(failed.value, TransomError)
    assert "--unsafe-no-sandbox" in str(failed.value)


def test_a_missing_interpreter_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with pytest.raises(SandboxError, match="cannot be started"):
        call_once(ATOM, Level.NONE)
