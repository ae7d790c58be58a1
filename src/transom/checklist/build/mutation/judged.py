"""What a verdict on the files as they are says against the spec: lines on the wrong side, words that hide a gap."""

from __future__ import annotations

from collections.abc import Sequence

from transom.checklist.build.mutation.again import Result
from transom.checklist.build.mutation.alter import NOTHING
from transom.checklist.build.mutation.evidence import Unit
from transom.checklist.build.mutation.fields import LIMITS, Topic, decisive_fields
from transom.checklist.build.mutation.runtime import Desk
from transom.checklist.run import Verdict
from transom.checklist.spec.shapes import SpecItem

ENOUGH = 0.8


def hidden(base: Result, about: Sequence[Topic], desk: Desk) -> list[str]:
    """Fields that decide and say, in words that no file has, that they say nothing: so nobody misses them."""
    wanted = {name for topic in about for name in topic.decisive()}
    held = " ".join(desk.texts.values()).casefold()
    return [
        f"the entry of {ident} says {text!r} for {name}, which stands in no file; what is not there is None"
        for (ident, name), said in sorted(base.fields.items())
        for text in sorted(said)
        if name in wanted and text.strip() and NOTHING.fullmatch(text) and text.casefold() not in held
    ]


def misjudged(units: Sequence[Unit], base: Verdict) -> list[str]:
    """Lines whose outcome the spec tells, and that stand on the other side of the verdict.

    Where the pattern shows the compared field, one is enough; where the outcome is only a word in the line, they must
    be too many.
    """
    bad = {(one.source_file, one.line_number) for one in (*base.missing_items, *base.extra_items, *base.waived)}
    told = [unit for unit in units if unit.shape == "row" and unit.holds is not None and _each_counts(unit.item)]
    wrong = [
        unit
        for unit in told
        if any((spot.page.shown, spot.number) in bad for spot in unit.spots) is not _is_violation(unit)
    ]
    judged = {
        (one.id, one.source_file, one.line_number)
        for one in (*base.found_items, *base.missing_items, *base.extra_items, *base.waived)
    }
    sure = [unit for unit in wrong if _is_certain(unit) and (unit.item.id, *_at(unit)) in judged]
    if not sure and len(wrong) <= (1 - ENOUGH) * len(told):
        return []
    first = (sure or wrong)[0]
    file, line = _at(first)
    return [
        f"{len(wrong)} of {len(told)} lines are judged otherwise than the ItemSpec says, the first {file}:{line}, "
        f"which is {'a violation' if _is_violation(first) else 'none'}"
    ]


def _is_violation(unit: Unit) -> bool:
    return unit.holds is (unit.item.mode == "forbid")


def _at(unit: Unit) -> tuple[str, int]:
    return unit.spots[0].page.shown, unit.spots[0].number


def _is_certain(unit: Unit) -> bool:
    """Whether the line itself shows all that is asked, each as the text that it is compared as."""
    condition, spot = unit.item.condition, unit.spots[0]
    if len(unit.spots) > 1 or condition is None or condition.op in LIMITS:
        return False
    return all((spot.said(name) or "").strip() for name in decisive_fields(unit.item))


def strange_places(units: Sequence[Unit], about: Sequence[Topic], base: Verdict) -> list[str]:
    """Violations on lines that are none by the spec's patterns, where they are too many."""
    rows = {unit.item.id for unit in units if unit.shape == "row"}
    rows |= {item.id for topic in about for item in topic.items if item.mode == "forbid" and not topic.is_file}
    known = {(spot.page.shown, spot.number) for unit in units for spot in unit.spots}
    told = [
        (one.source_file, one.line_number)
        for one in (*base.missing_items, *base.extra_items, *base.waived)
        if one.line_number and one.id in rows
    ]
    strange = [place for place in told if place not in known]
    if len(strange) <= (1 - ENOUGH) * len(told):
        return []
    file, line = strange[0]
    return [
        f"{len(strange)} of {len(told)} violations stand on lines that the patterns of Section 4.1 do not describe, "
        f"the first {file}:{line}"
    ]


def _each_counts(item: SpecItem) -> bool:
    return item.validation != "pattern" and (item.mode == "forbid" or item.quantifier == "each")
