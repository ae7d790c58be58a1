"""A tool that runs a command in a project's folder: in the sandbox, without network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import Field

from transom.canonical import Json
from transom.sandbox import CommandLimits, run_command
from transom.tools.definition import ToolDefinition, ToolLimits
from transom.tools.functions import tool

_SHOWN = 8_000  # characters of each stream
_Command: TypeAlias = Annotated[str, Field(description="As a shell takes it; no network is there.")]


def command_tool(
    root: Path,
    *,
    readable: Sequence[Path] = (),
    seconds: float = 120,
    environment: Mapping[str, str] | None = None,
) -> ToolDefinition:
    """Return a tool that runs a shell command, which may write below `root` and nowhere else.

    Args:
        root: the project's folder.
        readable: other folders that commands may read, e.g. an interpreter's.
        seconds: limit for one command.
        environment: variables in addition to the sandbox's own.
    """

    async def run(command: _Command) -> dict[str, Json]:
        """Run a command in the project's folder, e.g. its tests, and see what it prints."""
        outcome = await run_command(
            ["/bin/sh", "-c", command],
            root,
            limits=CommandLimits(wall_seconds=seconds),
            readable=readable,
            environment=environment,
        )
        result: dict[str, Json] = {
            "exit_code": outcome.code,
            "stdout": _cut(outcome.stdout),
            "stderr": _cut(outcome.stderr),
        }
        if outcome.ended != "itself":
            result["ended_by"] = f"the limit on {outcome.ended}"
        return result

    # The sandbox stops the command first, so that its output so far is not lost.
    limits = ToolLimits(seconds=seconds + 10)
    return tool(name="run_command", effect="idempotent", fresh=True, limits=limits)(run)


def _cut(text: str) -> str:
    """Return the beginning and the end of a long text, with a note on the length between them."""
    # Errors of a build stand at its end, and the command that failed at its beginning.
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]}\n[{len(text) - _SHOWN} characters are left out]\n{text[-half:]}"
