"""Round 4: Section 3 from the items of Section 2."""

from __future__ import annotations

from collections.abc import Sequence

from transom.checklist.atoms import TYPE_NAMES
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.plan import MIN_SCENARIOS, Plan, block, listed, plan_items, reply
from transom.checklist.rules.saying import Common
from transom.checklist.rules.shapes import KnownWaiver
from transom.checklist.writing.document import parse_section2
from transom.errors import NeedsModel, NotUnderstood
from transom.llm import Reply, Request


def answer_section3(request: Request, knowledge: Knowledge) -> Reply:
    """Answer `<section3>` from the items of Section 2."""
    check = parse_section2(block(request, "previous_sections"))
    plan = plan_items(
        knowledge,
        [(item.id, item.name) for item in check.items],
        check.capability_type,
        "section 2",
    )
    scenarios = plan.scenarios() if plan.waivers else []
    if plan.waivers and len(scenarios) < MIN_SCENARIOS:
        raise NeedsModel(
            [NotUnderstood(f"type {plan.kind_text}", f"section 2: waivers for {plan.domain.title}")]
        )
    lines = ["## 3. Waiver Logic", ""]
    lines.append(
        f"**Waiver support**: {'yes' if plan.waivers else 'no'} (type {plan.kind}:"
        f" {TYPE_NAMES[plan.kind]})"
    )
    for number, waiver in enumerate(scenarios, 1):
        lines += ["", *_scenario(plan, number, waiver)]
    modes = (
        _modes(plan, scenarios[0].keywords[0], knowledge.common) if scenarios else _no_modes(plan)
    )
    text = "\n".join(
        [*lines, "", *modes, *_decisions(plan, scenarios), *knowledge.common.waiver_guidance, ""]
    )
    return reply(knowledge, f"<section3>\n{text}</section3>\n", plan.domain)


def _scenario(plan: Plan, number: int, waiver: KnownWaiver) -> list[str]:
    ids = plan.ids(waiver.items)
    return [
        f"### 3.{number} {waiver.name} ({'Item' if len(ids) == 1 else 'Items'} {listed(ids)})",
        "",
        f"- **Waiver scenario**: {waiver.scenario}",
        *(f"  - {case}" for case in waiver.cases),
        f'- **Typical reason**: "{waiver.reason}"',
        f"- **Matching keywords**: {_in_quotes(waiver.keywords)}",
        f"- **Stage words**: {_in_quotes(waiver.stages) or 'none'}",
        f"- **Business justification**: {waiver.justification}",
    ]


def _modes(plan: Plan, keyword: str, common: Common) -> list[str]:
    own = {
        "items": listed([item.id for item in plan.items]),
        "last": plan.items[-1].id,
        "keyword": keyword,
    }
    lines = []
    for line in common.waiver_modes:
        for name, value in own.items():
            line = line.replace(f"{{{name}}}", value)
        lines.append(line)
    return [*lines, ""]


def _no_modes(plan: Plan) -> list[str]:
    why = f"- **Behavior**: not applicable (type {plan.kind})"
    modes = ("Global Waiver Mode (waivers.value = 0)", "Selective Waiver Mode (waivers.value > 0)")
    return [line for mode in modes for line in (f"### {mode}", "", why, "")]


def _decisions(plan: Plan, scenarios: Sequence[KnownWaiver]) -> list[str]:
    rows = []
    for item in plan.items:
        covering = [
            f"3.{n}" for n, waiver in enumerate(scenarios, 1) if item.known.key in waiver.items
        ]
        named = (
            f"; {'scenario' if len(covering) == 1 else 'scenarios'} {listed(covering)}"
            if covering
            else ""
        )
        rows.append(f"| {item.id} | {'yes' if covering else 'no'} | {item.known.why}{named} |")
    return ["### Waiver Decisions", "", "| Item | Waivable | Why |", "|---|---|---|", *rows, ""]


def _in_quotes(words: Sequence[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)
