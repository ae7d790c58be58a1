"""`check build --tests`: requirements and waivers in each combination that fits the item's type,
tried on the examples.

A test is an example of the ItemSpec, the requirements and waivers of an item, and what must come of
them. That follows from the example's outcome and Section 3 alone, never from what the checker says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from transom.checklist.atoms import AnyOf, Entry, Requirements, ValidationItem, Waiver, Waivers
from transom.checklist.building.mutation.examples import Examples
from transom.checklist.judging.verdict_rows import CheckedItem
from transom.checklist.judging.waivers import apply_waivers
from transom.checklist.results import Combination, ExpectedResult
from transom.checklist.writing.gate.guide_section import ALLOWED
from transom.checklist.writing.shapes import SpecDocument, SpecExample

NAMES: Final = (
    "base",
    "global_waiver",
    "selective_waiver",
    "pattern",
    "pattern_global_waiver",
    "pattern_selective_waiver",
)
"""The tests by their row in Section 4.3's matrix."""

_NO_SUCH: Final = "a text that no file holds"
_NOT_NEEDED: Final = "a waiver that nothing needs"
_NO_PATTERN: Final = Requirements()
_WRONG: Final = Requirements(value=1, pattern_items=(_NO_SUCH,))
_ALL: Final = Waivers(value=0, waive_items=(Waiver(pattern="all is waived"),))


async def run_tests(examples: Examples, spec: SpecDocument) -> tuple[Combination, ...]:
    """Run every test of the examples that atom A reads alone.

    Each says what was expected and what came of it.
    """
    # A type of capability decides which rows of the matrix apply.
    names = {NAMES[row - 1] for row in ALLOWED[examples.config.capability_type]}
    rows: list[Combination] = []
    for example in spec.guide.examples:
        item = next(
            (candidate for candidate in examples.config.items if candidate.id == example.item), None
        )
        if item and example.outcome != "none":
            entries = await examples.entries(example, item)
        else:
            entries = None
        if item and entries is not None:
            for name, requirements, waivers in _tests(
                item, example, entries, _selective(spec, item)
            ):
                if name in names:
                    rows.append(
                        await _try_combination(examples, example, item, name, requirements, waivers)
                    )
    return tuple(rows)


def _tests(
    item: ValidationItem, example: SpecExample, entries: Sequence[Entry], selective: Waivers
) -> Iterator[tuple[str, Requirements, Waivers]]:
    """Yield tests of an example: one that holds passes by its own text and fails by any other."""
    yield "base", _NO_PATTERN, Waivers()
    if example.outcome == "fails":
        yield "global_waiver", _NO_PATTERN, _ALL
        yield "selective_waiver", _NO_PATTERN, selective
    elif item.check == "pattern" and len(entries) == 1 and entries[0].value.strip():
        own = AnyOf(any_of=(f"regex:{re.escape(entries[0].value)}",))
        yield "pattern", Requirements(value=1, pattern_items=(own,)), Waivers()
        yield "pattern", _WRONG, Waivers()
        yield "pattern_global_waiver", _WRONG, _ALL
        yield "pattern_selective_waiver", _WRONG, selective


def _selective(spec: SpecDocument, item: ValidationItem) -> Waivers:
    """Return a waiver that fits the item, by Section 3 or by name, and one that fits nothing."""
    # A waiver that needs a stage in the log would not fit an example alone.
    stages = {word.casefold() for word in spec.waiver.stages_of(item.id)}
    words = []
    for word in spec.waiver.keywords_of(item.id):
        if word.casefold() not in stages:
            words.append(word)
    keyword_waiver = (next(iter(words), item.id), _NOT_NEEDED)
    return Waivers(value=2, waive_items=tuple(Waiver(pattern=text) for text in keyword_waiver))


def _expected(
    example: SpecExample, item: ValidationItem, requirements: Requirements, waivers: Waivers
) -> ExpectedResult:
    # A pattern that no file holds fails even an example that holds.
    if example.outcome == "holds" and requirements != _WRONG:
        return ExpectedResult(status="PASS", found=(item.id,))
    if waivers.value is None:
        return ExpectedResult(status="FAIL", violations=(item.id,))
    unused = tuple(waiver.pattern for waiver in waivers.waive_items[1:])
    return ExpectedResult(status="PASS", waived=(item.id,), unused_waivers=unused)


async def _try_combination(
    examples: Examples,
    example: SpecExample,
    item: ValidationItem,
    name: str,
    requirements: Requirements,
    waivers: Waivers,
) -> Combination:
    outcome, config, evidence = await examples.judged(example, item, requirements)
    waived = apply_waivers(outcome, waivers, config, evidence, "")
    violations = _ids([*waived.missing_items, *waived.extra_items])
    result = ExpectedResult(
        status="FAIL" if violations else "PASS",
        # of several entries some may hold
        found=() if violations or waived.waived else _ids(outcome.found_items),
        violations=violations,
        waived=_ids(waived.waived),
        unused_waivers=tuple(waiver.pattern for waiver in waived.unused_waivers),
    )
    expected = _expected(example, item, requirements, waivers)
    return Combination(
        name=f"{config.item_id}_{name}",
        example=example.text,
        requirements=requirements,
        waivers=waivers,
        expected=expected,
        result=None if result == expected else result,
    )


def _ids(entries: Sequence[CheckedItem]) -> tuple[str, ...]:
    return tuple(sorted({entry.id for entry in entries}))
