"""Sub-conversations: by the loop for a large result, by the model, by a program; each archived
and traceable.
"""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, look, sent, tool
from tests.agent.test_lasting import windows
from transom.agent import Agent, Home, Setup
from transom.agent.views import Conversation, SubConversation
from transom.config import Settings
from transom.context import TokenCorrection, oversized
from transom.context.summary import STRUCK
from transom.errors import InputError, ProviderError
from transom.evidence import facts
from transom.llm import (
    Block,
    Reply,
    Request,
    Role,
    ScriptedProvider,
    Strategy,
    Text,
    ToolCallPart,
    ToolResults,
    UserMessage,
)
from transom.telemetry import read_trace

LARGE = "\n".join(f"row {number}: the ratio is 0.{number:05d}" for number in range(4_000))
DELEGATING = replace(SEAT, strategy="sub_conversation")


async def large(at: str) -> str:
    return LARGE if at == "large" else f"saw {at}"


def by_role(main: list[Any], sub: list[Any]) -> ScriptedProvider:
    return ScriptedProvider({SEAT.name: main, f"{SEAT.name}.sub": sub})


def came(request: Request) -> str:
    turn = request.window.turns[-1]
    assert isinstance(turn, ToolResults)
    return turn.results[0].content


async def test_a_large_result_is_kept_and_read_in_parts(tmp_path: Path) -> None:
    async def program(*answers: Any) -> list[Request]:
        provider = by_role(list(answers), [])
        async with Agent(
            SEAT, provider=provider, tools=[tool(large)], at=Home(tmp_path, "t")
        ) as agent:
            assert (await agent.send("go")).text == "ok"
        return provider.requests

    name: list[str] = []

    def read(request: Request) -> Reply:
        told = came(request)
        assert "It is kept whole as" in told and len(told) < len(LARGE) / 5
        name.append(told.split("kept whole as ")[1].split(".")[0])
        return asks(
            ToolCallPart(
                "2", "read_slice", {"source": name[0], "first_line": 3001, "last_line": 3002}
            )
        )

    requests = await program(asks(look("large")), read, "ok")
    assert came(requests[2]).splitlines()[1:] == [
        "row 3000: the ratio is 0.03000",
        "row 3001: the ratio is 0.03001",
    ]
    assert [[spec.name for spec in request.tools] for request in requests] == [
        ["look"],
        ["look", "read_slice"],
        ["look", "read_slice"],
    ]
    (kept,) = tmp_path.glob("runs/t/*/conversation/results/result-*.txt")
    assert (kept.read_text(), kept.stem) == (LARGE, name[0])
    assert await program() == []


@pytest.mark.parametrize(
    ("strategy", "roles", "tools"),
    [
        ("truncate", ["t.seat", "t.seat"], ["look", "read_slice"]),
        (
            "sub_conversation",
            ["t.seat", "t.seat.sub", "t.seat"],
            ["look", "delegate", "read_slice"],
        ),
    ],
)
async def test_the_strategy_decides_what_the_loop_does_with_a_large_result(
    strategy: Strategy, roles: list[str], tools: list[str]
) -> None:
    provider = by_role([asks(look("large")), "ok"], ["Row 17 has 0.00017."])
    async with Agent(
        replace(SEAT, strategy=strategy), provider=provider, tools=[tool(large)]
    ) as agent:
        assert (await agent.send("go")).text == "ok"
    assert [request.role for request in provider.requests] == roles
    assert [spec.name for spec in provider.requests[-1].tools] == tools
    assert ("Row 17 has 0.00017." in came(provider.requests[-1])) == (
        strategy == "sub_conversation"
    )


async def test_the_journal_has_what_the_model_was_told_in_place_of_a_large_result(
    tmp_path: Path,
) -> None:
    provider = by_role([asks(look("large")), "ok", "yes"], ["Row 17 has 0.00017."])
    async with Agent(
        DELEGATING, provider=provider, tools=[tool(large)], at=Home(tmp_path, "t")
    ) as agent:
        await agent.send("go")
        await agent.send("sure?")
    told = [[turn.to_json() for turn in request.window.turns] for request in provider.requests]
    assert [one["turns"] for one in await windows(tmp_path)] == told


