"""The third phase: the case is judged within the hard gates, and the answer is assembled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import Field

from transom.canonical import Json, digest
from transom.formats.measurements import MeasurementShape
from transom.investigator.deciding import limited
from transom.investigator.features import Feature, SourceFile
from transom.investigator.gathering import SourceReport, seat_of
from transom.investigator.inquiry import Case, Inquiry
from transom.investigator.ledger import CALCULATED, Evidence, Ledger
from transom.investigator.main_thread import MainThread
from transom.investigator.reading.subjects import newest_date
from transom.investigator.remembering import changed
from transom.investigator.replies import CITED, read_as
from transom.investigator.result import (
    CapRow,
    CriterionResult,
    Investigation,
    ReaderConversation,
    Risk,
    SourceUse,
    Unsupported,
    UsageRow,
    Verdict,
    unsupported_of,
)
from transom.investigator.roles import MAIN, insights, json_rows, ours, outside
from transom.investigator.rules import justify, phrases_not_considered
from transom.investigator.statements import Standing, standing_of
from transom.learning import cited_in, shown_in, uncited
from transom.llm import Block, Usage
from transom.runs import Run, Stage, model_file

VERDICT = "verdict"
"""The main thread's seat in the playbook."""

_MOST_EVIDENCE = 5_500  # characters of evidence in the main thread's window
_MOST_LISTED = 12


class RiskRow(MeasurementShape):
    """A risk that a model reports."""

    text: str
    severity: Literal["high", "medium", "low"] = "medium"


class Opinion(MeasurementShape):
    """A model's judgement, unchecked."""

    verdict: Verdict
    justification: str
    risks: list[RiskRow] = Field(default_factory=list)


class Kept(MeasurementShape):
    """State for follow-up questions: the answer, the main thread's summaries, and the thread's
    name.

    Attributes:
        named: ids of the insights that each seat cited, by its stage.
        above: the main thread's verdict if it was better than the rules', else "".
    """

    investigation: Investigation
    shown: list[str]
    thread: str
    named: dict[str, list[str]] = Field(default_factory=dict)
    above: str = ""


_ANSWER_STAGE = "answer"
_ANSWER = model_file("investigation.json", Kept)


def kept_answer(folder: Path) -> Kept | None:
    """Return the answer in the folder of a run; None if it has none yet."""
    path = folder / _ANSWER_STAGE / _ANSWER.name
    return _ANSWER.read(path) if path.is_file() else None


async def conclude(run: Run, inquiry: Inquiry, case: Case, spent: Usage) -> Kept:
    """Have the case judged, no better than the rules judge it, and assemble the answer."""
    decision, ledger, draft = case.decision, case.ledger, drafted(inquiry, case)
    blocks = [*case_blocks(draft, case.shown, ledger), *insights(case.insights)]
    # The same case has the same thread, so that a resumed run goes on in it.
    thread = f"case-{digest([block.to_json() for block in blocks])[:12]}"
    main = MainThread(run, thread, inquiry.data, case.feature.feature_id, ledger)
    run.progress(f"judging {len(decision.criteria)} criteria")
    opinion, reply_usage = await main.ask(
        MAIN, inquiry.question, blocks, partial(read_as, Opinion), id=VERDICT
    )
    usage = spent + reply_usage
    result = judged_by(opinion, draft, ledger).model_copy(
        update={
            "usage": UsageRow(
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cost_usd=usage.cost,
            ),
        }
    )
    result = result.model_copy(update={"evidence": cited_rows(result, ledger)})
    if case.before is not None:
        # Follow-up questions are answered from what is kept here.
        since = changed(case.before.earlier, result)
        remembered = {"changed_since": since, "memory_status": case.before.status}
        result = result.model_copy(update=remembered)
    above = "" if limited(opinion.verdict, decision.verdict) == opinion.verdict else opinion.verdict

    async def keep(_: Stage, kept: Kept) -> Kept:
        return kept

    insights_by_seat = {}
    for report in case.reports:
        if report.named:
            insights_by_seat[seat_of(report)] = report.named
    insights_by_seat[VERDICT] = [*cited_in(opinion.model_dump_json(), shown_in(case.insights))]
    kept = Kept(
        investigation=result,
        shown=list(case.shown),
        thread=thread,
        named=insights_by_seat,
        above=above,
    )
    await run.stage(_ANSWER_STAGE, keep, kept, out=_ANSWER)
    return kept


