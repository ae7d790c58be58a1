"""Runs that a test leaves in a workspace, for the pages to show."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from transom.canonical import Json
from transom.errors import Paused
from transom.llm import Chain, ScriptedProvider
from transom.runs import Run
from transom.runs.history import RunHistory

NASTY = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
"""A text that a model, a log or a file name may bring."""


def ask(history: RunHistory, name: str, prompt: str, *options: str, evidence: str = "") -> str:
    """Leave a run that asks a person; return its id."""

    async def begin() -> str:
        chain = Chain((ScriptedProvider({}),))
        where = {"workspace": history.workspace, "store": history.store, "chain": chain}
        run = await Run.open("test", {"name": name}, name=name, **where)  # type: ignore[arg-type]
        async with run:
            with pytest.raises(Paused):
                await run.ask("which", prompt, options=options, needs_name=True, evidence=evidence)
        return run.id

    return asyncio.run(begin())


def finish(
    history: RunHistory,
    name: str,
    status: str,
    kind: str = "test",
    inputs: dict[str, Json] | None = None,
    **more: Any,
) -> str:
    """Leave a run that came to its end; return its id."""

    async def begin() -> str:
        chain = Chain((ScriptedProvider({}),))
        where = {"workspace": history.workspace, "store": history.store, "chain": chain}
        given = inputs or {"name": name}
        async with await Run.open(kind, given, name=name, **where) as run:  # type: ignore[arg-type]
            await run.finish(status, **more)
        return run.id

    return asyncio.run(begin())


def csrf_of(page: str) -> str:
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', page)
    assert found
    return found[1]


def folder_of(history: RunHistory, run: str) -> Path:
    """The folder of a run."""
    row = history.row(history.summary(run))
    return history.workspace.run_folder(row.name, run)


def markup_in(text: str) -> list[str]:
    """What of the nasty text came into a page as markup."""
    return [mark for mark in ("<script>alert", "<img src=x") if mark in text]
