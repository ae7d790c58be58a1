"""What coding agents print and how they end, after the documentation of their tools."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.stories.projects import EXAMPLE, git, make_project, write
from tests.stories.test_courses import OPENLY
from tests.stories.worlds import World
from transom.config.story_sections import StoriesSettings
from transom.runs import Workspace
from transom.store import SqliteStore
from transom.stories.agent_output import read_agent_output
from transom.stories.decisions import read_reply
from transom.stories.shared import StorySettings

REPLY = "SUMMARY: it is clear.\nDECISION: APPROVED\n"
CLAUDE = {"type": "result", "subtype": "success", "is_error": False, "session_id": "s"}
USED = {"total_cost_usd": 0.5, "usage": {"input_tokens": 12, "output_tokens": 3}}


def lines(*events: Any) -> str:
    return "\n".join(json.dumps(event) for event in events)


def codex(text: str) -> str:
    return lines(
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.completed", "item": {"type": "reasoning", "text": "DECISION: BLOCKED"}},
        {"type": "item.completed", "item": {"type": "agent_message", "text": text}},
        {"type": "turn.completed", "usage": {"input_tokens": 12, "output_tokens": 3}},
    )


GOOD = {
    "plain text": REPLY,
    "text with colours": f"\x1b[1m\x1b[32m{REPLY}\x1b[0m\x1b]0;title\x07",
    "text with carriage returns": REPLY.replace("\n", "\r\n"),
    "a decorated decision": "## Review\n\nFine.\n\n**DECISION: APPROVED** ✅\n",
    "a sign before the decision": "DECISION: ✅ APPROVED",
    "a decision alone": "It is clear.\n\n**APPROVED.** 🎉",
    "claude, one object": json.dumps({**CLAUDE, **USED, "result": REPLY}),
    "claude, an array": json.dumps([{"type": "system"}, {**CLAUDE, **USED, "result": REPLY}]),
    "claude, a line for each event": lines(
        {"type": "system", "subtype": "init", "session_id": "s"},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "I look."}]}},
        {**CLAUDE, **USED, "result": REPLY},
    ),
    "codex": codex(REPLY),
    "codex, with lines of a log": "reading prompt from stdin...\n" + codex(REPLY),
    "claude, with colours in the result": json.dumps(
        {**CLAUDE, **USED, "result": f"\x1b[32m{REPLY}\x1b[0m"}
    ),
    "gemini, one object": json.dumps(
        {
            "response": REPLY,
            "stats": {"models": {"m": {"tokens": {"prompt": 12, "candidates": 3}}}},
        }
    ),
    "gemini, a line for each event": lines(
        {"type": "init", "session_id": "s"},
        {"type": "message", "role": "user", "content": "DECISION: BLOCKED"},
        {"type": "message", "role": "assistant", "content": REPLY[:20], "delta": True},
        {"type": "message", "role": "assistant", "content": REPLY[20:], "delta": True},
        {"type": "result", "stats": {"input_tokens": 12, "output_tokens": 3}},
    ),
    "opencode": lines(
        {"type": "step_start", "sessionID": "s", "part": {}},
        {"type": "text", "sessionID": "s", "part": {"type": "text", "text": REPLY}},
        {"type": "step_finish", "part": {"tokens": {"input": 12, "output": 3}, "cost": 0.5}},
    ),
    "aider": f"Aider v0.86\n\n{REPLY}\nTokens: 1.2k sent, 30 received. Cost: $0.01 message,"
    " $0.02 session.\n",
    "our own JSON": json.dumps({"decision": "APPROVED", "summary": "clear"}),
}


@pytest.mark.parametrize("output", GOOD.values(), ids=GOOD.keys())
def test_a_good_reply_is_read_in_each_form(output: str) -> None:
    for code in (0, 1):
        read = read_agent_output(output, "", code)
        if code == 0 or read.text.startswith("SUMMARY"):
            assert not (read.error or read.limit), read
        assert read_reply(read.text, "po").decision == "APPROVED"


@pytest.mark.parametrize("name", [name for name in GOOD if name.startswith(("cla", "cod", "gem"))])
def test_tokens_are_those_that_the_tool_counted(name: str) -> None:
    usage = read_agent_output(GOOD[name]).usage
    assert (usage.input_tokens, usage.output_tokens) == (12, 3)
    assert usage.cost == (0.5 if name.startswith("claude") else None)


def test_the_cost_of_opencode_and_aider_is_read() -> None:
    assert read_agent_output(GOOD["opencode"]).usage.cost == 0.5
    usage = read_agent_output(GOOD["aider"]).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cost) == (1200, 30, 0.02)


LIMITS = {
    "claude, text": ("You've hit your session limit - resets 7pm (UTC)", "", 1, "7pm (UTC"),
    "claude, with the time as a number": (
        "Claude AI usage limit reached|1764442800", "", 1, "1764442800"
    ),
    "claude, exit 0": ("5-hour limit reached - resets 3pm", "", 0, "3pm"),
    "claude, JSON": (
        json.dumps({**CLAUDE, "is_error": True, "result": "You've hit your usage limit"}), "", 1, ""
    ),
    "codex": (
        lines(
            {"type": "thread.started", "thread_id": "t"},
            {"type": "error", "message": "You've hit your usage limit. Try again in 3 days."},
            {"type": "turn.failed", "error": {"message": "usage limit"}},
        ),
        "",
        1,
        "",
    ),
    "gemini": (
        json.dumps({"error": {"type": "ApiError", "message": "429 RESOURCE_EXHAUSTED", "code": 1}}),
        "",
        1,
        "",
    ),
    "opencode": (
        lines({"type": "error", "error": {"name": "APIError", "data": {"message": "Rate limited"}}}),
        "",
        1,
        "",
    ),
    "aider": ("", "litellm.RateLimitError: quota exceeded, retry after 20s", 1, "20s"),
    "an overloaded server": ("", "API Error: 529 overloaded_error", 1, ""),
}  # fmt: skip


@pytest.mark.parametrize("case", LIMITS.values(), ids=LIMITS.keys())
def test_a_usage_limit_is_no_reply(case: tuple[str, str, int, str]) -> None:
    stdout, stderr, code, until = case
    output = read_agent_output(stdout, stderr, code)
    assert output.limit
    assert output.until.startswith(until)


@pytest.mark.parametrize(
    "text",
    [
        "SUMMARY: the API now has a rate limit of 5 requests.\nFILES:\n- created: limit.py\n",
        "SUMMARY: usage limit reached is an error now.\nDECISION: PASS\n",
    ],
)
def test_work_on_a_limit_is_no_limit(text: str) -> None:
    for code in (0, 1):
        assert not read_agent_output(text, "warning: rate limit is near", code).limit


def test_errors_and_missing_permissions_are_read() -> None:
    stopped = {"type": "result", "subtype": "error_max_turns", "is_error": False}
    assert read_agent_output(json.dumps(stopped)).error == "error_max_turns"
    assert "boom" in read_agent_output("", "boom", 1).error
    denied = {**CLAUDE, "result": "I need your permission.", "permission_denials": [
        {"tool_name": "Write", "tool_input": {}}, {"tool_name": "Write", "tool_input": {}}
    ]}  # fmt: skip
    assert read_agent_output(json.dumps(denied)).denials == ("Write",)


# -- an epic with agents ---------------------------------------------------------------------------


def world(folder: Path, script: str, **settings: Any) -> World:
    """The example's epic with a program in every role; each call is a line of `calls.txt`."""
    write(
        folder,
        "agent.sh",
        "cat > /dev/null\n"
        f'echo "$TRANSOM_STORY $TRANSOM_ROLE" >> {folder}/calls.txt\n'
        f"NAME={EXAMPLE}/replies/$TRANSOM_STORY/$TRANSOM_ROLE-$TRANSOM_ATTEMPT\n"
        f"{script}\ntest ! -f $NAME.patch || git apply $NAME.patch\ncat $NAME.txt\n",
    )
    kinds: Any = dict.fromkeys(("sm", "po", "dev", "qa"), "command")
    told = StorySettings(kinds, OPENLY, StoriesSettings(**{"attempts": 1, **settings}))
    command = ("/bin/sh", str(folder / "agent.sh"))
    return World(make_project(folder), folder / "w", settings=told, command=command)


