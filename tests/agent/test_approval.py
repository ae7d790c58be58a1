"""A person's leave for a tool call: typed, kept over JSON and restarts, given in the program or
at the command line.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT, approve, asks, look, resumed, scripted, tool
from tests.forked import attempt
from transom import SubAgent
from transom.agent import Agent, Budget, Home
from transom.cli import main
from transom.errors import InputError, Paused, RunError, Unanswered
from transom.llm import Role, ScriptedProvider, ToolCallPart, ToolResults
from transom.runs import Workspace


class Mail:
    """A program that may send something, if a person lets it."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = Home(tmp_path / ".transom", "mail")
        self.sent: list[str] = []
        self.told: list[str] = []

    async def run(self, *answers: Any) -> str:
        async def send(at: str) -> str:
            self.sent.append(at)
            return f"sent to {at}"

        provider = scripted(*answers)
        tools = [tool(), tool(send, name="send", effect="once", needs_approval=True)]
        async with Agent(SEAT, provider=provider, tools=tools, at=self.home) as agent:
            text = (await agent.send("go")).text
            self.told = [one.content for message in agent.history() for one in message.tool_results]
        return text

    async def decide(self, answer: str, paused: Paused, by: str = "", reason: str = "") -> None:
        assert paused.question
        question = json.loads(json.dumps(paused.question))
        async with Agent(SEAT, provider=scripted(), at=self.home) as agent:
            await agent.decide(answer, question["fingerprint"], reason, by=by)


async def waiting(mail: Mail) -> Paused:
    with pytest.raises(
        Paused, match=r"tool send needs a person's approval.*transom answer .* approve"
    ) as caught:
        await mail.run(asks(look("a"), look("bob", "2", "send")))
    return caught.value


async def test_it_survives_json_and_a_restart(tmp_path: Path) -> None:
    mail = Mail(tmp_path)
    paused = await waiting(mail)
    assert paused.question and (paused.question["tool"], paused.question["arguments"]) == (
        "send",
        '{"at":"bob"}',
    )
    with pytest.raises(Paused):
        await mail.run()
    assert mail.sent == []
    await mail.decide("approve", paused, "ann", "she knows bob")
    assert await mail.run("ok") == "ok"
    assert (mail.sent, mail.told) == (["bob"], ["saw a", "sent to bob"])
    assert await mail.run() == "ok"
    assert mail.sent == ["bob"]


@pytest.mark.parametrize(("by", "who"), [("ann", "ann"), ("", "a person")])
async def test_who_is_refused_goes_on_without(tmp_path: Path, by: str, who: str) -> None:
    mail = Mail(tmp_path)
    await mail.decide("refuse", await waiting(mail), by, "not to bob")
    assert await mail.run("ok") == "ok"
    assert mail.sent == []
    told = json.loads(mail.told[1])
    assert told == {
        "error": f"{who} refused this call: not to bob",
        "hint": "do not make it again; go on without it",
    }


async def test_leave_is_for_one_call(tmp_path: Path) -> None:
    mail = Mail(tmp_path)
    await mail.decide("approve", await waiting(mail))
    with pytest.raises(Paused):
        await mail.run(asks(look("eve", "3", "send")))
    assert mail.sent == ["bob"]


async def test_the_very_same_call_made_again_is_a_question_of_its_own(tmp_path: Path) -> None:
    sent: list[str] = []

    async def send(at: str) -> str:
        sent.append(at)
        return f"sent to {at}"

    again = asks(look("bob", "1", "send"), look("bob", "2", "send"))
    provider = scripted(asks(look("bob", "1", "send")), again, "ok")
    asking = tool(send, name="send", needs_approval=True, fresh=True)
    questions: list[str] = []
    async with Agent(
        SEAT, provider=provider, tools=[asking], at=Home(tmp_path / ".transom", "mail")
    ) as agent:
        going = agent.send("go")
        while len(questions) < 4:
            try:
                assert (await going).text == "ok"
                break
            except Paused as error:
                assert len(sent) == len(questions), "nothing is sent without leave of its own"
                assert error.question
                questions.append(error.question["fingerprint"])
                await approve(agent, error)
                going = resumed(agent)
    assert (len({*questions}), sent) == (3, ["bob"] * 3)


