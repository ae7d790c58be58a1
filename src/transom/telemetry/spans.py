"""Spans of a run, in one file for each trace, as OTLP JSON lines.

Each line of `<trace-id>.jsonl` is a complete OTLP export request and one write, so it survives
`kill -9`. An ended span is appended. An open span has a line with the attribute `transom.open`, in
a place of fixed size, which is emptied when the span ends and then used again: after a kill, the
file contains the whole tree.
"""

from __future__ import annotations

import os
import random
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
from transom.telemetry.otlp_json import ERROR, Value, attribute_pairs, otlp_value
from transom.telemetry.redact import Redactor
from transom.telemetry.trace_file import TraceFile

if TYPE_CHECKING:
    from transom.telemetry.otlp import Exporter

Kind = Literal["internal", "client", "server", "producer", "consumer"]

_KINDS = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
# The flag of OTLP for a span whose parent is known to be in the same process.
_LOCAL_PARENT = 256
# Characters of the name of an open span: at six bytes each at worst, its line has to fit its place.
_LONGEST_NAME = 90
_OPEN: dict[str, Any] = {
    "attributes": [{"key": keys.OPEN, "value": {"boolValue": True}}],
    "status": {},
}
_INHERITED = (keys.CONVERSATION_ID, keys.PARENT_CONVERSATION)

# Ids of spans are no secrets, and the system's own random bytes would take a call of the kernel.
_span_ids = random.Random()
if hasattr(os, "register_at_fork"):
    # A forked process must not give the ids of its parent again.
    os.register_at_fork(after_in_child=_span_ids.seed)

_current: ContextVar[Span | None] = ContextVar("transom_span", default=None)


def current_span() -> Span | None:
    """Return the innermost open span of this task, of any trace, or None."""
    return _current.get()


def child_span(name: str, kind: Kind = "internal", /, **attributes: Any) -> Span:
    """Return a new span below the one that is open in this task, in the same trace.

    It serves code that runs within a traced step and receives no `Telemetry`. The span belongs to
    the same conversation. If no span is open, it leaves nothing. For the arguments, see
    `Telemetry.span`.
    """
    outer = _current.get()
    if outer is None:
        return _OFF
    inherited: dict[str, Any] = {}
    for key in _INHERITED:
        if key in outer._attributes:
            inherited[key] = outer._attributes[key]
    return outer._owner.span(name, kind, **{**inherited, **attributes})


