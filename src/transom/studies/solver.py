"""Solvers: command lines with templates and extractors, and plug-ins such as the shipped
bracket.
"""

from __future__ import annotations

import importlib
import json
import random
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from transom.canonical import write_atomic
from transom.errors import InputError
from transom.store.disk_room import NO_ROOM
from transom.studies.expression import fill
from transom.studies.failures import Diagnosis, FailureEvidence, classify, diagnosis
from transom.studies.job_files import extract
from transom.studies.job_output import JobOutput
from transom.studies.jobs import run_job
from transom.studies.study import Extractor, JobLimits, Number, Study, random_design
from transom.studies.taxonomy import Taxonomy

PLUGINS = {"bracket": "transom.studies.bracket.solver:Bracket"}
"""Shipped plug-ins; `use: package.module:Class` names any other."""


@dataclass(frozen=True)
class Solved:
    """The result of a solve: diagnosis, outputs (none for a failure), wall time, and solver."""

    diagnosis: Diagnosis
    outputs: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    by: str = ""


class Solver(Protocol):
    """A solver of designs. A plug-in is created as `Class(study, taxonomy)`; `by` is its name,
    e.g. `ccx`.
    """

    @property
    def by(self) -> str: ...

    def check(self) -> None:
        """Raise InputError if it cannot run here, with what to do."""

    def solve(self, folder: Path, values: Mapping[str, Number], limits: JobLimits) -> Solved:
        """Solve the design of these variables, constants and settings in its own folder, which is
        kept.

        Failures are in the diagnosis.
        """


def make_solver(study: Study, taxonomy: Taxonomy) -> Solver:
    """Return a study's solver; InputError if the plug-in is unknown."""
    name = study.solver.use
    if not name:
        return CommandSolver(study, taxonomy)
    # A name with a colon is a path to somebody's own class.
    if ":" not in name and name not in PLUGINS:
        hint = f"known: {', '.join(PLUGINS)}, and yours as package.module:Class"
        raise InputError(f"unknown solver {name!r}", place="solver.use", hint=hint)
    solver: Solver = load_callable(PLUGINS.get(name, name), "solver.use")(study, taxonomy)
    return solver


def load_callable(name: str, where: str) -> Callable[..., Any]:
    """Import `package.module:name`; InputError if it cannot be imported or called."""
    module, _, attribute = name.partition(":")
    try:
        loaded = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        hint = "write package.module:name, and install that package"
        raise InputError(f"{name!r} cannot be imported: {error}", place=where, hint=hint) from error
    if not callable(loaded):
        raise InputError(f"{name} cannot be called", place=where, hint="name a class or function")
    return loaded  # type: ignore[no-any-return]  # as `callable` says


@dataclass
class CommandSolver:
    """A solver by command line: templates are filled into its folder, its outputs are read from
    there.
    """

    study: Study
    taxonomy: Taxonomy

    @property
    def by(self) -> str:
        return Path(self.study.solver.command[0]).name

    def check(self) -> None:
        spec, folder = self.study.solver, self.study.folder
        program = spec.command[0]
        if "{{" not in program and _program(program, folder) is None:
            hint = (
                "install it or correct solver.command; `transom doctor` lists the solvers that are"
                " found"
            )
            raise InputError(
                f"the solver {program} was not found", place="solver.command", hint=hint
            )
        files_of_solve = {*spec.templates, *(item.file for item in spec.outputs.values())}
        # A file beside the study is out of reach: each solve runs in a folder of its own.
        for item in spec.command[1:]:
            if (
                item not in files_of_solve
                and not Path(item).is_absolute()
                and (folder / item).is_file()
            ):
                hint = f'each solve has its own folder: write "{{{{study_folder}}}}/{item}"'
                raise InputError(
                    f"{item} is beside the study, not in the folder of a solve",
                    place="solver.command",
                    hint=hint,
                )
        # A wrong template is wrong for every design: report it before the first solve.
        example = self.study.values(random_design(self.study, random.Random(0)))
        example |= {"folder": "", "study_folder": ""}
        texts = {f"template {name}": text for name, text in self.study.templates.items()}
        for where, text in {**texts, "solver.command": " ".join(spec.command)}.items():
            try:
                fill(text, example)
            except ValueError as error:
                raise InputError(str(error), place=where, hint="correct the placeholder") from error

    def solve(self, folder: Path, values: Mapping[str, Number], limits: JobLimits) -> Solved:
        spec, names = (
            self.study.solver,
            {**values, "folder": str(folder), "study_folder": str(self.study.folder)},
        )
        for name, text in self.study.templates.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(fill(text, names), "utf-8")
        program, *arguments = (fill(part, names) for part in spec.command)
        command = [_program(program, self.study.folder) or program, *arguments]
        needed = self.study.needed_outputs
        return run_and_judge(
            command,
            folder,
            limits,
            self.taxonomy,
            spec.outputs,
            needed,
            self.by,
            finished=spec.finished,
        )


def run_and_judge(
    command: list[str],
    folder: Path,
    limits: JobLimits,
    taxonomy: Taxonomy,
    outputs: Mapping[str, Extractor],
    needed: Collection[str],
    by: str,
    finished: str | None = None,
) -> Solved:
    """Run a command in its folder, read its outputs, and diagnose it.

    Without the `needed` outputs, or a line that matches `finished`, it failed.
    """
    # Input files quote words such as `error` in comments: they are not searched.
    input_files = {path.name for path in folder.iterdir()}
    try:
        ended = run_job(command, folder, limits)
        read = (
            {}
            if ended.stopped
            else {name: extract(extractor, folder) for name, extractor in outputs.items()}
        )
        values = {}
        for name, value in read.items():
            if value is not None:
                values[name] = value
        # After a failure missing outputs are no news.
        missing = sorted(set(needed) - values.keys()) if ended.return_code == 0 else ()
        job = JobOutput.read(
            folder,
            ended.return_code,
            input_files=input_files,
            stopped=ended.stopped,
            values=values,
            missing=missing,
            finished=finished,
        )
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        return Solved(diagnosis("disk_full", taxonomy, FailureEvidence("limit", str(error))), by=by)
    judged = classify(job, taxonomy)
    return Solved(judged, {} if judged.failure else values, ended.seconds, by)


def _program(name: str, folder: Path) -> str | None:
    """Return the path of a command: a file beside the study, or one on the search path."""
    local_file = folder / name
    return str(local_file.resolve()) if "/" in name and local_file.is_file() else shutil.which(name)


def write_json(path: Path, value: object) -> None:
    """Write a small JSON file atomically."""
    write_atomic(path, (json.dumps(value, sort_keys=True) + "\n").encode("utf-8"))