def test_a_memory_that_there_is_not_is_said_before_anything_begins() -> None:
    with pytest.raises(
        InputError, match=r"t\.seat: its strategy is memory, and there is no memory; .*sources="
    ):
        Agent(replace(SEAT, strategy="memory"), provider=by_role([], []))


async def test_the_loop_has_a_large_result_summed_up_where_the_role_says_so(tmp_path: Path) -> None:
    async def program(main: list[Any], sub: list[Any]) -> tuple[ScriptedProvider, Any, Any]:
        provider = by_role(main, sub)
        home = Home(tmp_path, "t")
        agent = Agent(DELEGATING, provider=provider, tools=[tool(large)], at=home)
        async with agent:
            assert (await agent.send("What is in row 17?")).text == "ok"
            view = agent.conversation()
            assert isinstance(view, Conversation)
            (name,) = view.sub_conversations
            return provider, view, agent.conversation(name)

    answer = "Row 17 has the ratio 0.00017, and row 9 the ratio 7.5."
    provider, view, sub = await program([asks(look("large")), "ok"], [answer])
    _, looked, last = provider.requests
    assert looked.role == "t.seat.sub"
    assert (
        "What is in row 17?" in sent(looked)
        and "row 3: the ratio" in sent(looked)
        and "You look things up" not in sent(looked)
    )
    told = came(last)
    assert "Row 17 has the ratio 0.00017" in told and "7.5" not in told, (
        "a number that the source has not is struck"
    )
    assert len(told) < 5_000
    assert isinstance(sub, SubConversation)
    assert (sub.parent_id, sub.metadata["how"]) == (view.id, "model")
    assert sub.completed_at is not None and sub.created_at <= sub.completed_at
    assert [message.content for message in sub.messages] == [answer]
    assert sub.metadata["run_id"] == view.metadata["run_id"]
    (trace,) = (tmp_path / "traces").glob("*.jsonl")
    assert trace.stem == view.metadata["trace_id"]
    whole = "/".join([str(view.metadata["run_id"]), str(view.metadata["stage"]), view.id])
    spans = {row.name: row for row in read_trace(trace)}
    inner = spans["sub_conversation t.seat.sub"]
    assert spans["chat t.seat.sub"].parent_id == inner.span_id
    assert inner.attributes["transom.conversation.parent.id"] == whole
    again, view_again, sub_again = await program([], [])
    assert (again.requests, view_again, sub_again) == ([], view, sub), "nothing is asked again"


@pytest.mark.parametrize(
    "failure", [ProviderError("away"), Reply((Text("half"),), stop="length"), " "], ids=str
)
async def test_a_summary_that_fails_is_an_extract_that_says_so(failure: Any) -> None:
    provider = by_role([asks(look("large")), "ok"], [failure])
    async with Agent(DELEGATING, provider=provider, tools=[tool(large)]) as agent:
        assert (await agent.send("go")).text == "ok"
        view = agent.conversation()
        assert view is not None
        sub = agent.conversation(view.sub_conversations[0])
    assert isinstance(sub, SubConversation) and sub.metadata["how"] == "extract"
    assert "no summary; lines chosen by rule" in came(provider.requests[-1])
    assert "1: row 0" in came(provider.requests[-1])


async def test_the_model_delegates(tmp_path: Path) -> None:
    def delegate(purpose: str) -> Reply:
        return asks(ToolCallPart("9", "delegate", {"purpose": purpose}))

    main = [
        asks(look("a", "7")),
        delegate("Is a there?"),
        delegate("And b?"),
        delegate("Is a there?"),
        "ok",
    ]
    sub = [asks(look("b")), "It saw b.", ProviderError("away")]
    provider = by_role(main, sub)
    async with Agent(
        DELEGATING, provider=provider, tools=[tool(large)], at=Home(tmp_path, "t")
    ) as agent:
        assert (await agent.send("go")).text == "ok"
        view = agent.conversation()
    asked = [request for request in provider.requests if request.role == SEAT.name]
    assert came(asked[2]) == "It saw b."
    assert "the sub-conversation failed" in came(asked[3])
    assert "not made again" in came(asked[4]), "the same errand is not run twice"
    inner = [request for request in provider.requests if request.role != SEAT.name]
    assert "saw b" in sent(inner[1])
    assert "delegate" not in [spec.name for spec in inner[0].tools], (
        "a sub-conversation opens no further ones"
    )
    assert view is not None and len(view.sub_conversations) == 2


