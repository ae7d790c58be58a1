"""The three phases: which feature is meant, what each source says, and what follows from it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Literal, TypeVar

from pydantic import Field, ValidationError

from transom.agent import call
from transom.canonical import Json, digest
from transom.errors import InputError, OutOfTurns, Paused, ReplyError, WindowOverflow
from transom.formats.release.shapes import Observation, Reading, Shape
from transom.investigator.deciding import Decision, decide, within
from transom.investigator.gathering import SourceRef, read_source, sources_of
from transom.investigator.ledger import CALCULATED, Evidence, Ledger
from transom.investigator.policy import Policy, Waiver
from transom.investigator.result import (
    CriterionResult,
    Investigation,
    Judgement,
    Risk,
    SubConversation,
    Unsupported,
    UsageRow,
    Verdict,
)
from transom.investigator.roles import FOLLOW_UP, IDENTIFY, MAIN, MERGE, READER, json_rows, ours, outside, role_of
from transom.investigator.sources import DataFolder, Feature
from transom.investigator.tools import jira_tool, reading_tools
from transom.llm import Block, Role, Usage
from transom.runs import Run, Stage, model_file
from transom.tools import Toolbox, ToolDefinition
from transom.tools.calculator import calculator

_MOST_SHOWN = 14  # observations of a source that its reader is shown
_MOST_SUMMARIES = 24
_GROUP = 12
_SUMMARY = 900  # characters
_OF_MANY = 260  # characters of one summary where there are many
_MOST_EVIDENCE = 60
_MOST_LISTED = 12
_PROMPT = 600  # characters of a question to a person
_JUDGED: tuple[Verdict, ...] = ("READY", "NOT_READY")
_CITED = re.compile(r"\[(E\d+)\]")
S = TypeVar("S", bound=Shape)


@dataclass(frozen=True)
class Inquiry:
    """What is asked, of which data, by which policy.

    Attributes:
        target: the stage that `--target` names.
        as_of: the day by which waivers expire.
    """

    question: str
    data: DataFolder
    policy: Policy
    as_of: date
    target: str | None = None
    waivers: Sequence[Waiver] = field(default_factory=tuple)


class Identified(Shape):
    """The features that a question may mean."""

    feature_ids: list[str]


class SourceReport(Shape):
    """What came of one source: its reading, and what its reader said of it, with the evidence under ids of its own."""

    key: str
    reading: Reading
    summary: str
    evidence: list[Evidence]
    struck: list[Unsupported]
    tokens_read: int = 0
    tokens_returned: int = 0


class Merged(Shape):
    """Summaries of several sources as one."""

    summary: str


class RiskRow(Shape):
    """A risk that a model names."""

    text: str
    severity: Literal["high", "medium", "low"] = "medium"


class Opinion(Shape):
    """A judgement, as it was given, and what was calculated for it."""

    verdict: Verdict
    justification: str
    risks: list[RiskRow] = Field(default_factory=list)
    calculated: list[Evidence] = Field(default_factory=list)


class Kept(Shape):
    """What a follow-up goes on from: the answer, and the summaries that the main thread saw."""

    investigation: Investigation
    shown: list[str]


class FollowUp(Shape):
    """A question to an investigation and its answer."""

    question: str
    answer: str
    unsupported_claims: list[Unsupported] = Field(default_factory=list)


async def investigate(run: Run, inquiry: Inquiry) -> Investigation:
    """Answer whether a feature is ready for a stage.

    Raises:
        InputError: the question means no feature that is there.
        Paused: a person has to say which feature is meant; then `transom answer`, `transom resume`.
    """
    feature, spent = await identify(run, inquiry)
    policy = inquiry.policy
    current = policy.stage_of(feature.status, feature.category) if feature.status else None
    target = policy.stage_named(inquiry.target) if inquiry.target else policy.stage_in(inquiry.question)
    target = target or (policy.after(current) if current else policy.stages[-1])
    run.progress(f"{feature.summary} ({feature.feature_id}): {current or 'no stage'} -> {target}")
    reports, used = await gather(run, inquiry, feature)
    ledger, summaries = together(reports, inquiry.data)
    decision = decide(
        policy,
        feature,
        [one.reading for one in reports],
        ledger,
        current=current,
        target=target,
        waivers=inquiry.waivers,
        as_of=inquiry.as_of,
        left_out=inquiry.data.left_out(feature),
    )
    shown, merged_use = await merge(run, summaries)
    case = Case(feature, current, target, decision, ledger, reports, summaries, shown)
    return await conclude(run, inquiry, case, spent + used + merged_use)


@dataclass(frozen=True)
class Case:
    """All that the last phase rests on."""

    feature: Feature
    current: str | None
    target: str
    decision: Decision
    ledger: Ledger
    reports: Sequence[SourceReport]
    summaries: Mapping[str, str]
    shown: Sequence[str]


# Phase 1


async def identify(run: Run, inquiry: Inquiry) -> tuple[Feature, Usage]:
    """The feature that the question means, and what it took to find out."""
    features = [feature.to_json() for feature in inquiry.data.features]
    role = role_of(IDENTIFY)

    async def find(stage: Stage, question: str, rows: Sequence[dict[str, Json]]) -> Identified:
        def read(text: str) -> Identified:
            found = _read(Identified, text)
            unknown = [one for one in found.feature_ids if one not in known]
            if unknown:
                raise ReplyError(f"there is no feature {unknown[0]!r}; there are {', '.join(known)}")
            return found

        known = [str(row["feature_id"]) for row in rows]
        return (await call(stage, role, [ours("question", question), json_rows("features", rows)], read)).value

    out = model_file("identified.json", Identified)
    artifact = await run.stage("identify", find, inquiry.question, features, out=out, uses=[role])
    ids = artifact.value.feature_ids
    if not ids:
        names = "; ".join(f"{feature.summary} ({feature.feature_id})" for feature in inquiry.data.features)
        raise InputError("the question means no feature that is there", where="QUESTION", hint=f"there are: {names}")
    if len(ids) > 1:
        answer = await run.ask("feature", "Which feature is meant?", options=ids)
        ids = [answer.text]
    return inquiry.data.feature(ids[0]), artifact.usage


# Phase 2


async def gather(run: Run, inquiry: Inquiry, feature: Feature) -> tuple[list[SourceReport], Usage]:
    """Read every source of a feature, each in a conversation of its own.

    Raises:
        Paused: a reader waits for a person.
        ProviderError: nobody could be asked.
    """
    refs = sources_of(inquiry.data, feature)
    tools = reading_tools(inquiry.data, feature)
    role = role_of(READER, [tool.spec for tool in tools])

    async def read_one(stage: Stage, ref: SourceRef, question: str, feature_id: str) -> SourceReport:
        reading = read_source(inquiry.data, ref)
        return await summarised(stage, role, ref, reading, question, feature_id, inquiry.data)

    found = await run.map(
        "gather",
        read_one,
        refs,
        inquiry.question,
        feature.feature_id,
        key=lambda ref: ref.key,
        out=model_file("source.json", SourceReport),
        uses=[role],
    )
    for one in found:
        if isinstance(one.question, Paused):
            raise one.question
        if one.error is not None:
            raise one.error
    artifacts = [one.artifact for one in found if one.artifact is not None]
    used = sum((one.usage for one in artifacts), Usage())
    return [one.value for one in artifacts], used


async def summarised(
    stage: Stage, role: Role, ref: SourceRef, reading: Reading, question: str, feature_id: str, data: DataFolder
) -> SourceReport:
    """A source's reading, and what its reader says of it, held to the ledger."""
    ledger = Ledger(data.read)
    rows = [_row(ledger, one, reading) for one in reading.observations[:_MOST_SHOWN]]
    blocks = [
        ours("question", question),
        json_rows("source", [_task(ref, reading, feature_id)]),
        json_rows("observations", rows),
    ]
    try:
        answer = await call(stage, role, blocks, _plain, tools=Toolbox(reading_tools(data, data.feature(feature_id))))
        text, request = answer.value, answer.request
        read = stage.host.chain.estimate_tokens(request)
    except (ReplyError, OutOfTurns, WindowOverflow) as error:
        text, read = f"Its reader came to nothing: {error.what}", 0
    checked = ledger.check(text[:_SUMMARY], names=[question, ref.source])
    struck = [Unsupported(text=one.sentence, why=one.why, where=ref.source) for one in checked.struck]
    return SourceReport(
        key=ref.key,
        reading=reading,
        summary=checked.text,
        evidence=ledger.rows(checked.cited),
        struck=struck,
        tokens_read=read,
        tokens_returned=len(checked.text) // 4,
    )


