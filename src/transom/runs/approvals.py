"""A person's leave to carry out a tool call: asked for, given or refused, and kept in the journal."""

from __future__ import annotations

import getpass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from transom.canonical import Json, canonical_json, digest
from transom.errors import InputError
from transom.llm import ToolCall

APPROVE, REFUSE = "approve", "refuse"


class Approval(BaseModel):
    """What a person says to one tool call; `ApprovalRequest.approve` and `.refuse` make it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fingerprint: str
    decision: Literal["approve", "refuse"]
    by: str
    reason: str = ""


class ApprovalRequest(BaseModel):
    """One tool call that waits for a person. It says all that she needs to decide, and survives JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run_id: str
    stage: str
    tool: str
    arguments: Json
    fingerprint: str

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
        key: see `Stage.call_keys`; the same call elsewhere in the run is a question of its own.
        call: what is asked for.
    """
    fingerprint = digest(["approval", key])
    stage = str(key["stage"])
    return ApprovalRequest(
        run_id=run_id, stage=stage, tool=call.name, arguments=call.arguments, fingerprint=fingerprint
    )


def choice_of(request: ApprovalRequest) -> dict[str, str]:
    """The choice that a run pauses with."""
    return {
        "kind": "approval",
        "stage": request.stage,
        "fingerprint": request.fingerprint,
        "edited": "",
        "tool": request.tool,
        "arguments": canonical_json(request.arguments),
    }


def decided(approval: Approval, stage: str) -> dict[str, Json]:
    """The journal's `decided` record."""
    return {
        "stage": stage,
        "fingerprint": approval.fingerprint,
        "edited": "",
        "answer": approval.decision,
        "approval": approval.model_dump(mode="json"),
    }


def from_words(choice: dict[str, str], answer: str, reason: str) -> Approval:
    """What `transom answer RUN approve|refuse` means.

    Raises:
        InputError: it is neither.
    """
    if answer == APPROVE:
        return Approval(fingerprint=choice["fingerprint"], decision="approve", by=_somebody(), reason=reason)
    if answer == REFUSE:
        return Approval(fingerprint=choice["fingerprint"], decision="refuse", by=_somebody(), reason=reason)
    what = f"{answer!r} does not say whether {choice['tool']}({choice['arguments']}) is to be carried out"
    raise InputError(what, hint="say approve or refuse")


def _somebody() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return "a person"
