"""Several calls that wait for a person: the one that is shown is the one that is answered."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import AT, SEAT, approve, asks, look, scripted
from transom.agent import Agent, Home
from transom.cli import main
from transom.errors import InputError, Paused
from transom.llm import Chain, Reply, Request, ScriptedProvider, ToolCallPart
from transom.runs import Run, Stage, Workspace, text_file
from transom.runs.journal import fold
from transom.tools import Arguments, ToolDefinition

BOTH = asks(look("rent", "1", "wire"), look("mallory", "2", "wire"))


class Bank:
    """A program that pays, where a person lets it; each of its lives is a process of its own."""

    def __init__(self, folder: Path, *, leave: bool = True) -> None:
        self.at, self.paid, self.leave = Home(folder / ".transom", "bank"), list[str](), leave
        self.begun: asyncio.Semaphore | None = None

    def tools(self) -> list[ToolDefinition]:
        async def wire(arguments: Arguments) -> str:
            if self.begun:
                self.begun.release()
                await asyncio.sleep(600)
            self.paid.append(str(arguments["at"]))
            return "wired"

        return [
            ToolDefinition("wire", "Wires.", AT, wire, effect="once", needs_approval=self.leave)
        ]

    async def life(self, *answers: Any) -> str:
        async with Agent(
            SEAT, provider=scripted(*answers), tools=self.tools(), at=self.at
        ) as agent:
            return (await agent.send("pay the rent")).text

    async def life_of_two(self) -> list[str]:
        """Two sub-conversations pay side by side; calls of one reply would run one by one."""

        def answer(request: Request) -> str | Reply:
            purpose = next(block.text for block in request.window.blocks if block.name == "purpose")
            return asks(look(purpose, "1", "wire")) if len(request.window.turns) == 1 else "ok"

        async with Agent(
            SEAT, provider=ScriptedProvider(answer), tools=self.tools(), at=self.at
        ) as agent:
            payers = [await agent.open_sub(payee) for payee in ("rent", "mallory")]
            responses = await asyncio.gather(
                *[payer.send("pay") for payer in payers], return_exceptions=True
            )
        texts: list[str] = []
        for response in responses:
            if isinstance(response, BaseException):
                raise response
            texts.append(response.text)
        return texts

    async def killed(self) -> None:
        """A life of two that ends in the middle of both calls."""
        self.begun = asyncio.Semaphore(0)
        task = asyncio.create_task(self.life_of_two())
        for _ in range(2):
            await self.begun.acquire()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        self.begun = None


def paused(bank: Bank, *answers: Any) -> Paused:
    return pause_of(bank.life(*answers))


def pause_of(life: Coroutine[Any, Any, Any]) -> Paused:
    with pytest.raises(Paused) as caught:
        asyncio.run(life)
    return caught.value


def commands(error: Exception) -> list[list[str]]:
    """The commands that an error names, as somebody would type them."""
    found = re.search(r"transom answer (\S+) --question (\w+) (\w+) \(or: (\w+)\)", str(error))
    assert found, error
    return [["answer", found[1], word, "--question", found[2]] for word in (found[3], found[4])]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_call_that_was_shown_is_the_one_that_is_approved(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bank = Bank(here)
    shown = paused(bank, BOTH)
    assert 'the call is wire({"at":"rent"})' in str(shown)
    approve, refuse = commands(shown)
    assert (approve[2], refuse[2]) == ("approve", "refuse")
    assert main(approve) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        'approve wire({"at":"rent"}); waiting for an answer, too: wire({"at":"mallory"})'
        " (--question "
    )
    other = paused(bank)
    assert bank.paid == ["rent"]
    assert 'the call is wire({"at":"mallory"})' in str(other)
    assert main(commands(other)[1]) == 0
    assert capsys.readouterr().out.startswith(
        'refuse wire({"at":"mallory"}); to continue, start the program'
    )
    assert asyncio.run(bank.life("ok")) == "ok"
    assert bank.paid == ["rent"]


@pytest.mark.parametrize("word", ["approve", "refuse", "keep", "redo"])
def test_an_answer_that_could_be_to_either_is_to_neither(
    here: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    bank = Bank(here)
    run = paused(bank, BOTH).run_id
    assert main(["answer", run, word]) == 2
    error = capsys.readouterr().err
    assert "2 answers are waited for" in error
    assert re.search(
        r'--question \w{8}: wire\(\{"at":"rent"\}\); --question \w{8}: wire\(\{"at":"mallory"\}\);',
        error,
    )
    for call in ("0" * 8, "a"):
        assert main(["answer", run, word, "--question", call]) == 2
        assert "waits for no answer" in capsys.readouterr().err
    paused(bank)
    assert bank.paid == []


@pytest.mark.slow
def test_all_that_wait_are_shown_whole_and_each_by_itself(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bank, long = Bank(here), "x" * 2_000 + " and the rest to mallory"
    error = paused(bank, asks(look(long, "1", "wire"), look("rent", "2", "wire")))
    assert "mallory" not in str(error) and f"in full: transom runs show {error.run_id}" in str(
        error
    )
    assert main(["runs", "show", error.run_id]) == 0
    text = capsys.readouterr().out
    assert (
        f'May this tool call be carried out? wire({{"at":"{long}"}}) (in conversation/main)' in text
    )
    for word in ("approve", "refuse"):
        assert main(["answer", error.run_id, word]) == 2
        assert "... (2,0" in capsys.readouterr().err, "what is cut says so"
    assert main(["runs", "show", error.run_id, "--format", "json"]) == 0
    one, two = json.loads(capsys.readouterr().out)["waiting"]
    assert (one["tool"], two["arguments"]) == ("wire", '{"at":"rent"}')
    assert (
        f"answer with: transom answer {error.run_id} --question {two['fingerprint'][:8]} approve"
        " (or: refuse)\n" in text
    )
    answered = [
        "answer",
        error.run_id,
        "approve",
        "--question",
        two["fingerprint"],
        "--format",
        "json",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "transom", *answered], capture_output=True, check=True
    )
    assert json.loads(done.stdout)["call"] == {
        name: two[name] for name in ("tool", "arguments", "fingerprint")
    }
    assert main(["runs", "show", error.run_id, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["status"], [left["fingerprint"] for left in found["waiting"]]) == (
        "paused",
        [one["fingerprint"]],
    )


def test_of_two_calls_that_were_begun_each_has_its_own_answer(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bank = Bank(here, leave=False)
    asyncio.run(bank.killed())
    error = pause_of(bank.life_of_two())
    assert "was begun" in str(error) and 'the call is wire({"at":"rent"})' in str(error)
    keep, redo = commands(error)
    assert main(["answer", error.run_id, "redo"]) == 2
    assert "2 answers are waited for" in capsys.readouterr().err
    assert main(["runs", "show", error.run_id]) == 0
    assert (
        'This call was begun; was it carried out? wire({"at":"mallory"})' in capsys.readouterr().out
    )
    assert main(keep) == 0
    assert capsys.readouterr().out.startswith(
        'keep wire({"at":"rent"}); waiting for an answer, too: wire('
    )
    other = pause_of(bank.life_of_two())
    assert 'the call is wire({"at":"mallory"})' in str(other)
    assert main(redo) == 2, "that one has its answer"
    assert main(commands(other)[1]) == 0
    assert asyncio.run(bank.life_of_two()) == ["ok", "ok"]
    assert bank.paid == ["mallory"]


def test_a_call_that_was_given_up_waits_for_nobody(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Leave for it would be taken, and nothing would come of it."""
    bank = Bank(here)

    async def life(*answers: Any) -> str:
        async with Agent(
            SEAT, provider=scripted(*answers), tools=bank.tools(), at=bank.at
        ) as agent:
            with pytest.raises(Paused) as caught:
                await agent.send("pay the rent")
            assert (await agent.send("never mind")).text == "ok"
            return caught.value.run_id

    run = asyncio.run(life(BOTH, "ok"))
    assert main(["answer", run, "approve"]) == 2
    assert "this run waits for no answer" in capsys.readouterr().err
    assert main(["runs", "show", run]) == 0
    assert "waits for" not in capsys.readouterr().out
    assert bank.paid == []


