"""A program that gives a stopped message up is the same program when it runs again, wherever the stop fell."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.agent.stopped.given_up import GIVEN_UP, passed_by, places
from tests.agent.stopped.world import Scene, Stop, What

KINDS: list[What] = ["cancel", "cancel asked", "cancel tool", "refuse", "fail"]


def found(scene: Scene, what: What, folder: Path, step: int = 1) -> dict[int, Any]:
    """What is wrong, by the place."""
    wrong: dict[int, Any] = {}
    for at in places(scene, what, folder / "whole")[::step]:
        if one := passed_by(scene, Stop(what, at), folder / "c"):
            wrong[at] = one
        shutil.rmtree(folder / "c")
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("scene", GIVEN_UP[1:5:3], ids=lambda scene: scene.name)
def test_what_was_stopped_as_something_was_written_stays_so(scene: Scene, tmp_path: Path) -> None:
    assert found(scene, "cancel", tmp_path, 1 if scene is GIVEN_UP[1] else 4) == {}


@pytest.mark.slow
@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize("scene", GIVEN_UP, ids=lambda scene: scene.name)
def test_what_was_stopped_anywhere_stays_so(scene: Scene, what: What, tmp_path: Path) -> None:
    assert found(scene, what, tmp_path) == {}