@pytest.mark.parametrize("once", [True, False], ids=["must not run twice", "may run twice"])
async def test_a_message_that_takes_its_place_is_logged_and_the_model_is_told_the_truth(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, once: bool
) -> None:
    home, sent = Home(tmp_path / ".transom", "mail"), list[str]()

    async def send(at: str) -> str:
        sent.append(at)
        return f"sent to {at}"

    effect = "once" if once else "idempotent"
    tools = [tool(), tool(send, name="send", effect=effect, needs_approval=True)]
    provider = scripted(asks(look("a", "1"), look("bob", "2", "send")), "all right")
    async with Agent(SEAT, provider=provider, tools=tools, at=home) as agent:
        with pytest.raises(Paused):
            await agent.send("go", id="1")
    assert "waited" not in caplog.text
    async with Agent(SEAT, provider=provider, tools=tools, at=home) as agent:
        with pytest.raises(Paused):
            await agent.resume()
        assert (await agent.send("never mind", id="2")).text == "all right"
        window = provider.requests[-1].window
        (turn,) = [turn for turn in window.turns if isinstance(turn, ToolResults)]
        assert turn.results[0].content == "saw a"
        given_up = "the call was not carried out: it waited for a person to decide, and another"
        assert json.loads(turn.results[1].content) == {"error": f"{given_up} message came first"}
        with pytest.raises(
            InputError, match="waits for no answer; it has its answer, or another m"
        ):
            await agent.decide("approve")
        with pytest.raises(Unanswered, match="Paused: tool send needs a person's approval"):
            await agent.send("go", id="1")
    assert "main: a call waited for a person; a new message takes its place" in caplog.text
    assert sent == []


async def test_without_a_home_it_is_answered_in_the_program(tmp_path: Path) -> None:
    asking = tool(name="send", needs_approval=True)
    provider = scripted(asks(look("bob", "1", "send")), "ok")
    async with Agent(SEAT, provider=provider, tools=[asking]) as agent:
        with pytest.raises(
            Paused, match=r"call agent.decide\(...\) and agent.resume\(\) before"
        ) as caught:
            await agent.send("go")
        assert "transom answer" not in str(caught.value)


async def test_in_one_process_too(tmp_path: Path) -> None:
    provider = scripted(asks(look("bob", "1", "send")), "ok")
    asking = tool(name="send", needs_approval=True)
    async with Agent(SEAT, provider=provider, tools=[asking]) as agent:
        with pytest.raises(Paused) as caught:
            await agent.send("go")
        await approve(agent, caught.value)
        assert (await resumed(agent)).text == "ok"


@pytest.mark.parametrize(("answer", "sent"), [("approve", ["bob"]), ("refuse", [])])
def test_at_the_command_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    sent: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    mail = Mail(tmp_path)
    request = asyncio.run(waiting(mail))
    assert main(["answer", request.run_id, "keep"]) == 2
    assert "answer with one of 1: approve; 2: refuse" in capsys.readouterr().err
    assert main(["runs", "show", request.run_id]) == 0
    assert f"answer with: transom answer {request.run_id} --question " in capsys.readouterr().out
    assert main(["answer", request.run_id, answer, "--reason", "because"]) == 0
    again = "to continue, start the program that began it again; it resumes at the same point"
    assert capsys.readouterr().out.endswith(f"; {again}\n"), (
        "what `transom resume` would only say, too"
    )
    assert main(["resume", request.run_id]) == 2
    assert again in capsys.readouterr().err
    assert asyncio.run(mail.run("ok")) == "ok"
    assert mail.sent == sent
    assert ("because" in mail.told[1]) == (answer == "refuse")


async def test_an_answer_counts_for_what_was_asked_and_for_nothing_else(tmp_path: Path) -> None:
    mail, other = Mail(tmp_path / "a"), Mail(tmp_path / "b")
    request = await waiting(mail)
    other.home = Home(other.home.workspace, "other")
    await waiting(other)
    with pytest.raises(InputError, match="waits for no answer"):
        await other.decide("approve", request)
    with pytest.raises(
        InputError, match=r"'keep' is no answer to send.*answer with one of 1: approve; 2: refuse"
    ):
        await mail.decide("keep", request)
    await mail.decide("approve", request)
    with pytest.raises(InputError, match="waits for no answer"):
        await mail.decide("refuse", request)
    assert await mail.run("ok") == "ok"


