"""How a question is investigated for an evaluation: in a workspace of its own; the answer is the outcome.

`input` of a scenario: `question`; `target` and `as_of` as the options of `transom investigate`; `policy` and `waivers`,
files beside `scenario.yaml`; `before`, questions that were investigated earlier in the same workspace; `answer`, what a
person says when asked back; `then`, questions to the answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from transom.canonical import digest
from transom.cli.eval_cases import apart, records_of, used_by
from transom.cli.investigate import InvestigateOptions, answered, inquiry_of, opened_run
from transom.cli.memory import opened as opened_memory
from transom.cli.session import Session
from transom.errors import InputError, Paused, ProviderError
from transom.evals import Case, Evidence, Outcome, Runner, ToolUse
from transom.evals.replies import WrittenReplies
from transom.evals.shapes import Shape, Texts
from transom.investigator.dialogue import FollowUp, follow_up
from transom.investigator.inquiry import Inquiry
from transom.investigator.policy import load_policy
from transom.investigator.remembering import assessment_key, dependants
from transom.investigator.result import Investigation
from transom.investigator.roles import FOLLOW_UP, MAIN, SEES, role_of
from transom.llm import Chain, Provider
from transom.memory import Memory
from transom.runs import Run
from transom.store import Store


class Asked(Shape):
    """`input` of a scenario."""

    question: str
    target: str | None = None
    as_of: str | None = None
    policy: str | None = None
    waivers: str | None = None
    before: Texts = ()
    answer: str | None = None
    then: Texts = ()


def investigator_runner(session: Session, chain: Chain) -> Runner:
    """Investigates a scenario's question."""

    async def run(case: Case) -> Outcome:
        asked, own = _asked(case), apart(session, case, chain)
        async with opened_memory(own) as memory:
            attempt = _Attempt(own, case, asked, case.memory(memory))
            for question in asked.before:
                await attempt.investigate(question)
            result = await attempt.investigate(asked.question)
            if result is None:
                return Outcome(questions=tuple(attempt.questions))
            said = [await attempt.follow_up(question) for question in asked.then]
            stored = await attempt.remembered(result)
        made = _outcome(result, said, attempt.questions, stored)
        async with own.open_store() as store:
            made = _with_usage(made, store, attempt.runs)
        return made.model_copy(update={"egress": session.settings.egress.logs})

    return run


def written_replies(spec: str, cwd: Path) -> dict[str, Callable[[], Provider]]:
    """The `replies:FILE` of a `model` setting: a model's part, written by hand (see `transom.evals.replies`)."""
    names = [name.strip() for name in spec.split(",")]
    files = {name: cwd / name.removeprefix("replies:") for name in names if name.startswith("replies:")}
    return {name: partial(WrittenReplies, path) for name, path in files.items()}


def investigator_prompts(chain: Chain) -> str:
    """A digest of all that decides how questions are answered: prompts, rules, the policy that ships."""
    roles = [role_of(name) for name in SEES]
    told = [[role.digest, chain.of(role.name).fingerprint(role)] for role in roles]
    return digest([told, load_policy().model_dump(mode="json")])[:16]


def _asked(case: Case) -> Asked:
    try:
        return Asked.model_validate(dict(case.scenario.input))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        what = f"input.{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise InputError(what, where=case.scenario.id, hint=f"keys: {', '.join(Asked.model_fields)}") from error