async def test_a_program_opens_one_and_is_told_a_summary() -> None:
    provider = by_role(
        ["first", "last"], ["There are 3 of 9.", "In short: 3 of 5, and 9 elsewhere."]
    )
    async with Agent(SEAT, provider=provider, tools=[tool(large)]) as agent:
        await agent.send("one")
        sub = await agent.open_sub("Count them.", "There may be 5.")
        assert (await sub.send("How many? You need 3.")).text == "There are 3 of 9."
        summary = await agent.close_sub(sub)
        with pytest.raises(InputError, match="no open sub-conversation"):
            await agent.close_sub(sub)
        await agent.send("two")
        kept = agent.conversation(sub.id)
    assert "3 of 5" in summary.text and summary.struck == ("9",)
    assert isinstance(kept, SubConversation)
    assert (kept.purpose, kept.parent_id, kept.summary) == ("Count them.", "main", summary.text)
    first = provider.requests[1]
    assert [block.name for block in first.window.blocks] == ["sub_role", "purpose", "background"]
    last = provider.requests[-1]
    finding = last.window.turns[2]
    assert (
        isinstance(finding, UserMessage)
        and "3 of 5" in finding.text
        and "<untrusted-" in finding.text
    )
    assert "How many?" not in sent(last), "what was said there stays there"


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "temporary"])
async def test_one_that_was_closed_can_be_completed(kept: bool, tmp_path: Path) -> None:
    """It is an agent, so whoever talks in it writes `async with`."""
    provider = by_role(
        ["ok"], ["There are 3 of 5.", "There are 2 of 7.", "In short: 3 of 5, 2 of 7."]
    )
    async with Agent(SEAT, provider=provider, at=Home(tmp_path, "t") if kept else None) as agent:
        async with await agent.open_sub("Count them.") as sub:
            await sub.send("How many of the 5? There are 3.")
        await sub.send("And of the 7? There are 2.")
        await sub.close()
        summary = await agent.close_sub(sub)
        assert (summary.text, summary.struck) == ("In short: 3 of 5, 2 of 7.", ())
        await sub.close()
        assert (await agent.send("two")).text == "ok"
    assert "3 of 5" in sent(provider.requests[-1])


async def test_a_summary_is_held_to_what_was_said_and_not_to_how_it_is_written_down() -> None:
    """Ids are taken from questions and results; tags, fences and ids of calls are our own."""
    ask = ToolCallPart("call_77", "look", {"at": "u_core/u_alu"})
    provider = ScriptedProvider(
        {
            SEAT.name: ["last"],
            f"{SEAT.name}.sub.sub": [
                asks(ask),
                "TICKET-12 is open.",
                "TICKET-12, u_core/u_alu; call_77.",
            ],
            f"{SEAT.name}.sub": ["In short."],
        }
    )

    async def found(at: str) -> str:
        return f"{at}: net_5 has 14 faults"

    async with Agent(SEAT, provider=provider, tools=[tool(found)]) as agent:
        sub = await agent.open_sub("Look into LOT-9.", "It began with build_3.")
        inner = await sub.open_sub("Closer.")
        await inner.send("What of it?")
        closer = await sub.close_sub(inner)
        whole = await agent.close_sub(sub)
    assert closer.struck == ("TICKET-12", "call_77"), "it alone said so before"
    assert closer.text.endswith("Also named in the source: net_5")
    assert whole.text == "In short.\nAlso named in the source: LOT-9, build_3, u_core/u_alu, net_5"


def test_a_role_of_a_sub_conversation_sees_nothing_of_its_parent() -> None:
    from transom.agent.sub_agents import sub_role
    from transom.config.runtime_sections import ModelSeat

    role: Role = sub_role(SEAT, ModelSeat())
    assert not role.sees & SEAT.sees
    assert sub_role(SEAT, ModelSeat(), tokens=100).settings.max_tokens == 200, (
        "what is handed back is short"
    )
    assert sub_role(SEAT, ModelSeat(max_tokens=55), tokens=100).settings.max_tokens == 55
    assert role.settings.max_tokens <= SEAT.settings.max_tokens


MADE_UP = "The slack is 0.7777 in u_made/up_1, and 93 fail."


