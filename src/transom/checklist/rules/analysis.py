"""Round 1: the description, word for word, becomes the seven steps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from transom.canonical import Json
from transom.checklist.atoms import TYPE_NAMES, checker_type
from transom.checklist.item import ReadsAs
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.meaning import read_as
from transom.checklist.rules.plan import (
    MIN_SCENARIOS,
    asked,
    block,
    categories_for,
    item_name,
    listed,
    reply,
    scenarios_for,
)
from transom.checklist.rules.reading import Reading, read_description
from transom.checklist.rules.shapes import Domain, KnownItem
from transom.errors import InputError, NeedsModel, NotUnderstood
from transom.formats.yaml_files import parse_yaml
from transom.llm import Reply, Request

_QUANTIFIERS: Final = {"exists": "somewhere", "each": "for each entry", "per_file": "for each file"}
_NO_PATTERNS: Final = "None: every item asks whether something is there or holds."
_FENCE = re.compile(r"^```\w*\s*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def answer_analysis(request: Request, knowledge: Knowledge) -> Reply:
    """Read `configuration` and answer `<analysis>`.

    Raises:
        NeedsModel: the description is not understood, or asks for patterns or waivers that the
            domain does not know.
    """
    config = read_configuration(block(request, "configuration"))
    text, told = str(config.get("description") or ""), _reads_as(config.get("reads_as"))
    reading = read_as(told, text, knowledge) if told else read_description(text, knowledge)
    text = write_analysis(reading, _value(config, "requirements"), _value(config, "waivers"))
    return reply(knowledge, f"<analysis>\n{text}</analysis>\n", reading.domain)


def write_analysis(reading: Reading, requirements: int | None, waivers: int | None) -> str:
    """The seven steps and the conclusion for what was read, and for how many patterns and waivers
    are given.

    Raises:
        NeedsModel: patterns or waivers are given that the domain does not know.
    """
    kind, reason = _kind(reading.domain, reading.items, requirements, waivers)
    return _render(reading, reading.items, kind, reason)


def read_configuration(text: str) -> dict[str, Json]:
    """The item as the rounds see it.

    Raises:
        NeedsModel: the block is not such a text.
    """
    fenced = _FENCE.search(text)
    try:
        data = parse_yaml(fenced[1] if fenced else text, Path("configuration")).data
    except InputError as error:
        raise NeedsModel([NotUnderstood(error.problem, "configuration")]) from error
    if not isinstance(data, dict):
        raise NeedsModel([NotUnderstood("no description", "configuration")])
    return data


def _reads_as(told: Json) -> ReadsAs | None:
    """Meaning that a person gives to the description, as `simplified` writes it."""
    if not isinstance(told, dict):
        return None
    item, parameters = told.get("item"), told.get("parameters")
    items = tuple(map(str, item)) if isinstance(item, list) else (str(item),)
    chosen = (
        {name: str(value) for name, value in parameters.items()}
        if isinstance(parameters, dict)
        else {}
    )
    return ReadsAs(str(told.get("domain")), items, chosen)


def _value(config: dict[str, Json], name: str) -> int | None:
    part = config.get(name)
    value = part.get("value") if isinstance(part, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _kind(
    domain: Domain, items: Sequence[KnownItem], requirements: int | None, waivers: int | None
) -> tuple[int, str]:
    """The capability type and why."""
    if requirements is not None and not any(item.compares for item in items):
        raise NeedsModel(
            [NotUnderstood(f"requirements.value: {requirements}", f"patterns for {domain.title}")]
        )
    if requirements is None and (bare := [item.name for item in items if item.needs_patterns]):
        raise NeedsModel(
            [
                NotUnderstood(
                    f"requirements.pattern_items: {bare[0]} is compared with them", "requirements"
                )
            ]
        )
    realistic = len(scenarios_for(domain, [item.key for item in items])) >= MIN_SCENARIOS
    if waivers is not None and not realistic:
        raise NeedsModel(
            [NotUnderstood(f"waivers.value: {waivers}", f"waivers for {domain.title}")]
        )
    base = checker_type(requirements, waivers)
    given = "the user gives patterns" if requirements else "the user gives no patterns"
    if waivers is not None:
        return base, f"{given} and configures waivers, which step 7 finds to be realistic"
    if not realistic:
        return (
            base,
            (
                f"{given}, no waivers are configured, and step 7 finds no failure that anybody"
                " would sign for"
            ),
        )
    kind = 3 if requirements else 4
    return (
        kind,
        (
            f"corrected from type {base}: {given} and configures no waivers, which alone would be"
            f" type {base}, but step 7 finds legitimate failures, so the check must be able to"
            " waive them"
        ),
    )


def _render(reading: Reading, items: Sequence[KnownItem], kind: int, reason: str) -> str:
    domain = reading.domain
    categories = categories_for(domain, items)
    compared = [
        item_name(item, reading.choices) for item in items if item.compares and kind in (2, 3)
    ]
    steps = [
        ("Key entities", _entities(reading)),
        ("Information categories", [f"- {c.name} (`{c.key}`): {c.purpose}" for c in categories]),
        (
            "Required fields",
            [f"- `{c.key}.{f.name}` ({f.type})" for c in categories for f in asked(c, items)],
        ),
        ("Data structure", ["One entry for each line, block or cell that is read."]),
        (
            "Validation items",
            [_item(number, item, reading) for number, item in enumerate(items, 1)],
        ),
        (
            "Pattern matching",
            [f"Compared with patterns: {listed(compared)}." if compared else _NO_PATTERNS],
        ),
        ("Waiver scenarios", _waivers(domain, items)),
    ]
    parts = [
        f"### Step {n}: {title}\n\n" + "\n".join(lines) for n, (title, lines) in enumerate(steps, 1)
    ]
    parts.append("\n".join(["### Conclusion", "", *_conclusion(reading, kind, reason)]))
    return "\n\n".join(parts) + "\n"


def _entities(reading: Reading) -> list[str]:
    names = [entity.name for entity in reading.domain.entities if entity.key in reading.entities]
    lines = [f"- Subject: {reading.domain.title}{f' ({listed(names)})' if names else ''}"]
    lines += [f"- Narrowed to: {name} = `{value}`" for name, value in reading.choices.items()]
    return [*lines, *(f'- "{clause.text}": {clause.means}' for clause in reading.clauses)]


def _item(number: int, item: KnownItem, reading: Reading) -> str:
    return (
        f"{number}. {item_name(item, reading.choices)}: {_QUANTIFIERS[item.quantifier]},"
        f" {item.completeness}"
    )


def _waivers(domain: Domain, items: Sequence[KnownItem]) -> list[str]:
    found = scenarios_for(domain, [item.key for item in items])
    if not found:
        return ["None: no failure of these items is legitimate."]
    return [f"- {waiver.name}: {waiver.scenario}" for waiver in found]


def _conclusion(reading: Reading, kind: int, reason: str) -> list[str]:
    claims = dict.fromkeys(clause.means for clause in reading.clauses if clause.kind == "claim")
    notes = [
        f'"{clause.text}" is read as: {clause.means}'
        for clause in reading.clauses
        if clause.kind != "claim"
    ]
    both = (
        "every thing that is named must hold by itself, a slash included"
        if len(reading.entities) > 1
        else ""
    )
    read = "; ".join(part for part in (*claims, both, *notes) if part)
    return [
        f"- **Notation**: {read}",
        f"- **Capability type**: {kind} ({TYPE_NAMES[kind]})",
        f"- **Reason**: {reason}",
    ]
