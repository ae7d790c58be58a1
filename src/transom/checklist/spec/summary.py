"""What the last round sees of Sections 1 to 3: every name that Section 4 must keep to, in the template's own form.

It is read by `parse_section1` to `parse_section3` like the sections themselves. It has a bound; what does not fit goes
in whole kinds, the least needed first, and the text says which.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from transom.checklist.atoms import TYPE_NAMES
from transom.checklist.spec.document import parse_section1, parse_section2, parse_section3
from transom.checklist.spec.excerpts import has_only, is_plain_section1, section1_fields, section1_names
from transom.checklist.spec.shapes import CheckSection, SpecItem, WaiverScenario, WaiverSection
from transom.llm import estimate_tokens

SUMMARY_TOKENS: Final = 2_500
OVERALL: Final = "overall logic"
EDGES: Final = "edge cases"
REASONS: Final = "typical reasons of waivers"
INTERPRETATION: Final = "interpretation"
FAILURES: Final = "FAIL conditions"
KEYWORDS: Final = "keywords"
MEANINGS: Final = "meanings of the fields"
DETAILS: Final = (OVERALL, EDGES, REASONS, INTERPRETATION, FAILURES, KEYWORDS, MEANINGS)
"""What is left out where there is no room, in this order. Names, ids, types, conditions and decisions always stay."""

_CHECK_TITLES: Final = ("pattern matching", "overall pass fail logic", "edge cases", "validation sequence")
_WAIVER_TITLES: Final = ("global waiver mode", "selective waiver mode", "waiver decisions", "implementation guidance")
_VALIDATIONS: Final = {"existence": "existence check", "pattern": "pattern match"}

_Shown = Callable[[Collection[str]], str]


def summarise(section1: str, section2: str, section3: str, *, tokens: int = SUMMARY_TOKENS) -> str:
    """Sections 1 to 3 without what Section 4 does not rest on.

    Args:
        section1, section2, section3: Markdown of the sections. One that is not built like its template is given as it
            stands, beside the bound.
        tokens: bound of the rest. Where names and ids alone exceed it, they are given alone.
    """
    parsing, check = parse_section1(section1), parse_section2(section2)
    waiver = parse_section3(section3, check.item_ids())
    fields, names = section1_fields(section1), section1_names(section1)
    shown: list[str | _Shown] = [
        (lambda kept: fields if MEANINGS in kept else names) if is_plain_section1(parsing, section1) else section1,
        (lambda kept: "\n".join(_check(check, kept))) if _is_plain_check(section2, check) else section2,
        (lambda kept: "\n".join(_waiver(waiver, kept))) if _is_plain_waiver(section3, waiver) else section3,
    ]
    bound = tokens + sum(estimate_tokens(whole) for whole in shown if isinstance(whole, str))
    texts = [_render(shown, dropped) for dropped in range(len(DETAILS) + 1)]
    return next((text for text in texts if estimate_tokens(text) <= bound), texts[-1])


def _render(shown: Sequence[str | _Shown], dropped: int) -> str:
    """The text without the first `dropped` of the details, which it names."""
    texts = [(piece if isinstance(piece, str) else piece(DETAILS[dropped:])).strip("\n") for piece in shown]
    if dropped:
        texts.append(f"(Left out for want of room: {', '.join(DETAILS[:dropped])}.)")
    return "\n\n".join(texts) + "\n"


def _is_plain_check(text: str, check: CheckSection) -> bool:
    """Whether everything that is shown of Section 2 could be read, and no heading is foreign."""
    read = (
        all((item.required, item.condition_text, item.validation, item.mode, item.quantifier, item.fails))
        for item in check.items
    )
    return bool(check.items) and all(read) and check.capability_type is not None and has_only(text, "2", _CHECK_TITLES)


def _check(check: CheckSection, kept: Collection[str]) -> Iterator[str]:
    yield "## 2. Check Logic\n"
    if check.interpretation and INTERPRETATION in kept:
        yield f"**Interpretation**: {check.interpretation}\n"
    if check.capability_type:
        yield f"**Capability type**: {check.capability_type} ({TYPE_NAMES[check.capability_type]})\n"
    for item in check.items:
        yield from _item(item, kept)
    if check.overall_pass and check.overall_fail and OVERALL in kept:
        yield "### Overall Pass/Fail Logic\n"
        yield f"- PASS: {check.overall_pass}"
        yield f"- FAIL: {check.overall_fail}\n"
    if check.edge_cases and EDGES in kept:
        yield "### Edge Cases\n"
        yield "\n".join([*(f"- {case}" for case in check.edge_cases), ""])


def _item(item: SpecItem, kept: Collection[str]) -> Iterator[str]:
    yield f"### {item.id} {item.name}\n"
    yield f"- Required fields: {', '.join(f'`{field}`' for field in item.required)}"
    yield f"- Validation type: {_VALIDATIONS[item.validation or 'existence']}"
    yield f"- Condition: {item.condition_text}"
    yield f"- Mode: {item.mode}"
    yield f"- Quantifier: {(item.quantifier or 'each').replace('_', ' ')}"
    if item.take:
        yield f"- Take: {item.take}"
    if item.count:
        yield f"- Count: {item.count_text}"
    if item.only_with:
        yield f"- Only with: `{item.only_with}`"
    if FAILURES in kept:
        yield f"- FAIL: {item.fails}"
    yield ""


def _is_plain_waiver(text: str, waiver: WaiverSection) -> bool:
    """Whether everything that is shown of Section 3 could be read, and no heading is foreign."""
    return (
        waiver.supported is not None
        and bool(waiver.decisions)
        and all(decision.waivable is not None for decision in waiver.decisions)
        and all(scenario.items and scenario.keywords for scenario in waiver.scenarios)
        and has_only(text, "3", _WAIVER_TITLES)
    )


def _waiver(waiver: WaiverSection, kept: Collection[str]) -> Iterator[str]:
    yield "## 3. Waiver Logic\n"
    yield f"**Waiver support**: {'yes' if waiver.supported else 'no'}\n"
    for scenario in waiver.scenarios:
        yield from _scenario(scenario, kept)
    yield "### Waiver Decisions\n"
    for decision in waiver.decisions:
        yield f"- {decision.item}: {'yes' if decision.waivable else 'no'}"


def _scenario(scenario: WaiverScenario, kept: Collection[str]) -> Iterator[str]:
    covered = f"{'Items' if len(scenario.items) > 1 else 'Item'} {', '.join(scenario.items)}"
    yield f"### {scenario.id} {scenario.name} ({covered})\n"
    if scenario.reason and REASONS in kept:
        yield f'- Typical reason: "{scenario.reason}"'
    if KEYWORDS in kept:
        yield f"- Keywords: {_quoted(scenario.keywords)}"
    if scenario.stages:
        yield f"- Stage words: {_quoted(scenario.stages)}"
    yield ""


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)
