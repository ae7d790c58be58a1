"""Conversations by the dozen against a server that fails one call in five; then with kills in the
middle.

Whatever happens, by the server's own log: what the journal has is never asked for again, and no
limit is passed.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.bad_days.program import PATIENT, Plan, messages
from tests.agent.bad_days.readings import Served, asked_again, attempts, journaled, most, read_log
from tests.agent.bad_days.server import FAULTS
from tests.conftest import ROOT

GROWTH = {"memory": 0.15, "objects": 0.02}
"""By what share each may grow after the first fifth. Memory is also what the allocator does not
give back.
"""
MEANS = dict.fromkeys(("cut", "reset", "stall", ""), "NetworkFailed") | {"429": "RateLimited"}
"""The errors that a caller makes of a fault; of others a ProviderError. "" is an answer that
comes too late.
"""


@dataclass(frozen=True)
class Size:
    """The number of conversations and kills, and the limits."""

    conversations: int
    kills: int
    requests: int
    tokens: int
    period: float

    def bounds(self, tight: str) -> dict[str, Any]:
        """The limits, where only that of `requests` or `tokens` is one that is met; the other
        one has room.
        """
        limits = {"requests": self.requests, "tokens": self.tokens}
        return {name: limit if name == tight else 4 * limit for name, limit in limits.items()} | {
            "period": self.period
        }


SIZES = [
    pytest.param(Size(70, 1, 80, 8_000, 4.0), id="70", marks=pytest.mark.fence),
    # The same at full size, for `make baddays` and `make test-all`: its limits alone take minutes.
    pytest.param(Size(1_000, 3, 1_400, 140_000, 60.0), id="1000"),
]


@dataclass
class Lives:
    """The words of a program, life by life, until it came to its end."""

    kills: int = 0
    recovered: list[str] = field(default_factory=list)
    ended: dict[int, Any] = field(default_factory=dict)
    looks: list[Any] = field(default_factory=list)


class Server:
    """The server's process and its log."""

    def __init__(self, log: Path) -> None:
        self.log = log
        command = [sys.executable, "-m", "tests.agent.bad_days.server", str(log)]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self._port = int(self._process.stdout.readline())

    def url(self, run: str, share: int) -> str:
        return f"http://127.0.0.1:{self._port}/{run}/{share}"

    def close(self) -> None:
        self._process.communicate(timeout=60)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "server.jsonl")
    yield server
    server.close()


def live(plan: Plan, told: Lives) -> None:
    """Run the program once more; what it says is added to what it said in earlier told."""
    command = [sys.executable, "-m", "tests.agent.bad_days.program", plan.to_json()]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=900, check=False
    )
    assert done.returncode == (-signal.SIGKILL if plan.kill_after else 0)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    told.kills += bool(plan.kill_after)
    told.recovered += [name for line in said for name in line.get("recovered", ())]
    told.ended = {line["conversation"]: line for line in said if "conversation" in line}
    told.looks = [line for line in said if "memory" in line]


def lives(plan: Plan, kills: int) -> Iterator[Plan]:
    """The plan, killed so often on its way, and then not.

    A whole life writes some six and a half records a conversation, a fifth of these before the
    first look. Every other life begins with what is unfinished; the rest only do again what the one
    before did.
    """
    chance = random.Random(plan.conversations)
    for number in range(kills):
        after = chance.randrange(plan.conversations * 3 // 2, plan.conversations * 12 // 5)
        yield replace(plan, kill_after=after, recover=number % 2 == 1)
    yield replace(plan, recover=kills % 2 == 1)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("dialect", "killed", "tight"),
    [("openai", False, "tokens"), ("anthropic", True, "requests")],
    ids=["alive", "killed"],
)
def test_bad_days_end_well(
    size: Size, dialect: str, killed: bool, tight: str, tmp_path: Path, server: Server
) -> None:
    calm, bad = Lives(), Lives()
    plan = Plan(
        server.url("calm", 0), dialect, str(tmp_path / "calm"), size.conversations, seconds=60
    )
    live(plan, calm)
    bounds = size.bounds(tight)
    plan = Plan(server.url("bad", 20), dialect, str(tmp_path / "bad"), size.conversations, **bounds)
    for one in lives(plan, size.kills if killed else 0):
        live(one, bad)
    log, kept = read_log(server.log, "bad"), asyncio.run(journaled(Path(plan.workspace)))
    report(plan, calm, bad, log)

    check_ends(calm, bad, log)
    assert not asked_again(log, kept)
    assert kept.keys() <= {one.key for one in log if one.whole}
    assert len({(one.key, one.digest) for one in log}) == len({one.key for one in log}), (
        "asked again in other words"
    )
    busiest = {"requests": most([(one.at, 1) for one in log], size.period)}
    busiest["tokens"] = most([(one.at, one.tokens) for one in log], size.period)
    assert all(busiest[name] <= bounds[name] for name in busiest)
    # in a few seconds of a busy machine hardly anything may come to pass
    if plan.conversations > 100:
        assert busiest[tight] > bounds[tight] / 2, "a limit that nobody comes near holds by itself"
    assert attempts(Path(plan.workspace)) >= len(log), "an attempt without a span"
    check_looks((calm if killed else bad).looks[0], bad.looks)
    if killed:
        assert bad.kills == size.kills
        assert bad.recovered


