"""Patterns for a secret in base64 and in URLs, at any position of the encoded text."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass

_LONGEST = 192  # bytes that are looked for; behind these all goes that can belong to the rest
_BASE64 = {"+": r"(?:\\*+[+-]|\\*+u002[Bb]|%2[Bb])", "/": r"(?:\\*+/|_|\\*+u002[Ff]|%2[Ff])"}
_OTHER = r"(?:[A-Za-z0-9_-]|\\*+[+/]|\\*+u002[BbFf]|%2[BbFf])"
"""A letter that holds a part of it, and a part of what stands beside it."""
_FILL = r"(?:=|%3[Dd]){0,2}"
_UNTOUCHED = re.compile(r"[A-Za-z0-9_.-]+")  # what no encoder of URLs changes
_LETTERS = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Form:
    """One form that a secret takes.

    Attributes:
        pattern: what finds it.
        sign: a piece that stands in it wherever it does.
        plain: what `pattern` finds, too, where nothing of it is encoded: others look for that, with
            all its quoting.
        rest: whether more of it may stand behind `plain`.
    """

    pattern: re.Pattern[str]
    sign: str
    plain: str | None = None
    rest: bool = False

    def taken_out(self, text: str, instead: str) -> str:
        """`text` with `instead` in its places."""
        return self.pattern.sub(
            lambda found: found[0] if self._as_it_is(found[0]) else instead, text
        )

    def _as_it_is(self, found: str) -> bool:
        return self.plain is not None and (
            found.startswith(self.plain) if self.rest else found == self.plain
        )


def encoded(secret: str) -> list[Form]:
    """Patterns that find a secret in base64, at each of its three offsets, and in URLs.

    Base64 is that of either alphabet, in one piece, also in a URL. In URLs a character is as it is,
    `%2F` or `%252F`.
    """
    data = _bytes(secret)
    rest = len(data) > _LONGEST
    found = [_in_base64(data[:_LONGEST], before, rest=rest) for before in range(3)]
    part = data[:_LONGEST].decode("utf-8", "replace").rstrip("\ufffd") if rest else secret
    return found if _UNTOUCHED.fullmatch(part) else [*found, _in_urls(part, rest=rest)]


def _bytes(text: str) -> bytes:
    """The bytes of a text, as an environment variable holds them."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _in_base64(data: bytes, before: int, *, rest: bool) -> Form:
    """The form behind so many bytes of a group of three. Letters that share bits with neighbours
    are taken, too.
    """
    bits = 8 * (before + len(data))
    whole = b64encode(bytes(before) + data).decode()[-(-8 * before // 6) : bits // 6]
    first = f"{_OTHER}?" if before else ""
    last = f"{_OTHER}*" if rest else f"{_OTHER}?" if bits % 6 else ""
    pattern = "".join(_BASE64.get(letter, letter) for letter in whole)
    return Form(re.compile(f"{first}{pattern}{last}{_FILL}"), _longest(_LETTERS, whole))


def _in_urls(text: str, *, rest: bool) -> Form:
    pattern = "".join(_in_url(character) for character in text)
    last = r"(?:[A-Za-z0-9_.~!*'()+-]|%[0-9A-Fa-f]{2})*" if rest else ""
    return Form(re.compile(f"{pattern}{last}"), _longest(_UNTOUCHED, text), text, rest)


def _in_url(character: str) -> str:
    if _UNTOUCHED.fullmatch(character):
        return re.escape(character)
    percent = "".join(f"%(?:25)*{byte:02x}" for byte in _bytes(character))
    space = r"|\+|%(?:25)*2[Bb]" if character == " " else ""  # forms write a space so
    # in this order: of `%25`, a percent sign, all is found
    return f"(?:(?i:{percent}){space}|{re.escape(character)})"


def _longest(pieces: re.Pattern[str], text: str) -> str:
    return max(pieces.findall(text), key=len, default="")
