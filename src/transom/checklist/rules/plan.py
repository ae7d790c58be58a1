"""Thread between the rounds: which part of a domain a spec uses, found again in the text of earlier
rounds.

A person may have edited those texts, so nothing is remembered: what was removed stays away, and a
name that no knowledge has is handed to a model.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from transom.checklist.atoms import TYPE_NAMES, Condition, Operator
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.shapes import Domain, KnownCategory, KnownField, KnownItem, KnownWaiver
from transom.errors import NeedsModel, NotUnderstood
from transom.llm import AnsweredFrom, Reply, Request, Text

RELATIONS: Final = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}

SLOT: Final = re.compile(r"\{(\w+)\}")

# A checker needs that many scenarios for waivers to be more than a switch.
MIN_SCENARIOS: Final = 2
MAX_SCENARIOS: Final = 4


@dataclass(frozen=True)
class PlannedItem:
    """A validation item under its id; `name` is the one of the text, with the choices in it."""

    id: str
    name: str
    known: KnownItem
    choices: Mapping[str, str] = field(default_factory=dict)

    @property
    def condition(self) -> Condition | None:
        """The knowledge's condition, with what was chosen in its place."""
        return condition_of(self.known, self.choices)


@dataclass(frozen=True)
class Plan:
    """The part of a domain that a spec uses."""

    domain: Domain
    items: tuple[PlannedItem, ...]
    kind: int

    @property
    def waivers(self) -> bool:
        return self.kind in (3, 4)

    @property
    def patterns(self) -> bool:
        return self.kind in (2, 3)

    @property
    def kind_text(self) -> str:
        return f"{self.kind} ({TYPE_NAMES[self.kind]})"

    def id_of(self, key: str) -> str | None:
        return next((item.id for item in self.items if item.known.key == key), None)

    def ids(self, keys: Iterable[str]) -> list[str]:
        return [found for key in keys if (found := self.id_of(key)) is not None]

    def entities(self) -> frozenset[str | None]:
        """The things that the items speak of; None is there for what needs none."""
        return frozenset({item.known.entity for item in self.items} | {None})

    def scenarios(self) -> list[KnownWaiver]:
        """Waiver scenarios that cover an item of the plan."""
        return scenarios_for(self.domain, [item.known.key for item in self.items])


def scenarios_for(domain: Domain, keys: Sequence[str]) -> list[KnownWaiver]:
    """Waiver scenarios that cover one of the items."""
    return [waiver for waiver in domain.waivers if set(waiver.items) & set(keys)][:MAX_SCENARIOS]


def block(request: Request, *names: str) -> str:
    """The text of the first of these blocks that the window has.

    Raises:
        NeedsModel: it has none of them.
    """
    text = next((found for name in names if (found := request.window.text(name)).strip()), "")
    if not text:
        raise NeedsModel([NotUnderstood(f"no block {names[0]}", request.role)])
    return text


def reply(knowledge: Knowledge, text: str, *domains: Domain) -> Reply:
    """An answer, with the files that it rests on."""
    names = (*knowledge.commons, *dict.fromkeys(knowledge.files[one.domain] for one in domains))
    return Reply(
        (Text(text),),
        answered_from=tuple(AnsweredFrom(name, knowledge.digests[name]) for name in names),
    )


def items_for(
    domain: Domain, entities: Sequence[str], choices: Mapping[str, str]
) -> list[KnownItem]:
    """The items of the things that are named, as far as they fit what was chosen."""
    return [
        item
        for item in domain.items
        if (item.entity is None or item.entity in entities)
        and (item.when is None or item.when in (*choices, *choices.values()))
        and (item.unless is None or item.unless not in choices)
    ]


def categories_for(domain: Domain, items: Sequence[KnownItem]) -> list[KnownCategory]:
    """The categories of the items' things; of a category that some item reads, those items must
    be among these.
    """
    wanted = {item.entity for item in items} | {None}
    read = {name.partition(".")[0] for item in items for name in item.fields()}
    others = {name.partition(".")[0] for item in domain.items for name in item.fields()} - read
    return [c for c in domain.categories if c.entity in wanted and c.key not in others]


