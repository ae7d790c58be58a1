"""Section 3: waiver scenarios, modes, decisions."""

from __future__ import annotations

import re
from typing import Final

from transom.checklist.writing.gate.problems import Problems, comma_list
from transom.checklist.writing.shapes import (
    CheckSection,
    WaiverDecision,
    WaiverScenario,
    WaiverSection,
)

WAIVER_TYPES: Final = (3, 4)


def check_waivers(problems: Problems, section: WaiverSection, check: CheckSection) -> None:
    """Check Section 3."""
    if section.supported is False and not section.scenarios and not section.decisions:
        # an item without waivers; a round that has the item's configuration knows whether that is
        # so
        return
    # Without a readable type Section 2 has its own finding; here the more demanding reading
    # applies.
    waivable = check.capability_type in (*WAIVER_TYPES, None)
    _support(problems, section, check, waivable)
    for scenario in section.scenarios:
        _scenario(problems, scenario, check)
    for label, text in (
        ("Global Waiver Mode", section.global_mode),
        ("Selective Waiver Mode", section.selective_mode),
    ):
        problems.thin(text, "spec.waiver.modes", section.line, label, 5 if waivable else 1)
    # Exactly one decision an item: two might contradict each other.
    decided = [decision.item for decision in section.decisions]
    for item in check.item_ids():
        count = "no decision" if item not in decided else f"{decided.count(item)} decisions"
        message = f"Waiver Decisions has {count} for item {item}; must be one"
        problems.unless(decided.count(item) == 1, "spec.waiver.decisions", section.line, message)
    for decision in section.decisions:
        _decision(problems, decision, section, check)


def _support(
    problems: Problems, section: WaiverSection, check: CheckSection, waivable: bool
) -> None:
    count, kind = len(section.scenarios), check.capability_type
    if section.supported is None:
        problems.add("spec.waiver.support", section.line, "Waiver support must be yes or no")
    elif kind and section.supported != waivable:
        message = f"type {kind}: Waiver support must be {'yes' if waivable else 'no'}"
        problems.add("spec.waiver.support", section.line, message)
    if not waivable:
        problems.unless(
            not count, "spec.waiver.count", section.line, f"type {kind} has no waiver scenarios"
        )
        return
    # Nothing counts the scenarios later: a model that writes one or five good ones is not asked
    # for the whole section again.
    problems.unless(
        count, "spec.waiver.count", section.line, "no waiver scenario; add one (`### 3.1 ...`)"
    )
    problems.numbered(
        "spec.waiver.count", [scenario.id for scenario in section.scenarios], "3", section.line
    )


def _scenario(problems: Problems, scenario: WaiverScenario, check: CheckSection) -> None:
    name, line = f"{scenario.id} {scenario.name}", scenario.line
    problems.thin(scenario.scenario, "spec.waiver.scenario", line, f"{name}: Waiver scenario")
    problems.thin(scenario.reason, "spec.waiver.reason", line, f"{name}: Typical reason")
    problems.thin(
        scenario.justification, "spec.waiver.justification", line, f"{name}: Business justification"
    )
    problems.unless(
        scenario.keywords, "spec.waiver.keywords", line, f"{name}: Matching keywords is missing"
    )
    keywords = {word.casefold() for word in scenario.keywords}
    strange = []
    for word in scenario.stages:
        if word.casefold() not in keywords:
            strange.append(word)
    message = f"{name}: Stage words must be among the keywords; {comma_list(strange)} is not"
    problems.unless(not strange, "spec.waiver.stages", line, message)
    problems.unless(
        scenario.items, "spec.waiver.items", line, f"{name}: names no item; end it with (Item 2.N)"
    )
    for item in scenario.items:
        message = f"{scenario.id} names item {item}, which Section 2 does not have"
        problems.unless(item in check.item_ids(), "spec.cross.items", line, message)


def _decision(
    problems: Problems, decision: WaiverDecision, section: WaiverSection, check: CheckSection
) -> None:
    """Check that a decision names an item and a reason, and agrees with the scenarios."""
    gate, item, line = "spec.waiver.decisions", decision.item, decision.line
    message = f"a decision names item {item}, which Section 2 does not have"
    problems.unless(item in check.item_ids(), "spec.cross.items", line, message)
    problems.unless(
        decision.waivable is not None, gate, line, f"decision for {item} must begin with yes or no"
    )
    problems.thin(decision.why, gate, line, f"decision for {item}: its reason")
    scenario_ids = {scenario.id for scenario in section.scenarios}
    for number in re.findall(r"scenarios? (3\.\d+)", decision.why, re.IGNORECASE):
        problems.unless(
            number in scenario_ids,
            "spec.cross.scenarios",
            line,
            f"scenario {number} does not exist",
        )
    # A decision without a scenario tells nobody when the waiver is right.
    covering = []
    for scenario in section.scenarios:
        if item in scenario.items:
            covering.append(scenario.id)
    if decision.waivable and not covering:
        problems.add(
            "spec.waiver.coverage", line, f"item {item} is waivable, but no scenario covers it"
        )
    if decision.waivable is False and covering:
        problems.add(
            "spec.waiver.coverage",
            line,
            f"item {item} is not waivable, but scenario {covering[-1]} waives it",
        )
