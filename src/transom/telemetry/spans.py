"""Spans of a run, in one file for each trace, as OTLP JSON lines.

Each line of `<trace-id>.jsonl` is a complete OTLP export request and one write, so it survives
`kill -9`. A span that ended is appended. An open span has a line with the attribute `transom.open`,
in a place of fixed size that is emptied when it ends and used again: a killed process leaves its
whole tree.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Mapping
from contextvars import ContextVar, Token
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from transom.errors import InputError, TransomError
from transom.telemetry import keys
from transom.telemetry.otlp_json import ERROR, Value, pairs
from transom.telemetry.redact import Redactor
from transom.telemetry.trace_file import TraceFile

if TYPE_CHECKING:
    from transom.telemetry.otlp import Exporter

Kind = Literal["internal", "client", "server", "producer", "consumer"]

_KINDS = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
_LOCAL_PARENT = 256  # of OTLP's span flags: whether the parent is remote is known, and it is not
# of a span that is open: six bytes a character at worst, and it must fit its place
_LONGEST_NAME = 90
_OPEN: dict[str, Any] = {"attributes": [{"key": keys.OPEN, "value": {"boolValue": True}}]}
_INHERITED = (keys.CONVERSATION_ID, keys.PARENT_CONVERSATION)

_current: ContextVar[Span | None] = ContextVar("transom_span", default=None)


def current_span() -> Span | None:
    """The innermost span that is open in this task, of whatever trace; None outside of all."""
    return _current.get()


def child_span(name: str, kind: Kind = "internal", /, **attributes: Any) -> Span:
    """A span beneath the one that is open in this task, in its trace; one that leaves nothing where
    none is open.

    For code that is called inside of a traced step and is handed no trace of its own. It belongs to
    the same conversation. See `Telemetry.span`.
    """
    around = _current.get()
    if around is None:
        return _OFF
    inherited: dict[str, Any] = {
        key: around._attributes[key] for key in _INHERITED if key in around._attributes
    }
    return around._owner.span(name, kind, **{**inherited, **attributes})


class Telemetry:
    """One trace. `Telemetry()` is switched off: its spans cost a call and leave nothing.
    `Telemetry.open` writes.
    """

    def __init__(self) -> None:
        self.trace_id = ""
        """32 hex digits; "" where telemetry is switched off."""
        self._file: TraceFile | None = None
        self._redact = Redactor({})
        self._exporter: Exporter | None = None

    @classmethod
    def open(
        cls,
        folder: Path,
        trace_id: str | None = None,
        redact: Redactor | None = None,
        exporter: Exporter | None = None,
    ) -> Self:
        """Write to `folder/<trace_id>.jsonl`, making the folder if need be.

        Args:
            folder: where traces lie.
            trace_id: 32 lowercase hex digits of a trace to go on with, or None for a new one.
            redact: takes secrets out; one that knows those of the environment by default.
            exporter: is given each span that has ended, for a collector.

        Raises:
            InputError: `trace_id` is none.
            TransomError: the folder cannot be written.
        """
        if trace_id is None:
            trace_id = secrets.token_hex(16)
        elif not re.fullmatch(r"[0-9a-f]{32}", trace_id) or not int(trace_id, 16):
            raise InputError(
                f"{trace_id!r} is no trace id",
                hint="give 32 hex digits, as `transom trace list` does",
            )
        opened = cls()
        opened.trace_id, opened._exporter, opened._redact = trace_id, exporter, redact or Redactor()
        try:
            opened._file = TraceFile(folder / f"{trace_id}.jsonl")
        except OSError as error:
            raise TransomError(
                f"the trace cannot be written ({error.strerror})",
                where=str(folder),
                hint="make the folder writable, or use another one with --workspace",
            ) from error
        return opened

    def span(self, name: str, kind: Kind = "internal", /, **attributes: Any) -> Span:
        """A span to be entered with `with`. Its parent is the span of this trace that is open in
        the same task.

        Args:
            name: what is done, e.g. `stage parser`.
            kind: OpenTelemetry's span kind; by position, since keywords are attributes.
            attributes: `**{keys.STAGE: "parser"}`; for values see `Span.set`.
        """
        return Span(self, name, kind, attributes) if self._file else _OFF

    def close(self) -> None:
        """Close the files; spans still open are not written as ended. Closing twice does no
        harm.
        """
        if self._file:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Span:
    """One step of a trace, from `with` to its end. An error that leaves it is recorded and goes
    on.
    """

    def __init__(self, owner: Telemetry, name: str, kind: Kind, attributes: dict[str, Any]) -> None:
        self._owner = owner
        self._name = name
        self._kind = kind
        self._attributes = attributes  # as they were given until it ends
        self._events: list[dict[str, Any]] = []
        self._status: dict[str, Any] = {}
        self._parent_id = ""
        self._start = 0
        self._place: int | None = None
        self._token: Token[Span | None] | None = None
        self.span_id = ""
        """16 hex digits, or "" before the span is entered and where telemetry is switched off."""

    @property
    def trace_id(self) -> str:
        """32 hex digits, or "" where telemetry is switched off."""
        return self._owner.trace_id

    def set(self, key: str, value: Any) -> None:
        """Set an attribute. None is left out; what OpenTelemetry has no type for is kept as
        text; secrets are not.
        """
        self.update({key: value})

    def update(self, attributes: Mapping[str, Any]) -> None:
        """Set several at once."""
        if self._token:
            if None in attributes.values():
                attributes = {key: value for key, value in attributes.items() if value is not None}
            self._attributes |= attributes

    def fail(self, kind: str, message: str = "") -> None:
        """Mark it as failed with an `error.type`. The message holds no text of a model or tool,
        which may be local.
        """
        if self._token:
            self._attributes[keys.ERROR_TYPE] = kind
            text = self._owner._redact(f"{kind}: {message}" if message else kind)
            self._status = {"message": text, "code": ERROR}

    def began(self, at: int) -> None:
        """Set an earlier start, in nanoseconds since 1970."""
        self._start = at

    def event(self, name: str, /, **attributes: Any) -> None:
        """Add an event with the present time."""
        if self._token:
            event: dict[str, Any] = {"timeUnixNano": str(time.time_ns()), "name": name}
            if attributes:
                event["attributes"] = pairs(self._clean(attributes))
            self._events.append(event)

    def __enter__(self) -> Self:
        owner = self._owner
        if owner._file:
            outer = _current.get()
            self._parent_id = outer.span_id if outer and outer._owner is owner else ""
            self._name = owner._redact(self._name)
            self.span_id, self._start = os.urandom(8).hex(), time.time_ns()
            self._place = owner._file.begin(
                self._as_json(self._name[:_LONGEST_NAME], self._start, _OPEN)
            )
            self._token = _current.set(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not (self._owner._file and self._token):
            return
        if error:
            name, message = type(error).__name__, str(error)
            # without its hint, which may quote what stays where it is
            if isinstance(error, TransomError):
                message = f"{error.where}: {error.what}" if error.where else error.what
            self.event(
                keys.EXCEPTION, **{keys.EXCEPTION_TYPE: name, keys.EXCEPTION_MESSAGE: message}
            )
            self.fail(name, message)
        more: dict[str, Any] = {}
        if self._attributes:
            more["attributes"] = pairs(self._clean(self._attributes))
        if self._events:
            more["events"] = self._events
        ended = self._as_json(self._name, time.time_ns(), more)
        self._owner._file.end(ended, self._place)
        if self._owner._exporter:
            self._owner._exporter.put(ended)
        _current.reset(self._token)

    def _as_json(self, name: str, end: int, more: dict[str, Any]) -> dict[str, Any]:
        """The span in OTLP's JSON."""
        return {
            "traceId": self._owner.trace_id,
            "spanId": self.span_id,
            **({"parentSpanId": self._parent_id} if self._parent_id else {}),
            "flags": _LOCAL_PARENT,
            "name": name,
            "kind": _KINDS[self._kind],
            "startTimeUnixNano": str(self._start),
            "endTimeUnixNano": str(end),
            **more,
            "status": self._status,
        }

    def _clean(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """Attributes that OpenTelemetry has types for, without secrets; looked for once, since
        there hardly is one.
        """
        attributes: dict[str, Value] = {}
        # One text of all, so that one search finds whether there is any secret.
        texts = ""
        for key, value in given.items():
            if value is None:
                continue
            kept = value if type(value) in _AS_IT_IS else _value(value)
            attributes[key] = kept
            for text in kept if type(kept) is list else (kept,):
                if type(text) is str:
                    texts += f"{text}\0"
        redact = self._owner._redact
        if not redact.finds(texts):
            return attributes
        return {key: _redacted(redact, value) for key, value in attributes.items()}


_AS_IT_IS = frozenset({str, bool, int, float})


def _value(value: Any) -> Value:
    """The value as it is where OpenTelemetry has a type for it; otherwise as text."""
    if isinstance(value, list | tuple):
        # mixed lists have no type there
        if {type(item) for item in value} in ({int}, {float}, {bool}):
            return [*value]
        return [str(item) for item in value]
    return json.dumps(value, default=str, skipkeys=True) if isinstance(value, dict) else str(value)


def _redacted(redact: Redactor, value: Value) -> Value:
    if isinstance(value, str):
        return redact(value)
    return (
        [redact(one) if isinstance(one, str) else one for one in value]
        if isinstance(value, list)
        else value
    )


_OFF = Span(Telemetry(), "off", "internal", {})
