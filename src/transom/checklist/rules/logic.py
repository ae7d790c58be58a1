"""The Logic role: Sections 2 and 3 compiled into `checker.yaml`. It knows no domain but for the
hints.
"""

from __future__ import annotations

from transom.canonical import Json
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.plan import block, named_item, reply
from transom.checklist.rules.shapes import Domain
from transom.checklist.writing.document import parse_section2, parse_section3
from transom.checklist.writing.shapes import SpecItem, WaiverSection
from transom.checklist.writing.words import is_none
from transom.errors import NeedsModel, NotUnderstood
from transom.formats.yaml_files import dump_yaml
from transom.llm import Reply, Request


def answer_logic(request: Request, knowledge: Knowledge) -> Reply:
    """Answer `<checker>`.

    Raises:
        NeedsModel: a part of an item that cannot be read as one of the checker's own words.
    """
    check = parse_section2(block(request, "section_2"))
    waiver = parse_section3(block(request, "section_3"), check.item_ids())
    if not check.items:
        raise NeedsModel([NotUnderstood("no validation item", "section 2")])
    if check.capability_type is None:
        raise NeedsModel([NotUnderstood("no capability type", "section 2")])
    if unread := [words for item in check.items for words in _unread(item)]:
        raise NeedsModel(unread)
    data: dict[str, Json] = {
        "capability_type": check.capability_type,
        "requirements": {"value": None, "pattern_items": []},
        "waivers": {"value": None, "waive_items": []},
        "atoms": "standard",
        "matching": "any",
        "keyword_waivers": True,
        "items": [_item(item, waiver, knowledge) for item in check.items],
    }
    domains = [domain for item in check.items if (domain := _domain(item, knowledge))]
    return reply(knowledge, f"<checker>\n```yaml\n{dump_yaml(data)}```\n</checker>\n", *domains)


def _unread(item: SpecItem) -> list[NotUnderstood]:
    where = f"section 2, item {item.id}"
    missing = {
        "validation type": item.validation,
        "mode": item.mode,
        "quantifier": item.quantifier,
        "required fields": item.select,
    }
    found = [NotUnderstood(f"no {name}", where) for name, value in missing.items() if value is None]
    if item.condition is None and item.condition_text and not is_none(item.condition_text):
        found.append(NotUnderstood(item.condition_text, where))
    return found


def _item(item: SpecItem, waiver: WaiverSection, knowledge: Knowledge) -> dict[str, Json]:
    # Without waivers in the spec nothing was decided: an item that names some later is judged by
    # its own words.
    barred = waiver.supported is not False and any(
        decision.item == item.id and decision.waivable is False for decision in waiver.decisions
    )
    domain = _domain(item, knowledge)
    known = named_item(domain, item.name) if domain else None
    hints = known[0].hints if known else ()
    # The condition's own field need not be listed as required: an absent or empty one never holds.
    required = [
        name for name in item.required if not (item.condition and name == item.condition.field)
    ]
    return {
        "id": item.id,
        "name": item.name,
        "check": item.validation,
        "select": item.select,
        "condition": item.condition.model_dump(mode="json") if item.condition else None,
        "required": list(required),
        "mode": item.mode,
        "quantifier": item.quantifier,
        **({"take": item.take} if item.take else {}),
        **({"only_with": item.only_with} if item.only_with else {}),
        **({"count": item.count.model_dump(mode="json")} if item.count else {}),
        "waivable": not barred,
        "keywords": [] if barred else list(waiver.keywords_of(item.id)),
        "stages": [] if barred else list(waiver.stages_of(item.id)),
        "hints": list(hints),
    }


def _domain(item: SpecItem, knowledge: Knowledge) -> Domain | None:
    return next((d for d in knowledge.domains if named_item(d, item.name) is not None), None)
