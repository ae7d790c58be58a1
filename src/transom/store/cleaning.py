"""The removal of secrets from the texts that rooms write into their tables."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from transom.store.protocol import Connection, StatementResult
from transom.telemetry.redact import Redactor

T = TypeVar("T")

_logger = logging.getLogger(__name__)


class Cleaner:
    """Removes secrets from the texts of one room, and says so in one line of the log.

    Args:
        redact: finds the secrets; None: those of the environment, and keys of a known form.
    """

    def __init__(self, redact: Redactor | None = None) -> None:
        self._redact = redact or Redactor()

    def __call__(self, text: str) -> str:
        """Return a text without its secrets."""
        cleaned = self._redact(text)
        if cleaned != text:
            _report()
        return cleaned

    def carry_out(self, work: Callable[[Connection], T], connection: Connection) -> T:
        """Return the result of a transaction's function, whose texts are all cleaned."""
        cleaning = _CleaningConnection(connection, self._redact)
        result = work(cleaning)
        # One line for all texts: an event, its row and its index often hold the same one.
        if cleaning.has_cleaned:
            _report()
        return result


class _CleaningConnection:
    """The connection of one transaction, which cleans every text it is given."""

    def __init__(self, connection: Connection, redact: Redactor) -> None:
        self.has_cleaned = False
        self._connection = connection
        self._redact = redact

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> StatementResult:
        # Numbers and the bytes of vectors hold no text. JSON is a text, too: secrets are found in
        # their escaped form.
        cleaned = [self._redact(value) if isinstance(value, str) else value for value in values]
        if cleaned != [*values]:
            self.has_cleaned = True
        return self._connection.execute(sql, cleaned)


def _report() -> None:
    _logger.warning("a secret was found in the text; it is kept as [redacted]")
