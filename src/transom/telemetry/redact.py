"""Removal of secrets from everything that is stored or shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from transom.telemetry.encoded import Form, encoded
from transom.telemetry.quoting import looked_for

if TYPE_CHECKING:
    from transom.canonical import Json

_ENDS = (
    # also where words are run together: PGPASSWORD
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|CREDENTIALS?"
    r"|(^|_)PASS"  # COMPASS is none
    r"|(?<!^)(?<!^OLD)PWD"  # of itself PWD is a folder, as is OLDPWD
    r"|(^|_|ACCESS|API|AUTH|PRIVATE|SECRET|SIGNING)KEY"  # MONKEY is none
)
_NAME = re.compile(f"({_ENDS})$", re.IGNORECASE)
# Forms of keys that their makers document. A text of the first column is in every match of the
# second: a search for it is far quicker than the pattern's.
_SHAPES = (
    ("sk-", r"\bsk-[A-Za-z0-9_-]{16,}"),  # OpenAI, Anthropic and others
    ("AKIA", r"\bAKIA[A-Z0-9]{16}\b"),  # AWS
    ("AIza", r"\bAIza[A-Za-z0-9_-]{35}"),  # Google
    ("ghp_", r"\bghp_[A-Za-z0-9]{36,}"),  # GitHub: of a person, of a server, with fine grain
    ("ghs_", r"\bghs_[A-Za-z0-9]{36,}"),
    ("github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{22,}"),
    ("glpat-", r"\bglpat-[A-Za-z0-9_-]{20,}"),  # GitLab
    ("xox", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),  # Slack
)
# a shorter value (`1`, `none`) is no secret, and its removal would garble ordinary text
_SHORTEST = 6
_LONG = 16  # a line of a key; a shorter one may be anybody's
_LINE_ENDS = re.compile(
    r"(?:(?<!\\)\\++[nr]|[\r\n])+"
)  # variables often have them as two characters
_MARKER = "-----"  # `-----BEGIN ...`: no secret
_INSTEAD = "[redacted]"


class Redactor:
    """Replaces secrets in text, also where they stand in it as JSON, `repr`, base64 or a URL writes
    them.

    A secret is the value of an environment variable whose name ends in KEY, TOKEN, SECRET, PASSWORD
    or another word for these, what looks like a key of a known form (`sk-...`, `ghp_...`), and what
    its maker gives as `secrets`. Of one with several lines each long line is one, too.
    """

    def __init__(
        self, environ: Mapping[str, str] | None = None, secrets: Iterable[str] = ()
    ) -> None:
        variables = os.environ if environ is None else environ
        named = [variables[name] for name in variables if _tells(name)]
        self._pattern, self._encoded, self._signs = _sought(frozenset([*named, *secrets]))

    def finds(self, text: str) -> bool:
        """Whether there may be a secret in a text; a search for plain text is far quicker than
        the pattern's.
        """
        for sign in self._signs:  # noqa: SIM110 - a generator costs calls, and this is asked for every span
            if sign in text:
                return True
        return False

    def __call__(self, text: str) -> str:
        """`text` without its secrets."""
        if not self.finds(text):
            return text
        for form in self._encoded:  # first: a shorter secret may be the beginning of a longer one
            if form.sign in text:
                text = form.taken_out(text, _INSTEAD)
        return self._pattern.sub(_INSTEAD, text)

    def inside(self, value: Json) -> Json:
        """The same for every text in a value, keys included."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, list):
            return [self.inside(one) for one in value]
        if isinstance(value, dict):
            return {self(key): self.inside(one) for key, one in value.items()}
        return value


@lru_cache(maxsize=1024)
def _tells(name: str) -> bool:
    """Whether a variable of that name holds a secret."""
    return _NAME.search(name) is not None


@lru_cache(maxsize=16)  # every conversation asks for the same ones
def _sought(values: frozenset[str]) -> tuple[re.Pattern[str], tuple[Form, ...], tuple[str, ...]]:
    """A pattern for these secrets, their encoded forms, and plain texts one of which occurs
    wherever either matches.
    """
    wholes = {value.strip() for value in values}
    secrets: set[str] = set()
    for value in values:
        secrets.update(_parts(value))
    patterns: list[str] = []
    signs: list[str] = []
    forms: list[Form] = []
    # Longest first: of two secrets that start alike, the longer must not leave its tail behind.
    for secret in sorted(secrets, key=lambda text: (-len(text), text)):
        pattern, sign = looked_for(secret)
        patterns.append(pattern)
        signs.append(sign)
        # An encoded secret has no lines, so only the whole of it is looked for in that form.
        if secret in wholes:
            forms += encoded(secret)
    for sign, pattern in _SHAPES:
        patterns.append(pattern)
        signs.append(sign)
    signs += [form.sign for form in forms]
    return re.compile("|".join(patterns)), tuple(forms), tuple(dict.fromkeys(signs))


def _parts(value: str) -> list[str]:
    """A value without the line end that it may have been read with, and its lines."""
    whole = value.strip()
    lines = [line.strip() for line in _LINE_ENDS.split(whole)]
    long = [line for line in lines if len(line) >= _LONG and not line.startswith(_MARKER)]
    return [whole, *long] if len(whole) >= _SHORTEST else []
