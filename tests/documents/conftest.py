"""Fixtures of the rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents.door import Door, FanModel, fan_door
from tests.documents.rows import STUBBED, row_of, stub_out


@pytest.fixture(autouse=True)
def _stubbed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = row_of(request.function)
    if declared and os.environ.get(STUBBED):
        stub_out(declared.stub, monkeypatch)


@pytest.fixture(autouse=True)
def _fresh_model() -> Iterator[None]:
    FanModel.forget()
    yield
    FanModel.forget()


@pytest.fixture
def door(tmp_path: Path) -> Door:
    """The command line in an empty folder."""
    return Door(tmp_path)


@pytest.fixture
def fan(tmp_path: Path) -> Door:
    """The command line in a folder with the item FAN-1 and its log."""
    return fan_door(tmp_path)
