"""Export of ended spans and their metrics to an OpenTelemetry collector.

Spans are sent over HTTP from a thread of its own: a collector that is down or slow does not delay a
run, and spans that cannot be delivered are in the trace's file all the same. Requests are in JSON,
or in protobuf for a collector that takes no JSON. Only the configured address is contacted: no
proxy, no redirect.
"""

# OpenTelemetry's own exporter is not used, although it would save this module and most of
# `metrics`: it logs the address with its query and the server's answer, either of which may hold a
# key; it takes a redirect for success; it drops a batch that a collector does not take within ten
# seconds; each waiting batch delays the end of a process; and it needs a dozen packages.

from __future__ import annotations

import atexit
import json
import logging
import threading
from collections import deque
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from transom.errors import SettingsError
from transom.telemetry import keys
from transom.telemetry.address import safe_address
from transom.telemetry.destination import Destination, destination
from transom.telemetry.metrics import Metrics
from transom.telemetry.otlp_json import RESOURCE, SCOPE, SpanRow, row_of
from transom.telemetry.otlp_protobuf import encode_request

_log = logging.getLogger(__name__)

PERIOD = 1.0
"""Seconds between two sendings."""

_TIMEOUT = 10.0  # seconds for each step of a request
_MOST_WAITING = 8_192  # spans; further ones are in their files only
_BATCH = 512  # spans in a request
_UNSUPPORTED_TYPE = 415  # how a collector refuses a form of the request
# Attribute whose value follows the operation in the name of a span.
_SUBJECTS = {
    keys.CHAT: keys.REQUEST_MODEL,
    keys.INVOKE_AGENT: keys.AGENT_NAME,
    keys.EXECUTE_TOOL: keys.TOOL_NAME,
}
_GOODBYE = 3.0  # seconds that the end of a process waits for the last sending


def exporter(endpoint: str | None = None) -> Exporter | None:
    """Return the exporter that is configured, or None if no collector is.

    Args:
        endpoint: the setting. Without it, the variables of OpenTelemetry count. They may be meant
            for another library in the same process, so an invalid value is logged, and nothing is
            sent.

    Raises:
        SettingsError: the setting is not a usable address, or the variable with the headers of its
            requests holds an invalid header.
    """
    try:
        collector = destination(endpoint)
    except SettingsError as error:
        if endpoint:
            raise
        _log.warning("nothing is sent to a collector: %s", error)
        return None
    return exporter_to(collector) if collector else None


@cache
def exporter_to(collector: Destination) -> Exporter:
    """Return the exporter of this process for a collector: one thread for any number of runs."""
    return Exporter(collector)


class Exporter:
    """A thread that sends spans and metrics in the background.

    The spans of a forked process are in their files only: the thread is its parent's.

    Args:
        collector: where spans and metrics are sent.

    Attributes:
        metrics: the totals so far.
    """

    def __init__(self, collector: Destination) -> None:
        self._collector = collector
        self._has_warned = False
        self._in_protobuf = collector.protocol == "http/protobuf"
        self.metrics = Metrics()
        self._ended: deque[dict[str, Any]] = deque()
        self._waiting: list[dict[str, Any]] = []
        self._leave = threading.Event()
        self._thread = threading.Thread(target=self._work, name="transom-otlp", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def put(self, span: dict[str, Any]) -> None:
        """Queue an ended span, in OTLP's JSON without secrets. It never waits and never fails."""
        if len(self._ended) < _MOST_WAITING:
            self._ended.append(span)

    def close(self) -> None:
        """Send the spans that wait, within a few seconds. The others are in their files only."""
        self._leave.set()
        self._thread.join(_GOODBYE)

    def _work(self) -> None:
        is_leaving = has_new_totals = False
        while not is_leaving:
            is_leaving = self._leave.wait(PERIOD)
            if self._take():
                has_new_totals = True
            self._send_spans()
            # Totals are cumulative: those that the collector did not take are in the next ones.
            if has_new_totals and self._send(
                self._collector.metrics, "resourceMetrics", self.metrics.export()
            ):
                has_new_totals = False

    def _send_spans(self) -> None:
        """Send the spans that wait, batch by batch, up to the first one that has to wait on."""
        while self._waiting:
            batch = _resource_spans(self._waiting[:_BATCH])
            if not self._send(self._collector.traces, "resourceSpans", batch):
                return
            del self._waiting[:_BATCH]

    def _take(self) -> bool:
        """Move the queued spans to those that wait, and return whether there were any.

        Each span is counted here, once, whether or not it can be delivered.
        """
        new_spans = []
        # Other threads go on adding spans: only those that are queued now are taken.
        for _ in range(len(self._ended)):
            new_spans.append(self._ended.popleft())
        for span in new_spans:
            row = row_of(span)
            self.metrics.count(row, span["traceId"])
            if len(self._waiting) < _MOST_WAITING:
                self._waiting.append({**span, "name": conventional_name(row)})
        return bool(new_spans)

    def _send(self, address: str, key: str, data: dict[str, Any]) -> bool:
        """Send one request; return False if it has to be sent again.

        A request that the collector refused permanently counts as sent.
        """
        if not address:
            return True
        request = {key: [data]}
        try:
            status = self._post(address, request)
            if status == _UNSUPPORTED_TYPE and not self._in_protobuf:
                self._in_protobuf = True
                status = self._post(address, request)
        # The thread has to survive any error, and the request is sent again.
        except Exception as error:  # noqa: BLE001
            reason = type(error).__name__
            # The text of the system is safe. Other texts may quote a header or an address.
            if isinstance(error, OSError):
                reason += f": {error}"
            self._warn(address, reason)
            return False
        if status >= 300:
            self._warn(address, f"status {status}")
        return status not in (408, 429) and status < 500

    def _post(self, address: str, request: dict[str, Any]) -> int:
        """Send a request and return the collector's status."""
        # Imported here, since most processes send nothing.
        from http.client import HTTPConnection, HTTPSConnection  # noqa: PLC0415

        parts = urlsplit(address)
        connection_class = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = connection_class(parts.hostname or "", parts.port, timeout=_TIMEOUT)
        path = parts.path or "/"
        if parts.query:
            path += f"?{parts.query}"
        if self._in_protobuf:
            kind, body = "application/x-protobuf", encode_request(request)
        else:
            kind, body = "application/json", json.dumps(request).encode()
        headers = {"Content-Type": kind, **dict(self._collector.headers)}
        try:
            connection.request("POST", path, body, headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def _warn(self, address: str, reason: str) -> None:
        """Log the first failure: a collector that is down would fail every second."""
        if not self._has_warned:
            self._has_warned = True
            kind = "metrics" if address == self._collector.metrics else "traces"
            line = "%s does not accept %s (%s); they are kept in the trace files"
            _log.warning(line, safe_address(address), kind, reason)


def conventional_name(span: SpanRow) -> str:
    """Return the name that the GenAI conventions give a span; its own if they have no such span.

    The trace files name a call after the role that makes it, which says more to a person. A
    collector groups calls by their names, and expects that of the model.
    """
    operation = span.attributes.get(keys.OPERATION)
    if operation not in _SUBJECTS:
        return span.name
    # No model has answered a call that failed.
    subject = span.attributes.get(_SUBJECTS[operation])
    return f"{operation} {subject}" if subject else str(operation)


def _resource_spans(spans: list[dict[str, Any]]) -> dict[str, Any]:
    return {"resource": RESOURCE, "scopeSpans": [{"scope": SCOPE, "spans": spans}]}
