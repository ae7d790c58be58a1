"""Hands: processes of this program that do jobs for the process that started them.

A hand does several jobs of one command at once, and keeps its settings, connections and database
open in between. A whole command line is a job of its own, and its process ends with it. Both end
when their standard input does, so none outlives a killed parent.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from asyncio import StreamReader
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from transom.sandbox.process import kill_group, start_group

_MODULE = "transom.cli.hand"
"""The module that a hand runs. It is named, not imported: only the command line knows it."""
_LONGEST = 1 << 30  # of one answer, in bytes


class HandEnded(Exception):
    """Raised for each job of a hand that ended by itself.

    Attributes:
        code: its exit code; negative for a signal.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"its process ended with code {code}")
        self.code = code


class Hand:
    """A process that does jobs.

    Attributes:
        jobs: number of the jobs that it works on.
    """

    def __init__(self, process: Process) -> None:
        assert process.stdin and process.stdout
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._tickets = itertools.count()
        self._reading = asyncio.create_task(self._read())

    @staticmethod
    async def start(place: Mapping[str, Any], **environ: str) -> Hand:
        """Start a hand.

        Args:
            place: the command whose jobs it does, and the workspace; see `transom.cli.hand`.
            environ: variables of its environment beside those of this process.
        """
        hand = Hand(await _start(environ))
        hand._write(place)
        return hand

    @property
    def jobs(self) -> int:
        return len(self._answers)

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended, so that it takes no job."""
        return self._reading.done()

    async def do(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Have a job done; returns its answer.

        Raises:
            HandEnded: the process ended before it answered.
        """
        if self.has_ended:
            raise HandEnded(await self._process.wait())
        ticket = next(self._tickets)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[ticket] = answer
        try:
            with suppress(ConnectionError):  # then it has ended, which the reader says
                self._write({**job, "ticket": ticket})
            return await answer
        finally:
            del self._answers[ticket]

    async def end(self) -> None:
        """Kill the process with all that it started."""
        kill_group(self._process)
        await self._process.wait()
        await self._reading

    def _write(self, document: Mapping[str, Any]) -> None:
        self._stdin.write(json.dumps(document).encode() + b"\n")

    async def _read(self) -> None:
        try:
            while True:
                row = json.loads(await self._stdout.readuntil())
                answer = self._answers.get(row.pop("ticket"))
                if answer and not answer.done():
                    answer.set_result(row)
        except (asyncio.IncompleteReadError, ConnectionError):
            # Its jobs are told, since nobody else knows that they were lost.
            code = await self._process.wait()
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(HandEnded(code))


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
    process = await _start(environ, stderr=PIPE)
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


async def _start(environ: Mapping[str, str], stderr: int | None = None) -> Process:
    """Start the process of a hand, which leads a group of its own."""
    command = (sys.executable, "-m", _MODULE)
    variables = {**os.environ, **environ}
    return await start_group(
        *command, stdin=PIPE, stdout=PIPE, stderr=stderr, limit=_LONGEST, env=variables
    )


async def _tell_lines(stream: StreamReader, tell: Callable[[str], Awaitable[None]]) -> None:
    async for line in stream:
        await tell(line.decode(errors="backslashreplace").rstrip("\n"))
