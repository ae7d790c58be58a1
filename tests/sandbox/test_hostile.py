"""Attacks that take effect in plain Python and have none in a worker."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import pytest

from transom.errors import AtomFailed
from transom.sandbox import Level, Limits, Sandbox

from .attacks import ATTACKS, DISARM, FIRED, Attack
from .running import HONEST, NAME

_LIMITS = Limits(wall_seconds=10, memory_bytes=256 << 20, text_bytes=1 << 20, reply_bytes=1 << 20, stderr_bytes=1 << 14)
_SHORT = dataclasses.replace(_LIMITS, wall_seconds=0.4)
_PLAIN = """
import sys
names = {}
exec(compile(sys.stdin.read(), "atoms.py", "exec"), names)
print(names["extract_context"]("a", "a.log"))
print("ended well")
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

    def code(self, attack: Attack) -> str:
        here = {"SECRET": self.folder / "secret", "MARK": self.folder / "mark", "FOLDER": self.folder}
        code = attack.code
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
        return FIRED in said or (self.folder / "mark").exists() or bool(self.connections) or bool(self.signals)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A secret, a listening port, a handler for a signal, a token in the environment."""
    (tmp_path / "secret").write_text(FIRED)
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


def _in_plain_python(code: str, environment: dict[str, str], seconds: float = 10) -> str:
    """What the code says in a plain interpreter, within a time and a mebibyte."""
    command = [sys.executable, "-c", _PLAIN]
    out = subprocess.PIPE
    with subprocess.Popen(command, stdin=out, stdout=out, stderr=subprocess.STDOUT, env=environment) as process:
        assert process.stdin is not None and process.stdout is not None
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        process.stdin.write(code.encode())
        process.stdin.close()
        said = process.stdout.read(1 << 20)
        process.kill()
        timer.cancel()
    return said.decode(errors="replace")


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attack_takes_effect_in_plain_python(attack: Attack, scene: Scene) -> None:
    said = _in_plain_python(scene.code(attack), scene.environment, 0.6 if attack.kinds == ("timeout",) else 10)
    assert scene.fired(said) or (attack.stops and "ended well" not in said), said


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attack_has_no_effect_in_a_worker(attack: Attack, scene: Scene, level: Level) -> None:
    limits = _SHORT if attack.kinds == ("timeout",) else _LIMITS
    kind, said = asyncio.run(_attack_then_another(scene.code(attack), level, limits))
    assert not scene.fired(said), said
    assert kind in attack.kinds, said


@pytest.mark.parametrize("attack", [a for a in ATTACKS if "killed" in a.kinds], ids=lambda attack: attack.name)
def test_the_kernel_alone_stops_it(attack: Attack, scene: Scene, level: Level) -> None:
    code = DISARM + scene.code(attack)
    control = _in_plain_python(code, scene.environment)
    assert scene.fired(control), control
    scene.clear()
    _, said = asyncio.run(_attack_then_another(code, level, _LIMITS))
    assert "does not allow" not in said  # that would be the hook
    assert not scene.fired(said), said


async def _attack_then_another(code: str, level: Level, limits: Limits) -> tuple[str, str]:
    """Kind of failure ("" for none) and what it said; then another worker must serve another code rightly."""
    try:
        async with Sandbox(limits, level).worker(code) as worker:
            kind, said = "", repr(await worker.call(NAME, {"text": "a", "source_file": "a.log"}))
            # A reply that was slipped in beforehand must not answer the next call.
            said += repr(await worker.call(NAME, {"text": "a", "source_file": "a.log"}))
    except AtomFailed as error:
        kind, said = error.kind, str(error)
    async with Sandbox(_LIMITS, level).worker(HONEST) as worker:
        assert await worker.call(NAME, {"text": "four", "source_file": "a.log"}) == [4]
    return kind, said


def test_poisoned_builtins_reach_no_other_worker(level: Level) -> None:
    poison = """
import builtins, json, re
def extract_context(text, source_file):
    json.dumps = lambda *a, **k: '{"ok": true}'
    re.search = None
    builtins.len = lambda x: 666
    return [len(text)]
"""
    control = f"exec({poison!r})\nprint(extract_context('four', ''))"
    done = subprocess.run([sys.executable, "-c", control], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[666]"

    async def go() -> None:
        async with Sandbox(_SHORT, level).worker(poison) as worker:
            with pytest.raises(AtomFailed):
                await worker.call(NAME, {"text": "four", "source_file": ""})
        async with Sandbox(_LIMITS, level).worker(HONEST) as worker:
            assert await worker.call(NAME, {"text": "four", "source_file": ""}) == [4]

    asyncio.run(go())
