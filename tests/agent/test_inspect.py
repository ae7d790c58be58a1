"""An agent as a solver: evaluated by Inspect itself, offline."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.helpers import clean_environment
from transom import Agent
from transom.compat.inspect_ai import inspect_solver
from transom.errors import InputError
from transom.testing import ScriptedProvider

TASK = """\
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from transom import Agent, tool
from transom.compat.inspect_ai import inspect_solver
from transom.llm import ToolResults
from transom.testing import ScriptedProvider, asks

@tool(effect="pure", trust="ours")
def count(item: str) -> str:
    "Count what is in stock of an item."
    return f"{item}: {len(item)} left"

def answer(request):
    last = request.window.turns[-1]
    if isinstance(last, ToolResults):
        return f"It says: {last.results[0].content}"
    return asks("count", item=last.text)

agent = Agent("You know the stock.", tools=[count], provider=ScriptedProvider(answer))
samples = [
    Sample("bolts", target="5 left"),
    Sample("nuts", target="4 left"),
    Sample("rods", target="9 left"),
]
task = Task(samples, solver=inspect_solver(agent), scorer=includes())
eval(task, model="mockllm/model", log_dir=sys.argv[1], display="none", log_format="json")
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("inspect_ai") is None, reason="inspect-ai is not installed")
def test_each_sample_is_a_conversation_whose_tool_calls_the_log_shows(tmp_path: Path) -> None:
    path = str(Path(__file__).parents[2] / "src")
    # In a process of its own: Inspect leaves streams open, which a test must not.
    done = subprocess.run(
        [sys.executable, "-c", TASK, str(tmp_path)],
        env=clean_environment(PYTHONPATH=path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (log,) = [json.loads(path.read_text("utf-8")) for path in tmp_path.glob("*.json")]
    assert log["status"] == "success", log.get("error")
    scores = {sample["input"]: sample["scores"]["includes"]["value"] for sample in log["samples"]}
    assert scores == {"bolts": "C", "nuts": "C", "rods": "I"}
    for sample in log["samples"]:
        item, messages = sample["input"], sample["messages"]
        roles = [message["role"] for message in messages]
        assert roles == ["user", "assistant", "tool", "assistant"]
        (call,) = messages[1]["tool_calls"]
        assert (call["function"], call["arguments"]) == ("count", {"item": item})
        assert messages[2]["content"] == f"{item}: {len(item)} left"
        assert messages[3]["content"] == f"It says: {item}: {len(item)} left"
        assert sample["output"]["usage"]["total_tokens"] > 0


@pytest.mark.skipif(find_spec("inspect_ai") is not None, reason="inspect-ai is installed")
def test_without_inspect_one_line_says_what_to_install() -> None:
    agent = Agent("You count.", provider=ScriptedProvider({}))
    with pytest.raises(InputError, match="the extra `inspect` is not installed"):
        inspect_solver(agent)
