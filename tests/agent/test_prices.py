"""Dollars: what a reply costs by a dated list that can be laid over, and a cap that ends with
the work so far.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, resumed, tool
from tests.runs.helpers import Desk
from transom.agent import Agent, Budget, Home, Setup, call
from transom.config import Settings
from transom.errors import InputError, Paused
from transom.llm import Capabilities, Reply, ScriptedProvider, Text, ToolResults, Usage
from transom.llm.hosted.openai import latest
from transom.llm.prices import Prices
from transom.llm.purse import Purse
from transom.runs import Stage, Workspace, text_file
from transom.runs.conversation import Spent
from transom.store import SqliteStore
from transom.tools import Toolbox

MINE = """\
schema: transom.prices/1
as_of: "2026-11-01"
models:
  corp:model: {input: 2, output: 10, cached: 1, cache_write: 4}
"""


@pytest.fixture
def mine(tmp_path: Path) -> Prices:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE, "utf-8")
    return Prices.load(path)


def corp(*answers: Any, **caps: Any) -> ScriptedProvider:
    """Somebody else's model of that name, that answers from a list."""
    told = Capabilities(structured_output=True, **caps)
    return ScriptedProvider({SEAT.name: list(answers)}, name="corp:model", local=False, caps=told)


def calls(at: str, usage: Usage) -> Reply:
    return Reply(asks(look(at)).parts, usage=usage, stop="tool_calls")


def test_each_kind_of_token_has_its_price(mine: Prices) -> None:
    usage = Usage(1_000_000, 100_000, cached_tokens=500_000, cache_write_tokens=250_000)
    assert mine.of(usage, "corp:model") == pytest.approx(0.25 * 2 + 0.5 * 1 + 0.25 * 4 + 0.1 * 10)
    assert mine.of(usage, "corp:other") is None
    assert mine.of(Usage(5, 5, cost=0.125), "corp:other") == 0.125, "who gave it may say it"
    assert (Usage(1, cost=0.5) + Usage(1)).cost == 0.5
    assert "cost" not in Usage(1).to_json()


def test_the_published_list_is_dated_and_a_users_lies_over_it(mine: Prices) -> None:
    known = Prices.load()
    assert known.models.items() < mine.models.items()
    assert (known.as_of.year, mine.as_of.isoformat()) == (2026, "2026-11-01")


def test_a_name_stands_for_its_snapshots(mine: Prices) -> None:
    usage = Usage(1_000_000)
    dated = (
        "anthropic:claude-sonnet-4-5-20250929",
        "openai:gpt-4o-2024-08-06",
        "corp:model-20260101",
    )
    assert [mine.of(usage, name) for name in dated] == [3.0, 2.5, 2.0]
    assert mine.of(usage, "openai:gpt-4o-audio-preview") is None
    assert mine.of(usage, "openai:gpt-4.1-mini") == 0.4


def test_a_list_that_is_none_says_where(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE.replace("input: 2", "input: -2"), "utf-8")
    with pytest.raises(InputError, match=r"mine\.yaml:4"):
        Prices.load(path)


async def test_a_cap_in_dollars_ends_with_the_work_so_far_and_can_be_raised(
    tmp_path: Path, mine: Prices
) -> None:
    dollar = Usage(0, 100_000)

    async def program(usd: float, *answers: Any) -> Any:
        provider = corp(*answers)
        caps = Budget(usd=usd, prices=mine)
        async with Agent(
            SEAT, provider=provider, tools=[tool()], at=Home(tmp_path, "t"), budget=caps
        ) as agent:
            return await agent.send("go"), len(provider.requests)

    stopped, asked = await program(1.5, calls("a", dollar), calls("b", dollar), calls("c", dollar))
    assert (stopped.ended, stopped.usd, asked) == ("usd", 2.0, 2)
    assert len(stopped.turns) == 3 and isinstance(stopped.turns[-1], ToolResults), (
        "no call without its result"
    )
    whole, asked = await program(9, Reply((Text("done"),), usage=dollar))
    assert (whole.text, whole.ended, whole.usd, asked) == ("done", "answered", 3.0, 1)


