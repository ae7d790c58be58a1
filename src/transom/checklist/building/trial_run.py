"""Trying what was written: `atoms.py` and `checker.yaml` of one iteration, report to the gates
on real files.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from transom.canonical import digest
from transom.checklist.building.checker import (
    ATOMS_FILE,
    BUILD_FILE,
    CHECKER_FILE,
    ITEM_FILE,
    atoms_source,
    checker_yaml,
)
from transom.checklist.building.gates import Trial, run_gates, run_parser_gates
from transom.checklist.building.inputs import BuildInputs
from transom.checklist.building.overview import FileOverview, present_files
from transom.checklist.building.reading import Answers, LogicReply
from transom.checklist.building.state import BuildState
from transom.checklist.building.writing import numbered
from transom.checklist.complexity import complexity_of
from transom.checklist.item import parse_item
from transom.checklist.results import BuildRecord
from transom.checklist.writing.document import parse_spec
from transom.errors import InputError
from transom.evidence.findings import Finding
from transom.runs import A_PERSON, Artifact, ArtifactFile, Run, Stage, model_file, text_file
from transom.sandbox import Sandbox

FOLDER = "build/checker"


@dataclass(frozen=True)
class TrialRun:
    """Bench on which a checker is put together and tried. Each iteration leaves a checker folder
    of its own.
    """

    run: Run
    sandbox: Sandbox
    tests: bool = False

    async def atoms(self, state: BuildState) -> Artifact[str]:
        """Write `atoms.py` of this iteration; one that a person edited stays as it is."""
        if state.atoms and (state.atoms.by == A_PERSON or state.logic is None):
            return state.atoms
        output = text_file(ATOMS_FILE, numbered(FOLDER, state.iteration))
        return await self.run.stage(
            numbered("build/atoms", state.iteration), _atoms, state.atom_a, state.logic, out=output
        )

    async def config(self, state: BuildState) -> Artifact[str]:
        """Write `checker.yaml` of this iteration, as for the atoms."""
        if state.config and state.config.by == A_PERSON:
            return state.config
        identity = [state.inputs.item_id, state.inputs.description]
        output = text_file(CHECKER_FILE, numbered(FOLDER, state.iteration))
        return await self.run.stage(
            numbered("build/config", state.iteration), _config, state.logic, *identity, out=output
        )

    async def parser(self, state: BuildState) -> tuple[Finding, ...]:
        """Return the findings on atom A by itself, if there is no logic to try it with."""
        assert state.overview is not None and state.atom_a is not None
        return await run_parser_gates(
            state.atom_a.value, trial_of(state.inputs, state.overview.value, self.sandbox)
        )

    async def gates(self, state: BuildState) -> Artifact[BuildRecord]:
        """Record of the gates on both.

        A record that holds findings counts only for the files that it was made on: other logs may
        be what it takes.
        """
        assert state.overview is not None
        trial = replace(
            trial_of(state.inputs, state.overview.value, self.sandbox), tests=self.tests
        )
        # Digests instead of paths: a log that was moved is the same log.
        files = {path.name: _sha256(path) for path in trial.files}

        level = complexity_of(state.inputs.description)

        async def step(
            stage: Stage,
            code: str,
            config: str,
            item: str,
            spec: str,
            author_name: str,
            *tests: str,
        ) -> BuildRecord:
            del stage, tests
            provider, _, model = author_name.partition(":")
            report = await run_gates(code, config, parse_spec(spec), trial)
            record = BuildRecord.of(
                report.rows, item, spec, trial.level, state.inputs.item_id, provider, model or None
            )
            digests = {ATOMS_FILE: digest(code), CHECKER_FILE: digest(config)}
            return record.model_copy(
                update={
                    "mutation": report.mutation,
                    "tests": report.tests,
                    "complexity": level,
                    "files": digests,
                    "tried_on": files,
                }
            )

        output = model_file(BUILD_FILE, BuildRecord, numbered(FOLDER, state.iteration))
        declared = [
            state.atoms,
            state.config,
            state.inputs.item_text or "",
            state.inputs.spec,
            author(state),
        ]
        if self.tests:
            declared.append("tests")
        name, reuse = numbered("build/gates", state.iteration), self._holds(output, files)
        return await self.run.stage(name, step, *declared, out=output, reuse=reuse)

    async def answered(
        self, state: BuildState, answers: Artifact[Answers]
    ) -> Artifact[BuildRecord]:
        """Record what the writer of atom A answered to the gates' questions."""
        name = numbered("build/answered", state.iteration)
        output = model_file(
            BUILD_FILE, BuildRecord, numbered(f"{FOLDER}_answered", state.iteration)
        )
        return await self.run.stage(name, _answered, state.record, answers, out=output)

    def _holds(self, output: ArtifactFile[BuildRecord], files: dict[str, str]) -> bool:
        path = self.run.folder / output.folder / output.name
        try:
            record = output.read(path) if path.is_file() else None
        except InputError:
            return True  # the stage itself says what is wrong with the file
        # A passed checker stands; one that failed may pass on other logs.
        return record is None or record.status == "done" or record.tried_on == files


def trial_of(inputs: BuildInputs, overview: FileOverview, sandbox: Sandbox) -> Trial:
    """Return the files that a checker is tried on: the item's own, and those seen beside them."""
    item = parse_item(inputs.item_text, Path(ITEM_FILE)) if inputs.item_text else None
    return Trial(
        sandbox,
        inputs.files,
        tuple(present_files(overview.shown, inputs.roots)),
        inputs.roots,
        item,
    )


def author(state: BuildState) -> str:
    """Return the author of the atoms, and whether a person changed the checker since."""
    # A person who wrote the whole checker has no parser of a role beside it.
    parser = state.atom_a.by if state.atom_a else A_PERSON
    hands = set()
    for artifact in (state.atom_a, state.logic, state.atoms, state.config):
        if artifact:
            hands.add(artifact.by)
    if parser == A_PERSON or A_PERSON not in hands:
        return parser
    return f"{parser}, edited by {A_PERSON}"


async def _answered(stage: Stage, record: BuildRecord, answers: Answers) -> BuildRecord:
    del stage
    return record.model_copy(update={"answers": answers.rows})


async def _atoms(stage: Stage, atom_a: str, logic: LogicReply) -> str:
    del stage
    return atoms_source(atom_a, logic)


async def _config(stage: Stage, logic: LogicReply, item_id: str, description: str) -> str:
    del stage
    return checker_yaml(logic.config(item_id, description))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
