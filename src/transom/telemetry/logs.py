"""Logs through the standard library: plain lines on stderr, JSON lines in a file."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from pathlib import Path

from transom.errors import InputError, SettingsError
from transom.telemetry.redact import Redactor
from transom.telemetry.spans import current_span

_ROOT = "transom"


def configure(
    level: str | int = logging.WARNING, log_file: Path | None = None, redact: Redactor | None = None
) -> None:
    """Send what Transom logs to stderr, and to `log_file` if one is given. Called again, it starts
    over.

    Only the logger `transom` is touched, never the root logger of an application around us. Secrets
    are taken out of both (see `Redactor`): by the formatters and not by a filter, since a traceback
    becomes text only there. People get no traceback; the file does.

    Args:
        level: name or number, e.g. `info`; for both.
        log_file: JSON lines are appended to it; its folder is made.
        redact: takes secrets out; one that knows those of the environment by default.

    Raises:
        SettingsError: no such level.
        InputError: the file cannot be written.
    """
    number = logging.getLevelNamesMapping().get(level.upper()) if isinstance(level, str) else level
    if number is None:
        raise SettingsError(
            f"{level!r} is no log level", hint="use debug, info, warning, error or critical"
        )
    redact = redact or Redactor()
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    handlers[0].setFormatter(_Plain(redact))
    # A call that failed for good ends the command with the same message; only `info` and `debug`
    # show both.
    handlers[0].addFilter(lambda record: number <= logging.INFO or not hasattr(record, "about"))
    if log_file:
        handlers.append(_open(log_file))
        handlers[1].setFormatter(_Json(redact))
    logger = logging.getLogger(_ROOT)
    for old in [*logger.handlers]:
        logger.removeHandler(old)
        old.close()
    for handler in handlers:
        logger.addHandler(handler)
    logger.setLevel(number)


def _open(path: Path) -> logging.FileHandler:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _File(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(
            f"the log cannot be written ({error.strerror})",
            where=str(path),
            hint="name another file in logging.log_file",
        ) from error


class _File(logging.FileHandler):
    _failed = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802, ARG002 - the library's signature
        """A full disk is said once, in one line; the library's own way is a traceback for every
        record.
        """
        if not self._failed:
            self._failed = True
            sys.stderr.write(
                f"{self.baseFilename}: the log has gaps from here on ({sys.exc_info()[1]})\n"
            )


class _Plain(logging.Formatter):
    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        text = f"{record.levelname.lower()}: {record.getMessage()}"
        error = record.exc_info[1] if record.exc_info else None
        return self._redact(f"{text} ({type(error).__name__}: {error})" if error else text)


class _Json(logging.Formatter):
    """One object a record; what it has in `about` stands beside the message, to be filtered by."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        at = (
            datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="microseconds")
            .replace("+00:00", "Z")
        )
        line: dict[str, object] = {
            "at": at,
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redact(record.getMessage()),
        }
        line |= getattr(record, "about", {})
        span = current_span()
        if span:
            line |= {"trace_id": span.trace_id, "span_id": span.span_id}
        if record.exc_info:
            line["error"] = self._redact(self.formatException(record.exc_info))
        return json.dumps(line)
