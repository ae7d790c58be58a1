"""The rows of a verdict: what was found, missing, waived or remarked, and what it rests on."""

from __future__ import annotations

import operator
from typing import Annotated, Literal

from pydantic import Field

from transom.canonical import Json
from transom.checklist.atoms import Rank, Shape
from transom.evidence.caps import CapRule


class Nearest(Shape):
    """The line that comes nearest to what was looked for, and why it does not do."""

    source_file: str
    line_number: int | None = None
    content: str = ""
    why_not: str


class DecidedBy(Shape):
    """The place of an entry that decided."""

    source_file: str
    line_number: int | None
    matched_content: str


class CheckedItem(Shape):
    """One thing that was judged, with its evidence.

    Attributes:
        id, name: of the validation item.
        value: what was seen; for a pattern that nothing matched, the pattern; empty where nothing
            was seen.
        source_file: None only where no file can be named.
        reason: why it was judged so, one clause.
        decided_by: every entry that decided, where it was not the one that is shown alone; absent
            otherwise.
        mode: `forbid` where the item says what must not appear; absent otherwise.
    """

    id: str
    name: str
    value: str = ""
    source_file: str | None = None
    line_number: int | None = None
    matched_content: str = ""
    parsed_fields: dict[str, Json] = Field(default_factory=dict)
    severity: Literal["INFO", "ERROR"] = "INFO"
    reason: str
    # Left out if it is the usual one, so that the bytes of older verdicts stay the same.
    mode: Annotated[
        Literal["require", "forbid", "allow"], Field(exclude_if=lambda mode: mode == "require")
    ] = "require"
    decided_by: Annotated[tuple[DecidedBy, ...], Field(exclude_if=operator.not_)] = ()


class Violation(CheckedItem):
    """A missing or an extra item."""

    severity: Literal["INFO", "ERROR"] = "ERROR"
    nearest: Nearest | None = None


class WaiverUse(Shape):
    """The waiver that a violation was moved by, and the text that it matched."""

    pattern: str
    match: Literal["exact", "wildcard", "regex", "keyword", "global"]
    matched_text: str
    reason: str | None = None
    owner: str | None = None
    expires: str | None = None
    applied_at: str | None = None


class WaivedItem(Violation):
    """A violation that a waiver covers."""

    severity: Literal["INFO"] = "INFO"
    origin: Literal["missing", "extra"]
    tag: Literal["[WAIVED_AS_INFO]", "[WAIVER]"]
    waiver: WaiverUse


class WaiverComment(Shape):
    """What was written beside a global waiver; no violation."""

    tag: Literal["[WAIVED_INFO]"] = "[WAIVED_INFO]"
    kind: Literal["comment"] = "comment"
    text: str
    reason: str | None = None


class UnusedWaiver(Shape):
    """A waiver that no violation needed, and why."""

    pattern: str
    tag: Literal["[WAIVER]"] = "[WAIVER]"
    severity: Literal["WARN"] = "WARN"
    why: str
    reason: str | None = None


class Note(Shape):
    """Why a check has no answer, or what a reader should know and does not decide; of a file, a
    line or neither.
    """

    source_file: str | None = None
    line_number: int | None = None
    message: str


class Compared(Shape):
    """How a verdict compares with an earlier one of its item: findings that are new, known, and
    gone since.
    """

    new: int
    known: int
    gone: int


class Doubt(Shape):
    """What a gate of the build could not see proven of the checker."""

    gate: str
    line: int | None
    message: str


class AnsweredBy(Shape):
    """Which source spoke for a validation item."""

    item: str
    answered_by: Rank
    source_file: str


class ConfigDifference(Shape):
    """Where the item says something else than the checker's defaults; the item counts."""

    key: str
    item: str
    checker: str


class InputRead(Shape):
    """A file that was read: digest and size of its bytes on disk, lines of its text.

    Attributes:
        formats: the report formats that it was recognised by; absent if none fits.
        identity: what it says of its tool, design, stage, corner, date, ..., each with its line.
    """

    path: str
    sha256: str
    bytes: int
    lines: int
    formats: Annotated[tuple[str, ...], Field(exclude_if=operator.not_)] = ()
    identity: Annotated[dict[str, Json], Field(exclude_if=operator.not_)] = Field(
        default_factory=dict
    )


class CheckCapRow(Shape):
    """What holds a PASS back, and the command with which a person accepts it."""

    rule: CapRule
    text: str
    source_file: str | None = None
    line_number: int | None = None
    accept: str = ""


class AcceptedRow(Shape):
    """A cap that a person accepted."""

    text: str
    by: str
    until: str | None = None


class MadeBy(Shape):
    """Who and what stands behind the verdict.

    Attributes:
        mutation_score: 0..1, how much of what the gates tried on the checker had to change its
            result and did.
        mutation_kinds: what they tried; absent where nobody recorded it.
    """

    transom: str
    item_sha256: str | None = None
    itemspec_sha256: str | None = None
    checker_sha256: str | None = None
    provider: str | None = None
    model: str | None = None
    mutation_score: float | None = None
    mutation_kinds: Annotated[tuple[str, ...], Field(exclude_if=operator.not_)] = ()
    approved_by: str | None = None
