from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from transom.llm import ToolCallPart
from transom.tools import Toolbox
from transom.tools.editing import editing_tools, reading_tools
from transom.tools.shell import command_tool


def box(root: Path) -> Toolbox:
    return Toolbox(
        [
            *reading_tools(root),
            *editing_tools(root),
            command_tool(root, readable=[Path(sys.base_prefix)]),
        ]
    )


async def use(root: Path, tool: str, **arguments: Any) -> tuple[bool, str]:
    outcome = await box(root).run(ToolCallPart("1", tool, arguments))
    return not outcome.error, outcome.result.content


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "p"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("one = 1\ntwo = 2\none_more = 1\n")
    (root / ".git").write_text("gitdir: elsewhere\n")
    (root / "link").symlink_to(tmp_path)
    (tmp_path / "secret").write_text("secret")
    return root


async def test_a_file_is_found_read_edited_written_and_deleted(project: Path) -> None:
    assert '"src/a.py"' in (await use(project, "list_files", part=".py"))[1]
    assert (
        "2\\ttwo = 2"
        in (await use(project, "read_file", path="src/a.py", first_line=2, last_line=2))[1]
    )
    assert "src/a.py:2: two = 2" in (await use(project, "search", pattern=r"^two\b"))[1]
    for _ in range(2):  # the second time as after a kill behind the work
        assert (await use(project, "edit_file", path="src/a.py", old="two = 2", new="two = 3"))[0]
    assert (project / "src/a.py").read_text() == "one = 1\ntwo = 3\none_more = 1\n"
    assert (await use(project, "write_file", path="new/b.py", text="b\n"))[0]
    assert (project / "new/b.py").read_text() == "b\n"
    for _ in range(2):
        assert (await use(project, "delete_file", path="new/b.py"))[0]
    assert not (project / "new/b.py").exists()


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("read_file", {"path": "../secret"}, "is outside the project"),
        ("read_file", {"path": "/etc/passwd"}, "is outside the project"),
        ("read_file", {"path": "link/secret"}, "is outside the project"),
        ("write_file", {"path": "../new", "text": "x"}, "is outside the project"),
        ("write_file", {"path": "link/new", "text": "x"}, "is outside the project"),
        ("delete_file", {"path": "."}, "is outside the project"),
        ("write_file", {"path": ".git", "text": "x"}, "is git's own"),
        ("write_file", {"path": "src", "text": "x"}, "it is a folder"),
        ("read_file", {"path": "src/none.py"}, "there is no file"),
        ("read_file", {"path": "src/a.py", "first_line": 99}, "has 4 lines"),
        ("edit_file", {"path": "src/a.py", "old": "= 1", "new": "= 2"}, "stands 2 times"),
        ("edit_file", {"path": "src/a.py", "old": "nine", "new": "ten"}, "stands 0 times"),
        ("search", {"pattern": "("}, "cannot be read"),
    ],
)
async def test_what_is_not_carried_out_says_why(
    project: Path, tool: str, arguments: Any, why: str
) -> None:
    worked, said = await use(project, tool, **arguments)
    assert not worked and why in said
    assert (project.parent / "secret").read_text() == "secret" and not (
        project.parent / "new"
    ).exists()


@pytest.mark.needs("L3")
async def test_a_command_runs_shut_in_and_its_long_output_is_cut_in_the_middle(
    project: Path,
) -> None:
    command = "echo hello; touch made; cat ../secret; seq 1 5000; exit 3"
    worked, said = await use(project, "run_command", command=command)
    assert worked and '"exit_code": 3' in said.replace('":3', '": 3') and "hello" in said
    assert (
        "characters are left out" in said
        and "5000" in said
        and "secret" not in said.replace("../secret", "")
    )
    assert (project / "made").exists()
