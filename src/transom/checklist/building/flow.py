"""`check build`: ItemSpec -> checker folder. Look at real files, write, try, mend what the gates
name, or ask a person.

The flow is a table of nodes and routes; `run.stage` beneath the nodes keeps what was paid for.

    load_spec > preprocess > parser > logic > validate > (questions) > done
                                               |   ^
                                               v   |
                                     repair_a, repair_b        (the parser first, then the rest)
                                               |
                                               v
                                         human_required
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from transom.canonical import pretty_json
from transom.checklist.building import routes
from transom.checklist.building.artifacts import ATOM_A, CHECKER
from transom.checklist.building.checker import (
    ATOMS_FILE,
    BUILD_FILE,
    CHECKER_FILE,
    ITEM_FILE,
    SPEC_FILE,
)
from transom.checklist.building.drafts import with_drafts, with_finished
from transom.checklist.building.handover import REPORT_FILE, error_row, report_of, stub_files
from transom.checklist.building.inputs import BuildInputs
from transom.checklist.building.lessons import RECALL, learn
from transom.checklist.building.overview import FileOverview, survey_files
from transom.checklist.building.settings import BuildSettings
from transom.checklist.building.state import BuildState, RepairAttempt, shortly
from transom.checklist.building.trial_run import TrialRun
from transom.checklist.building.writing import Writers, inputs_of
from transom.checklist.copies import adopt_edits, export, retract
from transom.checklist.results import BuildRecord, BuildResult, GateRow
from transom.errors import EgressError, NeedsModel, ReplyError
from transom.evidence.findings import Finding
from transom.runs import A_PERSON, Artifact, FlowTable, Run, Stage, model_file, walk
from transom.runs.walk import hand_over
from transom.sandbox import Sandbox

T = TypeVar("T")


@dataclass(frozen=True)
class BuiltChecker:
    """A checker folder, and how its build went."""

    folder: Path
    result: BuildResult

    @property
    def done(self) -> bool:
        return self.result.status == "done"

    @property
    def judges(self) -> bool:
        """Return whether there is a checker that gives verdicts, doubted ones included."""
        return self.result.status in ("done", "needs_review") and self.result.waits_for is None


async def build_checker(
    run: Run,
    inputs: BuildInputs,
    sandbox: Sandbox,
    settings: BuildSettings,
    folder: Path | None = None,
) -> BuiltChecker:
    """Build a checker, in `folder` for a person, or inside the run if that is None.

    Raises:
        NeedsModel: the embedded rules do not understand the ItemSpec or the files.
        InputError: the ItemSpec lacks a section.
    """
    # Before anything runs: an edited file is an input of the stages that follow.
    if folder:
        adopt_edits(run, folder, (ATOMS_FILE, CHECKER_FILE))
    start = start_of(run, inputs, settings.max_iterations)
    state = await walk(run, build_table(run, sandbox, settings, folder, start.repairs), start)
    assert state.result is not None
    if settings.playbook:
        learn(run, settings.playbook, state)
    return BuiltChecker(Path(state.result.checker_path or run.folder), state.result)


def start_of(run: Run, inputs: BuildInputs, max_iterations: int) -> BuildState:
    """Return the state at first.

    A person who had the run go on granted as many repairs again (`reset`) or one more, counted from
    those that were made by then (`after`).
    """
    # The number of repairs is part of the state, so a resumed run takes the same path.
    extra_repairs = []
    for help_ in run.state.helps:
        extra_repairs.append(help_["after"] + (max(max_iterations, 1) if help_["reset"] else 1))
    return BuildState(inputs, max([max_iterations, *extra_repairs]), tuple(run.state.helps))


def build_table(
    run: Run, sandbox: Sandbox, settings: BuildSettings, folder: Path | None, repairs: int
) -> FlowTable[BuildState]:
    """Return the flow as a table; every node is declared, every route is pure."""
    nodes = _Nodes(
        run, Writers(run, settings), TrialRun(run, sandbox, tests=settings.tests), settings, folder
    )
    return FlowTable(
        name="build",
        start="load_spec",
        nodes={name: getattr(nodes, name) for name in (*routes.ROUTES, *routes.ENDS)},
        routes=routes.ROUTES,
        # A repair takes at most three steps (repair, logic, validate) beside the first walk
        # through.
        most_steps=8 + 3 * repairs,
    )


@dataclass(frozen=True)
class _Nodes:
    """The nodes of the table: each takes the state and gives the next one."""

    run: Run
    writers: Writers
    bench: TrialRun
    settings: BuildSettings
    folder: Path | None

    async def load_spec(self, state: BuildState) -> BuildState:
        playbook = self.settings.playbook
        if playbook:
            hints = await playbook.recall(self.run, RECALL, state.inputs.description)
        else:
            hints = None
        return replace(
            state, sections=inputs_of(state.inputs), hints=hints if hints and hints.value else None
        )

    async def preprocess(self, state: BuildState) -> BuildState:
        """Discover the files and view them.

        The views are kept with the run, so that new logs never rebuild a checker.
        """
        inputs, limits = state.inputs, self.settings.limits

        async def step(stage: Stage, section_4_1: str, *_: object) -> FileOverview:
            # The item's text and the limits are inputs all the same: they decide on which files,
            # and on how much.
            overview = await asyncio.to_thread(
                survey_files, section_4_1, inputs.files, inputs.roots, limits
            )
            # Without files, or with broken ones, the next run has to look again.
            stage.memoise = bool(overview.files) and not overview.broken
            return overview

        assert state.sections is not None
        declared = [state.sections["4.1"], inputs.item_text or "", asdict(limits)]
        overview = await self.run.stage(
            "build/discover", step, *declared, out=model_file("discovered.json", FileOverview)
        )
        state = replace(state, overview=overview)
        state = await with_finished(self.run, state)
        return replace(state, result=_unseen(self.run, overview.value, inputs))

    async def parser(self, state: BuildState) -> BuildState:
        try:
            atom_a, unread = await _read(self.writers.parser(state), ATOM_A)
        except NeedsModel:
            # Nothing rests on what was seen yet, and other logs may be understood: look anew the
            # next time.
            assert state.overview is not None
            state.overview.path.unlink(missing_ok=True)
            raise
        return replace(state, atom_a=atom_a, unread=unread)

    async def logic(self, state: BuildState) -> BuildState:
        logic, unread = await _read(self.writers.logic(state), CHECKER)
        if unread and not state.logic:
            # The parser is tried already: one that has to change makes the logic worthless.
            unread = (*await self.bench.parser(state), *unread)
        return replace(state, logic=logic or state.logic, unread=unread, fields_changed=False)

    async def validate(self, state: BuildState) -> BuildState:
        # A parser that could be read needs no other code if the person wrote `checker.yaml` alone.
        if state.logic is None and state.atoms is None:
            state = await with_drafts(self.run, state)
        # In this order: each artifact is an input of the next stage.
        state = replace(state, atoms=await self.bench.atoms(state))
        state = replace(state, config=await self.bench.config(state))
        return replace(state, record=await self.bench.gates(state))

    async def questions(self, state: BuildState) -> BuildState:
        """Ask the gates' questions of the writer of atom A.

        Questions without an answer stay for the person who approves the checker.
        """
        assert state.record
        questions = [row.message for row in state.record.value.questions]
        state = replace(state, was_asked=True)
        try:
            answers = await self.writers.answers(state, questions)
        except (EgressError, NeedsModel, ReplyError):
            return state
        answer = []
        for row in answers.value.to_mend:
            answer.append(f"{row.question} The writer's answer: {row.answer}")
        unread = tuple(Finding("questions", ATOM_A, None, text) for text in answer)
        return replace(state, record=await self.bench.answered(state, answers), unread=unread)

    async def repair_a(self, state: BuildState) -> BuildState:
        atom_a, unread, stuck = await self._repaired(
            state, "repair_a", self.writers.repair_a, ATOM_A
        )
        # Only if other fields come out does the logic have to be written again.
        before = routes.emitted_fields(state.atom_a.value) if state.atom_a else frozenset()
        changed = atom_a is not None and routes.emitted_fields(atom_a.value) != before
        state = _after(state, "repair_a", unread, stuck)
        return replace(
            state, atom_a=atom_a or state.atom_a, fields_changed=changed or state.fields_changed
        )

    async def repair_b(self, state: BuildState) -> BuildState:
        logic, unread, stuck = await self._repaired(
            state, "repair_b", self.writers.repair_b, CHECKER
        )
        return replace(_after(state, "repair_b", unread, stuck), logic=logic or state.logic)

    async def human_required(self, state: BuildState) -> BuildState:
        """Write the report and a stub in the checker's place, which never passes."""
        # Of what was written and tried, the person edits that.
        if not state.atoms or not state.config:
            state = await with_drafts(self.run, state)
        target = self.folder or self.run.folder / "build" / "unfinished"
        report = report_of(self.run, state)
        text = pretty_json(report).encode("utf-8")
        # A person may finish the stub in its place: then that counts as an edit of what was tried
        # last.
        artifacts = {ATOMS_FILE: state.atoms, CHECKER_FILE: state.config}
        for name, data in {**stub_files(state), REPORT_FILE: text}.items():
            artifact, copy = artifacts.get(name), target / name
            path = artifact.path if artifact else None
            # Her version of what was tried last stays where it lies; the record makes every verdict
            # an ERROR.
            edited = (
                artifact
                and artifact.by == A_PERSON
                and copy.is_file()
                and copy.read_bytes() == artifact.path.read_bytes()
            )
            data = copy.read_bytes() if edited else data
            await export(
                self.run.store, target / name, data, artifact=path, progress=self.run.progress
            )
        await self._write_beside(state.inputs, target)
        await hand_over(
            self.run,
            state.iteration,
            [artifact.path for artifact in artifacts.values() if artifact],
            [str(finding) for finding in report.last_validation_errors],
        )
        # The summary is all that a list of runs shows of the build.
        waits = f"{report.failure_summary}; see {target / REPORT_FILE}"
        return replace(state, result=_result(self.run, state, "human_required", target, waits))

    async def done(self, state: BuildState) -> BuildState:
        """Hand over the folder of the last iteration, and a copy of it if a person wants one."""
        # Discovery found nothing to build for.
        if state.result:
            return state
        assert state.atoms and state.config and state.record
        artifacts: dict[str, Artifact[Any]] = {
            ATOMS_FILE: state.atoms,
            CHECKER_FILE: state.config,
            BUILD_FILE: state.record,
        }
        target = self.folder or state.record.path.parent
        for name, artifact in artifacts.items():
            if artifact.path != target / name:
                data, path = artifact.path.read_bytes(), artifact.path
                await export(
                    self.run.store, target / name, data, artifact=path, progress=self.run.progress
                )
        retract(self.run.store, target / REPORT_FILE)  # of a build that had given up
        await self._write_beside(state.inputs, target)
        return replace(state, result=_result(self.run, state, state.record.value.status, target))

    async def _repaired(
        self,
        state: BuildState,
        role: str,
        write: Callable[[BuildState], Awaitable[Artifact[T]]],
        artifact: str,
    ) -> tuple[Artifact[T] | None, tuple[Finding, ...], str]:
        """Return what a repair wrote, what could not be read of it, and why it was not made."""
        number = state.iteration + 1
        self.run.progress(
            f"{role} {number} of {state.repairs}, because of {shortly(state.findings)}"
        )
        # Recorded before the call, so that a crash in it does not lose the reason.
        self.run.files.put_iteration(
            number, error_row(number, RepairAttempt(role, state.findings)).model_dump(mode="json")
        )
        try:
            value, unread = await _read(write(state), artifact)
        except NeedsModel:
            return None, (), f"{self.run.chain.name} does not repair"
        return value, unread, ""

    async def _write_beside(self, inputs: BuildInputs, target: Path) -> None:
        """Write a copy of item and ItemSpec beside the checker."""
        files = {SPEC_FILE: inputs.spec_text.encode("utf-8")}
        if inputs.item_text is not None:
            files[ITEM_FILE] = inputs.item_text.encode("utf-8")
        for name, data in files.items():
            await export(self.run.store, target / name, data, progress=self.run.progress)


