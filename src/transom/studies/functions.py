"""Solve designs by a Python function, in a process of its own, within the limits of commands."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transom.studies.failures import classify
from transom.studies.job_output import JobOutput
from transom.studies.jobs import watch
from transom.studies.solver import Solved
from transom.studies.study import JobLimits, Number, Study
from transom.studies.taxonomy import Taxonomy

VALUE = "value"
"""Name of the output of a function that returns a number."""
_OUTPUTS = "outputs.json"
_PARENT_WATCH = 0.5  # seconds between two looks whether the parent process still lives


class NoNumbers(TypeError):
    """A function returned no number and no mapping of names to numbers."""


@dataclass
class FunctionSolver:
    """A solver that calls a function with the variables and constants as keyword arguments.

    The function returns a number, or a mapping of names to numbers. If it raises, its design has
    failed, and the exception says how.
    """

    function: Callable[..., object]
    study: Study
    taxonomy: Taxonomy

    @property
    def by(self) -> str:
        """Return the name of the function."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def check(self) -> None:
        """Do nothing: a function can always be called."""

    def solve(self, folder: Path, values: Mapping[str, Number], limits: JobLimits) -> Solved:
        """Call the function in a process of its own."""
        began = time.monotonic()
        process = _ForkedProcess(lambda: _call(self.function, values, folder))
        try:
            stopped = watch(process, folder, limits, began)
        finally:
            process.kill_all()
        outputs: dict[str, float] = {}
        # The file is complete only after a normal end.
        if process.returncode == 0 and stopped is None:
            outputs = json.loads((folder / _OUTPUTS).read_text("utf-8"))
        job = JobOutput.read(
            folder,
            process.returncode,
            input_files={_OUTPUTS},
            stopped=stopped,
            values=outputs,
        )
        diagnosed = classify(job, self.taxonomy)
        if diagnosed.failure:
            outputs = {}
        return Solved(diagnosed, outputs, time.monotonic() - began, self.by)


class _ForkedProcess:
    """A child process that calls a function; it is waited for as a process of `subprocess`."""

    def __init__(self, function: Callable[[], None]) -> None:
        # A fork has the function as it is here, also one of a notebook, which cannot be pickled.
        process = multiprocessing.get_context("fork").Process(
            target=_run_child, args=(function, os.getpid()), daemon=False
        )
        process.start()
        self._process = process
        self.pid = process.pid or 0

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> None:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("function", timeout or 0)

    def kill_all(self) -> None:
        """Kill the process and what it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()


def _run_child(function: Callable[[], None], parent: int) -> None:
    """Run in the child: lead a group that ends with the parent, and call the function."""
    # A session of its own: one signal then reaches all that the function starts.
    os.setsid()

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_WATCH)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=end_with_parent, daemon=True).start()
    function()


def _call(function: Callable[..., object], values: Mapping[str, Number], folder: Path) -> None:
    """Call the function in the child, with its output in files, and write what it returns."""
    os.chdir(folder)
    for name, stream in (("stdout.txt", 1), ("stderr.txt", 2)):
        file = os.open(name, os.O_WRONLY | os.O_CREAT)
        os.dup2(file, stream)
    # A notebook has streams of its own in place of these files.
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    # The exception goes to stderr, where it is classified as a solver's message would be.
    code = 0
    try:
        outputs = _numbers(function(**values))
        Path(_OUTPUTS).write_text(json.dumps(outputs), "utf-8")
    except BaseException:  # noqa: BLE001  the child's last word
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    # Without the exit handlers of the parent's program, which are not the child's.
    os._exit(code)


def _numbers(returned: Any) -> dict[str, float]:
    """Return the outputs of a function: one number, or a mapping of names to numbers."""
    outputs = returned if isinstance(returned, Mapping) else {VALUE: returned}
    numbers = {}
    for name, value in outputs.items():
        try:
            numbers[str(name)] = math.nan if value is None else float(value)
        except (TypeError, ValueError):
            raise NoNumbers(f"the function returned {value!r} for {name}, no number") from None
    return numbers
