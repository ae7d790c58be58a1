"""Workspaces of earlier versions: they can be looked at, and interrupted runs go on.

A run that this version cannot go on with says so in one line that ends with the command that
begins it anew.
"""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.helpers import transom
from tests.old_workspaces.make import STUDY_TRIALS
from tests.old_workspaces.restoring import ARCHIVES, archive_name, archives_of, restore
from tests.stories.projects import git
from transom import Agent, Home, Role
from transom.cli import main
from transom.errors import Paused
from transom.llm import Chain
from transom.runs import Run, Workspace, text_file
from transom.testing import ScriptedProvider, asks

pytestmark = pytest.mark.sqlite  # older versions left files

CLERK = Role("shop.clerk", "You know the stock.")
INTERRUPTED = {
    "check": "check",
    "batch": "check",
    "investigate": "investigate",
    "story": "story",
    "study": "study",
    "conversation": "agent",
}
"""The kind of the run that was interrupted, by the case."""
INSIGHTS = {"demo": ("brackets", 3), "workspace": ("stories", 1), "learning": ("checklist", 1)}
"""The domain and number of insights of each workspace of the demo, by its folder's name."""

Capture = pytest.CaptureFixture[str]


def each_of(case: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("archive", archives_of(case), ids=archive_name)


def read_json(capture: Capture, *arguments: str) -> Any:
    """Run a command in this process and return its JSON document."""
    code = main([*arguments, "--format", "json", "-q"])
    output, errors = capture.readouterr()
    assert code == 0, f"{arguments}: {errors}"
    return json.loads(output)


@pytest.mark.parametrize("archive", ARCHIVES, ids=archive_name)
def test_every_command_that_looks_at_an_old_workspace_shows_it(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    restore(archive, tmp_path)
    monkeypatch.chdir(tmp_path)
    case = archive.name.removesuffix(".tar.xz")
    workspaces = sorted(path.parent for path in tmp_path.rglob("state.db"))
    assert len(workspaces) == (3 if case == "demo" else 1)
    for workspace in workspaces:
        here = ("--workspace", str(workspace))
        runs = read_json(capsys, "runs", "list", *here)["runs"]
        assert len(runs) == _count(workspace, "documents WHERE name = 'runs'")
        traces = read_json(capsys, "trace", "list", *here)["traces"]
        traced = {trace["run_id"] for trace in traces}
        # A batch leaves its trace to the runs of its items.
        assert traced == {run["run_id"] for run in runs if run["kind"] != "check-batch"}
        for run in runs:
            is_interrupted = run["status"] == "interrupted"
            assert is_interrupted == (run["kind"] == INTERRUPTED.get(case))
            shown = read_json(capsys, "runs", "show", run["run_id"], *here)
            calls = _count(
                workspace,
                f"records WHERE stream = 'run/{run['run_id']}' AND kind = 'model_reply'",
            )
            assert shown["usage"]["calls"] == calls
            windows = read_json(capsys, "window", "show", run["run_id"], *here)
            assert len(windows["calls"]) == calls
            if run["run_id"] in traced:
                read_json(capsys, "trace", "show", run["run_id"], *here)
        domain, number = INSIGHTS.get(workspace.name, ("checklist", 0))
        insights = read_json(capsys, "playbook", "list", "--domain", domain, *here)
        assert len(insights["items"]) == number
        waiting = read_json(capsys, "waiting", *here)
        assert len(waiting["questions"]) == (1 if case == "question" else 0)


def _count(workspace: Path, rows: str) -> int:
    with closing(sqlite3.connect(workspace / "state.db")) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {rows}").fetchone()[0])


def transom_json(folder: Path, *arguments: str) -> tuple[Any, subprocess.CompletedProcess[str]]:
    """Run a command as a person does; return its JSON document, if any, and the process."""
    done = transom(*arguments, "--format", "json", cwd=folder)
    return json.loads(done.stdout) if done.stdout else None, done


def go_on(folder: Path) -> Any:
    """Resume the interrupted run, or follow the line that says how to begin it anew."""
    listed, _ = transom_json(folder, "runs", "list")
    run_ids = [run["run_id"] for run in listed["runs"]]
    (run_id,) = [run["run_id"] for run in listed["runs"] if run["status"] == "interrupted"]
    document, resumed = transom_json(folder, "resume", run_id)
    if resumed.returncode != 2:
        listed_again, _ = transom_json(folder, "runs", "list")
        assert [run["run_id"] for run in listed_again["runs"]] == run_ids
        return document
    line = resumed.stderr.strip().splitlines()[-1]
    command = re.search(r"begin it anew with: transom (.*)", line)
    assert command is not None, resumed.stderr
    document, begun = transom_json(folder, *shlex.split(command[1]))
    assert begun.returncode != 2, begun.stderr
    return document


def run_undisturbed(archive: Path, folder: Path, *arguments: str) -> Any:
    """Give the command that began the run in a folder with the same inputs and no workspace."""
    restore(archive, folder)
    for path in (folder / ".transom").rglob("*"):
        if path.is_file():
            path.unlink()
    document, done = transom_json(folder, *arguments)
    assert done.returncode != 2, done.stderr
    return document


@pytest.mark.slow
@pytest.mark.fence
@each_of("check")
def test_an_interrupted_check_comes_to_the_verdict_of_an_undisturbed_one(
    archive: Path, tmp_path: Path
) -> None:
    words = ("check", "all", "VER-02.yaml", "--var", "CHECKLIST_ROOT=data")
    expected = run_undisturbed(archive, tmp_path / "undisturbed", *words)
    verdict = go_on(restore(archive, tmp_path / "interrupted"))
    assert verdict["status"] == expected["status"] == "FAIL"
    assert verdict["found_items"] == expected["found_items"]
    assert verdict["missing_items"] == expected["missing_items"]
    assert [entry["id"] for entry in verdict["missing_items"]] == ["2.2"]


@pytest.mark.slow
@pytest.mark.fence
@each_of("batch")
def test_an_item_of_an_interrupted_batch_comes_to_its_verdict(
    archive: Path, tmp_path: Path
) -> None:
    folder = restore(archive, tmp_path)
    verdict = go_on(folder)
    words = ("check", "batch", "VER-02.yaml", "--var", "CHECKLIST_ROOT=data")
    batch, done = transom_json(folder, *words)
    assert done.returncode == 1, done.stderr
    assert [row["status"] for row in batch["checks"]] == [verdict["status"]] == ["FAIL"]


@pytest.mark.slow
@pytest.mark.fence
@each_of("investigate")
def test_an_interrupted_investigation_comes_to_the_verdict_of_an_undisturbed_one(
    archive: Path, tmp_path: Path
) -> None:
    words = ("investigate", "Is the kiosk ready?", "--data", "data", "--as-of", "2026-09-20")
    expected = run_undisturbed(archive, tmp_path / "undisturbed", *words)
    investigation = go_on(restore(archive, tmp_path / "interrupted"))
    assert investigation["verdict"] == expected["verdict"] == "NOT_READY"
    assert investigation["criteria"] == expected["criteria"]


@pytest.mark.slow
@pytest.mark.fence
@each_of("story")
def test_an_interrupted_epic_is_merged_as_an_undisturbed_one(
    archive: Path, tmp_path: Path, need_tool: Any
) -> None:
    need_tool("git")
    need_tool("bwrap")
    folder = restore(archive, tmp_path)
    result = go_on(folder)
    statuses = {story["id"]: story["status"] for story in result["stories"]}
    # Today a criterion needs a test that fails without the story. The second one of story-3 has
    # none, so Dev is asked once more, for which these replies were never recorded.
    assert statuses == {"story-1": "done", "story-2": "blocked", "story-3": "paused"}
    (unproven,) = [story for story in result["stories"] if story["id"] == "story-3"]
    assert "dev-3.txt: the recording is missing" in unproven["reason"]
    assert [bool(row["tests"]) for row in unproven["coverage"]] == [True, False]
    history = git(folder / "project", "log", "--first-parent", "--format=%s")
    assert history.count("Merge story") == 1
    assert git(folder / "project", "status", "--porcelain") == ""


@pytest.mark.slow
@pytest.mark.fence
@each_of("study")
def test_an_interrupted_study_keeps_its_designs_and_solves_the_others(
    archive: Path, tmp_path: Path
) -> None:
    pytest.importorskip("optuna")
    folder = restore(archive, tmp_path)
    solved = _designs(folder)
    assert len(solved) == 4
    result = go_on(folder)
    designs = _designs(folder)
    assert designs[:4] == solved
    assert len(designs) == result["trials"]["total"] == STUDY_TRIALS
    feasible = [
        design["outputs"]["mass"]
        for design in designs
        if design["violations"] and all(value <= 0 for value in design["violations"].values())
    ]
    assert result["best"]["values"] == [min(feasible)]


def _designs(folder: Path) -> list[Any]:
    """Return the trials that a study has ended, as its export shows them."""
    exported = transom("study", "export", "beam", cwd=folder)
    assert exported.returncode == 0, exported.stderr
    designs = [json.loads(line) for line in exported.stdout.splitlines()]
    return [design for design in designs if design["ended"]]


@pytest.mark.fence
@each_of("conversation")
async def test_an_interrupted_conversation_asks_only_for_the_answer_that_is_missing(
    archive: Path, tmp_path: Path
) -> None:
    restore(archive, tmp_path)
    counted = []

    def count(item: str) -> str:
        """Count what is in stock of an item."""
        counted.append(item)
        return f"{item}: 7 left"

    provider = ScriptedProvider({"shop.clerk": [asks("count", item="nuts"), "7 nuts."]})
    home = Home(tmp_path / ".transom", "monday")
    async with Agent(CLERK, provider=provider, tools=[count], at=home) as agent:
        first = await agent.send("How many bolts are there?", id="bolts")
        assert (first.text, provider.requests) == ("There are 7 bolts left.", [])
        second = await agent.send("And nuts?", id="nuts")
    assert (second.text, counted) == ("7 nuts.", ["nuts"])


@pytest.mark.slow
@pytest.mark.fence
@each_of("question")
async def test_an_answer_to_an_old_question_lets_the_program_go_on(
    archive: Path, tmp_path: Path
) -> None:
    restore(archive, tmp_path)
    waiting, _ = transom_json(tmp_path, "waiting")
    (question,) = waiting["questions"]
    assert question["options"] == ["yes", "no"]
    (run_id,) = question["runs"]
    words = ("answer", run_id, "--question", question["question"], "yes")
    answered = transom(*words, cwd=tmp_path)
    assert answered.returncode == 0, answered.stderr

    async def look(stage: Any) -> str:
        raise AssertionError("the stage was done, and is reused")

    workspace, chain = Workspace.at(tmp_path / ".transom"), Chain((ScriptedProvider({}),))
    async with workspace.open_store() as store:
        opened = Run.open("order", {}, name="bolts", workspace=workspace, store=store, chain=chain)
        async with await opened as run:
            stock = await run.stage("stock", look, out=text_file("stock.txt"), uses=[CLERK])
            assert stock.value == "Seven."
            try:
                order = await run.ask("order", f"{stock.value} Order more?", options=["yes", "no"])
            except Paused as error:
                raise AssertionError("the answer was not found") from error
            assert order.text == "yes"
            await run.finish("done")
