"""The process that does jobs for a worker waits for a database that is away when it begins."""

from __future__ import annotations

from typing import Any

import pytest

from transom.cli import hand
from transom.errors import StoreError


class Restarting:
    """A session whose database is away for some attempts."""

    def __init__(self, failures: int) -> None:
        self.attempts = 0
        self._failures = failures

    def open_store(self) -> str:
        self.attempts += 1
        if self.attempts <= self._failures:
            raise StoreError("the database cannot be reached")
        return "the store"


async def test_a_database_that_comes_back_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hand, "_PAUSE", 0.01)
    session: Any = Restarting(3)
    store: Any = await hand._opened_store(session)
    assert store == "the store"
    assert session.attempts == 4


async def test_a_database_that_stays_away_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hand, "_PAUSE", 0.01)
    monkeypatch.setattr(hand, "_PATIENCE", 0.05)
    session: Any = Restarting(10_000)
    with pytest.raises(StoreError, match="cannot be reached"):
        await hand._opened_store(session)
    assert session.attempts > 1
