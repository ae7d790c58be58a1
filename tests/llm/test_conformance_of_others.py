"""The public suites for stores and providers of others: good ones pass, and each slip is named."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.llm.conformance.dialects import OpenAI
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.errors import InputError
from transom.llm import OnDelta, Provider, Reply, Request, Role, ScriptedProvider, Text, Usage
from transom.store import SqliteStore
from transom.testing import provider_conformance, store_conformance


async def test_the_own_store_keeps_its_promises(tmp_path: Path) -> None:
    await store_conformance(lambda: SqliteStore.open(tmp_path / "state.db"))
    # What the first time left would look like broken promises.
    with pytest.raises(InputError, match="the store is not empty"):
        await store_conformance(lambda: SqliteStore.open(tmp_path / "state.db"))


class Forgetful(SqliteStore):
    """A store with slips."""

    async def append(self, stream: str, kind: str, data: Any, **more: Any) -> int:
        data = None if isinstance(data, float) and data != data else data
        return await super().append(stream, kind, data, **more)

    def read(self, stream: str, after: int = 0) -> list[Any]:
        return super().read(stream, after)[::-1]


async def test_the_slips_of_a_store_are_named(tmp_path: Path) -> None:
    with pytest.raises(AssertionError) as caught:
        await store_conformance(lambda: Forgetful.open(tmp_path / "state.db"))
    names = {line.partition(":")[0] for line in str(caught.value).splitlines() if ": " in line}
    assert names == {
        "appends keep their order",
        "concurrent appends all arrive",
        "appends without waiting keep their order",
        "odd values come back",
        "a value that is not json is refused",
    }


async def test_scripted_and_hosted_providers_keep_their_promises() -> None:
    await provider_conformance(lambda: ScriptedProvider(lambda request: "pong"))
    dialect = OpenAI()

    def answer(wire: Wire, seen: Seen) -> None:
        wire.begin(dialect.stream_type)
        for frame in dialect.pieces([Text("pong")]):
            wire.chunk(frame)
        wire.end()

    with LocalServer(answer) as server:
        await provider_conformance(lambda: dialect.provider(server.url, seconds=20, stream=True))


class Sloppy(Provider):
    """A provider with slips."""

    name = "sloppy"

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        if on_delta:
            on_delta(Text("po"))
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            raise KeyError("cancelled") from None
        return Reply((Text("pong"),), usage=Usage(-1, 1))

    def estimate_tokens(self, request: Request) -> int:
        return 7

    def fingerprint(self, role: Role) -> str:
        return str(id(self))


async def test_the_slips_of_a_provider_are_named() -> None:
    with pytest.raises(AssertionError) as caught:
        kept: list[Sloppy] = []  # so that no two have one id

        def make() -> Sloppy:
            kept.append(Sloppy())
            return kept[-1]

        await provider_conformance(make)
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()] == [
        "it answers with a reply",
        "the pieces come to the reply",
        "estimates grow with the request",
        "its fingerprint stays the same",
        "a cancelled call ends",
    ]


class Leaky(SqliteStore):
    """A store that mixes up what belongs to whom."""

    async def put(self, table: str, key: str, value: Any) -> None:
        await super().put(table.rpartition(" ")[2], key, value)

    def streams(self, prefix: str = "") -> list[str]:
        del prefix
        return super().streams()

    async def append(self, stream: str, kind: str, data: Any, **more: Any) -> int:
        if isinstance(data, dict):
            data = {name: inner and {"a": inner["a"]} for name, inner in data.items()}
        return await super().append(stream, kind, data, **more)


async def test_what_is_mixed_up_is_named(tmp_path: Path) -> None:
    with pytest.raises(AssertionError) as caught:
        await store_conformance(lambda: Leaky.open(tmp_path / "state.db"))
    names = {line.partition(":")[0] for line in str(caught.value).splitlines() if ": " in line}
    assert names == {
        "one sequence runs through all streams",
        "odd values come back",
        "documents are set replaced and deleted",
    }


class Stubborn(ScriptedProvider):
    """A provider that answers although it was cancelled."""

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.05)
        return await super().complete(request, on_delta=on_delta)


async def test_a_swallowed_cancellation_is_named() -> None:
    with pytest.raises(AssertionError, match=r"a cancelled call ends: .*although it was cancelled"):
        await provider_conformance(lambda: Stubborn(lambda request: "pong"))
