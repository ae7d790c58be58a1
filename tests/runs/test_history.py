"""Summaries of runs: the same as the journals say, for every run that a journal can describe."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.cli.helpers import walked
from tests.cli.test_runs import both_changed
from transom.errors import InputError
from transom.llm import Chain, ScriptedProvider
from transom.runs import Run, Workspace
from transom.runs.answering import GivenAnswer, give_answer
from transom.runs.history import RunHistory, all_runs, view
from transom.runs.workspace import RunLock
from transom.store import Store


def history_of(folder: Path) -> tuple[Store, RunHistory]:
    workspace = Workspace.known(folder / ".transom")
    store = workspace.open_store()
    return store, RunHistory(workspace, store)


async def finished(history: RunHistory, name: str, status: str, **more: Any) -> str:
    chain = Chain((ScriptedProvider({}),))
    where = {"workspace": history.workspace, "store": history.store, "chain": chain}
    async with await Run.open("test", {"name": name}, name=name, **where) as run:  # type: ignore[arg-type]
        await run.finish(status, **more)
    return run.id


async def test_a_summary_says_what_the_journal_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    await asyncio.to_thread(walked, tmp_path)
    await asyncio.to_thread(both_changed, tmp_path)
    store, history = history_of(tmp_path)
    async with store:
        await finished(history, "judged", "READY", judgement={"by": "Ann", "rules": "NO"})
        await finished(history, "waits", "NEEDS_MODEL", waits="a model")
        runs = {run.id: run for run in history.page()}
        assert history.all_summaries() == list(runs.values())
        assert len(runs) == len(all_runs(store)) == 3
        for row in all_runs(store):
            found, summary = view(history.workspace, store, row), runs[row.id]
            assert (summary.status, summary.reason) == (found.status, found.state.paused)
            assert summary.waits_for == found.state.waits
            assert summary.judgement == found.state.judgement
            assert summary.calls == len(found.replies)
            assert summary.started_at == found.records[0].at
            assert summary.last_at == found.records[-1].at
            assert bool(summary.waits) == bool(found.state.waiting or found.state.waits)


async def test_runs_of_an_older_database_are_summed_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    await asyncio.to_thread(walked, tmp_path)
    store, history = history_of(tmp_path)
    async with store:
        before = history.page()
    with sqlite3.connect(tmp_path / ".transom" / "state.db") as connection:
        connection.execute("ALTER TABLE records DROP COLUMN chain")
        connection.execute("DROP TABLE summaries")
        connection.execute("PRAGMA user_version = 2")
    workspace = history.workspace
    async with workspace.open_store_for_reading() as reader:
        # It is not changed, so its journals are read each time.
        assert RunHistory(workspace, reader).is_outdated
        assert RunHistory(workspace, reader).all_summaries() == before
    store, history = history_of(tmp_path)
    async with store:
        assert [history.is_outdated, history.page()] == [True, []]
        await history.refresh()
        assert [history.is_outdated, history.page()] == [False, before]


async def test_a_run_runs_as_long_as_a_process_holds_it(tmp_path: Path) -> None:
    store, history = history_of(tmp_path)
    async with store:
        chain = Chain((ScriptedProvider({}),))
        where = {"workspace": history.workspace, "store": store, "chain": chain}
        run = await Run.open("test", {}, name="a", **where)  # type: ignore[arg-type]
        assert [row.status for row in history.page()] == ["running"]
        run.close()
        # This process lives on, as a server does, and works on something else.
        assert [row.status for row in history.page()] == ["interrupted"]
        lock = RunLock(history.workspace.state_dir / "locks", run.id, "a")
        (file,) = (tmp_path / ".transom" / "locks").iterdir()
        assert file.read_text() == f"{os.getpid()}\n"
        lock.release()
        assert file.read_text() == ""


async def test_no_answer_opens_a_run_that_waits_for_none(tmp_path: Path) -> None:
    store, history = history_of(tmp_path)
    async with store:
        run = history.run(await finished(history, "a", "PASS"))
        with pytest.raises(InputError, match="waits for no answer"):
            await give_answer(history.workspace, store, run, GivenAnswer("yes", person="Ann"))
        assert history.summary(run.row.id).status == "PASS"
        with pytest.raises(InputError, match="no run"):
            history.run("none")
