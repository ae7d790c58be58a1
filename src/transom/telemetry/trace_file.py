"""The file of a trace, written as OTLP JSON without OpenTelemetry's SDK: a span costs a few dozen
function calls here, and several hundred there.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import orjson

from transom.canonical import compact_bytes
from transom.telemetry.otlp_json import RESOURCE, SCOPE

_log = logging.getLogger(__name__)

PLACE = 1024
"""Bytes of the place that holds a span while it is open. When the span ends, the next one may use
it.
"""

_SPANS = {"resourceSpans": [{"resource": RESOURCE, "scopeSpans": [{"scope": SCOPE, "spans": [0]}]}]}
# The text around a span that is an export request of its own.
_BEFORE, _AFTER = compact_bytes(_SPANS).rsplit(b"0", 1)
_FREE = b'{"resourceSpans":[]}'.ljust(PLACE - 1) + b"\n"


class TraceFile:
    """A file of lines. An open span is written into a place that is used again, an ended span is
    appended.

    Args:
        path: the file; its folder is created.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._failed = False
        self._free_places: list[int] = []
        # Two descriptors: through a descriptor that is open for appending, Linux appends even what
        # `pwrite` should write at a place.
        self._end = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._middle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        size = os.fstat(self._end).st_size
        if size and os.pread(self._end, 1, size - 1) != b"\n":
            # A line that a full disk cut short must not swallow the next one.
            os.write(self._end, b"\n")

    def begin(self, span: dict[str, Any]) -> int | None:
        """Write an open span.

        Args:
            span: the span in OTLP's JSON.

        Returns:
            Its place, in bytes from the beginning of the file; None if it could not be written.
        """
        if self._end < 0:
            return None
        line = _line_of(span).ljust(PLACE - 1) + b"\n"
        try:
            if not self._free_places:
                return self._new_place(line)
            place = self._free_places.pop()
            os.pwrite(self._middle, line, place)
        except OSError as error:
            self._report(error)
            return None
        return place

    def end(self, span: dict[str, Any], place: int | None) -> None:
        """Write a span that has ended, and free its place."""
        if self._end < 0:
            return
        try:
            os.write(self._end, _line_of(span) + b"\n")
        except OSError as error:
            self._report(error)
        # The place is emptied last: after a kill in between, the span is in the file twice, and
        # `read_trace` takes the one that ended.
        if place is not None:
            try:
                os.pwrite(self._middle, _FREE, place)
            except OSError as error:
                self._report(error)
            self._free_places += [place]

    def close(self) -> None:
        """Close the file; open spans stay in it. A second call does nothing."""
        end, self._end = self._end, -1
        if end >= 0:
            os.close(end)
            os.close(self._middle)

    def _new_place(self, line: bytes) -> int | None:
        """Append a new place, and return it.

        A descriptor of its own has the right offset even when other processes append, too.
        """
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            is_complete = os.write(descriptor, line) == PLACE
            return os.lseek(descriptor, 0, os.SEEK_CUR) - PLACE if is_complete else None
        finally:
            os.close(descriptor)

    def _report(self, error: OSError) -> None:
        """Log a failure once. A trace must never stop the work that it records."""
        if not self._failed:
            self._failed = True
            _log.warning("%s: the trace has gaps from here on (%s)", self._path, error.strerror)


def _line_of(span: dict[str, Any]) -> bytes:
    """Return a span as an export request of its own."""
    try:
        # Numbers that JSON does not have are texts already, so nothing needs to be looked for.
        encoded = orjson.dumps(span)
    except TypeError:  # an unpaired surrogate
        encoded = compact_bytes(span)
    return _BEFORE + encoded + _AFTER
