"""The answer of an investigation: the model `transom.investigation/1` and its exit code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from transom.evidence.caps import CapRule
from transom.evidence.claims import CheckedSentence
from transom.formats.measurements import MeasurementShape
from transom.investigator.ledger import Evidence

Verdict = Literal["READY", "NOT_READY", "NEEDS_JUDGEMENT", "INSUFFICIENT_DATA"]
StageFit = Literal["appropriate", "premature", "unclear"]
CriterionStatus = Literal["pass", "fail", "unknown", "waived", "not_applicable"]
Doubt = Literal["", "absent", "not_measured", "mixed"]

EXIT_CODES: dict[Verdict, int] = {
    "READY": 0,
    "NOT_READY": 1,
    "NEEDS_JUDGEMENT": 3,
    "INSUFFICIENT_DATA": 3,
}


class CriterionResult(MeasurementShape):
    """The result of one criterion.

    Attributes:
        status: `not_applicable` counts neither for nor against the feature.
        why: the reason, one clause.
        doubt: why it is unknown: data absent, not measured, or mixed signals.
        source: the analysis type, `jira` or `documents` that it is judged by.
    """

    id: str
    name: str
    required: bool
    status: CriterionStatus
    evidence: list[str]
    why: str = ""
    doubt: Doubt = ""
    owner: str = ""
    source: str = ""


class Risk(MeasurementShape):
    """A risk."""

    text: str
    severity: Literal["high", "medium", "low"]
    evidence: list[str] = Field(default_factory=list)


class Unsupported(MeasurementShape):
    """A claim without support: a struck sentence, or a statement in the data that needs a
    person's waiver.
    """

    text: str
    why: str
    where: str = ""


def unsupported_of(sentences: Iterable[CheckedSentence], where: str) -> list[Unsupported]:
    """Return sentences that nothing supports, with the text that they come from."""
    return [
        Unsupported(text=sentence.sentence, why=sentence.why, where=where) for sentence in sentences
    ]


class Injection(MeasurementShape):
    """Text in the data that gives instructions to a model."""

    source: str
    locator: str
    quote: str


class Contradiction(MeasurementShape):
    """Two places that contradict each other."""

    text: str
    evidence: list[str] = Field(default_factory=list)
    criterion: str = ""


class Unread(MeasurementShape):
    """A source that was not read, or only in part.

    Attributes:
        could_matter: whether it holds a READY back.
    """

    source: str
    why: str
    could_matter: bool = True


class SourceUse(MeasurementShape):
    """A file of the feature: what it was taken for, and of what and when it is.

    Attributes:
        taken_for: the analysis type, `document`, `jira` or `changelog`; "" if it was not used.
        tool: the tool that wrote it, if it is known.
        made: the newest date that it states.
        subject: what it says of the feature, commit, branch, version and image.
        reason: why it was not used.
    """

    source: str
    taken_for: str = ""
    tool: str = ""
    made: str = ""
    subject: dict[str, list[str]] = Field(default_factory=dict)
    reason: str = ""


class CapRow(MeasurementShape):
    """What holds a READY back, and the entry of a policy that accepts it."""

    rule: CapRule
    text: str
    source_file: str | None = None
    line_number: int | None = None
    accept: str = ""


class WaiverOutcome(MeasurementShape):
    """A waiver, and whether it applied."""

    criterion: str
    approver: str
    reason: str
    expires: str
    applied: bool
    why: str = ""


class ReaderConversation(MeasurementShape):
    """The conversation of one source's reader."""

    id: str
    purpose: str
    summary: str
    tokens_read: int = 0
    tokens_returned: int = 0


class UsageRow(MeasurementShape):
    """Tokens and their cost in USD."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class Judgement(MeasurementShape):
    """A person's verdict beside the first one, within the hard gates."""

    verdict: Verdict
    by: str
    reason: str
    asked: Verdict


class Investigation(MeasurementShape):
    """The whole answer.

    Attributes:
        verdict: the verdict of the rules, or a model's lower one.
        rules_verdict: the verdict of the rules if the final one differs, else None.
        would_be: the verdict that `capped_by` holds back, else None.
        data_quality: what Jira says of the feature's data, else how much of it there is.
        sources: every file of the feature, used or not.
        judgement: a person's verdict beside the first one; it is the final one.
    """

    schema_: Literal["transom.investigation/1"] = Field(
        default="transom.investigation/1", alias="schema"
    )
    question: str
    feature_id: str
    feature_name: str
    current_stage: str | None
    target_stage: str
    stage_fit: StageFit
    data_quality: str = ""
    verdict: Verdict
    rules_verdict: Verdict | None = None
    would_be: Verdict | None = None
    capped_by: list[CapRow] = Field(default_factory=list)
    confidence: float
    criteria: list[CriterionResult]
    risks: list[Risk] = Field(default_factory=list)
    evidence: list[Evidence] = Field(default_factory=list)
    unsupported_claims: list[Unsupported] = Field(default_factory=list)
    injection_attempts: list[Injection] = Field(default_factory=list)
    contradictions: list[Contradiction] = Field(default_factory=list)
    questions: list[str] = Field(default_factory=list)
    unread: list[Unread] = Field(default_factory=list)
    sources: list[SourceUse] = Field(default_factory=list)
    waivers: list[WaiverOutcome] = Field(default_factory=list)
    changed_since: str | None = None
    memory_status: Literal["ok", "off", "broken"] = "off"
    justification: str = ""
    judgement: Judgement | None = None
    sub_conversations: list[ReaderConversation] = Field(default_factory=list)
    usage: UsageRow = UsageRow()
    trace_id: str = ""
    run_id: str = ""

    @property
    def final_verdict(self) -> Verdict:
        """A person's verdict if there is one, else that of the rules or a model."""
        if self.judgement:
            return self.judgement.verdict
        return self.verdict

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.final_verdict]


def judged_line(result: Investigation) -> str:
    """Return the first sentence of a justification by the rules."""
    return f"{result.feature_name} is judged {result.verdict} for {result.target_stage}."
