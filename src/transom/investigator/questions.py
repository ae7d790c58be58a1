"""Questions that managers ask after a verdict, answered from the result without a model.

A question is one of a few kinds, known by its words: why, what blocks, who has to act, what
changed, a summary, which tests or findings, and the verdict for an earlier stage. Every other
question is left to a model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from transom.formats.measurements import Observation
from transom.investigator.deciding import verdict_of
from transom.investigator.feature_parts import COMPONENT, DEPENDS
from transom.investigator.gathering import read_source, sources_of
from transom.investigator.policy import Policy
from transom.investigator.result import CriterionResult, Investigation
from transom.investigator.sources import DataFolder

_MOST_NAMED = 20
_WHICH: tuple[tuple[re.Pattern[str], tuple[str, ...], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), measures, none)
    for pattern, measures, none in (
        (
            r"\b(?:which|what|list|name|welche)\b.{0,200}"
            r"\b(?:cves?|vulnerabilit\w+|findings?|schwachstellen)\b",
            ("vulnerabilities.", "review.issues."),
            "No open finding is listed by name.",
        ),
        (
            r"\b(?:which|what|list|name|welche)\b.{0,200}\b(?:tests?|cases?|scenarios?)\b",
            ("tests.case", "uat.case"),
            "No failed test is listed by name.",
        ),
        (
            r"\b(?:which|what|list|name|welche)\b.{0,200}\b(?:jobs?|steps?|pipeline|build)\b",
            ("pipeline.stage",),
            "No failed stage of the pipeline is listed by name.",
        ),
        (
            r"\b(?:which|what|list|name|welche)\b.{0,200}"
            r"\b(?:blockers?|subtasks?|tickets?|issues?)\b",
            ("jira.blocker", "jira.subtask"),
            "No open blocking issue or subtask is listed.",
        ),
        (
            r"\b(?:which|what|list|name|welche)\b.{0,200}"
            r"\b(?:components?|modules?|komponenten|bausteine)\b",
            (COMPONENT,),
            "No document and no issue lists the components.",
        ),
        (
            r"\b(?:which|what|list|name|welche)\b.{0,200}"
            r"\b(?:dependencies|depend on|abhängigkeiten)\b",
            (DEPENDS,),
            "No document lists what it depends on.",
        ),
    )
)
_FIXED: tuple[tuple[str, str], ...] = (
    (
        "who",
        r"\b(?:who|whom|wer)\b.*\b(?:act|acts|do|fix|next|responsible|needs?|must|has to|have to"
        r"|turn|owns?|muss)\b|\bowners?\b",
    ),
    ("changed", r"\b(?:changed?|changes|different|geändert|verändert)\b"),
    (
        "summary",
        r"\b(?:summar\w+|overview|in (?:one|two|three|a few) (?:sentences?|words)"
        r"|zusammenfass\w+|tl;?dr)\b",
    ),
    (
        "blocks",
        r"\b(?:blocks?|blocking|blockers?|holds?|holding|stops?|stopping|prevents?|in the way"
        r"|left to do|still (?:open|missing|needed)|to be done|fehlt|blockiert)\b",
    ),
    (
        "blocks",
        r"\b(?:can|could|may|should|dürfen|können) (?:we|i|it|this|wir)\b.*"
        r"\b(?:ship|release|go|deploy|launch|live|ausliefern)\b",
    ),
    ("why", r"\b(?:why|how come|reasons?|warum|weshalb|wieso)\b"),
)
_ABOUT_ONE = re.compile(
    r"\b(?:tests?|coverage|uat|security|scan|pipeline|performance|stakeholders?|documents?|plan"
    r"|jira|review|criterion)\b",
    re.IGNORECASE,
)


def answer_question(
    question: str, result: Investigation, data: DataFolder, policy: Policy
) -> str | None:
    """Return the answer to a question of a known kind; None for every other question."""
    # "Which" comes first: "what blocks us" and "which tests block us" share words.
    for pattern, measures, none in _WHICH:
        if pattern.search(question):
            return "\n".join(_named(result, data, measures)) or none
    stage = policy.stage_in(question)
    if stage is not None and stage != result.target_stage and "ready" in question.casefold():
        return _for_stage(result, policy, stage)
    for kind, words in _FIXED:
        # "Why is UAT unclear?" asks for one criterion, and is answered by its facts.
        if re.search(words, question, re.IGNORECASE):
            if kind == "why" and _ABOUT_ONE.search(question):
                return None
            return "\n".join(_ANSWERS[kind](result))
    return None


def asks_for_list(question: str) -> bool:
    """Whether a question asks for entries that are listed by name, such as failed tests."""
    return any(pattern.search(question) for pattern, _, _ in _WHICH)


def _named(result: Investigation, data: DataFolder, measures: Sequence[str]) -> Iterator[str]:
    """Yield the entries of some measures by name, read again from the feature's files."""
    feature = data.feature(result.feature_id)
    if COMPONENT in measures:
        for name in feature.components:
            yield f"{name} ({feature.jira_key})"
    count = 0
    # The result keeps counts and the first entries; the names are in the files.
    for source in sources_of(data, feature):
        for observation in read_source(data, source).observations:
            if not _is_entry(observation, measures):
                continue
            count += 1
            if count > _MOST_NAMED:
                yield "... and more"
                return
            name = observation.label or str(observation.value)
            quote_text = f": {observation.quote}" if observation.measure.endswith(".case") else ""
            yield f"{name}{quote_text[:160]} ({source.source}#{observation.locator})"


