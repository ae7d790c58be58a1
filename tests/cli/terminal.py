"""A program in a terminal of its own, for tests: what it shows, and what a person types."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

_STYLE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    """A process whose standard streams are a terminal."""

    def __init__(self, command: Sequence[str], cwd: Path, environ: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        # A session of its own, so that Ctrl-C reaches this process alone.
        self.process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", *command],
            cwd=cwd,
            env={**environ, "TERM": "xterm"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        self.text = ""
        self._seen = 0

    def write(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, text: str, seconds: float = 60) -> str:
        """Wait until the terminal shows a text, and return all that came before and with it."""
        end = time.monotonic() + seconds
        while text not in self.text[self._seen :]:
            if time.monotonic() > end or not self._read(end - time.monotonic()):
                raise AssertionError(f"no {text!r} in:\n{self.text}")
        stop = self.text.index(text, self._seen) + len(text)
        shown, self._seen = self.text[self._seen : stop], stop
        return shown

    def end(self, seconds: float = 60) -> int:
        """Wait until the process has ended, and return its exit code."""
        end = time.monotonic() + seconds
        while self._read(max(0.0, end - time.monotonic())):
            pass
        return self.process.wait(5)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._master, 65_536)
        except OSError:  # the other side is closed
            return False
        self.text += _STYLE.sub("", data.decode(errors="replace")).replace("\r\n", "\n")
        return bool(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)