@pytest.mark.parametrize("again", [False, True], ids=["same life", "resumed"])
async def test_arguments_made_of_local_text_are_shown_to_whoever_decides_and_to_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], again: bool
) -> None:
    async def secret(at: str) -> str:
        return f"{at} is HUSH-9471"

    home = Home(tmp_path / ".transom", "mail")
    tools = [tool(secret, egress="local"), tool(name="send", needs_approval=True)]
    run_id, script = "", [asks(look("pin")), asks(look("pin HUSH-9471", "2", "send")), "ok"]
    for answers in [script, []][: 1 + again]:
        async with Agent(SEAT, provider=scripted(*answers), tools=tools, at=home) as agent:
            with pytest.raises(
                Paused, match=r"the call is send\(\.\.\.\), in full: transom runs show"
            ) as caught:
                await agent.send("go")
            assert "HUSH" not in str(caught.value)
            question, run_id = caught.value.question, caught.value.run_id
            assert question and question["arguments"] == '{"at":"pin HUSH-9471"}'
    monkeypatch.chdir(tmp_path)
    assert await asyncio.to_thread(main, ["answer", run_id, "keep"]) == 2
    assert "HUSH" not in capsys.readouterr().err
    assert await asyncio.to_thread(main, ["runs", "show", run_id]) == 0
    assert "HUSH-9471" in capsys.readouterr().out
    traces = list((tmp_path / ".transom" / "traces").glob("*.jsonl"))
    assert traces and not any("HUSH" in trace.read_text() for trace in traces)


def _answer_in(turns: Any) -> list[str]:
    return [
        result.content for turn in turns if isinstance(turn, ToolResults) for result in turn.results
    ]


@pytest.mark.parametrize("nested", [False, True], ids=["own", "of a sub-agent"])
@pytest.mark.parametrize("effect", ["once", "pure"])
async def test_an_approved_call_is_made_before_another_message_is_taken(
    tmp_path: Path, effect: str, *, nested: bool
) -> None:
    home, sent = Home(tmp_path / ".transom", "mail"), list[str]()

    async def send(at: str) -> str:
        sent.append(at)
        return f"sent to {at}"

    asking: Any = tool(send, name="send", effect=effect, needs_approval=True)
    own = [asks(look("bob", "1", "send")), "it is sent"]
    script: dict[str, list[Any]] = {SEAT.name: [*own, "later"]}
    if nested:
        asking = SubAgent(Role("post", "You send."), "post", "Sends.", [asking])
        call = asks(ToolCallPart("7", "post", {"task": "to bob"}))
        script = {SEAT.name: [call, "it is sent", "later"], "post": own}
    provider = ScriptedProvider(script)
    async with Agent(SEAT, provider=provider, tools=[asking], at=home) as agent:
        with pytest.raises(Paused):
            await agent.send("go", id="1")
        await agent.decide("approve", by="ann")
        for _ in range(2):
            with pytest.raises(
                RunError, match=r"ann said 'approve' to a call of send.*resume"
            ) as caught:
                await agent.send("and now?", id="2")
            assert "bob" not in str(caught.value)
        assert sent == []
    # Also in a later process.
    async with Agent(SEAT, provider=provider, tools=[asking], at=home) as agent:
        with pytest.raises(RunError, match="call resume"):
            await agent.send("and now?", id="2")
        assert (await resumed(agent)).text == "it is sent"
        assert (await agent.send("and now?", id="2")).text == "later"
    assert sent == ["bob"]


@pytest.mark.parametrize("budget", [Budget(tokens=1), Budget(seconds=1e-9)])
async def test_an_approval_outlives_a_try_that_ended_before_the_call(
    tmp_path: Path, budget: Budget
) -> None:
    home, sent = Home(tmp_path / ".transom", "mail"), list[str]()

    async def send(at: str) -> str:
        sent.append(at)
        return f"sent to {at}"

    asking = tool(send, name="send", effect="once", needs_approval=True)
    provider = scripted(asks(look("bob", "1", "send")), "it is sent", "later")
    async with Agent(SEAT, provider=provider, tools=[asking], at=home) as agent:
        with pytest.raises(Paused):
            await agent.send("go", id="1")
        await agent.decide("approve", by="ann")
        agent.budget = budget
        await agent.resume()
    assert sent == []
    async with Agent(SEAT, provider=provider, tools=[asking], at=home) as agent:
        with pytest.raises(RunError, match=r"ann said 'approve' to a call of send.*resume"):
            await agent.send("and now?", id="2")
        assert (await resumed(agent)).text == "it is sent"
        assert (await agent.send("and now?", id="2")).text == "later"
    assert sent == ["bob"]


