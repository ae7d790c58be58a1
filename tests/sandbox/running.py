"""Running a piece of code in a worker, for tests."""

from __future__ import annotations

import asyncio
from typing import Any

from transom.sandbox import Level, Sandbox, WorkerLimits

NAME = "extract_context"
HONEST = "def extract_context(text, source_file):\n    return [len(text)]"


def call_once(
    code: str, level: Level, *, text: str = "", limits: WorkerLimits | None = None
) -> Any:
    """Load the code, call Atom A once, end the worker."""

    async def go() -> object:
        async with Sandbox(limits, level).worker(code) as worker:
            return await worker.call(NAME, {"text": text, "source_file": "a.log"})

    return asyncio.run(go())
