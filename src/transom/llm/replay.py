"""`replay`: recorded conversations, asked again without a model.

A recording is one JSON file: `{"schema": "transom.recording/1", "calls": [{"role", "digest", "request", "reply"}]}`.
A request that was not recorded is an error that shows where it differs from the nearest one of its role.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import replace
from pathlib import Path

from transom.canonical import Json, digest, pretty_json, write_atomic
from transom.errors import InputError, ReplayMiss
from transom.llm.capabilities import Capabilities
from transom.llm.codec import reply_from_json
from transom.llm.deltas import OnDelta, tell
from transom.llm.render import render
from transom.llm.reply import AnsweredFrom, Reply
from transom.llm.shapes import Request, Role
from transom.llm.tokens import estimate_tokens

RECORDING_SCHEMA = "transom.recording/1"
_SHOWN_LINES = 12


class ReplayProvider:
    """Answers from a recording, by the digest of the request."""

    local = True
    caps = Capabilities(structured_output=True)  # recorded answers stand as they are, no schema has to be shown

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digest = digest(path.read_bytes()) if path.is_file() else ""
        self._replies: dict[str, Reply] = {}
        self._texts: dict[str, list[str]] = {}
        for role, asked, text, reply in _read_calls(path):
            self._replies[asked] = reply
            self._texts.setdefault(role, []).append(text)

    @property
    def name(self) -> str:
        return "replay"

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        reply = self._replies.get(request.digest)
        if reply is None:
            raise self._miss(request)
        return tell(replace(reply, by=self.name), on_delta)

    def estimate_tokens(self, request: Request) -> int:
        return estimate_tokens(render(request).as_text())

    def fingerprint(self, role: Role) -> str:  # noqa: ARG002  the Provider's signature
        return self._digest

    def still(self, source: AnsweredFrom) -> bool:  # noqa: ARG002  the Provider's signature
        return True

    def _miss(self, request: Request) -> ReplayMiss:
        text = render(request).as_text()
        recorded = self._texts.get(request.role, [])
        if not recorded:
            return ReplayMiss(f"the recording has no call of role {request.role}", where=str(self._path))
        nearest = max(
            recorded, key=lambda other: difflib.SequenceMatcher(None, other, text, autojunk=True).quick_ratio()
        )
        lines = list(
            difflib.unified_diff(nearest.splitlines(), text.splitlines(), "recorded", "asked", lineterm="", n=1)
        )
        shown = "\n".join(lines[:_SHOWN_LINES])
        return ReplayMiss(
            f"no recording of this call of role {request.role}; the nearest differs in\n{shown}",
            where=str(self._path),
            hint="record it again, or restore the prompt that it was recorded with",
        )


def _read_calls(path: Path) -> list[tuple[str, str, str, Reply]]:
    """The recorded calls: role, digest of the request, its text, the reply."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the recording: {error}", where=str(path)) from error
    if not isinstance(data, dict) or data.get("schema") != RECORDING_SCHEMA:
        raise InputError(f"not a recording: its schema is not {RECORDING_SCHEMA}", where=str(path))
    try:
        return [
            (str(call["role"]), str(call["digest"]), str(call["request"]), reply_from_json(call["reply"]))
            for call in data["calls"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"a call of the recording cannot be read: {error}", where=str(path)) from error


def write_recording(path: Path, calls: list[tuple[Request, Reply]]) -> None:
    """Write a recording that `replay` can answer from."""
    rows: list[Json] = [
        {
            "role": request.role,
            "digest": request.digest,
            "request": render(request).as_text(),
            "reply": reply.to_json(),
        }
        for request, reply in calls
    ]
    write_atomic(path, pretty_json({"schema": RECORDING_SCHEMA, "calls": rows}).encode())
