"""Export of ended spans and their metrics to an OpenTelemetry collector.

By HTTP in JSON, from a thread of its own: a collector that is down or slow costs a run nothing, and
what cannot be delivered is in the trace's file all the same. Only the configured address is
contacted: no proxy, no redirect.
"""

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
from transom.telemetry.address import shown
from transom.telemetry.destination import Destination, destination
from transom.telemetry.metrics import Metrics
from transom.telemetry.otlp_json import RESOURCE, SCOPE, row_of

_log = logging.getLogger(__name__)

PERIOD = 1.0
"""Seconds between two sendings."""

_SECONDS = 10.0  # for each step of a request
_MOST_WAITING = 8_192  # spans; what is more stays in its file alone
_BATCH = 512  # spans a request
_GOODBYE = 3.0  # seconds that the end of a process waits for the last sending


def exporter(endpoint: str | None = None) -> Exporter | None:
    """The exporter that is configured; None where nothing is to leave the machine.

    Args:
        endpoint: the setting. Where it is given, what is wrong is an error, its headers included,
            which a variable holds; without it all is in variables, which may be meant for another
            library in the same process, and is said and left alone.

    Raises:
        SettingsError: the setting is no address, or a header of its requests is none.
    """
    try:
        where = destination(endpoint)
    except SettingsError as error:
        if endpoint:
            raise
        _log.warning("nothing is sent to a collector: %s", error)
        return None
    return exporter_to(where) if where else None


@cache
def exporter_to(where: Destination) -> Exporter:
    """The exporter of this process for a destination: one thread, however many runs there are."""
    return Exporter(where)


class Exporter:
    """Sends spans in the background; `metrics` holds the totals so far.

    What a forked process does stays in the files: the thread is its parent's.
    """

    def __init__(self, where: Destination) -> None:
        self._where = where
        self._said = False
        self.metrics = Metrics()
        self._ended: deque[dict[str, Any]] = deque()
        self._waiting: list[dict[str, Any]] = []
        self._leave = threading.Event()
        self._thread = threading.Thread(target=self._work, name="transom-otlp", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def put(self, span: dict[str, Any]) -> None:
        """Queue an ended span, as OTLP's JSON without secrets. It never waits and never fails."""
        if len(self._ended) < _MOST_WAITING:
            self._ended.append(span)

    def close(self) -> None:
        """Send what waits, within a few seconds; what is not sent by then stays in the files
        alone.
        """
        self._leave.set()
        self._thread.join(_GOODBYE)

    def _work(self) -> None:
        leaving = counted = False
        while not leaving:
            leaving = self._leave.wait(PERIOD)
            counted = self._take() or counted
            while self._waiting and self._send(
                self._where.traces, "resourceSpans", _spans(self._waiting[:_BATCH])
            ):
                del self._waiting[:_BATCH]
            if counted and self._send(
                self._where.metrics, "resourceMetrics", self.metrics.export()
            ):
                counted = False

    def _take(self) -> bool:
        """Count the queued spans, once, also where they cannot be delivered; whether there were
        any.
        """
        new = [self._ended.popleft() for _ in range(len(self._ended))]
        for span in new:
            self.metrics.count(row_of(span), span["traceId"])
        self._waiting += new[: _MOST_WAITING - len(self._waiting)]
        return bool(new)

    def _send(self, address: str, key: str, data: dict[str, Any]) -> bool:
        """Whether it is dealt with: taken, or refused for good. Else it is tried again."""
        if not address:
            return True
        try:
            status = self._post(address, json.dumps({key: [data]}).encode())
        except Exception as error:  # noqa: BLE001 - the thread must live; it is said and tried again
            self._say(
                address,
                f"{type(error).__name__}: {error}"
                if isinstance(error, OSError)
                else type(error).__name__,
            )
            return False
        if status >= 300:
            self._say(address, f"status {status}")
        return status not in (408, 429) and status < 500

    def _post(self, address: str, body: bytes) -> int:
        from http.client import HTTPConnection, HTTPSConnection  # noqa: PLC0415 - who sends nothing does not pay for it

        parts = urlsplit(address)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=_SECONDS)
        try:
            path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
            connection.request(
                "POST",
                path,
                body,
                {"Content-Type": "application/json", **dict(self._where.headers)},
            )
            return connection.getresponse().status
        finally:
            connection.close()

    def _say(self, address: str, why: str) -> None:
        """Log a failure once; only the system's own text, since others may quote a header, an
        address or a server.
        """
        if not self._said:
            self._said = True
            _log.warning("%s takes no traces (%s); they are in their files", shown(address), why)


def _spans(spans: list[dict[str, Any]]) -> dict[str, Any]:
    return {"resource": RESOURCE, "scopeSpans": [{"scope": SCOPE, "spans": spans}]}
