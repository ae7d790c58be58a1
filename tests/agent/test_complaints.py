"""Complaints about other frameworks, where no other test says it as plainly; see
docs/complaints.md.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.helpers import SEAT, approve, asks, look, scripted, tool
from transom.agent import Agent, Home
from transom.errors import ContextOverflow, Paused, WindowOverflow
from transom.llm import (
    AssistantMessage,
    Reply,
    ScriptedProvider,
    Text,
    UserMessage,
    estimate_tokens,
    render,
)

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "complaints.md"
HEADING = "## What people complain of elsewhere"
ADDED = "## What each product adds"


def rows() -> list[list[str]]:
    """The tables: complaint or feature, what is so here, the tests that show it."""
    found = []
    for heading in (HEADING, ADDED):
        _, _, page = PAGE.read_text(encoding="utf-8").partition(heading)
        # Other tables of the page compare figures.
        section = page.partition("\n## ")[0]
        lines = [line for line in section.splitlines() if line.startswith("| ")]
        found += [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]
    return found


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0].strip("| "))
def test_each_complaint_has_tests_that_exist(row: list[str]) -> None:
    complaint, here, held_by = row
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", held_by)
    assert complaint and here and named and re.sub(r"`[^`]*`|[ ,|]", "", held_by) == "", held_by
    for path, name in named:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        functions = [
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        assert name in functions and name.startswith("test_"), f"{path}::{name}"


def test_the_table_is_whole() -> None:
    assert len({row[0] for row in rows()}) == len(rows()) >= 13


async def test_a_long_conversation_is_folded_without_being_asked_to() -> None:
    provider = ScriptedProvider(lambda request: Reply((Text("ok"),)))
    async with Agent(SEAT, provider=provider) as agent:
        for number in range(120):
            await agent.send(f"message {number}")
        assert len(agent.history()) == 240, "nothing of it is lost"
        sent = estimate_tokens(render(provider.requests[-1]).as_text())
        used = sum(share.used for share in provider.requests[-1].window.shares)
        assert 0.9 < used / sent < 1.1, "what is folded takes no room"
    windows = [request.window.turns for request in provider.requests]
    answers = [sum(isinstance(turn, AssistantMessage) for turn in turns) for turns in windows]
    assert max(answers) < 60, "and no window has all of it"
    assert windows[-1][-1] == UserMessage("message 119") and UserMessage("message 7") in windows[-1]


async def test_what_does_not_fit_is_an_error_with_its_sizes() -> None:
    async with Agent(SEAT, provider=scripted("unasked")) as agent:
        with pytest.raises(WindowOverflow) as ours:
            await agent.send("many words " * 200_000)
    assert ours.value.needed > ours.value.limit > 0
    answer = ContextOverflow("status 400: too long", needed=9000, limit=8192)
    async with Agent(SEAT, provider=scripted(answer)) as agent:
        with pytest.raises(ContextOverflow) as theirs:
            await agent.send("hi")
    assert (theirs.value.needed, theirs.value.limit) == (9000, 8192)


async def test_what_stood_before_a_pause_is_not_done_again_after_it(tmp_path: Path) -> None:
    did: list[str] = []

    async def run(at: str) -> str:
        did.append(at)
        return f"did {at}"

    tools = [
        tool(run, effect="idempotent"),
        tool(run, name="send", effect="once", needs_approval=True),
    ]
    asked = scripted(
        asks(look("first", "1")), asks(look("beside", "2"), look("bob", "3", "send")), "ok"
    )

    async def program() -> str:
        async with Agent(SEAT, provider=asked, tools=tools, at=Home(tmp_path, "t")) as agent:
            return (await agent.send("go")).text

    with pytest.raises(Paused) as needed:
        await program()
    assert (did, len(asked.requests)) == (["first", "beside"], 2)
    async with Agent(SEAT, provider=asked, at=Home(tmp_path, "t")) as agent:
        await approve(agent, needed.value)
    assert await program() == "ok"
    assert (did, len(asked.requests)) == (["first", "beside", "bob"], 3)


OTHERS = (
    "anthropic",
    "openai",
    "ollama",
    "httpx",
    "httpx2",
    "mcp",
    "langgraph",
    "opentelemetry",
    "fastapi",
    "sqlalchemy",
)
PROGRAM = """
import asyncio
from transom import Agent, Block, Role, Tier, ToolDefinition
from transom.cli import main
from transom.testing import ScriptedProvider, asks

role = Role("r", (Block("role", "You know.", Tier.STABLE),), frozenset({"role"}))
tool = ToolDefinition("count", "Counts.", {"type": "object"}, lambda arguments: "7 left")
provider = ScriptedProvider({"r": [asks("count"), "Seven."]})
assert asyncio.run(Agent(role, provider=provider, tools=[tool]).send("How many?")).text == "Seven."
assert main(["trace", "list"]) == 0
assert main(["check", "formats", "list"]) == 0
assert main(["doctor", "--provider", "openai:m"]) == 2
"""


@pytest.mark.slow
def test_a_release_of_another_package_that_is_broken_breaks_nothing_else(tmp_path: Path) -> None:
    for name in OTHERS:
        (tmp_path / f"{name}.py").write_text("raise ImportError('a release that does not fit')\n")
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "src")])}
    environ["OPENAI_API_KEY"] = "unused"
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = (
        "transom: openai:m: the installed package openai cannot be used: a release that"
        " does not fit; "
    )
    assert done.stderr.splitlines()[-1].startswith(said), done.stderr
