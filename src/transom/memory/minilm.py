"""The sentence model all-MiniLM-L6-v2 in numpy: a six-layer BERT encoder, mean of the tokens,
length 1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from transom.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

MODEL = "all-MiniLM-L6-v2"
DIMENSIONS = 384
_LAYERS, _HEADS, _EPSILON = 6, 12, 1e-12
_MOST_TOKENS = 256
_BATCH = 32


class MiniLM:
    """An `Embedder`. The weights are memory-mapped at the first text.

    Args:
        folder: folder with `model.safetensors` (32-bit floats) and `tokenizer.json`.
    """

    model = MODEL

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def embed(self, texts: Sequence[str]) -> Array:
        """Return rows of length 1, shape (texts, 384). Only the first 256 tokens of a text
        count.
        """
        found = np.zeros((len(texts), DIMENSIONS), np.float32)
        if "embeddings.word_embeddings.weight" not in self._weights:
            raise InputError(f"has no weights of {MODEL}", where=str(self._folder))
        encoded = self._tokenizer.encode_batch(list(texts))
        # for little padding
        order = sorted(range(len(texts)), key=lambda index: len(encoded[index].ids))
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            longest = max(len(encoded[index].ids) for index in batch)
            ids, mask = np.zeros((2, len(batch), longest), np.int64)
            for row, index in enumerate(batch):
                ids[row, : len(encoded[index].ids)] = encoded[index].ids
                mask[row, : len(encoded[index].ids)] = 1
            found[batch] = self._encode(ids, mask)
        return found

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer  # noqa: PLC0415  compiled, and only needed for embeddings

        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(_MOST_TOKENS)
        return tokenizer

    @cached_property
    def _weights(self) -> Mapping[str, Array]:
        path = self._folder / "model.safetensors"
        try:
            with path.open("rb") as file:
                size = int.from_bytes(file.read(8), "little")
                table = json.loads(file.read(size))
            data = np.asarray(np.memmap(path, np.uint8, "r", offset=8 + size))
            return {
                name: data[slice(*entry["data_offsets"])].view("<f4").reshape(entry["shape"])
                for name, entry in table.items()
                if isinstance(entry, dict) and entry.get("dtype") == "F32"
            }
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"has no weights of {MODEL} ({error})", where=str(path)) from error

    def _encode(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Array:
        w = self._weights
        words, places = (
            w["embeddings.word_embeddings.weight"],
            w["embeddings.position_embeddings.weight"],
        )
        x = words[ids] + places[: ids.shape[1]] + w["embeddings.token_type_embeddings.weight"][0]
        x = self._norm(x, "embeddings.LayerNorm")
        hidden = np.where(mask[:, None, None, :] == 1, 0.0, -1e9).astype(np.float32)
        for layer in range(_LAYERS):
            name = f"encoder.layer.{layer}"
            x = self._norm(
                x + self._attend(x, hidden, f"{name}.attention"),
                f"{name}.attention.output.LayerNorm",
            )
            inner = _gelu(self._linear(x, f"{name}.intermediate.dense"))
            x = self._norm(
                x + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm"
            )
        weight = mask[:, :, None].astype(np.float32)
        mean = (x * weight).sum(axis=1) / weight.sum(axis=1)
        return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True), np.float32)

    def _attend(self, x: Array, hidden: Array, name: str) -> Array:
        texts, tokens, _ = x.shape

        def heads(part: str) -> Array:
            return (
                self._linear(x, f"{name}.self.{part}")
                .reshape(texts, tokens, _HEADS, -1)
                .transpose(0, 2, 1, 3)
            )

        query, key, value = heads("query"), heads("key"), heads("value")
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(query.shape[-1] ** 0.5) + hidden
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = scores / scores.sum(axis=-1, keepdims=True) @ value
        return self._linear(
            mixed.transpose(0, 2, 1, 3).reshape(texts, tokens, -1), f"{name}.output.dense"
        )

    def _linear(self, x: Array, name: str) -> Array:
        # A query has few rows: with the weights on the left it takes a third less time.
        product = (self._weights[f"{name}.weight"] @ x.reshape(-1, x.shape[-1]).T).T
        flat = product + self._weights[f"{name}.bias"]
        return np.asarray(flat.reshape(*x.shape[:-1], -1), np.float32)

    def _norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
        return np.asarray(
            centred / scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"],
            np.float32,
        )


def _gelu(x: Array) -> Array:
    """Compute GELU by its tanh approximation, with an error below 0.001."""
    return np.asarray(
        0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x))), np.float32
    )
