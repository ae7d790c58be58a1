"""Evaluation of the investigator: the input of a scenario, and the outcome for the scorers.

`input` of a scenario: `question`; `target` and `as_of` as the options of `transom investigate`;
`policy` and `waivers`, files beside `scenario.yaml`; `before`, questions investigated earlier in
the same workspace; `answer`, a person's reply when asked back; `then`, follow-up questions.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from transom.canonical import digest
from transom.errors import InputError
from transom.evals import EvaluationCitation, ScenarioCase, ScenarioOutcome, ToolUse, Used
from transom.evals.scenario_models import ScenarioModel, Texts
from transom.investigator.dialogue import FollowUp
from transom.investigator.policy import load_policy
from transom.investigator.result import Investigation
from transom.investigator.roles import FOLLOW_UP, MAIN, SEES, role_of
from transom.llm import Chain
from transom.runs.windows import window_tokens
from transom.store import Store


class Asked(ScenarioModel):
    """The `input` of a scenario."""

    question: str
    target: str | None = None
    as_of: str | None = None
    policy: str | None = None
    waivers: str | None = None
    before: Texts = ()
    answer: str | None = None
    then: Texts = ()


def prompts_digest(chain: Chain) -> str:
    """Return a digest of everything that decides answers: prompts, rules, the shipped policy."""
    # A changed prompt or rule changes answers, so old baselines are not compared with new ones.
    roles = [role_of(name) for name in SEES]
    digests = [[role.digest, chain.of(role.name).fingerprint(role)] for role in roles]
    return digest([digests, load_policy().model_dump(mode="json")])[:16]


def asked_in(case: ScenarioCase) -> Asked:
    """Return the validated `input` of a case's scenario."""
    try:
        return Asked.model_validate(dict(case.scenario.input))
    except ValidationError as error:
        # One problem is enough: the others often follow from it.
        first = error.errors(include_url=False)[0]
        problem = f"input.{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise InputError(
            problem, place=case.scenario.id, hint=f"keys: {', '.join(Asked.model_fields)}"
        ) from error


def outcome_of(
    result: Investigation,
    follow_ups: Sequence[FollowUp],
    questions: Sequence[str],
    stored: Sequence[str],
) -> ScenarioOutcome:
    """Return an answer as an outcome, with follow-up answers, questions to a person, and memory
    keys.
    """
    struck = [
        *result.unsupported_claims,
        *(claim for follow_up in follow_ups for claim in follow_up.unsupported_claims),
    ]
    return ScenarioOutcome(
        verdict=result.verdict,
        text="\n".join([result.justification, *(entry.answer for entry in follow_ups)]),
        subject=result.feature_id,
        questions=tuple(questions),
        criteria={entry.id: entry.status for entry in result.criteria},
        values={
            "stage_fit": result.stage_fit,
            "current_stage": result.current_stage,
            "target_stage": result.target_stage,
            "memory_status": result.memory_status,
            "rules_verdict": result.rules_verdict,
            "struck": len(
                [
                    entry
                    for entry in struck
                    if entry.where in ("justification", "risks", "follow-up")
                ]
            ),
        },
        evidence=tuple(
            EvaluationCitation(
                source=row.source,
                locator=row.locator,
                value=f"{row.value} %" if row.unit == "%" else row.value,
                quote=row.quote,
                formula=row.formula,
            )
            for row in result.evidence
        ),
        reported=(
            *(f"{unread_source.source}: {unread_source.why}" for unread_source in result.unread),
            *(f"{attempt.source}: {attempt.quote}" for attempt in result.injection_attempts),
            *(f"{entry.where}: {entry.text}" for entry in struck),
            *(contradiction.text for contradiction in result.contradictions),
            *(f"{entry.name}: {entry.why}" for entry in result.criteria if entry.status != "pass"),
            f"memory: {result.memory_status}",
        ),
        # A justification names the criteria, whose limits stand in the policy and in no file.
        sources={"policy": "\n".join(criterion.name for criterion in result.criteria)},
        sub_conversations=len(result.sub_conversations),
        stored=tuple(stored),
        recalled=(result.changed_since,) if result.changed_since else (),
        document=result.model_dump(mode="json", by_alias=True),
    )


def with_usage(outcome: ScenarioOutcome, store: Store, runs: Iterable[str]) -> ScenarioOutcome:
    """Return the outcome with the tool calls, the tokens, and the size of the main thread."""
    replies: list[Mapping[str, Any]] = []
    failed_calls = set[tuple[str, str, int, int]]()
    for run in runs:
        for record in store.read(f"run/{run}"):
            data: Any = record.data
            if record.kind == "model_reply":
                replies.append(data)
            elif record.kind == "tool_result" and data["outcome"]["result"]["is_error"]:
                failed_calls.add((*_place_of(data), data["call"]))
    tools = []
    main_tokens = []
    for reply in replies:
        tools += _tools_used(reply, failed_calls)
        # The main thread is what grows from question to question; readers are always fresh.
        if reply["role"] in (MAIN, FOLLOW_UP):
            main_tokens.append(window_tokens(reply))
    usage = {
        "tools": tuple(tools),
        "used": Used.of(replies),
        "main_tokens": max(main_tokens, default=None),
    }
    return outcome.model_copy(update=usage)


def _place_of(record: Mapping[str, Any]) -> tuple[str, str, int]:
    """Return the reply that a record belongs to."""
    return record["stage"], record["conversation"], record["ordinal"]


def _tools_used(
    reply: Mapping[str, Any], failed_calls: Container[tuple[str, str, int, int]]
) -> list[ToolUse]:
    """Return the tool calls of a reply, in order."""
    tools = []
    number = 0
    for part in reply["reply"]["parts"]:
        if part["kind"] != "tool_call":
            continue
        # A failed call is known by its number among the calls of its reply.
        ok = (*_place_of(reply), number) not in failed_calls
        tools.append(ToolUse(name=part["name"], arguments=part["arguments"], ok=ok))
        number += 1
    return tools
