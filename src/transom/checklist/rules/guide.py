"""Round 5: Section 4 from the names that the rounds before it fixed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from transom.checklist.file_kinds import kind_by_name
from transom.checklist.rules.analysis import read_configuration
from transom.checklist.rules.examples import examples_of
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.plan import Plan, block, listed, plan_fields, plan_items, reply
from transom.checklist.rules.reading_rules import Rows
from transom.checklist.rules.shapes import MIN_SPECIAL, Domain, KnownCategory, KnownScenario
from transom.checklist.writing.document import parse_section1, parse_section2
from transom.checklist.writing.gate.guide import CELLS, NEEDED
from transom.errors import NeedsModel, NotUnderstood
from transom.formats.yaml_files import dump_yaml
from transom.llm import Reply, Request

_NO_FALLBACK: Final = "nothing else is read; without such a file there is no verdict"
_FOLLOWED: Final = (
    "A path that a line names: it is emitted as a reference of its kind; the runtime resolves it"
)
_NOT_FOLLOWED: Final = "none: everything stands in the files themselves"
_OBJECTIVES: Final = (
    "the plain check passes on good files and fails on bad ones",
    "every violation becomes information and the check passes",
    "only the violations that a waiver names are waived",
    "what the patterns name is found, what they do not name is extra",
    "missing and extra values become information",
    "missing and extra values are waived one by one",
)


def answer_section4(request: Request, knowledge: Knowledge) -> Reply:
    """Answer `<section4>` from the names that `previous_sections_summary` holds.

    Raises:
        NeedsModel: a field or an item that no knowledge has.
    """
    where = "previous_sections_summary"
    summary = block(request, where, "previous_sections")
    check = parse_section2(summary)
    plan = plan_items(
        knowledge, [(item.id, item.name) for item in check.items], check.capability_type, where
    )
    _, used = plan_fields(knowledge, parse_section1(summary).dotted_fields(), where)
    _check_inputs(plan.domain, request.window.text("configuration"))
    text = _section4(plan, [category for category, _ in used])
    return reply(knowledge, f"<section4>\n{text}</section4>\n", plan.domain)


def _check_inputs(domain: Domain, text: str) -> None:
    """A description that speaks of a kind of file is about that file: without it nothing would
    hold it to its words.
    """
    config = read_configuration(text) if text.strip() else {}
    told = config.get("input_file_details")
    names = (
        [str(row.get("name")) for row in told if isinstance(row, dict)]
        if isinstance(told, list)
        else []
    )
    sources = [source.model_dump(mode="json") for source in domain.sources]
    kinds = {kind_by_name(name, sources) for name in names}
    for source in domain.sources:
        said = re.search(source.called, str(config.get("description"))) if source.called else None
        # A file whose name tells nothing may be the one; its contents decide at run time.
        if said and names and not kinds & {source.kind, None}:
            where = (
                f"description, but there is no {source.kind} among the inputs: {', '.join(names)}"
            )
            raise NeedsModel([NotUnderstood(said[0], where)])


def _section4(plan: Plan, categories: Sequence[KnownCategory]) -> str:
    lines = ["## 4. Implementation Guide", "", "### 4.1 Item-Specific Implementation Points", ""]
    lines += ["#### Data Sources", "", *_sources(plan), ""]
    for category in categories:
        lines += [*_extraction(plan, category), ""]
    lines += ["#### Examples", "", *_examples(plan), ""]
    follows = any(isinstance(rule, Rows) and rule.follow for rule in plan.domain.extraction)
    lines += [
        "#### References to Other Files",
        "",
        f"- {_FOLLOWED if follows else _NOT_FOLLOWED}",
        "",
    ]
    lines += ["#### Error Tolerance", "", *(f"- {note}" for note in plan.domain.tolerance), ""]
    lines += ["#### Multi-Stage Steps", "", "1. A single step: every file is read by itself", ""]
    lines += ["### 4.2 Special Scenario Handling", ""]
    told = [
        (scenario, result)
        for scenario in plan.domain.scenarios
        if (result := _result(plan, scenario))
    ]
    for number, (scenario, result) in enumerate(told[:MIN_SPECIAL], 1):
        lines += [
            f"#### Scenario {number}: {scenario.name}",
            "",
            f"- **Context**: {scenario.context}",
            f"- **Check result**: {result}",
            (
                "- **Waiver handling**:"
                f" {scenario.waiver if plan.waivers else 'none; this type has no waivers'}"
            ),
            "",
        ]
    return "\n".join([*lines, *_tests(plan)])


def _examples(plan: Plan) -> list[str]:
    shown = {item.id: examples_of(item) for item in plan.items}
    found = [one for examples in shown.values() for one in examples]
    lines = [f"```yaml\n{dump_yaml(found)}```"] if found else []
    return [
        *lines,
        *(f"No example for item {ident}." for ident, examples in shown.items() if not examples),
    ]


def _sources(plan: Plan) -> list[str]:
    sources = [source for source in plan.domain.sources if source.entity in plan.entities()]
    lines = []
    for rank in ("primary", "secondary", "fallback"):
        of_rank = [source for source in sources if source.rank == rank]
        lines += [
            f"- **{rank.title()} source**: `{s.kind}` in"
            f" {', '.join(f'`{glob}`' for glob in s.files)}: {s.about}"
            for s in of_rank
        ]
        if not of_rank:
            told = _NO_FALLBACK if rank == "fallback" else "everything stands in the other sources"
            lines.append(f"- **{rank.title()} source**: no kind of its own; {told}")
    return lines


def _extraction(plan: Plan, category: KnownCategory) -> list[str]:
    lines = [
        f"#### Extraction: {category.name}",
        "",
        f"- **Category key**: `{category.key}`",
        f"- **Location**: {category.guide.location}",
        f"- **Keywords**: {', '.join(f'{_quoted(word)}' for word in category.guide.keywords)}",
        "- **Patterns**:",
    ]
    for rule in plan.domain.extraction:
        lines += [f"  - `{pattern}`: {rule.about}" for pattern in rule.shown(category.key)]
    return [*lines, f"- **Method**: {category.guide.method}"]


def _quoted(word: str) -> str:
    return f'"{word}"'


def _result(plan: Plan, scenario: KnownScenario) -> str:
    if scenario.entity not in plan.entities():
        return ""
    found, missing = plan.ids(scenario.found), plan.ids(scenario.missing)
    parts = [f"{_items(ids)} found" for ids in (found,) if ids] + [
        f"{_items(ids)} missing" for ids in (missing,) if ids
    ]
    return (
        ", ".join(["; ".join(parts), *([scenario.extra] if scenario.extra else [])])
        if parts
        else ""
    )


def _items(ids: Sequence[str]) -> str:
    return f"item {ids[0]} is" if len(ids) == 1 else f"items {listed(ids)} are"


def _tests(plan: Plan) -> list[str]:
    lines = ["### 4.3 Test Data Generation Guidance", ""]
    lines += [
        "| Scenario | requirements.value | waivers.value | Applicable | Objective |",
        "|---|---|---|---|---|",
    ]
    for ((requirements, waivers), number), objective in zip(
        CELLS.items(), _OBJECTIVES, strict=True
    ):
        applies = "yes" if number in NEEDED[plan.kind] else "no"
        lines.append(f"| {number} | {requirements} | {waivers} | {applies} | {objective} |")
    keywords = list(dict.fromkeys(waiver.keywords[0] for waiver in plan.scenarios()))
    used = (
        f"the keywords {listed([_quoted(word) for word in keywords])} of Section 3"
        if plan.waivers
        else "none"
    )
    return [
        *lines,
        "",
        "- **Passing data**: files of a run in which everything holds",
        "- **Failing data**: change one line that is read",
        f"- **Waiver values**: {used}",
        "",
    ]
