"""What is asked, and what an answer rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from transom.investigator.deciding import Decision
from transom.investigator.gathering import SourceReport
from transom.investigator.ledger import Ledger
from transom.investigator.policy import Policy, Waiver
from transom.investigator.result import Unsupported
from transom.investigator.sources import DataFolder, Feature
from transom.learning import Playbook
from transom.memory import Memory


@dataclass(frozen=True)
class Inquiry:
    """What is asked, of which data, by which policy.

    Attributes:
        target: the stage that `--target` names.
        as_of: the day by which waivers expire.
        memory: of past assessments; None where it is off.
        playbook: what was learned; readers and main thread are shown what fits, and what came of it is counted.
    """

    question: str
    data: DataFolder
    policy: Policy
    as_of: date
    target: str | None = None
    waivers: Sequence[Waiver] = field(default_factory=tuple)
    memory: Memory | None = None
    playbook: Playbook | None = None


@dataclass(frozen=True)
class Case:
    """All that the last phase rests on; `insights` is what the playbook has for it."""

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
