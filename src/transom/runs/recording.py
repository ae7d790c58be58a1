"""From a run's journal to a recording that `replay` answers from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transom.errors import InputError
from transom.llm import EgressPolicy, Reply, Request, render
from transom.llm.codec import reply_from_json, request_from_json
from transom.llm.replay import RecordedCall, Recording
from transom.runs.windows import requests_of
from transom.store import Record, Store
from transom.telemetry import Redactor


def every(data: Any) -> bool:  # noqa: ARG001  one that chooses looks at it
    """Chooses all calls."""
    return True


def recording_of(
    store: Store,
    records: Sequence[Record],
    *,
    policy: EgressPolicy,
    redact: Redactor,
    local: bool = False,
    which: Callable[[Any], bool] = every,
) -> Recording:
    """What models were asked in a run, and what they answered.

    Args:
        store: has the windows of the calls.
        records: of the run, oldest first.
        policy: what is local beside what its maker marked so.
        redact: takes keys out of the requests' texts.
        local: whether text that is marked local may get into the recording.
        which: calls, by their journal record.

    Raises:
        InputError: no model was asked; something is local and may not get into it; a reply holds a key.
    """
    asked = zip([one.data for one in records if one.kind == "model_reply"], requests_of(store, records), strict=True)
    calls, windows = [], []
    data: Any
    for number, (data, found) in enumerate(asked, 1):
        if not which(data):
            continue
        request, reply = request_from_json(found), reply_from_json(data["reply"])
        _check(f"call {number} ({request.role})", request, reply, redact, None if local else policy)
        calls.append(RecordedCall(request.role, data["request"], redact(render(request).as_text()), reply))
        windows += [data["context_tokens"]] if "context_tokens" in data else []
    if not calls:
        raise InputError("no model was asked, so that there is nothing to record")
    return Recording(tuple(calls), windows[0] if windows else None)


def _check(where: str, request: Request, reply: Reply, redact: Redactor, policy: EgressPolicy | None) -> None:
    """Whether a call may stand in a file that goes from hand to hand."""
    kept = policy.kept(request) if policy else None
    if policy and not kept and reply.egress != "any":
        kept = "its reply"
    if kept:
        hint = "where the recording may hold it say --local (in a program local=True)"
        raise InputError(f"{kept} is marked local and would stand in the recording", where=where, hint=hint)
    if redact.inside(reply.to_json()) != reply.to_json():
        hint = "without it what follows could not be played; have it asked for without the key"
        raise InputError("the reply holds a key, which stands in no recording", where=where, hint=hint)
