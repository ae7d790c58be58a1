"""What is read from a source: observations with their places, and remarks."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from transom.formats.release.words import Nature

Kind = Literal["analysis", "document", "jira"]
State = Literal["read", "absent", "empty", "placeholder", "unreadable", "in_part"]
RemarkKind = Literal["injection", "waiver_claim", "contradiction", "doubt", "risk", "suppressed"]

ABSENT: frozenset[State] = frozenset({"absent", "empty", "placeholder", "unreadable"})


class Shape(BaseModel):
    """Base of all shapes: frozen, no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Operand(Shape):
    """A value that another one is calculated from."""

    value: str
    locator: str
    quote: str = ""


class Observation(Shape):
    """One thing that a source says, and where.

    Attributes:
        measure: what it is, e.g. `tests.failed`.
        value: a number as it stands, or a status (`pass`, `fail`, `conditional`, `pending`, `progress`).
        unit: `%`, `ms`, `/s` or empty.
        locator: JSON pointer, path of an XML element, `line:12`, or `lines:3-9`.
        label: of what, for people: a test, an endpoint, a reviewer.
        said: of a status, the word that stands there.
        nature: only what is `measured` decides.
        limit: what the source itself asks for, `at_most` or at least.
        formula: of a derived value, over the operands `a`, `b`, ...
    """

    measure: str
    value: float | str
    locator: str
    unit: str = ""
    label: str = ""
    quote: str = ""
    said: str = ""
    nature: Nature = "measured"
    limit: float | None = None
    limit_at: str = ""
    at_most: bool = True
    formula: str = ""
    operands: tuple[Operand, ...] = ()

    @property
    def number(self) -> float | None:
        return self.value if isinstance(self.value, float) else None


class Remark(Shape):
    """Something to be reported that is no measurement."""

    kind: RemarkKind
    text: str
    locator: str
    quote: str = ""
    severity: Literal["high", "medium", "low"] = "medium"
    measure: str = ""


class Reading(Shape):
    """What came of reading one source.

    Attributes:
        source: path relative to the data folder, or an address.
        name: the analysis type, the document's name, `jira`.
        state: whether there was something to read.
        why: of a source that says nothing, the reason.
        words: of a document, words of substance.
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
    observations: tuple[Observation, ...] = ()
    remarks: tuple[Remark, ...] = ()

    @property
    def usable(self) -> bool:
        return self.state not in ABSENT
