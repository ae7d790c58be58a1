"""The verdict: the shapes of `transom.check/1` and `transom.checks/1`, their bytes and their
exit codes.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import Field

from transom.canonical import Json, pretty_json
from transom.checklist.atoms import Shape
from transom.checklist.judging.verdict_rows import (
    AcceptedRow,
    AnsweredBy,
    CheckCapRow,
    CheckedItem,
    Compared,
    ConfigDifference,
    Doubt,
    InputRead,
    MadeBy,
    Note,
    UnusedWaiver,
    Violation,
    WaivedItem,
    WaiverComment,
)
from transom.checklist.results import Acceptance, ReadingRow, WordsRow

Status = Literal["PASS", "FAIL", "ERROR", "NEEDS_MODEL", "NEEDS_REVIEW"]
Counted = Literal["PASS", "FAIL", "ERROR", "NEEDS_MODEL", "NEEDS_REVIEW", "NOT_CHECKED"]
"""What a verdict counts as: its status, or that a person accepts that there is none."""

EXIT_CODES: dict[Counted, int] = {
    "PASS": 0,
    "FAIL": 1,
    "ERROR": 2,
    "NEEDS_MODEL": 3,
    "NEEDS_REVIEW": 3,
    "NOT_CHECKED": 0,
}
_GRAVITY = (2, 3, 1, 0)
VERDICT_FILE = "verdict.json"


def _is_none(value: object) -> bool:
    return value is None


class Verdict(Shape):
    """One check's outcome.

    Where the gates left a doubt of the checker that no person took, `doubted` says which: the
    status is what was found, and waits for a person all the same. A PASS that the evidence does not
    carry is NEEDS_REVIEW: `would_be` is what it would be, `capped_by` what is lacking, `account`
    what was used and what was not; `accepted_caps` are those that a person accepted. An item whose
    description was not understood has `readings`, which may be none; the command `choose` decides
    for number N of them, counted from 1. An item that was not judged may have an `acceptance`:
    while that holds, the item counts as NOT_CHECKED, and its exit code is 0. With a `baseline` the
    `known_items` are violations that stood in the earlier result, too: the status stays what it is,
    and the exit code counts only what is new. `run_id`, `seconds` and `applied_at` belong to the
    printed form alone, so that equal inputs give equal files.
    """

    schema_: Literal["transom.check/1"] = Field(default="transom.check/1", alias="schema")
    item_id: str
    status: Status
    would_be: Annotated[Literal["PASS", "FAIL"] | None, Field(exclude_if=_is_none)] = None
    capped_by: Annotated[tuple[CheckCapRow, ...], Field(exclude_if=operator.not_)] = ()
    accepted_caps: Annotated[tuple[AcceptedRow, ...], Field(exclude_if=operator.not_)] = ()
    doubted: Annotated[tuple[Doubt, ...], Field(exclude_if=operator.not_)] = ()
    checker_type: Annotated[int, Field(ge=1, le=4)] | None
    capability_type: Annotated[int, Field(ge=1, le=4)] | None
    found_items: tuple[CheckedItem, ...] = ()
    missing_items: tuple[Violation, ...] = ()
    extra_items: tuple[Violation, ...] = ()
    known_items: Annotated[tuple[Violation, ...], Field(exclude_if=operator.not_)] = ()
    baseline: Annotated[Compared | None, Field(exclude_if=operator.not_)] = None
    waived: tuple[WaivedItem, ...] = ()
    waiver_comments: tuple[WaiverComment, ...] = ()
    unused_waivers: tuple[UnusedWaiver, ...] = ()
    errors: tuple[Note, ...] = ()
    warnings: tuple[Note, ...] = ()
    needs_model: tuple[WordsRow, ...] = ()
    readings: Annotated[tuple[ReadingRow, ...] | None, Field(exclude_if=_is_none)] = None
    choose: Annotated[str | None, Field(exclude_if=_is_none)] = None
    acceptance: Annotated[Acceptance | None, Field(exclude_if=_is_none)] = None
    matching: Literal["any", "ordered", "one_to_one"] = "any"
    sources: tuple[AnsweredBy, ...] = ()
    config_differences: tuple[ConfigDifference, ...] = ()
    inputs: tuple[InputRead, ...] = ()
    account: Annotated[dict[str, Json] | None, Field(exclude_if=_is_none)] = None
    made_by: MadeBy
    sandbox_level: str | None
    as_of: str
    run_id: str | None = None
    seconds: float | None = None

    @property
    def exit_code(self) -> int:
        if self.nothing_new:
            return 0
        return EXIT_CODES[self.counted_as]

    @property
    def nothing_new(self) -> bool:
        """Return whether all that fails it was known before."""
        return self.counted_as == "FAIL" and self.baseline is not None and not self.baseline.new

    @property
    def entries(self) -> dict[str, tuple[CheckedItem, ...]]:
        """Return the entries by the word for them, the gravest first.

        What a forbidding item found is a violation. An entry that was read and has another value
        than it must have is violated; missing is only what was not read.
        """
        # What was read with another value is violated, which says more than missing.
        absent = []
        for entry in self.missing_items:
            if not _is_found(entry):
                absent.append(entry)
        return {
            "violations": tuple(
                entry for entry in (*self.missing_items, *self.extra_items) if _is_found(entry)
            ),
            "violated": tuple(entry for entry in absent if _has_wrong_value(entry)),
            "missing": tuple(entry for entry in absent if not _has_wrong_value(entry)),
            "not wanted": tuple(entry for entry in self.extra_items if not _is_found(entry)),
            "known": self.known_items,
            "waived": self.waived,
            "holds": tuple(entry for entry in self.found_items if entry.mode == "forbid"),
            "found": tuple(entry for entry in self.found_items if entry.mode != "forbid"),
        }

    @property
    def is_judged(self) -> bool:
        """Return whether the check gave an answer."""
        return self.status in ("PASS", "FAIL")

    @property
    def is_accepted(self) -> bool:
        """Return whether a person accepts today that there is no answer; never for an error."""
        waits = self.status in ("NEEDS_MODEL", "NEEDS_REVIEW")
        return waits and self.acceptance is not None and self.acceptance.state == "holds"

    @property
    def counted_as(self) -> Counted:
        """Return what it counts as; a doubted answer needs review."""
        if self.is_accepted:
            return "NOT_CHECKED"
        if self.doubted and self.is_judged:
            return "NEEDS_REVIEW"
        return self.status


@dataclass(frozen=True)
class Outcome:
    """Judgements on the way to a verdict; with `errors` nothing follows from it.

    Attributes:
        unmeasured: items for which nothing was measured, which is a question.
    """

    found_items: tuple[CheckedItem, ...] = ()
    missing_items: tuple[Violation, ...] = ()
    extra_items: tuple[Violation, ...] = ()
    waived: tuple[WaivedItem, ...] = ()
    waiver_comments: tuple[WaiverComment, ...] = ()
    unused_waivers: tuple[UnusedWaiver, ...] = ()
    errors: tuple[Note, ...] = ()
    warnings: tuple[Note, ...] = ()
    sources: tuple[AnsweredBy, ...] = ()
    inputs: tuple[InputRead, ...] = ()
    unmeasured: tuple[Note, ...] = ()


def _is_found(entry: CheckedItem) -> bool:
    """Return whether a violation is a line that must not be there.

    Else something is not there, or not as it should be.
    """
    return entry.mode == "forbid" and entry.line_number is not None


def _has_wrong_value(entry: CheckedItem) -> bool:
    """Return whether an entry was read and its value is not as the item demands.

    The reason then begins with the field that was compared; the reason of a missing entry names a
    field without a value, or none.
    """
    # What a claim measured says itself whether it holds.
    for fields in entry.parsed_fields.values():
        if isinstance(fields, dict) and fields.get("holds") is False:
            return entry.line_number is not None
    path, _, _ = entry.reason.partition(" is ")
    category, _, field = path.partition(".")
    fields = entry.parsed_fields.get(category)
    value = fields.get(field) if isinstance(fields, dict) else None
    is_empty = value is None or (isinstance(value, str) and not value.strip())
    return entry.line_number is not None and not is_empty


class Verdicts(Shape):
    """Several checks in one document. `summary` says how many ended with each status; a doubted
    one needs review. NOT_CHECKED are those without an answer that a person accepts; the key is left
    out if there is none.
    """

    schema_: Literal["transom.checks/1"] = Field(default="transom.checks/1", alias="schema")
    summary: dict[Counted, int]
    checks: tuple[Verdict, ...]

    @property
    def exit_code(self) -> int:
        """Return the code of the gravest: an error before a pause before a no before a yes."""
        return min((check.exit_code for check in self.checks), key=_GRAVITY.index, default=0)


def together(checks: Sequence[Verdict]) -> Verdicts:
    """Return several verdicts as one document, in the order given."""
    counts = {status: sum(check.counted_as == status for check in checks) for status in EXIT_CODES}
    if not counts["NOT_CHECKED"]:
        del counts["NOT_CHECKED"]
    return Verdicts(summary=counts, checks=tuple(checks))


def printed(verdict: Verdict, *, run_id: str, seconds: float, applied_at: str = "") -> Verdict:
    """Return the verdict as it is shown.

    It has the run, its duration, the moment at which waivers were applied, else now, and the
    commands that accept what holds it back.
    """
    applied_at = applied_at or datetime.now(UTC).isoformat(timespec="seconds")
    waived = tuple(
        entry.model_copy(
            update={"waiver": entry.waiver.model_copy(update={"applied_at": applied_at})}
        )
        for entry in verdict.waived
    )
    caps = list[CheckCapRow]()
    for number, cap in enumerate(verdict.capped_by, 1):
        command = f"transom answer {run_id} --accept {number} --by NAME"
        caps.append(cap.model_copy(update={"accept": command}))
    update = {
        "run_id": run_id,
        "seconds": round(seconds, 3),
        "waived": waived,
        "capped_by": tuple(caps),
    }
    return verdict.model_copy(update=update)


def artifact_bytes(verdict: Verdict) -> bytes:
    """Return `verdict.json`: the same bytes for the same inputs."""
    data = verdict.model_dump(
        mode="json",
        by_alias=True,
        exclude={
            "run_id": True,
            "seconds": True,
            "waived": {"__all__": {"waiver": {"applied_at"}}},
        },
    )
    return pretty_json(data).encode("utf-8", "surrogatepass")
