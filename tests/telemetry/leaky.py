"""A program with keys and local text in a process of its own, which may connect to the addresses it
is given alone.

Everything on its way tells them: its servers quote keys in errors, its tools yield them, its
exceptions hold them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import sys
import traceback
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.agent.helpers import SEAT, tool
from transom.agent import Agent, Home
from transom.cli import main
from transom.config import HostedSettings, OpenAISettings
from transom.errors import TransomError
from transom.llm import Block, Chain
from transom.llm.hosted import connect
from transom.telemetry import configure
from transom.tools.mcp import McpServer

SHELF = [sys.executable, str(Path(__file__).with_name("leaky_shelf.py"))]
LEAKING = ("peek", "crash", "shelf-environment", "shelf-refuse")
"""Tools that yield keys."""


@dataclass(frozen=True)
class Plan:
    """What the program is told, as JSON.

    Attributes:
        work: its folder; `work/.transom` is its workspace.
        remote, own: servers; what the second is sent is said to stay on this machine.
        allowed: host and port of all that may be contacted.
        denied: somebody listens there, whom nobody told it of.
        keys: of the remote server, of its own one, of the MCP server.
        local: what must not reach a remote server: a block, a tool's result, its failure, a block
            that an error quotes.
        kill: whether it is killed in the middle of a tool call in the end.
    """

    work: str
    remote: str
    own: str
    allowed: list[list[Any]]
    denied: list[Any]
    keys: list[str]
    local: list[str]
    kill: bool


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")


def fence(plan: Plan) -> None:
    """Refuse every other address, below all libraries: CPython asks before it connects, sends or
    looks up.
    """
    allowed = {tuple(one) for one in plan.allowed}
    hosts = {host for host, _ in allowed}

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            asked, good = args[1], isinstance(args[1], tuple) and args[1][:2] in allowed
        elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
            asked, good = args[0], args[0] in hosts
        else:
            return
        if not good:
            with Path(plan.work, "denied").open("a") as out:
                out.write(f"{event} {asked}\n")
            raise PermissionError(f"{asked} is none of the configured addresses")

    sys.addaudithook(hook)
    for attempt in (
        lambda: socket.create_connection(tuple(plan.denied)),
        lambda: socket.getaddrinfo("example.com", 443),
    ):
        with suppress(PermissionError):
            attempt()


def told(error: TransomError) -> None:
    """As a program without a handler of its own tells it."""
    say(error, repr(error), *(cause for cause in getattr(error, "causes", ())))
    traceback.print_exception(error)
    logging.getLogger("transom").error("it ended", exc_info=error)


async def talk(plan: Plan) -> None:
    """The conversation in which keys are told."""
    # The second one is not asked, but its key, which stands in a variable of no telling name, is
    # known by it.
    own = connect("openai:m-2", _settings(plan.own, local=True, key_variable="TEAM_CRED"))
    chain = Chain((connect("openai:m-1", _settings(plan.remote)), own))

    async def peek(at: str) -> Any:
        basic = [
            b64encode(f"{user}:{key}".encode()).decode()
            for user in ("", "a", "ab")
            for key in plan.keys[:2]
        ]
        urls = [f"http://h/?key={quote(key, safe='')}" for key in plan.keys[:2]]
        return {
            "at": at,
            "environment": dict(os.environ),
            "key": plan.keys[0],
            "encoded": [*basic, *urls],
        }

    async def crash(at: str) -> str:
        raise ValueError("x" * 480 + f" {at}: no luck with {plan.keys[0]} and {plan.keys[1]}")

    async with McpServer(
        SHELF, prefix="shelf-", environ={"SHELF_SECRET": plan.keys[2], **_coverage()}
    ) as shelf:
        tools = [tool(peek, name="peek"), tool(crash, name="crash"), *shelf.tools]
        async with Agent(
            SEAT, provider=chain, tools=tools, at=Home(_workspace(plan), "keys")
        ) as agent:
            say((await agent.send("one")).text)
            sub = await agent.open_sub("look deeper", "of what was seen")
            say((await sub.send("go")).text)
            say((await agent.close_sub(sub)).text)
            say(agent.history(), agent.context())
            try:
                await agent.send("refuse me")
            except TransomError as error:
                told(error)


async def keep(plan: Plan) -> None:
    """Conversations with what is to stay on this machine."""
    block, result, failure, quoted = plan.local
    remote = Chain((connect("openai:m-1", _settings(plan.remote)),))

    async def secret(at: str) -> str:
        return f"{at}: {result}"

    async def fails(at: str) -> str:
        raise ValueError(f"{at}: {failure}")

    seat = replace(SEAT, name="t.local")
    marked = Block("extra", f"it says {block}", egress="local")
    for name, run, blocks in (
        ("block", secret, [marked]),
        ("result", secret, []),
        ("failure", fails, []),
    ):
        tools = [tool(run, name="secret", egress="local")]
        async with Agent(
            seat, provider=remote, tools=tools, at=Home(_workspace(plan), name)
        ) as agent:
            try:
                await agent.send("go", *blocks)
            except TransomError as error:
                told(error)
    own = connect("openai:m-2", _settings(plan.own, local=True, key_variable="TEAM_CRED"))
    async with Agent(seat, provider=own, at=Home(_workspace(plan), "own")) as agent:
        try:
            await agent.send("go", Block("extra", f"it says {quoted}", egress="local"))
        except TransomError as error:
            told(error)


async def die(plan: Plan) -> None:
    """Killed where it is deepest: in a tool call of a sub-conversation."""

    async def fatal(at: str) -> str:
        os.kill(os.getpid(), signal.SIGKILL)
        return at

    remote = connect("openai:m-1", _settings(plan.remote))
    seat = replace(SEAT, name="t.fatal")
    async with Agent(
        seat, provider=remote, tools=[tool(fatal, name="fatal")], at=Home(_workspace(plan), "die")
    ) as agent:
        sub = await agent.open_sub("die in it")
        await sub.send("die")


def commands() -> None:
    """What a person would look at afterwards."""
    main(["trace", "list", "--format", "json"])
    main(["trace", "stats"])
    for run in Path(".transom/runs").glob("*/*"):
        for words in (["runs", "show"], ["trace", "show"], ["window", "show"]):
            main([*words, run.name])
            main([*words, run.name, "--format", "json"])


def _settings(url: str, **more: Any) -> HostedSettings:
    settings = OpenAISettings(base_url=f"{url}/v1", context_tokens=100_000, **more)
    return settings.model_copy(
        update={"retry": settings.retry.model_copy(update={"initial_delay": 0.01})}
    )


def _workspace(plan: Plan) -> Path:
    return Path(plan.work, ".transom")


def _coverage() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}


if __name__ == "__main__":
    the_plan = Plan(**json.loads(sys.argv[1]))
    os.chdir(the_plan.work)
    fence(the_plan)
    configure("debug", Path(".transom/logs/log.jsonl"))
    asyncio.run(talk(the_plan))
    asyncio.run(keep(the_plan))
    commands()
    if the_plan.kill:
        configure("debug", Path(".transom/logs/log.jsonl"))
        asyncio.run(die(the_plan))
