"""Telemetry: one trace file for each run, which needs no service to be read; logs; and export to a
collector, if one is configured.
"""

from transom.telemetry.logs import configure
from transom.telemetry.otlp_json import SpanRow
from transom.telemetry.read import TraceRow, failures, list_traces, read_trace, span_tree, waterfall
from transom.telemetry.redact import Redactor
from transom.telemetry.spans import Span, Telemetry, child_span, current_span
from transom.telemetry.tracing import http_hooks, traced

__all__ = [
    "Redactor",
    "Span",
    "SpanRow",
    "Telemetry",
    "TraceRow",
    "child_span",
    "configure",
    "current_span",
    "failures",
    "http_hooks",
    "list_traces",
    "read_trace",
    "span_tree",
    "traced",
    "waterfall",
]
