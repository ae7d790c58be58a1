"""The sentence model all-MiniLM-L6-v2 in numpy: a BERT encoder of six layers, whose output is the
mean of the tokens, scaled to length 1.
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
_LAYERS = 6
_HEADS = 12
_EPSILON = 1e-12
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
        """Return a row of length 1 for each text; shape (texts, 384).

        Only the first 256 tokens of a text count.

        Raises:
            InputError: the folder has no weights of this model.
        """
        if "embeddings.word_embeddings.weight" not in self._weights:
            raise InputError(f"has no weights of {MODEL}", place=str(self._folder))
        vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
        encodings = self._tokenizer.encode_batch(list(texts))
        # Each text is padded to the longest one of its batch: texts of similar length together
        # need little padding.
        lengths = [len(encoding.ids) for encoding in encodings]
        order = sorted(range(len(texts)), key=lengths.__getitem__)
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            longest = lengths[batch[-1]]
            ids = np.zeros((len(batch), longest), np.int64)
            mask = np.zeros_like(ids)
            for row, index in enumerate(batch):
                ids[row, : lengths[index]] = encodings[index].ids
                mask[row, : lengths[index]] = 1
            vectors[batch] = self._encode(ids, mask)
        return vectors

    @cached_property
    def _tokenizer(self) -> Any:
        # Imported here: it is an optional package.
        from tokenizers import Tokenizer  # noqa: PLC0415

        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(_MOST_TOKENS)
        return tokenizer

    @cached_property
    def _weights(self) -> Mapping[str, Array]:
        """Map the file of weights: name -> array of 32-bit floats.

        Source: the documentation of safetensors, section Format.
        """
        path = self._folder / "model.safetensors"
        try:
            with path.open("rb") as file:
                size = int.from_bytes(file.read(8), "little")
                table = json.loads(file.read(size))
            data = np.asarray(np.memmap(path, np.uint8, "r", offset=8 + size))
            weights = {}
            for name, entry in table.items():
                # The table also has an entry `__metadata__`, which is not an array.
                if not isinstance(entry, dict) or entry.get("dtype") != "F32":
                    continue
                start, end = entry["data_offsets"]
                weights[name] = data[start:end].view("<f4").reshape(entry["shape"])
            return weights
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"has no weights of {MODEL} ({error})", place=str(path)) from error

    def _encode(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Array:
        """Return the vectors of a batch; shape (texts, 384).

        Args:
            ids: token ids, padded; shape (texts, tokens).
            mask: 1 for a token, 0 for padding; the same shape.
        """
        words = self._weights["embeddings.word_embeddings.weight"]
        positions = self._weights["embeddings.position_embeddings.weight"]
        token_types = self._weights["embeddings.token_type_embeddings.weight"]
        # BERT has a second type for the second of two sentences; a single text has the first.
        x = words[ids] + positions[: ids.shape[1]] + token_types[0]
        x = self._norm(x, "embeddings.LayerNorm")
        # Added to the scores of attention, it makes the softmax ignore padding.
        padding_bias = np.where(mask[:, None, None, :] == 1, 0.0, -1e9).astype(np.float32)
        for layer in range(_LAYERS):
            name = f"encoder.layer.{layer}"
            attended = self._attend(x, padding_bias, f"{name}.attention")
            x = self._norm(x + attended, f"{name}.attention.output.LayerNorm")
            inner = _gelu(self._linear(x, f"{name}.intermediate.dense"))
            output = self._linear(inner, f"{name}.output.dense")
            x = self._norm(x + output, f"{name}.output.LayerNorm")
        weight = mask[:, :, None].astype(np.float32)
        mean = (x * weight).sum(axis=1) / weight.sum(axis=1)
        return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True), np.float32)

    def _attend(self, x: Array, padding_bias: Array, name: str) -> Array:
        """Return the output of a layer's attention; shape (texts, tokens, 384), as that of `x`."""
        texts, tokens, _ = x.shape

        def heads(part: str) -> Array:
            projected = self._linear(x, f"{name}.self.{part}")
            return projected.reshape(texts, tokens, _HEADS, -1).transpose(0, 2, 1, 3)

        query, key, value = heads("query"), heads("key"), heads("value")
        scores = (
            query @ key.transpose(0, 1, 3, 2) / np.float32(query.shape[-1] ** 0.5) + padding_bias
        )
        # Without the maximum, `exp` overflows.
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = scores / scores.sum(axis=-1, keepdims=True) @ value
        joined = mixed.transpose(0, 2, 1, 3).reshape(texts, tokens, -1)
        return self._linear(joined, f"{name}.output.dense")

    def _linear(self, x: Array, name: str) -> Array:
        # A query has few rows: with the weights on the left it takes a third less time.
        product = (self._weights[f"{name}.weight"] @ x.reshape(-1, x.shape[-1]).T).T
        flat = product + self._weights[f"{name}.bias"]
        return np.asarray(flat.reshape(*x.shape[:-1], -1), np.float32)

    def _norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
        scaled = centred / scale * self._weights[f"{name}.weight"]
        return np.asarray(scaled + self._weights[f"{name}.bias"], np.float32)


def _gelu(x: Array) -> Array:
    """Compute GELU by its tanh approximation, with an error below 0.001."""
    # 0.7978845608 is the square root of 2 / pi.
    inner = 0.7978845608 * (x + 0.044715 * x * x * x)
    return np.asarray(0.5 * x * (1 + np.tanh(inner)), np.float32)
