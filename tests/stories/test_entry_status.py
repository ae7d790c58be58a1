"""The status of one story in a file of several."""

from __future__ import annotations

from pathlib import Path

import pytest

from transom.formats.yaml_files import load_yaml
from transom.stories.stories_yaml import close_entry, read_stories_yaml

ROWS = """\
# Orders of the mill
stories:
  - id: "1"
    title: Weigh sacks  # the first
    description: As a miller, I weigh sacks.
    status: todo   # until May
  - id: "2"
    title: Print labels
    description: 'As a miller, I print the label "status: todo".'
    status: "todo"
"""


def closed(folder: Path, text: str, identity: str, name: str = "stories.yaml") -> str:
    path = folder / name
    path.write_bytes(text.encode())
    close_entry(path, identity)
    return path.read_bytes().decode()


def test_only_the_line_of_the_status_changes(tmp_path: Path) -> None:
    first = closed(tmp_path, ROWS, "1")
    assert first == ROWS.replace("status: todo   #", "status: done   #")
    both = closed(tmp_path, first, "2")
    assert both.endswith('"status: todo".\'\n    status: "done"\n')
    stories = read_stories_yaml(load_yaml(tmp_path / "stories.yaml"), "stories.yaml")
    assert [story.status for story in stories] == ["done", "done"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("status: To Do", "status: Done"),
        ("State: TODO", "State: DONE"),
        ("passes: false", "passes: true"),
        ("status: todo\r", "status: done\r"),
        ("status: todo\n    passes: false", "status: done\n    passes: true"),
        ("'status': 'in progress'", "'status': 'done'"),
    ],
)
def test_dialects(tmp_path: Path, old: str, new: str) -> None:
    head = '- id: "1"\n  title: Weigh\n  description: Weigh sacks\n  '
    text, expected = (f"{head}{part}\n".replace("\n    ", "\n  ") for part in (old, new))
    assert closed(tmp_path, text, "1") == expected


def test_the_word_of_the_file_is_used(tmp_path: Path) -> None:
    text = ROWS.replace("status: todo   # until May", "status: completed")
    assert 'status: "completed"' in closed(tmp_path, text, "2")


def test_json(tmp_path: Path) -> None:
    text = (
        '{\n  "tasks": [\n    {\n      "id": 4,\n      "title": "Weigh",\n'
        '      "status": "pending",\n      "description": "Weigh sacks"\n    }\n  ]\n}\n'
    )
    assert closed(tmp_path, text, "4", "tasks.json") == text.replace('"pending"', '"done"')


@pytest.mark.parametrize(
    "text",
    [
        "- {id: '1', title: Weigh, description: Weigh sacks, status: todo}\n",
        "- id: '1'\n  title: Weigh\n  description: Weigh sacks\n",
        "- id: '1'\n  title: Weigh\n  description: Weigh sacks\n  status: |\n    todo\n",
        "- id: '1'\n  title: Weigh\n  description: W\n  status: todo\n  tests_passed: maybe\n"
        "  passes: [1]\n  done: later\n",
        "- id: '2'\n  title: Weigh\n  description: Weigh sacks\n  status: todo\n",
        "- id: '1'\n  title: [Weigh\n  status: todo\n",
    ],
)
def test_other_forms_stay_as_they_are(tmp_path: Path, text: str) -> None:
    assert closed(tmp_path, text, "1") == text
