"""Whether a line fulfils a condition, and the same line with the other outcome."""

from __future__ import annotations

import re
from collections.abc import Sequence

from transom.canonical import Json
from transom.checklist.atoms import Condition, Operator
from transom.checklist.build.mutation.evidence import Span, Spot
from transom.checklist.build.mutation.fields import Topic, last
from transom.checklist.patterns import REGEX
from transom.checklist.spec.shapes import SpecItem

# Words of outcome as tools write them, each with its opposite.
_OPPOSITES = (
    ("met", "violated"), ("pass", "fail"), ("passed", "failed"), ("ok", "error"), ("clean", "dirty"),
    ("error", "info"), ("fatal", "info"), ("warning", "error"), ("warn", "error"), ("info", "error"),
    ("loaded", "failed"), ("success", "failure"), ("successful", "failed"), ("succeeded", "failed"),
    ("complete", "incomplete"), ("completed", "aborted"), ("yes", "no"), ("true", "false"), ("on", "off"),
    ("enabled", "disabled"), ("matched", "mismatched"), ("equivalent", "nonequivalent"), ("routed", "unrouted"),
)  # fmt: skip
# Where a word stands in several pairs, the first one counts.
_FLIPS = dict(reversed([*_OPPOSITES, *((two, one) for one, two in _OPPOSITES)]))
# What a specification calls a sign that opens a line.
_SIGNS = {"[": "bracket", "(": "paren", "%": "percent", "*": "star", "**": "star", "***": "star", "#": "hash"}
# The place of a number that stands for a compared field, in a unit that need not be the field's.
STANDS_FOR = "number?"
_SHORT = 2  # a field of so few characters is a mark, not a text
_FAR = 1_000_000.0


def fulfils(item: SpecItem, topic: Topic, spot: Spot) -> bool | None:
    """Whether the line meets the item's condition; without one whether all fields that it shows are filled."""
    if _is_patterned(item, topic) and not any(_may_match(part, spot.line) for part in topic.patterns):
        return False  # forbidden is only what the patterns name
    if item.condition is None:
        return None if item.condition_text and not _is_none(item.condition_text) else True
    said = _said(item.condition, topic, spot)
    return None if said is None else _holds(item.condition, topic, said[0])


def flipped(item: SpecItem, topic: Topic, spot: Spot) -> str | None:
    """The line with the other outcome for the item, or None where the spec does not tell how to write it."""
    if _is_patterned(item, topic):
        return _patterned(topic, spot) if fulfils(item, topic, spot) is False else None
    condition = item.condition
    said = _said(condition, topic, spot) if condition else None
    if condition is None or said is None:
        return None
    text, (start, end) = said
    holds = _holds(condition, topic, text)
    other = None if holds is None else _other(condition, topic, text, wanted=not holds)
    return None if other is None else spot.line[:start] + other + spot.line[end:]


def beyond(item: SpecItem, spot: Spot) -> str | None:
    """The line with a number that breaks the limit in whatever unit it stands, where its own unit is not known."""
    span = spot.spans.get(STANDS_FOR)
    if span is None or item.condition is None:
        return None
    other = _other_number(item.condition, wanted=item.mode == "forbid")
    return None if other is None else spot.line[: span[0]] + other + spot.line[span[1] :]


def _is_patterned(item: SpecItem, topic: Topic) -> bool:
    return item.mode == "forbid" and item.validation == "pattern" and bool(topic.patterns)


def _may_match(part: str, line: str) -> bool:
    """Whether a value read from the line may match a pattern of the item."""
    if part.startswith(REGEX) and "|" not in part:
        return re.search(part.removeprefix(REGEX), line) is not None
    return any(
        re.search(".*".join(re.escape(piece) for piece in re.split(r"[*?]+", one)), line) is not None
        for one in part.split("|")
        if one.strip()
    )


def _patterned(topic: Topic, spot: Spot) -> str | None:
    """The line with a text in it that a pattern names, in place of its longest field."""
    plain = (part.strip("*") for part in topic.patterns if part.startswith("*") == part.endswith("*"))
    word = next((text for text in plain if text.strip() and not re.search(r"[*?|]|^regex:", text)), None)
    if word is None:
        return None
    start, end = max(spot.spans.values(), key=lambda span: span[1] - span[0], default=(0, 0))
    return f"{spot.line[:start]}{word}{spot.line[end:]}" if end - start > _SHORT else f"{spot.line} {word}"


