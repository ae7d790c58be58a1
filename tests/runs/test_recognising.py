"""Workspaces are recognised whatever they are called, and hold no input."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from transom.llm import Chain, ScriptedProvider
from transom.runs import Run, Workspace, write_file
from transom.runs.recognising import glob_root, is_workspace, lies_in_workspace

RUN = "runs/A/20261121-093000-0123456789"


@pytest.mark.parametrize("name", [".transom", "ws", "results of today"])
@pytest.mark.parametrize("state_dir", [None, "elsewhere"])
def test_a_workspace_is_recognised_whatever_it_is_called(
    tmp_path: Path, name: str, state_dir: str | None
) -> None:
    elsewhere = tmp_path / state_dir if state_dir else None
    workspace = Workspace.at(tmp_path / name, state_dir=elsewhere)
    asyncio.run(_begin_a_run(workspace))
    assert is_workspace(workspace.root)
    assert not is_workspace(tmp_path), "the folder that holds it is the user's"


async def _begin_a_run(workspace: Workspace) -> None:
    async with workspace.open_store() as store:
        chain = Chain((ScriptedProvider(lambda _: ""),))
        run = await Run.open("x", {}, name="A", workspace=workspace, store=store, chain=chain)
        write_file(run.folder / "report.txt", b"text")


@pytest.mark.parametrize("names", [["runs/2026-11-21/sim.log"], ["state.db"], ["runs/A", "locks"]])
def test_a_folder_with_names_like_those_of_a_workspace_is_the_users(
    tmp_path: Path, names: list[str]
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    assert not is_workspace(tmp_path)


@pytest.mark.parametrize(
    ("path", "root", "inside"),
    [
        ("ws/runs/A/verdict.json", ".", True),
        ("ws/notes.txt", ".", True),
        ("logs/sta.log", ".", False),
        ("ws/runs/A/verdict.json", "ws", True),
        ("ws/state.db-wal", "ws", True),
        ("ws/sta.log", "ws", False),
        ("ws/logs/sta.log", "ws", False),
        ("ws/runs/A/verdict.json", "ws/runs/A", False),
        ("ws", ".", False),
        (".", ".", False),
    ],
)
def test_a_file_lies_in_a_workspace_below_the_folder_that_a_person_names(
    tmp_path: Path, path: str, root: str, inside: bool
) -> None:
    (tmp_path / "ws" / RUN).mkdir(parents=True)
    assert lies_in_workspace(tmp_path / path, tmp_path / root) is inside


@pytest.mark.parametrize(
    ("pattern", "root"),
    [
        ("/a/b/*.log", "/a/b"),
        ("/a/**/c/*.log", "/a"),
        ("*.log", "."),
        ("a/b?/x.log", "a"),
        ("a/b/c.log", "a/b"),
    ],
)
def test_the_root_of_a_glob_stands_before_its_first_wildcard(pattern: str, root: str) -> None:
    assert glob_root(Path(pattern)) == Path(root)