async def test_a_cap_in_dollars_holds_a_call_too(tmp_path: Path, mine: Prices) -> None:
    dollar = Usage(0, 100_000)
    desk = Desk(tmp_path, corp(*(calls(at, dollar) for at in "abc")))
    workspace, box = Workspace.at(tmp_path / ".transom"), Toolbox([tool()])

    async def stage(at: Stage, prices: Prices | None) -> str:
        role = replace(SEAT, tools=box.specs)
        return (
            await call(at, role, [], str, tools=box, budget=Budget(usd=1.5, prices=prices))
        ).value

    async with (
        SqliteStore.open(workspace.database) as store,
        await desk.open_run(workspace, store) as run,
    ):
        with pytest.raises(InputError, match="no price"):
            await run.stage(
                "one", partial(stage, prices=None), out=text_file("one.md"), uses=[SEAT]
            )
        with pytest.raises(Paused, match=r"the cap of 1\.5 usd is reached"):
            await run.stage(
                "two", partial(stage, prices=mine), out=text_file("two.md"), uses=[SEAT]
            )
    assert len(desk.provider.requests) == 2  # type: ignore[attr-defined]  # the scripted one


async def test_a_cap_set_later_counts_from_there_and_one_taken_back_holds_nothing(
    mine: Prices,
) -> None:
    dollar = Usage(0, 100_000)
    answers = [Reply((Text("x"),), usage=dollar) for _ in range(4)]
    async with Agent(SEAT, provider=corp(*answers)) as agent:
        assert (await agent.send("1")).usd is None, "nobody knows what it cost"
        agent.budget = Budget(usd=2, prices=mine)
        assert [(await agent.send("2")).ended, (await agent.send("3")).ended] == ["answered", "usd"]
        assert agent.context().usd == 2.0
        agent.budget = Budget()
        assert ((await resumed(agent)).ended, agent.context().usd) == ("answered", 3.0)


def test_without_a_price_an_agent_does_not_begin(mine: Prices) -> None:
    with pytest.raises(
        InputError, match=r"corp:model: no price of it is known \(2026-\d\d-\d\d\), so its cost"
    ):
        Agent(SEAT, provider=corp(), budget=Budget(usd=1))
    Agent(SEAT, provider=corp(), budget=Budget(usd=1, prices=mine))
    Agent(SEAT, provider=ScriptedProvider({}), budget=Budget(usd=1))
    agent = Agent(SEAT, provider=corp())
    with pytest.raises(InputError, match="no price"):
        agent.budget = Budget(usd=1)
    assert agent.budget == Budget()


async def test_a_server_on_this_machine_costs_nothing_whatever_the_list_says(mine: Prices) -> None:
    for name in ("corp:model", "corp:unheard-of"):
        answers: dict[str, list[Any]] = {
            SEAT.name: [calls("a", Usage(10**6, 10**6)), calls("b", Usage(1, 1)), "done"]
        }
        provider = ScriptedProvider(answers, name=name, local=True)
        async with Agent(
            SEAT, provider=provider, tools=[tool()], budget=Budget(usd=0.01, prices=mine)
        ) as agent:
            response = await agent.send("go")
        assert (response.ended, response.usd) == ("answered", 0.0)


async def test_a_server_that_tells_its_cost_needs_no_price_and_must_tell_it() -> None:
    told, not_told = calls("a", Usage(1, 1, cost=0.4)), calls("b", Usage(1, 1))
    provider = corp(told, not_told, tells_cost=True)
    async with Agent(SEAT, provider=provider, tools=[tool()], budget=Budget(usd=5)) as agent:
        with pytest.raises(InputError, match="corp:model: the cost of its reply is unknown"):
            await agent.send("go")
        assert (len(provider.requests), agent.context().usd) == (2, None)


