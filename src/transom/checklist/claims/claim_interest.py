"""What a claim asks of the reports: the measurements, and the texts to look for."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Literal

from transom.checklist.atoms import (
    CheckerConfig,
)
from transom.checklist.claims.absent_texts import texts_of_parameter, texts_of_patterns
from transom.checklist.claims.claim_atoms import text_of_atoms
from transom.checklist.claims.claim_data import (
    SCRIPT_COMMANDS,
    Claim,
    bad_facts,
    measure_name,
    proof_facts,
)
from transom.checklist.claims.claim_limits import limit_of, may_break
from transom.checklist.claims.file_kinds import claim_of_row
from transom.checklist.vectors import STANDARD_SOURCE
from transom.errors import InputError
from transom.evidence.numbers import PrintedNumber
from transom.evidence.units import quantity_of
from transom.formats.reports import FactInterest, Measurement


def match_of_claim(config: CheckerConfig) -> Literal["contains", "words", "exact"]:
    """Return how the values of a checker are compared with the plain texts of its item's list."""
    claim = claim_of_row(config.claim) if config.claim else None
    if claim is None or claim.list in (None, "forbidden"):
        return "contains"
    return claim.match


def interest_of(config: CheckerConfig, atoms: str) -> FactInterest | None:
    """Return the measurements that the checker of a claim asks for, or None if it may ask for any.

    A checker that was written or edited by hand, or by a model, is given all of them.

    Args:
        config: `checker.yaml`.
        atoms: the text of the checker's functions.
    """
    claim = claim_of_row(config.claim) if config.claim else None
    if config.claim is None or claim is None:
        return None
    text = text_of_atoms(claim, config.claim)
    # The standard functions may stand behind it; any other function may ask for anything.
    rest = _without_comments(atoms[len(text) :])
    if not atoms.startswith(text) or rest not in ("", _without_comments(STANDARD_SOURCE)):
        return None
    parameters = config.claim.parameters
    patterns = [*bad_facts(claim, parameters), *claim.looked_at, *claim.alarming, *claim.ended_by]
    patterns += itertools.chain.from_iterable(proof_facts(claim, parameters))
    # Messages that the tool itself calls mere warnings are excused.
    names = {"message", *(measure_name(pattern, parameters) for pattern in patterns)}
    kinds = {kind for part in claim.headers for kind in (part.kind, *part.read_as)}
    needs_each = claim.list or claim.group_by or claim.headers or claim.last
    holds = None if needs_each else _holds_for(claim, parameters)
    return FactInterest(frozenset(names), frozenset(kinds), holds)


def _holds_for(claim: Claim, parameters: dict[str, str]) -> Callable[[Measurement], bool]:
    """Return a function that tells whether a measurement speaks for a claim, whatever its scope."""
    limit = limit_of(parameters)
    quantity = quantity_of(limit.number.unit) if limit is not None and limit.number.value else None
    bad = bad_facts(claim, parameters)
    alarming = {measure_name(pattern, parameters) for pattern in claim.alarming}

    def holds(fact: Measurement) -> bool:
        number = fact.number
        if not isinstance(number, PrintedNumber) or fact.name in alarming:
            return False
        # A value of another quantity is a question.
        if quantity is not None and quantity_of(number.unit) != quantity:
            return False
        for pattern in bad:
            is_named = measure_name(pattern, parameters) == fact.name
            if is_named and may_break(pattern, fact, limit):
                return False
        return True

    return holds


def _without_comments(code: str) -> str:
    return "\n".join(line for line in code.splitlines() if not line.startswith("#")).strip()


def is_of_headers(config: CheckerConfig) -> bool:
    """Return whether a claim asks which files a log reads."""
    claim = claim_of_row(config.claim) if config.claim else None
    return claim is not None and bool(claim.headers)


def sought_texts(config: CheckerConfig) -> tuple[str, ...]:
    """Return the texts that a claim looks for in each line of its files.

    Raises:
        InputError: an item lists an expression instead of a text.
    """
    claim = claim_of_row(config.claim) if config.claim else None
    if config.claim is None or claim is None:
        return ()
    if claim.headers:
        stems = itertools.chain.from_iterable(part.stems for part in claim.headers)
        return (*stems, *(SCRIPT_COMMANDS if claim.optional else ()))
    if claim.list != "forbidden":
        return texts_of_parameter(config.claim.parameters.get("text", ""))
    texts = texts_of_patterns(config.requirements.pattern_items)
    if texts is None:
        raise InputError(
            f"the claim {config.claim.name} looks for plain texts",
            place=config.item_id,
            hint="write pattern_items without regex:, * and ?",
        )
    return texts
