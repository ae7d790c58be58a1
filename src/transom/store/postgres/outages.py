"""Tells of a database that is away in one line: the driver tells of each attempt to connect."""

from __future__ import annotations

import logging
import threading
import time

_DRIVER = "psycopg"
_ATTEMPT = "error connecting in"
"""The beginning of the driver's message about an attempt that failed."""
_AGAIN_SECONDS = 30.0  # after which an outage that lasts is told again

_log = logging.getLogger(__name__)


class _OutageHandler(logging.Handler):
    """Tells of outages, and drops all other messages of the driver.

    A program's own handlers get each message as before. Where there are none, the standard library
    would print each of them, so a handler that drops them has to be there.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told_at: float | None = None
        self._guard = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        """Tell of the first failed attempt of an outage."""
        if not str(record.msg).startswith(_ATTEMPT):
            return
        with self._guard:
            now = time.monotonic()
            is_known = self._told_at is not None and now - self._told_at < _AGAIN_SECONDS
            if not is_known:
                self._told_at = now
        if not is_known:
            reason = record.getMessage().partition(": ")[2].splitlines() or ["no answer"]
            _log.warning("the database is away, and is tried again: %s", reason[0])

    def end_outage(self) -> None:
        """Tell that the database is back, if an outage was told."""
        with self._guard:
            was_away, self._told_at = self._told_at is not None, None
        if was_away:
            _log.warning("the database is back")


_handler = _OutageHandler()


def watch_outages() -> None:
    """Take the messages of the driver from now on."""
    # The second time changes nothing.
    logging.getLogger(_DRIVER).addHandler(_handler)


def end_outage() -> None:
    """Tell that the database is back, if it was told to be away."""
    _handler.end_outage()