def _task(ref: SourceRef, reading: Reading, feature_id: str) -> dict[str, Json]:
    """What a reader is to read, and with which tool; Jira's issues were read by the main thread's own tool."""
    row: dict[str, Json] = {"source": ref.source, "kind": ref.kind, "state": reading.state, "why": reading.why}
    if ref.kind == "analysis":
        return {**row, "tool": "get_analysis", "arguments": {"feature_id": feature_id, "analysis_type": ref.name}}
    if ref.kind == "document" and reading.state not in ("unreadable", "in_part"):
        return {**row, "tool": "read_doc", "arguments": {"path": ref.source}}
    return row


def _row(ledger: Ledger, one: Observation, reading: Reading) -> dict[str, Json]:
    evidence = ledger[ledger.add(one, reading)]
    return {
        "id": evidence.id,
        "measure": one.measure,
        "label": one.label,
        "value": evidence.value,
        "number": one.number is not None,
        "unit": one.unit,
        "nature": one.nature,
        "limit": one.limit,
        "fact": evidence.fact,
        "at": one.locator,
        "quote": one.quote[:160],
    }


def together(reports: Sequence[SourceReport], data: DataFolder) -> tuple[Ledger, dict[str, str]]:
    """One ledger for all sources, and each summary with its ids."""
    ledger = Ledger(data.read)
    summaries: dict[str, str] = {}
    for report in reports:
        ids = {row.id: ledger.take(row) for row in report.evidence}
        summaries[report.reading.source] = recited(report.summary, ids)
    return ledger, summaries