async def test_an_approval_holds_if_a_kill_followed_the_question(tmp_path: Path) -> None:
    home = Home(tmp_path / ".transom", "mail")
    asking = tool(name="send", effect="once", needs_approval=True)

    def kill_at_question(number: int) -> None:
        with closing(sqlite3.connect(tmp_path / ".transom" / "state.db")) as connection:
            query = "SELECT kind FROM records WHERE seq = ?"
            if connection.execute(query, (number,)).fetchone() == ("paused",):
                os.kill(os.getpid(), signal.SIGKILL)

    async def ask() -> None:
        workspace = Workspace.at(tmp_path / ".transom")
        store = workspace.open_store(after_append=kill_at_question)
        own = Home(tmp_path / ".transom", "mail", store)
        provider = scripted(asks(look("bob", "1", "send")))
        async with Agent(SEAT, provider=provider, tools=[asking], at=own) as agent:
            await agent.send("go", id="1")

    assert attempt(lambda: asyncio.run(ask())) == signal.SIGKILL
    async with Agent(SEAT, provider=scripted("all right"), tools=[asking], at=home) as agent:
        await agent.open()
        await agent.decide("approve", by="ann")
        with pytest.raises(RunError, match="call resume"):
            await agent.send("and now?", id="2")


async def test_a_refusal_reaches_the_model_though_another_message_follows(tmp_path: Path) -> None:
    home = Home(tmp_path / ".transom", "mail")
    asking = tool(name="send", effect="once", needs_approval=True)
    provider = scripted(asks(look("bob", "1", "send"), look("eve", "2", "send")), "all right")
    async with Agent(SEAT, provider=provider, tools=[asking], at=home) as agent:
        with pytest.raises(Paused) as caught:
            await agent.send("go", id="1")
        assert caught.value.question
        await agent.decide("refuse", caught.value.question["fingerprint"], "not him", by="ann")
        assert (await agent.send("what else?", id="2")).text == "all right"
    first, second = map(json.loads, _answer_in(provider.requests[-1].window.turns))
    assert first["error"] == "ann refused this call: not him"
    assert second["error"].startswith("the call was not carried out: it waited for a person")
    async with Agent(SEAT, provider=scripted("again"), tools=[asking], at=home) as agent:
        assert (await agent.send("what else?", id="2")).text == "all right"
        told = [one.content for message in agent.history() for one in message.tool_results]
    assert json.loads(told[0]) == first


async def test_a_sub_conversation_is_not_closed_over_an_approved_call(tmp_path: Path) -> None:
    asking = tool(name="send", effect="once", needs_approval=True)
    provider = ScriptedProvider(
        {
            SEAT.name: [asks(look("bob", "1", "send")), "it is sent"],
            f"{SEAT.name}.sub": ["seen", "in short"],
        }
    )
    async with Agent(
        SEAT, provider=provider, tools=[asking], at=Home(tmp_path / ".transom", "mail")
    ) as agent:
        sub = await agent.open_sub("look at it")
        await sub.send("well?")
        with pytest.raises(Paused):
            await agent.send("go")
        await agent.decide("approve")
        with pytest.raises(RunError, match="a person said 'approve' to a call of send"):
            await agent.close_sub(sub)
        assert (await resumed(agent)).text == "it is sent"
        assert (await agent.close_sub(sub)).text == "in short"


async def test_a_message_that_went_on_and_was_stopped_may_be_followed(tmp_path: Path) -> None:
    """Its call may have been made, so the model is told that, and nothing more is kept from it."""
    begun = asyncio.Event()

    async def send(at: str) -> str:
        begun.set()
        await asyncio.sleep(60)
        return at

    asking = tool(send, name="send", effect="pure", needs_approval=True)
    provider = scripted(asks(look("bob", "1", "send")), "all right")
    async with Agent(
        SEAT, provider=provider, tools=[asking], at=Home(tmp_path / ".transom", "mail")
    ) as agent:
        with pytest.raises(Paused):
            await agent.send("go")
        await agent.decide("approve")
        message = asyncio.create_task(agent.resume())
        await begun.wait()
        message.cancel()
        with pytest.raises(asyncio.CancelledError):
            await message
        assert (await agent.send("never mind")).text == "all right"
    assert "it may have been carried out" in _answer_in(provider.requests[-1].window.turns)[0]
