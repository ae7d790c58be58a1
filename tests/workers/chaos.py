"""Faults at random while workers share a batch: `make chaos`.

    python -m tests.workers.chaos [--seeds 1,2,3] [--items 30] [--faults 8]

Workers, their processes, the command and PostgreSQL are killed, and workers are paused for longer
than their leases last. At the end each item must have the answer of an undisturbed batch, each of
its files must be the same, and no reply may be in a journal twice.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.store.postgres_server import Server, running_server, why_no_server
from tests.workers.farm import REPLIES, Farm

PAUSE_SECONDS = 13.0
"""Longer than a lease, and than the silence after which a worker counts as dead."""
LONGEST_SECONDS = 900.0


@dataclass
class Storm:
    """One batch and the faults that it meets."""

    farm: Farm
    server: Server
    chance: random.Random
    workers: list[subprocess.Popen[str]] = field(default_factory=list)
    paused: list[tuple[float, list[int]]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    batch: subprocess.Popen[str] | None = None

    def blow(self, faults: int) -> str:
        """Run a batch through a number of faults; returns the output of its last command."""
        self.workers = [self._started(), self._started()]
        self.batch = self._command()
        # Before the first reply a fault would only delay the start.
        self.farm.wait_for(lambda: bool(self.farm.records("model_reply")))
        next_fault, deadline = time.monotonic(), time.monotonic() + LONGEST_SECONDS
        while self.batch.poll() is None:
            assert time.monotonic() < deadline, "the batch does not come to its end"
            self._wake()
            if faults and time.monotonic() >= next_fault:
                faults -= 1
                self._strike()
                next_fault = time.monotonic() + self.chance.uniform(2, 6)
            self._keep_alive()
            time.sleep(0.2)
        self._wake(everybody=True)
        return (self.farm.folder / "batch.log").read_text()

    def _strike(self) -> None:
        faults: list[Callable[[], None]] = [
            self._kill_worker,
            self._kill_worker,
            self._kill_hand,
            self._pause_worker,
            self._kill_command,
            self._kill_server,
        ]
        fault = self.chance.choice(faults)
        self.counts[fault.__name__.removeprefix("_").replace("_", " ")] += 1
        fault()

    def _kill_worker(self) -> None:
        self.chance.choice(self.workers).kill()

    def _kill_hand(self) -> None:
        hands = _below(self.chance.choice(self.workers).pid)
        if hands:
            os.kill(self.chance.choice(hands), signal.SIGKILL)

    def _pause_worker(self) -> None:
        worker = self.chance.choice(self.workers)
        processes = [worker.pid, *_below(worker.pid)]
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
        self.paused.append((time.monotonic() + PAUSE_SECONDS, processes))

    def _kill_command(self) -> None:
        assert self.batch
        self.batch.kill()
        self.batch.wait()
        self.batch = self._command()

    def _kill_server(self) -> None:
        self.server.kill()
        time.sleep(self.chance.uniform(0.5, 4))
        self.server.start()

    def _wake(self, *, everybody: bool = False) -> None:
        for entry in [*self.paused]:
            until, processes = entry
            if everybody or time.monotonic() >= until:
                self.paused.remove(entry)
                for process in processes:
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGCONT)

    def _keep_alive(self) -> None:
        """Start a worker for each that has died, and the command if the database was away for too
        long.
        """
        for worker in [*self.workers]:
            if worker.poll() is not None:
                self.workers.remove(worker)
                self.workers.append(self._started())
        assert self.batch
        if self.batch.poll() == 2 and "cannot be reached" in self._log().read_text():
            self.batch = self._command()

    def _started(self) -> subprocess.Popen[str]:
        with (self.farm.folder / "workers.log").open("a") as log:
            return self.farm.start("worker", "-j", "3", output=log, SLOW_SECONDS="1.5")

    def _command(self) -> subprocess.Popen[str]:
        with self._log().open("w") as log:
            command = ["check", "batch", "items", "--distributed", "--model", "slow:Slow"]
            return self.farm.start(*command, output=log)

    def _log(self) -> Path:
        return self.farm.folder / "batch.log"


def _below(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in text.split()]


def broken_invariants(farm: Farm, ids: list[str], output: str) -> list[str]:
    """Return what is not as it would be without a fault."""
    problems = []
    rows = re.findall(r"^([A-Z_]+) +(items-\d+) ", output, re.M)
    others = sorted({item_id for status, item_id in rows if status != "NEEDS_REVIEW"})
    if others:
        problems.append(f"other answers than without faults: {', '.join(others)}")
    if missing := sorted({*ids} - {item_id for _, item_id in rows}):
        problems.append(f"no answer: {', '.join(missing)}")
    counts = farm.replies(ids)
    if counts != [REPLIES] * len(ids):
        problems.append(f"replies of each item: {counts}, not {REPLIES}")
    texts = set()
    for item_id in ids:
        files = sorted((farm.folder / ".transom" / "runs" / item_id).rglob("*_ItemSpec.md"))
        texts.add("\0".join(file.read_text().replace(item_id, "ID") for file in files))
    if len(texts) != 1:
        problems.append(f"{len(texts)} different ItemSpecs of equal items")
    return problems


def storm(seed: int, items: int, faults: int) -> list[str]:
    """Return the broken invariants of one seed, and print its line."""
    began = time.monotonic()
    with TemporaryDirectory() as folder, running_server() as server:
        farm = Farm(Path(folder), server.fresh_address())
        try:
            ids = farm.items("items", items)
            weather = Storm(farm, server, random.Random(seed))
            output = weather.blow(faults)
            problems = broken_invariants(farm, ids, output)
        finally:
            farm.close()
        asked = len((Path(folder) / "asked").read_text())
    met = ", ".join(f"{name} {count}" for name, count in sorted(weather.counts.items()))
    sys.stdout.write(
        f"seed {seed}: {items} items, {time.monotonic() - began:.0f} s, {met}; asked"
        f" {asked - REPLIES * items} times more than without faults; {problems or 'nothing broken'}\n"
    )
    sys.stdout.flush()
    return problems


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--items", type=int, default=30)
    parser.add_argument("--faults", type=int, default=8)
    options = parser.parse_args()
    if reason := why_no_server():
        sys.stdout.write(f"{reason}\n")
        return 0
    problems = []
    for seed in options.seeds.split(","):
        problems += storm(int(seed), options.items, options.faults)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
