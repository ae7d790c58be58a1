"""Files that a project's tests make are never committed, in any language, whatever git ignores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.stories.projects import EXAMPLE, git, make_project, write
from tests.stories.worlds import World
from transom.config.story_sections import StoriesSettings
from transom.sandbox import Level
from transom.stories.shared import StorySettings
from transom.stories.testrun import TestCommand

REPLIES = EXAMPLE / "replies" / "story-1"
# What an agent does that tries its own work: the tests run, and leave what they make.
HONEST = f"git apply {REPLIES}/dev-1.patch"
TRIES = "python3 run_tests.py report.xml > /dev/null 2>&1; rm -f report.xml"
COMPILES = "python3 -m compileall -q till tests"
REPLY = f"cat {REPLIES}/dev-1.txt"

MAKES = {
    "Java, beside the sources": """
for source in pathlib.Path("till").glob("*.py"):
    source.with_suffix(".class").write_bytes(b"\\xca\\xfe\\xba\\xbe\\0\\0")
""",
    "C, in a folder": """
pathlib.Path("out/debug").mkdir(parents=True, exist_ok=True)
for source in pathlib.Path("till").glob("*.py"):
    pathlib.Path("out/debug", source.stem).write_bytes(b"\\x7fELF\\0" + source.name.encode())
    pathlib.Path("out/debug", source.stem + ".map").write_text("text")
""",
    "a tool without any usual name": """
pathlib.Path("till/zz-1").write_text("a lock\\n")
""",
}


def world(folder: Path, makes: str, course: str) -> World:
    """A project without a .gitignore, whose tests make files."""
    project = make_project(folder)
    (project / ".gitignore").unlink(missing_ok=True)
    runner = project / "run_tests.py"
    runner.write_text(f"import pathlib\n{makes}\n{runner.read_text()}")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "Ignore nothing")
    write(folder, "agent.sh", f"cat > /dev/null\n{course}\n")
    kinds: Any = {"sm": "rules", "po": "rules", "dev": "command", "qa": "rules"}
    tests = TestCommand(("{python}", "run_tests.py", "{junit}"), level=Level.NONE)
    settings = StorySettings(kinds, tests, StoriesSettings(attempts=1))
    command = ("/bin/sh", str(folder / "agent.sh"))
    return World(project, folder / "w", settings=settings, command=command)


def committed(project: Path) -> set[str]:
    """All paths in the history of every branch that is not a parked one."""
    names = git(
        project, "log", "--exclude=refs/heads/transom/parked/*", "--all", "--name-only", "--format="
    )
    return set(names.split("\n")) - {""}


NEW = {"till/discounts.py", "tests/test_discounts.py"}


@pytest.mark.slow
@pytest.mark.parametrize("makes", MAKES.values(), ids=MAKES.keys())
async def test_files_that_the_tests_make_are_not_committed(tmp_path: Path, makes: str) -> None:
    here = world(tmp_path, makes, f"{HONEST}; {TRIES}; {REPLY}")
    before = committed(here.project)
    result = await here.go("story-1")
    assert [story.status for story in result.stories] == ["done"], result.stories[0].reason
    assert committed(here.project) - before == NEW
    assert any("not committed, since tests or tools make it" in line for line in here.said)


@pytest.mark.slow
@pytest.mark.fence
async def test_compiled_files_of_tests_that_write_none_are_not_committed(tmp_path: Path) -> None:
    here = world(tmp_path, "", f"{HONEST}; {COMPILES}; {REPLY}")
    before = committed(here.project)
    result = await here.go("story-1")
    assert [story.status for story in result.stories] == ["done"], result.stories[0].reason
    assert committed(here.project) - before == NEW


async def test_by_products_that_dev_lists_or_commits_itself_are_not_merged(tmp_path: Path) -> None:
    commits = "git add --all; git commit --quiet --message mine"
    listed = f"{REPLY} | sed 's/^FILES:/FILES:\\n- created: till\\/prices.class/'"
    makes = MAKES["Java, beside the sources"]
    here = world(tmp_path, makes, f"{HONEST}; {TRIES}; {commits}; {listed}")
    before = committed(here.project)
    (story,) = (await here.go("story-1")).stories
    assert committed(here.project) - before == NEW
    # The commits of Dev's own are not lost.
    (kept,) = story.parked
    assert "till/prices.class" in git(here.project, "ls-tree", "-r", "--name-only", kept)
    assert "till/prices.class is listed and unchanged" in story.reason


async def test_a_text_that_dev_hides_is_still_a_finding(tmp_path: Path) -> None:
    hides = "echo 'x = 1' > till/back_door.py"
    here = world(tmp_path, MAKES["C, in a folder"], f"{HONEST}; {TRIES}; {hides}; {REPLY}")
    (story,) = (await here.go("story-1")).stories
    assert story.status == "failed"
    assert "till/back_door.py" in story.reason


@pytest.mark.slow
async def test_a_binary_file_that_dev_lists_is_its_work(tmp_path: Path) -> None:
    draws = "printf '\\211PNG\\000' > tests/logo.png"
    listed = f"{REPLY} | sed 's/^FILES:/FILES:\\n- created: tests\\/logo.png/'"
    here = world(tmp_path, "", f"{HONEST}; {draws}; {listed}")
    (story,) = (await here.go("story-1")).stories
    assert "tests/logo.png" in [change.path for change in story.files_modified], story.reason


@pytest.mark.fence
@pytest.mark.slow
async def test_lines_that_an_agent_adds_to_gitignore_are_left_out(tmp_path: Path) -> None:
    adds = "echo '.aider*' >> .gitignore; echo '# chat' > .aider.chat.history.md"
    commits = "git add --all; git commit --quiet --message mine"
    here = world(tmp_path, "", f"{HONEST}; {adds}; {commits}; {REPLY}")
    before = committed(here.project)
    (story,) = (await here.go("story-1")).stories
    assert story.status == "done", story.reason
    assert committed(here.project) - before == NEW
