"""Attacks that take effect in plain Python and have none in a worker: in each place of a checker,
at each level.

The verdict is ERROR, the parent lives, and the next check is unaffected. At L1, where Landlock and
the namespaces are absent, the system-call filter holds alone; `REMAINING_AT_L1` lists what gets
through there.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import pytest

from tests.checklist.judging.support import run, write_files
from transom.checklist.judging import LoadedChecker, Verdict, artifact_bytes, load_checker
from transom.sandbox import Level, Sandbox, WorkerLimits

from .attacks import ATTACKS, FIRED, PLACES, Attack

REMAINING_AT_L1: frozenset[str] = frozenset()
_LIMITS = WorkerLimits(
    wall_seconds=10, cpu_seconds=10, memory_bytes=192 << 20, text_bytes=1 << 20, reply_bytes=1 << 20,
    stderr_bytes=1 << 14,
)  # fmt: skip
_SHORT = dataclasses.replace(_LIMITS, wall_seconds=0.4)
_PLAIN = """
import os, sys
token = os.environ["TOKEN"]
names = {"__name__": "atoms"}
exec(compile(sys.stdin.read(), "atoms.py", "exec"), names)
print(names["extract_context"]("a", "a.log"))
print("ended well", flush=True)
"""
_CONFIG = """\
schema: transom.checker/1
item_id: HOSTILE
description: Every path is met.
capability_type: 2
atoms: own
items:
- {id: '2.1', name: paths, select: path.state, quantifier: each}
- {id: '2.2', name: patterns, select: path.state, check: pattern, quantifier: each}
requirements: {value: 1, pattern_items: [x]}
"""


@dataclass
class Scene:
    """What an attack may reach for, and what shows that it did."""

    folder: Path
    port: int
    connections: list[object] = field(default_factory=list)
    signals: list[int] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        return {"TOKEN": FIRED, "PATH": os.environ["PATH"]}

    def filled(self, code: str) -> str:
        here = {
            "SECRET": self.folder / "secret",
            "MARK": self.folder / "mark",
            "FOLDER": self.folder,
        }
        for name, value in {**here, "PORT": self.port, "HERE": os.getpid()}.items():
            code = code.replace(name, str(value))
        return code

    def clear(self) -> None:
        self.connections.clear()
        self.signals.clear()
        mark = self.folder / "mark"
        if mark.is_dir():
            mark.rmdir()
        mark.unlink(missing_ok=True)

    def fired(self, said: str) -> bool:
        mark = self.folder / "mark"
        return (
            FIRED in said
            or mark.exists()
            or mark.is_symlink()
            or bool(self.connections)
            or bool(self.signals)
        )


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A secret, also on an inheritable descriptor; a listening port; a handler for a signal; a
    token.
    """
    (tmp_path / "secret").write_text(FIRED)
    held = os.open(tmp_path / "secret", os.O_RDONLY)
    os.set_inheritable(held, True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = Scene(tmp_path, server.getsockname()[1])
        monkeypatch.setenv("TOKEN", FIRED)

        def accept() -> None:
            try:
                while True:
                    connection, _ = server.accept()
                    found.connections.append(connection.getpeername())
                    connection.close()
            except OSError:
                return

        def on_signal(number: int, frame: FrameType | None) -> None:
            found.signals.append(number)

        before = signal.signal(signal.SIGUSR1, on_signal)
        thread = threading.Thread(target=accept)
        thread.start()
        yield found
        signal.signal(signal.SIGUSR1, before)
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    os.close(held)


def _in_plain_python(code: str, environment: dict[str, str], seconds: float) -> str:
    """What the code says in a plain interpreter, within a time and a mebibyte."""
    command = [sys.executable, "-c", _PLAIN, FIRED]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, env=environment, close_fds=False
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        process.stdin.write(code.encode())
        process.stdin.close()
        said = process.stdout.read(1 << 20)
        if len(said) == 1 << 20:
            process.kill()
        process.wait()
        timer.cancel()
    return said.decode(errors="replace")


def test_there_are_attacks_enough() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 60
    assert {attack.name for attack in ATTACKS} >= REMAINING_AT_L1


@pytest.mark.slow
@pytest.mark.parametrize(
    "disarmed", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["as-written", "disarmed"]
)
def test_each_attack_takes_effect_in_plain_python(scene: Scene, *, disarmed: bool) -> None:
    tried = [attack for attack in ATTACKS if not (attack.slow and disarmed)]
    said = {attack.name: _fails_to_fire(scene, attack, disarmed=disarmed) for attack in tried}
    assert {name: words for name, words in said.items() if words is not None} == {}


def _fails_to_fire(scene: Scene, attack: Attack, *, disarmed: bool) -> str | None:
    """What plain Python said where the attack took no effect; a busy machine gets the time that
    it needs.
    """
    scene.clear()
    code = scene.filled(attack.module("extract_context", disarmed=disarmed))
    said = _in_plain_python(code, scene.environment, 0.4 if attack.slow else 240)
    if attack.stops and "ended well" not in said:
        return None
    # a connection is witnessed by a thread, a signal between two instructions
    end = time.monotonic() + 10
    while not scene.fired(said):
        if time.monotonic() > end:
            return said[-300:] or "nothing"
        time.sleep(0.01)
    return None


def _check(scene: Scene, code: str, level: Level, limits: WorkerLimits) -> Verdict:
    return run(_checker(scene.folder, code), scene.folder, {"a.log": "one line\n"}, inputs=["a.log"],
               runner=Sandbox(limits, level))  # fmt: skip


def _checker(folder: Path, code: str) -> LoadedChecker:
    write_files(folder, {"checker/checker.yaml": _CONFIG, "checker/atoms.py": code})
    return load_checker(folder / "checker")


def _effects(
    scene: Scene,
    level: Level,
    cases: Sequence[tuple[Attack, str]],
    *,
    disarmed: bool = False,
    every: int = 6,
) -> list[str]:
    """What went wrong in a table of attacks; after each `every`-th another checker must be
    served rightly.
    """
    wrong: list[str] = []
    honest = Attack("honest", 'return "-"')
    for number, (attack, place) in enumerate(cases):
        scene.clear()
        code = scene.filled(attack.module(place, disarmed=disarmed))
        verdict = _check(scene, code, level, _SHORT if attack.slow else _LIMITS)
        said = artifact_bytes(verdict).decode()
        if scene.fired(said):
            wrong.append(f"{attack.name} in {place}: fired: {said}")
        if verdict.status != "ERROR" and not (attack.quiet or disarmed):
            wrong.append(f"{attack.name} in {place}: the verdict is {verdict.status}: {said}")
        if disarmed and "does not allow" in said:
            wrong.append(f"{attack.name} in {place}: was not disarmed: {said}")
        if number % every == 0:
            after = _check(scene, honest.module("import"), level, _LIMITS)
            if after.status != "FAIL" or after.errors:
                wrong.append(
                    f"{attack.name} in {place}: the next check is {after.status}: {after.errors}"
                )
    return wrong


def _allowed(level: Level) -> list[Attack]:
    return [
        attack for attack in ATTACKS if level is not Level.L1 or attack.name not in REMAINING_AT_L1
    ]


@pytest.mark.slow
@pytest.mark.fence
def test_no_attack_has_an_effect_whatever_its_place(scene: Scene, level: Level) -> None:
    """Each attack in one of the places in turn; `test_every_attack_in_every_place` is the whole
    product.
    """
    cases = [(attack, PLACES[index % len(PLACES)]) for index, attack in enumerate(_allowed(level))]
    assert _effects(scene, level, cases) == []


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.needs("L2")
def test_the_kernel_alone_stops_what_reaches_out(scene: Scene) -> None:
    cases = [(attack, "extract_context") for attack in ATTACKS if not (attack.slow or attack.stops)]
    assert _effects(scene, Level.L2, cases, disarmed=True) == []


@pytest.mark.slow
@pytest.mark.parametrize("disarmed", [False, True], ids=["as-written", "disarmed"])
@pytest.mark.parametrize("place", PLACES)
def test_every_attack_in_every_place(
    scene: Scene, level: Level, place: str, *, disarmed: bool
) -> None:
    cases = [(attack, place) for attack in _allowed(level)]
    assert _effects(scene, level, cases, disarmed=disarmed, every=1) == []