def recited(text: str, ids: Mapping[str, str]) -> str:
    """A text with other ids for what it cites."""
    return _CITED.sub(lambda match: f"[{ids.get(match[1], match[1])}]", text)


async def merge(run: Run, summaries: Mapping[str, str]) -> tuple[list[str], Usage]:
    """The summaries that the main thread sees: all of them, or merged ones where they are many."""
    rows: list[dict[str, Json]] = [{"source": source, "summary": text} for source, text in summaries.items() if text]
    role, used, level = role_of(MERGE), Usage(), 0

    async def put_together(stage: Stage, group: Sequence[dict[str, Json]]) -> Merged:
        known = {one for row in group for one in _CITED.findall(str(row["summary"]))}
        answer = await call(stage, role, [json_rows("summaries", group)], _plain)
        lines = [line for line in answer.value.splitlines() if set(_CITED.findall(line)) <= known]
        return Merged(summary="\n".join(lines)[:_SUMMARY])

    while len(rows) > _MOST_SUMMARIES:
        level += 1
        groups = [rows[at : at + _GROUP] for at in range(0, len(rows), _GROUP)]
        found = await run.map(
            f"merge/{level}",
            put_together,
            groups,
            key=lambda group: digest([row["source"] for row in group])[:12],
            out=model_file("merged.json", Merged),
            uses=[role],
        )
        rows = []
        for group, one in zip(groups, found, strict=True):
            if one.artifact is None:
                raise one.error or one.question or ReplyError("a merge came to nothing")
            used += one.artifact.usage
            name = f"{len(group)} sources from {group[0]['source']}"
            rows.append({"source": name, "summary": one.artifact.value.summary})
    most = _SUMMARY if len(rows) <= _GROUP else _OF_MANY
    return [f"{row['source']}: {_cut(str(row['summary']), most)}" for row in rows], used


def _cut(text: str, most: int) -> str:
    """Whole lines of a text, of at most so many characters in all."""
    kept, size = [], 0
    for line in text.splitlines():
        size += len(line) + 1
        if size > most:
            break
        kept.append(line)
    return " ".join(kept)


# Phase 3


