"""Rounds 2 and 3: Sections 1 and 2 from the rounds before them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from transom.canonical import Json
from transom.checklist.atoms import Condition, Operator
from transom.checklist.rules.chart import is_number
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.plan import (
    Plan,
    PlannedItem,
    block,
    listed,
    plan_fields,
    plan_items,
    reply,
)
from transom.checklist.rules.shapes import Domain, KnownCategory, KnownField
from transom.checklist.spec.document import parse_analysis, parse_section1
from transom.checklist.spec.shapes import Analysis, ParsingSection
from transom.checklist.spec.words import SIGNS, dotted_fields
from transom.errors import NeedsModel, NotUnderstood
from transom.llm import Reply, Request

NARROWED: Final = re.compile(r"narrowed to `(\w+)`")
# A stage or a step, as the second line of Section 1 says it.
ONLY_OF: Final = re.compile(r"^\*\*Only files of\*\*: (\w+) `(\w+)`", re.MULTILINE)


def answer_section1(request: Request, knowledge: Knowledge) -> Reply:
    """Answer `<section1>` from the fields and choices of the analysis."""
    analysis = parse_analysis(block(request, "previous_analysis", "analysis_reference"))
    domain, used = plan_fields(knowledge, dotted_fields([_step(analysis, 3)]), "analysis, step 3")
    choices = _choices(domain, _step(analysis, 1))
    stages = {name: value for name, value in choices.items() if name in knowledge.common.stages}
    return reply(knowledge, f"<section1>\n{_section1(domain, used, choices, stages)}</section1>\n", domain)


def answer_section2(request: Request, knowledge: Knowledge) -> Reply:
    """Answer `<section2>` from the fields of Section 1 and the items of the analysis."""
    parsing = parse_section1(block(request, "section1_parsing_logic", "previous_sections"))
    analysis = parse_analysis(block(request, "analysis_reference", "previous_analysis"))
    plan = plan_items(knowledge, _items(analysis), analysis.capability_type, "analysis, step 5")
    plan_fields(knowledge, parsing.dotted_fields(), "section 1")
    text = _section2(plan, parsing, analysis.reading)
    return reply(knowledge, f"<section2>\n{text}</section2>\n", plan.domain)


def python_literal(value: Json, indent: int = 0) -> str:
    """A value as Python source, one key a line."""
    pad = "    " * (indent + 1)
    match value:
        case dict() if value:
            lines = [f"{pad}{_quoted(key)}: {python_literal(item, indent + 1)}," for key, item in value.items()]
            return "\n".join(["{", *lines, "    " * indent + "}"])
        case list() if value:
            lines = [f"{pad}{python_literal(item, indent + 1)}," for item in value]
            return "\n".join(["[", *lines, "    " * indent + "]"])
        case str():
            return _quoted(value)
    return repr(value)


def _quoted(text: str) -> str:
    return f'"{text}"' if '"' not in text and "\\" not in text else repr(text)


def _step(analysis: Analysis, number: int) -> str:
    found = next((step.text for step in analysis.steps if step.number == number), "")
    if not found:
        raise NeedsModel([NotUnderstood(f"no step {number}", "analysis")])
    return found


def _choices(domain: Domain, text: str) -> dict[str, str]:
    found = dict(re.findall(r"Narrowed to:\s*(\w+)\s*=\s*`?([-+.\w]+)", text))
    strange = [
        f"{name} = {value}"
        for name, value in found.items()
        if value not in domain.choices().get(name, ()) and not (name == "limit" and is_number(value))
    ]
    if strange:
        raise NeedsModel([NotUnderstood(text_, "analysis, step 1") for text_ in strange])
    return found


def _items(analysis: Analysis) -> list[tuple[str, str]]:
    """The items of step 5: the text of each line up to its colon."""
    lines = [re.sub(r"^\W*(?:\d+[.)]\s*)?", "", line) for line in _step(analysis, 5).splitlines()]
    names = [line.partition(":")[0].strip(" `*") for line in lines if line.strip()]
    return [(f"2.{number}", name) for number, name in enumerate(names, 1)]


def _section1(
    domain: Domain,
    used: Sequence[tuple[KnownCategory, list[KnownField]]],
    choices: Mapping[str, str],
    stages: Mapping[str, str],
) -> str:
    narrowed = domain.narrowed(choices)
    one_of = {name: value.partition("_and_")[0] for name, value in narrowed.items()}
    lines = ["## 1. Parsing Logic", "", f"**Information to extract**: {domain.extracts}.", ""]
    for name, value in stages.items():
        lines += [f"**Only files of**: {name} `{value}`; a file of which this cannot be told is an error", ""]
    for number, (category, fields) in enumerate(used, 1):
        lines += [f"### 1.{number} {category.name}", "", f"- **Purpose**: {category.purpose}"]
        lines += [f"- **Category key**: `{category.key}`", "- **Key Fields**:"]
        for field in fields:
            chosen = narrowed.get(f"{category.key}.{field.name}")
            only = f"; narrowed to `{chosen}`, others do not count" if chosen else ""
            lines.append(f"  - `{field.name}` ({field.type}): {field.about}{only}")
        lines.append("")
    lines += [
        f"### 1.{len(used) + 1} File Metadata",
        "",
        "- **Purpose**: leads from every result back to the line that it was read from",
        "- **Category key**: none (keys of the entry itself)",
        "- **Key Fields**:",
        "  - `source_file` (String): the file in which the text stands, as it was handed to the parser",
        "  - `line_number` (Integer): the line, counted from 1; null where no single line applies",
        "  - `matched_content` (String): the text of that line",
        "",
    ]
    example: dict[str, Json] = {
        c.key: {f.name: one_of.get(f"{c.key}.{f.name}", f.example) for f in fields} for c, fields in used
    }
    shown = [
        _shown(entry, {c.key: [f.name for f in fields] for c, fields in used}, one_of) for entry in domain.examples
    ]
    return "\n".join(
        [
            *lines,
            "### Data Structure",
            "",
            *("**parsed_fields Example**:", "", "```python", python_literal(example), "```", ""),
            *("**Output Example**:", "", "```python", python_literal([e for e in shown if e]), "```", ""),
        ]
    )


def _shown(entry: Mapping[str, Json], used: Mapping[str, Sequence[str]], narrowed: Mapping[str, str]) -> Json:
    """An output example without what the spec does not name; None where nothing is left of it."""
    told = entry.get("parsed_fields")
    parsed: dict[str, Json] = {}
    for category, fields in (told if isinstance(told, dict) else {}).items():
        if category in used and isinstance(fields, dict):
            parsed[category] = {k: narrowed.get(f"{category}.{k}", v) for k, v in fields.items() if k in used[category]}
        elif category == "reference" and parsed:
            parsed[category] = fields
    return {**entry, "parsed_fields": parsed} if any(key in used and value for key, value in parsed.items()) else None


def _section2(plan: Plan, parsing: ParsingSection, reading: str) -> str:
    available = set(parsing.dotted_fields())
    lines = ["## 2. Check Logic", "", f"**Interpretation**: {reading or plan.domain.question}", ""]
    lines += [f"**Capability type**: {plan.kind_text}", ""]
    for item in plan.items:
        lines += [*_item_lines(plan, item, available), ""]
    compared = [item for item in plan.items if plan.patterns and item.known.compares]
    others = [item.id for item in plan.items if item not in compared]
    lines += ["### Pattern Matching", ""]
    lines.append(f"- **Items requiring pattern matching**: {', '.join(i.id for i in compared) or 'none'}")
    lines.append(f"- **Items with existence check only**: {', '.join(others) or 'none'}")
    if compared:
        lines.append("- **Pattern Correspondence Order**: as below; a pattern may also match any other of these items")
        lines += [f"  - `pattern_items[{number}]`: {i.id} {i.name}" for number, i in enumerate(compared)]
    else:
        lines.append(
            "- **Pattern Correspondence Order**: not applicable, since no item compares a value that the user gives"
        )
    ids = listed([item.id for item in plan.items])
    subject, holds = (f"items {ids}", "hold") if len(plan.items) > 1 else (f"item {ids}", "holds")
    lines += ["", "### Overall Pass/Fail Logic", ""]
    lines.append(f"- **PASS**: {subject} {holds}, in the sense of the quantifier")
    lines.append(f"- **FAIL**: {subject} or a part of it does not hold and no waiver covers that")
    lines += ["", "### Edge Cases", "", *(f"- {note}" for note in plan.domain.edge_cases)]
    lines += ["", "### Validation Sequence", ""]
    lines += [f"{n}. Item {item.id}: {item.known.step}" for n, item in enumerate(plan.items, 1)]
    return "\n".join([*lines, f"{len(plan.items) + 1}. Combine: every item must hold", ""])


def _item_lines(plan: Plan, item: PlannedItem, available: set[str]) -> list[str]:
    known = item.known
    required = [field for field in known.required if field in available]
    condition = item.condition
    if not required or (condition and condition.field not in available):
        needed = condition.field if condition else known.required[0]
        raise NeedsModel([NotUnderstood(f"{item.name} without {needed}", "section 1")])
    compares = plan.patterns and known.compares
    return [
        f"### {item.id} {item.name}",
        "",
        f"- **Purpose**: {known.purpose}",
        f"- **Required fields**: {', '.join(f'`{field}`' for field in required)}",
        f"- **Completeness definition**: {known.completeness}",
        f"- **Validation type**: {'pattern match' if compares else 'existence check'}",
        f"- **Condition**: {_condition(condition)}",
        f"- **Mode**: {known.mode}",
        f"- **Quantifier**: {known.quantifier.replace('_', ' ')}",
        *([f"- **Take**: {known.take}"] if known.take else []),
        *([f"- **Only with**: `{known.only_with}`"] if known.only_with else []),
        *([f"- **Count**: `{SIGNS[known.count.op]} {known.count.value}`"] if known.count else []),
        f"- **PASS condition**: {known.passes}{', and a pattern matches it' if compares else ''}",
        f"- **FAIL condition**: {known.fails}{', or no pattern matches it' if compares else ''}",
    ]


def _condition(condition: Condition | None) -> str:
    if condition is None:
        return "none"
    if condition.op is Operator.EXISTS:
        return f"`{condition.field} exists`"
    return f"`{condition.field} {SIGNS[condition.op]} {python_literal(condition.value)}`"
