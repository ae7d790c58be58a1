"""Many items at once, and many checkers on tonight's logs: `transom check batch` on copies of the
shipped examples.

    python benchmarks/batch.py                        # 1,000 items and 300 checkers: half an hour
                                                      on two cores
    python benchmarks/batch.py --items 40 --checkers 12 --json FILE        # five minutes

A scripted model answers each call after 20 ms, 30 items at a time. Then the same once more with a
`kill -9` of the command half-way, which is then given again. Columns:

    items    s      of wall clock, without the kill
    ideal    s      processor time of the whole run / cores + model time / 30
    ratio           of the two, times `free`: the part of the machine that others left; the bound is
                    for this
    lost            items without a verdict after the kill and the second command
    twice           calls that were asked again although their reply was kept
    checkers s      of wall clock for built checkers, run again with `check batch`
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.checklist.shipped_model import without_claim

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "checks"
AT_ONCE, SECONDS, CALLS = 30, 0.02, 7
BOUND, CHECKERS_BOUND, START = 1.5, 60.0, 5.0
MODEL = f"""\
import asyncio
import sys

sys.path.append("{ROOT}")
from tests.checklist.shipped_model import ShippedModel


class Slow(ShippedModel):
    name = "slow"

    async def complete(self, request, *, on_delta=None):
        await asyncio.sleep({SECONDS})
        return await super().complete(request, on_delta=on_delta)
"""


def begin(folder: Path, *words: str) -> subprocess.Popen[str]:
    """The command in a group of its own; at L2 the processor time of the sandboxed code is
    counted, too.
    """
    command = [sys.executable, "-m", "transom", "check", "batch", *words, "-j", str(AT_ONCE)]
    command += ["--var", f"CHECKLIST_ROOT={EXAMPLES / 'data'}", "--model", "slow:Slow"]
    environment = {**os.environ, "TRANSOM_SANDBOX__LEVEL": "L2"}
    with (folder / "answer.txt").open("w") as out:
        return subprocess.Popen(
            command, cwd=folder, env=environment, stdout=out, stderr=subprocess.PIPE, text=True
        )


def ended(process: subprocess.Popen[str], at: int | None = None) -> None:
    """Wait for its end, or kill it behind that many items."""
    assert process.stderr
    for line in process.stderr:
        if at is not None and re.match(rf"\[ *{at}/", line):
            process.send_signal(signal.SIGKILL)
    process.wait()


def items(folder: Path, count: int) -> None:
    (folder / "items").mkdir(parents=True)
    (folder / "slow.py").write_text(MODEL)
    sources = sorted(EXAMPLES.glob("*.yaml"))
    for number in range(count):
        text = without_claim(sources[number % len(sources)].read_text(encoding="utf-8"))
        (folder / "items" / f"I-{number:04}.yaml").write_text(text, encoding="utf-8")


def busy() -> tuple[float, float]:
    """Seconds that all cores of the machine worked, and all that there were."""
    numbers = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(numbers) - numbers[3] - numbers[4]) / os.sysconf("SC_CLK_TCK"), sum(
        numbers
    ) / os.sysconf("SC_CLK_TCK")


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(folder: Path, *words: str) -> dict[str, float]:
    used, (worked, all_), began = spent(), busy(), time.monotonic()
    ended(begin(folder, *words))
    wall, mine, now = time.monotonic() - began, spent() - used, busy()
    return {"s": wall, "cpu": mine, "free": 1 - max(0.0, now[0] - worked - mine) / (now[1] - all_)}


def killed(folder: Path, count: int) -> tuple[int, int]:
    """Items without a verdict, and calls that were asked twice, after a kill half-way and the
    command again.
    """
    ended(begin(folder, "items"), at=max(1, count // 2))
    time.sleep(1)  # its processes end with it
    ended(begin(folder, "items"))
    answer = (folder / "answer.txt").read_text()
    judged = len(re.findall(r"^(?:PASS|FAIL) +I-\d+", answer, re.M))
    with closing(sqlite3.connect(folder / ".transom" / "state.db")) as database:
        (replies,) = database.execute(
            "SELECT count(*) FROM records WHERE kind = 'model_reply'"
        ).fetchone()
    return count - judged, replies - CALLS * count


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=1_000)
    parser.add_argument("--checkers", type=int, default=300)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found: dict[str, Any] = {"items": asked.items, "checkers": asked.checkers}
    with tempfile.TemporaryDirectory() as name:
        whole, cut = Path(name, "whole"), Path(name, "cut")
        items(whole, asked.items)
        items(cut, asked.items)
        run = timed(whole, "items", "-o", "built")
        ideal = run["cpu"] / (os.cpu_count() or 1) + asked.items * CALLS * SECONDS / AT_ONCE
        found |= {
            "items_s": run["s"],
            "ideal_s": ideal,
            "ratio": run["s"] * run["free"] / ideal,
            "free": run["free"],
        }
        made = sorted((whole / "built").glob("*_checker"))
        for number in range(asked.checkers):
            shutil.copytree(made[number % len(made)], whole / "tonight" / f"C-{number:04}_checker")
        again = timed(whole, "tonight")
        found |= {
            "checkers_s": again["s"],
            "checkers_cpu_s": again["cpu"],
            "checkers_free": again["free"],
        }
        found["lost"], found["twice"] = killed(cut, asked.items)
    print("items      s  ideal s  ratio  free  lost  twice  checkers      s  cpu s  free")
    print(
        "{items:5}  {items_s:5.0f}  {ideal_s:7.0f}  {ratio:5.2f}  {free:4.0%}  {lost:4}  {twice:5} "
        " {checkers:8}  {checkers_s:5.0f}  {checkers_cpu_s:5.0f}  {checkers_free:4.0%}".format(
            **found
        )
    )
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    held = found["ratio"] <= BOUND and found["lost"] == found["twice"] == 0
    # of few the start of the command is the most
    most = START + (CHECKERS_BOUND - START) * asked.checkers / 300
    held = held and found["checkers_s"] * found["checkers_free"] <= most
    print(
        f"bounds {BOUND:g} x ideal, {most:.0f} s for {asked.checkers} checkers:"
        f" {'held' if held else 'NOT HELD'}"
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
