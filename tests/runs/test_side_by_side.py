"""Stages that run or wait side by side, and what a person does between a pause and her answer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest

from tests.runs.helpers import FIRST, Desk, ask, echo
from transom.canonical import digest
from transom.errors import InputError, Paused, ProviderError, RunBusy, RunError
from transom.llm import Chain, Request, ScriptedProvider
from transom.runs import Run, Stage, Workspace, text_file
from transom.store import SqliteStore


@contextlib.asynccontextmanager
async def opened(tmp_path: Path, provider: ScriptedProvider) -> AsyncIterator[Run]:
    workspace = Workspace.at(tmp_path / ".transom")
    async with SqliteStore.open(workspace.database) as store:
        chain = Chain((provider,))
        run = await Run.open("test", {}, name="x", workspace=workspace, store=store, chain=chain)
        async with run:
            yield run


async def copy(stage: Stage, source: str) -> str:
    return await ask(stage, FIRST, "source", source)


async def two(run: Run, source: str) -> list[str]:
    """Two stages at once, each its own file."""
    made = await asyncio.gather(
        *(
            run.stage(name, copy, f"{source} {name}", out=text_file(f"{name}.md"), uses=[FIRST])
            for name in ("a", "b")
        ),
        return_exceptions=True,
    )
    for one in made:
        if isinstance(one, BaseException):
            raise one
    return [one.value for one in made if not isinstance(one, BaseException)]


async def test_a_run_is_held_until_the_last_stage_has_ended(tmp_path: Path) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    busy: list[bool] = []

    async def answer(request: Request) -> str:
        if "slow" in request.window.text("source"):
            begun.set()
            await go_on.wait()
            return "late"
        await begun.wait()
        raise ProviderError("down")

    async def rival(run: Run) -> None:
        await asyncio.sleep(0.02)  # the failed stage has ended the walk by now
        chain = Chain((ScriptedProvider(echo),))
        try:
            other = await Run.open(
                "test", {}, name="x", workspace=run.workspace, store=run.store, chain=chain
            )
            other.close()
            busy.append(False)
        except RunBusy:
            busy.append(True)
        go_on.set()

    provider = ScriptedProvider(answer)
    with pytest.raises(ProviderError, match="down"):
        async with opened(tmp_path, provider) as run:
            watching = asyncio.create_task(rival(run))
            slow = run.stage("slow", copy, "slow", out=text_file("slow.md"), uses=[FIRST])
            quick = run.stage("quick", copy, "quick", out=text_file("quick.md"), uses=[FIRST])
            await asyncio.gather(slow, quick)
    await watching
    assert busy == [True]
    assert (run.folder / "slow" / "slow.md").read_text() == "late", "its reply was paid for"
    with pytest.raises(RunError, match="after the run was closed"):
        await run.stage("more", copy, "x", out=text_file("more.md"))
    async with opened(tmp_path, provider) as run:
        kept = await run.stage("slow", copy, "slow", out=text_file("slow.md"), uses=[FIRST])
    assert kept.value == "late"
    assert len(provider.requests) == 2


async def test_close_leaves_the_freeing_to_a_stage_at_work(tmp_path: Path) -> None:
    async with opened(tmp_path, ScriptedProvider(echo)) as run:

        async def closing(stage: Stage) -> str:
            run.close()
            with pytest.raises(RunBusy):
                await Run.open(
                    "test", {}, name="x", workspace=run.workspace, store=run.store, chain=run.chain
                )
            return "done"

        await run.stage("a", closing, out=text_file("a.md"))
        again = await Run.open(
            "test", {}, name="x", workspace=run.workspace, store=run.store, chain=run.chain
        )
        again.close()


async def test_ctrl_c_stops_the_stages_beside(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def answer(request: Request) -> str:
        begun.set()
        await asyncio.sleep(60)
        return "never"

    async def walk() -> None:
        async with opened(tmp_path, ScriptedProvider(answer)) as run:
            task = asyncio.create_task(
                run.stage("a", copy, "s", out=text_file("a.md"), uses=[FIRST])
            )
            await begun.wait()
            assert not task.done()
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(walk(), 30)


async def both_wait(tmp_path: Path, provider: ScriptedProvider) -> Run:
    """Both files edited by hand and both inputs changed."""
    async with opened(tmp_path, provider) as run:
        await two(run, "s")
    for name in ("a", "b"):
        (run.folder / name / f"{name}.md").write_text(f"my {name}")
    with pytest.raises(Paused):
        async with opened(tmp_path, provider) as run:
            await two(run, "t")
    return run


async def test_two_stages_that_wait_are_answered_one_by_one(tmp_path: Path) -> None:
    provider = ScriptedProvider(echo)
    await both_wait(tmp_path, provider)
    async with opened(tmp_path, provider) as run:
        with pytest.raises(
            InputError, match=r"2 answers are waited for: --question a: .*; --question b: "
        ):
            await run.decide("keep")
        with pytest.raises(InputError, match=r"question c of run .* waits for no answer"):
            await run.decide("keep", "c")
        assert (await run.decide("keep", "b"))["stage"] == "b"
    async with opened(tmp_path, provider) as run:
        assert (await run.decide("redo"))["stage"] == "a"
        with pytest.raises(InputError, match="waits for no answer"):
            await run.decide("keep")
    async with opened(tmp_path, provider) as run:
        assert await two(run, "t") == ["<t a>", "my b"]


async def test_a_choice_that_nobody_needs_any_more_is_forgotten(tmp_path: Path) -> None:
    provider = ScriptedProvider(echo)
    run = await both_wait(tmp_path, provider)
    (run.folder / "a" / "a.md").write_text("<s a>")
    with pytest.raises(Paused):
        async with opened(tmp_path, provider) as run:
            await two(run, "t")
    async with opened(tmp_path, provider) as run:
        with pytest.raises(InputError, match=r"question a of run .* waits for no answer"):
            await run.decide("keep", "a")
    (run.folder / "b" / "b.md").write_text("<s b>")
    async with opened(tmp_path, provider) as run:
        assert await two(run, "s") == ["<s a>", "<s b>"]
        await run.finish("done")
    async with opened(tmp_path, provider) as run:
        with pytest.raises(InputError, match=f"run {run.id} waits for no answer"):
            await run.decide("keep")


async def test_an_edit_between_pause_and_answer_counts(tmp_path: Path) -> None:
    provider = ScriptedProvider(echo)
    run = await both_wait(tmp_path, provider)
    (run.folder / "a" / "a.md").write_text("better")
    async with opened(tmp_path, provider) as run:
        await run.decide("keep", "a")
        await run.decide("keep", "b")
    async with opened(tmp_path, provider) as run:
        assert await two(run, "t") == ["better", "my b"]


async def test_an_edit_after_the_answer_waits_again_and_says_why(tmp_path: Path) -> None:
    provider = ScriptedProvider(echo)
    await both_wait(tmp_path, provider)
    async with opened(tmp_path, provider) as run:
        await run.decide("keep", "a")
        await run.decide("keep", "b")
    (run.folder / "b" / "b.md").write_text("better")
    with pytest.raises(
        Paused, match=r"b\.md was changed again after the answer for stage b; answer with"
    ):
        async with opened(tmp_path, provider) as run:
            await two(run, "t")


async def test_two_stages_never_write_one_file(tmp_path: Path) -> None:
    async with opened(tmp_path, ScriptedProvider(echo)) as run:
        await run.stage("a", copy, "s", out=text_file("same.md", "shared"), uses=[FIRST])
        with pytest.raises(
            RunError,
            match=(
                r"stages a and b of one walk have one name, or write one file: \S*shared/same\.md"
            ),
        ):
            await run.stage("b", copy, "t", out=text_file("same.md", "shared"), uses=[FIRST])
    assert (run.folder / "shared" / "same.md").read_text() == "<s>"


async def test_one_desk_still_walks(tmp_path: Path) -> None:
    """The plain walk, one stage after the other, is held and freed as before."""
    at = Desk(tmp_path, ScriptedProvider(echo))
    for _ in range(2):
        assert (await at.walk())[2].value == "<s>+<<s>>"


async def test_runs_that_begin_at_once_have_journals_of_their_own(tmp_path: Path) -> None:
    seen: dict[str, int] = {}
    # two runs whose digests begin alike, as happens to one pair in some thousand runs
    for number in count():
        begin = digest({"kind": "test", "inputs": {"n": number}})[:6]
        if begin in seen:
            break
        seen[begin] = number
    workspace, chain = Workspace.at(tmp_path / ".transom"), Chain((ScriptedProvider(echo),))
    async with workspace.open_store() as store:

        async def begun(number: int) -> str:
            opened = Run.open(
                "test", {"n": number}, name="x", workspace=workspace, store=store, chain=chain
            )
            async with await opened as run:
                return run.id

        ids = await asyncio.gather(begun(number), begun(seen[begin]))
    assert len(set(ids)) == 2
