"""The answer of an investigation: the shape `transom.investigation/1`, its bytes and its exit code."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from transom.formats.release.shapes import Shape
from transom.investigator.ledger import Evidence

Verdict = Literal["READY", "NOT_READY", "NEEDS_JUDGEMENT", "INSUFFICIENT_DATA"]
StageFit = Literal["appropriate", "premature", "unclear"]
CriterionStatus = Literal["pass", "fail", "unknown", "waived"]
Doubt = Literal["", "absent", "not_measured", "mixed"]

EXIT_CODES: dict[Verdict, int] = {"READY": 0, "NOT_READY": 1, "NEEDS_JUDGEMENT": 3, "INSUFFICIENT_DATA": 3}


class CriterionResult(Shape):
    """One criterion, judged.

    Attributes:
        why: one clause.
        doubt: of an unknown one: nothing was there, it was not measured, or its signals are mixed.
        source: what it is judged by.
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


class Risk(Shape):
    """Something that may go wrong."""

    text: str
    severity: Literal["high", "medium", "low"]
    evidence: list[str] = Field(default_factory=list)


class Unsupported(Shape):
    """A claim that nothing supports: a struck sentence, or one of the data that only a person could make good."""

    text: str
    why: str
    where: str = ""


class Injection(Shape):
    """Text that addresses whoever reads it with a program."""

    source: str
    locator: str
    quote: str


class Contradiction(Shape):
    """Two places that do not agree."""

    text: str
    evidence: list[str] = Field(default_factory=list)
    criterion: str = ""


class Unread(Shape):
    """A source that was not read, or not to its end."""

    source: str
    why: str


class WaiverUse(Shape):
    """A waiver and what became of it."""

    criterion: str
    approver: str
    reason: str
    expires: str
    applied: bool
    why: str = ""


class SubConversation(Shape):
    """A source's own conversation."""

    id: str
    purpose: str
    summary: str
    tokens_read: int = 0
    tokens_returned: int = 0


class UsageRow(Shape):
    """Tokens and their price."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class Judgement(Shape):
    """A person's verdict beside the first, within the hard gates."""

    verdict: Verdict
    by: str
    reason: str
    asked: Verdict


class Investigation(Shape):
    """The whole answer. See CONTRACTS of the command line; `judgement` stands beside the first verdict."""

    schema_: Literal["transom.investigation/1"] = Field(default="transom.investigation/1", alias="schema")
    question: str
    feature_id: str
    feature_name: str
    current_stage: str | None
    target_stage: str
    stage_fit: StageFit
    verdict: Verdict
    confidence: float
    criteria: list[CriterionResult]
    risks: list[Risk] = Field(default_factory=list)
    evidence: list[Evidence] = Field(default_factory=list)
    unsupported_claims: list[Unsupported] = Field(default_factory=list)
    injection_attempts: list[Injection] = Field(default_factory=list)
    contradictions: list[Contradiction] = Field(default_factory=list)
    questions: list[str] = Field(default_factory=list)
    unread: list[Unread] = Field(default_factory=list)
    waivers: list[WaiverUse] = Field(default_factory=list)
    changed_since: str | None = None
    memory_status: Literal["ok", "off", "broken"] = "off"
    justification: str = ""
    judgement: Judgement | None = None
    sub_conversations: list[SubConversation] = Field(default_factory=list)
    usage: UsageRow = UsageRow()
    trace_id: str = ""
    run_id: str = ""

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.judgement.verdict if self.judgement else self.verdict]


def judged_line(result: Investigation) -> str:
    """The sentence with which a justification begins that the rules made."""
    return f"{result.feature_name} is judged {result.verdict} for {result.target_stage}."
