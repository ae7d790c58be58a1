"""Summaries of runs: the same as the journals say, for every run that a journal can describe."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.helpers import clean_environment, walked
from tests.cli.test_runs import both_changed
from transom.errors import InputError
from transom.llm import Chain, ScriptedProvider, Usage
from transom.llm.prices import Prices
from transom.runs import Run, Workspace
from transom.runs.answering import GivenAnswer, give_answer
from transom.runs.history import RunHistory, all_runs, view
from transom.runs.spending import costs_of
from transom.runs.summarising import RunRow, Summariser
from transom.runs.workspace import RunLock
from transom.store import Record, Store, summarise_records


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


KILLED = """
import asyncio, os, signal
from pathlib import Path
from transom.agent import Agent, Home
from transom.llm import Block, Capabilities, Reply, Role, Text, Tier, ToolCallPart, Usage
from transom.tools import ToolDefinition

class Quick:
    name, local, caps, calls = "quick", True, Capabilities(), 0
    async def complete(self, request, *, on_delta=None):
        self.calls += 1
        if self.calls == 9:
            os.kill(os.getpid(), signal.SIGKILL)
        call = ToolCallPart(f"call_{self.calls}", "weigh", {})
        return Reply((call,), stop="tool_calls", usage=Usage(3, 2), by=self.name)
    def estimate_tokens(self, request): return 1
    def fingerprint(self, role): return "1"
    def is_current(self, source): return True

async def weigh(arguments):
    return "12 kg"

async def main():
    role = Role("scales", (Block("role", "You weigh.", Tier.STABLE),), frozenset({"role"}))
    tool = ToolDefinition("weigh", "Weigh it.", {"type": "object"}, weigh, effect="pure")
    async with Agent(role, provider=Quick(), tools=[tool], at=Home(Path(".transom"), "w")) as agent:
        await agent.send("go")

asyncio.run(main())
"""


async def test_the_figures_of_a_killed_run_are_those_of_its_journal(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=tmp_path, env=clean_environment(), check=False
    )
    assert done.returncode == -signal.SIGKILL
    store, history = history_of(tmp_path)
    async with store:
        (stored,) = store.summaries()
        (row,) = all_runs(store)
        records = store.read(stored.stream)
        kinds = [record.kind for record in records]
        assert kinds.count("model_reply") == 8
        (run,) = history.page()
        assert history.all_summaries() == [run]
        assert (run.status, run.calls, run.usage) == ("interrupted", 8, {"quick": Usage(24, 16)})
        (last_at,) = [record.at for record in records if record.kind == "model_reply"][-1:]
        assert run.last_at == last_at
        assert history.count_since(datetime.now(UTC) + timedelta(hours=1)) == 0
        costs = costs_of(history, Prices.load(), 1)
        assert (costs.runs, costs.total.runs, costs.total.usage) == (1, 1, Usage(24, 16))
        # The eight replies came within a second, so none of them wrote the row.
        facts: Any = stored.data
        assert facts["calls"] == 0
        # The next process counts them with its first record.
        await finished_again(history, row)
        (stored,) = store.summaries()
        assert (stored.status, stored.data) == ("PASS", told_anew(store, row))
        assert history.page()[0].calls == 8


async def finished_again(history: RunHistory, row: RunRow) -> None:
    chain = Chain((ScriptedProvider({}),))
    where = {"workspace": history.workspace, "store": history.store, "chain": chain}
    async with await Run.open(row.kind, row.inputs, name=row.name, **where) as run:  # type: ignore[arg-type]
        await run.finish("PASS")


def told_anew(store: Store, row: RunRow) -> Any:
    summary = summarise_records(store.read(f"run/{row.id}"), Summariser(row))
    return summary.data if summary else None


async def test_a_run_that_stopped_to_run_misses_no_record(tmp_path: Path) -> None:
    store, history = history_of(tmp_path)
    async with store:
        chain = Chain((ScriptedProvider({}),))
        where = {"workspace": history.workspace, "store": store, "chain": chain}
        async with await Run.open("test", {}, name="a", **where) as run:  # type: ignore[arg-type]
            # All of them are handed over before the first one is committed.
            late = [run.append("done", STAGE_END), run.append("done", STAGE_END)]
            pause = run.append("paused", {"stage": "s", "reason": "wait"})
            await asyncio.gather(*late, pause, run.append("done", STAGE_END))
            (stored,) = store.summaries()
            (row,) = all_runs(store)
            assert (stored.status, stored.data) == ("paused", told_anew(store, row))
            assert history.page()[0].steps == 3


STAGE_END = {
    "stage": "s",
    "attempt": 1,
    "fingerprint": "f",
    "deletions": 0,
    "output": "o",
    "answered": [],
    "usage": {},
}


@given(
    gaps=st.lists(st.integers(-2_000_000, 5_000_000), min_size=1, max_size=20),
    kinds=st.lists(
        st.sampled_from(["opened", "started", "done", "tool_result", "failed", "closed"]),
        min_size=20,
        max_size=20,
    ),
    cuts=st.sets(st.integers(1, 20)),
)
def test_it_does_not_matter_in_how_many_steps_a_run_is_summed_up(
    gaps: list[int], kinds: list[str], cuts: set[int]
) -> None:
    time = datetime(2026, 3, 1, tzinfo=UTC)
    data: Any = {**STAGE_END, "status": "PASS"}
    records: list[Record] = []
    for number, gap in enumerate(gaps):
        time += timedelta(microseconds=gap)
        at = f"{time:%Y-%m-%dT%H:%M:%S.%fZ}"
        kind = "opened" if number == 0 else kinds[number]
        records.append(Record(number + 1, "run/1", kind, data, at))
    summarise = Summariser(RunRow("1", "test", "a", {}))
    summary = None
    begin = 0
    for end in sorted({*cuts, len(records)}):
        if part := records[begin:end]:
            summary = summarise(summary, part)
            begin = end
    assert summary == summarise(None, records)
