"""The inputs of an investigation, and the case that its answer rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from transom.investigator.deciding import Decision
from transom.investigator.features import Feature
from transom.investigator.gathering import SourceReport
from transom.investigator.ledger import Ledger
from transom.investigator.policy import CriterionWaiver, Policy
from transom.investigator.remembering import Remembered
from transom.investigator.result import Unsupported
from transom.investigator.sources import DataFolder
from transom.learning import Playbook
from transom.memory import Memory


@dataclass(frozen=True)
class Inquiry:
    """The question, the data and the policy of an investigation.

    Attributes:
        target: the stage given by `--target`.
        as_of: the day on which the feature is judged: ages and expiry count from it.
        memory: memory of past assessments; None if it is off.
        playbook: readers and main thread see the insights that fit; outcomes count for those they
            cite.
    """

    question: str
    data: DataFolder
    policy: Policy
    as_of: date
    target: str | None = None
    waivers: Sequence[CriterionWaiver] = field(default_factory=tuple)
    memory: Memory | None = None
    playbook: Playbook | None = None


@dataclass(frozen=True)
class Case:
    """The inputs of the last phase; `insights` is the playbook's text for it, `before` what is
    remembered of the last assessment.
    """

    feature: Feature
    current: str | None
    target: str
    decision: Decision
    ledger: Ledger
    reports: Sequence[SourceReport]
    summaries: Mapping[str, str]
    shown: Sequence[str]
    struck: Sequence[Unsupported]
    insights: str = ""
    before: Remembered | None = None
