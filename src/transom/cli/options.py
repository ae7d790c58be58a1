"""What follows from what the commands of `check` are told: places, manner, the session to resume in."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from transom.checklist.build.inputs import BuildSettings
from transom.checklist.pipeline import Manner, Places
from transom.checklist.run.stage import Occasion
from transom.cli.output import say
from transom.cli.session import Session
from transom.cli.told import UNSAFE_OPTION, Options
from transom.config import load_settings
from transom.errors import InputError
from transom.learning import Playbook
from transom.llm import CallSettings
from transom.memory import Memory
from transom.sandbox import Level, Sandbox
from transom.tools.constrained import FileLimits
from transom.tools.files import ViewLimits

UNSAFE_RISK = (
    "generated code runs with your rights; it may read, change and send away all that you can, "
    "also because a log told it to; every verdict is marked"
)


def session_of(entry: Mapping[str, Any], today: Session) -> Session:
    """The session of the command that opened a run: its folder, so its settings file, and its chain.

    What is told today, of `--model` and `--max-cost`, counts more: a person may resume with another one.
    """
    cwd = Path(entry.get("cwd") or today.cwd)
    given: dict[str, object] = {"workspace": str(today.workspace_root)}
    now = today.settings
    for key, value_now, kept in (
        ("model", now.model, entry.get("model")),
        ("execution.max_cost", now.execution.max_cost, entry.get("max_cost")),
    ):
        value = value_now if now.origins.get(key) == "command line" else kept
        if value:
            given[key] = value
    base_url = today.base_url or entry.get("base_url")
    return replace(today, settings=load_settings(cwd, command_line=given), cwd=cwd, base_url=base_url)


def places_of(session: Session, options: Options, default_out: Path | None) -> Places:
    """Where files are looked for, and where copies go.

    Raises:
        InputError: a folder that was named is none.
    """
    from transom.cli.variables import parse_variables

    variables = parse_variables(options.variables, session.cwd, None)
    for where, folder in _named_folders(options, variables):
        if not os.path.isdir(folder):  # noqa: PTH112  unlike Path.is_dir it never raises
            raise InputError(f"{folder} is no folder", where=where, hint="name a folder that exists")
    return Places(variables, session.settings.paths.search_root, options.root, options.out or default_out)


def _named_folders(options: Options, variables: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    yield from ((f"--var {name}", folder) for name, folder in variables.items())
    if options.root:
        yield "--root", options.root


def manner_of(
    session: Session,
    options: Options,
    *,
    needs_sandbox: bool = True,
    playbook: Playbook | None = None,
    memory: Memory | None = None,
) -> Manner:
    """How the check is made, from the settings and the options.

    Args:
        playbook: what the roles of a build are shown of, and what learns from it.
        memory: of earlier items.

    Raises:
        SandboxUnavailable: this machine has not the level that the settings insist on.
    """
    settings, held = session.settings, session.settings.tool_constraints
    limits = ViewLimits(header_lines=held.header_lines_default, total_bytes=held.max_total_read_bytes)
    tools = FileLimits(
        lines_per_call=held.max_read_lines_per_call,
        total_bytes=held.max_total_read_bytes,
        header_lines=held.header_lines_default,
        discovery_first=held.require_discovery_before_read,
    )
    parser, logic, repair = (session.call_settings(seat, CallSettings()) for seat in ("agent_a", "agent_b", "reflect"))
    repairs = settings.execution.max_iterations
    build = BuildSettings(parser, logic, repair, limits, tools, held.max_turns, repairs, playbook)
    sandbox = sandbox_of(session, options) if needs_sandbox else cast("Sandbox", None)
    return Manner(Occasion(options.day, options.fail_on_unused), sandbox, build=build, memory=memory)


def sandbox_of(session: Session, options: Options) -> Sandbox:
    """Where generated code is run.

    Raises:
        InputError: `--unsafe-no-sandbox` where the settings insist on a level.
        SandboxUnavailable: this machine does not offer the level, or none.
    """
    level = session.settings.sandbox.level
    if not options.unsafe:
        return Sandbox(level=Level(level) if level else None)
    if level:
        what = f"the settings insist on sandbox.level {level}"
        raise InputError(what, where=UNSAFE_OPTION, hint="take one of the two back")
    say(f"transom: {UNSAFE_OPTION}: {UNSAFE_RISK}")
    return Sandbox(level=Level.NONE)