class Telemetry:
    """One trace. `Telemetry()` is switched off: its spans cost a call and leave nothing. Use
    `Telemetry.open` for a trace that is written.
    """

    def __init__(self) -> None:
        self.trace_id = ""
        """32 hex digits; "" if telemetry is switched off."""
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
        """Return a trace that is written to `folder/<trace_id>.jsonl`.

        Args:
            folder: the folder of the traces; it is created if it is missing.
            trace_id: 32 lowercase hex digits of a trace to continue, or None for a new one.
            redact: removes secrets; by default those of the environment.
            exporter: receives each span that has ended, for a collector.

        Raises:
            InputError: `trace_id` is not a trace id.
            TransomError: the file cannot be written.
        """
        if trace_id is None:
            trace_id = secrets.token_hex(16)
        elif not re.fullmatch(r"[0-9a-f]{32}", trace_id) or not int(trace_id, 16):
            raise InputError(
                f"{trace_id!r} is not a trace id",
                hint="pass 32 hex digits, as listed by `transom trace list`",
            )
        telemetry = cls()
        telemetry.trace_id = trace_id
        telemetry._exporter = exporter
        telemetry._redact = redact or Redactor()
        try:
            telemetry._file = TraceFile(folder / f"{trace_id}.jsonl")
        except OSError as error:
            raise TransomError(
                f"the trace cannot be written ({error.strerror})",
                place=str(folder),
                hint="make the folder writable, or use another one with --workspace",
            ) from error
        return telemetry

    def span(self, name: str, kind: Kind = "internal", /, **attributes: Any) -> Span:
        """Return a new span, to be entered with `with`.

        Its parent is the span of this trace that is open in the same task.

        Args:
            name: the step, e.g. `stage parser`.
            kind: OpenTelemetry's span kind; by position, since keywords are attributes.
            attributes: `**{keys.STAGE: "parser"}`; for values see `Span.set`.
        """
        return Span(self, name, kind, attributes) if self._file else _OFF

    def close(self) -> None:
        """Close the file. Open spans stay open in it. A second call does nothing."""
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
    """One step of a trace, which lasts as long as its `with` block. An error that leaves the block
    is recorded and raised on.
    """

    def __init__(self, owner: Telemetry, name: str, kind: Kind, attributes: dict[str, Any]) -> None:
        self._owner = owner
        self._name = name
        self._kind = kind
        self._attributes = attributes  # converted only when the span ends
        self._events: list[dict[str, Any]] = []
        self._status: dict[str, Any] = {}
        self._head: dict[str, Any] = {}  # what its lines have in common, in OTLP's JSON
        self._place: int | None = None
        self._token: Token[Span | None] | None = None
        self.span_id = ""
        """16 hex digits; "" before the span is entered, and if telemetry is switched off."""

    @property
    def trace_id(self) -> str:
        """Return the 32 hex digits of its trace; "" if telemetry is switched off."""
        return self._owner.trace_id

    def set(self, key: str, value: Any) -> None:
        """Set an attribute.

        None is left out. A value for which OpenTelemetry has no type becomes text. Secrets are
        replaced.
        """
        self.update({key: value})

    def update(self, attributes: Mapping[str, Any]) -> None:
        """Set several attributes; see `set`."""
        if self._token:
            for key, value in attributes.items():
                if value is not None:
                    self._attributes[key] = value

    def fail(self, kind: str, message: str = "") -> None:
        """Mark the span as failed.

        Args:
            kind: its `error.type`.
            message: without text of a model or a tool, which may be local.
        """
        if self._token:
            self._attributes[keys.ERROR_TYPE] = kind
            text = self._owner._redact(f"{kind}: {message}" if message else kind)
            self._status = {"message": text, "code": ERROR}

    def set_start(self, start: int) -> None:
        """Set an earlier start, in nanoseconds since 1970."""
        self._head["startTimeUnixNano"] = str(start)

    def event(self, name: str, /, **attributes: Any) -> None:
        """Add an event that happens at this moment."""
        if self._token:
            event: dict[str, Any] = {"timeUnixNano": str(time.time_ns()), "name": name}
            if attributes:
                event["attributes"] = self._pairs(attributes)
            self._events.append(event)

    def __enter__(self) -> Self:
        owner = self._owner
        if owner._file:
            self.span_id = f"{_span_ids.getrandbits(64):016x}"
            head = self._head = {"traceId": owner.trace_id, "spanId": self.span_id}
            outer = _current.get()
            # A sub-conversation may have a trace of its own: ids of another file lead nowhere.
            if outer and outer._owner is owner:
                head["parentSpanId"] = outer.span_id
            head["flags"] = _LOCAL_PARENT
            head["name"] = name = owner._redact(self._name)
            head["kind"] = _KINDS[self._kind]
            head["startTimeUnixNano"] = start = str(time.time_ns())
            short_name = name[:_LONGEST_NAME]
            open_span = {**head, "name": short_name, "endTimeUnixNano": start, **_OPEN}
            self._place = owner._file.begin(open_span)
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
            self._record_error(error)
        fields: dict[str, Any] = {}
        if self._attributes:
            fields["attributes"] = self._pairs(self._attributes)
        if self._events:
            fields["events"] = self._events
        end = str(time.time_ns())
        ended_span = {**self._head, "endTimeUnixNano": end, **fields, "status": self._status}
        self._owner._file.end(ended_span, self._place)
        if self._owner._exporter:
            self._owner._exporter.put(ended_span)
        _current.reset(self._token)

    def _record_error(self, error: BaseException) -> None:
        """Add the error as an event, as OpenTelemetry asks for, and mark the span as failed."""
        name = type(error).__name__
        message = str(error)
        # The hint of an error may quote local text.
        if isinstance(error, TransomError):
            message = f"{error.place}: {error.problem}" if error.place else error.problem
        self.event(keys.EXCEPTION, **{keys.EXCEPTION_TYPE: name, keys.EXCEPTION_MESSAGE: message})
        self.fail(name, message)

    def _pairs(self, attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return attributes as OTLP writes them, without secrets."""
        redact = self._owner._redact
        pairs, texts = attribute_pairs(attributes)
        # Hardly any span holds a secret, and one search in all of its texts is enough to know.
        if not redact.finds(texts):
            return pairs
        clean_values: dict[str, Value] = {}
        for key, value in attributes.items():
            if value is not None:
                clean_values[key] = _redact_value(redact, otlp_value(value))
        return attribute_pairs(clean_values)[0]


def _redact_value(redact: Redactor, value: Value) -> Value:
    if isinstance(value, str):
        return redact(value)
    if not isinstance(value, list):
        return value
    return [redact(item) if isinstance(item, str) else item for item in value]


_OFF = Span(Telemetry(), "off", "internal", {})
