"""`transom story`, as a person types it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stories import pages
from tests.stories.projects import EXAMPLE, git, make_project, write
from tests.stories.test_backlog import v6_project
from transom.cli import main
from transom.cli.command_session import Session
from transom.cli.common_options import CommonOptions
from transom.cli.story import demo

SETTINGS = f"""stories:
  workers: {{sm: replay, po: replay, dev: replay, qa: replay}}
  replay: {EXAMPLE}/replies
  tests: ["{{python}}", run_tests.py, "{{junit}}"]
"""
RUN = ["story", "run", "--project", "project", "--epic", "epic-1"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "transom.yaml", SETTINGS)
    yield make_project(tmp_path)


def test_a_dry_run_is_a_plan_and_leaves_nothing(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RUN, "--dry-run", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["dry_run"]) == ("transom.story/1", True)
    assert [(story["id"], story["status"]) for story in told["stories"]] == [
        ("story-1", "planned"), ("story-2", "planned"), ("story-3", "planned"),
    ]  # fmt: skip
    assert (
        not (project.parent / ".transom").exists()
        and git(project, "worktree", "list").count("\n") == 0
    )
    assert main([*RUN, "--dry-run", "--story", "story-2"]) == 0
    out = capsys.readouterr().out
    assert (
        "dry run: no model and no agent is called" in out
        and "would call qa, which sees" in out
        and "story-1" not in out
    )


@pytest.mark.slow
def test_one_story_runs_in_the_sandbox_and_its_windows_can_be_shown(
    project: Path, capsys: Any
) -> None:
    assert main([*RUN, "--story", "story-1", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (story,) = told["stories"]
    assert (story["status"], story["tests"]) == ("done", {"passed": 6, "failed": 0, "skipped": 0})
    assert story["commits"][-1] == git(project, "rev-parse", "HEAD")
    assert main(["window", "show", told["run_id"], "--call", "2"]) == 0
    shown = capsys.readouterr().out
    assert "sm_summary" in shown and "exactly 180" in shown
    assert main(["story", "status", "--project", "project", "--epic", "epic-1"]) == 0
    assert ["story-1", "done"] in [line.split()[:2] for line in capsys.readouterr().out.split("\n")]
    assert main(["resume", told["run_id"]]) == 0
    capsys.readouterr()
    assert main([*RUN, "--dry-run", "--story", "story-1"]) == 0
    assert "it is done" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "settings", "why"),
    [
        (["story", "run", "--project", "project"], SETTINGS, "no epic was given"),
        (["story", "run", "--project", "nowhere", "--epic", "epic-1"], SETTINGS, "is not a folder"),
        (
            ["story", "run", "--project", "project/till", "--epic", "epic-1"],
            SETTINGS,
            "not the top of its git repository; name ",
        ),
        ([*RUN[:-1], "epic-9"], SETTINGS, "there are docs/epics/epic-1/stories.yaml"),
        ([*RUN, "--story", "x"], SETTINGS, "known: story-1, story-2, story-3"),
        (
            RUN,
            "agent: {command: [no-such-agent-at-all]}\n",
            "agent.command: there is no program no-such-agent",
        ),
        (
            RUN,
            "stories: {workers: {po: boss}}\n",
            "stories.workers.po: the worker 'boss' is unknown; write command, model, rules, replay",
        ),
        (RUN, "stories: {workers: {po: replay}}\n", "stories.replay is not set"),
        (RUN, "handoff: {retention: forever}\n", "handoff.retention: string should match"),
        (RUN, SETTINGS.partition("  tests")[0], "no command for the tests is set"),
    ],
)
def test_what_cannot_be_run_is_one_clear_line(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], settings: str, why: str
) -> None:
    write(project.parent, "transom.yaml", settings)
    assert main([*words, "-q"]) == 2
    said = capsys.readouterr().err.strip()
    assert why in said and "\n" not in said


def test_rules_wait_for_a_model_at_dev(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        project.parent, "transom.yaml", "stories:\n  tests: ['{python}', run_tests.py, '{junit}']\n"
    )
    assert main([*RUN, "--story", "story-1", "--unsafe-no-sandbox"]) == 3
    out = capsys.readouterr().out
    assert "rules write no code" in out and "continue with: transom resume " in out


def test_status_shows_drift_and_settles_it_on_request(tmp_path: Path, capsys: Any) -> None:
    v6_project(tmp_path)
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "a sprint")
    words = ["story", "status", "--project", str(tmp_path), "--epic", "epic-2"]
    assert main(words) == 1
    assert "\ndisagrees: 2-1-count-visitors" in capsys.readouterr().out
    assert main([*words, "--repair", "sprint", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["settled"] == 1
    assert git(tmp_path, "diff", "--name-only") == "docs/stories/2-1-count-visitors.md"
    assert (tmp_path / "docs/sprint-status.yaml").read_text() == pages.SPRINT


@pytest.mark.slow
async def test_the_demonstration_leaves_merged_work_and_passing_tests(tmp_path: Path) -> None:
    session = Session.start(CommonOptions(quiet=True), cwd=tmp_path, environ={})
    for _ in range(2):
        result = await demo(session, EXAMPLE.parent)
        assert [story.status for story in result.stories] == ["done", "blocked", "done"]
    project = tmp_path / ".transom" / "till" / "project"
    assert git(project, "log", "--first-parent", "--format=%s").count("Merge story") == 2
