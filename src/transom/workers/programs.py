"""Whole command lines as jobs: each runs in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio import StreamReader
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from transom.sandbox.process import kill_group, start_group

_MODULE = "transom.cli.hand"
_LONGEST = 1 << 30


async def run_program(
    place: Mapping[str, Any], environ: Mapping[str, str], tell: Callable[[str], Awaitable[None]]
) -> dict[str, Any]:
    """Run a command line to its end; a cancellation kills it.

    Args:
        place: the command; see `transom.cli.hand`.
        environ: variables of its environment beside those of this process.
        tell: takes each line of its progress.

    Returns:
        Its exit code, and what it wrote to its standard output.
    """
    pipe = asyncio.subprocess.PIPE
    process = await start_group(
        sys.executable,
        "-m",
        _MODULE,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        limit=_LONGEST,
        env={**os.environ, **environ},
    )
    assert process.stdin and process.stdout and process.stderr
    try:
        # The pipe stays open: when it closes, because this process died, the program ends, too.
        process.stdin.write(json.dumps(place).encode() + b"\n")
        output, _ = await asyncio.gather(process.stdout.read(), _tell_lines(process.stderr, tell))
        code = await process.wait()
    finally:
        # also what it left behind
        kill_group(process)
        await process.wait()
    return {"code": code, "output": output.decode(errors="backslashreplace")}


async def _tell_lines(stream: StreamReader, tell: Callable[[str], Awaitable[None]]) -> None:
    async for line in stream:
        await tell(line.decode(errors="backslashreplace").rstrip("\n"))
