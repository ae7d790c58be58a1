from __future__ import annotations

from pathlib import Path

import pytest

from transom.errors import InputError
from transom.memory import Embedder, SqliteMemory, find_embedder
from transom.memory.words import stems_of, words_of


@pytest.fixture
def minilm() -> Embedder:
    found = find_embedder()
    if found is None:
        pytest.skip("the weights of the embedder are not installed; make embeddings installs them")
    return found


def test_near_meanings_have_near_vectors(minilm: Embedder) -> None:
    texts = [
        "Use shell elements for thin walls",
        "Thin-walled structures should be meshed with shells",
        "It rains a lot in the mountains in autumn. " * 30,
        "It rains a lot in the mountains in autumn. " * 40,
    ]
    rows = minilm.embed(texts)
    assert rows.shape == (4, 384)
    like = rows @ rows.T
    assert like.diagonal() == pytest.approx([1, 1, 1, 1], abs=1e-5)
    assert like[0, 1] > 0.7
    assert abs(like[0, 2]) < 0.2
    assert like[2, 3] == pytest.approx(1, abs=1e-5)  # beyond 256 tokens nothing counts
    assert minilm.embed(texts[:1]) == pytest.approx(rows[:1], abs=1e-5)  # padding has no weight
    assert minilm.embed([]).shape == (0, 384)


async def test_a_paraphrase_is_found(minilm: Embedder) -> None:
    async with SqliteMemory.open(None, minilm) as memory:
        gold = await memory.store("The automobile would not start because its battery was flat.")
        for text in (
            "The invoice was paid late.",
            "A new printer stands in the hall.",
            "Lunch is at noon.",
        ):
            await memory.store(text)
        assert (await memory.retrieve("Why did my car refuse to turn on?"))[0].entry.id == gold


def test_a_folder_that_was_named_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        InputError, match=r"model\.safetensors and tokenizer\.json.*make embeddings"
    ):
        find_embedder(tmp_path)
    for name in ("model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_bytes(b"\x08\0\0\0\0\0\0\0{}      ")
    found = find_embedder(tmp_path)
    assert found is not None
    with pytest.raises(InputError, match="no weights of all-MiniLM-L6-v2"):
        found.embed(["x"])
    monkeypatch.setattr("transom.memory.embedding._PACKAGE", "no_such_package")
    assert find_embedder() is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tolerance < 1e-8, SOL 106", ["tolerance", "1e-8", "sol", "106"]),
        ("slack 0.013ns", ["slack", "0.013", "ns"]),
        ("getJiraData get_jira_data", ["get", "jira", "data"] * 2),
        ("u_core/u_alu", ["u", "core", "u", "alu"]),
        ("", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize(
    "forms",
    [
        "mesh meshes meshed meshing",
        "converge converged converging converges",
        "stop stopped stopping stops",
        "property properties",
        "pass passes passed passing",
        "fall falls falling",
        "miss misses missed missing",
        "box boxes",
    ],
)
def test_forms_of_a_word_are_one(forms: str) -> None:
    assert len(set(stems_of(forms))) == 1


def test_words_that_only_look_alike_stay_two() -> None:
    assert len(set(stems_of("use us bus busy thing ring red need seed analysis 100 1000"))) == 12
