"""The files of a trace. Imports OpenTelemetry: only `Telemetry.open` may import this module."""

from __future__ import annotations

import json
import logging
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.json.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Span as ApiSpan
from opentelemetry.trace import SpanKind, StatusCode, set_span_in_context
from opentelemetry.util.types import AttributeValue

_log = logging.getLogger(__name__)


class TraceFile:
    """A trace being written: `<trace_id>.jsonl`, and the spans under way beside it (see `transom.telemetry.spans`).

    It has a tracer provider of its own: nothing global is set, no exporter and no environment variable of an
    application around us is used, and the application's spans and ours do not become each other's parents.

    Args:
        folder: made if missing.
        trace_id: 32 hex digits.

    Raises:
        OSError: the files cannot be made.
    """

    def __init__(self, folder: Path, trace_id: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.trace_id = trace_id
        self._open_path = folder / f"{trace_id}.{secrets.token_hex(4)}.open.jsonl"
        self._ended = _Lines(folder / f"{trace_id}.jsonl")
        self._started = _Lines(self._open_path)
        provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource({"service.name": "transom"}),
            shutdown_on_exit=False,
            id_generator=_OneTrace(trace_id),
            span_limits=SpanLimits(max_span_attribute_length=SpanLimits.UNSET),
        )
        provider.add_span_processor(_ToFile(self._started, self._ended))
        self._tracer = provider.get_tracer("transom")

    def start(self, name: str, kind: str, parent: ApiSpan | None, attributes: Mapping[str, AttributeValue]) -> ApiSpan:
        """Start a span under `parent`, or a root of this trace."""
        context = set_span_in_context(parent, Context()) if parent else Context()
        return self._tracer.start_span(name, context, SpanKind[kind.upper()], attributes)

    def fail(self, span: ApiSpan, message: str) -> None:
        """Mark a span as failed."""
        span.set_status(StatusCode.ERROR, message)

    def close(self) -> None:
        """Close the files; what has started by now has ended, or will not."""
        self._ended.close()
        if self._started.close():
            self._open_path.unlink(missing_ok=True)


class _OneTrace(RandomIdGenerator):
    """Every root span, also of a resumed run, belongs to the same trace; no made-up parent is needed for that."""

    def __init__(self, trace_id: str) -> None:
        self._trace_id = int(trace_id, 16)

    def generate_trace_id(self) -> int:
        return self._trace_id


class _ToFile(SpanProcessor):
    def __init__(self, started: _Lines, ended: _Lines) -> None:
        self._started = started
        self._ended = ended

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002 - their signature
        context = span.get_span_context()
        self._started.write(
            {
                "spanId": f"{context.span_id:016x}",
                "parentSpanId": f"{span.parent.span_id:016x}" if span.parent else "",
                "name": span.name,
                "startTimeUnixNano": str(span.start_time),
            }
        )

    def on_end(self, span: ReadableSpan) -> None:
        self._ended.write(encode_spans([span]).to_dict())


class _Lines:
    """JSON lines appended to a file. A trace never stops the work that it watches: a full disk is said once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        size = os.fstat(self._fd).st_size
        if size and os.pread(self._fd, 1, size - 1) != b"\n":
            os.write(self._fd, b"\n")  # a line that a full disk cut short must not swallow the next one
        self._failed = False

    def write(self, value: object) -> None:
        if self._fd < 0:
            return
        line = (json.dumps(value, separators=(",", ":")) + "\n").encode()
        try:
            os.write(self._fd, line)
        except OSError as error:
            if not self._failed:
                self._failed = True
                _log.warning("%s: the trace has gaps from here on (%s)", self._path, error.strerror)

    def close(self) -> bool:
        """Whether it was still open."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
        return fd >= 0
