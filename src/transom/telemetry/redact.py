"""Secrets out of everything that is written for later reading."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

_NAME = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_SHAPE = r"\bsk-[A-Za-z0-9_-]{16,}"
_SHORTEST = 6  # a shorter value (`1`, `none`) is no secret, and its removal would garble ordinary text
_INSTEAD = "[redacted]"


class Redactor:
    """Replaces secrets in text.

    A secret is the value of an environment variable whose name ends in KEY, TOKEN, SECRET or PASSWORD, or whatever
    looks like a provider's key (`sk-...`).

    Args:
        environ: the variables, looked at once; those of this process by default.

    Attributes:
        finds: whether there is a secret in a text.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        variables = os.environ if environ is None else environ
        values = {value for name, value in variables.items() if _NAME.search(name) and len(value) >= _SHORTEST}
        # Longest first: of two secrets that start alike, the longer must not leave its tail behind.
        ordered = sorted(values, key=lambda value: (-len(value), value))
        self._pattern = re.compile("|".join([*map(re.escape, ordered), _SHAPE]))
        self.finds: Callable[[str], object] = self._pattern.search

    def __call__(self, text: str) -> str:
        """`text` without its secrets."""
        return self._pattern.sub(_INSTEAD, text)