def judged_by(opinion: Opinion, draft: Investigation, ledger: Ledger) -> Investigation:
    """Return the answer of the rules with what a model's opinion may add or lower.

    Args:
        draft: the answer of the rules.
        ledger: with the rows that the model cited.
    """
    rules, verdict = draft.verdict, limited(opinion.verdict, draft.verdict)
    is_above = verdict != opinion.verdict
    standing = standing_of(draft.model_copy(update={"verdict": verdict}), ledger)
    text, struck = held_text(
        opinion.justification, "justification", standing, ledger, is_strict=is_above
    )
    # The model's better verdict is reported, or nobody would know that it was limited.
    if is_above:
        why = f"the rules judge {rules}; a model may only judge lower"
        struck.append(Unsupported(text=opinion.verdict, why=why, where="verdict"))
    risks = list(draft.risks)
    for risk in opinion.risks:
        checked_text, false = held_text(risk.text, "risks", standing, ledger, marks=False)
        struck += false
        if checked_text:
            cited = []
            for evidence_id in dict.fromkeys(CITED.findall(checked_text)):
                if evidence_id in ledger:
                    cited.append(evidence_id)
            risks.append(Risk(text=checked_text, severity=risk.severity, evidence=cited))
    if not text:
        # Nothing that the model says holds, so the rules' own reasons stand in its place.
        rows = [criterion_row(row, ledger) for row in draft.criteria]
        text = justify(draft.feature_name, draft.target_stage, verdict, rows)
    return draft.model_copy(
        update={
            "verdict": verdict,
            "rules_verdict": None if verdict == rules else rules,
            "justification": text,
            "risks": risks,
            "unsupported_claims": [*draft.unsupported_claims, *struck],
        }
    )


def held_text(
    text: str,
    where: str,
    standing: Standing,
    ledger: Ledger,
    *,
    is_strict: bool = False,
    marks: bool = True,
) -> tuple[str, list[Unsupported]]:
    """Return a model's text without the sentences that do not hold, and those sentences.

    A sentence whose figures nothing that it cites shows stays with a mark, and is among them, too.
    """
    checked = ledger.check(uncited(text), names=[*standing.names, *standing.criterion_names])
    stated = standing.check(checked.text, is_strict=is_strict, marks=marks)
    sentences = (*checked.removed, *checked.undecided, *stated.removed)
    return stated.text, unsupported_of(sentences, where)


def drafted(inquiry: Inquiry, case: Case) -> Investigation:
    """Return the answer of the rules, before a model judges."""
    decision = case.decision
    removed = {(claim.text, claim.where) for claim in case.struck}
    struck = list[Unsupported]()
    for report in case.reports:
        for claim in report.struck:
            # A sentence that was marked first, and then removed, is listed with the second reason.
            if (claim.text, claim.where) not in removed:
                struck.append(claim)
    return Investigation(
        question=inquiry.question,
        feature_id=case.feature.feature_id,
        feature_name=case.feature.summary,
        current_stage=case.current,
        target_stage=case.target,
        stage_fit=decision.stage_fit,
        data_quality=case.feature.data_quality,
        verdict=decision.verdict,
        would_be=decision.would_be,
        capped_by=[CapRow.model_validate(cap.to_json()) for cap in decision.capped_by],
        confidence=decision.confidence,
        criteria=decision.criteria,
        risks=decision.risks,
        unsupported_claims=[*decision.unsupported, *struck, *case.struck],
        injection_attempts=decision.injections,
        contradictions=decision.contradictions,
        questions=[*decision.questions, *_assumptions(inquiry, case.feature)],
        unread=decision.unread,
        sources=source_uses(case.reports, inquiry.data.unused(case.feature)),
        waivers=decision.waivers,
        sub_conversations=[
            ReaderConversation(
                id=seat_of(report),
                purpose=f"Read {report.reading.source}",
                summary=case.summaries[report.reading.source],
                tokens_read=report.tokens_read,
                tokens_returned=report.tokens_returned,
            )
            for report in case.reports
        ],
    )


