"""A farm for tests: a workspace in PostgreSQL, and workers that are started, paused and killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.cli.helpers import COMMAND, clean_environment
from transom.store import PostgresAddress

PROVIDERS = """\
import asyncio
import os

from transom.llm import Text
from transom.llm import Provider, Reply


class Slow(Provider):
    name, local = "slow", True

    async def complete(self, request, *, on_delta=None):
        with open("asked", "a") as file:
            file.write("x")
        await asyncio.sleep(float(os.environ.get("SLOW_SECONDS", "0.5")))
        return Reply((Text("I do not know."),))


class Deadly(Slow):
    name = "deadly"

    async def complete(self, request, *, on_delta=None):
        with open("deaths", "a") as file:
            file.write("x")
        os.kill(os.getpid(), 9)
"""
ODD = "description: Confirm that the moon {} is frobnicated.\n"
WAIT_SECONDS = 60.0


@dataclass
class Farm:
    """A folder with items, a database, and the processes that work on it."""

    folder: Path
    address: PostgresAddress
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def items(self, count: int) -> list[str]:
        """Write items that the rules do not understand: each costs one call of a model."""
        (self.folder / "items").mkdir(exist_ok=True)
        (self.folder / "slow.py").write_text(PROVIDERS)
        names = [f"I{number:02}" for number in range(count)]
        for name in names:
            (self.folder / "items" / f"{name}.yaml").write_text(ODD.format(name))
        return names

    def start(self, *words: str, **environ: str) -> subprocess.Popen[str]:
        """Start a command in the folder."""
        process = subprocess.Popen(
            [*COMMAND, *words],
            cwd=self.folder,
            env=clean_environment(TRANSOM_STORE=self.address.url, **environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.processes.append(process)
        return process

    def worker(self, places: int = 2, *more: str, **environ: str) -> subprocess.Popen[str]:
        """Start a worker, and wait until it is at work."""
        process = self.start("worker", "-j", str(places), *more, **environ)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("worker "), line
        return process

    def batch(self, *more: str, model: str = "slow:Slow") -> subprocess.Popen[str]:
        """Start a distributed batch of all items."""
        return self.start("check", "batch", "items", "--distributed", "--model", model, *more)

    def workers(self) -> dict[str, Any]:
        """Return the document of `transom workers`."""
        process = self.start("workers", "--format", "json", "-q")
        document: dict[str, Any] = json.loads(process.communicate(timeout=WAIT_SECONDS)[0])
        return document

    def records(self, kind: str) -> list[str]:
        """Return the streams of the records of a kind, oldest first; none before the tables are
        there.
        """
        with psycopg.connect(self.address.url) as connection:
            try:
                rows = connection.execute(
                    "SELECT stream FROM records WHERE kind = %s ORDER BY seq", (kind,)
                ).fetchall()
            except psycopg.errors.UndefinedTable:
                return []
        return [stream for (stream,) in rows]

    def wait_for(self, condition: Callable[[], bool], seconds: float = WAIT_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.1)

    def close(self) -> None:
        """Kill what still runs."""
        for process in self.processes:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGCONT)
                process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
