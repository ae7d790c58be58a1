"""Write `checker.yaml` and `atoms.py` of a claim, in one step."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from transom.canonical import Json
from transom.checklist.atoms import (
    CheckerConfig,
    ClaimRow,
    Condition,
    Operator,
    Requirements,
    ValidationItem,
    Waivers,
    checker_type,
)
from transom.checklist.claims.claim_atoms import text_of_atoms
from transom.checklist.claims.claim_data import (
    Claim,
    fact_words,
)
from transom.checklist.claims.file_kinds import known_claim
from transom.checklist.claims.header_files import header_items
from transom.checklist.item import Item
from transom.formats.reports import load_format

_GRANULAR = re.compile(
    r"\bone (?:item|violation|entry|row) (?:per|for (?:each|every))\b"
    r"|\b(?:each|every) [a-z ]{1,60} (?:is|as|gives|makes|yields|becomes)"
    r" (?:one|an) (?:item|entry|row)\b"
)
# "No endpoint may violate timing" asks of each of them, as "every endpoint is met" does.
_OF_EACH: Final = (
    r"\b(?:each|every|no|any|all|none of)(?: the)?(?: [\w-]{{1,30}})? {thing}s?\b"
    r"|\b{thing} by {thing}\b"
)
_MODES: Final = {"each": "require", "allowed": "allow", "forbidden": "forbid"}


@dataclass(frozen=True)
class ClaimFiles:
    """The files of a checker that was written from a claim."""

    config: CheckerConfig
    atoms: str


def write_claim(item: Item, row: ClaimRow, own_format: dict[str, Json] | None = None) -> ClaimFiles:
    """Write the files of an item's claim.

    Args:
        item: the item.
        row: its claim.
        own_format: the item's own report format, if it was read already.

    Raises:
        InputError: the claim is not known, its limit is no comparison, or its own report format
            cannot be read.
    """
    if row.format and own_format is None:
        own_format = load_format(item.path.parent / row.format).model.model_dump(
            mode="json", by_alias=True, exclude_unset=True
        )
    claim = known_claim(row)
    atoms = text_of_atoms(claim, row)
    config = _config(item, claim, row).model_copy(update={"report_format": own_format})
    return ClaimFiles(config, atoms)


def _asks_of_each(description: str, claim: Claim) -> bool:
    """Return whether a description asks for one item a line, or of each thing that was measured."""
    text = " ".join(description.lower().split())
    if _GRANULAR.search(text):
        return True
    # A measurement such as `endpoint_slack` begins with its thing.
    things = set()
    for patterns in claim.proof:
        for pattern in patterns:
            thing, underscore, _ = pattern.name.partition("_")
            if underscore:
                things.add(re.escape(thing))
    return any(re.search(_OF_EACH.format(thing=thing), text) for thing in things)


def _config(item: Item, claim: Claim, row: ClaimRow) -> CheckerConfig:
    """Return `checker.yaml` of a claim."""
    requirements = item.requirements or Requirements()
    waivers = item.waivers or Waivers()
    # Each line that a person taught is judged by itself.
    is_granular = bool(row.format) and claim.bad[0] in claim.proof[0]
    is_granular |= _asks_of_each(item.description, claim)
    common = {
        "id": "2.1",
        "name": claim.title,
        "quantifier": "each" if is_granular and not (claim.first or claim.last) else "per_file",
    }
    if claim.first:
        common["take"] = "first"
    if claim.last:
        common["take"] = "last"
    if claim.headers:
        items = [*header_items(claim)]
    elif claim.list:
        mode = _MODES[claim.list]
        select = f"measurement.{claim.value}"
        items = [ValidationItem(**common, select=select, check="pattern", mode=mode)]
        if claim.bad and claim.list != "forbidden":
            name = " or ".join(fact_words(pattern, row) for pattern in claim.bad)
            refuted = {"id": "2.2", "name": f"No {name}", "select": "refuting.name"}
            items.append(ValidationItem(**refuted, mode="forbid"))
    else:
        condition = Condition(field="measurement.holds", op=Operator.EQUALS, value=True)
        items = [ValidationItem(**common, select="measurement.holds", condition=condition)]
    return CheckerConfig(
        item_id=item.item_id,
        description=" ".join(item.description.split()),
        capability_type=_capability(claim, requirements, waivers),
        requirements=requirements,
        waivers=waivers,
        claim=row,
        items=tuple(items),
    )


def _capability(claim: Claim, requirements: Requirements, waivers: Waivers) -> int:
    """Return what a checker can do; a claim with waivers of its own can take them any time."""
    run_type = checker_type(requirements.value, waivers.value)
    if not any(part.waivers for part in claim.headers):
        return run_type
    return 3 if requirements.value is not None else 4