def calls(folder: Path) -> list[str]:
    return (folder / "calls.txt").read_text().splitlines()


@pytest.mark.fence
@pytest.mark.slow
@pytest.mark.parametrize("role", ["sm", "po", "dev", "qa"])
async def test_a_limit_in_any_role_pauses_the_epic_and_nothing_is_paid_twice(
    tmp_path: Path, role: str
) -> None:
    mark = tmp_path / "limit-is-over"
    hits = 'echo "You have hit your usage limit. It resets at 3pm (UTC)."; exit 1'
    at = world(tmp_path, f"if test $TRANSOM_ROLE = {role} && ! test -f {mark}; then {hits}; fi")
    result = await at.go()
    assert {story.status for story in result.stories} <= {"paused", "skipped"}
    assert "usage limit is reached until 3pm (UTC" in result.stories[0].reason
    assert "no agent was called" in result.stories[1].reason
    paid = [call for call in calls(tmp_path) if not call.endswith(f" {role}")]
    assert len(calls(tmp_path)) == len(paid) + 1
    mark.write_text("")
    story = (await at.go()).stories[0]
    assert story.status == "done", story.reason
    for call in paid:
        assert calls(tmp_path).count(call) == 1


@pytest.mark.slow
async def test_after_a_time_limit_dev_goes_on_with_its_files(tmp_path: Path) -> None:
    mark = tmp_path / "begun"
    script = (
        f"if test $TRANSOM_ROLE = dev && ! test -f {mark}; then touch {mark}; echo half > half.txt;"
        " sleep 60; fi\ntest $TRANSOM_ROLE != dev || { test -f half.txt && rm half.txt; }"
    )
    at = world(tmp_path, script)
    at.seconds = 2
    (story,) = (await at.go("story-1")).stories
    assert story.status == "paused"
    assert "reached its limit of 2 s (agent.timeout)" in story.reason
    at.seconds = 60
    (story,) = (await at.go("story-1")).stories
    assert (story.status, story.parked) == ("done", [])
    assert not git(at.project, "for-each-ref", "refs/transom")


