"""A process whose disk fails at each call in turn: `io_faults.py FOLDER KIND`.

It has the library of `io_faults.c` in LD_PRELOAD. For each number it writes to a new database, lets
the call of that number fail, goes on, and opens the database again. The last line that it prints
has the number of databases; every other line is something that is not as it should be.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transom.errors import StoreError
from transom.store import SqliteStore, find_damage

WRITE, SYNC, TRUNCATE, READ = 1, 2, 4, 8
NAME = "state.db"
APPENDS = 12
MOST = 120
"""Numbers that are tried at most; a session has fewer calls of most kinds."""


@dataclass(frozen=True)
class Fault:
    """A kind of fault.

    Attributes:
        calls: the calls that fail.
        code: the error; 0 for a write that ends in the middle.
        is_lasting: whether all later calls fail, too, until the disk is mended.
    """

    calls: int
    code: int
    is_lasting: bool = False


FAULTS = {
    "short": Fault(WRITE, 0),
    "eio": Fault(WRITE, errno.EIO),
    "enospc": Fault(WRITE | TRUNCATE, errno.ENOSPC),
    "enospc-lasting": Fault(WRITE | TRUNCATE, errno.ENOSPC, is_lasting=True),
    "eio-lasting": Fault(WRITE | SYNC, errno.EIO, is_lasting=True),
    "sync": Fault(SYNC, errno.EIO),
    "read": Fault(READ, errno.EIO),
}

_library = ctypes.CDLL(None)


def arm(fault: Fault, number: int) -> None:
    _library.fault_arm(NAME.encode(), fault.calls, number, fault.code, int(fault.is_lasting))


def disarm() -> int:
    """Return how many calls there were that could have failed."""
    return int(_library.fault_disarm())


async def write(path: Path, fault: Fault, number: int, kept: set[int], failed: set[int]) -> int:
    """Append records to a new database, one call of which fails; returns the number of calls."""
    async with SqliteStore.open(path) as store:
        for entry in range(3):
            await store.append("run/1", "n", {"n": entry})
            kept.add(entry)
        arm(fault, number)
        for entry in range(3, 3 + APPENDS):
            try:
                await store.append("run/1", "n", {"n": entry, "x": "x" * 9_000}, sync=entry % 3 > 0)
                await store.put("latest", "n", entry)
                kept.add(entry)
            except StoreError:
                failed.add(entry)
        calls = disarm()
        # The disk is mended, and the store goes on.
        await store.append("run/1", "n", {"n": 99})
        kept.add(99)
        check(path, number, "in the same process", store, kept, failed)
    return calls


async def read(path: Path, fault: Fault, number: int, kept: set[int], failed: set[int]) -> int:
    """Open and read a database, one call of which fails; returns the number of calls."""
    if not path.exists():
        async with SqliteStore.open(path) as store:
            for entry in range(APPENDS):
                await store.append("run/1", "n", {"n": entry, "x": "x" * 9_000})
    kept.update(range(APPENDS))
    arm(fault, number)
    try:
        async with SqliteStore.open(path) as store:
            records = store.read("run/1")
            if len(records) < APPENDS:
                sys.stdout.write(f"{number}: {len(records)} records were read\n")
            await store.append("run/1", "n", {"n": 99})
            kept.add(99)
    except StoreError:
        failed.add(99)
    return disarm()


def check(
    path: Path, number: int, when: str, store: SqliteStore, kept: set[int], failed: set[int]
) -> None:
    data: list[Any] = [record.data for record in store.read("run/1")]
    present: list[int] = [entry["n"] for entry in data]
    if missing := kept - {*present}:
        sys.stdout.write(f"{number} {when}: acknowledged and not there: {sorted(missing)}\n")
    if foreign := {*present} - kept - failed:
        sys.stdout.write(f"{number} {when}: never written: {sorted(foreign)}\n")
    if present != sorted({*present}):
        sys.stdout.write(f"{number} {when}: another order: {present}\n")
    if damage := find_damage(path, deep=True):
        sys.stdout.write(f"{number} {when}: damage: {damage}\n")


async def syncs_of_puts(path: Path, *, full_sync: bool) -> int:
    """Return how often 20 writes are synced that need not survive a power cut."""
    async with SqliteStore.open(path, full_sync=full_sync) as store:
        arm(Fault(SYNC, errno.EIO), 10**9)
        for number in range(20):
            await store.put("latest", "n", number)
        return disarm()


async def main(folder: Path, kind: str) -> None:
    if kind == "durability":
        for full_sync in (False, True):
            syncs = await syncs_of_puts(folder / f"{full_sync}.db" / NAME, full_sync=full_sync)
            sys.stdout.write(f"{syncs}\n")
        return
    fault, databases, failures = FAULTS[kind], 0, 0
    for number in range(1, MOST):
        path = folder / kind / str(number) / NAME
        kept, failed = set[int](), set[int]()
        work = read if fault.calls == READ else write
        try:
            calls = await work(path, fault, number, kept, failed)
        except StoreError as error:
            # While it closes, a store may find that the disk has failed.
            calls = disarm()
            sys.stdout.write(f"{number}: {error}\n")
        async with SqliteStore.open(path) as store:
            check(path, number, "opened again", store, kept, failed)
        databases += 1
        failures += len(failed)
        if calls < number:
            break
    sys.stdout.write(f"{databases} {failures}\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
