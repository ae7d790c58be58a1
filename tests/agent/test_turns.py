"""A role with tools: calls in turns, results as journaled, the same conversation after any kill."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.tool_driver import TOOL_ROLE, EventLog, calls_of, walk
from tests.runs.helpers import Desk
from transom.agent import Answer, call
from transom.errors import OutOfTurns, Paused, ReplyError, RunError, ToolError, VisibilityError
from transom.llm import (
    AssistantMessage,
    Block,
    Opaque,
    Reply,
    Role,
    ScriptedProvider,
    Text,
    Tier,
    ToolCallPart,
    ToolResults,
    render,
)
from transom.runs import Stage, Workspace, text_file
from transom.store import SqliteStore
from transom.tools import Toolbox

ASK = [Block("task", "Look.", Tier.SESSION), Block("now", "today")]


def read(text: str) -> str:
    if not text.startswith("ok"):
        raise ReplyError("there is no ok")
    return text


class Talk:
    """One walk of one stage, with what was asked, executed and answered."""

    def __init__(self, tmp_path: Path, *script: ToolCallPart | str | Reply) -> None:
        self.provider = ScriptedProvider({TOOL_ROLE.name: list(script)})
        self.ledger = EventLog()
        self.desk = Desk(tmp_path, self.provider)
        self.workspace = Workspace.at(tmp_path / ".transom")

    async def answer(
        self,
        *,
        role: Role = TOOL_ROLE,
        max_turns: int = 5,
        blocks: Sequence[Block] = ASK,
        effect: str = "pure",
    ) -> Answer[str]:
        got: list[Answer[str]] = []
        box = Toolbox(self.ledger.tools(effect), max_turns=max_turns)
        role = replace(role, tools=box.specs) if role.tools else role

        async def stage(at: Stage) -> str:
            got.append(await call(at, role, blocks, read, tools=box))
            return got[0].value

        async with (
            SqliteStore.open(self.workspace.database) as store,
            await self.desk.open_run(self.workspace, store) as run,
        ):
            try:
                await run.stage("one", stage, out=text_file("one.md"), uses=[role])
            finally:
                self.journal = [record.kind for record in store.read(f"run/{run.id}")]
        return got[0]

    async def decide(self, answer: str) -> None:
        async with (
            SqliteStore.open(self.workspace.database) as store,
            await self.desk.open_run(self.workspace, store) as run,
        ):
            await run.decide(answer)


def asks(*calls: ToolCallPart, text: str = "") -> Reply:
    return Reply((Text(text), *calls, Opaque({"sig": "s"})), stop="tool_calls")


def look(at: str, ident: str = "1") -> ToolCallPart:
    return ToolCallPart(ident, "look", {"at": at})


async def test_calls_are_carried_out_in_turns_and_the_answer_tells_them(tmp_path: Path) -> None:
    talk = Talk(tmp_path, asks(look("a"), text="First."), asks(look("b")), "ok done")
    answer = await talk.answer()
    assert (answer.value, talk.ledger.carried_out) == ("ok done", ["a", "b"])
    assert [(made.arguments, came.content) for made, came in calls_of(answer)] == [
        ({"at": "a"}, "saw a"),
        ({"at": "b"}, "saw b"),
    ]
    assert answer.request.window.turns[0] == AssistantMessage(
        (Text("First."), look("a"), Opaque({"sig": "s"}))
    )
    assert talk.journal == [
        *(
            "opened",
            "started",
            "user_message",
            "model_reply",
            "tool_result",
            "model_reply",
            "tool_result",
            "model_reply",
        ),
        *("writing", "done"),
    ]


async def test_each_request_begins_with_the_bytes_of_the_one_before(tmp_path: Path) -> None:
    talk = Talk(tmp_path, asks(look("a")), asks(look("b")), "ok")
    await talk.answer()
    texts = [render(request).as_text() for request in talk.provider.requests]
    tail = "<now>\ntoday\n</now>"
    assert all(text.endswith(tail) for text in texts)
    kept = [text.removesuffix(tail) for text in texts]
    assert kept[1].startswith(kept[0])
    assert kept[2].startswith(kept[1])
    assert "<untrusted-" in texts[1]


async def test_calls_of_one_reply_are_carried_out_together_and_answered_in_order(
    tmp_path: Path,
) -> None:
    talk = Talk(tmp_path, asks(look("slow"), look("b"), look("c")), "ok")
    answer = await talk.answer()
    assert talk.ledger.carried_out == ["b", "c", "slow"]
    assert [came.content for _, came in calls_of(answer)] == ["saw slow", "saw b", "saw c"]
    assert len([turn for turn in answer.request.window.turns if isinstance(turn, ToolResults)]) == 1


async def test_what_is_wrong_with_a_call_goes_back_beside_the_others(tmp_path: Path) -> None:
    calls = asks(
        look("a"),
        ToolCallPart("2", "leap", {}),
        ToolCallPart("3", "look", {"on": 1}),
        look("break", "4"),
    )
    answer = await Talk(tmp_path, calls, "ok").answer()
    assert [(came.id, came.is_error) for _, came in calls_of(answer)] == [
        ("1", False),
        ("2", True),
        ("3", True),
        ("4", True),
    ]
    assert (
        json.loads(calls_of(answer)[3][1].content)["error"] == "the tool failed: ValueError: broken"
    )


async def test_turns_are_capped_with_one_last_request_that_says_so(tmp_path: Path) -> None:
    talk = Talk(tmp_path, *(asks(look(at)) for at in "abc"), "ok enough")
    answer = await talk.answer(max_turns=2)
    assert (answer.value, talk.ledger.carried_out) == ("ok enough", ["a", "b"])
    assert "used up" in calls_of(answer)[2][1].content
    assert "answer now" in render(talk.provider.requests[3]).as_text()


async def test_who_goes_on_calling_ends_with_the_work_so_far(tmp_path: Path) -> None:
    talk = Talk(tmp_path, *(asks(look(at), text=f"for {at}") for at in "abcd"))
    with pytest.raises(OutOfTurns, match="after its 2 turns") as caught:
        await talk.answer(max_turns=2)
    assert (caught.value.text, len(caught.value.turns)) == ("for d", 7)
    assert talk.ledger.carried_out == ["a", "b"]
    later = Talk(tmp_path, asks(look("d")), "ok after all")
    answer = await later.answer(max_turns=4)
    assert answer.value == "ok after all"
    assert later.ledger.carried_out == ["d"], (
        "what was paid for is not asked again; what was refused stays refused"
    )


async def test_a_reply_that_cannot_be_read_is_asked_for_again_with_what_was_found(
    tmp_path: Path,
) -> None:
    talk = Talk(tmp_path, asks(look("a")), "hm", asks(look("b")), "ok")
    answer = await talk.answer()
    assert (answer.value, len(talk.provider.requests)) == ("ok", 4)
    assert [len(request.window.turns) for request in talk.provider.requests] == [0, 2, 2, 4]
    assert [bool(request.window.text("retry")) for request in talk.provider.requests] == [
        False,
        False,
        True,
        True,
    ]


async def test_half_a_call_is_not_carried_out(tmp_path: Path) -> None:
    cut = Reply((look("a"),), stop="length")
    talk = Talk(tmp_path, cut, "ok")
    assert (await talk.answer()).value == "ok"
    assert talk.ledger.carried_out == []


async def test_a_role_without_tools_that_calls_one_is_told_so(tmp_path: Path) -> None:
    plain = Role(TOOL_ROLE.name, TOOL_ROLE.prompt, TOOL_ROLE.sees)
    talk = Talk(tmp_path, asks(look("a")), "ok")
    with pytest.raises(ToolError, match=r"declares the tools \[\] and is given \[look\]"):
        await talk.answer(role=plain)
    got: list[Answer[str]] = []

    async def stage(at: Stage) -> str:
        got.append(await call(at, plain, ASK, read))
        return got[0].value

    async with (
        SqliteStore.open(talk.workspace.database) as store,
        await talk.desk.open_run(talk.workspace, store) as r,
    ):
        await r.stage("two", stage, out=text_file("two.md"), uses=[plain])
    assert "there are no tools" in calls_of(got[0])[0][1].content


async def test_a_foreign_block_is_refused_with_tools_too(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "ok")
    with pytest.raises(VisibilityError, match="block secret"):
        await talk.answer(blocks=[*ASK, Block("secret", "x")])
    assert talk.provider.requests == []


async def test_a_tool_that_must_not_run_twice_waits_for_a_person(tmp_path: Path) -> None:
    first = Talk(tmp_path, asks(look("lost")))
    with pytest.raises(RunError, match="killed here"):
        await first.answer(effect="once")
    assert first.journal.count("tool_started") == 1
    for _ in range(2):
        with pytest.raises(Paused, match=r"tool look was begun.*transom answer .* keep"):
            await Talk(tmp_path).answer(effect="once")
    again = Talk(tmp_path)
    await again.decide("redo")
    with pytest.raises(RunError, match="killed here"):
        await again.answer(effect="once")
    with pytest.raises(Paused, match="tool look was begun"):
        await Talk(tmp_path).answer(effect="once")
    last = Talk(tmp_path, "ok")
    await last.decide("keep")
    answer = await last.answer(effect="once")
    assert (answer.value, last.ledger.carried_out) == ("ok", [])
    assert "was carried out" in calls_of(answer)[0][1].content


@pytest.mark.parametrize("effect", ["pure", "idempotent"])
async def test_a_tool_that_may_run_again_is_not_asked_about(tmp_path: Path, effect: str) -> None:
    with pytest.raises(RunError, match="killed here"):
        await Talk(tmp_path, asks(look("lost"))).answer(effect=effect)
    again = Talk(tmp_path, "ok")
    again.ledger.killing = False
    assert (await again.answer(effect=effect)).value == "ok"
    assert again.ledger.carried_out == ["lost"]


def journal(work: Path) -> tuple[list[str], int]:
    """The requests and calls of the journal, as the log has them, and the number of records."""

    async def records() -> list[Any]:
        async with SqliteStore.open(work / "w" / "state.db") as store:
            return [record for stream in store.streams("run/") for record in store.read(stream)]

    found = asyncio.run(records())
    replies = [
        f"asked after {2 * record.data['ordinal']}"
        for record in found
        if record.kind == "model_reply"
    ]
    tools = [
        f"did {record.data['outcome']['note']['at']}"
        for record in found
        if record.kind == "tool_result"
    ]
    return replies + tools, len(found)


@pytest.mark.slow
@pytest.mark.fence
def test_after_a_kill_anywhere_nothing_journaled_is_asked_or_carried_out_again(
    tmp_path: Path,
) -> None:
    whole = tmp_path / "0"
    whole.mkdir()
    assert walk(whole, 0) == 0
    asked = (whole / "log.txt").read_text().splitlines()
    answer = (whole / "answer.txt").read_text()
    appends = journal(whole)[1]
    assert sorted(journal(whole)[0]) == sorted(asked)
    assert (len(asked), len(answer.splitlines()), appends) == (7, 5, 13)
    for failpoint in range(1, appends + 1):
        work = tmp_path / str(failpoint)
        work.mkdir()
        status = walk(work, failpoint)
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, failpoint
        kept, _ = journal(work)
        (work / "log.txt").unlink(missing_ok=True)
        assert walk(work, 0) == 0
        log = work / "log.txt"
        again = log.read_text().splitlines() if log.exists() else []
        assert sorted(kept + again) == sorted(asked), failpoint
        assert (work / "answer.txt").read_text() == answer, failpoint
