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
    """A tool that runs a shell command; it may write below `root` and nowhere else.

    Args:
        root: the project's folder.
        readable: what commands may read beside it and the system, e.g. an interpreter's folder.
        seconds: one command may take.
        environment: beside the sandbox's own.
    """

    async def run(command: _Command) -> dict[str, Json]:
        """Run a command in the project's folder, e.g. its tests, and see what it prints."""
        argv, limits = ["/bin/sh", "-c", command], CommandLimits(wall_seconds=seconds)
        done = await run_command(
            argv, root, limits=limits, readable=readable, environment=environment
        )
        result: dict[str, Json] = {
            "exit_code": done.code,
            "stdout": _cut(done.stdout),
            "stderr": _cut(done.stderr),
        }
        if done.ended != "itself":
            result["ended_by"] = f"the limit on {done.ended}"
        return result

    return tool(
        name="run_command", effect="idempotent", fresh=True, limits=ToolLimits(seconds=seconds + 10)
    )(run)


def _cut(text: str) -> str:
    """Beginning and end of a long text, with what is left out between them."""
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]}\n[{len(text) - _SHOWN} characters are left out]\n{text[-half:]}"