@pytest.mark.parametrize(
    "refused", [False, True], ids=["asks well", "is refused with its own words"]
)
async def test_what_a_delegate_without_sources_says_is_held_to_what_its_tools_yielded(
    refused: bool,
) -> None:
    async def slack(at: str) -> str:
        return "slack is 0.5 in u_core/alu_2, 14 fail"

    delegate = asks(ToolCallPart("9", "delegate", {"purpose": "Find the slack of lane_4."}))
    wrong = ToolCallPart("0", "u_made/up_1 0.7777 93", {}) if refused else look("b", "0")
    said = f"{MADE_UP} Of lane_4 it is 0.5, 14 fail."
    provider = by_role([delegate, "ok"], [asks(wrong, look("a", "1")), said])
    async with Agent(DELEGATING, provider=provider, tools=[tool(slack)]) as agent:
        assert (await agent.send("go")).text == "ok"
    told = came(provider.requests[-1])
    assert not any(word in told for word in ("0.7777", "u_made/up_1", "93"))
    assert "Of lane_4 it is 0.5, 14 fail." in told
    assert told.endswith("Also named in the source: u_core/alu_2")


async def test_a_number_that_a_sub_conversation_made_up_once_is_no_evidence_for_it() -> None:
    provider = by_role(["ok"], [MADE_UP, f"{MADE_UP} Lot_7 and bin_3 are bad."])
    async with Agent(SEAT, provider=provider) as agent:
        sub = await agent.open_sub("Look into lot_7.")
        await sub.send("What of Lot_7?", Block("background", "It is in bin_3."))
        summary = await agent.close_sub(sub)
    assert summary.struck == ("0.7777", "u_made/up_1", "93"), "what it was asked and given stays"


async def test_lines_that_stand_for_a_summary_have_nothing_that_was_made_up() -> None:
    provider = by_role(["ok"], [f"{MADE_UP}\nlot_7 is worse.", ProviderError("away")])
    async with Agent(SEAT, provider=provider) as agent:
        sub = await agent.open_sub("Look into lot_7.")
        await sub.send("How bad is it?")
        summary = await agent.close_sub(sub)
    assert (summary.by, "lot_7 is worse." in summary.text) == ("extract", True)
    assert "0.7777" not in summary.text and "u_made/up_1" not in summary.text


async def test_a_number_that_a_refusal_repeats_is_no_evidence_for_it() -> None:
    """The runtime says what it did not find; so a model could have had any number of its own
    said to it.
    """

    def find(request: Request) -> Reply:
        (name,) = set(re.findall(r"kept whole as (result-\w+)", sent(request)))
        return asks(
            ToolCallPart("f", "read_slice", {"source": name, "find": "slack 93.75 of u_made/up_1"})
        )

    provider = by_role(
        [asks(look("large")), "ok"],
        [find, "The slack is 93.75 in u_made/up_1; row 17 has 0.00017."],
    )
    small = Setup(provider, Settings.model_validate({"window": {"tokens": 30_000}}))
    async with Agent(DELEGATING, provider=small, tools=[tool(large)]) as agent:
        assert (await agent.send("go")).text == "ok"
    (refusal,) = [
        turn for turn in provider.requests[2].window.turns if isinstance(turn, ToolResults)
    ]
    assert "93.75" in refusal.results[0].content and refusal.results[0].is_error
    assert f"The slack is {STRUCK} in {STRUCK}; row 17 has 0.00017." in came(provider.requests[-1])


async def test_what_is_read_beside_a_large_result_may_be_named_too() -> None:
    provider = by_role(
        [asks(look("large")), "ok"],
        [asks(look("gate_8", "2")), "Row 17 has 0.00017; gate_8, gate_9."],
    )
    async with Agent(DELEGATING, provider=provider, tools=[tool(large)]) as agent:
        assert (await agent.send("go")).text == "ok"
    told = came(provider.requests[-1])
    assert "0.00017; gate_8, [struck" in told


