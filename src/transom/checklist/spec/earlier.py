"""Which round sees what of the earlier ones: the table round x excerpt, as data.

A round does not see what another part of its window says again, nor what it must not lean on: a parser or a check that
knows the waivers would anticipate them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from transom.checklist.spec.excerpts import analysis_excerpt, section1_fields, section1_names, section2_rules
from transom.checklist.spec.summary import summarise
from transom.llm import Block


class Excerpt(NamedTuple):
    """What a block shows.

    Attributes:
        block: the block; several excerpts of one block follow one another.
        of: tags of the rounds whose texts it is made from.
        shows: what that is, in words.
        make: their texts -> the excerpt.
    """

    block: str
    of: tuple[str, ...]
    shows: str
    make: Callable[..., str]


EARLIER: Final[Mapping[str, tuple[Excerpt, ...]]] = MappingProxyType(
    {
        "checklist.analysis": (),
        "checklist.section1": (
            Excerpt(
                "previous_analysis",
                ("analysis",),
                "all steps but the waivers; notation, capability type",
                partial(analysis_excerpt, steps=(1, 2, 3, 4, 5, 6), labels=("Notation", "Capability type")),
            ),
        ),
        "checklist.section2": (
            Excerpt(
                "section1_parsing_logic",
                ("section1",),
                "categories, fields with type and meaning; what `value` looks like, kinds of references",
                section1_fields,
            ),
            Excerpt(
                "analysis_reference",
                ("analysis",),
                "validation items, pattern matching, the conclusion",
                partial(analysis_excerpt, steps=(5, 6), labels=("Notation", "Capability type", "Reason")),
            ),
        ),
        "checklist.section3": (
            Excerpt(
                "previous_sections",
                ("section1",),
                "categories, fields with type, what `value` looks like",
                section1_names,
            ),
            Excerpt("previous_sections", ("section2",), "all but the validation sequence", section2_rules),
            Excerpt(
                "analysis_reference",
                ("analysis",),
                "waiver scenarios, the reason for the type",
                partial(analysis_excerpt, steps=(7,), labels=("Reason",)),
            ),
        ),
        "checklist.section4": (
            Excerpt(
                "previous_sections_summary",
                ("section1", "section2", "section3"),
                "fields as in round 3; of each item what it needs and how it fails; of each waiver its items and words",
                summarise,
            ),
        ),
    }
)


def earlier_blocks(role: str, texts: Mapping[str, str]) -> list[Block]:
    """The blocks by which a round sees the earlier ones.

    Args:
        role: whose round it is.
        texts: what the earlier rounds wrote, by tag.
    """
    shown: dict[str, list[str]] = {}
    for excerpt in EARLIER[role]:
        shown.setdefault(excerpt.block, []).append(excerpt.make(*(texts[tag] for tag in excerpt.of)))
    return [Block(name, "\n".join(pieces)) for name, pieces in shown.items()]
