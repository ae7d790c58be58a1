"""What the pages of a large workspace cost, and how soon many viewers see a change.

    python benchmarks/pages.py               # 10,000 runs, 200 viewers
    python benchmarks/pages.py --runs 1000 --viewers 50

For each page, the CPU time of the server for one answer, the second of two. Then a server in a
process of its own streams *Now* to viewers in another one while runs are added: the time from the
end of a run's last write to the arrival of the event that shows it, over all viewers and runs. At
last, the work of a run of many stages in a third process, watched by all viewers and alone: its
calls of functions, and its system calls (with strace, if there is one), in which locks that it
waits for, and checkpoints that readers hold up, would show. Counts are the same on any machine.

The CPU seconds of the same run are printed beside: watched, beside as many viewers of another
workspace, and alone, in turn (the medians of the quicker halves). On most machines they differ by
more than 5 % from one time to the next, also with nobody else there.

It ends with exit code 1 if a page takes more than 300 ms, if the 95th percentile of an event is
more than 1 s, or if being watched adds more than 5 % to what the run does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.testclient import TestClient

from transom.canonical import Json
from transom.learning import Playbook
from transom.llm import Chain, ScriptedProvider, Usage
from transom.runs import Run, Stage, Workspace, text_file
from transom.runs.history import RunHistory
from transom.runs.summarising import RunRow, Summariser
from transom.server import build_app, listen, serve
from transom.server.connections import raise_file_limit
from transom.server.door import Door
from transom.store import Store

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
MODELS = ("openai:gpt-4o", "a-model-without-a-price")
STATUSES = ("PASS", "FAIL", "done", "failed")
MOST_CPU, MOST_DELAY, MOST_RATIO = 0.300, 1.0, 1.05
CHANGES = 10
STAGES, ROUNDS, COUNTED_ROUNDS = 60, 10, 3


@dataclass(frozen=True)
class Served:
    """A workspace, and the address of a server of its pages."""

    workspace: Workspace
    url: str


@dataclass(frozen=True)
class WorkCounts:
    """What the stages of a run do.

    Attributes:
        calls: calls of functions, in Python and in C.
        system_calls: None without strace.
    """

    calls: int
    system_calls: int | None


@dataclass(frozen=True)
class CpuRatios:
    """How much CPU time a run takes that 200 viewers watch.

    Attributes:
        watched: against the same run while they watch another workspace.
        with_machine: against the same run alone on the machine.
        again: of the run alone against itself, which is what a machine adds by chance.
    """

    watched: float
    with_machine: float
    again: float


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
                if number % 2 and len(numbers) > CHANGES:
                    kind = KINDS[number % len(KINDS)]
                    await add_reply(store, RunRow(run.id, kind, f"item-{number}", {}))
                await run.finish(STATUSES[number % len(STATUSES)])
            written.append(time.monotonic())
            if len(numbers) == CHANGES:
                await asyncio.sleep(1)
    return written


async def add_reply(store: Store, row: RunRow) -> None:
    """Add the reply of a model to a run, as its journal has one."""
    usage = Usage(1_000, 100, cached_tokens=400).to_json()
    data: Json = {"stage": "ask", "reply": {"by": MODELS[row.id[-1] in "02468ace"], "usage": usage}}
    await store.append(f"run/{row.id}", "model_reply", data, summarise=Summariser(row))


@contextmanager
def application(workspace: Workspace) -> Iterator[Door]:
    """Yield the pages of a workspace."""
    with Playbook(workspace.root / "state.db") as playbook:
        store = workspace.open_store()
        yield build_app(playbook, RunHistory(workspace, store), TOKEN)
        asyncio.run(store.close())


def serve_workspace(workspace: Workspace) -> None:
    """Print the address of a server of the pages, and serve until this process is killed."""
    with application(workspace) as app:
        listener, url = listen("127.0.0.1", 0)
        print(url, flush=True)
        serve(app, listener, app.on_stop)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has taken (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


def watch(url: str, viewers: int, names: list[str]) -> None:
    """Print, as JSON, when each of many viewers saw each name in the stream of *Now*."""
    print(json.dumps(asyncio.run(_watch_all(url, viewers, names))))


async def _watch_all(url: str, viewers: int, names: list[str]) -> list[list[float]]:
    moments: list[list[float]] = [[] for _ in names]
    watching = asyncio.Barrier(viewers + 1)
    async with asyncio.TaskGroup() as viewer_tasks:
        for _ in range(viewers):
            viewer_tasks.create_task(_watch_once(url, names, moments, watching))
        await watching.wait()
        print("all are watching", flush=True)
    return moments


async def _watch_once(
    url: str, names: list[str], moments: list[list[float]], watching: asyncio.Barrier
) -> None:
    """Read a stream until every name was seen."""
    host, port = url.removeprefix("http://").split(":")
    # An HTTP client in Python takes more time for an event than the server does, and would be what
    # is measured.
    reader, writer = await asyncio.open_connection(host, int(port), limit=2**22)
    head = (
        f"GET /now/events HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    )
    writer.write(head.encode())
    missing = {f">{name}<".encode(): number for number, name in enumerate(names)}
    try:
        await reader.readuntil(b"\n\n")
        await watching.wait()
        while missing:
            event = await reader.readuntil(b"\n\n")
            moment = time.monotonic()
            for marker in [marker for marker in missing if marker in event]:
                moments[missing.pop(marker)].append(moment)
    finally:
        writer.close()


@contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run this file in another process, as servers, viewers and runs are in reality."""
    command = [sys.executable, __file__, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def event_delays(
    workspace: Workspace, url: str, first: int, viewers: int
) -> tuple[list[float], int]:
    """Return the delay of each event at each viewer, and how many events never came."""
    numbers = range(first, first + CHANGES)
    names = [f"item-{number}" for number in numbers]
    with process("--watch", url, "--viewers", str(viewers), "--names", *names) as watching:
        assert watching.stdout is not None
        watching.stdout.readline()
        written = asyncio.run(add_runs(workspace, numbers))
        try:
            output, _ = watching.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            return [], viewers * CHANGES
    delays: list[float] = []
    for moment, arrivals in zip(written, json.loads(output), strict=True):
        # The event of the last write may arrive before its writer goes on.
        delays += [max(0.0, arrival - moment) for arrival in arrivals]
    return delays, viewers * CHANGES - len(delays)


async def _stage(stage: Stage, number: int) -> str:
    del stage
    return f"result {number}"


async def work_on_run(workspace: Workspace, name: str, stages: int = STAGES) -> float:
    """Walk a run of many stages; return the CPU seconds of this process for it."""
    chain = Chain((ScriptedProvider({}),))
    async with workspace.open_store() as store:
        began = time.process_time()
        async with await Run.open(
            "check", {"live": name}, name=name, workspace=workspace, store=store, chain=chain
        ) as run:
            for number in range(stages):
                await run.stage(f"s{number}", _stage, number, out=text_file(f"{number}.txt"))
            await run.finish("PASS")
        return time.process_time() - began


def count_calls(workspace: Workspace, name: str, stages: int) -> int:
    """Walk a run of many stages; return the calls of functions in all threads."""
    # One counter for each thread: no call is lost, and none waits for another thread.
    counters: dict[int, int] = {}

    def count(frame: object, event: str, argument: object) -> None:
        del frame, argument
        if event in ("call", "c_call"):
            thread = threading.get_ident()
            counters[thread] = counters.get(thread, 0) + 1

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        asyncio.run(work_on_run(workspace, name, stages))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sum(counters.values())


def counts_of_run(workspace: Workspace, name: str) -> WorkCounts:
    """Return what the stages of a run do, each count of a process of its own.

    Starting Python and opening the database are as much work as some stages, and are not counted.
    """
    calls: list[int] = []
    system_calls: list[int] = []
    for stages in (STAGES, 0):
        options = ("--stages", str(stages), "--folder", str(workspace.root))
        with process("--count", f"{name}-calls-{stages}", *options) as child:
            output, _ = child.communicate()
        calls.append(int(output))
        if shutil.which("strace"):
            command = [sys.executable, __file__, "--work", f"{name}-system-{stages}", *options]
            system_calls.append(count_system_calls(command))
    return WorkCounts(
        calls[0] - calls[1], system_calls[0] - system_calls[1] if system_calls else None
    )


def count_system_calls(command: list[str]) -> int:
    """Return the system calls of a command, those of all its threads."""
    with tempfile.NamedTemporaryFile("r") as table:
        options = ["--follow-forks", "--summary-only", "--summary-columns=calls,name"]
        subprocess.run(
            ["strace", *options, f"--output={table.name}", *command],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        # The last row is the sum.
        *_, total = table.read().split("\n---")[-1].splitlines()
    return int(total.split()[0])


def count_work(served: Served, viewers: int) -> tuple[WorkCounts, WorkCounts]:
    """Return what a run does that is watched, and alone; the medians of a few."""
    counted: tuple[list[WorkCounts], list[WorkCounts]] = [], []
    for number in range(COUNTED_ROUNDS):
        with process("--watch", served.url, "--viewers", str(viewers), "--names", "never") as seen:
            assert seen.stdout is not None
            seen.stdout.readline()
            counted[0].append(counts_of_run(served.workspace, f"watched-{number}"))
        counted[1].append(counts_of_run(served.workspace, f"unwatched-{number}"))
    return median_of(counted[0]), median_of(counted[1])


def median_of(counts: list[WorkCounts]) -> WorkCounts:
    """Return the medians."""
    system_calls = [count.system_calls for count in counts if count.system_calls is not None]
    return WorkCounts(
        calls=statistics.median_low(count.calls for count in counts),
        system_calls=statistics.median_low(system_calls) if system_calls else None,
    )


def work_ratio(watched: WorkCounts, alone: WorkCounts) -> float:
    """Print what a run does, watched and alone; return the larger ratio."""
    ratios = [watched.calls / alone.calls]
    print(f"a run's calls, watched: {watched.calls:,}, alone: {alone.calls:,}, x {ratios[0]:.3f}")
    if watched.system_calls is None or not alone.system_calls:
        print("a run's system calls were not counted: strace is not installed")
        return ratios[0]
    ratios.append(watched.system_calls / alone.system_calls)
    print(
        f"a run's system calls, watched: {watched.system_calls:,}, alone:"
        f" {alone.system_calls:,}, x {ratios[1]:.3f}",
        flush=True,
    )
    return max(ratios)


def cpu_of_run(workspace: Workspace, name: str) -> float:
    """Return the CPU seconds of a run in a process of its own."""
    with process("--work", name, "--folder", str(workspace.root)) as child:
        output, _ = child.communicate()
    return float(output)


def cpu_ratios(watched: Served, other: Served, viewers: int, rounds: int) -> CpuRatios:
    """Compare the CPU time of a run that is watched, of one beside as busy a machine, and alone.

    A machine on which 200 viewers are served runs every program a little slower: its threads share
    caches and clocks. So two runs work at the same time, one in each of two equal workspaces, and
    the viewers watch the one workspace or the other. Both are the same work for the machine, and
    only the first disturbs the run that is measured.
    """
    alone: list[float] = []
    beside: list[float] = []
    elsewhere: list[float] = []
    for number in range(rounds):
        alone.append(cpu_of_run(watched.workspace, f"alone-{number}"))
        for at, seconds in ((watched, beside), (other, elsewhere)):
            with process("--watch", at.url, "--viewers", str(viewers), "--names", "never") as seen:
                assert seen.stdout is not None
                seen.stdout.readline()
                name = f"{number}-of-{len(beside)}-{len(elsewhere)}"
                with process("--work", name, "--folder", str(other.workspace.root)) as second:
                    seconds.append(cpu_of_run(watched.workspace, name))
                    second.communicate()
    return CpuRatios(
        watched=_quick(beside) / _quick(elsewhere),
        with_machine=_quick(beside) / _quick(alone),
        again=_quick(alone[::2]) / _quick(alone[1::2]),
    )


def _quick(seconds: list[float]) -> float:
    """Return the median of the quicker half: a machine disturbs upwards only."""
    return statistics.median(sorted(seconds)[: max(1, len(seconds) // 2)])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--viewers", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--count", help=argparse.SUPPRESS)
    parser.add_argument("--stages", type=int, default=STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--watch", help=argparse.SUPPRESS)
    parser.add_argument("--names", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        workspace = Workspace.at(given.folder)
        print(asyncio.run(work_on_run(workspace, given.work, given.stages)))
        return
    if given.count:
        print(count_calls(Workspace.at(given.folder), given.count, given.stages))
        return
    raise_file_limit()
    if given.watch:
        watch(given.watch, given.viewers, given.names)
        return
    if given.serve:
        serve_workspace(Workspace.at(given.folder))
        return
    if not measure(given.runs, given.viewers, given.rounds):
        sys.exit(1)


def measure(runs: int, viewers: int, rounds: int) -> bool:
    """Measure and print; return whether all bounds hold."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace.at(Path(folder, "one"))
        asyncio.run(add_runs(workspace, range(runs)))
        with (
            application(workspace) as app,
            TestClient(
                app, base_url="http://127.0.0.1:8420", headers={"Accept": "text/html"}
            ) as client,
        ):
            pages = page_times(client)
        for path, seconds in pages.items():
            print(f"{path:24}{seconds * 1000:6.0f} ms")
        shutil.copytree(workspace.root, Path(folder, "other"))
        copy = Workspace.at(Path(folder, "other"))
        with (
            process("--serve", "--folder", str(workspace.root)) as server,
            process("--serve", "--folder", str(copy.root)) as other_server,
        ):
            assert server.stdout is not None and other_server.stdout is not None
            watched = Served(workspace, server.stdout.readline().strip())
            other = Served(copy, other_server.stdout.readline().strip())
            before = cpu_seconds(server.pid)
            delays, lost = event_delays(workspace, watched.url, runs, viewers)
            spent = cpu_seconds(server.pid) - before
            p95 = statistics.quantiles(delays, n=20)[-1] if len(delays) > 1 else float("inf")
            print(
                f"{viewers} viewers: p95 {p95:.2f} s, latest {max(delays, default=0):.2f} s;"
                f" events that never came: {lost}; CPU of the server: {spent:.2f} s for"
                f" {CHANGES} runs",
                flush=True,
            )
            added = work_ratio(*count_work(watched, viewers))
            ratios = cpu_ratios(watched, other, viewers, rounds)
    print(
        f"a run's CPU seconds, watched: x {ratios.watched:.3f} (with what a busy machine adds to any"
        f" program: x {ratios.with_machine:.3f}; alone, again: x {ratios.again:.3f})"
    )
    slow = max(pages.values()) > MOST_CPU or p95 > MOST_DELAY
    return not (slow or lost or added > MOST_RATIO)


if __name__ == "__main__":
    main()
