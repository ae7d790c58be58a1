"""Levels that this machine offers, and a worker made of a piece of code."""

from __future__ import annotations

import pytest

from transom.sandbox import Level, probe

LEVELS = [level for level in (Level.L1, Level.L2, Level.L3) if level not in dict(probe().missing)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "level" in metafunc.fixturenames:
        metafunc.parametrize("level", LEVELS, ids=lambda level: str(level.value))
