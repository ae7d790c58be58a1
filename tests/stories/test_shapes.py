"""Shapes of projects: each is read right, and each file that is not read is reported."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from tests.stories.projects import git, write
from tests.stories.test_courses import OPENLY
from tests.stories.worlds import REPLAY
from transom.errors import InputError
from transom.formats.yaml_files import load_yaml
from transom.stories.epic import plan
from transom.stories.shared import StorySettings

SHAPES: Any = load_yaml(Path(__file__).with_name("data") / "shapes.yaml").data
STORY = """
## Story

As a clerk, I want sums, so that I sleep.

## Acceptance Criteria

1. 1 and 2 is 3
2. A text is refused
"""


@pytest.mark.parametrize("shape", SHAPES, ids=[shape["name"] for shape in SHAPES])
def test_a_project_is_read_by_scope(tmp_path: Path, shape: Any) -> None:
    for path, text in shape["files"].items():
        write(tmp_path, path, text.replace("$S", STORY))
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    settings = StorySettings(REPLAY, OPENLY)
    if "refuses" in shape:
        with pytest.raises(InputError) as error:
            asyncio.run(plan(tmp_path, shape["epic"], None, settings))
        assert shape["refuses"] in str(error.value)
        return
    result = asyncio.run(plan(tmp_path, shape["epic"], None, settings))
    read = {}
    for story in result.stories:
        counted = re.search(r"(\d+) acceptance criteria", story.reason)
        read[story.id] = [story.status, int(counted[1]) if counted else 0]
    assert read == shape["reads"]
    assert "SM has to correct" not in "".join(
        story.reason for story in result.stories if shape.get("is_clear")
    )
    assert shape.get("skips", "") in "\n".join(result.skipped)


def test_there_are_enough_shapes() -> None:
    assert len(SHAPES) >= 25
