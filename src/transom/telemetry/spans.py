"""Spans: what a run did, in one file a trace, as OTLP JSON lines.

Each line of `<trace-id>.jsonl` is a complete OTLP export request and one write, so it survives `kill -9`. A span that
ended is appended. An open span has a line with the attribute `transom.open`, in a place of fixed size that is emptied
when it ends and used again: a killed process leaves its whole tree.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from contextvars import ContextVar, Token
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from transom.errors import InputError, TransomError
from transom.telemetry import keys
from transom.telemetry.redact import Redactor

if TYPE_CHECKING:
    from transom.telemetry.export import SpanRecord, TraceFile, Value
    from transom.telemetry.otlp import Exporter

Kind = Literal["internal", "client", "server", "producer", "consumer"]

_INHERITED = (keys.CONVERSATION_ID, keys.PARENT_CONVERSATION)

_current: ContextVar[Span | None] = ContextVar("transom_span", default=None)


def current_span() -> Span | None:
    """The innermost span that is open in this task, of whatever trace; None outside of all."""
    return _current.get()


def child_span(name: str, kind: Kind = "internal", /, **attributes: Any) -> Span:
    """A span beneath the one that is open in this task, in its trace; one that leaves nothing where none is open.

    For code that is called inside of a traced step and is handed no trace of its own. It belongs to the same
    conversation. See `Telemetry.span`.
    """
    open_one = _current.get()
    if open_one is None or open_one._record is None:
        return _OFF
    known = open_one._record.attributes
    inherited: dict[str, Any] = {key: known[key] for key in _INHERITED if key in known}
    return open_one._owner.span(name, kind, **{**inherited, **attributes})


class Telemetry:
    """One trace. `Telemetry()` is switched off: its spans cost a call and leave nothing. `Telemetry.open` writes."""

    def __init__(self, file: TraceFile | None = None, redact: Redactor | None = None) -> None:
        self._file = file
        self._redact = redact or Redactor() if file else None

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
            raise InputError(f"{trace_id!r} is no trace id", hint="give 32 hex digits, as `transom trace list` does")
        from transom.telemetry.export import TraceFile  # noqa: PLC0415 - only traced runs pay for it

        try:
            return cls(TraceFile(folder, trace_id, exporter), redact)
        except OSError as error:
            raise TransomError(
                f"the trace cannot be written ({error.strerror})",
                where=str(folder),
                hint="make the folder writable, or use another one with --workspace",
            ) from error

    @property
    def trace_id(self) -> str:
        """32 hex digits; "" where telemetry is switched off."""
        return self._file.trace_id if self._file else ""

    def span(self, name: str, kind: Kind = "internal", /, **attributes: Any) -> Span:
        """A span to be entered with `with`. Its parent is the span of this trace that is open in the same task.

        Args:
            name: what is done, e.g. `stage parser`.
            kind: OpenTelemetry's span kind; by position, since keywords are attributes.
            attributes: `**{keys.STAGE: "parser"}`; for values see `Span.set`.
        """
        return Span(self, name, kind, attributes) if self._file else _OFF

    def close(self) -> None:
        """Let go of the files; spans still open are not written as ended. Closing twice does no harm."""
        if self._file:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Span:
    """One step of a trace, from `with` to its end. An error that leaves it is recorded and goes on."""

    def __init__(self, owner: Telemetry, name: str, kind: Kind, attributes: Mapping[str, Any]) -> None:
        self._owner = owner
        self._name = name
        self._kind = kind
        self._attributes = attributes
        self._record: SpanRecord | None = None
        self._token: Token[Span | None] | None = None

    @property
    def trace_id(self) -> str:
        """32 hex digits, or "" where telemetry is switched off."""
        return self._owner.trace_id

    @property
    def span_id(self) -> str:
        """16 hex digits, or "" before the span is entered and where telemetry is switched off."""
        return self._record.span_id if self._record else ""

    def set(self, key: str, value: Any) -> None:
        """Set an attribute. None is left out; what OpenTelemetry has no type for is kept as text; secrets are not."""
        self.update({key: value})

    def update(self, attributes: Mapping[str, Any]) -> None:
        """Set several at once."""
        if self._record:
            if None in attributes.values():
                attributes = {key: value for key, value in attributes.items() if value is not None}
            self._record.attributes |= attributes

    def fail(self, kind: str, message: str = "") -> None:
        """Mark it as failed, by something that is no exception here.

        Args:
            kind: the value of `error.type`.
            message: no text that a model or a tool wrote: it may have come from what must stay where it is.
        """
        if self._record:
            self._record.attributes[keys.ERROR_TYPE] = kind
            self._record.fail(self._text(f"{kind}: {message}" if message else kind))

    def began(self, at: int) -> None:
        """It began before it was known to be worth a span: nanoseconds since 1970."""
        if self._record:
            self._record.start = at

    def event(self, name: str, /, **attributes: Any) -> None:
        """Something that happened at one moment."""
        if self._record:
            self._record.event(name, self._redacted(_plain(attributes)))

    def __enter__(self) -> Self:
        file = self._owner._file
        if file:
            outer = _current.get()
            parent = outer._record if outer and outer._owner is self._owner else None
            self._record = file.start(self._text(self._name), self._kind, parent, {**self._attributes})
            self._token = _current.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        file = self._owner._file
        if file and self._record and self._token:
            if error:
                name, message = type(error).__name__, str(error)
                if isinstance(error, TransomError):  # without its hint, which may quote what stays where it is
                    message = f"{error.where}: {error.what}" if error.where else error.what
                self.event(keys.EXCEPTION, **{keys.EXCEPTION_TYPE: name, keys.EXCEPTION_MESSAGE: message})
                self.fail(name, message)
            self._record.attributes = self._redacted(_plain(self._record.attributes))
            file.end(self._record)
            _current.reset(self._token)

    def _redacted(self, attributes: dict[str, Value]) -> dict[str, Value]:
        """The attributes without secrets; looked for once, since there hardly ever is one."""
        redact = self._owner._redact
        if redact is None:
            return attributes
        texts = [value for value in attributes.values() if type(value) is str]
        for value in attributes.values():
            if type(value) is list:
                texts += [one for one in value if type(one) is str]
        if not redact.finds("\0".join(texts)):
            return attributes
        return {key: _each(redact, value) for key, value in attributes.items()}

    def _text(self, text: str) -> str:
        redact = self._owner._redact
        return redact(text) if redact else text


_AS_IT_IS = frozenset({str, bool, int, float})


def _plain(attributes: Mapping[str, Any]) -> dict[str, Value]:
    return {
        key: value if type(value) in _AS_IT_IS else _value(value)
        for key, value in attributes.items()
        if value is not None
    }


def _value(value: Any) -> Value:
    """What OpenTelemetry has a type for: as it is; all else as text."""
    if isinstance(value, list | tuple):
        if {type(item) for item in value} in ({int}, {float}, {bool}):  # mixed lists have no type there
            return [*value]
        return [str(item) for item in value]
    return json.dumps(value, default=str, skipkeys=True) if isinstance(value, dict) else str(value)


def _each(redact: Redactor, value: Value) -> Value:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list) and value and isinstance(value[0], str):
        return [redact(one) for one in value]
    return value


_OFF = Span(Telemetry(), "off", "internal", {})
