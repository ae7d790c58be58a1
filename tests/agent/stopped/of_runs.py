"""Programs of a run to be stopped: a map over items, a question to a person, sub-agents,
messages with ids.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import replace
from random import Random
from typing import Any

from tests.agent.helpers import SEAT
from tests.agent.stopped.life import MOST, Gone, Life
from tests.agent.stopped.scenes import calls, paying, steps, subs, tools_of
from tests.agent.stopped.world import Scene
from transom.agent import Home, SubAgent
from transom.errors import Paused
from transom.llm import Block, Chain, Reply, Role, Usage
from transom.runs import Run, Stage, Workspace, text_file
from transom.runs.windows import requests_of

READER = Role(f"{SEAT.name}.reader", "You read.")
ITEMS = [f"m{number:02}" for number in range(20)]


async def in_a_run(life: Life, walk: Callable[[Run], Awaitable[None]]) -> None:
    """Walk a run until nothing in it waits for a person."""
    workspace, chain = Workspace.at(life.world.folder / "w"), Chain((life.provider(),))
    for _ in range(MOST):
        run = await Run.open(
            "test", {}, name=life.world.name, workspace=workspace, store=life.store, chain=chain
        )
        async with run:
            try:
                await walk(run)
            except Paused:
                for choice in list(run.state.waiting.values()):
                    answer = "the second" if choice["kind"] == "question" else life.stop.answer
                    life.world.note(
                        f"{answer} {choice.get('tool', '')} {choice.get('arguments', '')}"
                    )
                    await run.decide(answer, choice["fingerprint"], by="ann")
            else:
                return
    life.wrong.append("no end of what waits for a person")
    raise Gone


def said(life: Life, name: str, texts: list[str], usage: Usage) -> None:
    life.answers[name] = {
        "text": " ".join(texts),
        "ended": "answered",
        "usage": usage,
        "turns": texts,
    }


async def mapped(life: Life) -> None:
    async def work(stage: Stage, item: str) -> str:
        return (await life.agent_at(stage).send(f"item {item}")).text

    async def walk(run: Run) -> None:
        found = await run.map(
            "read", work, ITEMS, key=str, out=text_file("read.md"), uses=[SEAT], limit=4
        )
        for one in found:
            if one.question or one.error:
                raise one.question or one.error or RuntimeError
        made = [one.artifact for one in found if one.artifact]
        said(life, "map", [one.value for one in made], sum((one.usage for one in made), Usage()))

    await in_a_run(life, walk)


def of_item(text: str) -> list[Reply | str]:
    item = text.rsplit(maxsplit=1)[-1]
    return [
        calls(f"look {item}", f"pay {item}" if item.endswith("0") else f"look {item}b"),
        f"It is {item}.",
    ]


MAPPED = Scene(
    "a map over 20 items",
    SEAT,
    (),
    steps({f"item {item}": of_item(item) for item in ITEMS}),
    tools_of,
    mapped,
    lasting=False,
)


async def questioned(life: Life) -> None:
    async def work(stage: Stage, text: str, before: str = "") -> str:
        return f"{before} {(await life.agent_at(stage).send(text)).text}".strip()

    async def walk(run: Run) -> None:
        first = await run.stage("first", work, "one", out=text_file("first.md"), uses=[SEAT])
        answer = await run.ask("which", "Which of them?", options=["the first", "the second"])
        assert (answer.text, answer.by) == ("the second", "ann")
        second = await run.stage(
            "second", work, answer.text, first, out=text_file("second.md"), uses=[SEAT]
        )
        said(life, "run", [first.value, second.value], first.usage + second.usage)

    await in_a_run(life, walk)


ASKED = Scene(
    "a question to a person between two stages",
    SEAT,
    (),
    steps(
        {"one": [calls("pay a", "look a"), "Done."], "the second": [calls("pay b"), "Done, too."]}
    ),
    tools_of,
    questioned,
    lasting=False,
)


def with_reader(life: Life) -> list[Any]:
    return [*tools_of(life), SubAgent(READER, "read", "Have something read.", tools_of(life))]


HANDED = Scene(
    "declared sub-agents, two in a reply",
    SEAT,
    ("one", "two"),
    steps(
        {
            "one": [calls("pay m", "read item A", "read item B", "look m"), "Done."],
            "two": [calls("read item C"), "Done, too."],
        },
        subs(paying),
    ),
    with_reader,
)


class Playbook:
    """Says something else each time it is asked."""

    said = itertools.count(1)

    async def blocks(self, query: str, tokens: int) -> list[Block]:
        del tokens
        return [Block("fact", f"{query} has {next(self.said)} facts")]


async def with_ids(life: Life) -> None:
    """`resume`, and then all messages with their ids and blocks, whatever was said before."""
    home = Home(life.world.folder / "w", life.world.name, life.store)
    async with life.agent_at(home, provider=life.provider(), sources=[Playbook()]) as agent:
        await life.until(agent, agent.resume, "")
        last: Any = None
        for text in life.scene.messages:
            hint = Block("hint", f"the hint of {text}")
            last = await life.until(agent, lambda: agent.send(text, hint, id=text), text)  # noqa: B023  awaited at once
        turns = [turn.to_json() for turn in last.turns]
        life.answers["main"] = {
            "text": last.text,
            "ended": last.ended,
            "usage": last.usage,
            "turns": turns,
        }
        host: Any = agent._session.log.host  # type: ignore[union-attr]  # something was said
        records = host.records()
        told = [
            record.data["id"]
            for record in records
            if record.kind == "user_message" and "id" in record.data
        ]
        life.wrong += [f"messages {told}"] if told != [*life.scene.messages] else []
        facts: dict[str, set[str]] = {}
        for asked in requests_of(host.store, records):
            blocks = {block["name"]: block["text"] for block in asked["blocks"]}
            facts.setdefault(str(blocks.get("hint")), set()).add(str(blocks.get("fact")))
        if facts.keys() != {f"the hint of {text}" for text in life.scene.messages} or any(
            len(one) != 1 or "None" in one for one in facts.values()
        ):
            life.wrong.append(f"blocks of requests: {facts}")


WITH_IDS = Scene(
    "resume, and then messages with ids, blocks and sources",
    replace(SEAT, sees=SEAT.sees | {"hint", "fact"}),
    ("one", "two"),
    steps(
        {
            "one": [calls("pay a", "look b"), "Done."],
            "two": [calls("pay c"), calls("look d"), "Done, too."],
        }
    ),
    tools_of,
    with_ids,
    lasting=False,
    folds=True,  # requests differ by what a source says before its message is in the log
)

OF_RUNS = [MAPPED, ASKED, HANDED, WITH_IDS]


def random_scene(seed: int) -> Scene:
    """A conversation of its own: some messages, each with some rounds of some calls."""
    pick = Random(seed)

    def round_of(tools: str, most: int) -> Reply:
        wanted = [
            f"{pick.choice(tools.split())} {pick.choice('abc')}"
            for _ in range(pick.randint(1, most))
        ]
        return calls(
            *[f"read item {one[-1].upper()}" if one.startswith("read") else one for one in wanted]
        )

    inner = [round_of("look pay", 2) for _ in range(pick.randint(0, 1))]
    messages = [f"message {number}" for number in range(pick.randint(1, 2))]
    main: dict[str, list[Reply | str]] = {
        text: [
            *[round_of("look pay look read", 3) for _ in range(pick.randint(0, 2))],
            f"Done with {text}.",
        ]
        for text in messages
    }
    answer = steps(main, subs(lambda item: [*inner, f"It is {item}."]))
    return Scene(f"course {seed}", SEAT, tuple(messages), answer, with_reader)
