"""Running the command line as a person does, in a process of its own or in this one."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.runs.helpers import Desk, desk
from transom.llm import ScriptedProvider

COMMAND = [sys.executable, "-m", "transom"]


def clean_environment(**more: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TRANSOM_", "COV"))
    }
    return kept | {"HOME": "/nonexistent"} | more


def transom(*args: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *args],
        cwd=cwd,
        env=clean_environment(**environ),
        capture_output=True,
        text=True,
        check=False,
    )


def walked(folder: Path, *, script: Any = None, seconds: float = 300.0) -> tuple[Desk, str]:
    """A workspace in `folder` with one run of two calls in it, and that run's id."""
    table, _ = desk(folder)
    if script is not None:
        table.provider = ScriptedProvider(script)
    asyncio.run(table.walk("the source text", seconds=seconds))
    (run,) = (folder / ".transom" / "runs" / "x").iterdir()
    return table, run.name