def _assumptions(inquiry: Inquiry, feature: Feature) -> list[str]:
    """Return a question for each phrase by which the asker may mean less than the feature."""
    questions = []
    for phrase in phrases_not_considered(inquiry.question, feature.to_json()):
        questions.append(
            f'The question says "{phrase}". {feature.summary} was judged as a whole; is less meant?'
        )
    return questions


def source_uses(reports: Iterable[SourceReport], unused: Iterable[SourceFile]) -> list[SourceUse]:
    """Return every file of the feature: what it was taken for, or why it was not used."""
    rows = list[SourceUse]()
    for report in reports:
        reading = report.reading
        subject = dict[str, list[str]]()
        for fact in reading.subject:
            if fact.facet != "date" and fact.text not in subject.get(fact.facet, []):
                subject.setdefault(fact.facet, []).append(fact.text)
        newest = newest_date(reading.subject)
        rows.append(
            SourceUse(
                source=reading.source,
                taken_for="document" if reading.kind == "document" else reading.name,
                tool=reading.tool,
                made=newest.text if newest is not None else "",
                subject=subject,
                reason=reading.why,
            )
        )
    for file in unused:
        rows.append(SourceUse(source=file.source, reason=file.recognition.reason))
    return rows


def case_blocks(result: Investigation, shown: Sequence[str], ledger: Ledger) -> list[Block]:
    """Return the blocks of the main thread, of bounded size."""
    shown_fields = {
        "feature_id",
        "current_stage",
        "target_stage",
        "stage_fit",
        "verdict",
        "confidence",
    }
    feature: dict[str, Json] = {
        **result.model_dump(include=shown_fields),
        "name": result.feature_name,
    }
    feature["contradictions"] = [
        contradiction.text for contradiction in result.contradictions[:_MOST_LISTED]
    ]
    needed = set()
    for row in result.criteria:
        for evidence_id in row.evidence:
            needed.add(evidence_id)
    cited = needed | {citation for text in shown for citation in CITED.findall(text)}
    rows = sorted((row for row in ledger if row.id in cited), key=lambda row: row.id not in needed)
    evidence = list(_fitting(map(evidence_line, rows), _MOST_EVIDENCE))
    return [
        ours("question", result.question),
        json_rows("feature", [feature]),
        json_rows("criteria", [criterion_row(criterion, ledger) for criterion in result.criteria]),
        outside("summaries", list(shown)),
        outside("evidence", evidence),
    ]


def _fitting(lines: Iterable[str], limit: int) -> Iterator[str]:
    """Yield the first lines with at most `most` characters together."""
    for line in lines:
        limit -= len(line)
        if limit < 0:
            return
        yield line


def criterion_row(one: CriterionResult, ledger: Ledger) -> dict[str, Json]:
    """Return a criterion as the main thread sees it, with its facts ready to be cited."""
    # A model that sees only the reason would have to look each figure up.
    facts = []
    for key in one.evidence:
        if key in ledger:
            facts.append(ledger[key].fact)
    row = one.model_dump(include={"id", "name", "required", "status", "doubt", "owner", "source"})
    return {**row, "why": one.why[:240], "facts": [*facts[:4]]}


def evidence_line(row: Evidence) -> str:
    """Format an entry of the ledger in one line."""
    return (
        f"[{row.id}] {row.source}#{row.locator} {row.measure} {row.label[:60]} = {row.value[:80]}"
        f" {row.unit}".strip()
    )


def cited_rows(result: Investigation, ledger: Ledger) -> list[Evidence]:
    """Return the entries that an answer cites, in order, with the operands of calculated ones."""
    ids = set()
    for parts in (result.criteria, result.risks, result.contradictions):
        for part in parts:
            ids.update(part.evidence)
    texts = [result.justification]
    texts += [conversation.summary for conversation in result.sub_conversations]
    texts += [risk.text for risk in result.risks]
    for text in texts:
        ids.update(CITED.findall(text))
    # A calculated entry can only be followed to its files by way of its operands.
    for row in ledger:
        if row.id in ids and row.source == CALCULATED:
            ids.update(row.locator.split(","))
    return [row for row in ledger if row.id in ids]
