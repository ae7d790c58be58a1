"""Results of reading a source: observations with their places, and remarks."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from transom.evidence.subject_names import Facet

Nature = Literal["measured", "estimate", "planned", "history", "limit"]
Kind = Literal["analysis", "document", "jira"]
State = Literal["read", "absent", "empty", "placeholder", "unreadable", "in_part"]
RemarkKind = Literal[
    "injection",
    "waiver_claim",
    "contradiction",
    "doubt",
    "risk",
    "suppressed",
    "settled",
    "trouble",
]
"""`settled`: an entry that was read and is over; `trouble`: a word of trouble that no reader
explains.
"""

# Sources in these states prove nothing; `in_part` is not among them, since what was read counts.
ABSENT: frozenset[State] = frozenset({"absent", "empty", "placeholder", "unreadable"})


class MeasurementShape(BaseModel):
    """Base of the models: frozen, no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Operand(MeasurementShape):
    """An operand of a calculated value."""

    value: str
    locator: str
    quote: str = ""


class Observation(MeasurementShape):
    """One statement of a source, with its place.

    Attributes:
        measure: the measure's name, e.g. `tests.failed`.
        value: a number, or a status (`pass`, `fail`, `conditional`, `pending`, `progress`).
        unit: `%`, `ms`, `/s` or "".
        locator: JSON pointer, path of an XML element, `line:12`, or `lines:3-9`.
        label: name of the test, endpoint or reviewer.
        said: the status as written.
        nature: only `measured` values decide.
        limit: the source's own target, an upper bound with `at_most`, else a lower one.
        formula: formula of a calculated value over the operands `a`, `b`, ...
    """

    measure: str
    value: float | str
    locator: str
    unit: str = ""
    label: str = ""
    quote: str = ""
    said: str = ""
    # Readers of documents set it; a tool measures unless it says otherwise.
    nature: Nature = "measured"
    limit: float | None = None
    limit_at: str = ""
    at_most: bool = True
    formula: str = ""
    operands: tuple[Operand, ...] = ()

    @property
    def number(self) -> float | None:
        return self.value if isinstance(self.value, float) else None


class Remark(MeasurementShape):
    """Something to report that is not a measurement."""

    kind: RemarkKind
    text: str
    locator: str
    quote: str = ""
    severity: Literal["high", "medium", "low"] = "medium"
    measure: str = ""


class SubjectFact(MeasurementShape):
    """A statement of a source on what it is about, or on when it was made."""

    facet: Facet
    text: str
    locator: str = ""


class Reading(MeasurementShape):
    """The result of reading one source.

    Attributes:
        source: path relative to the data folder, or a URL.
        name: the analysis type, the document's name, `jira`.
        state: whether the source could be read and has contents.
        why: the reason if there are no observations.
        words: words of substance of a document.
        tool: the tool that wrote it, if it is known.
        subject: the source's own statements on what it is about and when it was made.
    """

    source: str
    kind: Kind
    name: str
    state: State = "read"
    why: str = ""
    sha256: str = ""
    size: int = 0
    title: str = ""
    words: int = 0
    tool: str = ""
    subject: tuple[SubjectFact, ...] = ()
    observations: tuple[Observation, ...] = ()
    remarks: tuple[Remark, ...] = ()

    @property
    def usable(self) -> bool:
        return self.state not in ABSENT
