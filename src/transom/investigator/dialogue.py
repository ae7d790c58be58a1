"""After the answer: a person's judgement, and follow-up questions."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Final

from pydantic import Field

from transom.canonical import digest
from transom.errors import Paused
from transom.formats.measurements import MeasurementShape
from transom.investigator.concluding import case_blocks, held_text, kept_answer
from transom.investigator.dependants import dependants
from transom.investigator.feature_lists import feature_list
from transom.investigator.inquiry import Inquiry
from transom.investigator.ledger import Ledger
from transom.investigator.main_thread import MainThread
from transom.investigator.policy import Policy, load_policy
from transom.investigator.question_names import asks_for_more
from transom.investigator.questions import answer_question, asks_for_list
from transom.investigator.replies import read_plain
from transom.investigator.result import Investigation, Judgement, Unsupported, Verdict
from transom.investigator.roles import FOLLOW_UP, json_rows
from transom.investigator.rules import NOTHING_FOUND
from transom.investigator.similar_features import similar_features
from transom.investigator.sources import DataFolder
from transom.investigator.statements import standing_of
from transom.llm.rules import RULES
from transom.runs import PersonAnswer, Question, Run

_PROMPT = 600  # characters of a question to a person, at most
_SENTENCE: Final = re.compile(r"[^?!\n]+[?!]?")
_JUDGED: tuple[Verdict, ...] = ("READY", "NOT_READY")


class FollowUp(MeasurementShape):
    """A follow-up question and its answer; `needs_model` if the rules have none."""

    question: str
    answer: str
    needs_model: Annotated[bool, Field(exclude_if=operator.not_)] = False
    unsupported_claims: list[Unsupported] = Field(default_factory=list)


async def judged(run: Run, result: Investigation) -> Investigation:
    """Ask a person about a verdict that needs judgement, and add the person's verdict.

    Only an answer that says who gave it counts.

    Raises:
        Paused: no person has judged yet; the first verdict stands.
    """
    if result.verdict != "NEEDS_JUDGEMENT":
        return result
    question = _question(result)
    answer = await run.ask(
        question.name, question.prompt, options=question.options, needs_name=True
    )
    if not answer.by:
        run.progress("an answer without a name does not count; give one with --by NAME")
    return with_judgement(result, answer)


def with_judgement(result: Investigation, answer: PersonAnswer | None) -> Investigation:
    """Return the result with a person's verdict beside the first one, if a person gave one."""
    if answer is None or not answer.by or answer.text not in _JUDGED:
        return result
    verdict = next(entry for entry in _JUDGED if entry == answer.text)
    rules = result.rules_verdict or result.verdict
    judgement = Judgement(verdict=verdict, by=answer.by, reason=answer.reason, asked=result.verdict)
    return result.model_copy(
        update={"judgement": judgement, "rules_verdict": None if verdict == rules else rules}
    )


def _question(result: Investigation) -> Question:
    unclear = "; ".join(
        criterion.name
        for criterion in result.criteria
        if criterion.status == "unknown" and criterion.required
    )
    asks = f"Is {result.feature_name} ready for {result.target_stage}?"
    if result.capped_by:
        unclear = "; ".join([unclear] * bool(unclear) + [cap.text for cap in result.capped_by])
    asks += f" Not clear: {unclear}" if unclear else " The rules say yes, the model is not sure."
    return Question("judgement", asks[:_PROMPT], _JUDGED)


