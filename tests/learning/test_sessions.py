"""`transom session`, and the skill file of a coding agent: one session played as the file says
it.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.learning.test_commands import Terminal, here, terminal

__all__ = ["here", "terminal"]


def test_the_skill_file_plays(here: Path, terminal: Terminal) -> None:
    told = "Keep the damping below 0.3"
    terminal.run("playbook", "add", "str", told, "--by", "ada")
    terminal.run("playbook", "bootstrap", "--dir", "skills")
    skill = (here / "skills" / "transom-playbook" / "SKILL.md").read_text()
    assert re.match(r"---\nname: transom-playbook\ndescription: .+\n---\n", skill)
    lines = [
        line
        for block in re.findall(r"```\n(.*?)```", skill, re.DOTALL)
        for line in block.splitlines()
    ]
    heads = [tuple(shlex.split(line)[1:3]) for line in lines]
    assert heads == [
        ("session", "open"), ("session", "context"), ("playbook", "search"), ("session", "note"), ("session", "note"),
        ("playbook", "add"), ("session", "close"),
    ]  # fmt: skip
    out = {line: terminal.run(*shlex.split(line)[1:]) for line in lines}
    context = out["transom session context"]
    assert "Task: debug_error" in context
    assert "[str-00001]" in context, "the insight is loaded"
    assert "counted for: str-00001; 1 insight added" in out[lines[-1]]
    one = terminal.json("playbook", "show", "str-00001")
    assert (one["helpful_count"], one["history"][-1]["data"]["source"]["by"]) == (1, "session")
    mistakes = terminal.json("playbook", "list", "--category", "mis")["items"]
    assert ["did not converge" in item["content"] for item in mistakes] == [True]
    report = terminal.json("learning", "report")
    assert [item["id"] for item in report["top_performers"]] == ["str-00001"]
    assert terminal.run("session", "show") == "no session is open\n"
    assert len(list((here / ".transom" / "sessions").glob("session-*[0-9].json"))) == 1


def test_one_session_at_a_time(here: Path, terminal: Terminal) -> None:
    assert "no session is open" in terminal.run("session", "close", "--good", code=2)
    assert "unknown task 'cook'" in terminal.run("session", "open", "cook", code=2)
    terminal.run("session", "open", "create_study", "--objective", "a lighter bracket")
    assert "is open" in terminal.run("session", "open", "create_study", code=2)
    assert "unknown insight" in terminal.run("session", "note", "--used", "str-00009", code=2)
    terminal.run("playbook", "add", "str", "Begin coarse")
    terminal.run(
        "session", "note", "--used", "str-00001", "--error", "the mesh has distorted elements"
    )
    assert terminal.json("session", "show")["recent_errors"] == ["the mesh has distorted elements"]
    terminal.run("session", "close", "--bad")
    assert terminal.json("playbook", "show", "str-00001")["harmful_count"] == 1
    assert terminal.json("cache", "stats")["total_requests"] == 0
