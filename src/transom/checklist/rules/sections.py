"""Rounds 2 and 3: Sections 1 and 2 from the rounds before them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from transom.canonical import Json
from transom.checklist.rules.chart import is_number
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.plan import block, listed, plan_fields, plan_items, reply
from transom.checklist.rules.shapes import Domain
from transom.checklist.writing.document import parse_analysis, parse_section1
from transom.checklist.writing.shapes import Analysis
from transom.checklist.writing.words import SIGNS, dotted_fields
from transom.errors import NeedsModel, NotUnderstood
from transom.llm import Reply, Request

_TEMPLATES: Final = Path(__file__).parent / "templates"
NARROWED: Final = re.compile(r"narrowed to `(\w+)`")
# A stage or a step, as the second line of Section 1 says it.
ONLY_OF: Final = re.compile(r"^\*\*Only files of\*\*: (\w+) `(\w+)`", re.MULTILINE)


def answer_section1(request: Request, knowledge: Knowledge) -> Reply:
    """Answer `<section1>` from the fields and choices of the analysis."""
    analysis = parse_analysis(block(request, "previous_analysis", "analysis_reference"))
    domain, used = plan_fields(knowledge, dotted_fields([_step(analysis, 3)]), "analysis, step 3")
    choices = _choices(domain, _step(analysis, 1))
    narrowed = domain.narrowed(choices)
    one_of = {name: value.partition("_and_")[0] for name, value in narrowed.items()}
    example: Json = {
        c.key: {f.name: one_of.get(f"{c.key}.{f.name}", f.example) for f in fields}
        for c, fields in used
    }
    names = {c.key: [f.name for f in fields] for c, fields in used}
    shown = [one for told in domain.examples if (one := _shown(told, names, one_of))]
    stages = {name: value for name, value in choices.items() if name in knowledge.common.stages}
    told = {
        "used": used,
        "narrowed": narrowed,
        "stages": stages,
        "example": example,
        "shown": shown,
    }
    return _reply(knowledge, "section1", domain, told)


def answer_section2(request: Request, knowledge: Knowledge) -> Reply:
    """Answer `<section2>` from the fields of Section 1 and the items of the analysis."""
    available = parse_section1(
        block(request, "section1_parsing_logic", "previous_sections")
    ).dotted_fields()
    analysis = parse_analysis(block(request, "analysis_reference", "previous_analysis"))
    plan = plan_items(knowledge, _items(analysis), analysis.capability_type, "analysis, step 5")
    plan_fields(knowledge, available, "section 1")
    for item in plan.items:
        needed = item.condition.field if item.condition else item.known.required[0]
        if not set(item.known.required) & set(available) or (
            item.condition and needed not in available
        ):
            raise NeedsModel([NotUnderstood(f"{item.name} without {needed}", "section 1")])
    compared = [item for item in plan.items if plan.patterns and item.known.compares]
    told = {"plan": plan, "reading": analysis.reading, "available": available, "compared": compared}
    return _reply(knowledge, "section2", plan.domain, told)


def _reply(knowledge: Knowledge, name: str, domain: Domain, told: Mapping[str, object]) -> Reply:
    """A section as its template writes it."""
    words = {"domain": domain, "python": _python, "listed": listed, "signs": SIGNS}
    text = _environment().get_template(f"{name}.md").render(told, **words)
    return reply(knowledge, f"<{name}>\n{text}</{name}>\n", domain)


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader  # noqa: PLC0415  slow

    # Nothing is escaped: it is Markdown.
    return Environment(
        loader=FileSystemLoader(_TEMPLATES), trim_blocks=True, keep_trailing_newline=True
    )


def _step(analysis: Analysis, number: int) -> str:
    found = next((step.text for step in analysis.steps if step.number == number), "")
    if not found:
        raise NeedsModel([NotUnderstood(f"no step {number}", "analysis")])
    return found


def _choices(domain: Domain, text: str) -> dict[str, str]:
    found = dict(re.findall(r"Narrowed to:\s*(\w+)\s*=\s*`?([-+.\w]+)", text))
    strange = [
        NotUnderstood(f"{name} = {value}", "analysis, step 1")
        for name, value in found.items()
        if value not in domain.choices().get(name, ())
        and not (name == "limit" and is_number(value))
    ]
    if strange:
        raise NeedsModel(strange)
    return found


def _items(analysis: Analysis) -> list[tuple[str, str]]:
    """The items of step 5: the text of each line up to its colon."""
    lines = [re.sub(r"^\W*(?:\d+[.)]\s*)?", "", line) for line in _step(analysis, 5).splitlines()]
    names = [line.partition(":")[0].strip(" `*") for line in lines if line.strip()]
    return [(f"2.{number}", name) for number, name in enumerate(names, 1)]


def _shown(
    entry: Mapping[str, Json], used: Mapping[str, Sequence[str]], narrowed: Mapping[str, str]
) -> Json:
    """An output example without what the spec does not name; None where nothing is left of it."""
    told = entry.get("parsed_fields")
    parsed: dict[str, Json] = {}
    for category, fields in (told if isinstance(told, dict) else {}).items():
        if category in used and isinstance(fields, dict):
            parsed[category] = {
                k: narrowed.get(f"{category}.{k}", v)
                for k, v in fields.items()
                if k in used[category]
            }
        elif category == "reference" and parsed:
            parsed[category] = fields
    return (
        {**entry, "parsed_fields": parsed}
        if any(key in used and value for key, value in parsed.items())
        else None
    )


def _python(value: Json, indent: int = 0) -> str:
    """A value as Python source, one key a line."""
    pad = "    " * (indent + 1)
    match value:
        case dict() if value:
            lines = [
                f"{pad}{_python(key)}: {_python(item, indent + 1)}," for key, item in value.items()
            ]
            return "\n".join(["{", *lines, "    " * indent + "}"])
        case list() if value:
            return "\n".join(
                [
                    "[",
                    *(f"{pad}{_python(item, indent + 1)}," for item in value),
                    "    " * indent + "]",
                ]
            )
        case str() if '"' not in value and "\\" not in value:
            return f'"{value}"'
    return repr(value)
