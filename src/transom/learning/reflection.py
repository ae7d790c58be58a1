"""Reflection with a model: the model reads outcomes and proposes insights, each with outcomes as
evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from transom.agent import RETRY, call
from transom.canonical import compact_json
from transom.errors import NeedsModel, ReplyError
from transom.formats.tags import read_tag
from transom.learning.insight import InsightCategory, Source
from transom.learning.reflector import InsightCandidate, OptimizationOutcome, Reflector
from transom.learning.retrieval import text_of
from transom.llm import Block, Role, Tier
from transom.llm.turns import strictest
from transom.runs import Run, Stage, model_file

_PROMPT = Path(__file__).with_name("reflector.md")
_BY = "reflector"
_QUOTED = 2_000  # characters of an outcome's messages, at most


class _Proposed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    category: InsightCategory
    content: str = Field(min_length=1, max_length=1_000)
    tags: tuple[str, ...] = ()
    confidence: float = Field(ge=0, le=1)
    evidence: tuple[str, ...] = ()


class _Reply(BaseModel):
    insights: list[_Proposed]


_LIST = TypeAdapter(list[_Proposed])


def reflector_role() -> Role:
    """Return the reflector's role: it sees the outcomes and the insights that are near them, and
    nothing else.
    """
    prompt = Block("reflector", _PROMPT.read_text("utf-8"), Tier.STABLE)
    return Role(
        "learning.reflector", (prompt,), frozenset({"reflector", "outcomes", "insights", RETRY})
    )


async def reflect(
    run: Run, reflector: Reflector, outcomes: Sequence[OptimizationOutcome], stage: str = "reflect"
) -> list[InsightCandidate]:
    """Propose candidates from outcomes and add them to the reflector's pending ones, which
    `commit_insights` adds.

    A candidate without evidence is asked for again once, and then dropped. Where no provider of the
    chain can reflect, the reflector's rules do. A second call with the same outcomes in the same
    run makes no request.

    Raises:
        ReplyError: two replies could not be read.
        EgressError, ProviderError: see `transom.agent.call`.
    """
    named = {f"o{number}": one for number, one in enumerate(outcomes, 1)}
    if not named:
        return []
    role, text = reflector_role(), _outcomes_text(named)

    def without_evidence(reply: _Reply) -> list[str]:
        among = f"choose among {', '.join(named)}, or leave it out"
        shown = [one.content for one in reply.insights if not named.keys() & {*one.evidence}]
        return [f"{content!r} names no outcome that shows it; {among}" for content in shown]

    async def step(stage: Stage, _: str) -> _Reply:
        return (
            await call(stage, role, _blocks(reflector, named, text), _read, review=without_evidence)
        ).value

    try:
        reply = (
            await run.stage(stage, step, text, out=model_file("insights.json", _Reply), uses=[role])
        ).value
    except NeedsModel:
        return [found for one in outcomes for found in reflector.analyze_trial(one)]
    found = [_candidate(one, named) for one in reply.insights if named.keys() & {*one.evidence}]
    reflector.pending += found
    return found


def _outcomes_text(named: Mapping[str, OptimizationOutcome]) -> str:
    def line(one: OptimizationOutcome) -> str:
        known = {
            "success": one.success,
            "objective": one.objective_value,
            "tried": dict(one.design_variables),
        }
        return compact_json({**known, "messages": [text[:_QUOTED] for text in one.messages]})

    return "\n".join(f"{key}: {line(one)}" for key, one in named.items())


def _blocks(
    reflector: Reflector, named: Mapping[str, OptimizationOutcome], outcomes_text: str
) -> list[Block]:
    egress = strictest(*(one.egress for one in named.values()))
    messages = " ".join(text for one in named.values() for text in one.messages)
    known = reflector.playbook.snapshot(local=egress == "local").insights(messages[:_QUOTED], 2_000)
    blocks = [Block("outcomes", outcomes_text, Tier.TURN, "untrusted", egress)]
    if known:
        blocks.append(
            Block(
                "insights",
                text_of(known),
                Tier.TURN,
                "untrusted",
                strictest(*(one.egress for one in known)),
            )
        )
    return blocks


def _read(text: str) -> _Reply:
    try:
        return _Reply(insights=_LIST.validate_json(read_tag(text, "insights").text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the list"
        raise ReplyError(f"{where}: {first['msg']}") from error


def _candidate(one: _Proposed, named: Mapping[str, OptimizationOutcome]) -> InsightCandidate:
    shown = [named[key] for key in one.evidence if key in named]
    known = shown[0].source
    source = Source(known.run, known.stage, shown[0].trial_number, known.study, _BY)
    quoted = "; ".join(text for outcome in shown for text in outcome.messages)[:_QUOTED]
    egress = strictest(*(outcome.egress for outcome in shown))
    return InsightCandidate(
        one.category, one.content, one.confidence, one.tags, source, quoted, egress
    )
