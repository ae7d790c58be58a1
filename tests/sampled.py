"""Long tables: each row is tried by `make fence`, one of a few already by `make test`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def sampled(rows: Iterable[Any], *, every: int) -> list[Any]:
    """Return the rows as parameters of a test, all but each `every`-th marked slow and fence."""
    return [row if number % every == 0 else _in_fence(row) for number, row in enumerate(rows)]


def _in_fence(row: Any) -> ParameterSet:
    marks = [pytest.mark.slow, pytest.mark.fence]
    if isinstance(row, ParameterSet):
        return pytest.param(*row.values, id=row.id, marks=marks)
    return pytest.param(row, marks=marks)
