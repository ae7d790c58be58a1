"""A tool that runs a command in a project's folder: in the sandbox, without network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from transom.canonical import Json
from transom.sandbox import CommandLimits, run_command
from transom.tools.definition import Arguments, ToolDefinition, ToolLimits

_SHOWN = 8_000  # characters of each stream


def command_tool(
    root: Path, *, readable: Sequence[Path] = (), seconds: float = 120, environment: Mapping[str, str] | None = None
) -> ToolDefinition:
    """A tool that runs a shell command; it may write below `root` and nowhere else.

    Args:
        root: the project's folder.
        readable: what commands may read beside it and the system, e.g. an interpreter's folder.
        seconds: one command may take.
        environment: beside the sandbox's own.
    """

    async def run(arguments: Arguments) -> Json:
        argv = ["/bin/sh", "-c", str(arguments["command"])]
        limits = CommandLimits(wall_seconds=seconds)
        done = await run_command(argv, root, limits=limits, readable=readable, environment=environment)
        result: dict[str, Json] = {"exit_code": done.code, "stdout": _cut(done.stdout), "stderr": _cut(done.stderr)}
        if done.ended != "itself":
            result["ended_by"] = f"the limit on {done.ended}"
        return result

    schema: dict[str, Json] = {
        "type": "object",
        "properties": {"command": {"type": "string", "description": "As a shell takes it; no network is there."}},
        "required": ["command"],
        "additionalProperties": False,
    }
    description = "Run a command in the project's folder, e.g. its tests, and see what it prints."
    limits = ToolLimits(seconds=seconds + 10)
    return ToolDefinition("run_command", description, schema, run, effect="idempotent", fresh=True, limits=limits)


def _cut(text: str) -> str:
    """Beginning and end of a long text, with what is left out between them."""
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]}\n[{len(text) - _SHOWN} characters are left out]\n{text[-half:]}"
