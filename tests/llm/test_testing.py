"""The helpers for users' tests."""

from __future__ import annotations

import pytest

from transom.llm import Block, Request, Window
from transom.testing import ScriptedProvider, assert_hidden, assert_sees

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