async def conclude(run: Run, inquiry: Inquiry, case: Case, spent: Usage) -> Investigation:
    """Have the case judged within its gates, and put the answer together."""
    decision, ledger, draft = case.decision, case.ledger, drafted(inquiry, case)
    blocks = case_blocks(draft, case.shown, ledger)
    role = role_of(MAIN, [tool.spec for tool in _main_tools(inquiry.data, ledger)])
    before = {row.id for row in ledger}

    async def judge(stage: Stage, *_: Json) -> Opinion:
        box = Toolbox(_main_tools(inquiry.data, ledger))
        opinion = (await call(stage, role, blocks, partial(_read, Opinion), tools=box)).value
        return opinion.model_copy(update={"calculated": [row for row in ledger if row.id not in before]})

    inputs = [block.to_json() for block in blocks]
    artifact = await run.stage("decide", judge, *inputs, out=model_file("opinion.json", Opinion), uses=[role])
    opinion = artifact.value
    for row in opinion.calculated:
        ledger.take(row)
    names = known_names(draft)
    checked = ledger.check(opinion.justification, names=names)
    struck = [Unsupported(text=one.sentence, why=one.why, where="justification") for one in checked.struck]
    risks = list(draft.risks)
    for risk in opinion.risks:
        held = ledger.check(risk.text, names=names)
        struck += [Unsupported(text=one.sentence, why=one.why, where="risks") for one in held.struck]
        risks += [Risk(text=held.text, severity=risk.severity, evidence=list(held.cited))] if held.text else []
    usage = spent + artifact.usage
    result = draft.model_copy(
        update={
            "verdict": within(opinion.verdict, decision),
            "justification": checked.text,
            "risks": risks,
            "unsupported_claims": [*draft.unsupported_claims, *struck],
            "usage": UsageRow(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cost_usd=usage.cost),
        }
    )
    result = result.model_copy(update={"evidence": cited_rows(result, ledger)})
    kept = Kept(investigation=result, shown=list(case.shown))

    async def keep(_: Stage, kept: Kept) -> Kept:
        return kept

    await run.stage("answer", keep, kept, out=model_file("investigation.json", Kept))
    return result


def _main_tools(data: DataFolder, ledger: Ledger) -> list[ToolDefinition]:
    docs = next(tool for tool in reading_tools(data) if tool.name == "list_docs")
    return [jira_tool(data), docs, calculator(ledger.value_of, ledger.calculated)]


def drafted(inquiry: Inquiry, case: Case) -> Investigation:
    """The answer as the rules have it, before anybody judged within them."""
    decision = case.decision
    return Investigation(
        question=inquiry.question,
        feature_id=case.feature.feature_id,
        feature_name=case.feature.summary,
        current_stage=case.current,
        target_stage=case.target,
        stage_fit=decision.stage_fit,
        verdict=decision.verdict,
        confidence=decision.confidence,
        criteria=decision.criteria,
        risks=decision.risks,
        unsupported_claims=[*decision.unsupported, *(one for report in case.reports for one in report.struck)],
        injection_attempts=decision.injections,
        contradictions=decision.contradictions,
        questions=decision.questions,
        unread=decision.unread,
        waivers=decision.waivers,
        sub_conversations=[
            SubConversation(
                id=f"gather/{report.key}",
                purpose=f"Read {report.reading.source}",
                summary=case.summaries[report.reading.source],
                tokens_read=report.tokens_read,
                tokens_returned=report.tokens_returned,
            )
            for report in case.reports
        ],
    )


def known_names(result: Investigation) -> list[str]:
    """Texts whose numbers are names: the question's, the feature's, those of the criteria."""
    return [result.question, result.feature_name, result.feature_id, *(one.name for one in result.criteria)]


def case_blocks(result: Investigation, shown: Sequence[str], ledger: Ledger) -> list[Block]:
    """What the main thread is judged from; bounded, whatever the sources' size and number."""
    feature: dict[str, Json] = {
        "feature_id": result.feature_id,
        "name": result.feature_name,
        "current_stage": result.current_stage,
        "target_stage": result.target_stage,
        "stage_fit": result.stage_fit,
        "verdict": result.verdict,
        "confidence": result.confidence,
        "contradictions": [one.text for one in result.contradictions[:_MOST_LISTED]],
    }
    told = {one for row in result.criteria for one in row.evidence}
    told |= {one for text in shown for one in _CITED.findall(text)}
    evidence = [evidence_line(row) for row in ledger if row.id in told][:_MOST_EVIDENCE]
    return [
        ours("question", result.question),
        json_rows("feature", [feature]),
        json_rows("criteria", [criterion_row(one, ledger) for one in result.criteria]),
        outside("summaries", list(shown)),
        outside("evidence", evidence),
    ]