@pytest.mark.fence
@pytest.mark.slow
async def test_a_process_in_a_session_of_its_own_does_not_outlive_its_call(tmp_path: Path) -> None:
    starts = f"setsid sh -c 'trap \"\" TERM HUP; echo $$ >> {tmp_path}/pids; sleep 97' &"
    at = world(tmp_path, f"test $TRANSOM_ROLE != sm || {{ {starts} sleep 1; }}")
    await at.go("story-1")
    for pid in (tmp_path / "pids").read_text().split():
        # Nobody may have waited for a killed process yet; its environment is empty then.
        with suppress(FileNotFoundError, ProcessLookupError):
            assert not Path(f"/proc/{pid}/environ").read_bytes()


async def test_a_missing_permission_is_said_with_the_words_of_the_agent(tmp_path: Path) -> None:
    denied = {**CLAUDE, "result": "I need your permission.", "permission_denials": [
        {"tool_name": "Write"}
    ]}  # fmt: skip
    at = world(tmp_path, f"if test $TRANSOM_ROLE = dev; then echo '{json.dumps(denied)}'; exit; fi")
    (story,) = (await at.go("story-1")).stories
    assert story.status == "paused"
    assert "not permitted to use Write" in story.reason
    assert "I need your permission." in story.reason


@pytest.mark.slow
async def test_a_call_without_a_permission_is_paid_for(tmp_path: Path) -> None:
    mark = tmp_path / "asked"
    denied = {**CLAUDE, **USED, "result": "May I?", "permission_denials": [{"tool_name": "Write"}]}
    at = world(
        tmp_path,
        f"if test $TRANSOM_ROLE = dev && ! test -f {mark};"
        f" then touch {mark}; echo '{json.dumps(denied)}'; exit; fi",
    )
    result = await at.go("story-1")
    assert result.stories[0].status == "paused"
    async with SqliteStore.open(Workspace.at(at.workspace).database) as store:
        records = store.read(f"run/{result.run_id}")
    paid: Any
    (paid,) = [record.data for record in records if record.kind == "attempt_failed"]
    assert (paid["usage"]["cost"], paid["usage"]["input_tokens"]) == (0.5, 12)


@pytest.mark.slow
async def test_what_a_person_does_meanwhile_is_no_question(tmp_path: Path) -> None:
    project = tmp_path / "project"
    fetch = (
        f"git -C {project} update-ref refs/remotes/origin/main"
        f" $(git commit-tree HEAD^{{tree}} -m theirs); echo note > {project}/note.txt"
    )
    at = world(tmp_path, f"test $TRANSOM_ROLE != dev || {{ {fetch}; }}")
    (story,) = (await at.go("story-1")).stories
    assert story.status == "done", story.reason
