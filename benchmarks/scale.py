"""Runs on one PostgreSQL database, with 1, 2 and 4 workers: how near to the ideal, and what it costs.

Each run has five stages, each stage asks a model that takes 200 ms, and a worker has eight runs in
flight. The ideal is the time that the model alone takes. The processes of this script stand for
workers; they take the runs from the queue, as `transom worker` does, and do them themselves.

    python benchmarks/scale.py [RUNS]      200 by default, 1,000 for the figures of a release

At last half of four workers are killed, twice, and as many are started: every run must be done, and
every reply in its journal once. It exits with 1 if that is not so, or if a number of workers comes
to less than 0.85 of the ideal.

The time begins when all workers have registered. CPU seconds contain the start of the processes.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from transom.agent import call
from transom.llm import Block, Chain, Role, ScriptedProvider, Tier
from transom.runs import Run, Stage, Workspace, text_file
from transom.store import PostgresAddress, WorkerJob, open_jobs

STAGES, MODEL_SECONDS, PLACES = 5, 0.2, 8
WORKERS = (1, 2, 4)
GOAL = 0.85
HEAD = "workers  runs  seconds  ideal  share  CPU ms a stage: workers  PostgreSQL"
ROLE = Role(
    "scale", (Block("role", "Say that it is done.", Tier.STABLE),), frozenset({"role", "number"})
)


async def answer(request: object) -> str:
    with Path("asked").open("a") as file:
        file.write("x")
    await asyncio.sleep(MODEL_SECONDS)
    return "done"


async def ask_once(stage: Stage, number: int) -> str:
    return (await call(stage, ROLE, [Block("number", str(number))], lambda text: text)).value


async def work(url: str, folder: Path) -> None:
    """Do runs until the folder has a file `stop`."""
    chain = Chain((ScriptedProvider(answer),))
    workspace = Workspace.at(folder, store=url)
    address = PostgresAddress(url)
    async with open_jobs(address) as jobs, workspace.open_store() as store:

        async def do(job: WorkerJob) -> None:
            inputs = {"number": job.number}
            run = await Run.open(
                "scale",
                inputs,
                name=f"r{job.number}",
                workspace=workspace,
                store=store,
                chain=chain,
            )
            async with run:
                for number in range(STAGES):
                    await run.stage(
                        f"s{number}", ask_once, number, out=text_file("out.txt"), uses=[ROLE]
                    )
                await run.finish("done")

        async def ignore(_: object) -> None:
            pass

        async def stop_when_told() -> None:
            while not (folder / "stop").exists():
                await asyncio.sleep(0.2)
            jobs.stop()

        stopping = asyncio.create_task(stop_when_told())
        await jobs.work(do, ["scale"], PLACES, drain_seconds=60, registered=ignore, lost=ignore)
        await stopping


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process and of those below it that live."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14])
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return ticks / os.sysconf("SC_CLK_TCK") + sum(cpu_seconds(int(child)) for child in children)


async def time_of(
    url: str, workers: int, runs: int, disturb: Callable[[int], None] = lambda left: None
) -> float:
    """Return the seconds from the enqueueing of all runs to the end of the last.

    Args:
        disturb: called several times a second with the number of runs that are not done.
    """
    async with open_jobs(PostgresAddress(url)) as jobs:
        while len(await jobs.workers()) < workers:
            await asyncio.sleep(0.1)
        began = time.monotonic()
        await jobs.put(
            [WorkerJob("scale", "jobs/scale", number, str(number), {}) for number in range(runs)]
        )
        while rows := await jobs.waiting():
            disturb(sum(row.waiting + row.running for row in rows))
            await asyncio.sleep(0.1)
        return time.monotonic() - began


def measure(server: object, workers: int, runs: int) -> float:
    """Print the row of a number of workers; returns the share of the ideal."""
    url = server.fresh_address().url
    with TemporaryDirectory() as folder:
        Workspace.at(folder, store=url).open_store()
        server_before, before = (
            cpu_seconds(server.pid),
            resource.getrusage(resource.RUSAGE_CHILDREN),
        )
        command = [sys.executable, str(Path(__file__).resolve()), "work", url, folder]
        processes = [subprocess.Popen(command, cwd=folder) for _ in range(workers)]
        seconds = asyncio.run(time_of(url, workers, runs))
        (Path(folder) / "stop").touch()
        for process in processes:
            assert process.wait() == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    ideal = runs * STAGES * MODEL_SECONDS / (workers * PLACES)
    client = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    database = cpu_seconds(server.pid) - server_before
    stages = runs * STAGES / 1000
    print(
        f"{workers:7}  {runs:4}  {seconds:7.1f}  {ideal:5.1f}  {ideal / seconds:5.2f}"
        f"  {client / stages:23.1f}  {database / stages:10.1f}",
        flush=True,
    )
    return ideal / seconds


def kill_half_twice(server: object, workers: int, runs: int) -> bool:
    """Kill half of the workers when a third is done, and again when two thirds are.

    Returns:
        Whether every run was done, with each reply in its journal once.
    """
    url = server.fresh_address().url
    with TemporaryDirectory() as folder:
        Workspace.at(folder, store=url).open_store()
        command = [sys.executable, str(Path(__file__).resolve()), "work", url, folder]
        processes = [subprocess.Popen(command, cwd=folder) for _ in range(workers)]
        thresholds = [2 * runs // 3, runs // 3]

        def disturb(left: int) -> None:
            if thresholds and left <= thresholds[0]:
                del thresholds[0]
                for victim in processes[: workers // 2]:
                    victim.kill()
                    victim.wait()
                del processes[: workers // 2]
                processes.extend(subprocess.Popen(command, cwd=folder) for _ in range(workers // 2))

        seconds = asyncio.run(time_of(url, workers, runs, disturb))
        (Path(folder) / "stop").touch()
        for process in processes:
            assert process.wait() == 0
        asked = len((Path(folder) / "asked").read_text())
    with psycopg.connect(url) as connection:
        query = "SELECT kind, count(*), count(DISTINCT stream) FROM records GROUP BY kind"
        counts = {kind: numbers for kind, *numbers in connection.execute(query)}
    # A run whose worker died behind its end is opened and closed once more.
    lost, doubled = runs - counts["closed"][1], counts["model_reply"][0] - runs * STAGES
    print(
        f"{workers} workers, {runs} runs, half of them killed twice: {seconds:.1f} s; {lost} runs"
        f" lost, {doubled} replies in journals twice, {asked - runs * STAGES} calls in flight asked"
        " again",
        flush=True,
    )
    return not lost and not doubled


def main() -> int:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tests.store.postgres_server import running_server, why_no_server

    if reason := why_no_server():
        print(reason)
        return 0
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with running_server() as server:
        print(HEAD, flush=True)
        least = min([measure(server, workers, runs) for workers in WORKERS])
        print(f"least share of the ideal {least:.2f}, goal {GOAL}", flush=True)
        is_whole = kill_half_twice(server, 4, runs)
    return 0 if least >= GOAL and is_whole else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        asyncio.run(work(sys.argv[2], Path(sys.argv[3])))
    else:
        sys.exit(main())
