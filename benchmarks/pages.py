"""What the pages of a large workspace cost, and how soon many viewers see a change.

    python benchmarks/pages.py               # 10,000 runs, 200 viewers
    python benchmarks/pages.py --runs 1000 --viewers 50

For each page, the CPU time of the server for one answer, the second of two. Then a real server
streams *Now* to all viewers while runs are added: the time from the end of a run's last write to
the arrival of the event that shows it, over all viewers and runs. At last, the CPU time of a run of
many stages, in a process of its own, without viewers and beside all of them: the median of the
ratios of some pairs. It ends with exit code 1 if a page takes more than 300 ms, if the 95th
percentile of an event is more than 1 s, or if the run takes 5 % more CPU time beside the viewers.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
from starlette.testclient import TestClient

from transom.learning import Playbook
from transom.llm import Chain, ScriptedProvider
from transom.runs import Run, Stage, Workspace, text_file
from transom.runs.history import RunHistory
from transom.server import build_app, listen, serve

TOKEN = "a-token-for-the-benchmark"
PAGES = (
    "/",
    "/waiting",
    "/start",
    "/runs",
    "/runs?offset=9900",
    "/checks",
    "/releases",
    "/stories",
    "/studies",
    "/playbook",
    "/costs?days=365",
    "/evals",
    "/memory",
    "/settings",
)
KINDS = ("check", "investigate", "story", "study", "agent")
STATUSES = ("PASS", "FAIL", "done", "failed")
MOST_CPU, MOST_DELAY, MOST_RATIO = 0.300, 1.0, 1.05
CHANGES = 10
STAGES, PAIRS = 60, 5


async def add_runs(workspace: Workspace, numbers: range) -> list[float]:
    """Add runs that came to their end; return when each was written."""
    chain = Chain((ScriptedProvider({}),))
    written: list[float] = []
    async with workspace.open_store() as store:
        for number in numbers:
            run = await Run.open(
                KINDS[number % len(KINDS)],
                {"number": number},
                name=f"item-{number}",
                workspace=workspace,
                store=store,
                chain=chain,
            )
            async with run:
                await run.finish(STATUSES[number % len(STATUSES)])
            written.append(time.monotonic())
            if len(numbers) == CHANGES:
                await asyncio.sleep(1)
    return written


def page_times(client: TestClient) -> dict[str, float]:
    """Return the CPU seconds that each page takes."""
    client.get(f"/?token={TOKEN}")
    seconds: dict[str, float] = {}
    for path in PAGES:
        client.get(path)
        began = time.process_time()
        answer = client.get(path)
        seconds[path] = time.process_time() - began
        assert answer.status_code == 200, (path, answer.status_code)
    return seconds


async def watch(url: str, names: list[str], seen: dict[str, list[float]]) -> None:
    """Read the stream of *Now* until every name was seen in it."""
    missing = set(names)
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "text/event-stream"}
    async with (
        httpx.AsyncClient(timeout=120, trust_env=False) as client,
        client.stream("GET", f"{url}/now/events", headers=headers) as stream,
    ):
        async for line in stream.aiter_lines():
            for name in [name for name in missing if f">{name}<" in line]:
                seen[name].append(time.monotonic())
                missing.discard(name)
            if not missing:
                return


async def event_delays(
    workspace: Workspace, url: str, first: int, viewers: int
) -> tuple[list[float], int]:
    """Return the delay of each event at each viewer, and how many events never came."""
    numbers = range(first, first + CHANGES)
    names = [f"item-{number}" for number in numbers]
    seen: dict[str, list[float]] = {name: [] for name in names}
    watching = [asyncio.create_task(watch(url, names, seen)) for _ in range(viewers)]
    await asyncio.sleep(3)
    # In a thread of its own: viewers must not wait for the writer.
    written = await asyncio.to_thread(lambda: asyncio.run(add_runs(workspace, numbers)))
    await asyncio.wait(watching, timeout=30)
    delays: list[float] = []
    for name, moment in zip(names, written, strict=True):
        # The event of the last write may arrive before its writer goes on.
        delays += [max(0.0, arrival - moment) for arrival in seen[name]]
    return delays, viewers * CHANGES - len(delays)


async def _stage(stage: Stage, number: int) -> str:
    del stage
    return f"result {number}"


async def work_on_run(workspace: Workspace, name: str) -> float:
    """Walk a run of many stages; return the CPU seconds of this process for it."""
    chain = Chain((ScriptedProvider({}),))
    async with workspace.open_store() as store:
        began = time.process_time()
        async with await Run.open(
            "check", {"live": name}, name=name, workspace=workspace, store=store, chain=chain
        ) as run:
            for number in range(STAGES):
                await run.stage(f"s{number}", _stage, number, out=text_file(f"{number}.txt"))
            await run.finish("PASS")
        return time.process_time() - began


def cpu_of_run(workspace: Workspace, name: str) -> float:
    """Return the CPU seconds of a run in a process of its own."""
    command = [sys.executable, __file__, "--work", name, "--folder", str(workspace.root)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


async def cpu_ratios(workspace: Workspace, url: str, viewers: int) -> list[float]:
    """Return how much more CPU time a run takes beside the viewers, pair by pair."""
    seen: dict[str, list[float]] = {"never": []}
    ratios: list[float] = []
    for number in range(PAIRS):
        alone = await asyncio.to_thread(cpu_of_run, workspace, f"alone-{number}")
        watching = [asyncio.create_task(watch(url, ["never"], seen)) for _ in range(viewers)]
        await asyncio.sleep(3)
        beside = await asyncio.to_thread(cpu_of_run, workspace, f"watched-{number}")
        for task in watching:
            task.cancel()
        await asyncio.wait(watching)
        ratios.append(beside / alone)
    return ratios


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--viewers", type=int, default=200)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        print(asyncio.run(work_on_run(Workspace.at(given.folder), given.work)))
        return
    # A viewer needs a file descriptor at each end.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8_192)), hard))
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace.at(Path(folder))
        asyncio.run(add_runs(workspace, range(given.runs)))
        with Playbook(Path(folder) / "state.db") as playbook:
            store = workspace.open_store()
            app = build_app(playbook, RunHistory(workspace, store), TOKEN)
            with TestClient(
                app, base_url="http://127.0.0.1:8420", headers={"Accept": "text/html"}
            ) as client:
                pages = page_times(client)
            for path, seconds in pages.items():
                print(f"{path:24}{seconds * 1000:6.0f} ms")
            listener, url = listen("127.0.0.1", 0)
            server = threading.Thread(target=serve, args=(app, listener), daemon=True)
            server.start()
            delays, lost = asyncio.run(event_delays(workspace, url, given.runs, given.viewers))
            ratios = asyncio.run(cpu_ratios(workspace, url, given.viewers))
            asyncio.run(store.close())
    p95 = statistics.quantiles(delays, n=20)[-1] if len(delays) > 1 else float("inf")
    print(f"{given.viewers} viewers: p95 {p95:.2f} s, latest {max(delays, default=0):.2f} s")
    print(f"events that never came: {lost}")
    ratio = statistics.median(ratios)
    print(f"a run's CPU beside them: x {ratio:.3f} ({min(ratios):.3f} to {max(ratios):.3f})")
    if max(pages.values()) > MOST_CPU or p95 > MOST_DELAY or lost or ratio > MOST_RATIO:
        sys.exit(1)


if __name__ == "__main__":
    main()