def asked(category: KnownCategory, items: Sequence[KnownItem]) -> list[KnownField]:
    """Its fields; an optional one is asked for only where an item looks at it."""
    named = {name for item in items for name in item.fields()}
    return [
        one for one in category.fields if not one.optional or f"{category.key}.{one.name}" in named
    ]


def condition_of(item: KnownItem, choices: Mapping[str, str]) -> Condition | None:
    """The condition of an item, with what was chosen in its place; None where nothing was."""
    if item.limit is not None:
        value = float(
            Decimal(choices.get("limit", "0"))
            * item.limit.units.get(choices.get("unit_word", ""), Decimal(1))
        )
        return Condition(field=item.limit.field, op=Operator(choices["relation"]), value=value)
    if item.chosen is not None:
        value_ = choices.get(item.chosen.choice)
        return (
            Condition(field=item.chosen.field, op=Operator.EQUALS, value=value_) if value_ else None
        )
    return item.condition


def item_name(item: KnownItem, choices: Mapping[str, str]) -> str:
    """The item's name with what was chosen, or without it."""
    said = SLOT.sub(lambda match: _said(match[1], choices.get(match[1], "")), item.name)
    return " ".join(said.split())


def _said(slot: str, value: str) -> str:
    plain = slot in ("relation", "limit", "unit_word", "zero")
    return RELATIONS.get(value, value) if plain else value.replace("_", " ").title()


def named_item(domain: Domain, name: str) -> tuple[KnownItem, dict[str, str]] | None:
    """The item that has a name, and what the name says was chosen."""
    for item in domain.items:
        slots = SLOT.findall(item.name)
        finite = [slot for slot in slots if slot != "limit"]
        found = (
            re.search(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?![\w.])", name) if "limit" in slots else None
        )
        given = {"limit": found[0]} if found else {}
        for values in itertools.product(
            *(("", *domain.choices().get(slot, ())) for slot in finite)
        ):
            choices = given | {
                slot: value for slot, value in zip(finite, values, strict=True) if value
            }
            if item_name(item, choices).casefold() == name.casefold() and _complete(item, choices):
                return item, choices
    return None


def _complete(item: KnownItem, choices: Mapping[str, str]) -> bool:
    """A limit needs its relation, and a number its unit."""
    if item.limit is None:
        return True
    return "relation" in choices and (
        "limit" not in choices or "unit_word" in choices or not item.limit.units
    )


def plan_items(
    knowledge: Knowledge, named: Sequence[tuple[str, str]], kind: int | None, where: str
) -> Plan:
    """The plan for items given as (id, name), and the capability type that stands with them.

    Raises:
        NeedsModel: a name that no domain has, names of several domains, or no type.
    """
    if kind is None:
        raise NeedsModel([NotUnderstood("no capability type", where)])
    if not named:
        raise NeedsModel([NotUnderstood("no validation item", where)])
    ranked = sorted(
        knowledge.domains, key=lambda d: sum(named_item(d, name) is None for _, name in named)
    )
    domain = ranked[0]
    known = {name: named_item(domain, name) for _, name in named}
    if strange := [name for name, found in known.items() if found is None]:
        raise NeedsModel([NotUnderstood(name, where) for name in strange])
    items = [
        PlannedItem(id_, name, *found) for id_, name in named if (found := known[name]) is not None
    ]
    return Plan(domain, tuple(items), kind)


def plan_fields(
    knowledge: Knowledge, dotted: Sequence[str], where: str
) -> tuple[Domain, list[tuple[KnownCategory, list[KnownField]]]]:
    """The domain, and the categories with the fields, that dotted names speak of.

    Raises:
        NeedsModel: a field that no domain has, or fields of several domains.
    """
    if not dotted:
        raise NeedsModel([NotUnderstood("no field", where)])
    domain = min(knowledge.domains, key=lambda d: len(set(dotted) - d.dotted()))
    if strange := [name for name in dotted if name not in domain.dotted()]:
        raise NeedsModel([NotUnderstood(name, where) for name in strange])
    found = [(c, [f for f in c.fields if f"{c.key}.{f.name}" in dotted]) for c in domain.categories]
    return domain, [(category, fields) for category, fields in found if fields]


def listed(words: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return (
        words[0]
        if len(words) == 1
        else f"{', '.join(words[:-1])} {last} {words[-1]}"
        if words
        else ""
    )
