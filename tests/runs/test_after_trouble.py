"""What holds after an attempt that failed, ran out of time or was killed, and between calls of
one stage.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.runs.helpers import FIRST, Desk, ask, desk, echo
from transom.errors import EgressError, NeedsModel, NotUnderstood, Paused, ProviderError
from transom.llm import Block, Chain, Request, ScriptedProvider, Window
from transom.runs import Artifact, Run, Stage, Workspace, text_file
from transom.store import SqliteStore

Walk = Callable[[Run], Awaitable[Artifact[str]]]


async def in_run(tmp_path: Path, chain: Chain, walk: Walk) -> Artifact[str]:
    workspace = Workspace.at(tmp_path / ".transom")
    async with SqliteStore.open(workspace.database) as store:
        run = await Run.open("t", {}, name="x", workspace=workspace, store=store, chain=chain)
        async with run:
            return await walk(run)


async def test_an_edit_after_a_failed_attempt_is_still_an_edit(tmp_path: Path) -> None:
    words = NeedsModel([NotUnderstood("eke", "source")])
    failing = False

    def answer(request: Request) -> str:
        if failing:
            raise words
        return echo(request)

    provider = ScriptedProvider(answer)
    at = Desk(tmp_path, provider)
    await at.walk("s")
    failing = True
    with pytest.raises(NeedsModel):
        await at.walk("t")
    failing = False
    await at.walk("s")
    at.file("one.md").write_text("mine")
    one, two, _ = await at.walk("s")
    assert (one.value, two.value) == ("mine", "<mine>")
    assert list(at.file("one.md").parent.glob("*.kept-*")) == []


async def test_an_edit_between_a_failure_under_other_inputs_and_the_next_try_waits_for_a_person(
    tmp_path: Path,
) -> None:
    at, provider = desk(tmp_path)
    await at.walk("s")
    at.provider = ScriptedProvider({"test.first": [ProviderError("down")]})
    with pytest.raises(ProviderError):
        await at.walk("t")
    at.provider = provider
    at.file("one.md").write_text("mine")
    with pytest.raises(Paused, match="have changed"):
        await at.walk("t")


async def test_a_file_put_back_by_hand_after_its_deletion_counts(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    await at.walk("s")
    at.file("one.md").unlink()
    down = ScriptedProvider({"test.first": [ProviderError("down"), ProviderError("down")]})
    at.provider = down
    with pytest.raises(ProviderError):
        await at.walk("s")
    folder = next((tmp_path / ".transom" / "runs" / "x").glob("*/one"))
    (folder / "one.md").write_text("mine")
    at.provider = ScriptedProvider(echo)
    assert (await at.walk("s"))[0].value == "mine"


async def test_a_deletion_counts_once_however_often_the_attempt_after_it_fails(
    tmp_path: Path,
) -> None:
    at, _ = desk(tmp_path)
    await at.walk("s")
    at.file("one.md").unlink()
    at.provider = ScriptedProvider(
        {"test.first": ["again"], "test.second": [ProviderError("down"), "two"]}
    )
    with pytest.raises(ProviderError):
        await at.walk("s")
    assert (await at.walk("s"))[0].value == "again"


async def test_an_older_version_put_back_is_an_edit(tmp_path: Path) -> None:
    at, provider = desk(tmp_path)
    await at.walk("s")
    await at.walk("t")
    at.file("one.md").write_text("<s>")
    one, two, _ = await at.walk("t")
    assert (one.value, one.by, two.value) == ("<s>", "a person", "<<s>>")
    assert len(provider.requests) == 4


async def test_files_of_ours_are_never_called_a_persons(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    values = iter(["one", "two"])

    async def make(stage: Stage) -> str:
        stage.memoise = False
        return next(values)

    async def walk(run: Run) -> Artifact[str]:
        run.progress = at.lines.append
        return await run.stage("made", make, out=text_file("made.md"))

    for _ in range(2):
        made = await in_run(tmp_path, Chain((at.provider,)), walk)
    assert made.value == "two"
    assert not any("by hand" in line for line in at.lines)


async def test_work_that_never_awaits_is_bound_by_the_limit_and_kept(tmp_path: Path) -> None:
    made: list[int] = []

    async def busy(stage: Stage) -> str:
        made.append(1)
        time.sleep(0.06)
        return "done"

    async def walk(run: Run) -> Artifact[str]:
        run.stage_seconds = 0.05
        return await run.stage("busy", busy, out=text_file("busy.md"))

    chain = Chain((ScriptedProvider(echo),))
    with pytest.raises(Paused, match=r"stage busy reached its limit of 0\.05 s"):
        await in_run(tmp_path, chain, walk)
    assert (await in_run(tmp_path, chain, walk)).value == "done"
    assert made == [1]


async def test_who_answered_and_what_it_took_belong_to_the_artifact(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    at.provider = ScriptedProvider(echo, name="first")
    one, _, both = await at.walk()
    assert (one.by, both.by) == ("first", "")
    assert one.usage.input_tokens > 0
    assert one.part("x").by == "first"
    at.provider = ScriptedProvider(lambda request: "other", name="second")
    assert (await at.walk())[0].by == "second"
    at.provider = ScriptedProvider(echo, name="first")
    again = (await at.walk())[0]
    assert (again.value, again.by, again.usage) == (one.value, "first", one.usage)


async def test_another_chain_is_asked_again(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    at.provider = ScriptedProvider(lambda request: "a", name="a")
    await at.walk()
    b = ScriptedProvider(lambda request: "b", name="b")
    at.provider = b
    assert (await at.walk())[2].value == "b+b"
    assert len(b.requests) == 2


async def twice(stage: Stage, source: str) -> str:
    return await ask(stage, FIRST, "source", source) + await ask(stage, FIRST, "source", source)


def pinned(tmp_path: Path, chain: Chain, *, fail: bool = False) -> Awaitable[Artifact[str]]:
    async def stage(at: Stage, source: str) -> str:
        text = await twice(at, source)
        if fail:
            raise ProviderError("later")
        return text + await ask(at, FIRST, "source", "third")

    async def walk(run: Run) -> Artifact[str]:
        return await run.stage("one", stage, "s", out=text_file("one.md"), uses=[FIRST])

    return in_run(tmp_path, chain, walk)


async def test_equal_requests_of_one_stage_each_have_their_own_reply(tmp_path: Path) -> None:
    provider = ScriptedProvider({"test.first": ["1", "2", "3"]})
    with pytest.raises(ProviderError, match="later"):
        await pinned(tmp_path, Chain((provider,)), fail=True)
    assert (await pinned(tmp_path, Chain((provider,)))).value == "123"


async def test_whoever_answered_first_answers_the_whole_stage_also_after_a_resume(
    tmp_path: Path,
) -> None:
    first = ScriptedProvider({"test.first": [ProviderError("down"), "a1", "a2"]}, name="a")
    second = ScriptedProvider({"test.first": ["b1", "b2", "b3"]}, name="b")
    chain = Chain((first, second))
    with pytest.raises(ProviderError, match="later"):
        await pinned(tmp_path, chain, fail=True)
    assert (await pinned(tmp_path, chain)).value == "b1b2b3"
    assert len(first.requests) == 1


async def test_calls_beside_each_other_are_answered_by_one_provider(tmp_path: Path) -> None:
    slow_failure = True

    async def unsure(request: Request) -> str:
        nonlocal slow_failure
        await asyncio.sleep(0.01)
        if slow_failure:
            slow_failure = False
            raise ProviderError("down")
        return "a"

    chain = Chain(
        (ScriptedProvider(unsure, name="a"), ScriptedProvider(lambda request: "b", name="b"))
    )

    async def both(stage: Stage) -> str:
        return "".join(await asyncio.gather(*(ask(stage, FIRST, "source", text) for text in "xyz")))

    async def walk(run: Run) -> Artifact[str]:
        return await run.stage("one", both, out=text_file("one.md"), uses=[FIRST])

    assert (await in_run(tmp_path, chain, walk)).value == "bbb"


async def test_egress_is_guarded_for_every_provider_of_a_chain() -> None:
    near = ScriptedProvider({"test.first": [ProviderError("down")]}, name="near")
    far = ScriptedProvider(lambda request: "seen", name="far", local=False)
    request = Request(
        FIRST.name, Window((*FIRST.prompt, Block("source", "secret", egress="local")))
    )
    with pytest.raises(EgressError, match="far"):
        await Chain((near, far)).answer(request)
    assert far.requests == []


def test_a_relative_workspace_is_named_by_its_own_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs in a sandbox are given paths below it, and do not see the folders beside it."""
    folder = tmp_path / "config"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert Workspace.at("../ws").root == tmp_path / "ws"