def _is_entry(observation: Observation, measures: Sequence[str]) -> bool:
    # What a document names has no label of its own.
    if observation.measure in measures and observation.measure.startswith("document."):
        return True
    is_entry = observation.measure.endswith((".entry", ".case", ".stage", ".blocker", ".subtask"))
    return is_entry and observation.measure.startswith(tuple(measures)) and bool(observation.label)


def _for_stage(result: Investigation, policy: Policy, stage: str) -> str | None:
    """Return the verdict for an earlier stage, whose criteria were all judged."""
    required_ids = {criterion.id for criterion in policy.criteria_for(stage)}
    judged = []
    for row in result.criteria:
        if row.id in required_ids:
            judged.append(row)
    if len(judged) < len(required_ids):
        # The stage asks for more than was judged.
        return None
    verdict = verdict_of(judged)
    # The caps do not depend on the stage.
    if verdict == "READY" and result.capped_by:
        verdict = "NEEDS_JUDGEMENT"
    lines = [f"{result.feature_name} is judged {verdict} for {stage}."]
    for row in _open(judged):
        lines.append(_line(row))
    if verdict != "NOT_READY":
        for cap in result.capped_by:
            lines.append(f"Open point: {cap.text}")
    return "\n".join(lines)


def _open(criteria: Sequence[CriterionResult]) -> list[CriterionResult]:
    """Return the required criteria that do not hold, the failed ones first."""
    rows = []
    for row in criteria:
        if row.required and row.status in ("fail", "unknown"):
            rows.append(row)
    return sorted(rows, key=lambda row: row.status != "fail")


def _line(row: CriterionResult) -> str:
    state = "is not met" if row.status == "fail" else "is not known"
    cites = f" [{', '.join(row.evidence[:4])}]" if row.evidence else ""
    return f"{row.name}: {state}: {row.why}{cites}"


def _verdict_line(result: Investigation) -> str:
    return f"{result.feature_name} is judged {result.final_verdict} for {result.target_stage}."


def _blocks(result: Investigation) -> list[str]:
    lines = [_line(row) for row in _open(result.criteria)]
    for cap in result.capped_by:
        lines.append(f"Open point: {cap.text}")
    if not lines:
        return [_verdict_line(result), "No required criterion is open."]
    return [_verdict_line(result), *lines]


def _why(result: Investigation) -> list[str]:
    lines = _blocks(result)
    met_names = []
    for row in result.criteria:
        if row.required and row.status == "pass":
            met_names.append(row.name)
    if met_names:
        lines.append(f"What holds: {'; '.join(met_names)}.")
    return lines


def _who(result: Investigation) -> list[str]:
    lines = [
        f"{row.owner or 'no owner in the policy'}: {row.name}: {row.why}"
        for row in _open(result.criteria)
    ]
    for cap in result.capped_by:
        lines.append(f"release manager: {cap.text}")
    return lines or ["Nobody has to act: no required criterion is open."]


def _changed(result: Investigation) -> list[str]:
    if result.changed_since:
        return [f"Since the last time: {result.changed_since}"]
    if result.memory_status == "ok":
        return ["No earlier assessment of this feature for this stage is remembered, or none of its"
                " criteria changed."]  # fmt: skip
    return ["The memory is off, so no earlier assessment can be compared."]


def _summary(result: Investigation) -> list[str]:
    rows = _open(result.criteria)
    met = sum(row.status in ("pass", "waived") for row in result.criteria if row.required)
    total = sum(row.required for row in result.criteria)
    first = f"{_verdict_line(result)[:-1]}: {met} of {total} required criteria hold."
    if rows:
        return [first, f"Open: {'; '.join(row.name for row in rows)}."]
    if result.capped_by:
        return [first, f"Open: {'; '.join(cap.text for cap in result.capped_by)}."]
    return [first]


_ANSWERS: dict[str, Callable[[Investigation], list[str]]] = {
    "why": _why,
    "blocks": _blocks,
    "who": _who,
    "changed": _changed,
    "summary": _summary,
}