class _Attempt:
    """One epoch: its runs, and what a person was asked in them."""

    def __init__(self, session: Session, case: Case, asked: Asked, memory: Memory) -> None:
        self._session, self._asked, self._memory = session, asked, memory
        self.runs: dict[str, None] = {}
        self.questions: list[str] = []
        beside = case.scenario.folder.resolve()
        policy, waivers = (beside / name if name else None for name in (asked.policy, asked.waivers))
        self._options = InvestigateOptions(case.data, None, asked.target, policy, waivers, asked.as_of)

    @asynccontextmanager
    async def _opened(self, question: str) -> AsyncIterator[tuple[Run, Inquiry]]:
        inquiry = replace(inquiry_of(self._session, question, self._options), memory=self._memory)
        async with opened_run(self._session, inquiry, self._options) as run:
            self.runs[run.id] = None
            yield run, inquiry

    async def investigate(self, question: str) -> Investigation | None:
        """The answer; None where something is asked back that nobody answers.

        A call that failed for a while is made once more, as `transom resume` does.
        """
        try:
            return await self._investigated(question)
        except ProviderError as error:
            if not error.retryable:
                raise
            return await self._investigated(question)

    async def _investigated(self, question: str) -> Investigation | None:
        while True:
            async with self._opened(question) as (run, inquiry):
                try:
                    return (await answered(run, inquiry))[0]
                except Paused as pause:
                    asked_before = pause.what in self.questions
                    self.questions.append(pause.what)
                    if self._asked.answer is None or asked_before:
                        return None
                    await run.decide(self._asked.answer, by="the scenario")

    async def follow_up(self, question: str) -> FollowUp:
        """A question to the answer, in its kept thread."""
        async with self._opened(self._asked.question) as (run, inquiry):
            return await follow_up(run, question, inquiry.data, await dependants(inquiry.memory, question))

    async def remembered(self, result: Investigation) -> list[str]:
        """What memory has of the answer now."""
        if result.memory_status != "ok":
            return []
        entry = await self._memory.get(assessment_key(result.feature_id, result.target_stage))
        return [entry.content] if entry else []


def _outcome(result: Investigation, said: Sequence[FollowUp], questions: list[str], stored: list[str]) -> Outcome:
    struck = [*result.unsupported_claims, *(claim for one in said for claim in one.unsupported_claims)]
    return Outcome(
        verdict=result.verdict,
        text="\n".join([result.justification, *(one.answer for one in said)]),
        subject=result.feature_id,
        questions=tuple(questions),
        criteria={one.id: one.status for one in result.criteria},
        values={
            "stage_fit": result.stage_fit,
            "current_stage": result.current_stage,
            "target_stage": result.target_stage,
            "memory_status": result.memory_status,
            "struck": len([one for one in struck if one.where in ("justification", "risks", "follow-up")]),
        },
        evidence=tuple(
            Evidence(
                source=row.source,
                locator=row.locator,
                value=f"{row.value} %" if row.unit == "%" else row.value,
                quote=row.quote,
                formula=row.formula,
            )
            for row in result.evidence
        ),
        reported=(
            *(f"{one.source}: {one.why}" for one in result.unread),
            *(f"{one.source}: {one.quote}" for one in result.injection_attempts),
            *(f"{one.where}: {one.text}" for one in struck),
            *(one.text for one in result.contradictions),
            *(f"{one.name}: {one.why}" for one in result.criteria if one.status != "pass"),
            f"memory: {result.memory_status}",
        ),
        sub_conversations=len(result.sub_conversations),
        stored=tuple(stored),
        recalled=(result.changed_since,) if result.changed_since else (),
        document=result.model_dump(mode="json", by_alias=True),
    )


def _with_usage(made: Outcome, store: Store, runs: Iterable[str]) -> Outcome:
    """With the tools that were called, the tokens, and the size of the main thread."""

    def place(record: Mapping[str, Any]) -> tuple[str, str, int]:
        return record["stage"], record["conversation"], record["ordinal"]

    replies = records_of(store, runs, "model_reply")
    main = [one["reply"]["usage"]["input_tokens"] for one in replies if one["role"] in (MAIN, FOLLOW_UP)]
    results = records_of(store, runs, "tool_result")
    failed = {(*place(one), one["call"]) for one in results if one["outcome"]["result"]["is_error"]}
    tools = []
    for one in replies:
        calls = [part for part in one["reply"]["parts"] if part["kind"] == "tool_call"]
        for number, call in enumerate(calls):
            ok = (*place(one), number) not in failed
            tools.append(ToolUse(name=call["name"], arguments=call["arguments"], ok=ok))
    told = {"tools": tuple(tools), "used": used_by(replies), "main_tokens": max(main, default=None)}
    return made.model_copy(update=told)
