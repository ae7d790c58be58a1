"""A role, tools and scripted replies for tests of agents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from transom.agent import Agent, Response
from transom.canonical import Json
from transom.errors import Paused
from transom.llm import (
    Block,
    Reply,
    Request,
    Role,
    ScriptedProvider,
    Text,
    Tier,
    ToolCallPart,
    render,
)
from transom.tools import Arguments, ToolDefinition

SEAT = Role(
    "t.seat", (Block("role", "You look things up.", Tier.STABLE),), frozenset({"role", "extra"})
)
AT: dict[str, Json] = {
    "type": "object",
    "properties": {"at": {"type": "string"}},
    "required": ["at"],
}


def tool(
    run: Callable[[str], Awaitable[Any]] | None = None, *, name: str = "look", **more: Any
) -> ToolDefinition:
    """A tool with one argument `at`."""

    async def handler(arguments: Arguments) -> Json:
        at = str(arguments["at"])
        return await run(at) if run else f"saw {at}"

    return ToolDefinition(name, "Looks.", AT, handler, **{"effect": "pure", **more})


def asks(*calls: ToolCallPart, text: str = "") -> Reply:
    return Reply((Text(text), *calls) if text else calls, stop="tool_calls")


def look(at: str, ident: str = "1", name: str = "look") -> ToolCallPart:
    return ToolCallPart(ident, name, {"at": at})


def scripted(*answers: Any) -> ScriptedProvider:
    return ScriptedProvider({SEAT.name: list(answers)})


def sent(request: Request) -> str:
    return render(request).as_text()


def share_of_window(response: Response) -> tuple[int, int]:
    """The tokens that the last window took, and those that it may take."""
    assert response.window is not None
    shares = response.window.shares
    return sum(share.used for share in shares), sum(share.limit for share in shares)


async def resumed(agent: Agent) -> Response:
    """The response to the open message, or to the last one."""
    found = await agent.resume()
    assert found is not None
    return found


async def approve(agent: Agent, paused: Paused, by: str = "ann") -> None:
    """A person approves the call that an agent paused for."""
    assert paused.question is not None
    await agent.decide("approve", paused.question["fingerprint"], by=by)