def criterion_row(one: CriterionResult, ledger: Ledger) -> dict[str, Json]:
    """A criterion as the main thread sees it, with its facts ready to be cited."""
    facts = [ledger[key].fact for key in one.evidence if key in ledger]
    return {
        "id": one.id,
        "name": one.name,
        "required": one.required,
        "status": one.status,
        "doubt": one.doubt,
        "why": one.why[:300],
        "facts": [*facts[:5]],
        "owner": one.owner,
        "source": one.source,
    }


def evidence_line(row: Evidence) -> str:
    """An entry of the ledger in one line."""
    return f"[{row.id}] {row.source}#{row.locator} {row.measure} {row.label} = {row.value[:80]} {row.unit}".strip()


def cited_rows(result: Investigation, ledger: Ledger) -> list[Evidence]:
    """The entries that an answer refers to, in order, with the operands of calculated ones."""
    parts = [part.evidence for rows in (result.criteria, result.risks, result.contradictions) for part in rows]
    ids = {one for part in parts for one in part}
    texts = [
        result.justification,
        *(one.summary for one in result.sub_conversations),
        *(one.text for one in result.risks),
    ]
    ids |= {one for text in texts for one in _CITED.findall(text)}
    ids |= {one for row in ledger if row.id in ids and row.source == CALCULATED for one in row.locator.split(",")}
    return [row for row in ledger if row.id in ids]


def _plain(text: str) -> str:
    if not text.strip():
        raise ReplyError("the answer is empty")
    return text.strip()


def _read(model: type[S], text: str) -> S:
    """The JSON object of an answer, which may stand in a fence, as a model."""
    start, end = text.find("{"), text.rfind("}")
    try:
        return model.model_validate(json.loads(text[start : end + 1]))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ReplyError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except ValueError as error:
        raise ReplyError("the answer is no JSON object") from error


# After the answer


async def judged(run: Run, result: Investigation) -> Investigation:
    """A verdict that needs judgement, with a person's beside it once somebody answered.

    Raises:
        Paused: nobody has judged yet; the first verdict stands.
    """
    if result.verdict != "NEEDS_JUDGEMENT":
        return result
    unclear = "; ".join(one.name for one in result.criteria if one.status == "unknown" and one.required)
    prompt = f"Is {result.feature_name} ready for {result.target_stage}? Not clear: {unclear}"[:_PROMPT]
    answer = await run.ask("judgement", prompt, options=list(_JUDGED))
    verdict = next((one for one in _JUDGED if one == answer.text), result.verdict)
    judgement = Judgement(verdict=verdict, by=answer.by, reason=answer.reason, asked=result.verdict)
    return result.model_copy(update={"judgement": judgement})


async def follow_up(run: Run, question: str, data: DataFolder, memory: Sequence[str] = ()) -> FollowUp:
    """Answer a question to an investigation from its ledger and all that was asked since.

    Args:
        memory: what is remembered of other investigations, a sentence each.

    Raises:
        InputError: the run came to no answer yet.
    """
    place = run.folder / "answer" / "investigation.json"
    if not place.is_file():
        raise InputError("this run has no answer yet", where=run.id, hint=f"go on with: transom resume {run.id}")
    kept = Kept.model_validate_json(place.read_bytes())
    result, ledger = kept.investigation, Ledger(data.read, kept.investigation.evidence)
    said = [
        FollowUp.model_validate_json(path.read_bytes()) for path in sorted(run.folder.glob("follow_up/*/said.json"))
    ]
    if again := next((one for one in said if one.question == question), None):
        return again
    blocks = [
        *case_blocks(result.model_copy(update={"question": question}), kept.shown, ledger),
        outside("dialogue", [f"Asked: {one.question}\nAnswered: {one.answer}" for one in said][-_MOST_LISTED:]),
        json_rows("memory", [{"text": one} for one in memory]),
    ]
    role = role_of(FOLLOW_UP)

    async def answer(stage: Stage, *_: Json) -> FollowUp:
        text = (await call(stage, role, blocks, _plain)).value
        names = [question, *known_names(result), *(one.answer for one in said)]
        checked = ledger.check(text, names=names)
        struck = [Unsupported(text=one.sentence, why=one.why, where="follow-up") for one in checked.struck]
        return FollowUp(question=question, answer=checked.text, unsupported_claims=struck)

    inputs = [block.to_json() for block in blocks]
    name = f"follow_up/{len(said) + 1:03d}-{digest(question)[:8]}"
    return (await run.stage(name, answer, *inputs, out=model_file("said.json", FollowUp), uses=[role])).value
