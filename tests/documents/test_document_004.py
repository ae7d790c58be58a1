"""Document 004: stories with bounded hand-overs, row by row."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.documents.door import Door
from tests.documents.rows import row
from transom.stories import AgentValidator, Story, StoryHandoff
from transom.stories.decisions import read_reply
from transom.stories.testrun import TestRun, compare

VALIDATOR = "transom.stories.handoff:AgentValidator"
HANDOFF = "transom.stories.handoff:StoryHandoff"


def story(**changes: Any) -> Story:
    fields: dict[str, Any] = {
        "id": "story-9",
        "title": "Lamp",
        "text": "As a reader I want a lamp so that I can read at night.",
        "goal": "a reader wants a lamp to read at night",
        "criteria": ("the lamp is lit when it is dark",),
    }
    return Story(**{**fields, **changes})


def handoff(path: Path | None = None, po: str = "") -> StoryHandoff:
    made = StoryHandoff("story-9", path)
    made.set_acceptance_criteria(["the lamp is lit when it is dark"])
    if po:
        made.add_stage_summary("po", "looked at it", po)
    return made


@row("a summary has at most 2000 characters, a list at most 20 files", f"{HANDOFF}.cut")
def test_limits() -> None:
    made = handoff()
    made.add_stage_summary("sm", "word " * 3000)
    for number in range(30):
        made.add_file_modified(f"src/file{number}.py", "modified")
    assert len(made.stages["sm"]["summary"]) <= 2000
    assert len(made.files_modified) == 20
    assert (made.MAX_SUMMARY_LENGTH, made.MAX_ACCEPTANCE_CRITERIA, made.MAX_FILES_TRACKED) == (
        2000, 10, 20,
    )  # fmt: skip


AMBIGUOUS = (
    "DECISION: APPROVED or maybe BLOCKED",
    "I like it.",
    "DECISION: PASS\nDECISION: FAIL",
    '{"decision": "perhaps"}',
)


@pytest.mark.parametrize("reply", AMBIGUOUS)
@row(
    "an ambiguous decision names the words that are wanted",
    "transom.stories.decisions:_wanted_words",
)
def test_wanted_words(reply: str) -> None:
    wanted = {
        "po": "DECISION: APPROVED, BLOCKED or CHANGES REQUESTED",
        "qa": "DECISION: PASS or FAIL",
    }
    for seat in ("po", "qa"):
        made = read_reply(reply, seat)
        assert not made.decision
        assert made.problem.endswith(f"; write one line: {wanted[seat]}")


@row(
    "PO sees SM's summary, cut to 500; Dev PO's; QA Dev's and ten files",
    f"{HANDOFF}.get_context_for_stage",
)
def test_context() -> None:
    made = handoff()
    made.add_stage_summary("sm", "drafted " * 200)
    made.add_stage_summary("po", "reviewed", "APPROVED")
    made.add_stage_summary("dev", "wired the lamp")
    for number in range(15):
        made.add_file_modified(f"lamp/{number}.py", "created")
    po, dev, qa = (str(made.get_context_for_stage(seat)) for seat in ("po", "dev", "qa"))
    assert "drafted" in po
    assert len(po) < 800
    assert "APPROVED" in dev
    assert "drafted" not in dev
    assert "wired the lamp" in qa
    assert "lamp/14.py" in qa
    assert "lamp/4.py" not in qa
    assert "reviewed" not in qa


@row("the hand-over file has the document's shape, and is removed after success", f"{HANDOFF}.save")
def test_file(tmp_path: Path) -> None:
    made = handoff(tmp_path / "story-9.yaml", po="APPROVED")
    made.add_file_modified("lamp.py", "created")
    made.add_blocker("no bulb", "dev")
    made.save()
    data = yaml.safe_load((tmp_path / "story-9.yaml").read_text("utf-8"))
    assert {"story_id", "created_at", "stages", "files_modified", "decisions", "blockers"} <= {
        *data
    }
    assert data["decisions"][0]["decision"] == "APPROVED"
    made.cleanup()
    assert not (tmp_path / "story-9.yaml").exists()


PO = {
    "DECISION: APPROVED": (True, "APPROVED"),
    "DECISION: CHANGES REQUESTED\nReasons:\n- AC 1 names no lamp": (True, "CHANGES REQUESTED"),
    "I cannot approve this": (False, ""),
    "NOT APPROVED": (False, ""),
    "Looks fine to me": (False, ""),
    "DECISION: APPROVED\nDECISION: BLOCKED": (False, ""),
}


@pytest.mark.parametrize("reply", PO)
@row("PO decides in so many words, or the story stops", f"{VALIDATOR}.validate_po_output")
def test_po(reply: str) -> None:
    valid, decision = PO[reply]
    good, message = AgentValidator.validate_po_output(reply, handoff(po=decision))
    assert good is valid
    if not valid:
        assert "PO must say APPROVED, BLOCKED or CHANGES REQUESTED" in message


@row("a block needs its reason", f"{VALIDATOR}.validate_po_output")
def test_block_without_reason() -> None:
    good, message = AgentValidator.validate_po_output("DECISION: BLOCKED", handoff(po="BLOCKED"))
    assert not good
    assert message


@row(
    "SM drafted a story: goal, testable criterion, no placeholder",
    f"{VALIDATOR}.validate_sm_output",
)
def test_sm() -> None:
    assert AgentValidator.validate_sm_output(story(), handoff())[0]
    assert not AgentValidator.validate_sm_output(None, handoff())[0]
    assert not AgentValidator.validate_sm_output(story(criteria=()), handoff())[0]
    assert not AgentValidator.validate_sm_output(story(text="TODO: write it"), handoff())[0]


@row("Dev changed files, in git and not in words", f"{VALIDATOR}.validate_dev_output")
def test_dev() -> None:
    reply = "Done.\n\nFiles:\n- lamp.py: created\n"
    assert AgentValidator.validate_dev_output(reply, handoff(), {"lamp.py": "created"})[0]
    assert not AgentValidator.validate_dev_output(reply, handoff(), {})[0]
    assert not AgentValidator.validate_dev_output(reply, handoff())[0]


def runs(**cases: str) -> Any:
    after: Any = TestRun(cases=dict(cases), code=int("failed" in cases.values()))
    return compare(TestRun(cases={}), after)


@row(
    "QA's PASS agrees with a test run of the orchestrator's own", f"{VALIDATOR}.validate_qa_output"
)
def test_qa() -> None:
    assert AgentValidator.validate_qa_output("DECISION: PASS", handoff(), runs(one="passed"))[0]
    assert not AgentValidator.validate_qa_output("DECISION: PASS", handoff(), runs(one="failed"))[0]
    assert not AgentValidator.validate_qa_output("DECISION: PASS", handoff())[0]
    assert not AgentValidator.validate_qa_output("all good", handoff(), runs(one="passed"))[0]


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


STORIES = """\
epics:
  - id: epic-7
    title: Lamps
    stories:
      - id: story-7.1
        title: A lamp that can be lit
        description: As a reader I want a lamp, so that I can read at night.
        acceptance_criteria:
          - light() returns "lit"