def test_the_readings_see_what_must_not_be() -> None:
    served = [Served(at, (7, 0), "d", "", 10, whole=True) for at in (1.0, 2.5, 5.0)]
    assert asked_again(served, {(7, 0): 2.6}) == served[2:]
    assert asked_again(served, {(7, 0): 5.1, (8, 0): 1.0}) == []
    assert [
        most([(one.at, one.tokens) for one in served], period) for period in (1.0, 2.0, 4.0, 4.1)
    ] == [
        10,
        20,
        20,
        30,
    ]


def check_ends(calm: Lives, bad: Lives, log: list[Served]) -> None:
    """Nearly all end as on a calm day, the others in an error that lists what went wrong, as the
    server knows it.
    """
    everyone = range(len(calm.ended))
    assert all(len(calm.ended[number]["answers"]) == len(messages(number)) for number in everyone)
    wrong = [bad.ended[number] for number in everyone if bad.ended[number] != calm.ended[number]]
    assert len(wrong) <= 0.03 * len(everyone)
    for one in wrong:
        turn = max(served.key[1] for served in log if served.key[0] == one["conversation"])
        faults = [served.fault for served in log if served.key == (one["conversation"], turn)]
        assert "causes" in one, f"{one} instead of {calm.ended[one['conversation']]}"
        assert len(one["causes"]) == PATIENT.max_attempts
        for (kind, what), fault in zip(one["causes"], faults[-PATIENT.max_attempts :], strict=True):
            assert kind in (MEANS.get(fault, "ProviderError"), "NetworkFailed")
            assert what in one["error"]
    assert {one.fault for one in log} == {"", *FAULTS}


def check_looks(before: Any, looks: list[Any]) -> None:
    """Between conversations no file of theirs is open, and memory is what it was after a first
    fifth.
    """
    assert len(looks) == 5
    assert len({look["files"] for look in looks}) == 1
    assert all(look["sockets"] <= looks[0]["sockets"] + 30 for look in looks)
    for name, share in GROWTH.items():
        assert max(look[name] for look in looks) <= before[name] * (1 + share), name


def report(plan: Plan, calm: Lives, bad: Lives, log: list[Served]) -> None:
    """The numbers, for `make baddays`."""
    right = sum(bad.ended[number] == calm.ended[number] for number in calm.ended)
    kept = asyncio.run(journaled(Path(plan.workspace)))
    requests = most([(one.at, 1) for one in log], plan.period)
    tokens = most([(one.at, one.tokens) for one in log], plan.period)
    first, last = bad.looks[0], bad.looks[-1]
    lines = [
        (
            f"{plan.dialect}, {len(bad.ended)} conversations, {bad.kills} kills,"
            f" {len(bad.recovered)} found unfinished"
        ),
        f"  as on a calm day {right}, errors {sum('error' in one for one in bad.ended.values())}",
        (
            f"  requests {len(log)}, faulty {sum(bool(one.fault) for one in log)}, "
            f"retries {len(log) - len({one.key for one in log})}, journaled {len(kept)}, "
            f"asked again though journaled {len(asked_again(log, kept))}"
        ),
        (
            f"  most in {plan.period:g} s: {requests} of {plan.requests} requests, {tokens} of"
            f" {plan.tokens} tokens"
        ),
        (
            f"  files {first['files']} -> {last['files']}, sockets {first['sockets']} ->"
            f" {last['sockets']}, memory {first['memory']} -> {last['memory']} KiB, objects"
            f" {first['objects']} -> {last['objects']} (calm {calm.looks[0]['memory']} ->"
            f" {calm.looks[-1]['memory']}, {calm.looks[0]['objects']} ->"
            f" {calm.looks[-1]['objects']})"
        ),
        f"  faults {dict(sorted(Counter(one.fault or 'none' for one in log).items()))}",
    ]
    sys.stdout.write("\n" + "\n".join(lines) + "\n")
