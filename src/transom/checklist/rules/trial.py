"""A domain tried without a run: what it reads in a text, and whether the examples in its file
come out as they say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from transom.canonical import Json
from transom.checklist.atoms import Source, ValidationItem
from transom.checklist.judging.entries import field_of, has_field, shortfall
from transom.checklist.rules.examples import examples_of
from transom.checklist.rules.extract import Wanted, reader_of
from transom.checklist.rules.plan import PlannedItem, asked, categories_for, item_name
from transom.checklist.rules.shapes import Domain, KnownExample, KnownItem

Read = tuple[dict[str, Json], str]


def read_text(
    domain: Domain,
    items: Sequence[KnownItem],
    name: str,
    text: str,
    choices: Mapping[str, str] | None = None,
) -> list[Read]:
    """Entries that a domain reads in a file for these items, as an atom gives them, with `holds`,
    `fails` or `none`.

    `choices` are those that a description would have made, e.g. a limit.

    Raises:
        ValueError: the text cannot be read for certain: `line N: why: the line`.
    """
    chosen = dict(choices or {})
    planned = [PlannedItem("2.1", item_name(item, chosen), item, chosen) for item in items]
    file = reader_of(domain, wanted_for(domain, items, chosen), name)
    made = [*file.feed(text), *file.finish()]
    return [(one, _judged(one, planned)) for one in made]


def problems_of(domain: Domain) -> list[str]:
    """Examples that come out otherwise than the domain's file says; items without any."""
    found: list[str] = []
    for item in domain.items:
        if not item.examples:
            found.append(f"{item.key}: no example")
        found += [
            f"{item.key}, example {n}: {why}"
            for n, one in enumerate(item.examples, 1)
            if (why := _wrong(domain, item, one))
        ]
    return found


def _wrong(domain: Domain, item: KnownItem, example: KnownExample) -> str:
    choices = _some_choices(item) | dict(example.when)
    planned = PlannedItem(
        "2.1", item_name(item, choices), item.model_copy(update={"examples": (example,)}), choices
    )
    (shown,) = examples_of(planned) or [{"text": example.text}]
    name = example.file or _name_for(domain, item)
    try:
        read = read_text(domain, [item], name, str(shown["text"]), choices)
    except ValueError as error:
        return "" if example.outcome == "error" else f"an error: {error}"
    told = {how for one, how in read if how != "none"}
    outcome = "fails" if "fails" in told else "holds" if told else "none"
    if item.mode == "forbid" and outcome == "none":
        outcome = "holds" if example.outcome == "holds" else "none"
    if outcome != example.outcome:
        return f"it {outcome} and should be {example.outcome}"
    wanted = shown.get("fields")
    fields = wanted if isinstance(wanted, dict) else {}
    if fields and not any(
        all(field_of(_fields(one), name) == value for name, value in fields.items())
        for one, _ in read
    ):
        return f"no entry has {fields}"
    return ""


def _fields(entry: Mapping[str, Json]) -> Mapping[str, Json]:
    told = entry["parsed_fields"]
    return told if isinstance(told, dict) else {}


def _judged(entry: Mapping[str, Json], planned: Sequence[PlannedItem]) -> str:
    """By the first item that the entry belongs to."""
    for one in planned:
        fields = _fields(entry)
        if has_field(fields, one.known.required[0]):
            asked = ValidationItem(
                id="2.1",
                name=one.name,
                select=one.known.required[0],
                required=one.known.required,
                condition=one.condition,
                mode=one.known.mode,
                quantifier=one.known.quantifier,
            )
            met = shortfall(asked, fields) is None
            return "fails" if met == (asked.mode == "forbid") else "holds"
    return "none"


def wanted_for(domain: Domain, items: Sequence[KnownItem], choices: Mapping[str, str]) -> Wanted:
    """Fields and files that an atom must read for these items."""
    fields = {
        one.key: [field.name for field in asked(one, items)]
        for one in categories_for(domain, items)
    }
    things = {item.entity for item in items} | {None}
    told = [one for one in domain.sources if one.entity in things] or domain.sources
    sources = [Source(kind=one.kind, rank=one.rank, files=one.files) for one in told]
    return Wanted(fields, sources, domain.narrowed(choices))


def _some_choices(item: KnownItem) -> dict[str, str]:
    """Choices without which an item means nothing."""
    if not item.limit:
        return {}
    chosen = {"relation": item.limit.usual}
    if item.when == "zero":
        return {**chosen, "zero": "zero"}
    scales = item.limit.units
    units = sorted(scales, key=lambda unit: scales[unit] != 1)
    return {**chosen, "limit": "10", **({"unit_word": units[0]} if units else {})}


def _name_for(domain: Domain, item: KnownItem) -> str:
    """A name for a file from which the item's category is read."""
    category = item.required[0].partition(".")[0]
    kinds = [rule.file for rule in domain.extraction if category in rule.categories()]
    source = next(one for one in domain.sources if one.kind in kinds)
    return source.files[0].replace("*", "run").replace("?", "x")
