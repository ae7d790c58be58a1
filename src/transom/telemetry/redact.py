"""Removal of secrets from everything that is stored or shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from transom.telemetry.encoded import EncodedForm, encoded_forms
from transom.telemetry.quoting import quoted_pattern

if TYPE_CHECKING:
    from transom.canonical import Json

_ENDS = (
    # also at the end of words without a space: PGPASSWORD
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|CREDENTIALS?"
    r"|(^|_)PASS"  # not COMPASS
    r"|(?<!^)(?<!^OLD)PWD"  # PWD and OLDPWD are folders
    r"|(^|_|ACCESS|API|AUTH|PRIVATE|SECRET|SIGNING)KEY"  # not MONKEY
)
_NAME = re.compile(f"({_ENDS})$", re.IGNORECASE)
# Forms of keys that their vendors document. Every match of the second column contains the text of
# the first: a search for that text is far quicker than the pattern's.
_SHAPES = (
    ("sk-", r"\bsk-[A-Za-z0-9_-]{16,}"),  # OpenAI, Anthropic and others
    ("AKIA", r"\bAKIA[A-Z0-9]{16}\b"),  # AWS
    ("AIza", r"\bAIza[A-Za-z0-9_-]{35}"),  # Google
    ("ghp_", r"\bghp_[A-Za-z0-9]{36,}"),  # GitHub: of a person, of a server, fine-grained
    ("ghs_", r"\bghs_[A-Za-z0-9]{36,}"),
    ("github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{22,}"),
    ("glpat-", r"\bglpat-[A-Za-z0-9_-]{20,}"),  # GitLab
    ("xox", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),  # Slack
)
# A shorter value (`1`, `none`) is not a secret, and its removal would garble ordinary text.
_SHORTEST = 6
# A line of a key is at least as long; a shorter line may occur in any text.
_LONG = 16
# Variables often have line ends as two characters, a backslash and a letter.
_LINE_ENDS = re.compile(r"(?:(?<!\\)\\++[nr]|[\r\n])+")
_MARKER = "-----"  # `-----BEGIN ...` is not secret
_REPLACEMENT = "[redacted]"
# The most frequent characters of text and logs, the first one most often. Others are rarer.
_OFTEN = " etaoinsrhldcumfpgwyb.v0123456789k/:,-_=x\"'()[]jqz"


class Redactor:
    """A function that replaces secrets in text, also in the form in which JSON, `repr`, base64 or a
    URL writes them.

    A secret is the value of an environment variable whose name ends in KEY, TOKEN, SECRET, PASSWORD
    or a similar word, a text with the form of a known kind of key (`sk-...`, `ghp_...`), and each
    of `secrets`. If a secret has several lines, each long line is a secret, too.

    Args:
        environ: environment variables; those of the process by default.
        secrets: further secrets.
    """

    def __init__(
        self, environ: Mapping[str, str] | None = None, secrets: Iterable[str] = ()
    ) -> None:
        if environ is None:
            environ = os.environ
        values = {environ[name] for name in environ if _is_secret_name(name)}
        pattern, forms, signs = _patterns(frozenset(values.union(secrets)))
        self._pattern: re.Pattern[str] = pattern
        self._encoded = forms
        self._signs = signs

    def finds(self, text: str) -> bool:
        """Return whether a text may contain a secret. The search for plain text is far quicker than
        the patterns.
        """
        # A generator would cost calls, and this runs for every span. One character is found ten
        # times as quickly as a word, and most texts lack some of the rare ones.
        for rarest, sign in self._signs:  # noqa: SIM110
            if rarest in text and sign in text:
                return True
        return False

    def __call__(self, text: str) -> str:
        """Return `text` with `[redacted]` for each secret."""
        if not self.finds(text):
            return text
        # These come first: a shorter secret may be the beginning of an encoded longer one.
        for form in self._encoded:
            if form.sign in text:
                text = form.replace(text, _REPLACEMENT)
        return self._pattern.sub(_REPLACEMENT, text)

    def inside(self, value: Json) -> Json:
        """Return a value with the secrets of all its texts replaced, keys included."""
        match value:
            case str():
                return self(value)
            case list():
                return [self.inside(item) for item in value]
            case dict():
                return {self(key): self.inside(item) for key, item in value.items()}
        return value


@lru_cache(maxsize=1024)
def _is_secret_name(name: str) -> bool:
    """Return whether a variable of that name holds a secret."""
    return _NAME.search(name) is not None


# Every conversation of a process has the same secrets.
@lru_cache(maxsize=16)
def _patterns(
    values: frozenset[str],
) -> tuple[re.Pattern[str], tuple[EncodedForm, ...], tuple[tuple[str, str], ...]]:
    """Return a pattern for these secrets, their encoded forms, and the signs of both, each with its
    rarest character.

    Each match of the pattern or of a form contains at least one of the signs.
    """
    complete_values = {value.strip() for value in values}
    secrets: set[str] = set()
    for value in values:
        secrets.update(_secret_lines(value))
    patterns: list[str] = []
    signs: list[str] = []
    forms: list[EncodedForm] = []
    # Longest first: of two secrets that start alike, the longer must not leave its tail behind.
    for secret in sorted(secrets, key=lambda text: (-len(text), text)):
        pattern, sign = quoted_pattern(secret)
        patterns.append(pattern)
        signs.append(sign)
        # An encoder joins the lines of a secret, so single lines have no encoded form.
        if secret in complete_values:
            forms += encoded_forms(secret)
    for sign, pattern in _SHAPES:
        patterns.append(pattern)
        signs.append(sign)
    signs += [form.sign for form in forms]
    # A secret of quoted characters alone has an empty sign, which every text contains.
    pairs = [(max(sign, key=_rarity, default=""), sign) for sign in dict.fromkeys(signs)]
    return re.compile("|".join(patterns)), tuple(forms), tuple(pairs)


def _rarity(character: str) -> int:
    """Return a number that is the higher the less often a character occurs in text and logs."""
    position = _OFTEN.find(character)
    return position if position >= 0 else len(_OFTEN)


def _secret_lines(value: str) -> list[str]:
    """Return a value without space around it, and each of its lines that is long enough."""
    # A value that was read from a file often ends with a line break.
    secret = value.strip()
    if len(secret) < _SHORTEST:
        return []
    secrets = [secret]
    for line in map(str.strip, _LINE_ENDS.split(secret)):
        if len(line) >= _LONG and not line.startswith(_MARKER):
            secrets.append(line)
    return secrets
