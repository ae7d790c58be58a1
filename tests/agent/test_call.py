"""One call: read strictly, asked once more with what was wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.runs.helpers import Desk
from transom.agent import Answer, call
from transom.errors import ProviderError, ReplyError
from transom.llm import Block, Reply, Role, ScriptedProvider, Text, Tier
from transom.runs import Stage, Workspace, text_file
from transom.store import SqliteStore

ROLE = Role("p.seat", (Block("role", "You.", Tier.STABLE),), frozenset({"role", "ask", "retry"}))


def read(text: str) -> str:
    if not text.startswith("ok"):
        raise ReplyError("there is no ok")
    return text


Review: TypeAlias = Callable[[str], list[str]]


async def ask(
    tmp_path: Path, *answers: str | Reply | Exception, review: Review | None = None
) -> tuple[Answer[str], ScriptedProvider]:
    provider = ScriptedProvider({"p.seat": list(answers)})
    desk = Desk(tmp_path, provider)
    workspace = Workspace.at(tmp_path / ".transom")
    got: list[Answer[str]] = []

    async def stage(at: Stage) -> str:
        got.append(await call(at, ROLE, [Block("ask", "?")], read, review=review))
        return got[0].value

    async with (
        SqliteStore.open(workspace.database) as store,
        await desk.open_run(workspace, store) as run,
    ):
        await run.stage("one", stage, out=text_file("one.md"), uses=[ROLE])
    return got[0], provider


async def test_a_readable_reply_is_asked_for_once(tmp_path: Path) -> None:
    answer, provider = await ask(tmp_path, "ok 1")
    assert (answer.value, len(provider.requests)) == ("ok 1", 1)


async def test_the_second_request_says_what_was_wrong(tmp_path: Path) -> None:
    answer, provider = await ask(tmp_path, "hm", "ok 2")
    assert (answer.value, len(provider.requests)) == ("ok 2", 2)
    assert "there is no ok" in provider.requests[1].window.text("retry")
    assert provider.requests[0].window.text("retry") == ""


async def test_a_reply_cut_off_is_never_accepted(tmp_path: Path) -> None:
    answer, _ = await ask(tmp_path, Reply((Text("ok but"),), stop="length"), "ok whole")
    assert answer.value == "ok whole"


async def test_two_unreadable_replies_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReplyError) as error:
        await ask(tmp_path, "hm", "I would\nrather not, since " + "nobody asked me " * 9)
    expected = "p.seat: there is no ok; the reply begins 'I would rather not, since nobody asked me"
    assert str(error.value).startswith(expected)
    assert len(str(error.value)) < 200


async def reviewed(
    tmp_path: Path, *answers: str | Exception
) -> tuple[Answer[str], ScriptedProvider]:
    return await ask(tmp_path, *answers, review=lambda text: ["too long"] * (len(text) - 3))


async def test_an_answer_without_complaints_is_asked_for_once(tmp_path: Path) -> None:
    answer, provider = await reviewed(tmp_path, "ok1")
    assert (answer.value, len(provider.requests)) == ("ok1", 1)


async def test_complaints_go_back_once_with_the_answer(tmp_path: Path) -> None:
    answer, provider = await reviewed(tmp_path, "ok 12", "ok1")
    assert (answer.value, len(provider.requests)) == ("ok1", 2)
    retry = provider.requests[1].window.text("retry")
    assert retry.count("- too long") == 2
    assert retry.endswith("ok 12")


@pytest.mark.parametrize("second", ["ok 12", "ok 123", "unreadable", ProviderError("down")])
async def test_a_second_answer_counts_only_where_it_is_better(
    tmp_path: Path, second: str | Exception
) -> None:
    answer, provider = await reviewed(tmp_path, "ok 34", second)
    assert (answer.value, len(provider.requests)) == ("ok 34", 2)


async def test_a_reply_cut_off_twice_is_an_error(tmp_path: Path) -> None:
    cut = Reply((Text("ok but"),), stop="length")
    with pytest.raises(ReplyError, match="cut off"):
        await ask(tmp_path, cut, cut)


async def test_half_a_character_is_asked_for_again(tmp_path: Path) -> None:
    answer, _ = await ask(tmp_path, "ok \ud800", "ok whole")
    assert answer.value == "ok whole"


async def test_a_role_that_sees_no_retry_is_asked_once(tmp_path: Path) -> None:
    blind = Role("p.seat", ROLE.prompt, frozenset({"role", "ask"}))
    provider = ScriptedProvider({"p.seat": ["hm"]})
    desk = Desk(tmp_path, provider)
    workspace = Workspace.at(tmp_path / ".transom")

    async def stage(at: Stage) -> str:
        return (await call(at, blind, [Block("ask", "?")], read)).value

    async with (
        SqliteStore.open(workspace.database) as store,
        await desk.open_run(workspace, store) as run,
    ):
        with pytest.raises(ReplyError, match="there is no ok"):
            await run.stage("one", stage, out=text_file("one.md"), uses=[blind])
    assert len(provider.requests) == 1
