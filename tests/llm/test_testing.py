"""The helpers for users' tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from transom import Agent
from transom.errors import InputError, ProviderError
from transom.llm import Block, Reply, Request, Text, ToolCallPart, ToolResults, Window
from transom.llm.naming import imported
from transom.testing import ScriptedProvider, asks, assert_hidden, assert_sees

REQUEST = Request("my.role", Window((Block("task", "add"), Block("log", "secret 1"))))


async def test_a_scripted_provider_keeps_what_it_was_asked() -> None:
    provider = ScriptedProvider({"my.role": ["one"]})
    assert (await provider.complete(REQUEST)).text == "one"
    assert provider.requests == [REQUEST]


def test_what_a_call_saw_is_asserted_exactly() -> None:
    assert_sees(REQUEST, "log", "task")
    with pytest.raises(AssertionError, match=r"missing \['plan'\], too many \['log'\]"):
        assert_sees(REQUEST, "task", "plan")


def test_a_text_that_must_not_be_sent_is_found_with_its_block() -> None:
    assert_hidden(REQUEST, "password")
    with pytest.raises(AssertionError, match=r"'secret' is in \['log'\]"):
        assert_hidden(REQUEST, "password", "secret")
    with pytest.raises(AssertionError, match="the frame of a block"):
        assert_hidden(REQUEST, "</log>")


def greet(request: Request) -> ToolCallPart | str:
    return asks("look") if request.role == "clerk" else f"asked by {request.role}"


async def test_a_function_may_answer_one_role_and_a_list_another() -> None:
    script = ScriptedProvider({"clerk": greet, "boss": ["first"]})
    for _ in range(2):
        assert (await script.complete(Request("clerk", Window(())))).calls[0].name == "look"
    assert (await script.complete(Request("boss", Window(())))).text == "first"
    with pytest.raises(ProviderError, match="the script knows boss, clerk"):
        await script.complete(Request("guard", Window(())))


@pytest.mark.parametrize("answers", ["Hello", 3, None, asks("look"), Reply((Text("Hello"),))])
def test_answers_that_are_no_list_are_refused(answers: Any) -> None:
    with pytest.raises(InputError, match=r'are a list, and this is .+; write {"clerk": \[...\]}'):
        ScriptedProvider({"clerk": answers})


def test_an_error_in_a_module_of_the_user_has_its_line(tmp_path: Path) -> None:
    (tmp_path / "bell_desk.py").write_text(
        "from transom.testing import ScriptedProvider\n\nporter = ScriptedProvider({'a': 'Hi'})\n"
    )
    with pytest.raises(InputError, match=r"bell_desk.py:3\).* answers of a role are a list"):
        imported("bell_desk:porter", tmp_path, "--agent")


async def test_a_list_is_one_reply_with_several_calls() -> None:
    counted = []

    def count(item: str) -> str:
        """Count."""
        counted.append(item)
        return item

    def script(request: Request) -> str | list[str | ToolCallPart]:
        last = request.window.turns[-1]
        if isinstance(last, ToolResults):
            return " ".join(str(len(last.results)) for _ in last.results)
        return ["Both.", asks("count", item="bolts"), asks("count", item="nuts")]

    answer = await Agent("Count.", tools=[count], provider=ScriptedProvider(script)).send("go")
    assert (answer.text, counted) == ("2 2", ["bolts", "nuts"])
    queue = ScriptedProvider({"agent": [[asks("count", item="a"), asks("count", item="b")], "x"]})
    answer = await Agent("Count.", tools=[count], provider=queue).send("go")
    assert (answer.text, counted[2:]) == ("x", ["a", "b"])


async def test_a_function_that_returns_nothing_is_an_error() -> None:
    with pytest.raises(ProviderError, match="returned None"):
        await Agent("Count.", provider=ScriptedProvider(lambda request: None)).send("go")  # type: ignore[arg-type, return-value]