def _said(condition: Condition, topic: Topic, spot: Spot) -> tuple[str, Span] | None:
    """The text that the condition is about: the field's, else the first word of outcome in the line."""
    span = spot.spans.get(last(condition.field))
    if span:
        return spot.line[span[0] : span[1]], span
    if condition.op not in (Operator.EQUALS, Operator.NOT_EQUALS, Operator.IN):
        return None
    known = topic.values(last(condition.field)) or list(_FLIPS)
    pattern = rf"(?<![\w-])(?:{'|'.join(re.escape(word) for word in sorted(known, key=len, reverse=True))})(?![\w-])"
    found = re.search(pattern, spot.line, re.IGNORECASE)
    return (found.group(), found.span()) if found else None


def _holds(condition: Condition, topic: Topic, text: str) -> bool | None:
    wanted, known = condition.value, topic.values(last(condition.field))
    match condition.op:
        case Operator.EQUALS:
            return _same(text, wanted, known)
        case Operator.NOT_EQUALS:
            same = _same(text, wanted, known)
            return None if same is None else not same
        case Operator.IN if isinstance(wanted, list):
            answers = {_same(text, one, known) for one in wanted}
            return True if True in answers else None if None in answers else False
        case Operator.LT | Operator.LE | Operator.GT | Operator.GE:
            return _compared(condition.op, _number(text), wanted)
        case Operator.EXISTS:
            return bool(text.strip())
    return None


def _compared(op: Operator, left: float | None, right: Json) -> bool | None:
    if left is None or isinstance(right, bool) or not isinstance(right, int | float):
        return None
    answers = {Operator.LT: left < right, Operator.LE: left <= right, Operator.GT: left > right}
    return answers.get(op, left >= right)


def _same(text: str, wanted: Json, known: Sequence[str]) -> bool | None:
    """None where the text may be a value by another name: what an atom makes of it cannot be told from here."""
    if isinstance(wanted, bool):
        truth = _truth(text)
        return None if truth is None else truth is wanted
    if isinstance(wanted, int | float):
        number = _number(text)
        return None if number is None else number == wanted
    word, value = text.strip().casefold(), str(wanted).casefold()
    if word == value:
        return True
    if word in _SIGNS:
        return _SIGNS[word] in value
    return False if word in _FLIPS or word in [one.casefold() for one in known] else None


def _truth(text: str) -> bool | None:
    word = text.strip().casefold()
    good = {one for one, two in _OPPOSITES if one not in ("error", "fatal", "warning", "warn", "info")}
    bad = {two for one, two in _OPPOSITES if one in good}
    return True if word in good else False if word in bad else None


def _other(condition: Condition, topic: Topic, text: str, *, wanted: bool) -> str | None:
    """Another text for the field, in the same case, that fulfils the condition or does not."""
    if condition.op in (Operator.LT, Operator.LE, Operator.GT, Operator.GE):
        return _other_number(condition, wanted=wanted)
    candidates = [
        *topic.values(last(condition.field)),
        *([_FLIPS[text.casefold()]] if text.casefold() in _FLIPS else []),
    ]
    if isinstance(condition.value, int | float) and not isinstance(condition.value, bool):
        candidates = [f"{condition.value:g}", f"{condition.value + 1:g}"]
    fitting = [one for one in candidates if _holds(condition, topic, one) is wanted]
    if not fitting and not wanted and condition.op is not Operator.EXISTS:
        fitting = [f"x{text}"]
    # The opposite of a word comes before the other values that the spec happens to name.
    best = next((one for one in fitting if one.casefold() == _FLIPS.get(text.casefold())), None)
    chosen = best or next(iter(fitting), None)
    return None if chosen is None else _cased(chosen, text)


def _other_number(condition: Condition, *, wanted: bool) -> str | None:
    """A number far on one side of the limit, so that it is there in every unit."""
    if isinstance(condition.value, bool) or not isinstance(condition.value, int | float):
        return None
    up = condition.op in (Operator.GT, Operator.GE)
    if up is wanted:
        return f"{(abs(condition.value) + 1) * _FAR:.1f}"
    return "0.0" if condition.value > 0 else f"{-(abs(condition.value) + 1) * _FAR:.1f}"


def _cased(word: str, like: str) -> str:
    if like.isupper():
        return word.upper()
    if like.islower():
        return word.lower()
    return word.capitalize() if like[:1].isupper() else word


def _number(text: str) -> float | None:
    found = re.fullmatch(r"\s*([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*%?\s*", text)
    return float(found[1]) if found else None


def _is_none(text: str) -> bool:
    return text.strip(" `.*").casefold() in ("none", "n/a", "-", "—", "no")
