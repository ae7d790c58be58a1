"""A person's leave to carry out a tool call: asked for, given or refused, and kept in the journal."""

from __future__ import annotations

import getpass
from collections.abc import Iterable
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from transom.canonical import Json, digest
from transom.errors import InputError
from transom.llm import ToolCall
from transom.runs.waiting import Choice, cut
from transom.store import Record

APPROVE, REFUSE = "approve", "refuse"


class Approval(BaseModel):
    """What a person says to one tool call; `ApprovalRequest.approve` and `.refuse` make it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fingerprint: str
    decision: Literal["approve", "refuse"]
    by: str = Field(min_length=1)
    reason: str = ""


class ApprovalRequest(BaseModel):
    """One tool call that waits for a person. It says all that she needs to decide, and survives JSON.

    Attributes:
        place: digest of where in the run the call stands.
        fingerprint: digest of all the rest, so that an answer counts for what she was shown and for nothing else.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)  # arguments may be local

    run_id: str
    stage: str
    tool: str
    arguments: Json
    place: str
    fingerprint: str

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.fingerprint != _fingerprint(self.run_id, self.stage, self.tool, self.arguments, self.place):
            raise ValueError("the question was changed after it was asked; ask the run again")
        return self

    def approve(self, by: str, reason: str = "") -> Approval:
        """Leave to carry it out, once."""
        return Approval(fingerprint=self.fingerprint, decision="approve", by=by, reason=reason)

    def refuse(self, by: str, reason: str = "") -> Approval:
        """The model is told the reason and goes on without the call."""
        return Approval(fingerprint=self.fingerprint, decision="refuse", by=by, reason=reason)


def approval_request(run_id: str, key: dict[str, object], call: ToolCall) -> ApprovalRequest:
    """What is asked about a call.

    Args:
        run_id: whose call it is.
        key: see `Stage.called`; the same call elsewhere in the run is a question of its own.
        call: what is asked for.
    """
    stage, place = str(key["stage"]), digest(["approval", key])
    fingerprint = _fingerprint(run_id, stage, call.name, call.arguments, place)
    return ApprovalRequest(
        run_id=run_id, stage=stage, tool=call.name, arguments=call.arguments, place=place, fingerprint=fingerprint
    )


def _fingerprint(*shown: Json) -> str:
    return digest([*shown])


def check_asked(approval: Approval, records: Iterable[Record]) -> str:
    """Hold an answer against what the journal says was asked.

    Returns:
        The stage in which it was asked.

    Raises:
        InputError: nothing like it was asked in this run, or it has another answer already.
    """
    asked = ""
    for record in records:
        data: Any = record.data
        if record.kind == "paused" and (data.get("choice") or {}).get("fingerprint") == approval.fingerprint:
            asked = data["stage"]
        if record.kind == "decided" and data.get("approval", {}).get("fingerprint") == approval.fingerprint:
            before = Approval.model_validate(data["approval"])
            if before.decision != approval.decision:
                raise InputError(f"{before.by} said {before.decision} to it already", hint="that answer counts")
    if not asked:
        raise InputError("no call of this run waits for that answer", hint="answer what ApprovalNeeded.request says")
    return asked


def decided(approval: Approval, stage: str) -> dict[str, Json]:
    """The journal's `decided` record."""
    return {
        "stage": stage,
        "fingerprint": approval.fingerprint,
        "edited": "",
        "answer": approval.decision,
        "approval": approval.model_dump(mode="json"),
    }


def from_words(choice: Choice, answer: str, reason: str) -> Approval:
    """What `transom answer RUN approve|refuse` means.

    Raises:
        InputError: it is neither.
    """
    if answer == APPROVE:
        return Approval(fingerprint=choice["fingerprint"], decision="approve", by=_somebody(), reason=reason)
    if answer == REFUSE:
        return Approval(fingerprint=choice["fingerprint"], decision="refuse", by=_somebody(), reason=reason)
    what = f"{answer!r} does not say whether {cut(choice)} is to be carried out"
    raise InputError(what, hint="say approve or refuse")


def _somebody() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return "a person"
