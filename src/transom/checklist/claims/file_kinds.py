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
FIELDS: Final = "fields"
_SAME_FIELD: Final = {"timestamp": "date", "time": "date", "program": "tool", "revision": "version"}
_OPTIONAL: Final = re.compile(
    r"\b(?:(?P<adjective>optional)|(?:if|when|where|as far as) (?:(?:it|one|they) (?:is|are) )?"
    r"(?:present|available|there|any|exists?|loaded|provided))\b",
    re.IGNORECASE,
)
_MOST_KINDS: Final = 6
_EITHER: Final = " or "
_EACH: Final = " and "
_AND: Final = re.compile(r"^(?:\s|/|,|&|\band\b|\bboth\b|\bthe\b)*$", re.IGNORECASE)
_OR: Final = re.compile(r"^[\s,]*\b(?:or|and/or)\s(?:(?:the|an?)\s)?$", re.IGNORECASE)


@dataclass(frozen=True)
class NamedKinds:
    """The kinds that a description names.

    Attributes:
        text: their names with "and" or "or" between them: the parameter of the claim.
        words: the words of the description that say it.
    """

    text: str
    words: tuple[str, ...]


def _called(claim: Claim) -> tuple[str, ...]:
    """Return what descriptions call the kinds of a claim's files."""
    names = list[str]()
    for part in claim.headers:
        names += part.called
    return tuple(names)


def kinds_in(claim: Claim, description: str) -> NamedKinds | None:
    """Return the kinds of a claim's files that a description names; None if that is unclear."""
    called = _called(claim)
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
    """Return the claim that a row names, with the parts and fields that its parameters choose."""
    claim = shipped_claims().claims.get(row.name)
    if claim is None or row.parameters.keys().isdisjoint((KINDS, FIELDS)):
        return claim
    parts = claim.headers
    if KINDS in row.parameters:
        parts = parts_of_kinds(claim, row.parameters[KINDS])
    if FIELDS in row.parameters:
        parts = _with_fields(parts, row.parameters[FIELDS])
    verb = "were" if len(parts) > 1 else "was"
    title = f"{_EACH.join(part.title for part in parts)} {verb} loaded"
    if any(part.fields for part in parts):
        whole = ", and the head of each is complete"
        title += ", with the listed fields in its head" if FIELDS in row.parameters else whole
    return claim.model_copy(update={"headers": parts, "title": title})


def header_parameters(claim: Claim, description: str) -> dict[str, str] | None:
    """Return the parameters of a claim on heads; None if it makes optional what nobody called so.

    A description that names some of the kinds asks for these alone, and one that lists the fields
    of a kind for no others.
    """
    if claim.optional and _optional_kinds(claim, description) != {*claim.optional}:
        return None
    parameters = dict[str, str]()
    named, fields = list[str](), list[str]()
    for part in claim.headers:
        pattern = _pattern_of(part.called)
        if not pattern.search(description):
            continue
        named.append(part.kind)
        # "Netlist version (tool, version, date)" lists what the head must say.
        listed = re.search(
            rf"{pattern.pattern}[^(),;.]{{0,30}}\(([^()]{{1,80}})\)", description, re.I
        )
        keys = _fields_in(part, listed[1]) if listed else ()
        if keys and len(keys) < len(part.fields):
            fields.append(f"{part.kind}: {', '.join(keys)}")
    if named and len(named) < len(claim.headers):
        parameters[KINDS] = _EACH.join(named)
    if fields:
        parameters[FIELDS] = "; ".join(fields)
    return parameters


def _fields_in(part: HeaderPart, text: str) -> tuple[str, ...]:
    """Return the fields of a kind that a list names, such as "tool, date"; else ()."""
    fields = []
    for word in map(str.strip, re.split(r"[,/&]|\band\b", text.lower())):
        words = {word, word.replace(" ", "_"), _SAME_FIELD.get(word, word)}
        known = [field for field, key in part.fields.items() if words & {field, key}]
        if word and not known:
            return ()
        fields += known
    return tuple(dict.fromkeys(fields))


def _with_fields(parts: Sequence[HeaderPart], text: str) -> tuple[HeaderPart, ...]:
    """Return parts with the fields that a parameter lists: `netlist: tool_name; spef: timestamp`.

    Raises:
        ValueError: a name is no kind or no field of it.
    """
    listed = dict[str, list[str]]()
    for entry in text.split(";"):
        kind, _, names = entry.partition(":")
        listed[kind.strip()] = [name.strip() for name in names.split(",")]
    changed = []
    for part in parts:
        wanted = listed.pop(part.kind, [*part.fields])
        unknown = [name for name in wanted if name not in part.fields]
        if unknown:
            raise ValueError(
                f"{part.title} has no field {unknown[0]!r}; write {', '.join(part.fields)}"
            )
        fields = {name: part.fields[name] for name in wanted}
        changed.append(part.model_copy(update={"fields": fields}))
    if listed:
        raise ValueError(f"there is no kind of file {min(listed)!r} among the parts")
    return tuple(changed)


def _optional_kinds(claim: Claim, description: str) -> set[str]:
    """Return the kinds that a description calls optional: the last one named before it says so."""
    called = _called(claim)
    kinds = set[str]()
    for phrase in _OPTIONAL.finditer(description):
        names = [*_pattern_of(called).finditer(description, 0, phrase.start())]
        following = _pattern_of(called).match(description, phrase.end() + 1)
        if phrase["adjective"] and following:
            kinds.add(_kind_of(claim, following[0]))
        elif names:
            kinds.add(_kind_of(claim, names[-1][0]))
    return kinds


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
    kinds, titles, read_as, files = list[str](), list[str](), list[str](), list[str]()
    for part in parts:
        kinds.append(part.kind)
        titles.append(part.title)
        read_as += part.read_as
        files += part.files
    return HeaderPart(
        kind="_or_".join(kinds),
        title=_EITHER.join(titles),
        is_any=True,
        read_as=tuple(read_as),
        files=tuple(files),
    )


@lru_cache(maxsize=8)
def _pattern_of(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of what kinds of files are called, the longest names first."""
    either = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{either})s?(?:\s+files?)?(?![\w-])", re.IGNORECASE)


def _kind_of(claim: Claim, text: str) -> str:
    """Return the kind that a name in a description means."""
    words = re.sub(r"\sfiles?$", "", text.lower()).strip()
    for part in claim.headers:
        if words in part.called or words.removesuffix("s") in part.called:
            return part.kind
    return ""
