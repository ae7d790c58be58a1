"""A process of its own that writes to a store: `child.py MODULE:NAME LOCATION JOB [ARGUMENT...]`.

`MODULE:NAME` opens the store at LOCATION, as in `StoreConformance.opener`. What the child prints
was acknowledged.
"""

from __future__ import annotations

import asyncio
import importlib
import operator
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

from transom.errors import StoreError
from transom.store import Store


def open_store(opener: str, location: str) -> Store:
    module, _, name = opener.partition(":")
    return cast(Store, operator.attrgetter(name)(importlib.import_module(module))(Path(location)))


def say(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


async def append(store: Store, who: str, count: str) -> None:
    """`count` appends, 25 at a time."""
    for start in range(0, int(count), 25):
        await asyncio.gather(*(store.append("shared", who, start + i) for i in range(25)))
    say("done")


async def endless(store: Store) -> None:
    """Appends for ever, in three tasks, a blob and a document beside each; prints every
    acknowledged `seq`.
    """

    async def one(task: int) -> None:
        for n in range(10**9):
            sha = await store.put_blob(f"{task}/{n}".encode())
            await store.put("latest", str(task), n)
            seq = await store.append(
                "endless", "n", {"task": task, "n": n, "sha": sha}, sync=n % 2 == 0
            )
            say(seq)

    await asyncio.gather(*(one(task) for task in range(3)))


async def claim(store: Store, who: str, count: str) -> None:
    """Tries to claim `count` keys; prints who holds each."""
    for n in range(int(count)):
        say(await store.put_if_absent("claims", str(n), who))


async def fill(store: Store, ballast: str) -> None:
    """Appends until the disk is full, then makes room by deleting `ballast` and goes on."""
    acknowledged = 0
    try:
        while True:
            await store.append("big", "n", "x" * 20_000)
            acknowledged += 1
    except StoreError as error:
        say(error)
    assert len(store.read("big")) == acknowledged, (
        "a failed append left a trace, or an acknowledged one is gone"
    )
    Path(ballast).unlink()
    await store.append("big", "n", "after")
    assert store.read("big")[-1].data == "after"
    say("went on")


JOBS: dict[str, Callable[..., Awaitable[None]]] = {
    "append": append,
    "endless": endless,
    "claim": claim,
    "fill": fill,
}


async def main(opener: str, location: str, job: str, *arguments: str) -> None:
    try:
        async with open_store(opener, location) as store:
            await JOBS[job](store, *arguments)
    except StoreError as error:
        say(error)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
