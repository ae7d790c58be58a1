"""Tell words from names: identifiers, paths, options and buses mean nothing by their words."""

from __future__ import annotations

import re

_ENDS = frozenset(" \t\n\r:=,;|()<>\"'`{}!?#*")
_BUS = re.compile(r"\[\d+(?::\d+)?\]")
_KEY_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[^\W\d_]+")


def key_words(key: str) -> list[str]:
    """Return the words of a key or status in lower case: `failedTests` has `failed` and `tests`."""
    return [word.lower() for word in _KEY_WORD.findall(key.replace("'", ""))]


def is_part_of_name(text: str, start: int, end: int) -> bool:
    """Return whether a word is part of an identifier, a path, an option or a bus.

    `error_handler_reg`, `u_abort/fatal_irq`, `no_errors.log`, `--fail-fast` and `error[3]` are
    names; `UVM_ERROR`, `file.c:12:error:` and `error[E0382]` are not.
    """
    begin = start
    while begin > 0 and text[begin - 1] not in _ENDS:
        begin -= 1
    stop = end
    while stop < len(text) and text[stop] not in _ENDS:
        stop += 1
    before, behind = text[begin:start], text[end:stop].rstrip(".-")
    if not before and not behind:
        return False
    if _BUS.match(behind):
        return True
    behind = behind.partition("[")[0]
    token = before + text[start:end] + behind
    if before.endswith(("$", "\\", "@", "/", ".")) or behind.startswith(("/", "\\")):
        return _is_path(before, behind)
    # An option; "---FAILED---" and "--> error" are none.
    if before in ("-", "--") and not text[end:stop].endswith("-"):
        return True
    if before.endswith("_") or behind.startswith("_"):
        return not (token.isupper() and _ends_clause(text[stop:]))
    if behind.startswith(".") and behind[1:2].isalpha():
        return True
    if any(sign.isdigit() or sign == "_" for sign in before + behind):
        return True
    # errorHandler, RetryOnErrorPolicy
    return behind[:1].isupper() and text[end - 1].islower()


def _is_path(before: str, behind: str) -> bool:
    """Return whether a word beside a slash or point is part of a path, not of "passed/failed"."""
    if before.startswith(("/", "$", "\\", "@", ".")):
        return True
    token = before + behind
    if token.count("/") + token.count("\\") > 1:
        return True
    return any(sign.isdigit() or sign in "._" for sign in token)


def _ends_clause(following: str) -> bool:
    """Return whether nothing but marks follows in a line."""
    return not following.strip(" \t\n.!;,\"')]}*")
