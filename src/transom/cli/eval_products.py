"""How the products are run for an evaluation: each epoch in a workspace of its own; the answer is the outcome."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from transom.canonical import digest
from transom.checklist.results import BuildResult, SpecResult
from transom.checklist.rules import load_knowledge
from transom.checklist.run import Verdict
from transom.checklist.run.verdict import CheckedItem
from transom.checklist.spec.roles import make_role
from transom.checklist.spec.views import VIEWS
from transom.cli.checking import answer_of
from transom.cli.investigate import InvestigateOptions, answered, inquiry_of, opened_run
from transom.cli.memory import opened as opened_memory
from transom.cli.options import Options
from transom.cli.output import Live
from transom.cli.session import Session
from transom.config import Settings
from transom.errors import InputError, Paused, ProviderError
from transom.evals import Case, Evidence, Outcome, Runner, Used
from transom.evals.replies import WrittenReplies
from transom.investigator.dialogue import FollowUp, follow_up
from transom.investigator.evaluation import Asked, asked_in, outcome_of, with_usage
from transom.investigator.inquiry import Inquiry
from transom.investigator.remembering import assessment_key, dependants
from transom.investigator.result import Investigation
from transom.llm import Chain, Provider
from transom.memory import Memory
from transom.runs import Run


def apart(session: Session, case: Case, chain: Chain) -> Session:
    """A session whose workspace is the case's own, so that no epoch is answered from another one's journal."""
    settings = session.settings
    state = settings.state_dir / digest(str(case.folder))[:16] if settings.state_dir else None
    settings = settings.model_copy(update={"workspace": case.folder / ".transom", "state_dir": state})
    answers = case.chain(chain)
    return replace(session, settings=settings, answers=answers, verbosity=-1, open_runs=[], live=Live(), entry={})


def checklist_runner(session: Session, chain: Chain) -> Runner:
    """`input.item` is an item's YAML and `input.variables` are folders, both below the scenario's data."""

    async def run(case: Case) -> Outcome:
        item, folders = case.below("item"), _variables(case)
        own = apart(session, case, chain)
        variables = tuple(f"{name}={folder}" for name, folder in folders.items())
        async with own.open_store() as store:
            answer = await answer_of(own, store, Options(item=item, variables=variables))
            replies = [row.data for row in store.read(f"run/{answer.run_id}") if row.kind == "model_reply"]
        made = _outcome(answer, Used.of(replies), [*folders.values()], case.data)
        return made.model_copy(update={"egress": session.settings.egress.logs})

    return run


def checklist_prompts(settings: Settings, chain: Chain) -> str:
    """A digest of all that decides how items are answered: prompts, rules, knowledge."""
    roles = [make_role(name) for name in sorted(VIEWS)]
    knowledge = load_knowledge(settings.paths.knowledge_dirs).digests
    told = [[role.digest, chain.of(role.name).fingerprint(role)] for role in roles]
    return digest([told, dict(knowledge)])[:16]


def _variables(case: Case) -> dict[str, Path]:
    given = case.scenario.input.get("variables") or {}
    if not isinstance(given, dict):
        raise InputError("input.variables is no mapping", where=case.scenario.id, hint="write NAME: folder lines")
    return {name: case.inside(str(folder)) for name, folder in given.items()}


def _outcome(
    answer: SpecResult | BuildResult | Verdict, used: Used, roots: Sequence[Path], data: Path | None
) -> Outcome:
    document = answer.model_dump(mode="json", by_alias=True)
    words = tuple(f"not understood: {row.text}" for row in answer.needs_model)
    if not isinstance(answer, Verdict):
        findings = [row for gate in getattr(answer, "gates", ()) for row in gate.findings]
        findings += getattr(answer, "findings", ())
        told = tuple(f"{row.artifact}: {row.message}" for row in findings)
        return Outcome(verdict=answer.status, reported=(*words, *told), used=used, document=document)
    entries = [*answer.found_items, *answer.missing_items, *answer.extra_items, *answer.waived]
    troubles = [f"{one.source_file or ''}: {one.message}" for one in answer.errors]
    troubles += [f"{one.source_file or ''}: {one.message}" for one in answer.warnings]
    unused = [f"unused waiver {one.pattern}: {one.why}" for one in answer.unused_waivers]
    return Outcome(
        verdict=answer.status,
        subject=answer.item_id,
        text="\n".join(one.reason for one in (*answer.missing_items, *answer.extra_items)),
        values={
            "type": answer.checker_type,
            "found": len(answer.found_items),
            "missing": len(answer.missing_items),
            "extra": len(answer.extra_items),
            "waived": len(answer.waived),
        },
        evidence=tuple(_evidence(entries, roots, data)),
        reported=(*words, *troubles, *unused),
        used=used,
        document=document,
    )


def _evidence(entries: Sequence[CheckedItem], roots: Sequence[Path], data: Path | None) -> Iterator[Evidence]:
    """Each entry with a file, by its name below the data; the report names it below one of the variables' folders."""
    for one in entries:
        if one.source_file is None or data is None:
            continue
        places = [root / one.source_file for root in (*roots, data)]
        path = next((place for place in places if place.is_file()), places[0])
        name = path.relative_to(data).as_posix() if path.is_relative_to(data) else one.source_file
        yield Evidence(source=name, locator=str(one.line_number or ""), quote=one.matched_content)


def investigator_runner(session: Session, chain: Chain) -> Runner:
    """Investigates a scenario's question."""

    async def run(case: Case) -> Outcome:
        asked, own = asked_in(case), apart(session, case, chain)
        async with opened_memory(own) as memory:
            attempt = _Attempt(own, case, asked, case.memory(memory))
            for question in asked.before:
                await attempt.investigate(question)
            result = await attempt.investigate(asked.question)
            if result is None:
                return Outcome(questions=tuple(attempt.questions))
            said = [await attempt.follow_up(question) for question in asked.then]
            stored = await attempt.remembered(result)
        made = outcome_of(result, said, attempt.questions, stored)
        async with own.open_store() as store:
            made = with_usage(made, store, attempt.runs)
        return made.model_copy(update={"egress": session.settings.egress.logs})

    return run


def written_replies(spec: str, cwd: Path) -> dict[str, Callable[[], Provider]]:
    """The `replies:FILE` of a `model` setting: a model's part, written by hand (see `transom.evals.replies`)."""
    names = [name.strip() for name in spec.split(",")]
    files = {name: cwd / name.removeprefix("replies:") for name in names if name.startswith("replies:")}
    return {name: partial(WrittenReplies, path) for name, path in files.items()}


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
