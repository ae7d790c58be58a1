from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.checks import Desk, Workshop, stage_names

__all__ = ["stage_names"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in, and no setting from outside."""
    for name in [name for name in os.environ if name.startswith("TRANSOM_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def desk(here: Path, capfd: pytest.CaptureFixture[str]) -> Desk:
    """A folder with copies of the examples."""
    return Desk.at(here, capfd)


@pytest.fixture
def model_desk(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Desk:
    """A folder with copies of the examples without their claims, which a written model answers."""
    return Desk.with_model(here, capfd, monkeypatch)


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.fixture
def after(
    here: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    workshop: Workshop,
) -> Callable[..., Desk]:
    """Makes a desk at which `transom check ARGUMENTS` was given before."""
    assert here.is_dir()
    return lambda *arguments: workshop.desk(capfd, monkeypatch, *arguments)
