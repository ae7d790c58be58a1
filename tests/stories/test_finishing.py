"""An epic's work as a branch or a pull request, a look at the diff, notices and reports."""

from __future__ import annotations

import json
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.stories.projects import git, write
from tests.stories.test_agents import world
from tests.stories.test_command import RUN, SETTINGS
from tests.stories.test_command import project as project  # noqa: PLC0414  a fixture
from tests.stories.worlds import World
from transom.cli import main
from transom.config.runtime_sections import NotifySettings
from transom.stories.finishing import branch_of, epic_junit, notify
from transom.stories.results import EpicResult, StoryResult

UNSAFE = [*RUN, "--story", "story-1", "--unsafe-no-sandbox", "--format", "json"]

# A stand-in of a forge's program: it keeps its calls, and knows the requests that it opened.
FORGE = """#!/bin/sh
echo "$@" >> $FORGE/calls
case "$2" in
  view) test -f $FORGE/opened && cat $FORGE/opened ;;
  create) echo "https://forge.example/r/7" > $FORGE/opened; echo "Creating"; cat $FORGE/opened ;;
esac
"""


@pytest.fixture
def forge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "forge"
    for name in ("gh", "glab"):
        write(folder, f"bin/{name}", FORGE)
        (folder / "bin" / name).chmod(0o755)
    monkeypatch.setenv("FORGE", str(folder))
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return folder


def run(capsys: Any, *words: str, code: int = 0) -> Any:
    assert main([*UNSAFE, *words]) == code
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.fence
def test_finished_stories_can_stay_on_a_branch(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project.parent, "transom.yaml", f"{SETTINGS}  finish: branch\n")
    main_before = git(project, "rev-parse", "main")
    result = run(capsys)
    assert result["branch"] == "stories/epic-1"
    assert git(project, "rev-parse", "main") == main_before
    assert not (project / "till" / "discounts.py").exists()
    assert "def discount" in git(project, "show", "stories/epic-1:till/discounts.py")
    assert run(capsys)["stories"][0]["status"] == "done"


@pytest.mark.slow
@pytest.mark.parametrize(("program", "address"), [("gh", "hub"), ("glab", "gitlab")])
def test_a_pull_request_is_opened_once(
    project: Path, forge: Path, capsys: pytest.CaptureFixture[str], program: str, address: str
) -> None:
    remote = project.parent / f"{address}.git"
    git(project.parent, "init", "--quiet", "--bare", str(remote))
    git(project, "remote", "add", "origin", str(remote))
    write(project.parent, "transom.yaml", f"{SETTINGS}  finish: pull-request\n")
    assert run(capsys)["request"] == "https://forge.example/r/7"
    assert run(capsys)["request"] == "https://forge.example/r/7"
    assert git(remote, "rev-parse", "stories/epic-1") == git(project, "rev-parse", "stories/epic-1")
    calls = (forge / "calls").read_text()
    assert calls.count(" create ") == 1
    assert (
        "--head stories/epic-1 --base main" if program == "gh" else "--target-branch main"
    ) in calls
    assert "story-1: Discounts" in calls


@pytest.mark.slow
def test_a_pull_request_that_fails_keeps_the_branch_and_says_why(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project.parent, "transom.yaml", f"{SETTINGS}  finish: pull-request\n")
    result = run(capsys, code=3)
    assert "there is no remote repository" in result["problem"]
    assert git(project, "rev-parse", "--verify", "stories/epic-1")


@pytest.mark.slow
def test_reports_and_questions_for_a_build_server(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--review", "--no-questions", "--report", "junit:out/stories.xml"]
    result = run(capsys, *words, code=1)
    (story,) = result["stories"]
    assert story["status"] == "failed"
    assert "may it be merged?" in story["reason"]
    assert "questions are off" in story["reason"]
    (case,) = ElementTree.parse(project.parent / "out/stories.xml").iter("testcase")
    assert case.find("failure") is not None
    assert main(["waiting"]) == 0
    assert "may it be merged" not in capsys.readouterr().out


@pytest.mark.slow
async def test_a_reviewer_sends_work_back_with_words(tmp_path: Path) -> None:
    at = reviewed(tmp_path)
    (story,) = (await at.go("story-1")).stories
    assert story.status == "paused"
    assert "ready; may it be merged? See: git -C" in story.reason
    at.answers = {"story-1/review#1": "send it back"}
    (story,) = (await at.go("story-1")).stories
    # Dev works again, with the reviewer's words; the second attempt waits for a look, too.
    assert story.status == "paused"
    assert "it cannot be merged so" in (tmp_path / "prompt-2").read_text()
    at.answers = {"story-1/review#2": "merge it"}
    (story,) = (await at.go("story-1")).stories
    assert story.status == "done", story.reason


def reviewed(folder: Path) -> World:
    """A world whose work a person looks at; its second attempt is like the first one."""
    at = world(folder, "NAME=$(echo $NAME | sed 's/-[0-9]*$/-1/')", review=True)
    script = folder / "agent.sh"
    kept = f"test $TRANSOM_ROLE = dev && cat > {folder}/prompt-$TRANSOM_ATTEMPT || cat > /dev/null"
    text = script.read_text().replace("cat > /dev/null", kept, 1)
    # The work of the first attempt is there already; a comment is added.
    script.write_text(
        text.replace(
            "test ! -f $NAME.patch || git apply $NAME.patch",
            "if test -f till/discounts.py; then"
            " test $TRANSOM_ROLE != dev || echo '# looked at' >> till/discounts.py;"
            " else test ! -f $NAME.patch || git apply $NAME.patch; fi",
        )
    )
    return at


async def test_an_ended_run_is_told(tmp_path: Path) -> None:
    got: list[Any] = []

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Listener)
    Thread(target=server.serve_forever, daemon=True).start()
    result = EpicResult(epic="e", stories=[StoryResult(id="1", status="paused", reason="why?")])
    url = f"http://127.0.0.1:{server.server_port}/"
    command = ("/bin/sh", "-c", f"cat > {tmp_path}/notice")
    try:
        assert await notify(NotifySettings(command=command, url=url), result, tmp_path) == ""
    finally:
        server.shutdown()
        server.server_close()
    assert got == [json.loads((tmp_path / "notice").read_text())]
    assert got[0]["counts"] == {"paused": 1}
    assert got[0]["stories"][0]["reason"] == "why?"
    broken = NotifySettings(command=("/bin/false",), url="file:///etc/passwd")
    problem = await notify(broken, result, tmp_path)
    assert "exit code 1" in problem
    assert "is no web address" in problem


def test_each_story_is_a_case() -> None:
    states: Any = ("done", "failed", "blocked", "paused", "skipped")
    stories = [
        StoryResult(id=state, status=state, reason=f"{state} so", seconds=1.25) for state in states
    ]
    root = ElementTree.fromstring(epic_junit(EpicResult(epic="e", stories=stories)))
    children = [[child.tag for child in case] for case in root.iter("testcase")]
    assert [row[:1] for row in children] == [[], ["failure"], ["failure"], ["error"], ["skipped"]]
    assert {case.get("time") for case in root.iter("testcase")} == {"1.25"}


def test_a_branch_has_a_name_that_git_takes() -> None:
    assert branch_of("docs/epics/epic-1/stories.yaml") == "stories/docs-epics-epic-1-stories.yaml"
    assert branch_of("..") == "stories/epic"
