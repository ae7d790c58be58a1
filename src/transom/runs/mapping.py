"""One memoised stage for each of many items, several at once; an item that fails or waits holds up no other."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import quote

from transom.canonical import digest
from transom.errors import Paused, RunError, TransomError
from transom.runs.artifact import Artifact

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741  an item

_LONGEST = 120  # characters of a stage's last name: a file system takes 255 bytes


@dataclass(frozen=True)
class MapResult(Generic[T]):
    """What one item came to: exactly one of artifact, error and question is set.

    Attributes:
        key: of the item.
        artifact: what its stage left.
        error: why it failed.
        question: what it waits for; `reason` says it, and the hint names the command.
    """

    key: str
    artifact: Artifact[T] | None = None
    error: TransomError | None = None
    question: Paused | None = None


def stage_names(name: str, keys: Sequence[str]) -> list[str]:
    """The stage of each item: readable, a single folder below the map's, different for different keys.

    Raises:
        RunError: two items have one key.
    """
    twice = [key for key, count in Counter(keys).items() if count > 1]
    if twice:
        hint = "give key= that tells the items apart"
        raise RunError(f"two items of {name} have the key {twice[0]!r}", hint=hint)
    return [f"{name}/{_folder(key)}" for key in keys]


def _folder(key: str) -> str:
    safe = quote(key, safe=" ()+,;=@[]") or "%"
    if safe.startswith("."):
        safe = f"%2E{safe[1:]}"
    return safe if len(safe) <= _LONGEST else f"{safe[: _LONGEST - 17]}-{digest(key)[:16]}"


async def map_items(
    items: Sequence[I], keys: Sequence[str], run_one: Callable[[int], Awaitable[Artifact[T]]], limit: int
) -> list[MapResult[T]]:
    """Run the stage of each item, at most `limit` at once; the results stand in the order of the items.

    Args:
        items: what is mapped over.
        keys: of the items, in order.
        run_one: runs the stage of the item with this index.
        limit: at least 1.
    """
    places = asyncio.Semaphore(limit)

    async def one(index: int) -> MapResult[T]:
        async with places:
            try:
                return MapResult(keys[index], artifact=await run_one(index))
            except Paused as pause:
                return MapResult(keys[index], question=pause)
            except TransomError as error:
                return MapResult(keys[index], error=error)

    done = await asyncio.gather(*map(one, range(len(items))), return_exceptions=True)
    results: list[MapResult[T]] = []
    for result in done:
        if isinstance(result, BaseException):
            raise result  # a defect, or the run was stopped
        results.append(result)
    return results
