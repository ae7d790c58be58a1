"""`replay`: recorded conversations, answered again without a model.

A recording is one JSON file: `{"schema": "transom.recording/1", "calls": [{"role", "digest",
"request", "reply"}]}`. Its `context_tokens` is the window of the model that answered, if it had a
window: with another window, the requests differ. A request that was not recorded is an error, which
shows where it differs from the nearest recorded request of its role.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from transom.canonical import Json, digest, pretty_json, write_atomic
from transom.errors import InputError, ReplayMiss
from transom.llm.capabilities import UNBOUNDED, Capabilities
from transom.llm.codec import reply_from_json
from transom.llm.deltas import OnDelta, tell
from transom.llm.provider import Provider
from transom.llm.render import render
from transom.llm.reply import Reply
from transom.llm.shapes import Request, Role

RECORDING_SCHEMA = "transom.recording/1"
_SHOWN_LINES = 12
_HOW_TO_MEND = (
    "record it again (transom runs record RUN FILE), or restore the prompt, tools and settings of"
    " the recording"
)


@dataclass(frozen=True)
class RecordedCall:
    """A request of a role, by its digest and as text for people, and its reply."""

    role: str
    digest: str
    request: str
    reply: Reply

    def to_json(self) -> dict[str, Json]:
        return {
            "role": self.role,
            "digest": self.digest,
            "request": self.request,
            "reply": self.reply.to_json(),
        }


@dataclass(frozen=True)
class Recording:
    """Recorded requests to models, with their replies.

    Attributes:
        calls: in order; the last answer to the same request counts.
        context_tokens: the window of the model that answered; None if it has none, or it is
            unknown.
    """

    calls: tuple[RecordedCall, ...]
    context_tokens: int | None = None

    def write(self, path: Path) -> None:
        """Write the recording, over an older one.

        Raises:
            InputError: the file is not a recording, or cannot be written.
        """
        # Reading raises for any other file, which must not be overwritten.
        if path.exists():
            self.read(path)
        data: dict[str, Json] = {"schema": RECORDING_SCHEMA}
        if self.context_tokens:
            data["context_tokens"] = self.context_tokens
        data["calls"] = [call.to_json() for call in self.calls]
        try:
            write_atomic(path, pretty_json(data).encode())
        except OSError as error:
            raise InputError(
                f"cannot write the recording: {error.strerror or error}", place=str(path)
            ) from error

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what `write` wrote; InputError if the file is not a recording."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(data, dict) or data.get("schema") != RECORDING_SCHEMA:
                raise ValueError(f"its schema is not {RECORDING_SCHEMA}")
            calls = []
            for row in data["calls"]:
                reply = reply_from_json(row["reply"])
                calls.append(RecordedCall(**{**row, "reply": reply}))
            return cls(tuple(calls), data.get("context_tokens"))
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"cannot read the recording: {error}", place=str(path)) from error


class ReplayProvider(Provider):
    """A provider that answers from a recording, by the digest of the request.

    Raises:
        InputError: the recording cannot be read.
    """

    name = "replay"
    local = True
    is_retried = False
    caps: Capabilities = Capabilities()

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        recording = Recording.read(self._path)
        self._digest = digest(self._path.read_bytes())
        self._replies = {call.digest: call.reply for call in recording.calls}
        # By role, to show what differs if a request was not recorded.
        self._texts: dict[str, list[str]] = {}
        for call in recording.calls:
            self._texts.setdefault(call.role, []).append(call.request)
        # Recorded answers stand as they are: no schema has to be shown.
        context_tokens = recording.context_tokens or UNBOUNDED
        self.caps = Capabilities(context_tokens, structured_output=True, images=True, files=True)

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        reply = self._replies.get(request.digest)
        if reply is None:
            raise self._miss(request)
        return tell(replace(reply, by=self.name), on_delta)

    def fingerprint(self, role: Role) -> str:  # noqa: ARG002  the Provider's signature
        return self._digest

    def _miss(self, request: Request) -> ReplayMiss:
        text = render(request).as_text()
        recorded = self._texts.get(request.role, [])
        if not recorded:
            return ReplayMiss(
                f"the recording has no call of role {request.role}",
                place=str(self._path),
                hint=_HOW_TO_MEND,
            )

        def likeness(recorded_text: str) -> float:
            return difflib.SequenceMatcher(None, recorded_text, text).quick_ratio()

        nearest = max(recorded, key=likeness)
        lines = difflib.unified_diff(
            nearest.splitlines(), text.splitlines(), "recorded", "asked", lineterm="", n=1
        )
        excerpt = "\n".join([*lines][:_SHOWN_LINES])
        return ReplayMiss(
            f"no recording of this call of role {request.role}; the nearest differs in\n{excerpt}",
            place=str(self._path),
            hint=_HOW_TO_MEND,
        )
