"""The suite that every memory must pass: derive a class whose name starts with `Test` and give
it `open`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzzing import examples
from transom.errors import InputError, MemoryUnavailable
from transom.memory import Memory, Relation

T = TypeVar("T")


class MemoryConformance:
    """What a memory promises."""

    def open(self, location: Path) -> Memory:
        raise NotImplementedError

    def need(self, location: Path, ability: str) -> None:
        """Skip a test of what this memory lacks, once it has said so."""
        memory = self.open(location)
        if ability in memory.abilities:
            return

        async def refused() -> None:
            await memory.store("a", key="a")
            with pytest.raises(InputError, match="Graphiti"):
                if ability == "filters":
                    await memory.retrieve("a", 1, {"n": 1})
                elif ability == "local":
                    await memory.store("b", egress="local")
                else:
                    await memory.relate("a", "a", "is")
            if ability == "relations":
                with pytest.raises(InputError, match="Graphiti"):
                    await memory.neighbours("a")

        asyncio.run(refused())
        pytest.skip(f"this memory has no {ability}, and says so")

    def run(self, location: Path, work: Callable[[Memory], Awaitable[T]]) -> T:
        async def opened() -> T:
            async with self.open(location) as memory:
                return await work(memory)

        return asyncio.run(opened())

    def test_an_entry_is_kept_whole(self, tmp_path: Path) -> None:
        async def store(memory: Memory) -> str:
            return await memory.store(
                "payment-gateway failed UAT", {"feature": "F1", "n": 3}, egress="local"
            )

        key = self.run(tmp_path, store)
        entry = self.run(tmp_path, lambda memory: memory.get(key))
        assert entry is not None
        assert (entry.id, entry.content) == (key, "payment-gateway failed UAT")
        assert dict(entry.metadata) == {"feature": "F1", "n": 3}
        assert (entry.egress, entry.relationships) == ("local", ())
        assert entry.created_at.endswith("Z")
        assert self.run(tmp_path, lambda memory: memory.get("nobody stored this")) is None

    def test_what_is_stored_twice_stands_once(self, tmp_path: Path) -> None:
        async def work(memory: Memory) -> None:
            first = await memory.store("error rate above 5 %", {"feature": "F1"})
            assert await memory.store("error rate above 5 %", {"feature": "F1"}) == first
            assert await memory.store("error rate above 5 %", {"feature": "F2"}) != first
            await memory.store("draft", key="run-1/message-3")
            await memory.store("what was answered", {"by": "main"}, key="run-1/message-3")
            found = await memory.retrieve("", 10)
            contents = ["what was answered", "error rate above 5 %", "error rate above 5 %"]
            assert [one.entry.content for one in found] == contents
            assert (
                not await memory.retrieve("draft", 10)
                or (await memory.retrieve("draft", 10))[0].entry.id != first
            )

        self.run(tmp_path, work)

    def test_the_best_fitting_come_first_and_no_more_than_asked_for(self, tmp_path: Path) -> None:
        async def work(memory: Memory) -> None:
            for n in range(12):
                await memory.store(f"release {n}: the login page was redesigned", {"n": n})
            gold = await memory.store("the payment gateway returned errors under load in UAT")
            found = await memory.retrieve("errors of the payment gateway", 3)
            assert found[0].entry.id == gold
            assert 1 <= len(found) <= 3
            assert [one.score for one in found] == sorted(
                (one.score for one in found), reverse=True
            )
            assert len(await memory.retrieve("login page", 5)) == 5

        self.run(tmp_path, work)

    @pytest.mark.parametrize(
        ("filters", "wanted"),
        [
            ({"feature": "F1"}, {"a"}),
            ({"feature": ["F1", "F2"]}, {"a", "b"}),
            ({"n": {"from": 2}}, {"b", "c"}),
            ({"n": {"from": 2, "to": 2}}, {"b"}),
            ({"at": {"to": "2026-10"}}, {"a"}),
            ({"flag": True}, {"a"}),
            ({"n": "1"}, set()),
            ({"absent": None}, set()),
            ({"feature": "F1", "n": 2}, set()),
            ({}, {"a", "b", "c"}),
        ],
    )
    def test_filters_hold_before_the_best_are_chosen(
        self, tmp_path: Path, filters: dict[str, object], wanted: set[str]
    ) -> None:
        self.need(tmp_path, "filters")

        async def work(memory: Memory) -> set[str]:
            for n in range(40):
                await memory.store(f"uat issue {n}", {"feature": "F9", "n": 0, "at": "2026-12"})
            await memory.store(
                "one uat issue", {"feature": "F1", "n": 1, "at": "2026-09", "flag": True}, key="a"
            )
            await memory.store(
                "another uat issue", {"feature": "F2", "n": 2, "at": "2026-11", "flag": 1}, key="b"
            )
            await memory.store(
                "a third uat issue", {"feature": 7, "n": 3, "at": "2026-11"}, key="c"
            )
            found = await memory.retrieve("uat issue", 100, filters)  # type: ignore[arg-type]  # JSON all of it
            newest = await memory.retrieve("", 100, filters)  # type: ignore[arg-type]  # JSON all of it
            assert {one.entry.id for one in found} == {one.entry.id for one in newest}
            return {one.entry.id for one in found} & {"a", "b", "c"}

        assert self.run(tmp_path, work) == wanted

    def test_relations_are_found_from_both_ends(self, tmp_path: Path) -> None:
        self.need(tmp_path, "relations")

        async def work(memory: Memory) -> None:
            for key in ("checkout", "gateway", "ledger"):
                await memory.store(f"the component {key}", key=key)
            await memory.relate("checkout", "gateway", "depends_on")
            await memory.relate("checkout", "gateway", "depends_on")
            await memory.relate("gateway", "ledger", "writes_to")
            there, back = (
                Relation("checkout", "depends_on", "gateway"),
                Relation("gateway", "writes_to", "ledger"),
            )
            entry = await memory.get("gateway")
            assert entry is not None
            assert set(entry.relationships) == {there, back}
            near = await memory.neighbours("gateway")
            assert [(one.entry.id, one.hops, one.via) for one in near] == [
                ("checkout", 1, there),
                ("ledger", 1, back),
            ]
            only = await memory.neighbours("gateway", relationship="depends_on", direction="in")
            assert [one.entry.id for one in only] == ["checkout"]
            assert (
                await memory.neighbours("gateway", relationship="depends_on", direction="out") == []
            )
            with pytest.raises(InputError, match="unknown entry 'nobody'"):
                await memory.relate("checkout", "nobody", "depends_on")
            with pytest.raises(InputError, match="unknown entry 'nobody'"):
                await memory.neighbours("nobody")
            assert await memory.forget("gateway")
            assert not await memory.forget("gateway")
            assert await memory.neighbours("checkout", None) == []

        self.run(tmp_path, work)

    @given(
        edges=st.sets(
            st.tuples(st.integers(0, 6), st.integers(0, 6), st.sampled_from(["a", "b"])),
            max_size=14,
        ),
        start=st.integers(0, 6),
        hops=st.none() | st.integers(0, 4),
        name=st.none() | st.sampled_from(["a", "b"]),
        way=st.sampled_from(["in", "out", "both"]),
    )
    @settings(max_examples=examples(12), suppress_health_check=[HealthCheck.differing_executors])
    def test_neighbours_are_right_on_any_graph(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        edges: set[tuple[int, int, str]],
        start: int,
        hops: int | None,
        name: str | None,
        way: str,
    ) -> None:
        """Against distances found by relaxing all edges until nothing changes."""
        self.need(tmp_path_factory.mktemp("ability"), "relations")
        distance = {start: 0}
        for _ in range(8):
            for source, target, relation in edges:
                for one, other in ((source, target), (target, source)):
                    if (
                        (name in (None, relation))
                        and way in ("both", "out" if one == source else "in")
                        and one in distance
                    ):
                        distance[other] = min(distance.get(other, 99), distance[one] + 1)
        wanted = {
            f"n{node}": far
            for node, far in distance.items()
            if node != start and far <= (hops or 0 if hops is not None else 99)
        }

        async def work(memory: Memory) -> dict[str, int]:
            for node in range(7):
                await memory.store(f"node {node}", key=f"n{node}")
            for source, target, relation in edges:
                await memory.relate(f"n{source}", f"n{target}", relation)
            found = await memory.neighbours(f"n{start}", hops, relationship=name, direction=way)  # type: ignore[arg-type]  # one of the three
            return {one.entry.id: one.hops for one in found}

        assert self.run(tmp_path_factory.mktemp("graph"), work) == wanted

    @pytest.mark.parametrize("content", ["", "  \n"])
    def test_an_empty_text_is_refused(self, tmp_path: Path, content: str) -> None:
        with pytest.raises(InputError, match="the content is empty"):
            self.run(tmp_path, lambda memory: memory.store(content))

    def test_odd_texts_and_queries_are_taken(self, tmp_path: Path) -> None:
        odd = [
            '"quoted" AND (x OR y*',
            "col:umn^2 NEAR/3",
            "''; DROP TABLE memories; --",
            "日本語のテキスト",
            "\x00\x01",
            "é" * 3000,
        ]

        async def work(memory: Memory) -> None:
            for text in odd:
                key = await memory.store(text)
                entry = await memory.get(key)
                assert entry is not None
                assert entry.content == text
            for text in odd:
                await memory.retrieve(text, 3)
            assert (await memory.retrieve("日本語のテキスト", 1))[
                0
            ].entry.content == "日本語のテキスト"

        self.run(tmp_path, work)

    def test_a_closed_memory_says_so_with_the_one_error(self, tmp_path: Path) -> None:
        async def work() -> None:
            memory = self.open(tmp_path)
            await memory.close()
            await memory.close()
            for asked in (
                memory.store("x"),
                memory.get("x"),
                memory.retrieve("x"),
                memory.neighbours("x"),
                memory.forget("x"),
            ):
                with pytest.raises(MemoryUnavailable):
                    await asked

        asyncio.run(work())
