"""Secrets out of everything that is kept or told."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from transom.telemetry.quoting import looked_for

if TYPE_CHECKING:
    from transom.canonical import Json

_NAME = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_PREFIX = "sk-"
_SHAPE = r"\bsk-[A-Za-z0-9_-]{16,}"
_SHORTEST = 6  # a shorter value (`1`, `none`) is no secret, and its removal would garble ordinary text
_LONG = 16  # a line of a key; a shorter one may be anybody's
_LINE_ENDS = re.compile(r"(?:\\+[nr]|[\r\n])+")  # variables often have them as two characters
_MARKER = "-----"  # `-----BEGIN ...`: no secret
_INSTEAD = "[redacted]"


class Redactor:
    """Replaces secrets in text, also where they stand in it as JSON or `repr` writes them.

    A secret is the value of an environment variable whose name ends in KEY, TOKEN, SECRET or PASSWORD, what looks like
    a provider's key (`sk-...`), and what its maker knows to be one. Of one with several lines each long line is one,
    too.

    Args:
        environ: the variables, looked at once; those of this process by default.
        secrets: others that are known, such as a key from a variable of another name.
    """

    def __init__(self, environ: Mapping[str, str] | None = None, secrets: Iterable[str] = ()) -> None:
        variables = os.environ if environ is None else environ
        named = [variables[name] for name in variables if _NAME.search(name)]
        self._pattern, self._signs = _sought(frozenset([*named, *secrets]))

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


@lru_cache(maxsize=16)  # every conversation asks for the same ones
def _sought(values: frozenset[str]) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """What finds all of these, and plain texts of which one stands wherever it does."""
    secrets = {text for value in values for text in _parts(value)}
    # Longest first: of two secrets that start alike, the longer must not leave its tail behind.
    found = [looked_for(text) for text in sorted(secrets, key=lambda text: (-len(text), text))]
    signs = dict.fromkeys([_PREFIX, *(sign for _, sign in found)])
    return re.compile("|".join([*(pattern for pattern, _ in found), _SHAPE])), tuple(signs)


def _parts(value: str) -> list[str]:
    """A value without the line end that it may have been read with, and its lines."""
    whole = value.strip()
    lines = [line.strip() for line in _LINE_ENDS.split(whole)]
    long = [line for line in lines if len(line) >= _LONG and not line.startswith(_MARKER)]
    return [whole, *long] if len(whole) >= _SHORTEST else []
