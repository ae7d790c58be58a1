"""What stands between the rounds: which part of a domain a spec uses, found again in the text of earlier rounds.

A person may have edited those texts, so nothing is remembered: what was removed stays away, and a name that no
knowledge has is handed to a model.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from transom.checklist.atoms import TYPE_NAMES
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.shapes import Domain, KnownCategory, KnownField, KnownItem, KnownWaiver, Note
from transom.errors import NeedsModel, NotUnderstood
from transom.llm import AnsweredFrom, Reply, Request, Text

# A checker needs that many scenarios for waivers to be more than a switch.
MIN_SCENARIOS: Final = 2
MAX_SCENARIOS: Final = 4


@dataclass(frozen=True)
class PlannedItem:
    """A validation item under its id; `name` is the one of the text, with the choice in it."""

    id: str
    name: str
    known: KnownItem


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

    def notes(self, notes: Sequence[Note]) -> list[str]:
        return [note.text for note in notes if note.entity in self.entities()]

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


def reply(knowledge: Knowledge, domain: Domain, text: str) -> Reply:
    """An answer, with the files that it rests on."""
    names = (*knowledge.commons, knowledge.files[domain.domain])
    return Reply((Text(text),), answered_from=tuple(AnsweredFrom(name, knowledge.digests[name]) for name in names))


def item_name(item: KnownItem, choices: Mapping[str, str]) -> str:
    """The item's name with what was chosen, or without it."""
    said = re.sub(r"\{(\w+)\}", lambda match: choices.get(match[1], "").title(), item.name)
    return " ".join(said.split())


def named_items(domain: Domain) -> dict[str, tuple[KnownItem, dict[str, str]]]:
    """Every name that an item may have, and what it says was chosen."""
    found: dict[str, tuple[KnownItem, dict[str, str]]] = {}
    for item in domain.items:
        slots = re.findall(r"\{(\w+)\}", item.name)
        for values in itertools.product(*(("", *domain.choices().get(slot, ())) for slot in slots)):
            choices = {slot: value for slot, value in zip(slots, values, strict=True) if value}
            found[item_name(item, choices).casefold()] = (item, choices)
    return found


def plan_items(knowledge: Knowledge, named: Sequence[tuple[str, str]], kind: int | None, where: str) -> Plan:
    """The plan for items given as (id, name), and the capability type that stands with them.

    Raises:
        NeedsModel: a name that no domain has, names of several domains, or no type.
    """
    if kind is None:
        raise NeedsModel([NotUnderstood("no capability type", where)])
    if not named:
        raise NeedsModel([NotUnderstood("no validation item", where)])
    names = [name.casefold() for _, name in named]
    ranked = sorted(knowledge.domains, key=lambda d: sum(name not in named_items(d) for name in names))
    domain = ranked[0]
    known = named_items(domain)
    if strange := [name for _, name in named if name.casefold() not in known]:
        raise NeedsModel([NotUnderstood(name, where) for name in strange])
    return Plan(domain, tuple(PlannedItem(id_, name, known[name.casefold()][0]) for id_, name in named), kind)


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
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else ""