async def _read(
    writing: Awaitable[Artifact[T]], artifact: str
) -> tuple[Artifact[T] | None, tuple[Finding, ...]]:
    """Return the artifact that a role wrote; an unreadable reply is a finding like any other."""
    try:
        return await writing, ()
    except ReplyError as error:
        return None, (Finding("reply", artifact, None, str(error)),)


def _after(state: BuildState, role: str, unread: tuple[Finding, ...], stuck: str) -> BuildState:
    """Return the state after a repair; if none was possible, the state says why it is stuck."""
    if stuck:
        return replace(state, stuck=stuck)
    return replace(
        state, attempts=(*state.attempts, RepairAttempt(role, state.findings)), unread=unread
    )


def _unseen(run: Run, overview: FileOverview, inputs: BuildInputs) -> BuildResult | None:
    """Return the answer if there is no file to look at, or one that cannot be read."""
    # Nothing is wrong, and nothing can be built yet.
    if not overview.files:
        folders = ", ".join(map(str, inputs.roots)) or "any root"
        hint = "name a folder that has some with --root or --var"
        if inputs.item_text is None:
            hint = "name the item, which names its files, with --item ITEM.yaml"
        expected = f"no log or report was found under {folders}; {hint}"
        return BuildResult(
            status="needs_review", item_id=inputs.item_id, waits_for=expected, run_id=run.id
        )
    if overview.broken:
        # Without the item's own files there is nothing to build for: an error, as it is for a
        # check.
        findings = tuple(
            Finding("inputs", name, None, why) for name, why in overview.broken.items()
        )
        row = GateRow(gate="inputs", passed=False, findings=findings)
        return BuildResult(status="ERROR", item_id=inputs.item_id, gates=(row,), run_id=run.id)
    return None


def _result(
    run: Run, state: BuildState, status: str, target: Path, waits_for: str | None = None
) -> BuildResult:
    record: BuildRecord | None = state.record.value if state.record else None
    return BuildResult.model_validate(
        {
            "status": status,
            "item_id": state.inputs.item_id,
            "checker_path": str(target),
            "iterations": state.iteration,
            "gates": record.gates if record else (),
            "mutation": record.mutation if record else None,
            "waits_for": waits_for,
            "run_id": run.id,
        }
    )
