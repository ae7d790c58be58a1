"""`transom chat` in a real terminal, and `transom agent show`."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.helpers import COMMAND, clean_environment, transom
from tests.cli.terminal import Terminal
from tests.repository.tracked import ROOT

SHOP = '''
import asyncio
import sys
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path

import anyio
from pydantic import BaseModel

from transom import Agent, McpServer, Role, SubAgent, ToolContext, tool
from transom.testing import ScriptedProvider, asks
from transom.llm import Block, Reply, Text, Tier, ToolResults


class Item(BaseModel):
    left: int


@tool(effect="pure", trust="ours")
def count(shop: ToolContext[dict], item: str) -> str:
    """Count what is in stock.

    And more.
    """
    return f"{item}: {shop.deps[item]} left"


@tool(effect="once", needs_approval=True)
def order(item: str) -> str:
    """Order more."""
    return f"ordered {item}"


PLACE = ContextVar("place", default="unset")


@tool(effect="pure", trust="ours")
async def place() -> str:
    return PLACE.get()


@tool(effect="pure")
async def slow() -> str:
    Path("begun.txt").touch()
    try:
        await asyncio.sleep(600)
    finally:
        Path("stopped.txt").touch()


async def answer(request):
    with Path("asked.txt").open("a") as log:
        log.write("asked\\n")
    last = request.window.turns[-1]
    if not isinstance(last, ToolResults) and last.text in ("place", "slow"):
        return asks(last.text)
    if isinstance(last, ToolResults):
        return f"It says: {last.results[0].content}"
    if "order" in last.text:
        return asks("order", item="bolts")
    if "slowly" in last.text:
        await asyncio.sleep(600)
    return asks("count", item="bolts")


reader = SubAgent(Role("reader", "You read.", output=Item), "read", "Have it read.", [count])
clerk = Agent(
    Role("clerk", [Block("role", "You know.", Tier.STABLE)], sees={"role", "prices"}),
    deps={"bolts": 7}, tools=[count, order, reader], provider=ScriptedProvider(answer),
)


def make():
    return clerk


number = 3

SERVER = """
from mcp.server import MCPServer
server = MCPServer("shelf")
@server.tool()
def count(item: str) -> str:
    return f"{item}: 9 left"