async def test_a_number_of_seventeen_places_beside_a_stamp_of_milliseconds_is_only_looked_up() -> (
    None
):
    async def log(at: str) -> str:
        return "\n".join(
            f"{1_700_000_000_000 + number} {at} is {number / 10}" for number in range(4_000)
        )

    provider = by_role([asks(look("load")), "ok"], ["The mean of load is 0.30000000000000004."])
    async with Agent(DELEGATING, provider=provider, tools=[tool(log)]) as agent:
        assert (await agent.send("What is the mean?")).text == "ok"
    assert f"The mean of load is {STRUCK}." in came(provider.requests[-1])


@pytest.mark.slow
async def test_summaries_of_one_reply_take_together_what_one_may() -> None:
    async def each(at: str) -> str:
        return f"{at}\n{LARGE}"

    long = "\n".join(["Rows are fine."] * 20_000)
    provider = by_role([asks(*(look(at, at) for at in "abcd")), "ok"], [long] * 4)
    settings = Settings.model_validate({"window": {"tokens": 20_000}})
    async with Agent(DELEGATING, provider=Setup(provider, settings), tools=[tool(each)]) as agent:
        assert (await agent.send("Is it fine?")).text == "ok"
    last = provider.requests[-1].window.turns[-1]
    assert isinstance(last, ToolResults)
    sizes = [TokenCorrection().count(one.content) for one in last.results]
    # The bound is 15 % of the window by what was learned of the model meanwhile, which counts a
    # little less than this.
    assert len(sizes) == 4 and 2_000 < sum(sizes) <= 1.2 * 3_000


@pytest.mark.slow
@pytest.mark.parametrize("way", ["loop", "program"])
async def test_how_short_summaries_are_is_a_setting(way: str) -> None:
    """A summary as long as it likes is cut to the tokens of its source, divided by the ratio."""
    sizes = []
    for ratio in (5, 20):
        long = "\n".join(["Rows are fine."] * 20_000)
        settings = Settings.model_validate({"llm": {"sub_conversation": {"ratio": ratio}}})
        main: dict[str, list[Any]] = {
            "loop": [asks(look("large")), "ok"],
            "program": ["ok"],
        }
        sub = ["Fine.", long] if way == "program" else [long]
        role = SEAT if way == "program" else DELEGATING
        text = {"large": LARGE, "part": LARGE[:40_000]}

        async def part(at: str, text: dict[str, str] = text) -> str:
            return text[at]

        provider = by_role(main[way], sub)
        async with Agent(role, provider=Setup(provider, settings), tools=[tool(part)]) as agent:
            if way == "program":
                opened = await agent.open_sub("Is it fine?")
                await opened.send(LARGE[:40_000])
                sizes.append(len((await agent.close_sub(opened)).text))
            else:
                await agent.send("go")
                sizes.append(len(came(provider.requests[-1])))
    assert 3 < sizes[0] / sizes[1] < 5


@pytest.mark.parametrize("by", ["the loop", "the program"])
async def test_what_is_large_is_gone_through_once_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """The text may be outlined, or stand whole in the window that it is summed up from."""
    large = "\n".join(f"row_{number}: the ratio is 0.{number:05d}" for number in range(3_400))
    most, here = 100_000, threading.get_ident()
    assert most < len(large) < 120_000
    seen: list[tuple[str, bool]] = []

    def watch(module: Any, name: str) -> None:
        work = getattr(module, name)

        def watched(text: str, *more: Any) -> Any:
            if len(text) >= most:
                seen.append((name, threading.get_ident() == here))
            return work(text, *more)

        monkeypatch.setattr(module, name, watched)

    watch(facts, "_numbers_of")
    watch(oversized, "outline")

    async def whole(at: str) -> str:
        return large

    found = "row_17 has 0.00017, row_9999 0.9."

    main = ["ok"] if by == "the program" else [asks(look("a")), "ok"]
    provider = by_role(main, [found] * 2)
    async with Agent(DELEGATING, provider=provider, tools=[tool(whole)]) as agent:
        if by == "the program":
            sub = await agent.open_sub("Which?", large)
            await sub.send("Look.")
            assert "row_9999" in (await agent.close_sub(sub)).struck
        else:
            assert (await agent.send("go")).text == "ok"
            assert STRUCK in str(provider.requests[-1].window.turns)
    assert not [name for name, in_loop in seen if in_loop]
    assert [name for name, _ in seen].count("_numbers_of") == 1
    assert by == "the program" or provider.requests[1].window.blocks[-1].text == large, (
        "it had it whole"
    )
