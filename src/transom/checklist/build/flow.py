"""`check build`: ItemSpec -> checker folder. Look at real files, write atoms and YAML, hold them to the gates."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from transom.agent import call
from transom.checklist.build.checker import (
    ATOMS_FILE,
    BUILD_FILE,
    CHECKER_FILE,
    ITEM_FILE,
    SPEC_FILE,
    atoms_source,
    checker_yaml,
)
from transom.checklist.build.gates import Trial, hold
from transom.checklist.build.reading import LogicReply, read_atom_a, read_logic
from transom.checklist.build.sight import Sight, look
from transom.checklist.item import parse_item
from transom.checklist.results import BuildRecord, BuildResult, FindingRow, GateRow
from transom.checklist.roles import make_role
from transom.checklist.spec.document import parse_spec, section_texts
from transom.gates import Finding
from transom.llm import Block, CallSettings
from transom.runs import A_PERSON, Artifact, Run, Stage, adopt, export, model_file, text_file
from transom.sandbox import Sandbox
from transom.tools.files import ViewLimits

FOLDER = "build/checker"


@dataclass(frozen=True)
class BuildInputs:
    """What a checker is built from.

    Attributes:
        item_id, description: of the item, or as the ItemSpec's title says where there is no item.
        item_text: the item's YAML, None without one.
        spec: the ItemSpec, as an artifact of the same run or as a text.
        files: the item's own input files that exist, in its order.
        roots: where else to look, and what file names are shown relative to.
    """

    item_id: str
    description: str
    item_text: str | None
    spec: Artifact[str] | str
    files: tuple[Path, ...]
    roots: tuple[Path, ...]

    @property
    def spec_text(self) -> str:
        return self.spec.value if isinstance(self.spec, Artifact) else self.spec

    def section(self, number: str) -> Artifact[str] | str:
        """A section as an input of its own: a stage is redone when its sections change, not when others do.

        Raises:
            InputError: the ItemSpec has no such section.
        """
        text = section_texts(self.spec_text)[number]
        return self.spec.part(text) if isinstance(self.spec, Artifact) else text


@dataclass(frozen=True)
class BuildSettings:
    """How the build roles ask, and how much of the logs they are shown."""

    parser: CallSettings = field(default_factory=CallSettings)
    logic: CallSettings = field(default_factory=CallSettings)
    limits: ViewLimits = field(default_factory=ViewLimits)


@dataclass(frozen=True)
class BuiltChecker:
    """A checker folder, and how its build went."""

    folder: Path
    result: BuildResult

    @property
    def done(self) -> bool:
        return self.result.status == "done"


async def build_checker(
    run: Run, inputs: BuildInputs, sandbox: Sandbox, settings: BuildSettings, folder: Path | None = None
) -> BuiltChecker:
    """Build a checker.

    Args:
        run: in which.
        inputs: from what.
        sandbox: where generated code is tried.
        settings: how.
        folder: where the checker folder goes for a person; inside the run where None.

    Raises:
        NeedsModel: the embedded rules do not understand the ItemSpec or the files.
        InputError: the ItemSpec lacks a section.
    """
    target = folder or run.folder / FOLDER
    for name in (ATOMS_FILE, CHECKER_FILE) if folder else ():
        if adopt(run.store, target / name, run.folder / FOLDER / name):
            run.progress(f"{name} was changed by hand; the change counts")
    sight = await _look(run, inputs, settings.limits)
    if not sight.value.files:
        return BuiltChecker(target, _waiting(run, inputs.roots))
    if sight.value.broken:
        return BuiltChecker(target, _broken(run, sight.value))
    atom_a = await _parser(run, inputs, sight, settings.parser)
    logic = await _logic(run, inputs, atom_a, settings.logic)
    atoms = await run.stage("build/atoms", _atoms, atom_a, logic, out=text_file(ATOMS_FILE, FOLDER))
    named = [inputs.item_id, inputs.description]
    yaml = await run.stage("build/config", _config, logic, *named, out=text_file(CHECKER_FILE, FOLDER))
    author = _author(atom_a.by, edited=A_PERSON in (atom_a.by, logic.by, atoms.by, yaml.by))
    record = await _gates(run, inputs, _trial(inputs, sight.value, sandbox), atoms, yaml, author)
    await _write_folder(run, inputs, target)
    return BuiltChecker(target, _result(run, record.value, target))


async def _look(run: Run, inputs: BuildInputs, limits: ViewLimits) -> Artifact[Sight]:
    """Discovery and the views of files. It is kept with the run, so that new logs never rebuild a checker."""

    async def step(stage: Stage, section_4_1: str, *_: object) -> Sight:
        # The item's text and the limits are inputs all the same: they decide on which files, and on how much of them.
        sight = await asyncio.to_thread(look, section_4_1, inputs.files, inputs.roots, limits)
        stage.memoise = bool(sight.files) and not sight.broken
        return sight

    out = model_file("discovered.json", Sight)
    declared = [inputs.section("4.1"), inputs.item_text or "", asdict(limits)]
    return await run.stage("build/discover", step, *declared, out=out)


async def _parser(run: Run, inputs: BuildInputs, sight: Artifact[Sight], settings: CallSettings) -> Artifact[str]:
    role = make_role("checklist.parser", settings)

    async def step(stage: Stage, section_1: str, section_4_1: str, seen: Sight) -> str:
        blocks = [
            Block("section_1", section_1),
            Block("section_4_1", section_4_1),
            Block("available_files", seen.listing(), trust="untrusted"),
            Block("log_snippets", seen.snippets, trust="untrusted"),
        ]
        answer = await call(stage, role, blocks, read_atom_a)
        stage.note("response.md", answer.reply.text)
        return answer.value

    sections = [inputs.section("1"), inputs.section("4.1")]
    return await run.stage("build/parser", step, *sections, sight, out=text_file("atom_a.py"), uses=[role])


async def _logic(run: Run, inputs: BuildInputs, atom_a: Artifact[str], settings: CallSettings) -> Artifact[LogicReply]:
    role = make_role("checklist.logic", settings)

    async def step(stage: Stage, section_2: str, section_3: str, section_4_2: str, code: str) -> LogicReply:
        blocks = [
            Block("section_2", section_2),
            Block("section_3", section_3),
            Block("section_4_2", section_4_2),
            Block("atom_a_code", code),
        ]
        answer = await call(stage, role, blocks, read_logic)
        stage.note("response.md", answer.reply.text)
        return answer.value

    sections = [inputs.section("2"), inputs.section("3"), inputs.section("4.2")]
    out = model_file("logic.json", LogicReply)
    return await run.stage("build/logic", step, *sections, atom_a, out=out, uses=[role])


async def _atoms(stage: Stage, atom_a: str, logic: LogicReply) -> str:
    del stage
    return atoms_source(atom_a, logic)


async def _config(stage: Stage, logic: LogicReply, item_id: str, description: str) -> str:
    del stage
    return checker_yaml(logic.config(item_id, description))


async def _gates(
    run: Run,
    inputs: BuildInputs,
    trial: Trial,
    atoms: Artifact[str],
    yaml: Artifact[str],
    author: str,
) -> Artifact[BuildRecord]:
    """The gates; a failure is not memoised, since other logs may be what it needs."""

    async def step(stage: Stage, code: str, config: str, item: str, spec: str, who: str) -> BuildRecord:
        provider, _, model = who.partition(":")
        held = await hold(code, config, parse_spec(spec), trial)
        record = BuildRecord.of(held.rows, item, spec, trial.level, inputs.item_id, provider, model or None)
        record = record.model_copy(update={"mutation": held.mutation})
        stage.memoise = record.status == "done"
        return record

    out = model_file(BUILD_FILE, BuildRecord, FOLDER)
    texts = [inputs.item_text or "", inputs.spec]
    return await run.stage("build/gates", step, atoms, yaml, *texts, author, out=out)


def _trial(inputs: BuildInputs, sight: Sight, sandbox: Sandbox) -> Trial:
    others = [root / name for name in sight.shown for root in inputs.roots]
    item = parse_item(inputs.item_text, Path(ITEM_FILE)) if inputs.item_text else None
    seen = tuple(path for path in others if path.is_file())
    return Trial(sandbox, inputs.files, seen, inputs.roots, item)


def _author(parser: str, *, edited: bool) -> str:
    """Who wrote the atoms, and whether a person had a hand in the checker since."""
    if not edited or parser == A_PERSON:
        return parser
    return f"{parser}, edited by {A_PERSON}"


async def _write_folder(run: Run, inputs: BuildInputs, target: Path) -> None:
    """A copy of item and ItemSpec beside the checker, and the whole folder where a person wants it."""
    source = run.folder / FOLDER
    beside = {SPEC_FILE: inputs.spec_text.encode("utf-8")}
    if inputs.item_text is not None:
        beside[ITEM_FILE] = inputs.item_text.encode("utf-8")
    written = {name: (source / name).read_bytes() for name in (ATOMS_FILE, CHECKER_FILE, BUILD_FILE)}
    for name, data in {**beside, **({} if target == source else written)}.items():
        kept = source / name if name in written else None
        await export(run.store, target / name, data, artifact=kept, progress=run.progress)


def _waiting(run: Run, roots: Sequence[Path]) -> BuildResult:
    folders = ", ".join(str(root) for root in roots) or "any root"
    wanted = f"no log or report was found under {folders}; name a folder that has some with --root or --var"
    return BuildResult(status="needs_review", waits_for=wanted, run_id=run.id)


def _broken(run: Run, sight: Sight) -> BuildResult:
    """Without the item's own files there is nothing to build for: an error, as it is for a check."""
    findings = [Finding("inputs", name, None, why) for name, why in sight.broken.items()]
    row = GateRow(gate="inputs", passed=False, findings=tuple(FindingRow.of(finding) for finding in findings))
    return BuildResult(status="ERROR", gates=(row,), run_id=run.id)


def _result(run: Run, record: BuildRecord, target: Path) -> BuildResult:
    return BuildResult(
        status=record.status,
        checker_path=str(target),
        gates=record.gates,
        mutation=record.mutation,
        run_id=run.id,
    )
