"""The file of a trace, written as OTLP JSON by ourselves: a span costs a few dozen calls, the
SDK's several hundred.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from transom.canonical import compact_bytes
from transom.telemetry.otlp_json import RESOURCE, SCOPE

_log = logging.getLogger(__name__)

PLACE = 1024
"""Bytes of the place in which a span stands while it is open; in the end the place is free for
the next one.
"""

_SPANS = {"resourceSpans": [{"resource": RESOURCE, "scopeSpans": [{"scope": SCOPE, "spans": [0]}]}]}
# of a span, in an export request of its own
_BEFORE, _AFTER = compact_bytes(_SPANS).rsplit(b"0", 1)
_FREE = b'{"resourceSpans":[]}'.ljust(PLACE - 1) + b"\n"


class TraceFile:
    """A file of lines: a span under way is put into a place that can be used again, an ended one
    appended for good.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._failed = False
        self._places: list[int] = []  # that are free
        # Two descriptors, since Linux appends what is written at a place through one that is open
        # for appending.
        self._end = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._middle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        size = os.fstat(self._end).st_size
        if size and os.pread(self._end, 1, size - 1) != b"\n":
            # a line that a full disk cut short must not swallow the next one
            os.write(self._end, b"\n")

    def begin(self, span: dict[str, Any]) -> int | None:
        """Write a span under way, in OTLP's JSON; where it stands, None where nothing could be
        written.
        """
        if self._end < 0:
            return None
        line = (_BEFORE + compact_bytes(span) + _AFTER).ljust(PLACE - 1) + b"\n"
        try:
            if not self._places:
                return self._new_place(line)
            place = self._places.pop()
            os.pwrite(self._middle, line, place)
        except OSError as error:
            self._tell(error)
            return None
        return place

    def end(self, span: dict[str, Any], place: int | None) -> None:
        """Write a span that has ended, and free its place."""
        if self._end < 0:
            return
        try:
            os.write(self._end, _BEFORE + compact_bytes(span) + _AFTER + b"\n")
        except OSError as error:
            self._tell(error)
        # last: a kill in between leaves it twice, which `read_trace` sorts out
        if place is not None:
            try:
                os.pwrite(self._middle, _FREE, place)
            except OSError as error:
                self._tell(error)
            self._places.append(place)

    def close(self) -> None:
        """Close it; spans that are open stay in it as such. It may be called twice."""
        end, self._end = self._end, -1
        if end >= 0:
            os.close(end)
            os.close(self._middle)

    def _new_place(self, line: bytes) -> int | None:
        """Append a new place, by a descriptor of its own: only its offset is right when others
        append, too.
        """
        own = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            whole = os.write(own, line) == PLACE
            return os.lseek(own, 0, os.SEEK_CUR) - PLACE if whole else None
        finally:
            os.close(own)

    def _tell(self, error: OSError) -> None:
        """A trace never stops the work that it watches: a full disk is said once."""
        if not self._failed:
            self._failed = True
            _log.warning("%s: the trace has gaps from here on (%s)", self._path, error.strerror)