@pytest.mark.parametrize("opened", [True, False], ids=["by the program", "by a call"])
async def test_what_waits_inside_waits_as_long_as_somebody_waits_for_it(
    tmp_path: Path, opened: bool
) -> None:
    bank = Bank(tmp_path)
    delegates = asks(ToolCallPart("1", "delegate", {"purpose": "pay"}))
    said: list[str | Reply] = ["ok"] if opened else [delegates, "ok"]
    provider = ScriptedProvider({SEAT.name: said, f"{SEAT.name}.sub": [BOTH]})
    role = replace(SEAT, strategy="sub_conversation")
    async with Agent(role, provider=provider, tools=bank.tools(), at=bank.at) as agent:
        with pytest.raises(Paused) as caught:
            if opened:
                sub = await agent.open_sub("pay")
                await sub.send("go")
            await agent.send("go")
        assert (await agent.send("never mind")).text == "ok"
    async with Workspace.at(bank.at.workspace).open_store() as store:
        state = fold(store.read(f"run/{caught.value.run_id}"))
    assert [one["arguments"] for one in state.waiting.values()] == [
        '{"at":"rent"}',
        '{"at":"mallory"}',
    ] * opened


async def test_agents_of_one_stage_and_their_sub_conversations_wait_beside_each_other(
    tmp_path: Path,
) -> None:
    bank = Bank(tmp_path)

    def answer(request: Request) -> str | Reply:
        said = next(turn for turn in request.window.turns if hasattr(turn, "text"))
        return asks(look(said.text, "1", "wire")) if len(request.window.turns) == 1 else "ok"

    async def both(stage: Stage) -> str:
        async def one(who: str) -> None:
            async with Agent(SEAT, at=stage.named(who), tools=bank.tools()) as agent:
                if who == "sub":
                    sub = await agent.open_sub("pay")
                    await sub.send("from inside")
                else:
                    await agent.send(who)

        came = await asyncio.gather(
            *(one(who) for who in ("ann", "bob", "sub")), return_exceptions=True
        )
        for error in came:
            if isinstance(error, BaseException):
                raise error
        return "all paid"

    async def walk(decide: str | None = None) -> str:
        workspace = Workspace.at(tmp_path / ".transom")
        chain = Chain((ScriptedProvider(answer),))
        async with workspace.open_store() as store:
            run = await Run.open(
                "test", {}, name="x", workspace=workspace, store=store, chain=chain
            )
            async with run:
                if decide:
                    waiting = {
                        one["arguments"]: one["fingerprint"] for one in run.state.waiting.values()
                    }
                    assert len(waiting) == {"ann": 3, "bob": 1, "from inside": 2}[decide]
                    call = waiting[f'{{"at":"{decide}"}}'][:8]
                    if len(waiting) > 1:
                        with pytest.raises(InputError, match="answers are waited for"):
                            await run.decide("approve", "pay")
                    assert (await run.decide("approve", call))["tool"] == "wire"
                return (await run.stage("pay", both, out=text_file("pay.md"))).value

    with pytest.raises(Paused):
        await walk()
    for number, who in enumerate(["ann", "from inside"], 1):
        with pytest.raises(Paused) as caught:
            await walk(who)
        assert len(bank.paid) == number and bank.paid[-1] == who
        assert caught.value.question and caught.value.question["kind"] == "approval"
        assert caught.value.question["arguments"] not in [
            f'{{"at":"{paid}"}}' for paid in bank.paid
        ]
    assert await walk("bob") == "all paid"
    assert sorted(bank.paid) == ["ann", "bob", "from inside"]


async def test_leave_is_given_where_the_call_was_asked_for_whoever_gives_it(tmp_path: Path) -> None:
    """An agent in another stage of the run knows the question, too."""
    bank = Bank(tmp_path)

    async def paying(stage: Stage) -> str:
        async with Agent(SEAT, at=stage, tools=bank.tools()) as agent:
            return (await agent.send("pay")).text

    workspace, chain = (
        Workspace.at(tmp_path / ".transom"),
        Chain((scripted(asks(look("rent", "1", "wire")), "ok"),)),
    )
    async with workspace.open_store() as store:
        run = await Run.open("test", {}, name="x", workspace=workspace, store=store, chain=chain)
        async with run:
            with pytest.raises(Paused) as caught:
                await run.stage("pay", paying, out=text_file("pay.md"))

            async def deciding(stage: Stage) -> str:
                async with Agent(SEAT, at=stage) as agent:
                    await approve(agent, caught.value)
                return "decided"

            await run.stage("ask", deciding, out=text_file("ask.md"))
            assert run.state.waiting == {}, "nobody is asked again"
