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


def check_waivers(found: Problems, section: WaiverSection, check: CheckSection) -> None:
    """The findings of Section 3."""
    if section.supported is False and not section.scenarios and not section.decisions:
        # an item without waivers; a round that has the item's configuration knows whether that is
        # so
        return
    # Without a readable type Section 2 has its own finding; here the more demanding reading
    # applies.
    waivable = check.capability_type in (*WAIVER_TYPES, None)
    _support(found, section, check, waivable)
    for scenario in section.scenarios:
        _scenario(found, scenario, check)
    for label, text in (
        ("Global Waiver Mode", section.global_mode),
        ("Selective Waiver Mode", section.selective_mode),
    ):
        found.thin(text, "spec.waiver.modes", section.line, label, 5 if waivable else 1)
    decided = [decision.item for decision in section.decisions]
    for item in check.item_ids():
        many = "no decision" if item not in decided else f"{decided.count(item)} decisions"
        what = f"Waiver Decisions has {many} for item {item}; must be one"
        found.unless(decided.count(item) == 1, "spec.waiver.decisions", section.line, what)
    for decision in section.decisions:
        _decision(found, decision, section, check)


def _support(found: Problems, section: WaiverSection, check: CheckSection, waivable: bool) -> None:
    count, kind = len(section.scenarios), check.capability_type
    if section.supported is None:
        found.add("spec.waiver.support", section.line, "Waiver support must be yes or no")
    elif kind and section.supported != waivable:
        what = f"type {kind}: Waiver support must be {'yes' if waivable else 'no'}"
        found.add("spec.waiver.support", section.line, what)
    if not waivable:
        found.unless(
            not count, "spec.waiver.count", section.line, f"type {kind} has no waiver scenarios"
        )
        return
    # Nothing counts the scenarios later: a model that writes one or five good ones is not asked
    # for the whole section again.
    found.unless(
        count, "spec.waiver.count", section.line, "no waiver scenario; add one (`### 3.1 ...`)"
    )
    found.numbered(
        "spec.waiver.count", [scenario.id for scenario in section.scenarios], "3", section.line
    )


def _scenario(found: Problems, scenario: WaiverScenario, check: CheckSection) -> None:
    name, line = f"{scenario.id} {scenario.name}", scenario.line
    found.thin(scenario.scenario, "spec.waiver.scenario", line, f"{name}: Waiver scenario")
    found.thin(scenario.reason, "spec.waiver.reason", line, f"{name}: Typical reason")
    found.thin(
        scenario.justification, "spec.waiver.justification", line, f"{name}: Business justification"
    )
    found.unless(
        scenario.keywords, "spec.waiver.keywords", line, f"{name}: Matching keywords is missing"
    )
    known = {word.casefold() for word in scenario.keywords}
    strange = [word for word in scenario.stages if word.casefold() not in known]
    what = f"{name}: Stage words must be among the keywords; {comma_list(strange)} is not"
    found.unless(not strange, "spec.waiver.stages", line, what)
    found.unless(
        scenario.items, "spec.waiver.items", line, f"{name}: names no item; end it with (Item 2.N)"
    )
    for item in scenario.items:
        what = f"{scenario.id} names item {item}, which Section 2 does not have"
        found.unless(item in check.item_ids(), "spec.cross.items", line, what)


def _decision(
    found: Problems, decision: WaiverDecision, section: WaiverSection, check: CheckSection
) -> None:
    """A decision names an item and a reason, and says what the scenarios say."""
    gate, item, line = "spec.waiver.decisions", decision.item, decision.line
    what = f"a decision names item {item}, which Section 2 does not have"
    found.unless(item in check.item_ids(), "spec.cross.items", line, what)
    found.unless(
        decision.waivable is not None, gate, line, f"decision for {item} must begin with yes or no"
    )
    found.thin(decision.why, gate, line, f"decision for {item}: its reason")
    known = {scenario.id for scenario in section.scenarios}
    for number in re.findall(r"scenarios? (3\.\d+)", decision.why, re.IGNORECASE):
        found.unless(
            number in known, "spec.cross.scenarios", line, f"scenario {number} does not exist"
        )
    covering = [scenario.id for scenario in section.scenarios if item in scenario.items]
    if decision.waivable and not covering:
        found.add(
            "spec.waiver.coverage", line, f"item {item} is waivable, but no scenario covers it"
        )
    if decision.waivable is False and covering:
        found.add(
            "spec.waiver.coverage",
            line,
            f"item {item} is not waivable, but scenario {covering[-1]} waives it",
        )
