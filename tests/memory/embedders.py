"""An embedder without weights: a word is a direction, and words of one meaning are the same one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from transom.memory.words import stems_of

_MEANINGS = {
    "cellphon": "telephon",
    "phon": "telephon",
    "automobil": "car",
    "broken": "defect",
    "faulty": "defect",
}


class HashedWords:
    """Each text is the mean of its words' directions."""

    def __init__(self, model: str = "hashed-words", dimensions: int = 64) -> None:
        self.model = model
        self.dimensions = dimensions
        self.embedded = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            self.embedded += 1
            for stem in stems_of(text) or [""]:
                row += self._direction(_MEANINGS.get(stem, stem))
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

    def _direction(self, word: str) -> NDArray[np.float64]:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
        return np.random.default_rng(seed).standard_normal(self.dimensions)
