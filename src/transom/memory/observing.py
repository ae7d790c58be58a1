"""Spans and log lines of memory operations; neither has the texts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from transom.telemetry import Span, child_span, keys

_log = logging.getLogger("transom.memory")

Operation: TypeAlias = Literal["store", "get", "retrieve", "relate", "neighbours", "forget"]

# A look-up by id is mostly a step of another operation, so it is no query that may miss.
_QUERIES = ("retrieve", "neighbours")


@contextmanager
def observed(operation: Operation) -> Iterator[Span]:
    """Trace an operation, and log how it ended.

    A query counts its results: `span.set(keys.FOUND, len(entries))`.
    """
    kind = keys.RETRIEVAL if operation in _QUERIES else keys.MEMORY_CHANGE
    attributes = {keys.OPERATION: kind, keys.MEMORY_OPERATION: operation}
    try:
        with child_span(f"{operation} memory", **attributes) as span:
            yield span
    except Exception as error:
        # The caller reports it: as an error, or as a run that goes on without memory.
        _log.info("memory: %s failed with %s", operation, type(error).__name__)
        raise
    _log.info("memory: %s", operation)
