"""Whether the last word of an output is that the solution did not converge."""

from __future__ import annotations

import re

CONVERGENCE = re.compile(r"converg", re.IGNORECASE)
# A sentence whose last words are that there was no convergence.
_UNCONVERGED = re.compile(
    r"\b(not|never|without|no|non|failed|fails|unable to|before)[ -]{0,2}"
    r"((be|been|to|have|has|reach|achieve|obtain|attain|yet|any|full)[ -]){0,2}"
    r"converg(e|ed|ence|ing)\b"
    r"|\bunconverged\b|\bconvergence (was |is |has )?"
    r"(not|failed|never)\b( (been )?(achieved|reached|obtained|met))?",
    re.IGNORECASE,
)
_AFTERWARDS = re.compile(
    r"( (in|within|after|at) (the )?[\w ]{0,20}\d\S*( \w+)?)?[\s.!*]*", re.IGNORECASE
)
# It goes on with why, where or how far: `did not converge on account of contact chatter`.
_BECAUSE = re.compile(
    r"[\s*]*+([(,;:=-]++|\b(in|within|after|at|for|on|because|due|owing|as|since|with|by|during"
    r"|under|to|from)\b)(?!\s*+(0|none|no|zero)\b)",
    re.IGNORECASE,
)
# The run goes on after it: `did not converge, retrying`; or it is no event: `if it does not ...`.
_GOES_ON = re.compile(
    r"\b((re-?)?(try|tri|start|solv|run|peat)(y?ing|ed|es|s)?|retry|again|cut\w*|halv\w*|reduc\w*"
    r"|bisect\w*|smaller|switch\w*|instead|then|continu\w*|first|initial\w*|but|increas\w*"
    r"|fall\w*|using|adapt\w*|adjust\w*|relax\w*|later|next|finally|new)\b",
    re.IGNORECASE,
)
_NO_EVENT = re.compile(r"\b(if|whether|unless|in case|number of|count of)\b", re.IGNORECASE)
_NONE = re.compile(r"(^|[:;,.(])\s*(0|zero|none|no)\b[\w ]{0,30}$", re.IGNORECASE)


def says_no_convergence(line: str) -> bool:
    """Return whether a line states that there was no convergence, and nothing goes on after it."""
    statement = _UNCONVERGED.search(line)
    # `0 of 12 steps did not converge` is good news.
    if statement is None or _NONE.search(line[: statement.start()].strip()):
        return False
    if _AFTERWARDS.fullmatch(line, statement.end()):
        return True
    rest = line[statement.end() :]
    return (
        _BECAUSE.match(rest) is not None
        and not _GOES_ON.search(rest)
        and not _NO_EVENT.search(line, 0, statement.start())
    )