server.run("stdio")
"""


@asynccontextmanager
async def shelf():
    async with McpServer([sys.executable, "-c", SERVER]) as server:
        yield Agent("You count.", tools=server.tools, provider=ScriptedProvider(answer))
    Path("closed.txt").touch()


@asynccontextmanager
async def grouped():
    """A manager whose parts one task has to open and to close."""
    PLACE.set("opened")
    async with anyio.create_task_group() as group:
        with anyio.fail_after(600):
            group.start_soon(anyio.sleep, 600)
            try:
                yield Agent("You count.", tools=[place, slow], provider=ScriptedProvider(answer))
            finally:
                await asyncio.sleep(0.01)
                Path("closed.txt").touch()
                group.cancel_scope.cancel()
    Path("left.txt").touch()


@asynccontextmanager
async def dying():
    async def fail():
        raise OSError("the shelf fell down")

    async with asyncio.TaskGroup() as group:
        group.create_task(fail())
        yield clerk


@asynccontextmanager
async def keyless():
    yield Agent("You count.", provider="anthropic:x")


def hosted():
    return Agent("You count.", provider="ollama:x,openai:x")


@asynccontextmanager
async def broken():
    raise OSError("the shelf is gone")
    yield


async def coming():
    return clerk
'''


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


def chat(folder: Path, *more: str) -> Terminal:
    command = [*COMMAND, "chat", "monday", "--agent", "shop:clerk", *more]
    return Terminal(command, folder, clean_environment())


@pytest.mark.slow
def test_a_chat_shows_tools_stops_at_ctrl_c_and_goes_on_by_its_name(shop: Path) -> None:
    with chat(shop) as terminal:
        terminal.wait_for("> ")
        terminal.write("How many bolts?\n")
        shown = terminal.wait_for("It says: bolts: 7 left\n> ")
        assert "[count {'item': 'bolts'}]\n[= bolts: 7 left]\n" in shown
        terminal.write("Think slowly.\n")
        terminal.wait_for("Think slowly.\n")
        while len((shop / "asked.txt").read_text().splitlines()) < 3:
            time.sleep(0.01)
        terminal.write("\x03")
        terminal.wait_for("stopped; write something, or end with Ctrl-D\n> ")
        terminal.write("Please order.\n")
        terminal.wait_for('order({"item":"bolts"})\napprove or refuse? ')
        terminal.write("approve\n")
        terminal.wait_for("It says: ordered bolts\n> ")
        terminal.write("\x04")
        terminal.wait_for("continue with: transom chat monday --agent shop:clerk\n")
        assert terminal.end() == 0
    asked = (shop / "asked.txt").read_text()
    with chat(shop) as terminal:
        shown = terminal.wait_for("It says: ordered bolts\n> ")
        assert "> How many bolts?\nIt says: bolts: 7 left\n> Think slowly.\n" in shown
        terminal.write("/exit\n")
        assert terminal.end() == 0
    assert (shop / "asked.txt").read_text() == asked, "the journal answers"


def test_the_example_finds_an_item_anywhere_and_orders_only_what_a_person_approves(
    tmp_path: Path,
) -> None:
    lines = ["How many bolts are there?", "Order 5 bolts.", "approve", "Are there bolts now?"]
    lines += ["Read the list: 7 bolts, 3 nuts.", "How many screws?"]
    done = subprocess.run(
        [*COMMAND, "chat", "--agent", "shop:clerk", "--workspace", str(tmp_path / ".transom")],
        cwd=ROOT / "examples/agents",
        input="\n".join(lines),
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = [line for line in done.stdout.splitlines() if not line.startswith("[")]
    assert answers == [
        "It says: bolts: 7 left",
        'tool order needs a person\'s approval: order({"amount":5,"item":"bolts"})',
        "It says: ordered 5 bolts",
        "It says: bolts: 12 left",
        "It says: The list has 2 lines.",
        "Which item do you mean: bolts or nuts?",
    ]


def test_lines_can_also_come_from_a_file(shop: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "chat", "--agent", "shop:make"],
        cwd=shop,
        env=clean_environment(),
        input="How many bolts?\n\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("It says: bolts: 7 left\n")
    assert done.stderr == "continue with: transom chat chat --agent shop:make\n"


@pytest.mark.parametrize("answer", ["approve", "refuse"])
def test_a_typing_error_in_an_approval_is_asked_again(shop: Path, answer: str) -> None:
    lines = ["Please order.", "aprove", "", "yes", f" {answer} ", "How many bolts?"]
    done = chat_with(shop, lines)
    assert "tool order needs a person's approval" in done.stdout
    assert done.stderr.count(" is no answer: write approve or refuse\n") == 3
    assert ("It says: ordered bolts" in done.stdout) == (answer == "approve")
    assert done.stdout.endswith("It says: bolts: 7 left\n"), "the chat goes on"
    asked = (shop / "asked.txt").read_text().splitlines()
    assert len(asked) == 4, "no typing error reaches the model"


@pytest.mark.parametrize("rest", [[], ["aprove"], ["aprove", "/exit", "How many bolts?"]])
def test_a_question_without_an_answer_stays_open(shop: Path, rest: list[str]) -> None:
    done = chat_with(shop, ["Please order.", *rest])
    assert "the question stays open: start the chat again to answer it\n" in done.stderr
    assert (shop / "asked.txt").read_text() == "asked\n"
    again = chat_with(shop, ["approve"])
    assert again.stdout.endswith("It says: ordered bolts\n")


def chat_with(
    folder: Path, lines: list[str], agent: str = "shop:make"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "chat", "--agent", agent],
        cwd=folder,
        env=clean_environment(),
        input="".join([f"{line}\n" for line in lines]),
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_agent_with_the_tools_of_a_server_is_opened_and_closed(shop: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "chat", "--agent", "shop:shelf"],
        cwd=shop,
        env=clean_environment(),
        input="How many bolts?\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "It says: bolts: 9 left" in done.stdout.replace("\\n", ""), done.stderr
    assert (shop / "closed.txt").exists()
    assert "tool count(item)" in transom("agent", "show", "shop:shelf", cwd=shop).stdout


def test_one_task_opens_and_closes_an_agent(shop: Path) -> None:
    done = chat_with(shop, ["place"], "shop:grouped")
    assert "It says: opened" in done.stdout
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
    assert (shop / "closed.txt").exists() and (shop / "left.txt").exists()


def test_an_agent_that_fails_while_it_is_open_is_one_line(shop: Path) -> None:
    done = chat_with(shop, ["How many bolts?"], "shop:dying")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "transom: --agent: shop:dying failed: OSError: the shelf fell down; correct its code"
    ]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("line", ["place", "slow"])
def test_a_signal_closes_the_agent_of_a_chat(shop: Path, line: str, number: signal.Signals) -> None:
    with subprocess.Popen(
        [*COMMAND, "chat", "--agent", "shop:grouped"],
        cwd=shop,
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Below `nohup`, SIGHUP is ignored, and a process inherits that.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        # Until it waits for a line, or for the tool.
        while line == "slow" and not (shop / "begun.txt").exists():
            time.sleep(0.05)
        while line == "place" and "It says" not in process.stdout.readline():
            pass
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (-number, "")
    assert (shop / "closed.txt").exists()
    assert (shop / "stopped.txt").exists() == (line == "slow")


@pytest.mark.parametrize("words", [["chat", "--agent"], ["agent", "show"], ["serve", "--agent"]])
@pytest.mark.parametrize(
    ("name", "key"), [("keyless", "ANTHROPIC_API_KEY"), ("hosted", "OPENAI_API_KEY")]
)
def test_a_missing_key_is_one_line_that_names_it(
    shop: Path, words: list[str], name: str, key: str
) -> None:
    done = transom(*words, f"shop:{name}", cwd=shop)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert f"there is no key: {key} is not set; set it and try again\n" in done.stderr
    assert "correct" not in done.stderr, "the module is right"


@pytest.mark.parametrize(
    ("model", "key"), [("openai:x", "OPENAI_API_KEY"), ("openrouter:x", "OPENROUTER_API_KEY")]
)
@pytest.mark.parametrize("words", [["chat"], ["mcp"]])
def test_a_missing_key_of_the_commands_own_model_is_one_line_too(
    shop: Path, words: list[str], model: str, key: str
) -> None:
    done = transom(*words, "--model", model, cwd=shop)
    line = f"transom: {model}: there is no key: {key} is not set; set it and try again\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


def test_the_command_that_continues_a_chat_finds_its_workspace(shop: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "chat", "a b", "--agent", "shop:make", "--workspace", "else where"],
        cwd=shop,
        env=clean_environment(),
        input="How many bolts?\n",
        capture_output=True,
        text=True,
        check=False,
    )
    following = "transom chat 'a b' --workspace 'else where' --agent shop:make"
    assert done.stderr == f"continue with: {following}\n"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "--model: a chat needs a model; pass --model ollama:NAME"),
        (["--agent", "shop"], "--agent: 'shop' names no agent; write MODULE:AGENT"),
        (["--agent", "shop:number"], "--agent: shop:number is a int, and no agent"),
        (["--agent", "shop:gone"], "shop:gone cannot be made: AttributeError"),
        (["--agent", "shop:broken"], "shop:broken cannot be opened: OSError: the shelf is gone"),
        (["--agent", "shop:coming"], "shop:coming is a coroutine, and no agent; name an Agent, a"),
    ],
)
def test_a_chat_without_an_agent_or_model_says_what_to_write(
    shop: Path, options: list[str], reason: str
) -> None:
    done = transom("chat", *options, cwd=shop)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.fence
def test_an_agent_is_shown_as_text_data_and_flowchart(shop: Path) -> None:
    text = transom("agent", "show", "shop:clerk", cwd=shop).stdout
    assert text == (
        "clerk  answered by scripted\n"
        "  sees: prices, role\n"
        "  tool count(item)  pure, ours: Count what is in stock.\n"
        "  tool order(item)  once, approval: Order more.\n"
        "  sub-agent read\n"
        "    reader\n"
        "      sees: role\n"
        "      answers as: Item\n"
        "      tool count(item)  pure, ours: Count what is in stock.\n"
    )
    data = json.loads(transom("agent", "show", "shop:clerk", "--format", "json", cwd=shop).stdout)
    assert data["schema"] == "transom.agent/1"
    assert data["sub_agents"]["read"]["tools"][0]["terms"] == ["pure", "ours"]
    chart = transom("agent", "show", "shop:make", "--mermaid", cwd=shop).stdout
    assert chart == (
        "flowchart LR\n"
        '    agent(["clerk<br/>scripted"])\n'
        '    agent --> agent_tool0["count(item)<br/>pure, ours"]\n'
        '    agent --> agent_tool1["order(item)<br/>once, approval"]\n'
        '    agent_sub0(["reader<br/>sub-agent"])\n'
        '    agent_sub0 --> agent_sub0_tool0["count(item)<br/>pure, ours"]\n'
        '    agent -->|"read"| agent_sub0\n'
    )
