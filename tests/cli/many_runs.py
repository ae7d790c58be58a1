"""A workspace with many runs, which are copies of few."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

from transom.runs import trace_id
from transom.store import SqliteStore


async def multiply_runs(folder: Path, times: int) -> None:
    """Copy each run of a workspace so that there are `times` as many, with all their files."""
    workspace = folder / ".transom"
    async with SqliteStore.open(workspace / "state.db") as store:
        documents: dict[str, Any] = dict(store.items("runs"))
        for key, document in documents.items():
            old = document["id"]
            records = store.read(f"run/{old}")
            for number in range(1, times):
                new = f"{old}-{number:05}"
                for record in records:
                    data = json.loads(json.dumps(record.data).replace(old, new))
                    store.append_soon(f"run/{new}", record.kind, data)
                await store.put("runs", f"{key}-{number}", document | {"id": new})
                home = workspace / "runs" / document["name"]
                shutil.copytree(home / old, home / new)
                traces = workspace / "traces"
                shutil.copy(traces / f"{trace_id(old)}.jsonl", traces / f"{trace_id(new)}.jsonl")


def age_runs(folder: Path, days: int, run: str | None = None) -> None:
    """Make what the journal holds older; of one run, or of all."""
    with sqlite3.connect(folder / ".transom" / "state.db") as connection:
        connection.execute(
            "UPDATE records SET at = strftime('%Y-%m-%dT%H:%M:%S.000000Z', at, ?) WHERE stream"
            " LIKE ?",
            (f"-{days} days", f"run/{run}" if run else "%"),
        )
