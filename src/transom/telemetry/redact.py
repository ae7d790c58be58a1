"""Secrets out of everything that is kept or told."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transom.canonical import Json

_NAME = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_PREFIX = "sk-"
_SHAPE = r"\bsk-[A-Za-z0-9_-]{16,}"
_SHORTEST = 6  # a shorter value (`1`, `none`) is no secret, and its removal would garble ordinary text
_INSTEAD = "[redacted]"


class Redactor:
    """Replaces secrets in text.

    A secret is the value of an environment variable whose name ends in KEY, TOKEN, SECRET or PASSWORD, what looks like
    a provider's key (`sk-...`), and what its maker knows to be one.

    Args:
        environ: the variables, looked at once; those of this process by default.
        secrets: others that are known, such as a key from a variable of another name.
    """

    def __init__(self, environ: Mapping[str, str] | None = None, secrets: Iterable[str] = ()) -> None:
        variables = os.environ if environ is None else environ
        named = [variables[name] for name in variables if _NAME.search(name)]
        values = {value for value in (*named, *secrets) if len(value) >= _SHORTEST}
        # Longest first: of two secrets that start alike, the longer must not leave its tail behind.
        ordered = sorted(values, key=lambda value: (-len(value), value))
        self._pattern = re.compile("|".join([*map(re.escape, ordered), _SHAPE]))
        self._signs = (_PREFIX, *ordered)

    def finds(self, text: str) -> bool:
        """Whether there may be a secret in a text; a search for plain text is far quicker than the pattern's."""
        for sign in self._signs:  # noqa: SIM110 - a generator costs calls, and this is asked for every span
            if sign in text:
                return True
        return False

    def __call__(self, text: str) -> str:
        """`text` without its secrets."""
        return self._pattern.sub(_INSTEAD, text) if self.finds(text) else text

    def inside(self, value: Json) -> Json:
        """The same for every text in a value, keys included."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, list):
            return [self.inside(one) for one in value]
        if isinstance(value, dict):
            return {self(key): self.inside(one) for key, one in value.items()}
        return value
