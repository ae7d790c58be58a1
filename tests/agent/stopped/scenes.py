"""Programs to be stopped at every place: what is said, which tools there are, and what a model
answers.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from tests.agent.helpers import SEAT
from tests.agent.stopped.halting import Halting
from tests.agent.stopped.life import Life
from tests.agent.stopped.world import Scene
from transom.agent import Home, Setup
from transom.canonical import Json
from transom.config import Settings
from transom.config.hosted import Retry
from transom.context import WindowBudget
from transom.llm import Chain, Reply, Request, ToolCallPart, ToolResults, UserMessage
from transom.llm.retrying import RetryingProvider
from transom.runs import Run, Stage, Workspace, text_file
from transom.tools import Arguments, ToolDefinition

ANY: dict[str, Json] = {
    "type": "object",
    "properties": {"x": {"type": "string"}},
    "required": ["x"],
}
NUMBER: dict[str, Json] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
}
HANDING_ON = replace(SEAT, strategy="sub_conversation")
SUB = f"{SEAT.name}.sub"
Handler = Callable[[Life, str], Awaitable[str]]


def tool(life: Life, name: str, run: Handler | None = None, **more: Any) -> ToolDefinition:
    """Notes what it does, and does it."""

    async def handler(arguments: Arguments) -> Json:
        x = str(arguments["x"])
        await life.did(f"{name} {x}")
        return await run(life, x) if run else f"{name} {x}: well"

    return ToolDefinition(name, f"Does {name}.", ANY, handler, **{"effect": "pure", **more})


def tools_of(life: Life) -> list[ToolDefinition]:
    return [tool(life, "look"), tool(life, "pay", effect="once")]


def calls(*wanted: str) -> Reply:
    """Each `name x`; of `delegate` x is the purpose."""
    parts = []
    for number, one in enumerate(wanted):
        name, _, x = one.partition(" ")
        arguments: dict[str, Json] = {"task": x} if name == "read" else {"x": x}
        arguments = {"purpose": x} if name == "delegate" else arguments
        parts.append(ToolCallPart(f"c{number}", name, arguments))
    return Reply(tuple(parts), stop="tool_calls")


def came(request: Request) -> tuple[str, int]:
    """The message that was sent last here, and how often calls came back since."""
    turns = request.window.turns
    told = [
        (n, turn.text)
        for n, turn in enumerate(turns)
        if isinstance(turn, UserMessage) and not turn.text.startswith("<")
    ]
    at, text = told[-1] if told else (-1, "")
    return text, sum(isinstance(turn, ToolResults) for turn in turns[at + 1 :])


def steps(
    main: dict[str, list[Reply | str]], sub: Callable[[Request], Reply | str] | None = None
) -> Any:
    """By message the answers in order; whatever is asked of a sub-conversation is told by `sub`."""

    def answer(request: Request) -> Reply | str:
        if request.role != SEAT.name and sub:
            return sub(request)
        text, number = came(request)
        return main[text][number]

    return answer


def subs(first: Callable[[str], list[Reply | str]]) -> Callable[[Request], Reply | str]:
    """In each sub-conversation the steps for its item; and what it sums up."""

    def answer(request: Request) -> Reply | str:
        text, number = came(request)
        if text.startswith("Now sum up"):
            return "All is well with it."
        item = re.findall(r"item (\w+)", f"{request.window.blocks} {request.window.turns}")[0]
        return first(item)[number]

    return answer


def paying(item: str) -> list[Reply | str]:
    return [calls(f"pay {item}", f"look {item}"), f"It is {item}."]


PLAIN = Scene(
    "plain tools",
    SEAT,
    ("one", "two"),
    steps(
        {
            "one": [calls("look a", "look b"), calls("look c"), "Done."],
            "two": [calls("look d"), "Done, too."],
        }
    ),
    lambda life: [tool(life, "look")],
)
ONCE = Scene(
    "once tools in parallel",
    SEAT,
    ("one", "two"),
    steps(
        {
            "one": [calls("pay a", "look b", "pay c", "pay a"), calls("pay d"), "Done."],
            "two": [calls("pay e", "pay a"), "Done, too."],
        }
    ),
    tools_of,
)
DELEGATE = Scene(
    "delegate twice in a reply",
    HANDING_ON,
    ("one", "two"),
    steps(
        {
            "one": [
                calls("pay m", "look m", "delegate item A", "delegate item B", "pay n"),
                "Done.",
            ],
            "two": [calls("delegate item C"), "Done, too."],
        },
        subs(paying),
    ),
    tools_of,
)


LARGE = "\n".join(f"row {number}: the ratio is 0.{number:05d}" for number in range(400))


async def large(life: Life, x: str) -> str:
    del life
    return f"{x}\n{LARGE}"


async def small_window(life: Life) -> None:
    """The same as `kept`, in a small window."""
    settings = Settings.model_validate({"window": {"tokens": 8_000}})
    home = Home(life.world.folder / "w", life.world.name, life.store)
    setup = Setup(life.provider(), settings)
    async with life.agent_at(home, provider=setup) as agent:
        await life.talk(agent)


OVERSIZED = Scene(
    "results that are too large, handed on",
    HANDING_ON,
    ("one", "two"),
    steps(
        {"one": [calls("big a", "pay m", "big b"), calls("big c"), "Done."], "two": ["Done, too."]},
        lambda request: "Row 17 has 0.00017.",
    ),
    lambda life: [tool(life, "big", large), tool(life, "pay", effect="once")],
    small_window,
)


def structured(request: Request) -> Reply | str:
    """Says nothing, is wrong, and mends it when it has said nothing once more."""
    turns = request.window.turns
    last, asked = turns[-1], [turn.text for turn in turns if isinstance(turn, UserMessage)]
    if asked == ["one"]:
        return calls("pay m") if isinstance(last, UserMessage) else Reply((), stop="pause")
    if asked[-1].startswith("Your last answer cannot be used"):
        return '{"a": 5}'
    return '{"a":7}' if asked[-1] == "two" else '{"a":"x"}'


STRUCTURED = Scene(
    "structured, with a silence and a repair",
    replace(SEAT, output=NUMBER),
    ("one", "two"),
    structured,
    lambda life: [tool(life, "pay", effect="once")],
)


STREAMED = replace(
    ONCE,
    name="streamed, each reply broken off once",
    wrap=lambda provider: RetryingProvider(
        Halting(provider), Retry(max_attempts=3, initial_delay=0.0, jitter=0.0)
    ),
    heard=True,
)


def in_a_stage(
    *names: str, budget: WindowBudget | None = None
) -> Callable[[Life], Awaitable[None]]:
    """Agents in a stage of a run that is walked again; without names one that has none."""

    async def program(life: Life) -> None:
        workspace, chain = Workspace.at(life.world.folder / "w"), Chain((life.provider(),))
        run = await Run.open(
            "test", {}, name=life.world.name, workspace=workspace, store=life.store, chain=chain
        )
        run.budget = budget or run.budget

        async def work(stage: Stage) -> str:
            async def one(name: str) -> None:
                at = stage.named(name) if name else stage
                async with life.agent_at(at) as agent:
                    await life.talk(agent, name=name or "main")

            done = await asyncio.gather(*map(one, names or ("",)), return_exceptions=True)
            for error in done:
                if isinstance(error, BaseException):
                    raise error
            return "done"

        async with run:
            await run.stage("talk", work, out=text_file("talk.md"), reuse=False)

    return program


STAGED = [
    replace(scene, name=f"in a stage: {scene.name}", program=in_a_stage(), lasting=False)
    for scene in (ONCE, DELEGATE, STRUCTURED)
]
TWO = replace(DELEGATE, name="two agents in a stage", program=in_a_stage("q0", "q1"), lasting=False)
SCENES = [PLAIN, ONCE, DELEGATE, OVERSIZED, STRUCTURED, STREAMED, *STAGED, TWO]
