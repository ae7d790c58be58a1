"""A farm for tests: a workspace in PostgreSQL, and workers that are started, paused and killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any, LiteralString

import psycopg

from tests.cli.helpers import clean_environment
from tests.workers.network import Host
from transom.llm.shared_purse import PURSES
from transom.store import PostgresAddress

PROVIDERS = """\
import asyncio
import os
import random
import sys
import uuid
from dataclasses import replace
from pathlib import Path

sys.path.append("ROOT")
from tests.checklist.shipped_model import ShippedModel
from transom.errors import NetworkFailed
from transom.llm import Usage


class Slow(ShippedModel):
    name = "slow"

    async def complete(self, request, *, on_delta=None):
        with open("asked", "a") as file:
            file.write("x")
        # What is left here was in flight when its process was killed.
        call = Path("calls", f"{os.getpid()}-{uuid.uuid4().hex}")
        call.touch()
        try:
            await asyncio.sleep(float(os.environ.get("SLOW_SECONDS", "0.4")))
            return await super().complete(request, on_delta=on_delta)
        finally:
            call.unlink(missing_ok=True)


class Paid(Slow):
    # Each reply costs a dollar, by the prices of the farm.
    name = "paid:model"
    local = False
    is_retried = False

    async def complete(self, request, *, on_delta=None):
        reply = await super().complete(request, on_delta=on_delta)
        return replace(reply, by=self.name, usage=Usage(1_000_000, 0))


class Flaky(Paid):
    # Slow at times, and one request in eight fails.
    name = "flaky:model"
    is_retried = True

    async def complete(self, request, *, on_delta=None):
        if random.random() < 0.125:
            raise NetworkFailed("the connection was closed", place=self.name)
        await asyncio.sleep(random.random())
        return replace(await super().complete(request, on_delta=on_delta), by=self.name)


class Deadly(Slow):
    name = "deadly"

    async def complete(self, request, *, on_delta=None):
        with open("deaths", "a") as file:
            file.write("x")
        os.kill(os.getpid(), 9)
"""
PRICES = """\
schema: transom.prices/1
as_of: "2026-11-01"
models:
  paid:model: {input: 1, output: 1}
  flaky:model: {input: 1, output: 1}
"""
ITEM = "description: Confirm the netlist/SPEF version is correct.\n"
"""An item whose ItemSpec is written, and whose checker is not built: there is no log."""
REPLIES = 5
"""How often a model is asked for an item."""
CALLS = "calls"
"""The folder of a farm that has a file for each call of a model in flight."""
ROOT = Path(__file__).resolve().parents[2]
WAIT_SECONDS = 60.0


@dataclass
class Farm:
    """A folder with items, a database, and the processes that work on it."""

    folder: Path
    address: PostgresAddress
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    deadly: subprocess.Popen[str] | None = None

    def items(self, name: str, count: int) -> list[str]:
        """Write items into a folder; returns their ids."""
        (self.folder / name).mkdir()
        (self.folder / CALLS).mkdir(exist_ok=True)
        (self.folder / "slow.py").write_text(PROVIDERS.replace("ROOT", str(ROOT)))
        (self.folder / "prices.yaml").write_text(PRICES)
        ids = [f"{name}-{number:02}" for number in range(count)]
        for item_id in ids:
            (self.folder / name / f"{item_id}.yaml").write_text(ITEM)
        return ids

    def start(
        self,
        *words: str,
        module: str = "transom",
        output: IO[str] | int = subprocess.PIPE,
        host: Host | None = None,
        prefix: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[str]:
        """Start a command in the folder, on a host of a network or on this machine."""
        process = subprocess.Popen(
            [*(host.prefix if host else prefix), sys.executable, "-m", module, *words],
            cwd=self.folder,
            env=clean_environment(
                TRANSOM_STORE=self.address.url,
                TRANSOM_PATHS__PRICES="prices.yaml",
                PYTHONPATH=str(ROOT),
                **(environ or {}),
            ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.processes.append(process)
        return process

    def worker(
        self, places: int = 2, prefix: Sequence[str] = (), **environ: str
    ) -> subprocess.Popen[str]:
        """Start a worker, and wait until it is at work."""
        process = self.start("worker", "-j", str(places), prefix=prefix, environ=environ)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("worker "), line
        return process

    def batch(
        self,
        name: str,
        *more: str,
        model: str = "slow:Slow",
        module: str = "transom",
        **environ: str,
    ) -> subprocess.Popen[str]:
        """Start a distributed batch of the items in a folder."""
        command = ["check", "batch", name, "--distributed", "--model", model]
        return self.start(*command, *more, module=module, environ=environ)

    def workers(self) -> dict[str, Any]:
        """Return the document of `transom workers`."""
        process = self.start("workers", "--format", "json", "-q")
        document: dict[str, Any] = json.loads(process.communicate(timeout=WAIT_SECONDS)[0])
        return document

    def records(self, kind: str) -> list[str]:
        """Return the streams of the records of a kind, oldest first; none before the tables are
        there.
        """
        query = "SELECT stream FROM records WHERE kind = %s ORDER BY seq"
        return [stream for (stream,) in self._rows(query, kind)]

    def times(self, kind: str) -> dict[str, list[float]]:
        """Return the times of the records of a kind, by their streams, as `time.time` has them."""
        times: dict[str, list[float]] = {}
        query = "SELECT stream, at FROM records WHERE kind = %s ORDER BY seq"
        for stream, text in self._rows(query, kind):
            times.setdefault(stream, []).append(datetime.fromisoformat(text).timestamp())
        return times

    def answered(self, name: str) -> int:
        """Return how many answers are kept for the batch of the items in a folder."""
        query = "SELECT data FROM records WHERE kind = %s"
        return sum(f'"item_id":"{name}-' in data for (data,) in self._rows(query, "answered"))

    def asked(self) -> int:
        """Return how often a model was asked, also by processes that died."""
        path = self.folder / "asked"
        return len(path.read_text()) if path.exists() else 0

    def replies(self, ids: Iterable[str]) -> list[int]:
        """Return how many replies of a model the run of each item has."""
        counts = Counter(self.records("model_reply"))
        runs: dict[str, str] = {}
        for (text,) in self._rows("SELECT value FROM documents WHERE name = %s", "runs"):
            document = json.loads(text)
            runs[document["name"]] = document["id"]
        return [counts[f"run/{runs[item_id]}"] for item_id in ids if item_id in runs]

    def purses(self) -> list[tuple[dict[str, Any], dict[str, float]]]:
        """Return the ledger of each purse, and the dollars of its runs."""
        found: dict[str, dict[str, Any]] = {}
        query = "SELECT name, key, value FROM documents WHERE starts_with(name, %s)"
        for name, key, text in self._rows(query, PURSES):
            found.setdefault(name, {})[key] = json.loads(text)
        return [(purse.pop("ledger"), purse) for purse in found.values()]

    def _rows(self, query: LiteralString, value: str) -> list[Any]:
        with psycopg.connect(self.address.url) as connection:
            try:
                return connection.execute(query, (value,)).fetchall()
            except psycopg.errors.UndefinedTable:
                return []

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
