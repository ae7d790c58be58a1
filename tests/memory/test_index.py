"""The index of texts: which of them share most of their stems with a text."""

from __future__ import annotations

from functools import partial

import pytest

from transom.memory import SqliteMemory
from transom.memory.index import Index, index_steps
from transom.store.tables import Tables


def index_of(*texts: str) -> Index:
    tables = Tables.open(None, "words", [index_steps("texts")])
    index = Index(tables, "texts")
    for number, text in enumerate(texts, 1):
        tables.write(partial(index.put_words, item=number, text=text))
    return index


@pytest.mark.parametrize(
    ("share", "numbers"),
    [(0.79, [1, 2]), (0.8, [1, 2]), (0.81, [2]), (0.6, [1, 2, 3]), (1.0, [2])],
)
def test_a_text_with_exactly_the_least_share_is_found(share: float, numbers: list[int]) -> None:
    index = index_of(
        "amber birch cedar dune",
        "amber birch cedar dune ember",
        "amber birch cedar",
        "amber birch",
    )
    assert sorted(index.texts_sharing_stems("amber birch cedar dune ember", share)) == numbers


@pytest.mark.parametrize("stems", [1, 399, 400, 401, 700, 2500])
def test_a_text_of_any_length_is_like_itself(stems: int) -> None:
    text = " ".join(f"k{number}" for number in range(stems))
    index = index_of("another text", text)
    assert index.texts_sharing_stems(text, 0.75) == [2]


async def test_equal_content_and_metadata_have_one_id_and_a_real_number_is_another() -> None:
    async with SqliteMemory.open(None) as memory:
        one = await memory.store("the gateway failed", {"n": 1, "m": 2})
        assert await memory.store("the gateway failed", {"m": 2, "n": 1}) == one
        assert await memory.store("the gateway failed", {"n": 1.0, "m": 2}) != one
