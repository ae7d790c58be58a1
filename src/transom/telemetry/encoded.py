"""Patterns for a secret in base64 and in URLs, at any position of the encoded text."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass

# Bytes that are searched for; every following character that can belong to the secret goes, too.
_LONGEST = 192
_BASE64 = {"+": r"(?:\\*+[+-]|\\*+u002[Bb]|%2[Bb])", "/": r"(?:\\*+/|_|\\*+u002[Ff]|%2[Ff])"}
_NEIGHBOUR = r"(?:[A-Za-z0-9_-]|\\*+[+/]|\\*+u002[BbFf]|%2[BbFf])"
"""A letter of base64 that holds bits of the secret and bits of the text next to it."""
_FILL = r"(?:=|%3[Dd]){0,2}"
_UNTOUCHED = re.compile(r"[A-Za-z0-9_.-]+")  # what no encoder of URLs changes
_LETTERS = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class EncodedForm:
    """One form of a secret.

    Attributes:
        pattern: matches the form.
        sign: a piece of text that every match contains.
        plain: the text that `pattern` also matches when nothing of it is encoded; None if it
            matches none. `quoting` searches for that text, with all its quoting.
        is_cut: whether more of the secret may follow `plain`.
    """

    pattern: re.Pattern[str]
    sign: str
    plain: str | None = None
    is_cut: bool = False

    def replace(self, text: str, replacement: str) -> str:
        """Return `text` with `replacement` for each match that is encoded."""

        def replace_match(match: re.Match[str]) -> str:
            return match[0] if self._is_plain(match[0]) else replacement

        return self.pattern.sub(replace_match, text)

    def _is_plain(self, matched_text: str) -> bool:
        if self.plain is None:
            return False
        if self.is_cut:
            return matched_text.startswith(self.plain)
        return matched_text == self.plain


def encoded_forms(secret: str) -> list[EncodedForm]:
    """Return patterns that find a secret in base64, at each of its three offsets, and in URLs.

    Base64 has either alphabet and is in one piece, also in a URL. In URLs a character is unchanged,
    `%2F` or `%252F`.
    """
    data = _to_bytes(secret)
    is_cut = len(data) > _LONGEST
    # Base64 turns three bytes into four letters, so a secret has another form for each number of
    # bytes that precede it in its group of three.
    forms = [_in_base64(data[:_LONGEST], offset, is_cut=is_cut) for offset in range(3)]
    start = secret
    if is_cut:
        # The cut may go through a character of several bytes.
        start = data[:_LONGEST].decode("utf-8", "replace").rstrip("\ufffd")
    if not _UNTOUCHED.fullmatch(start):
        forms.append(_in_urls(start, is_cut=is_cut))
    return forms


def _to_bytes(text: str) -> bytes:
    """Return the bytes of a text, as an environment variable holds them."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _in_base64(data: bytes, offset: int, *, is_cut: bool) -> EncodedForm:
    """Return the base64 form of a secret that begins at an offset (0-2) in a group of three bytes.

    Letters that share bits with the bytes around the secret belong to the match.
    """
    bits = 8 * (offset + len(data))
    letters = b64encode(bytes(offset) + data).decode()[-(-8 * offset // 6) : bits // 6]
    first = f"{_NEIGHBOUR}?" if offset else ""
    last = ""
    if is_cut:
        last = f"{_NEIGHBOUR}*"
    elif bits % 6:
        last = f"{_NEIGHBOUR}?"
    pattern = "".join(_BASE64.get(letter, letter) for letter in letters)
    return EncodedForm(re.compile(f"{first}{pattern}{last}{_FILL}"), _longest(_LETTERS, letters))


def _in_urls(text: str, *, is_cut: bool) -> EncodedForm:
    pattern = "".join(map(_in_url, text))
    last = r"(?:[A-Za-z0-9_.~!*'()+-]|%[0-9A-Fa-f]{2})*" if is_cut else ""
    return EncodedForm(re.compile(f"{pattern}{last}"), _longest(_UNTOUCHED, text), text, is_cut)


def _in_url(character: str) -> str:
    if _UNTOUCHED.fullmatch(character):
        return re.escape(character)
    percent = "".join(f"%(?:25)*{byte:02x}" for byte in _to_bytes(character))
    # Forms write a space as a plus sign.
    space = r"|\+|%(?:25)*2[Bb]" if character == " " else ""
    # The encoded forms come first, so that of `%25`, a percent sign, all is matched.
    return f"(?:(?i:{percent}){space}|{re.escape(character)})"


def _longest(pieces: re.Pattern[str], text: str) -> str:
    return max(pieces.findall(text), key=len, default="")
