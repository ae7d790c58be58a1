"""A check over 100 MB of log in the sandbox against the same atoms in plain CPython; and memory at
1 GB against 100 MB.

Each run is a whole check: reading, digest, atoms, entries, verdict. The two kinds are interleaved,
their medians compared, and their verdicts must be equal. The checkers come from `transom check
build` with the embedded rules; line and record atoms, written here, show what others may write. The
log is a real one, repeated; it lies beside the repository, and where it is absent nothing is
measured.
Bars: speed >= 0.7 x plain, a checker by rules <= 1.5 x the time of the line atom written here, peak
memory of parent and worker at 1 GB <= 1.1 x that at 100 MB.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from transom.checklist.atoms import LOCKED_LAYER
from transom.checklist.item import InputName
from transom.checklist.judging import (
    Inputs,
    LoadedChecker,
    Roots,
    Verdict,
    artifact_bytes,
    check_files,
    load_checker,
)
from transom.sandbox import Level, Sandbox, probe

REAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "big" / "sta_big.log.gz"
SPEED_BAR, RULES_BAR, MEMORY_BAR = 0.7, 1.5, 1.1
ROUNDS = 3
MEGABYTE = 1_000_000

CHECKS = {
    "versions": ("Confirm that the netlist and SPEF versions are correct.", "headers_complete"),
    "messages": ("Confirm that there are no error messages in the log.", "no_errors"),
}
_ITEM = """\
description: DESCRIPTION_HERE
reads_as: {claim: CLAIM_HERE}
requirements: {value: N/A, pattern_items: []}
input_files: [sta.log]
waivers: {value: N/A, waive_items: []}
"""
_CONFIG = """\
schema: transom.checker/1
item_id: WARNINGS
description: No warning is given.
capability_type: 1
items:
- {id: '2.1', name: warnings, select: warning.text, mode: forbid, quantifier: each}
"""
_ATOM = (
    """\
import re
from typing import Dict, List

SCOPE = "SCOPE_HERE"
RECORD_START = r"^Startpoint: "
SOURCES = [{"kind": "log", "rank": "primary", "files": ["*.log"]}]
WARNING = re.compile(r"Warning: (.*)")


def extract_context(text: str, source_file: str) -> List[Dict]:
    results = []
    for number, line in enumerate(text.split("\\n"), 1):
        if match := WARNING.match(line):
            fields = {"warning": {"text": match[1]}}
            results.append(
                {"value": match[1], "line_number": number, "matched_content": line, "parsed_fields": fields}
            )
