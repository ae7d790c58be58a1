"""Excerpts by which a round sees the earlier ones: their texts as written, without what it does not
need.

A round does not see what another part of its window says again, nor what it must not lean on: a
parser or a check that knows the waivers would anticipate them. A cut counts only if the same
names are read from what is left, else the text is given whole: a window that is too long costs
money, a name that is missing costs the check.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from transom.checklist.atoms import ENTRY_KEYS
from transom.checklist.writing.document import (
    parse_analysis,
    parse_section1,
    parse_section2,
    parse_section3,
)
from transom.formats.labels import labels, normal
from transom.formats.markdown import fences, parse
from transom.formats.markdown_cut import source_lines, without
from transom.llm import Block, estimate_tokens


class Excerpt(NamedTuple):
    """Text of the round `of`, for a block; several of one block follow one another.

    `without` has beginnings of headings, and labels, that are left out.
    """

    block: str
    of: str
    without: tuple[str, ...]


_FIELDS: Final = ("file metadata", "parsed fields example")
_STEPS: Final = tuple(f"step {number}" for number in range(1, 8))
_MODES: Final = ("global waiver mode", "selective waiver mode", "implementation guidance")
_TEXTS: Final = ("purpose", "completeness definition", "pass condition")

EARLIER: Final[Mapping[str, tuple[Excerpt, ...]]] = MappingProxyType(
    {
        "checklist.analysis": (),
        "checklist.section1": (Excerpt("previous_analysis", "analysis", (*_STEPS[6:], "reason")),),
        "checklist.section2": (
            Excerpt("section1_parsing_logic", "section1", _FIELDS),
            Excerpt("analysis_reference", "analysis", (*_STEPS[:4], *_STEPS[6:])),
        ),
        "checklist.section3": (
            Excerpt("previous_sections", "section1", (*_FIELDS, "purpose")),
            Excerpt("previous_sections", "section2", ("validation sequence",)),
            Excerpt("analysis_reference", "analysis", (*_STEPS[:6], "notation", "capability type")),
        ),
        "checklist.section4": (
            Excerpt("previous_sections_summary", "section1", (*_FIELDS, "purpose")),
            Excerpt(
                "previous_sections_summary",
                "section2",
                (*_TEXTS, "pattern matching", "validation sequence"),
            ),
            Excerpt(
                "previous_sections_summary",
                "section3",
                (*_MODES, "waiver scenario", "business justification"),
            ),
        ),
    }
)

SUMMARY_TOKENS: Final = 2_500
DETAILS: Final = (
    "overall pass fail logic",
    "edge cases",
    "typical reason",
    "interpretation",
    "fail condition",
    "matching keywords",
    "data structure",
)
"""Parts that the last round is not shown for want of room, in this order. Names, ids, types and
conditions stay.
"""


def earlier_blocks(
    role: str, texts: Mapping[str, str], *, tokens: int = SUMMARY_TOKENS
) -> list[Block]:
    """Return the blocks by which a round sees the earlier ones, from their texts by tag.

    `tokens` bounds what the last round sees; if names and ids alone exceed it, they are given
    alone.
    """
    # Details go one by one until the window is short enough.
    for dropped in range(len(DETAILS) + 1) if role == "checklist.section4" else (0,):
        excerpts: dict[str, list[str]] = {}
        for excerpt in EARLIER[role]:
            text = _excerpt(excerpt.of, texts[excerpt.of], {*excerpt.without, *DETAILS[:dropped]})
            excerpts.setdefault(excerpt.block, []).append(text.strip("\n") + "\n")
        if dropped:
            excerpts[EARLIER[role][0].block].append(
                f"(Left out for want of room: {', '.join(DETAILS[:dropped])}.)\n"
            )
        blocks = [Block(name, "\n".join(pieces)) for name, pieces in excerpts.items()]
        if sum(estimate_tokens(block.text) for block in blocks) <= tokens:
            break
    return blocks


def _excerpt(tag: str, text: str, names: Collection[str]) -> str:
    excerpt = _cut(text, names)
    if _read(tag, excerpt, names) == _read(tag, text, names):
        return excerpt
    return text


def _cut(text: str, names: Collection[str]) -> str:
    """Return the text without the parts and labels that begin with one of the names."""
    text = without(
        text,
        lambda part: any(f"{normal(part.title)} ".startswith(f"{n} ") for n in names),
        lambda _: True,
    )
    lines = source_lines(text)
    removed_lines: set[int] = set()
    for label in labels(parse(text)):
        first = label.line - 1
        # A label is left out with everything that is indented below it.
        if normal(label.name) in names and not lines[first].lstrip().startswith("#"):
            depth = _depth(lines[first])
            removed_lines.add(first)
            for number in range(first + 1, len(lines)):
                if not lines[number].strip() or _depth(lines[number]) <= depth:
                    break
                removed_lines.add(number)
            # The example under a label belongs to it.
            for fence in fences(label.body)[:1]:
                removed_lines.update(range(fence.line - 2, fence.line + fence.text.count("\n") + 1))
    return "\n".join(line for number, line in enumerate(lines) if number not in removed_lines)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _read(tag: str, text: str, names: Collection[str]) -> object:
    """Return the names, ids and decisions that an excerpt must keep."""
    if tag == "analysis":
        analysis = parse_analysis(text)
        parts = {
            "notation": analysis.reading,
            "capability type": analysis.capability_type,
            "reason": analysis.reason,
        }
        return [value for label, value in parts.items() if label not in names]
    if tag == "section1":
        parsing = parse_section1(text)
        own = []
        for category in parsing.categories:
            for field in category.fields:
                if field.name not in ENTRY_KEYS:
                    own.append(field.name)
        return parsing.keys(), own
    if tag == "section2":
        check = parse_section2(text)
        items: list[object] = []
        for item in check.items:
            rule = item.rule
            choices = {"check": rule.check, "mode": rule.mode, "quantifier": rule.quantifier}
            readable = []
            for part, value in choices.items():
                if part not in item.problems:
                    readable.append(value)
            items.append((rule.id, rule.name, rule.required, item.condition_text, readable))
        return check.capability_type, items
    waiver = parse_section3(text)
    scenarios = []
    for scenario in waiver.scenarios:
        scenarios.append((scenario.id, scenario.name, scenario.items, scenario.stages))
    return (
        waiver.supported,
        scenarios,
        [(decision.item, decision.waivable) for decision in waiver.decisions],
    )
