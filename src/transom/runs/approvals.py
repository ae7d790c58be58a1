"""What a person says to a run: leave for a tool call, which of two versions counts, or an answer to a question."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from transom.canonical import Json, digest
from transom.errors import InputError
from transom.llm import ToolCall
from transom.runs.journal import RunState
from transom.runs.questions import APPROVAL, QUESTION, Choice, cut, read_answer
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
    """One tool call that waits for a person. It says all that a decision needs, and survives JSON.

    Attributes:
        place: digest of where in the run the call stands.
        fingerprint: digest of all the rest, so that an answer counts for what was shown and for nothing else.
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


def why_it_waits(choice: Choice, folder: Path, state: RunState) -> str:
    """One clause for a person; an answer that an edit made void is named."""
    path = folder / choice["file"]
    if any(key[:2] == (choice["stage"], choice["fingerprint"]) for key in state.decisions):
        return f"{path} was changed again after the answer for stage {choice['stage']}"
    return f"both {path} and what stage {choice['stage']} is made from have changed"


def how_to_answer(run_id: str, stage: str, state: RunState) -> str:
    """The commands; with the stage where several wait."""
    which = f" --question {stage}" if set(state.waiting) - {(stage, "")} else ""
    return f"say which counts: transom answer {run_id} keep{which}, or transom answer {run_id} redo{which}"


def answered(
    choice: Choice, folder: Path, answer: str, progress: Callable[[str], None], reason: str = "", *, by: str = ""
) -> dict[str, Any]:
    """The journal's `decided` record for a person's answer, for the file as it lies there now.

    Raises:
        InputError: the answer does not fit what is waited for.
    """
    if choice.get("kind") == APPROVAL:
        return decided(from_words(choice, answer, reason), choice["stage"])
    if choice.get("kind") == QUESTION:
        text = read_answer(choice["options"], answer, choice["stage"])
        kept = {name: choice[name] for name in ("stage", "fingerprint", "edited")}
        return {**kept, "answer": text, "person": {"text": text, "by": by, "reason": reason}}
    if answer not in ("keep", "redo"):
        raise InputError(f"{answer!r} is no answer", hint="say keep or redo")
    if "file" in choice:
        return {**choice, "edited": _as_it_is(choice, folder, progress), "answer": answer}
    return {**{name: choice[name] for name in ("stage", "fingerprint", "edited")}, "answer": answer}


def _as_it_is(choice: Choice, folder: Path, progress: Callable[[str], None]) -> str:
    """Digest of the file that a choice is about; where it changed since the run paused, the person is told."""
    path = folder / choice["file"]
    if not path.is_file():
        return str(choice["edited"])  # gone: the next walk makes it anew, whatever was answered
    found = digest(path.read_bytes())
    if found != choice["edited"]:
        progress(f"{path} was changed again since the run paused; the answer is for it as it is now")
    return found
