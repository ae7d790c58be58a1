"""What a claim asks of the reports: the measurements, and the texts to look for."""

from __future__ import annotations

import itertools
from typing import Literal

from transom.checklist.atoms import (
    CheckerConfig,
)
from transom.checklist.claims.absent_texts import texts_of_parameter, texts_of_patterns
from transom.checklist.claims.claim_atoms import text_of_atoms
from transom.checklist.claims.claim_data import (
    SCRIPT_COMMANDS,
    bad_facts,
    measure_name,
    proof_facts,
    shipped_claims,
)
from transom.checklist.vectors import STANDARD_SOURCE
from transom.errors import InputError
from transom.formats.reports import FactInterest


def match_of_claim(config: CheckerConfig) -> Literal["contains", "words", "exact"]:
    """Return how the values of a checker are compared with the plain texts of its item's list."""
    claim = shipped_claims().claims.get(config.claim.name) if config.claim else None
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
    claim = shipped_claims().claims.get(config.claim.name) if config.claim else None
    if config.claim is None or claim is None:
        return None
    text = text_of_atoms(claim, config.claim)
    # The standard functions may stand behind it; any other function may ask for anything.
    rest = _without_comments(atoms[len(text) :])
    if not atoms.startswith(text) or rest not in ("", _without_comments(STANDARD_SOURCE)):
        return None
    parameters = config.claim.parameters
    patterns = [*bad_facts(claim, parameters), *claim.looked_at, *claim.alarming]
    patterns += itertools.chain.from_iterable(proof_facts(claim, parameters))
    # Messages that the tool itself calls mere warnings are excused.
    names = {"message", *(measure_name(pattern, parameters) for pattern in patterns)}
    kinds = {kind for part in claim.headers for kind in (part.kind, *part.read_as)}
    return FactInterest(frozenset(names), frozenset(kinds))


def _without_comments(code: str) -> str:
    return "\n".join(line for line in code.splitlines() if not line.startswith("#")).strip()


def is_of_headers(config: CheckerConfig) -> bool:
    """Return whether a claim asks which files a log reads."""
    claim = shipped_claims().claims.get(config.claim.name) if config.claim else None
    return claim is not None and bool(claim.headers)


def sought_texts(config: CheckerConfig) -> tuple[str, ...]:
    """Return the texts that a claim looks for in each line of its files.

    Raises:
        InputError: an item lists an expression instead of a text.
    """
    claim = shipped_claims().claims.get(config.claim.name) if config.claim else None
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
