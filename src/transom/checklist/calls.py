"""The checklist as calls of a program: `specify`, `build`, `run`, `check_all`, and validation.

    from transom.checklist import check_all

    verdict = await check_all("VER-01.yaml", variables={"LOGS": "/project/logs"}, out="results")

Each call opens a run in the workspace, like the command of the same name: a call that was killed
continues where it was, and completed model calls are not repeated.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from transom.canonical import Json
from transom.checklist import pipeline
from transom.checklist.building.flow import BuiltChecker, build_table, start_of
from transom.checklist.building.gates import read_config, run_code_gates, static_rows
from transom.checklist.building.settings import BuildSettings
from transom.checklist.building.state import BuildState
from transom.checklist.claim_gate import claim_row
from transom.checklist.embedded import embedded_default
from transom.checklist.item import Item, load_item
from transom.checklist.judging import Occasion, Verdict, load_checker, printed
from transom.checklist.judging.loading import complete_atoms
from transom.checklist.known_items import known_item
from transom.checklist.manner import Manner, Places
from transom.checklist.results import BuildResult, GateRow, SpecResult
from transom.checklist.verdicts import Judged, checker_folder, try_scenarios, verdict_of
from transom.checklist.writing.document import parse_spec
from transom.checklist.writing.gate import check_spec
from transom.checklist.writing.write import WrittenSpec
from transom.config import Settings, load_settings
from transom.evidence.findings import Finding
from transom.formats.yaml_files import read_text
from transom.llm import Chain, Provider
from transom.llm.naming import Surroundings, named_chain
from transom.runs import FlowTable, Run, Workspace
from transom.sandbox import Sandbox

Model: TypeAlias = str | Provider | Chain
FilePath: TypeAlias = str | Path


@dataclass(frozen=True)
class CheckOptions:
    """Options of a call; each is the option or setting of the command line with that name.

    Attributes:
        model: a name as for `--model`, a provider, or a chain; None: that of the settings.
        variables: values of `${NAME}` in paths.
        roots: further folders in which files are searched.
        out: a folder for results; None: they stay in the run.
        workspace: the workspace's folder; None: that of the settings, or `.transom`.
        settings: None: those of the nearest file, from the current folder upwards.
        as_of: the day by which waivers expire, ISO; None: today.
        parallel_rounds: draft sections 2 and 3 of an ItemSpec while section 1 is written.
        tests: run the scenarios of the test matrix on the files, too.
        progress: receives one line at a time.
    """

    model: Model | None = None
    variables: Mapping[str, FilePath] = field(default_factory=dict)
    roots: Sequence[FilePath] = ()
    out: FilePath | None = None
    workspace: FilePath | None = None
    settings: Settings | None = None
    as_of: str | None = None
    parallel_rounds: bool = False
    tests: bool = False
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class CodeReport:
    """The gates' answer on a checker's code.

    Attributes:
        errors: one line a finding: artifact, line, and what is wrong.
        gate_results: each gate, and whether the code passed it.
    """

    errors: tuple[str, ...]
    gate_results: Mapping[str, bool]

    @property
    def valid(self) -> bool:
        """Return whether every gate passed."""
        return all(self.gate_results.values())


@dataclass(frozen=True)
class BuildFlow:
    """The flow of a build: nodes and routes, and the state with which it starts."""

    table: FlowTable[BuildState]
    start: BuildState


async def specify(item: FilePath, options: CheckOptions | None = None) -> SpecResult:
    """Write the ItemSpec of an item.

    Raises:
        InputError: the item cannot be read, or a setting is wrong.
        ReplyError: the model's replies cannot be read.
    """
    options = options or CheckOptions()
    loaded = load_item(Path(item))
    async with _run(options, "check", _item_inputs(loaded), loaded.item_id) as (run, settings):
        manner = _manner(options, settings)
        written = await pipeline.spec_of(run, loaded, _places(options, settings), manner)
        result = written.result if isinstance(written, WrittenSpec) else written
        await run.finish(result.status)
    return result


async def build(
    itemspec: FilePath, item: FilePath | None = None, options: CheckOptions | None = None
) -> BuildResult:
    """Build a checker from an ItemSpec, and run its gates.

    Args:
        itemspec: its file.
        item: the item's file; None: the one for which the workspace wrote an ItemSpec last.
        options: None: the defaults.

    Raises:
        InputError: the ItemSpec does not pass its gate, or belongs to another item.
    """
    options = options or CheckOptions()
    async with _building(itemspec, item, options) as (run, text, loaded, places, manner):
        item_id = loaded.item_id if loaded else parse_spec(text).item_id
        folder = places.out / checker_folder(item_id) if places.out else None
        built = await pipeline.checker_of(run, text, loaded, places, manner, folder=folder)
        result = built.result if isinstance(built, BuiltChecker) else built
        if isinstance(built, BuiltChecker) and built.judges and loaded:
            await try_scenarios(run, built.folder, loaded, places, manner)
        await run.finish(result.status)
    return result


@asynccontextmanager
async def build_flow(
    itemspec: FilePath, item: FilePath | None = None, options: CheckOptions | None = None
) -> AsyncIterator[BuildFlow]:
    """Open the flow of `build` as a table of nodes and routes, to be walked by another program.

    The arguments and errors are those of `build`. The run is open as long as the context; a walk
    that stops on the way is continued by the next one, or by `build`.
    """
    options = options or CheckOptions()
    async with _building(itemspec, item, options) as (run, text, loaded, places, manner):
        inputs = pipeline.build_inputs(text, loaded, places, run.folder)
        folder = places.out / checker_folder(inputs.item_id) if places.out else None
        start = start_of(run, inputs, manner.build.max_iterations)
        yield BuildFlow(
            build_table(run, manner.sandbox, manner.build, folder, start.repairs), start
        )


@asynccontextmanager
async def _building(
    itemspec: FilePath, item: FilePath | None, options: CheckOptions
) -> AsyncIterator[tuple[Run, str, Item | None, Places, Manner]]:
    """Open the run of a build, with its ItemSpec, the item, the places and the manner."""
    loaded = load_item(Path(item)) if item else None
    path = Path(itemspec)
    text, item_id = pipeline.read_spec(path, loaded)
    if loaded is None:
        loaded = await _known_item(options, path, item_id)
    inputs: dict[str, Json] = {
        "itemspec": str(path.absolute()),
        "item": str(loaded.path.absolute()) if loaded else None,
    }
    async with _run(options, "check-build", inputs, item_id) as (run, settings):
        places = _places(options, settings)
        # Without an item, relative paths start beside the ItemSpec.
        if loaded is None:
            places = replace(places, base=path.absolute().parent)
        yield run, text, loaded, places, _manner(options, settings)


async def _known_item(options: CheckOptions, itemspec: Path, item_id: str) -> Item | None:
    """Return the item of an ItemSpec, as the workspace knows it or the one beside the ItemSpec.

    `ContextAgent` keeps its runs beside what it writes.
    """
    settings = options.settings or load_settings()
    places = _places(options, settings)
    beside = Workspace.at(itemspec.parent / ".transom")
    for workspace in (_workspace(options, settings), beside):
        async with workspace.open_store_for_reading() as store:
            if item := known_item(store, item_id, places):
                return item
    return None


async def run(
    checker: FilePath, item: FilePath | None = None, options: CheckOptions | None = None
) -> Verdict:
    """Run a checker on the current files; without `item`, for the copy in its folder.

    Raises:
        InputError: there is no checker in the folder, or a variable is not defined.
    """
    options = options or CheckOptions()
    loaded = load_item(Path(item)) if item else None
    folder = load_checker(Path(checker))
    inputs: dict[str, Json] = {
        "checker": str(folder.folder.absolute()),
        "item": str(loaded.path.absolute()) if loaded else None,
    }
    async with _run(options, "check-run", inputs, folder.config.item_id) as (opened, settings):
        places, manner = _places(options, settings), _manner(options, settings)
        verdict = await verdict_of(opened, folder, loaded, places, manner)
        await opened.finish(verdict.counted_as)
    return printed(verdict, run_id=opened.id, seconds=0.0)


async def check_all(
    item: FilePath, options: CheckOptions | None = None
) -> Verdict | SpecResult | BuildResult:
    """Write the ItemSpec, build the checker and run it in one go.

    Returns:
        The verdict; or the answer of the step that stopped, with a status that says why.

    Raises:
        InputError: the item cannot be read, or a variable is not defined.
    """
    options = options or CheckOptions()
    loaded = load_item(Path(item))
    # At most once more: Section 4 is corrected a single time.
    while True:
        async with _run(options, "check", _item_inputs(loaded), loaded.item_id) as (run, settings):
            places, manner = _places(options, settings), _manner(options, settings)
            result = await pipeline.check_all(run, loaded, places, manner)
            if isinstance(result, Judged):
                await run.finish(result.verdict.counted_as)
                return printed(result.verdict, run_id=run.id, seconds=0.0)
            # None: the files showed something against Section 4, which is written again.
            if result is not None:
                return result


async def validate_code(
    code: str,
    checker_yaml: str | None = None,
    *,
    sandbox: Sandbox | None = None,
    seconds: float | None = None,
) -> CodeReport:
    """Hold a checker's code to the gates that need no files and no ItemSpec.

    Args:
        code: the three functions `extract_context`, `validate_logic` and `check_existence`; the
            latter two may be missing if `checker_yaml` says `atoms: standard`.
        checker_yaml: the text of `checker.yaml`, to be checked, too. If it names a claim, the code
            has to be what the claim writes.
        sandbox: where the code runs; None: the strongest of this machine. Its limit for one call
            holds, too.
        seconds: how long the code may run in all; None: `execution.timeout_per_stage` of the
            nearest settings file. Code that does not end is not valid.

    Raises:
        SettingsError: `seconds` is None, and the settings are wrong.
    """
    if seconds is None:
        seconds = load_settings().execution.timeout_per_stage
    rows: Sequence[GateRow] = ()
    config = read_config(checker_yaml)[0] if checker_yaml is not None else None
    if config is not None and config.atoms == "standard":
        code = complete_atoms(code)
        # The code of a claim reads measurements, which the other gates cannot make up; what the
        # claim itself writes is tested with Transom.
        if claim := claim_row(code, config):
            rows = (claim,) if claim.passed else (*static_rows(code), claim)
    if not rows:
        rows = await run_code_gates(code, checker_yaml, sandbox or Sandbox(), seconds)
    findings: list[Finding] = []
    for row in rows:
        if not row.passed:
            findings.extend(row.findings)
    return CodeReport(tuple(map(str, findings)), {row.gate: row.passed for row in rows})


def validate_spec(itemspec: FilePath) -> list[Finding]:
    """Return the findings of an ItemSpec.

    They are about structure, placeholders, and what its sections say of each other. An empty list
    means that a checker may be built from it.

    Raises:
        InputError: the file cannot be read, or lacks a section.
    """
    path = Path(itemspec)
    text = read_text(path)
    return check_spec(parse_spec(text, artifact=str(path)), artifact=str(path))


def _item_inputs(item: Item) -> dict[str, Json]:
    return {"item": str(item.path.absolute()), "item_id": item.item_id}


def _places(options: CheckOptions, settings: Settings) -> Places:
    return Places(
        variables={name: Path(path).absolute() for name, path in options.variables.items()},
        search_root=settings.paths.search_root,
        other_roots=tuple(Path(root).absolute() for root in options.roots),
        out=Path(options.out).absolute() if options.out else None,
    )


def _manner(options: CheckOptions, settings: Settings) -> Manner:
    # A day of the caller makes a verdict repeatable.
    day = options.as_of or datetime.now(UTC).date().isoformat()
    build = BuildSettings(
        max_iterations=settings.execution.max_iterations,
        tests=options.tests,
        prompts=settings.paths.prompts_dir,
    )
    parallel = options.parallel_rounds or settings.execution.parallel_rounds
    return Manner(Occasion(day), Sandbox(), build=build, parallel_rounds=parallel)


def _workspace(options: CheckOptions, settings: Settings) -> Workspace:
    folder = Path(options.workspace or settings.workspace or ".transom")
    return Workspace.at(folder, state_dir=settings.state_dir, store=settings.store)


@asynccontextmanager
async def _run(
    options: CheckOptions, kind: str, inputs: Mapping[str, Json], name: str
) -> AsyncIterator[tuple[Run, Settings]]:
    """Open the run of a call, with its settings and its chain of providers."""
    # Settings come first, since they say where the workspace is.
    settings = options.settings or load_settings()
    workspace = _workspace(options, settings)
    async with workspace.open_store() as store:
        model = options.model or settings.model
        # A name is resolved as on the command line; other values are taken as they are.
        if isinstance(model, str):
            own = {"rules": embedded_default}
            around = Surroundings(Path.cwd(), settings, store=store, place="model", own=own)
            chain = named_chain(model, around)
        elif isinstance(model, Chain):
            chain = model
        else:
            chain = Chain((model,))
        opened = await Run.open(
            kind, inputs, name=name, workspace=workspace, store=store, chain=chain
        )
        if options.progress:
            opened.progress = options.progress
        opened.stage_seconds = settings.execution.timeout_per_stage
        async with opened as run:
            yield run, settings
