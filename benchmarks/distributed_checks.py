"""Checks given to workers: how much faster several workers are than one, and what an item costs.

    python benchmarks/distributed_checks.py [ITEMS]      100 by default, 1,000 for a release

Each worker has one place, so it stands for one core. The ideal is that N workers are N times as fast
as one, up to the number of cores. The time is that of the whole command, its start included.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from transom.store import PostgresAddress, open_jobs

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "checks"
TRANSOM = (sys.executable, "-m", "transom")
WORKERS = (1, 2, 4)
GOAL = 0.85


async def wait_for_workers(url: str, count: int) -> None:
    async with open_jobs(PostgresAddress(url)) as jobs:
        while len(await jobs.workers()) < count:
            await asyncio.sleep(0.1)


def prepare(folder: Path, url: str, items: int) -> None:
    """Write the settings and the items, which have one description and different ids."""
    (folder / "transom.yaml").write_text(f"store: {url}\n")
    (folder / "items").mkdir()
    for number in range(items):
        shutil.copy(EXAMPLES / "VER-02.yaml", folder / "items" / f"item-{number:04}.yaml")


def measure(server: object, workers: int, items: int) -> float:
    """Print the figures of a number of workers; returns the seconds."""
    from benchmarks.scale import cpu_seconds

    url = server.fresh_address().url
    with TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, url, items)
        server_before = cpu_seconds(server.pid)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        variable = f"CHECKLIST_ROOT={EXAMPLES / 'data'}"
        command = [*TRANSOM, "worker", "-j", "1", "-q"]
        processes = [subprocess.Popen(command, cwd=folder) for _ in range(workers)]
        asyncio.run(wait_for_workers(url, workers))
        began = time.monotonic()
        batch = subprocess.run(
            [*TRANSOM, "check", "batch", "items", "--distributed", "--var", variable],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - began
        for process in processes:
            process.terminate()
            process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert f"{items} checks: {items} FAIL" in batch.stdout, (
        batch.stdout[-2000:] + batch.stderr[-2000:]
    )
    client = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    database = cpu_seconds(server.pid) - server_before
    print(
        f"{workers} workers, {items} items: {seconds:.1f} s; CPU {client:.1f} s of the command and"
        f" the workers, {database:.1f} s of PostgreSQL, {1000 * (client + database) / items:.0f} ms"
        " an item",
        flush=True,
    )
    return seconds


def main() -> int:
    sys.path.insert(0, str(ROOT))
    from tests.store.postgres_server import running_server, why_no_server

    if reason := why_no_server():
        print(reason)
        return 0
    items = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    cores = len(os.sched_getaffinity(0))
    is_reached = True
    with running_server() as server:
        alone = measure(server, 1, items)
        for workers in WORKERS[1:]:
            ideal = min(workers, cores)
            share = alone / measure(server, workers, items) / ideal
            is_reached = is_reached and share >= GOAL
            print(f"  {share:.2f} of {ideal} times as fast as one worker (goal {GOAL})", flush=True)
    return 0 if is_reached else 1


if __name__ == "__main__":
    sys.exit(main())
