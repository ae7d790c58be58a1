"""Section 3: waiver scenarios, modes, decisions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from transom.checklist.spec.gate.problem import SpecProblem, consecutive, is_thin, listed
from transom.checklist.spec.shapes import CheckSection, WaiverScenario, WaiverSection

WAIVER_TYPES = (3, 4)
MIN_SCENARIOS, MAX_SCENARIOS = 2, 4


def waiver_says(section: WaiverSection, check: CheckSection) -> Iterator[SpecProblem]:
    """The findings of Section 3."""
    if section.supported is False and not section.scenarios and not section.decisions:
        return  # an item without waivers; a round that has the item's configuration knows whether that is so
    yield from _support(section, check)
    yield from _count(section, check)
    for scenario in section.scenarios:
        yield from _texts(scenario)
        yield from _keywords(scenario)
        yield from _cross_items(scenario, check)
    yield from _modes(section, check)
    yield from _decisions(section, check)
    yield from _coverage(section)


def _waivable(check: CheckSection) -> bool:
    # Without a readable type Section 2 has its own finding; here the more demanding reading applies.
    return check.capability_type in (*WAIVER_TYPES, None)


def _support(section: WaiverSection, check: CheckSection) -> Iterator[SpecProblem]:
    if section.supported is None:
        yield SpecProblem("spec.waiver.support", section.line, "Waiver support must be yes or no")
    elif check.capability_type and section.supported != _waivable(check):
        wanted = "yes" if _waivable(check) else "no"
        yield SpecProblem(
            "spec.waiver.support", section.line, f"type {check.capability_type}: Waiver support must be {wanted}"
        )


def _count(section: WaiverSection, check: CheckSection) -> Iterator[SpecProblem]:
    count = len(section.scenarios)
    if not _waivable(check):
        if count:
            yield SpecProblem(
                "spec.waiver.count", section.line, f"type {check.capability_type} has no waiver scenarios"
            )
        return
    if not MIN_SCENARIOS <= count <= MAX_SCENARIOS:
        yield SpecProblem(
            "spec.waiver.count",
            section.line,
            f"{count} waiver scenarios; must be {MIN_SCENARIOS} to {MAX_SCENARIOS} (`### 3.1 ...`)",
        )
    yield from consecutive("spec.waiver.count", [s.id for s in section.scenarios], "3", section.line)


def _texts(scenario: WaiverScenario) -> Iterator[SpecProblem]:
    for gate, label, text in (
        ("scenario", "Waiver scenario", scenario.scenario),
        ("reason", "Typical reason", scenario.reason),
        ("justification", "Business justification", scenario.justification),
    ):
        if is_thin(text):
            yield SpecProblem(
                f"spec.waiver.{gate}", scenario.line, f"{scenario.id} {scenario.name}: {label} is missing"
            )


def _keywords(scenario: WaiverScenario) -> Iterator[SpecProblem]:
    if not scenario.keywords:
        yield SpecProblem(
            "spec.waiver.keywords", scenario.line, f"{scenario.id} {scenario.name}: Matching keywords is missing"
        )
    known = {word.casefold() for word in scenario.keywords}
    strange = [word for word in scenario.stages if word.casefold() not in known]
    if strange:
        yield SpecProblem(
            "spec.waiver.stages",
            scenario.line,
            f"{scenario.id} {scenario.name}: Stage words must be among the keywords; {listed(strange)} is not",
        )


def _cross_items(scenario: WaiverScenario, check: CheckSection) -> Iterator[SpecProblem]:
    if not scenario.items:
        yield SpecProblem(
            "spec.waiver.items", scenario.line, f"{scenario.id} {scenario.name}: names no item; end it with (Item 2.N)"
        )
    for item in scenario.items:
        if item not in check.item_ids():
            yield SpecProblem(
                "spec.cross.items", scenario.line, f"{scenario.id} names item {item}, which Section 2 does not have"
            )


def _modes(section: WaiverSection, check: CheckSection) -> Iterator[SpecProblem]:
    least = 5 if _waivable(check) else 1
    for label, text in (("Global Waiver Mode", section.global_mode), ("Selective Waiver Mode", section.selective_mode)):
        if is_thin(text, least):
            yield SpecProblem("spec.waiver.modes", section.line, f"{label} is missing or says nothing")


def _decisions(section: WaiverSection, check: CheckSection) -> Iterator[SpecProblem]:
    gate = "spec.waiver.decisions"
    decided = [decision.item for decision in section.decisions]
    for item in check.item_ids():
        if decided.count(item) != 1:
            many = "no decision" if item not in decided else f"{decided.count(item)} decisions"
            yield SpecProblem(gate, section.line, f"Waiver Decisions has {many} for item {item}; must be one")
    for decision in section.decisions:
        if decision.item not in check.item_ids():
            yield SpecProblem(
                "spec.cross.items",
                decision.line,
                f"a decision names item {decision.item}, which Section 2 does not have",
            )
        if decision.waivable is None:
            yield SpecProblem(gate, decision.line, f"decision for {decision.item} must begin with yes or no")
        if is_thin(decision.why):
            yield SpecProblem(gate, decision.line, f"decision for {decision.item} gives no reason")
        known = {scenario.id for scenario in section.scenarios}
        for number in re.findall(r"scenarios? (3\.\d+)", decision.why, re.IGNORECASE):
            if number not in known:
                yield SpecProblem("spec.cross.scenarios", decision.line, f"scenario {number} does not exist")


def _coverage(section: WaiverSection) -> Iterator[SpecProblem]:
    """A decision and the scenarios must say the same."""
    covered = {item: scenario.id for scenario in section.scenarios for item in scenario.items}
    for decision in section.decisions:
        if decision.waivable and decision.item not in covered:
            yield SpecProblem(
                "spec.waiver.coverage", decision.line, f"item {decision.item} is waivable, but no scenario covers it"
            )
        if decision.waivable is False and decision.item in covered:
            where = covered[decision.item]
            yield SpecProblem(
                "spec.waiver.coverage",
                decision.line,
                f"item {decision.item} is not waivable, but scenario {where} waives it",
            )
