"""The kinds of files that a description names, with "and" or "or" between them.

kinds_in(claim, "Verify netlist or SPEF exists.") -> NamedKinds("netlist or spef", ...)

"And", a slash and a comma ask for each of them; "or" for one. They are a parameter of a claim, and
`claim_of_row` turns it into the claim's parts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.claim_data import Claim, HeaderPart, shipped_claims

KINDS: Final = "kinds"
_MOST_KINDS: Final = 6
_EITHER: Final = " or "
_EACH: Final = " and "
_AND: Final = re.compile(r"\s*(?:/|,|&|\band\b|\bboth\b|\bthe\b|\s)*\s*", re.IGNORECASE)
_OR: Final = re.compile(r"\s*(?:,\s*)?\b(?:or|and/or)\s+(?:(?:the|an?)\s+)?", re.IGNORECASE)


@dataclass(frozen=True)
class NamedKinds:
    """The kinds that a description names.

    Attributes:
        text: their names with "and" or "or" between them: the parameter of the claim.
        words: the words of the description that say it.
    """

    text: str
    words: tuple[str, ...]


def kinds_in(claim: Claim, description: str) -> NamedKinds | None:
    """Return the kinds of a claim's files that a description names; None if that is unclear."""
    called = tuple(name for part in claim.headers for name in part.called)
    kinds, joints, words, end = list[str](), set[str](), list[str](), 0
    for match in _pattern_of(called).finditer(description):
        kind = _kind_of(claim, match[0])
        if kinds and kind != kinds[-1]:
            between = description[end : match.start()]
            if _OR.fullmatch(between):
                joints.add(_EITHER)
                words.append("or")
            elif _AND.fullmatch(between):
                joints.add(_EACH)
            else:
                return None
        end = match.end()
        words.append(match[0])
        if kind not in kinds:
            kinds.append(kind)
    # "A and B or C" may mean two things; and a checker has so many items at most.
    if not kinds or len(joints) > 1 or len(kinds) > _MOST_KINDS:
        return None
    if _EITHER in joints:
        words.append("either")
    return NamedKinds((joints.pop() if joints else "").join(kinds), tuple(words))


def parts_of_kinds(claim: Claim, text: str) -> tuple[HeaderPart, ...]:
    """Return the parts of a claim on some of its kinds: one for each, or one that stands for any.

    Raises:
        ValueError: a name is no kind of the claim.
    """
    parts = {part.kind: part for part in claim.headers}
    is_either = _EITHER in text
    names = text.split(_EITHER if is_either else _EACH)
    unknown = [name for name in names if name not in parts]
    if unknown:
        message = f"there is no kind of file {unknown[0]!r}; write {', '.join(parts)}"
        raise ValueError(message)
    chosen = [parts[name] for name in names]
    return (_any_of(chosen),) if is_either else tuple(chosen)


def claim_of_row(row: ClaimRow) -> Claim | None:
    """Return the claim that a row names, with the parts that its parameters choose."""
    claim = shipped_claims().claims.get(row.name)
    if claim is None or KINDS not in row.parameters:
        return claim
    parts = parts_of_kinds(claim, row.parameters[KINDS])
    title = f"{_EACH.join(part.title for part in parts)} loaded"
    return claim.model_copy(update={"headers": parts, "title": title})


def known_claim(row: ClaimRow) -> Claim:
    """Return the claim that a row names.

    Raises:
        KeyError: there is none.
    """
    claim = claim_of_row(row)
    if claim is None:
        raise KeyError(row.name)
    return claim


def _any_of(parts: Sequence[HeaderPart]) -> HeaderPart:
    """Return the part that a file of any of these kinds fulfils."""
    return HeaderPart(
        kind="_or_".join(part.kind for part in parts),
        title=_EITHER.join(part.title for part in parts),
        is_any=True,
        read_as=tuple(word for part in parts for word in part.read_as),
        files=tuple(name for part in parts for name in part.files),
    )


@lru_cache(maxsize=8)
def _pattern_of(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of what kinds of files are called, the longest names first."""
    either = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{either})s?(?:\s+files?)?(?![\w-])", re.IGNORECASE)


def _kind_of(claim: Claim, text: str) -> str:
    """Return the kind that a name in a description means."""
    words = re.sub(r"\s+files?$", "", text.lower())
    for part in claim.headers:
        if words in part.called or words.removesuffix("s") in part.called:
            return part.kind
    return ""
