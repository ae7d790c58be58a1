"""Readings of a run from the server's log, the journal and the traces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from transom.runs.run import RUNS
from transom.store import SqliteStore
from transom.telemetry import read_trace

Key = tuple[int, int]
"""A conversation's number, and that of the turn that was asked for."""


@dataclass(frozen=True)
class Served:
    """A request as the server's log has it.

    Attributes:
        at: when it was there, by the server's clock.
        fault: what went wrong, "" for nothing.
        tokens: what the server counts for it.
        whole: whether its answer was sent to the end.
    """

    at: float
    key: Key
    digest: str
    fault: str
    tokens: int
    whole: bool


def read_log(path: Path, run: str) -> list[Served]:
    """A run's requests, oldest first."""
    lines: list[dict[str, Any]] = [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()
    ]
    whole = {line["whole"] for line in lines if "whole" in line}
    mine = [line for line in lines if line.get("run") == run]
    return [
        Served(
            line["at"],
            (line["conversation"], line["turn"]),
            line["digest"],
            line["fault"],
            line["tokens"],
            line["serial"] in whole,
        )
        for line in mine
    ]


async def journaled(workspace: Path) -> dict[Key, float]:
    """The time at which each reply was journaled first."""
    async with SqliteStore.open(workspace / "state.db") as store:
        rows: list[Any] = list(store.items(RUNS).values())
        found: dict[Key, float] = {}
        for row in rows:
            number = int(row["name"].removeprefix("talk-"))
            for record in store.read(f"run/{row['id']}"):
                data: Any = record.data
                if record.kind == "model_reply":
                    found.setdefault(
                        (number, data["ordinal"]), datetime.fromisoformat(record.at).timestamp()
                    )
    return found


def asked_again(log: Iterable[Served], kept: dict[Key, float]) -> list[Served]:
    """Requests for what was in the journal when they came."""
    return [one for one in log if one.at > kept.get(one.key, one.at)]


def most(costs: Sequence[tuple[float, int]], period: float) -> int:
    """The most that any period of that length holds, wherever it begins; `costs` by their time."""
    highest = inside = first = 0
    for at, cost in costs:
        inside += cost
        while costs[first][0] <= at - period:
            inside -= costs[first][1]
            first += 1
        highest = max(highest, inside)
    return highest


def attempts(workspace: Path) -> int:
    """The number of attempts in the traces, those that a kill cut off included."""
    traces = (workspace / "traces").glob("*.jsonl")
    return sum(row.name.startswith("attempt ") for trace in traces for row in read_trace(trace))
