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
    level: str | int = logging.WARNING,
    log_file: Path | None = None,
    redact: Redactor | None = None,
    terminal_level: str | int | None = None,
) -> None:
    """Send the log of Transom to stderr, and to `log_file` if it is set. A second call replaces the
    handlers of the first.

    Only the logger `transom` is changed, never the root logger of the application around it.
    Secrets are removed from both (see `Redactor`): by the formatters and not by a filter, since a
    traceback becomes text only there. The file contains tracebacks, stderr does not.

    Args:
        level: name or number, e.g. `info`; for both.
        log_file: JSON lines are appended to it; its folder is created.
        redact: removes secrets; by default those of the environment.
        terminal_level: the level for stderr; None: `level`.

    Raises:
        SettingsError: the level is unknown.
        InputError: the file cannot be written.
    """
    number = _number_of(level)
    shown_level = number if terminal_level is None else _number_of(terminal_level)
    redact = redact or Redactor()
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    handlers[0].setFormatter(_PlainFormatter(redact))
    handlers[0].setLevel(shown_level)
    # A call that failed permanently ends the command with the same message; only `info` and
    # `debug` show both.
    handlers[0].addFilter(
        lambda record: shown_level <= logging.INFO or not hasattr(record, "about")
    )
    # A file that cannot be opened is an error, and must leave the handlers of before in place.
    if log_file:
        handlers.append(_open_log(log_file))
        handlers[1].setFormatter(_JsonFormatter(redact))
        handlers[1].setLevel(number)
    logger = logging.getLogger(_ROOT)
    for old in [*logger.handlers]:
        logger.removeHandler(old)
        old.close()
    for handler in handlers:
        logger.addHandler(handler)
    logger.setLevel(min(number, shown_level))


def _number_of(level: str | int) -> int:
    number = logging.getLevelNamesMapping().get(level.upper()) if isinstance(level, str) else level
    if number is None:
        raise SettingsError(
            f"unknown log level {level!r}", hint="use debug, info, warning, error or critical"
        )
    return number


def _open_log(path: Path) -> logging.FileHandler:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _LogFile(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(
            f"the log cannot be written ({error.strerror})",
            place=str(path),
            hint="name another file in logging.log_file",
        ) from error


class _LogFile(logging.FileHandler):
    _failed = False

    # `logging` prescribes the name and the argument.
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802, ARG002
        """Report a full disk once, in one line. `logging` itself would write a traceback for every
        record.
        """
        if not self._failed:
            self._failed = True
            sys.stderr.write(
                f"{self.baseFilename}: the log has gaps from here on ({sys.exc_info()[1]})\n"
            )


class _PlainFormatter(logging.Formatter):
    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        text = f"{record.levelname.lower()}: {record.getMessage()}"
        if record.exc_info and record.exc_info[1]:
            error = record.exc_info[1]
            text = f"{text} ({type(error).__name__}: {error})"
        return self._redact(text)


class _JsonFormatter(logging.Formatter):
    """A JSON object for each record. The fields of its `about` become fields of the object, so that
    a reader can filter by them.
    """

    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        created = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds")
        line: dict[str, object] = {
            "at": created.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redact(record.getMessage()),
        }
        line |= getattr(record, "about", {})
        # With these ids a reader finds the step in `transom trace show`.
        span = current_span()
        if span:
            line |= {"trace_id": span.trace_id, "span_id": span.span_id}
        if record.exc_info:
            line["error"] = self._redact(self.formatException(record.exc_info))
        return json.dumps(line)
