"""The Logic role: Sections 2 and 3 compiled into `checker.yaml`. It knows no domain but for the
hints.
"""

from __future__ import annotations

from transom.canonical import Json
from transom.checklist.atoms import ValidationItem
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.plan import block, named_item, reply
from transom.checklist.rules.shapes import Domain
from transom.checklist.writing.document import parse_section2, parse_section3
from transom.checklist.writing.shapes import UNSPECIFIED, DescribedItem, WaiverSection
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


def _unread(item: DescribedItem) -> list[NotUnderstood]:
    where = f"section 2, item {item.id}"
    unread = []
    for part, name in (
        ("check", "validation type"),
        ("mode", "mode"),
        ("quantifier", "quantifier"),
    ):
        if part in item.problems:
            unread.append(NotUnderstood(f"no {name}", where))
    if item.rule.select == UNSPECIFIED:
        unread.append(NotUnderstood("no required fields", where))
    if "condition" in item.problems and item.condition_text:
        unread.append(NotUnderstood(item.condition_text, where))
    return unread


def _item(item: DescribedItem, waiver: WaiverSection, knowledge: Knowledge) -> dict[str, Json]:
    rule = item.rule
    # Without waivers in the spec nothing was decided: an item that names some later is judged by
    # its own words.
    barred = waiver.supported is not False and any(
        decision.item == item.id and decision.waivable is False for decision in waiver.decisions
    )
    domain = _domain(item, knowledge)
    known = named_item(domain, item.name) if domain else None
    data: dict[str, Json] = {
        "id": rule.id,
        "name": rule.name,
        "check": rule.check,
        "select": rule.select,
        "condition": rule.condition.model_dump(mode="json") if rule.condition else None,
        # An absent or empty field never fulfils a condition, so it need not be required as well.
        "required": [name for name in rule.required if not _is_condition_field(rule, name)],
        "mode": rule.mode,
        "quantifier": rule.quantifier,
    }
    if rule.take:
        data["take"] = rule.take
    if rule.only_with:
        data["only_with"] = rule.only_with
    if rule.count:
        data["count"] = rule.count.model_dump(mode="json")
    data["waivable"] = not barred
    data["keywords"] = [] if barred else list(waiver.keywords_of(item.id))
    data["stages"] = [] if barred else list(waiver.stages_of(item.id))
    data["hints"] = list(known[0].hints) if known else []
    return data


def _is_condition_field(rule: ValidationItem, name: str) -> bool:
    return rule.condition is not None and name == rule.condition.field


def _domain(item: DescribedItem, knowledge: Knowledge) -> Domain | None:
    return next((d for d in knowledge.domains if named_item(d, item.name) is not None), None)
