"""Reflection with a model, which reads outcomes and proposes insights with outcomes as evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from transom.agent import RETRY, call
from transom.agent.setup import DeferredStore, Setup
from transom.canonical import Json, compact_json, digest
from transom.errors import NeedsModel, ReplyError
from transom.formats.tags import read_tag
from transom.learning.insight import InsightCategory
from transom.learning.reflector import InsightCandidate, OptimizationOutcome, Reflector
from transom.learning.retrieval import text_of
from transom.llm import Block, Chain, Provider, Role, Tier
from transom.llm.turns import strictest
from transom.runs import Run, Stage, Workspace, model_file

_PROMPT = Path(__file__).with_name("reflector.md")
_BY = "reflector"
_KIND = "reflect"
_MOST_QUOTED = 2_000  # characters of an outcome's messages


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
    """Return the reflector's role, which sees the outcomes and the insights that are near them."""
    prompt = Block("reflector", _PROMPT.read_text("utf-8"), Tier.STABLE)
    return Role(
        "learning.reflector", (prompt,), frozenset({"reflector", "outcomes", "insights", RETRY})
    )


async def reflect(
    run: Run, reflector: Reflector, outcomes: Sequence[OptimizationOutcome], stage: str = "reflect"
) -> list[InsightCandidate]:
    """Propose candidates from outcomes, and add them to the reflector's pending ones.

    If a candidate has no evidence, the model is asked once more; then the candidate is dropped.
    If no provider of the chain can reflect, the reflector's rules propose the candidates. A second
    call with the same outcomes in the same run makes no request.

    Returns:
        The new candidates; `Reflector.commit_insights` adds them to the playbook.

    Raises:
        ReplyError: two replies could not be read.
        EgressError, ProviderError: see `transom.agent.call`.
    """
    # The model cites outcomes by these keys.
    by_key = {f"o{number}": outcome for number, outcome in enumerate(outcomes, 1)}
    if not by_key:
        return []
    role, text = reflector_role(), _outcomes_text(by_key)

    def missing_evidence(reply: _Reply) -> list[str]:
        hint = f"choose among {', '.join(by_key)}, or leave it out"
        problems = []
        for proposal in reply.insights:
            if by_key.keys().isdisjoint(proposal.evidence):
                problems.append(f"{proposal.content!r} names no outcome that shows it; {hint}")
        return problems

    async def step(stage: Stage, _: str) -> _Reply:
        blocks = _blocks(reflector, by_key, text)
        answer = await call(stage, role, blocks, _read_reply, review=missing_evidence)
        return answer.value

    try:
        artifact = await run.stage(
            stage, step, text, out=model_file("insights.json", _Reply), uses=[role]
        )
    except NeedsModel:
        candidates = []
        for outcome in outcomes:
            candidates += reflector.analyze_trial(outcome)
        return candidates
    candidates = []
    for proposal in artifact.value.insights:
        if not by_key.keys().isdisjoint(proposal.evidence):
            candidates.append(_candidate(proposal, by_key))
    reflector.pending += candidates
    return candidates


async def propose_insights(
    reflector: Reflector,
    outcomes: Sequence[OptimizationOutcome],
    provider: str | Provider | Chain | None = None,
    *,
    workspace: Path | str = ".transom",
) -> list[InsightCandidate]:
    """Have a model propose insights with their tags from outcomes, in a run of their own.

    Args:
        reflector: gets the candidates; `Reflector.commit_insights` adds them to the playbook.
        outcomes: of trials. The same ones are the same run, which asks no model twice.
        provider: as an agent takes it; None: the model of the settings.
        workspace: the folder that keeps the run.

    Raises:
        ReplyError: two replies could not be read.
        EgressError, ProviderError: see `transom.agent.call`.
    """
    setup, limits = Setup.of(provider), DeferredStore()
    chain = setup.chain(reflector_role().name, limits)
    opened = Workspace.at(Path(workspace))
    documents: list[Json] = [asdict(outcome) for outcome in outcomes]
    inputs: dict[str, Json] = {"outcomes": digest(documents)}
    try:
        async with opened.open_store() as store:
            limits.store = store
            run = await Run.open(
                _KIND, inputs, name=_KIND, workspace=opened, store=store, chain=chain
            )
            async with run:
                candidates = await reflect(run, reflector, outcomes)
                await run.finish("done")
    finally:
        # A program closes its own chain itself.
        if not isinstance(setup.provider, Chain):
            await chain.aclose()
    return candidates


def _outcomes_text(by_key: Mapping[str, OptimizationOutcome]) -> str:
    lines = []
    for key, outcome in by_key.items():
        document = {
            "success": outcome.success,
            "objective": outcome.objective_value,
            "tried": dict(outcome.design_variables),
            "messages": [text[:_MOST_QUOTED] for text in outcome.messages],
        }
        lines.append(f"{key}: {compact_json(document)}")
    return "\n".join(lines)


def _blocks(
    reflector: Reflector, by_key: Mapping[str, OptimizationOutcome], outcomes_text: str
) -> list[Block]:
    egress = strictest(*(outcome.egress for outcome in by_key.values()))
    messages: list[str] = []
    for outcome in by_key.values():
        messages += outcome.messages
    # Known insights are shown, so that the model does not propose them again.
    snapshot = reflector.playbook.snapshot(local=egress == "local")
    insights = snapshot.insights(" ".join(messages)[:_MOST_QUOTED], 2_000)
    blocks = [Block("outcomes", outcomes_text, Tier.TURN, "untrusted", egress)]
    if insights:
        insights_egress = strictest(*(insight.egress for insight in insights))
        block = Block("insights", text_of(insights), Tier.TURN, "untrusted", insights_egress)
        blocks.append(block)
    return blocks


def _read_reply(text: str) -> _Reply:
    try:
        return _Reply(insights=_LIST.validate_json(read_tag(text, "insights").text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the list"
        raise ReplyError(f"{place}: {first['msg']}") from error


def _candidate(proposal: _Proposed, by_key: Mapping[str, OptimizationOutcome]) -> InsightCandidate:
    outcomes = [by_key[key] for key in proposal.evidence if key in by_key]
    # An insight has the source of the first outcome that shows it.
    first = outcomes[0]
    messages: list[str] = []
    for outcome in outcomes:
        messages += outcome.messages
    return InsightCandidate(
        proposal.category,
        proposal.content,
        proposal.confidence,
        proposal.tags,
        source=replace(first.source, trial=first.trial_number, by=_BY),
        evidence="; ".join(messages)[:_MOST_QUOTED],
        egress=strictest(*(outcome.egress for outcome in outcomes)),
    )