"""


@pytest.fixture
def project(door: Door) -> Door:
    """A repository with a lamp, one test, and an epic of one story."""
    door.write("p/lamp.py", "def light():\n    return 'dark'\n")
    door.write("p/tests/test_lamp.py", "import lamp\n\n\ndef test_it():\n    assert lamp.light()\n")
    door.write("p/docs/stories.yaml", STORIES)
    git(door.here / "p", "init", "--quiet", "--initial-branch=main")
    git(door.here / "p", "add", "--all")
    git(door.here / "p", "commit", "--quiet", "--message", "A lamp")
    return door


@row("a dry run shows who would be called and what each would see", "transom.cli.story:plan")
def test_dry_run(project: Door) -> None:
    answer = project("story", "run", "--project", "p", "--epic", "epic-7", "--dry-run")
    assert answer.code == 0, answer
    for seat in ("sm", "po", "dev", "qa"):
        assert f"would call {seat}" in answer.out
    assert not (project.here / ".transom").exists()


AGENT = """\
import pathlib, sys
prompt = sys.stdin.read()
log = pathlib.Path({log!r})
with log.open("a") as out:
    out.write("=== call\\n" + prompt + "\\n")
number = log.read_text().count("=== call")
seat = {{1: "sm", 2: "po", 3: "sm", 4: "po"}}.get(number, "dev")
if seat == "po":
    print("DECISION: {decision}")
    print("Reasons:\\n- AC 1 does not say who lights it")