"""
    + LOCKED_LAYER
)
_MEASURE = """
import sys, threading
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import sandbox as bench
done, peaks = threading.Event(), [0]
thread = threading.Thread(target=bench.watch_worker, args=(done, peaks), daemon=True)
thread.start()
bench.check(bench.load_checker(Path(sys.argv[2])), Path(sys.argv[3]), bench.Sandbox(level=bench.worker_level()))
done.set()
thread.join()
print(bench.peak_kib("self"), max(peaks))
"""


class PlainWorker:
    """The atoms in this process."""

    def __init__(self, code: str) -> None:
        self._names: dict[str, Any] = {"__name__": "atoms"}
        exec(compile(code, "atoms.py", "exec"), self._names)

    async def call(self, name: str, args: Mapping[str, object]) -> object:
        """As a worker of the sandbox."""
        return self._names[name](**args)

    async def constants(self, names: Iterable[str]) -> dict[str, object]:
        """As a worker of the sandbox."""
        return {name: self._names[name] for name in names if name in self._names}


class PlainRunner:
    """No sandbox: what the speed is compared with."""

    level = Level.NONE

    @asynccontextmanager
    async def worker(self, code: str) -> AsyncIterator[PlainWorker]:
        """The atoms in this process."""
        yield PlainWorker(code)


def worker_level() -> Level | None:
    """L2 where it is to be had: there a worker is a direct child, which is easily watched."""
    return Level.L2 if Level.L2 not in dict(probe().missing) else None


def peak_kib(pid: str) -> int:
    """The largest resident set that a process has had. (`ru_maxrss` would count what its parent
    had before `exec`.)
    """
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def watch_worker(done: threading.Event, peaks: list[int]) -> None:
    """Note the peaks of the children of this process until it is done.

    Until a child has become another program, it has the memory of this process, and its name; that
    counts for nothing.
    """
    own = Path("/proc/self/cmdline").read_bytes()
    while not done.wait(0.02):
        for task in Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError, IndexError):  # the worker or the task may have ended
                children = (task / "children").read_text().split()
                peaks += [
                    peak_kib(pid)
                    for pid in children
                    if Path(f"/proc/{pid}/cmdline").read_bytes() != own
                ]


def write_log(path: Path, size: int) -> int:
    """The log again and again until it has at least `size` bytes; returns how many it has."""
    data = gzip.decompress(REAL.read_bytes())
    with path.open("wb") as stream:
        while stream.tell() < size:
            stream.write(data)
        return stream.tell()


def built_checker(name: str, work: Path) -> LoadedChecker:
    """A checker by the embedded rules, built from a log that lacks most of its paths."""
    folder = work / name
    folder.mkdir()
    data = gzip.decompress(REAL.read_bytes())
    # Without its last lines the log would be cut, which is no log to build from.
    (folder / "sta.log").write_bytes(data[:200_000] + b"\n" + data[-2_000:])
    description, claim = CHECKS[name]
    item = _ITEM.replace("DESCRIPTION_HERE", description).replace("CLAIM_HERE", claim)
    (folder / "ITEM.yaml").write_text(item)
    # The verdict on the head of the log is of no interest, but there must be one.
    transom(folder, "check", "all", "ITEM.yaml")
    return load_checker(next((folder / "out").glob("*_checker")))


def transom(folder: Path, *arguments: str | Path) -> None:
    """A command in a folder that ends with a verdict; what goes wrong is shown."""
    command = [sys.executable, "-m", "transom", *map(str, arguments), "--out", "out", "--quiet"]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"transom {arguments[1]} ended with {done.returncode}: {done.stderr}")


def own_checker(work: Path, scope: str) -> LoadedChecker:
    """A checker whose atom reads in the given scope."""
    folder = work / scope
    folder.mkdir(exist_ok=True)
    (folder / "checker.yaml").write_text(_CONFIG)
    (folder / "atoms.py").write_text(_ATOM.replace("SCOPE_HERE", scope))
    return load_checker(folder)


def check(checker: LoadedChecker, log: Path, runner: Any) -> Verdict:
    """One whole check."""
    inputs = Inputs((InputName(log.name, 1),), Roots(base=log.parent))
    verdict = asyncio.run(check_files(checker, None, inputs, runner, "2026-01-01"))
    if verdict.status == "ERROR":
        raise SystemExit(f"the check ended in ERROR: {verdict.errors}")
    return verdict


def timed(work: Callable[[], Verdict]) -> tuple[float, Verdict]:
    """Seconds, and the verdict."""
    start = time.perf_counter()
    verdict = work()
    return time.perf_counter() - start, verdict


def speed(name: str, checker: LoadedChecker, log: Path, size: int) -> tuple[float, float]:
    """Print plain seconds / sandboxed seconds, medians of interleaved runs; returns it and the
    sandboxed seconds.
    """
    sandboxed: list[float] = []
    plain: list[float] = []
    for _ in range(ROUNDS):
        seconds, verdict = timed(lambda: check(checker, log, Sandbox()))
        sandboxed.append(seconds)
        seconds, other = timed(lambda: check(checker, log, PlainRunner()))
        plain.append(seconds)
        marks = {"sandbox_level": other.sandbox_level, "warnings": other.warnings}
        same = artifact_bytes(other) == artifact_bytes(verdict.model_copy(update=marks))
        if not same:
            raise SystemExit(f"{name}: the verdicts differ")
    slow, fast = statistics.median(sandboxed), statistics.median(plain)
    sys.stdout.write(
        f"{name}: {size // MEGABYTE} MB, sandbox {slow:.2f} s, plain {fast:.2f} s, "
        f"ratio {fast / slow:.2f} (bar >= {SPEED_BAR}), equal verdicts\n"
    )
    return fast / slow, slow


def memory(name: str, folder: Path, small: Path, large: Path) -> float:
    """Print and return the larger growth of the two processes' peaks."""
    peaks: list[list[int]] = []
    for log in (small, large):
        command = [
            sys.executable,
            "-c",
            _MEASURE,
            str(Path(__file__).parent),
            str(folder),
            str(log),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append([int(word) for word in done.stdout.split()])
    growth: float = max(after / before for before, after in zip(*peaks, strict=True))
    told = ", ".join(
        f"{who} {a >> 10} -> {b >> 10} MiB"
        for who, a, b in zip(("parent", "worker"), *peaks, strict=True)
    )
    sys.stdout.write(
        f"{name}: peak memory at 1 GB / 100 MB {growth:.3f} (bar <= {MEMORY_BAR}): {told}\n"
    )
    return growth


def main() -> int:
    """Print the ratios; 1 where one is beyond twice its bar."""
    if not REAL.exists():
        sys.stdout.write(
            "skipped: the real log (../shared/data/big/sta_big.log.gz) is not beside this"
            " checkout\n"
        )
        return 0
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        checkers = {f"{about}, by rules": built_checker(about, work) for about in CHECKS}
        checkers |= {
            f"own, scope {scope}": own_checker(work, scope) for scope in ("line", "record")
        }
        log, large = work / "sta.log", work / "large.log"
        size = write_log(log, 100 * MEGABYTE)
        told = {about: speed(about, checker, log, size) for about, checker in checkers.items()}
        by_hand = told["own, scope line"][1]
        rules = {
            about: slow / by_hand for about, (_, slow) in told.items() if about.endswith("by rules")
        }
        for about, times in rules.items():
            sys.stdout.write(
                f"{about}: {times:.2f} x the line atom written by hand (bar <= {RULES_BAR})\n"
            )
        write_log(large, 1_000 * MEGABYTE)
        growths = [memory(about, checker.folder, log, large) for about, checker in checkers.items()]
    slowest = min(speed for speed, _ in told.values())
    slow = slowest < SPEED_BAR / 2 or max(rules.values()) > 2 * RULES_BAR
    return int(slow or max(growths) > 2 * MEMORY_BAR)


if __name__ == "__main__":
    sys.exit(main())