async def follow_up(
    run: Run,
    question: str,
    data: DataFolder,
    memory: Sequence[str] = (),
    policy: Policy | None = None,
) -> FollowUp:
    """Answer a question about an investigation in its kept thread, with its ledger.

    Without a model, the usual questions of a manager are answered from the result.

    Args:
        memory: sentences from the memory of other investigations.
        policy: the policy of the investigation; None: the shipped one.

    Raises:
        Paused: the run has no answer yet.
    """
    conclusion = kept_answer(run.folder)
    if conclusion is None:
        raise Paused("it has no answer yet that a question could be about", run_id=run.id)
    result, ledger = conclusion.investigation, Ledger(data.read, conclusion.investigation.evidence)
    has_model = any(provider.name != RULES for provider in run.chain.everyone)
    if not has_model and memory:
        return FollowUp(question=question, answer="\n".join(memory))
    if not has_model:
        by_rules = answer_question(question, _final(run, result), data, policy or load_policy())
        if by_rules is not None:
            return FollowUp(question=question, answer=by_rules)
    blocks = [
        *case_blocks(result.model_copy(update={"question": question}), conclusion.shown, ledger),
        json_rows("memory", [{"text": neighbour} for neighbour in memory]),
    ]
    main = MainThread(run, conclusion.thread, data, result.feature_id, ledger)
    # The memory is a part of the name: the same question next week has another answer.
    name = f"follow-up/{digest([question, *memory] if memory else question)[:12]}"
    text, _ = await main.ask(FOLLOW_UP, question, blocks, read_plain, id=name)
    if text.strip() == NOTHING_FOUND and has_model:
        # The rules were asked this earlier, and the conversation keeps what they said.
        text, _ = await main.ask(FOLLOW_UP, question, blocks, read_plain, id=f"{name}/model")
    standing = standing_of(_final(run, result), ledger)
    standing = replace(standing, names=[question, *standing.names, *memory])
    answer, struck = held_text(text, "follow-up", standing, ledger)
    return FollowUp(
        question=question,
        answer=answer,
        needs_model=text.strip() == NOTHING_FOUND,
        unsupported_claims=struck,
    )


async def answer_beside(run: Run, inquiry: Inquiry, result: Investigation) -> FollowUp | None:
    """Answer what a first question asks beside the verdict, such as "which components".

    None if it asks for the verdict alone, or if a model has answered it with its reasons.
    """
    has_model = any(provider.name != RULES for provider in run.chain.everyone)
    if has_model:
        return None
    feature = inquiry.data.feature(result.feature_id)
    names = [feature.summary, feature.feature_id, feature.jira_key, feature.folder]
    sentences = _SENTENCE.findall(inquiry.question)
    answers = list[str]()
    is_unanswered = False
    for sentence in sentences:
        # One sentence alone has asked for all features already, and found none.
        lines = await answer_on_all(inquiry, sentence, feature.summary) if sentences[1:] else []
        if lines:
            answers += lines
        elif asks_for_list(sentence) or asks_for_more(sentence, names):
            answer = answer_question(sentence, result, inquiry.data, inquiry.policy)
            is_unanswered = is_unanswered or answer is None
            answers.append(answer or NOTHING_FOUND)
    if not answers:
        return None
    return FollowUp(question=inquiry.question, answer="\n".join(answers), needs_model=is_unanswered)


async def answer_on_all(inquiry: Inquiry, question: str, own_name: str = "") -> list[str]:
    """Return the lines that answer a question on all features; none for another question.

    Such a question asks what depends on a thing, which features are similar, or which failed
    something. It is answered from the documents and reports of today and from the memory, so it
    needs neither a run nor a model.

    Args:
        own_name: the feature of the investigation that the question follows, for which "it" stands.
    """
    questions = list[str]()
    for sentence in _SENTENCE.findall(question):
        if sentence.strip().endswith("?"):
            questions.append(sentence.strip())
    if len(questions) < 2:
        return await _on_all(inquiry, question, own_name)
    lines = list[str]()
    unanswered = list[str]()
    for sentence in questions:
        answer = await _on_all(inquiry, sentence, own_name)
        if not answer and not lines:
            # The first one asks for something else, and the others are answered beside it.
            return []
        lines += answer
        unanswered += [sentence] * (not answer)
    return [*lines, *(f"Not answered, ask it by itself: {sentence}" for sentence in unanswered)]


async def _on_all(inquiry: Inquiry, question: str, own_name: str) -> list[str]:
    lines = await dependants(inquiry.memory, question, inquiry.data, own_name)
    lines = lines or await similar_features(inquiry, question, own_name)
    if lines:
        return lines
    return feature_list(question, inquiry.data, inquiry.policy, inquiry.as_of, inquiry.waivers)


def _final(run: Run, result: Investigation) -> Investigation:
    """Return the result with the verdict of a person, if one judged."""
    last_question = _question(result)
    return with_judgement(result, run.answer(last_question.name, last_question.fingerprint))
