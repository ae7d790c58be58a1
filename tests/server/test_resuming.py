"""A run that goes on reads as running at once, while its process still begins."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.leaving import csrf_of
from transom.errors import Paused
from transom.llm import Chain, ScriptedProvider
from transom.runs import Run
from transom.runs.history import RunHistory
from transom.server import children


@pytest.fixture
def slow_start(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The processes that go on with runs, none of which ever opens its run."""
    processes: list[subprocess.Popen[bytes]] = []

    def launch(*_: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", "input()"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        processes.append(process)
        return process

    monkeypatch.setattr(children, "launch", launch)
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def leave(history: RunHistory, how: str) -> str:
    """Leave a run of a command that asks, waits for a model, or was killed; return its id."""

    async def begin() -> str:
        chain = Chain((ScriptedProvider({}),))
        where: Any = {"workspace": history.workspace, "store": history.store, "chain": chain}
        run = await Run.open("check", {"item": how}, name=how, entry={"command": "x"}, **where)
        if how == "killed":
            lock = history.workspace.state_dir / "locks" / f"{run.id}.lock"
            # The process that held the run has gone.
            await run.__aexit__(None, None, None)
            lock.write_text("999999999\n")
            return run.id
        if how == "waits":
            async with run:
                await run.finish("NEEDS_MODEL", waits="a model")
            return run.id
        with pytest.raises(Paused):
            async with run:
                await run.ask("which", "Which one?", options=("left", "right"))
        return run.id

    return asyncio.run(begin())


BEFORE = {"asks": "paused", "waits": "NEEDS_MODEL", "killed": "interrupted"}


@pytest.mark.parametrize("how", BEFORE)
def test_a_run_that_goes_on_reads_as_running_while_its_process_begins(
    how: str,
    browser: TestClient,
    history: RunHistory,
    slow_start: list[subprocess.Popen[bytes]],
) -> None:
    run_id = leave(history, how)
    assert history.run(run_id).status == history.summary(run_id).status == BEFORE[how]
    token = csrf_of(browser.get("/start").text)
    if how == "asks":
        form = {"csrf": token, "question": "which", "answer": "left", "by": "Ann"}
        answer = browser.post(f"/waiting/{run_id}", data=form)
        assert "continues" in answer.text
    else:
        browser.post(f"/runs/{run_id}/resume", data={"csrf": token})
    (process,) = slow_start
    now = browser.get("/api/now").json()
    assert [run["run_id"] for run in now["running"]] == [run_id]
    assert not (now["waiting"] or now["stopped"] or now["finished"])
    page = browser.get(f"/runs/{run_id}").text
    assert "running" in page and "/resume" not in page
    assert browser.get(f"/api/runs/{run_id}").json()["status"] == "running"
    # A process that ends before it has opened the run leaves it as it was.
    process.communicate(b"\n")
    expected = "interrupted" if how == "asks" else BEFORE[how]
    assert history.run(run_id).status == history.summary(run_id).status == expected
    assert not browser.get("/api/now").json()["running"]


def test_a_run_that_has_ended_reads_so_although_its_process_has_not(
    browser: TestClient, history: RunHistory, slow_start: list[subprocess.Popen[bytes]]
) -> None:
    run_id = leave(history, "waits")
    token = csrf_of(browser.get("/start").text)
    browser.post(f"/runs/{run_id}/resume", data={"csrf": token})
    assert history.summary(run_id).status == "running"

    async def end() -> None:
        where: Any = {"workspace": history.workspace, "store": history.store}
        chain = Chain((ScriptedProvider({}),))
        async with await Run.open(
            "check", {"item": "waits"}, name="waits", chain=chain, **where
        ) as run:
            await run.finish("PASS")

    asyncio.run(end())
    assert slow_start[0].poll() is None
    assert history.run(run_id).status == history.summary(run_id).status == "PASS"
