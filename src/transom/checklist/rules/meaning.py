"""`reads_as`: what a person says that a description means, held against the knowledge and read
like a description.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from transom.checklist.item import Item, ReadsAs
from transom.checklist.rules.chart import is_number
from transom.checklist.rules.forms import Match
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.plan import SLOT, item_name, listed
from transom.checklist.rules.reading import Clause, Reading
from transom.checklist.rules.shapes import Domain, KnownItem
from transom.errors import InputError, NeedsModel, NotUnderstood
from transom.formats.yaml_files import Key, parse_yaml
from transom.formats.yaml_models import nearest_key

KEY: Final = "reads_as"
LIMIT: Final = "limit"


class Slip(NamedTuple):
    """Mistake in a `reads_as`: where in it, what, and what to write."""

    at: tuple[Key, ...]
    what: str
    hint: str


def check_reads_as(item: Item, knowledge: Knowledge) -> None:
    """Hold an item's `reads_as` against the knowledge.

    Raises:
        InputError: a domain, item or parameter that there is not, with file:line and the nearest
            name.
    """
    if item.reads_as and (slip := find_slip(item.reads_as, knowledge)):
        where = parse_yaml(item.text, item.path).place_of(KEY, *slip.at)
        raise InputError(slip.what, place=where, hint=slip.hint)


def read_as(told: ReadsAs, text: str, knowledge: Knowledge) -> Reading:
    """Reading of a description by a person's word; an item that a chosen value asks for is always
    among its items.

    Raises:
        NeedsModel: a domain, item or parameter that there is not.
    """
    domain = knowledge.domain(told.domain)
    slip = find_slip(told, knowledge)
    if domain is None or slip:
        raise NeedsModel([NotUnderstood(slip.what if slip else told.domain, KEY)])
    asked = told.parameters.values()
    items = tuple(item for item in domain.items if item.key in told.items or item.when in asked)
    things = {item.entity for item in items}
    entities = tuple(entity.key for entity in domain.entities if entity.key in things)
    means = f"a person says that it means: {said(told, knowledge)}"
    clause = Clause(
        " ".join(text.split()), "claim", means, Match(entities, tuple(told.parameters.items()))
    )
    return Reading(domain, items, entities, dict(told.parameters), (clause,))


def said(told: ReadsAs, knowledge: Knowledge) -> str:
    """A reading without slips as one sentence: the items by name, what they prove, and how
    `reads_as` says it.
    """
    domain = knowledge.domain(told.domain)
    items = [domain.item(key) for key in told.items] if domain else []
    names = listed([item_name(item, told.parameters) for item in items])
    proven = "; ".join(dict.fromkeys(item.purpose for item in items))
    exact = "; ".join(
        [", ".join(told.items), *(f"{name} {value}" for name, value in told.parameters.items())]
    )
    return f"{names}: {proven} [{told.domain}: {exact}]"


def parameters_of(
    domain: Domain, items: Sequence[KnownItem], knowledge: Knowledge
) -> dict[str, tuple[str, ...]]:
    """The parameters that items can have -> their values; none of a number."""
    choices = domain.choices()
    slots = [slot for item in items for slot in SLOT.findall(item.name)]
    names = [
        *slots,
        *domain.narrows,
        *(name for name in knowledge.common.stages if name in choices),
    ]
    return {name: choices.get(name, ()) for name in names}


def needed(item: KnownItem) -> tuple[str, ...]:
    """The parameters without which an item means nothing."""
    return tuple(SLOT.findall(item.name)) if item.limit else ()


def find_slip(told: ReadsAs, knowledge: Knowledge) -> Slip | None:
    """The first thing of a reading that there is not."""
    return next(_slips(told, knowledge), None)


def _slips(told: ReadsAs, knowledge: Knowledge) -> Iterator[Slip]:
    domain = knowledge.domain(told.domain)
    if domain is None:
        yield _unknown(
            ("domain",), "domain", told.domain, [one.domain for one in knowledge.domains]
        )
        return
    keys = [item.key for item in domain.items]
    strange = [key for key in told.items if key not in keys]
    yield from (_unknown(("item",), f"item in {domain.domain}", key, keys) for key in strange)
    items = [domain.item(key) for key in told.items if key not in strange]
    known = parameters_of(domain, items, knowledge)
    yield from _wrong(told.parameters, known)
    for item in items:
        missing = [name for name in needed(item) if name not in told.parameters]
        yield from (
            Slip(
                ("item",),
                f"{item.key} needs the parameter {name}",
                f"write `{name}: {_values(known[name])}`",
            )
            for name in missing
        )


def _wrong(parameters: Mapping[str, str], known: Mapping[str, tuple[str, ...]]) -> Iterator[Slip]:
    for name, value in parameters.items():
        at = ("parameters", name)
        if name not in known:
            yield _unknown(at, "parameter here", name, list(known))
        elif not known[name] and not is_number(value):
            yield Slip(at, f"{name} is {value}, not a number", f"write `{name}: {_values(())}`")
        elif known[name] and value not in known[name]:
            yield _unknown(at, f"value of {name}", value, list(known[name]))


def _values(values: Sequence[str]) -> str:
    return " | ".join(values) or "10"


def _unknown(at: tuple[Key, ...], what: str, name: str, known: list[str]) -> Slip:
    near = nearest_key(name, known)
    there = f"there is {', '.join(known)}" if known else "leave it out"
    return Slip(at, f"there is no {what} {name}", f"did you mean {near}?" if near else there)
