"""Runs go on in processes of their own, which survive the server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Thread

from transom.errors import RunError
from transom.runs.history import RunHistory, RunView, StartedProcess

LOG = "resumed.log"
"""File in a run's folder with what the process printed that went on with it last."""


def resume(runs: RunHistory, run: RunView) -> None:
    """Go on with a run in a process of its own.

    Raises:
        RunError: no command began it, or the process cannot be started.
    """
    if "command" not in run.state.entry:
        problem = "no command of transom started this run"
        hint = "start the program that began it again; it resumes at the same point"
        raise RunError(problem, place=run.row.id, hint=hint)
    workspace = runs.workspace
    arguments = ["resume", run.row.id, "--workspace", str(workspace.root)]
    folder = workspace.run_folder(run.row.name, run.row.id)
    # Opened anew: an earlier failure would look as if this process had reported it.
    process = launch(runs, arguments, folder / LOG)
    # Until it has opened the run, nothing in the journal tells that the run goes on.
    runs.started[run.row.id] = StartedProcess(process, run.records[-1].at)


def launch(runs: RunHistory, arguments: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Start `transom` in a process of its own, which prints into a file.

    Raises:
        RunError: the process cannot be started.
    """
    workspace = runs.workspace
    # Keys of providers reach the process as they reach any command. The place of the database may
    # come from an option of `transom serve`, so it is passed on.
    environment = dict(os.environ)
    if workspace.server is not None:
        environment["TRANSOM_STORE"] = workspace.server.url
    elif workspace.state_dir != workspace.root:
        environment["TRANSOM_STATE_DIR"] = str(workspace.state_dir)
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "transom", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                # Ctrl-C in the server's terminal is not for it.
                start_new_session=True,
            )
    except OSError as error:
        raise RunError(f"cannot be started: {error.strerror}", place=str(log.parent)) from error
    # Otherwise a process that has ended would look alive for as long as the server runs.
    Thread(target=process.wait, daemon=True).start()
    return process