else:
    print("Summary: the story is ready")
"""


def with_agent(project: Door, decision: str) -> Path:
    log = project.here / "calls.txt"
    project.write("agent.py", AGENT.format(log=str(log), decision=decision))
    project.write(
        "transom.yaml",
        "agent: {command: ['python3', '" + str(project.here / "agent.py") + "']}\n"
        "stories:\n  tests: ['{python}', '-m', 'pytest', '-q', '--junitxml={junit}']\n",
    )
    return log


RUN = ("story", "run", "--project", "p", "--epic", "epic-7")


@pytest.mark.slow
@row(
    "PO's block stops the story, and names the reason",
    "transom.stories.approval:ApprovalFlow.ready",
)
def test_block_stops(project: Door) -> None:
    log = with_agent(project, "BLOCKED")
    answer = project(*RUN)
    assert answer.code == 3, answer
    assert "AC 1 does not say who lights it" in answer.out
    assert log.read_text().count("=== call") == 2


@pytest.mark.slow
@row("a second block offers ways on", "transom.stories.approval:ApprovalFlow._after_block")
def test_second_block(project: Door) -> None:
    with_agent(project, "BLOCKED")
    project(*RUN)
    project(*RUN)
    waiting = project("waiting").out
    assert "build it unchanged" in waiting
    assert "draft it again with my reason" in waiting


@pytest.mark.slow
@row("each seat is a fresh process, with its own view", "transom.stories.seats:Seats._reply")
def test_fresh_processes(project: Door) -> None:
    log = with_agent(project, "BLOCKED")
    project(*RUN)
    sm, po = log.read_text().split("=== call\n")[1:3]
    assert "light() returns" in po
    assert "Summary: the story is ready" not in sm


@pytest.mark.slow
@row(
    "the text of a run tells what was used, and where a story stands",
    "transom.stories.approval:ApprovalFlow._record",
)
def test_usage(project: Door) -> None:
    with_agent(project, "BLOCKED")
    document = project.json(*RUN)
    assert document["stories"][0]["stages"]
    assert "usage" in document["stories"][0]


WORKER = """\
import os, pathlib, sys
seat = os.environ["TRANSOM_ROLE"]
sys.stdin.read()
if seat in ("po", "qa"):
    print("DECISION: " + {"po": "APPROVED", "qa": "PASS"}[seat])
elif seat == "dev":
    pathlib.Path("lamp.py").write_text('def light():\\n    return "lit"\\n')
    test = 'import lamp\\n\\n\\ndef test_lit():\\n    assert lamp.light() == "lit"\\n'
    pathlib.Path("tests/test_lit.py").write_text(test)
    print("SUMMARY: it is done.")
    print("FILES:\\n- modified: lamp.py\\n- created: tests/test_lit.py")
    print("TESTS:\\n- AC 1: test_lit")
else:
    print("SUMMARY: it is ready.")
"""


@pytest.mark.slow
@row(
    "the score of a summary is explained; below a bound a person is asked",
    "transom.stories.pipeline:StoryFlow._ask_about_summary",
)
def test_low_quality(project: Door) -> None:
    with_agent(project, "APPROVED")
    project.write("agent.py", WORKER)
    settings = (project.here / "transom.yaml").read_text("utf-8")
    project.write("transom.yaml", settings + "  least_quality: 0.6\n")
    paused = project(*RUN)
    assert paused.code == 3, paused
    explained = "names 0 of 1 criteria, names 0 of 2 changed files, makes no false claim of tests"
    assert f"summary 0.33: {explained}" in paused.out
    assert "(`stories.least_quality` is 0.6); is it enough?" in " ".join(paused.out.split())
    run_id = project.json("runs", "list")["runs"][0]["run_id"]
    answered = project("answer", run_id, "--choose", "1", "--by", "Ann")
    assert answered.code == 0, answered
    done = project(*RUN)
    assert done.code == 0, done
    assert git(project.here / "p", "show", "main:lamp.py") == 'def light():\n    return "lit"\n'
