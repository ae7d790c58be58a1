"""Reflection with a model: it reads outcomes and proposes insights, each with the outcomes that show it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from transom.agent import RETRY, call
from transom.canonical import compact_json
from transom.errors import NeedsModel, ReplyError
from transom.formats.tags import read_tag
from transom.learning.insight import InsightCategory, Source
from transom.learning.reflector import InsightCandidate, OptimizationOutcome, Reflector
from transom.llm import Block, Role, Tier
from transom.llm.turns import strictest
from transom.runs import Stage

_PROMPT = Path(__file__).with_name("reflector.md")
_MOST_KNOWN = 15
_QUOTED = 2_000  # characters of an outcome's messages


class _Proposed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    category: InsightCategory
    content: str = Field(min_length=1, max_length=1_000)
    tags: tuple[str, ...] = ()
    confidence: float = Field(ge=0, le=1)
    evidence: tuple[str, ...] = ()


_LIST = TypeAdapter(list[_Proposed])


def reflector_role() -> Role:
    """Who reflects: sees the outcomes and the insights that are near them, and nothing else."""
    prompt = Block("reflector", _PROMPT.read_text("utf-8"), Tier.STABLE)
    return Role("learning.reflector", (prompt,), frozenset({"reflector", "outcomes", "insights", RETRY}))


async def reflect(
    stage: Stage, reflector: Reflector, outcomes: Sequence[OptimizationOutcome]
) -> list[InsightCandidate]:
    """The candidates of some outcomes, pending from now on; `Reflector.commit_insights` adds them.

    A candidate that names no outcome is asked for again once, and then dropped. Where nobody in the chain can reflect,
    the reflector's rules do.

    Args:
        stage: in whose journal the reply is kept.
        reflector: what the candidates are pending in.
        outcomes: named o1, o2 and so on for the model.

    Raises:
        ReplyError: the reply cannot be read, twice.
        EgressError, ProviderError: see `transom.agent.call`.
    """
    named = {f"o{number}": one for number, one in enumerate(outcomes, 1)}
    if not named:
        return []
    blocks = _blocks(reflector, named)

    def review(proposed: list[_Proposed]) -> list[str]:
        return [
            f"{one.content!r} names no outcome that shows it; choose among {', '.join(named)}, or leave it out"
            for one in proposed
            if not named.keys() & {*one.evidence}
        ]

    try:
        answer = await call(stage, reflector_role(), blocks, _read, review=review)
    except NeedsModel:
        return [found for one in outcomes for found in reflector.analyze_trial(one)]
    found = [_candidate(one, named) for one in answer.value if named.keys() & {*one.evidence}]
    reflector.pending += found
    return found


def _blocks(reflector: Reflector, named: dict[str, OptimizationOutcome]) -> list[Block]:
    lines, messages = [], []
    for key, one in named.items():
        said = [*one.solver_errors, *one.constraint_violations]
        messages += said
        told = {"success": one.success, "objective": one.objective_value, "tried": dict(one.design_variables)}
        lines.append(f"{key}: {compact_json({**told, 'messages': [text[:_QUOTED] for text in said]})}")
    egress = strictest(*(one.egress for one in named.values()))
    blocks = [Block("outcomes", "\n".join(lines), Tier.TURN, "untrusted", egress)]
    known = reflector.playbook.snapshot(limit=_MOST_KNOWN, local=egress == "local")
    insights = known.insights(" ".join(messages)[:_QUOTED], 2_000)
    if insights:
        text = "\n".join(one.line for one in insights)
        blocks.append(Block("insights", text, Tier.TURN, "untrusted", strictest(*(one.egress for one in insights))))
    return blocks


def _read(text: str) -> list[_Proposed]:
    try:
        return _LIST.validate_json(read_tag(text, "insights").text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the list"
        raise ReplyError(f"{where}: {first['msg']}") from error


def _candidate(one: _Proposed, named: dict[str, OptimizationOutcome]) -> InsightCandidate:
    shown = [(key, named[key]) for key in one.evidence if key in named]
    first = shown[0][1]
    known = first.source
    source = Source(known.run, known.stage, first.trial_number, known.study, known.by or "reflector")
    quoted = [text for _, outcome in shown for text in (*outcome.solver_errors, *outcome.constraint_violations)]
    egress = strictest(*(outcome.egress for _, outcome in shown))
    return InsightCandidate(
        one.category, one.content, one.confidence, one.tags, source, "; ".join(quoted)[:_QUOTED], egress
    )
