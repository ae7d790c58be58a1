"""Ended spans, and the metrics that they add up to, sent to an OpenTelemetry collector.

By HTTP in JSON, from a thread of its own: a collector that is down or slow costs a run nothing, and what cannot be
delivered is in the trace's file all the same. Only the configured address is contacted: no proxy, no redirect.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import threading
from collections import deque
from contextlib import suppress
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from transom.telemetry.address import shown
from transom.telemetry.destination import Destination
from transom.telemetry.export import RESOURCE, SCOPE
from transom.telemetry.metrics import Metrics
from transom.telemetry.rows import row_of

_log = logging.getLogger(__name__)

PERIOD = 1.0
"""Seconds between two sendings."""

_MOST_WAITING = 8_192  # spans; what is more stays in its file alone
_BATCH = 512  # spans a request
_GOODBYE = 3.0  # seconds that the end of a process waits for the last sending


@cache
def exporter_to(where: Destination) -> Exporter:
    """The exporter of this process for a destination: one thread, however many runs there are."""
    return Exporter(where)


class Exporter:
    """Sends what it is given, a little later; `metrics` is what was counted so far."""

    def __init__(self, where: Destination) -> None:
        self._where = where
        self._said = False
        self.metrics = Metrics()
        self._begin()
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """Also in a process that was forked: the thread is not there, and what waits is its parent's to send."""
        self._given: deque[dict[str, Any]] = deque()
        self._waiting: deque[dict[str, Any]] = deque()
        self._leave = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._counted = False
        self.metrics = Metrics(self.metrics.price)

    def put(self, span: dict[str, Any]) -> None:
        """Have a span sent that has ended. It never waits and never fails.

        Args:
            span: as OTLP's JSON has it, without secrets.
        """
        if len(self._given) >= _MOST_WAITING:
            return
        self._given.append(span)
        if self._thread is None:
            self._start()

    def close(self) -> None:
        """Send what waits, within a few seconds; what is not sent by then stays in the files alone."""
        self._leave.set()
        if self._thread:
            self._thread.join(_GOODBYE)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None and not self._leave.is_set():
                thread = threading.Thread(target=self._work, name="transom-otlp", daemon=True)
                with suppress(RuntimeError):  # the system has no thread to give, or the interpreter is about to end
                    thread.start()
                    self._thread = thread

    def _work(self) -> None:
        leaving = False
        while not leaving:
            leaving = self._leave.wait(PERIOD)
            self._take()
            self._deliver()
            if self._counted and self._send(self._where.metrics, "resourceMetrics", self.metrics.told()):
                self._counted = False

    def _take(self) -> None:
        """Count what was given; it is counted once, also where it cannot be delivered."""
        while self._given:
            span = self._given.popleft()
            if len(self._waiting) < _MOST_WAITING:
                self._waiting.append(span)
            self._counted = True
            try:
                self.metrics.count(row_of(span), span["traceId"])
            except Exception as error:  # noqa: BLE001 - there is nobody else whom it could be told
                self._say(self._where.traces or self._where.metrics, _why(error))

    def _deliver(self) -> None:
        while self._waiting:
            batch = [*islice(self._waiting, _BATCH)]
            spans = {"resource": RESOURCE, "scopeSpans": [{"scope": SCOPE, "spans": batch}]}
            if not self._send(self._where.traces, "resourceSpans", spans):
                return  # they are tried again
            for _ in batch:
                self._waiting.popleft()

    def _send(self, address: str, key: str, told: dict[str, Any]) -> bool:
        """Whether it is dealt with: taken, or refused for good."""
        if not address:
            return True
        try:
            status = self._post(address, json.dumps({key: [told]}).encode())
        except (OSError, HTTPException) as error:
            self._say(address, _why(error))
            return False
        except Exception as error:  # noqa: BLE001 - another time would be no better
            self._say(address, _why(error))
            return True
        if status >= 300:
            self._say(address, f"status {status}")
        return status not in (408, 429) and status < 500

    def _post(self, address: str, body: bytes) -> int:
        parts = urlsplit(address)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=self._where.seconds)
        try:
            path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
            connection.request("POST", path, body, {"Content-Type": "application/json", **dict(self._where.headers)})
            return connection.getresponse().status
        finally:
            connection.close()

    def _say(self, address: str, why: str) -> None:
        if not self._said:
            self._said = True
            _log.warning("%s takes no traces (%s); they are in their files", shown(address), why)


def _why(error: Exception) -> str:
    """What the system says; the words of other errors may be those of a header, an address or a server."""
    return f"{type(error).__name__}: {error}" if isinstance(error, OSError) else type(error).__name__
