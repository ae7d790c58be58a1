"""Lying, forging and honest ways of an agent in projects with pytest, Node, cargo and make."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.stories.projects import git, write
from tests.stories.test_lies import holds, stories
from tests.stories.worlds import World
from transom.config.story_sections import StoriesSettings
from transom.formats.yaml_files import load_yaml
from transom.sandbox import Level
from transom.stories.shared import StorySettings
from transom.stories.testrun import TestCommand

KINDS = ("lying", "forging", "honest")


def load_rows() -> Any:
    """The projects, and the rows of each kind, of all files."""
    folder = Path(__file__).with_name("data")
    whole: Any = load_yaml(folder / "projects.yaml").data
    names = ("forms", "weak", "runners", "assorted", "everyday", "halves", "narrow")
    for name in (f"{name}.yaml" for name in names):
        further: Any = load_yaml(folder / name).data
        whole["projects"].update(further["projects"])
        for kind in KINDS:
            whole[kind] += [{**row, "marks": (pytest.mark.slow,)} for row in further.get(kind, [])]
    return whole


DATA: Any = load_rows()
QUICK = {"plain-pytest", "plain-node", "checks-the-type-alone", "hooks-named-by-the-test"}
# Without the plug-ins of this environment, pytest starts ten times faster.
QUIET = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
LONG = (pytest.mark.slow, pytest.mark.fence)

# Applies a row to the worktree, and prints the reply.
AGENT = """
import json, pathlib, sys

row = json.loads(pathlib.Path(sys.argv[1]).read_text())
sys.stdin.read()
listed = []
for path, text in row["write"].items():
    target = pathlib.Path(path)
    listed.append(("modified" if target.exists() else "created", path))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
for path, (old, new) in row["edits"].items():
    target = pathlib.Path(path)
    text = target.read_text()
    assert old in text, (path, old)
    target.write_text(text.replace(old, new, 1))
    listed.append(("modified", path))
print("SUMMARY: the story is built.\\n\\nFILES:")
for action, path in listed:
    print(f"- {action}: {path}")
print("\\nTESTS:")
for number, name in row["covers"].items():
    print(f"- AC {number}: {name}")
"""


def rows(kind: str) -> list[Any]:
    listed = []
    for row in DATA[kind]:
        row = {"status": "done" if kind == "honest" else "stopped", **row}
        marks = row.pop("marks", LONG)
        listed.append(pytest.param(row, id=row["id"], marks=() if row["id"] in QUICK else marks))
    return listed


def world(folder: Path, row: Any) -> World:
    base = DATA["projects"][row["project"]]
    project = folder / "project"
    for path, text in base["files"].items():
        write(project, path, text)
    named = [*base["change"], *row.get("names", ())]
    table = "".join(f"| `{path}` | change |\n" for path in named)
    write(
        project,
        "docs/stories/1.1.story.md",
        f"# Story 1.1: One\n\n## Status\n\nApproved\n\n## Story\n\n{base['story']}\n"
        f"## Acceptance Criteria\n\n{row.get('criteria', base['criteria'])}\n"
        + (
            f"## Files to Modify\n\n| File | Change |\n|---|---|\n{table}" if "names" in row else ""
        ),
    )
    git(project, "init", "--quiet", "--initial-branch=main")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "A project")
    changed = {**base["change"], **row.get("files", {})}
    for path in row.get("drops", ()):
        del changed[path]
    task = {
        "write": changed,
        "edits": {**base.get("edits", {}), **row.get("edits", {})},
        "covers": row.get("covers", base["covers"]),
    }
    write(folder, "row.json", json.dumps(task))
    write(folder, "agent.py", AGENT)
    words = [word.replace("$PYTHON", sys.executable) for word in base["command"]]
    tests = TestCommand(tuple(words), environment=QUIET, level=Level.NONE)
    kinds: Any = {"sm": "rules", "po": "rules", "dev": "command", "qa": "rules"}
    settings = StorySettings(kinds, tests, StoriesSettings(attempts=1))
    command = (sys.executable, str(folder / "agent.py"), str(folder / "row.json"))
    return World(project, folder / "w", "1", settings, command=command)


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.parametrize("row", [row for kind in KINDS for row in rows(kind)])
async def test_only_honest_work_is_done_in_other_projects(tmp_path: Path, row: Any) -> None:
    program = DATA["projects"][row["project"]]["command"][0]
    if program != "$PYTHON" and not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    at = world(tmp_path, row)
    main = git(at.project, "rev-parse", "main")
    (story,) = (await at.go()).stories
    findings = [finding for stage in story.stages for finding in stage.evidence.get("findings", ())]
    assert holds(row, story), (story.status, story.reason, findings)
    if story.status != "done":
        assert git(at.project, "rev-parse", "main") == main


def test_the_rows_tell_a_stand_in_from_the_product() -> None:
    for kind in KINDS:
        for param in rows(kind):
            (row,) = param.values
            assert not holds(row, stories()["abstains from everything"]), row["id"]
            if kind != "honest":
                assert not holds(row, stories()["passes everything"]), row["id"]
