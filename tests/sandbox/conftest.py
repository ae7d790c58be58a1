"""Levels that this machine offers, and a worker made of a piece of code."""

from __future__ import annotations

import pytest

from transom.sandbox import Level, needs

ALL_LEVELS = (Level.L1, Level.L2, Level.L3)
LEVELS = [level for level in ALL_LEVELS if not needs(level)]
"""The levels of this machine, the lowest first."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "level" in metafunc.fixturenames:
        parameters = []
        for level in ALL_LEVELS:
            mark = pytest.mark.needs(level.value)
            parameters.append(pytest.param(level, marks=mark, id=level.value))
        metafunc.parametrize("level", parameters)