@pytest.mark.parametrize("name", ["corp", "corp:model"])
async def test_a_cap_holds_whatever_its_provider_is_called(name: str, tmp_path: Path) -> None:
    listed = tmp_path / "listed.yaml"
    listed.write_text(
        f'schema: transom.prices/1\nas_of: "2026-11-01"\nmodels:\n  "{name}": {{input: 1, output:'
        " 1}\n"
    )
    answers = [Reply((Text("a"),), "end", Usage(10**6, 10**5), name) for _ in range(3)]
    provider = ScriptedProvider({SEAT.name: answers}, name=name, local=False)
    async with Agent(
        SEAT, provider=provider, budget=Budget(usd=1, prices=Prices.load(listed))
    ) as agent:
        first, second = await agent.send("go"), await agent.send("go")
    assert (first.ended, first.usd, second.ended) == ("answered", 1.1, "usd")
    assert len(provider.requests) == 1


def test_a_journal_is_counted_once(mine: Prices) -> None:
    purse = Purse(usd=3, prices=mine)
    spent = Spent()
    for by in ("corp:model", "rules", "replay"):
        spent.add(by, Usage(500_000))
    for _ in range(2):
        purse.take_in("run", spent.replies)
    assert purse.usd_of("run") == 1.0


def test_openrouters_cost_is_read_and_nonsense_is_not() -> None:
    told = (0, 0.002, 3, "1", True, -1, float("inf"), None)
    assert [latest(None, {"cost": one}).cost for one in told] == [0, 0.002, 3, *[None] * 5]


def dear(*answers: Reply, name: str = "openai:gpt-4.1", **more: Any) -> ScriptedProvider:
    return ScriptedProvider(
        {SEAT.name: list(answers), f"{SEAT.name}.sub": list(answers)}, name=name, **more
    )


def took(tokens: int, **more: Any) -> Reply:
    return Reply((Text("x"),), usage=Usage(tokens, **more))


async def test_what_a_conversation_cost_is_told_without_a_cap_and_after_a_restart(
    tmp_path: Path,
) -> None:
    price = Prices.load().of(Usage(1_000_000), "openai:gpt-4.1")
    assert price
    lives: list[list[float | None]] = []
    for answers in ([took(1_000_000), took(500_000)], []):
        async with Agent(
            SEAT, provider=dear(*answers, local=False), at=Home(tmp_path, "t")
        ) as agent:
            assert agent.context().usd == (lives[0][-1] if lives else 0.0)
            spent = [(await agent.send("1")).usd, (await agent.send("2")).usd]
            assert agent.context().usd == spent[-1]
            lives.append(spent)
    assert lives[0] == lives[1] == [pytest.approx(price), pytest.approx(1.5 * price)]
    async with Agent(SEAT, provider=dear(local=False), at=Home(tmp_path, "t")) as agent:
        last = await resumed(agent)
    assert last.usd == lives[0][-1]


async def test_what_a_sub_conversation_cost_is_part_of_it(mine: Prices) -> None:
    provider = dear(*[took(500_000) for _ in range(3)], name="corp:model", local=False)
    async with Agent(SEAT, provider=provider, budget=Budget(prices=mine)) as agent:
        assert (await agent.send("1")).usd == 1.0
        sub = await agent.open_sub("look")
        assert (await sub.send("2")).usd == 2.0
        assert agent.context().usd == 2.0


@pytest.mark.parametrize("kind", ["local", "unknown", "told", "half told"])
async def test_what_is_not_known_is_not_told_as_nothing(kind: str) -> None:
    told: list[float | None] = [0.25 if "told" in kind else None, 0.5 if kind == "told" else None]
    answers = [took(1_000_000, cost=cost) for cost in told]
    provider = dear(*answers, name="corp:unheard-of", local=kind == "local")
    async with Agent(SEAT, provider=provider) as agent:
        await agent.send("1")
        usd = (await agent.send("2")).usd
        assert agent.context().usd == usd
        assert usd == {"local": 0.0, "told": 0.75}.get(kind)
        assert agent.context().model_dump(mode="json")["usd"] == usd


async def test_a_list_of_ones_own_counts_without_a_cap(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(MINE, "utf-8")
    settings = Settings.model_validate({"paths": {"prices": path}})
    setup = Setup(dear(took(500_000), name="corp:model", local=False), settings)
    async with Agent(SEAT, provider=setup) as agent:
        assert (await agent.send("1")).usd == 1.0
    path.write_text("no list", "utf-8")
    with pytest.raises(InputError, match=r"own\.yaml"):
        Agent(SEAT, provider=setup)
