"""Faults at random while workers share batches: `make chaos`.

    python -m tests.workers.chaos [--seeds 1,2,3] [--minutes 10] [--items 12] [--report FILE]

Three hosts in network namespaces have a worker and a program with a `once` tool each. Workers,
their processes, the command and PostgreSQL are killed, hosts are paused for longer than their
leases last, their cables are cut, their clocks jump, the disk is full for a while, and a second
process is started on a run at work. The model is slow, and fails now and then. After each round
`tests.workers.invariants` says what is not as it would be without a fault.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.store.postgres_server import Server, running_server, why_no_server
from tests.workers.farm import CALLS, Farm
from tests.workers.invariants import broken_invariants, rows_of
from tests.workers.network import Host, Network, why_no_network

HOSTS = 3
PAUSE_SECONDS = 13.0
"""Longer than a lease, and than the silence after which a worker counts as dead."""
CUT_SECONDS = (3.0, 20.0)
FULL_SECONDS = 4.0
CALL_SECONDS = 5.0
"""How long a kill waits for a process that asks a model."""
LONGEST_ROUND = 900.0
FAULTS_A_ROUND = 10
ONCE_RUNS = 400
DISK = "64m"
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
CLOCKS = ("+0", "+2h", "-2h", "+3d", "-40d", "+11s")
MODEL = "slow:Flaky"


@dataclass
class Machine:
    """A host with its processes.

    Attributes:
        host: its place in the network.
        clock: the file that its processes take the time from.
        worker, program: a worker, and the program with the once tool.
    """

    host: Host
    clock: Path
    worker: subprocess.Popen[str] | None = None
    program: subprocess.Popen[str] | None = None

    @property
    def processes(self) -> list[int]:
        """The numbers of its processes that live."""
        numbers: list[int] = []
        for process in (self.worker, self.program):
            if process is not None and process.poll() is None:
                numbers += [process.pid, *_below(process.pid)]
        return numbers


@dataclass
class Storm:
    """Rounds of batches, and the faults that they meet."""

    farm: Farm
    server: Server
    chance: random.Random
    machines: list[Machine]
    ending: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    batch: subprocess.Popen[str] | None = None
    name: str = ""
    ids: list[str] = field(default_factory=list)

    def blow(self, name: str, items: int) -> str:
        """Run a batch through some faults; returns the output of its last command."""
        self.name, self.ids = name, self.farm.items(name, items)
        for machine in self.machines:
            self._start(machine)
        replies = len(self.farm.records("model_reply"))
        self.batch = self._command()
        # Before the first reply a fault would only delay the start.
        self.farm.wait_for(lambda: len(self.farm.records("model_reply")) > replies, 180)
        faults, next_fault = FAULTS_A_ROUND, time.monotonic()
        deadline = time.monotonic() + LONGEST_ROUND
        while self.batch.poll() is None:
            assert time.monotonic() < deadline, "the batch does not come to its end"
            self._end_faults()
            if faults and time.monotonic() >= next_fault:
                faults -= 1
                self._strike()
                next_fault = time.monotonic() + self.chance.uniform(2, 6)
            self._keep_alive()
            time.sleep(0.2)
        self._end_faults(everything=True)
        # An item that met a full disk, or a model that failed too often, says so; a person gives
        # the command again.
        for _ in range(3):
            if not self._has_errors():
                break
            self.counts["command given again"] += 1
            self.batch = self._command()
            while self.batch.poll() is None:
                assert time.monotonic() < deadline, "the last batch does not come to its end"
                self._keep_alive()
                time.sleep(0.2)
        return self._log().read_text()

    def _has_errors(self) -> bool:
        rows = {item_id: status for status, item_id in rows_of(self._log().read_text())}
        return {*rows} != {*self.ids} or "ERROR" in rows.values()

    # -- faults ------------------------------------------------------------------------------------

    def _strike(self) -> None:
        faults: list[Callable[[], None]] = [
            self._kill_worker,
            self._kill_hand,
            self._pause_host,
            self._cut_network,
            self._cut_network,
            self._fill_disk,
            self._kill_command,
            self._kill_server,
            self._intrude_on_a_run,
        ]
        if FAKETIME.exists():
            faults.append(self._jump_clock)
        fault = self.chance.choice(faults)
        self.counts[fault.__name__.removeprefix("_").replace("_", " ")] += 1
        fault()

    def _kill_worker(self) -> None:
        machine = self.chance.choice(self.machines)
        for process in (machine.worker, machine.program):
            if process is not None:
                process.kill()

    def _kill_hand(self) -> None:
        """Kill a process of a worker, while it waits for a model if any does so soon."""
        deadline = time.monotonic() + CALL_SECONDS
        while True:
            hands: list[int] = []
            for machine in self.machines:
                if machine.worker is not None:
                    hands += _below(machine.worker.pid)
            asking = sorted(self._asking_processes().intersection(hands))
            if asking or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        if asking or hands:
            with suppress(ProcessLookupError):
                os.kill(self.chance.choice(asking or hands), signal.SIGKILL)

    def _asking_processes(self) -> set[int]:
        """Return the processes that had a call of a model in flight, living or dead."""
        calls = (self.farm.folder / CALLS).iterdir()
        return {int(call.name.partition("-")[0]) for call in calls}

    def _pause_host(self) -> None:
        processes = self.chance.choice(self.machines).processes
        _signal(processes, signal.SIGSTOP)
        self._later(PAUSE_SECONDS, lambda: _signal(processes, signal.SIGCONT))

    def _cut_network(self) -> None:
        host = self.chance.choice(self.machines).host
        if not host.is_cut:
            host.cut()
            self._later(self.chance.uniform(*CUT_SECONDS), host.mend)

    def _jump_clock(self) -> None:
        self.chance.choice(self.machines).clock.write_text(self.chance.choice(CLOCKS))

    def _fill_disk(self) -> None:
        ballast = self.farm.folder / ".transom" / "ballast"
        with suppress(OSError), ballast.open("ab", buffering=0) as file:
            while True:
                file.write(bytes(1 << 20))
        self._later(FULL_SECONDS, lambda: ballast.unlink(missing_ok=True))

    def _kill_command(self) -> None:
        assert self.batch
        self.batch.kill()
        self.batch.wait()
        self.batch = self._command()

    def _kill_server(self) -> None:
        self.server.kill()
        time.sleep(self.chance.uniform(0.5, 4))
        self.server.start()

    def _intrude_on_a_run(self) -> None:
        """Start a second process on the run of an item that workers may have."""
        item = Path(self.name, f"{self.chance.choice(self.ids)}.yaml")
        with (self.farm.folder / "intruders.log").open("a") as log:
            self.farm.start(
                "check", "all", str(item), "--model", MODEL, "--max-cost", "1000", output=log
            )

    def _later(self, seconds: float, end: Callable[[], None]) -> None:
        self.ending.append((time.monotonic() + seconds, end))

    def _end_faults(self, *, everything: bool = False) -> None:
        for entry in [*self.ending]:
            until, end = entry
            if everything or time.monotonic() >= until:
                self.ending.remove(entry)
                end()

    # -- processes ---------------------------------------------------------------------------------

    def _keep_alive(self) -> None:
        """Start what has died, and the command if the database was away for too long."""
        for machine in self.machines:
            self._start(machine)
        assert self.batch
        if self.batch.poll() == 2 and "cannot be reached" in self._log().read_text():
            self.batch = self._command()

    def _start(self, machine: Machine) -> None:
        environ = {"SLOW_SECONDS": "0.8", "TRANSOM_EXECUTION__RETRY_AFTER": "3"}
        if FAKETIME.exists():
            environ |= {
                "LD_PRELOAD": str(FAKETIME),
                "FAKETIME_TIMESTAMP_FILE": str(machine.clock),
                "FAKETIME_CACHE_DURATION": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "DONT_FAKE_MONOTONIC": "1",
            }
        with (self.farm.folder / "workers.log").open("a") as log:
            if machine.worker is None or machine.worker.poll() is not None:
                machine.worker = self.farm.start(
                    "worker", "-j", "2", host=machine.host, output=log, environ=environ
                )
            if machine.program is None or machine.program.poll() is not None:
                machine.program = self.farm.start(
                    str(ONCE_RUNS),
                    module="tests.workers.once_program",
                    host=machine.host,
                    output=log,
                    environ=environ,
                )

    def _command(self) -> subprocess.Popen[str]:
        with self._log().open("w") as log:
            command = ["check", "batch", self.name, "--distributed", "--model", MODEL]
            return self.farm.start(*command, "--max-cost", "1000", output=log)

    def _log(self) -> Path:
        return self.farm.folder / "batch.log"


def _below(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in text.split()]


def _signal(processes: list[int], number: int) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Put a folder on a small disk."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


@contextmanager
def machines_of(network: Network, folder: Path) -> Iterator[list[Machine]]:
    machines: list[Machine] = []
    for host in network.hosts:
        clock = folder / f"clock-{host.name}"
        clock.write_text("+0")
        machines.append(Machine(host, clock))
    try:
        yield machines
    finally:
        # What is stopped cannot be waited for.
        for machine in machines:
            _signal(machine.processes, signal.SIGCONT)


def storm(seed: int, items: int, minutes: float) -> tuple[str, list[str]]:
    """Return the line of one seed, and its broken invariants."""
    network = Network.of(HOSTS)
    problems: list[str] = []
    rounds = 0
    try:
        with (
            TemporaryDirectory() as folder,
            small_disk(Path(folder) / ".transom"),
            running_server(network.address) as server,
            machines_of(network, Path(folder)) as machines,
        ):
            farm = Farm(Path(folder), server.fresh_address())
            weather = Storm(farm, server, random.Random(seed), machines)
            began = time.monotonic()
            try:
                while not rounds or time.monotonic() - began < minutes * 60:
                    rounds += 1
                    output = weather.blow(f"round{rounds}", items)
                    found = broken_invariants(farm, weather.ids, output)
                    problems += [f"round {rounds}: {problem}" for problem in found]
                    say(f"seed {seed}, round {rounds}: {found or 'nothing broken'}")
            finally:
                farm.close()
            seconds = time.monotonic() - began
            asked, once = farm.asked(), _lines(Path(folder) / "effects")
            doubted = _lines(Path(folder) / "doubted")
            met_calls = len([*(farm.folder / CALLS).iterdir()])
    finally:
        network.close()
    met = ", ".join(f"{name} {count}" for name, count in sorted(weather.counts.items()))
    line = (
        f"seed {seed}: {rounds} rounds of {items} items, {seconds:.0f} s; {met}; {asked} replies"
        f" given, {met_calls} calls in flight that a kill met, {once} effects of a once tool, {doubted} answers that a person is asked;"
        f" {problems or 'nothing broken'}"
    )
    return line, problems


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--items", type=int, default=12)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--report", type=Path, help="append the lines of the seeds to this file")
    options = parser.parse_args()
    if reason := why_no_server() or why_no_network():
        say(reason)
        return 0
    if not FAKETIME.exists():
        say("clocks do not jump; run as root: apt-get install -y faketime")
    all_problems: list[str] = []
    for seed in options.seeds.split(","):
        line, problems = storm(int(seed), options.items, options.minutes)
        all_problems += problems
        say(line)
        if options.report is not None:
            with options.report.open("a") as report:
                report.write(f"{line}\n")
    return 1 if all_problems else 0


if __name__ == "__main__":
    sys.exit(main())
