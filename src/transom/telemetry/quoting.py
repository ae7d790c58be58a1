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


def looked_for(text: str) -> tuple[str, str]:
    r"""A regular expression for a text, and the longest piece of it that stands in every form.

    `pa"ss` is `pa\"ss` in JSON, `pa\\\"ss` in JSON that is quoted in JSON, `pa\u0022ss` where its
    writer is careful. No repetition can be matched in two ways, so that no text takes more than one
    pass.
    """
    pieces = _PIECES.findall(text)
    pattern = "".join([_form(piece) for piece in pieces])
    # What comes before it must not be tried from each of many backslashes.
    pattern = pattern if _PLAIN.match(pieces[0]) else rf"(?<!\\){pattern}"
    return pattern, max([piece for piece in pieces if _PLAIN.match(piece)], key=len, default="")


def _form(piece: str) -> str:
    if _PLAIN.match(piece):
        return re.escape(piece)
    if piece[0] == "\\":
        return _BACKSLASHES
    alone = "|\ufffd" if "\ud800" <= piece <= "\udfff" else ""  # what no file takes is written so
    return rf"\\*+(?:{re.escape(piece)}{alone}|{_ESCAPED}(?:{'|'.join(_escapes(piece))}))"


def _escapes(character: str) -> list[str]:
    """The forms that a character has after a backslash."""
    code = ord(character)
    short = [_SHORT[character]] if character in _SHORT else []
    if 0xD800 <= code <= 0xDFFF:  # what no file takes is written as U+FFFD, and that quoted
        short.append("(?i:ufffd)")
    if code > 0xFFFF:
        high, low = divmod(code - 0x10000, 0x400)
        return [rf"(?i:u{0xD800 + high:04x}\\++u{0xDC00 + low:04x}|U{code:08x})"]
    return [*short, rf"(?i:u{code:04x}{f'|x{code:02x}' if code < 0x100 else ''})"]
