"""Patterns for a text as it is or quoted: by any JSON writer, by `repr`, and by one inside the
other.
"""

from __future__ import annotations

import re

# What no usual writer escapes. The others: quotes and the backslash, `/` (PHP), what HTML has a
# meaning for (Go, .NET).
_PLAIN = re.compile(r"[ !#-%(-*,-.0-;?-\[\]-_a-~]+")
_PIECES = re.compile(rf"{_PLAIN.pattern}|\\+|.", re.DOTALL)
_SHORT = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_BACKSLASHES = r"\\++"
_ESCAPED = r"(?<=\\)"


def quoted_pattern(text: str) -> tuple[str, str]:
    r"""Return a regular expression for a text, and its longest piece that every form contains.

    `pa"ss` is `pa\"ss` in JSON, `pa\\\"ss` in JSON that is quoted in JSON, `pa\u0022ss` where its
    writer is careful. No repetition can be matched in two ways, so that no text takes more than one
    pass.
    """
    pieces = _PIECES.findall(text)
    pattern = "".join([_quoted_piece(piece) for piece in pieces])
    # The pattern begins with optional backslashes. It must not be tried from each of many.
    if not _PLAIN.match(pieces[0]):
        pattern = rf"(?<!\\){pattern}"
    longest_piece = max(filter(_PLAIN.match, pieces), key=len, default="")
    return pattern, longest_piece


def _quoted_piece(piece: str) -> str:
    if _PLAIN.match(piece):
        return re.escape(piece)
    if piece[0] == "\\":
        return _BACKSLASHES
    # No file takes a lone surrogate: U+FFFD is written in its place.
    surrogate = "|\ufffd" if "\ud800" <= piece <= "\udfff" else ""
    escapes = "|".join(_escapes(piece))
    return rf"\\*+(?:{re.escape(piece)}{surrogate}|{_ESCAPED}(?:{escapes}))"


def _escapes(character: str) -> list[str]:
    """Return the forms that a character has after a backslash."""
    code = ord(character)
    if code > 0xFFFF:
        high, low = divmod(code - 0x10000, 0x400)
        return [rf"(?i:u{0xD800 + high:04x}\\++u{0xDC00 + low:04x}|U{code:08x})"]
    forms = []
    if character in _SHORT:
        forms.append(_SHORT[character])
    # U+FFFD in place of a lone surrogate, and that quoted.
    if 0xD800 <= code <= 0xDFFF:
        forms.append("(?i:ufffd)")
    two_digits = f"|x{code:02x}" if code < 0x100 else ""
    forms.append(rf"(?i:u{code:04x}{two_digits})")
    return forms
