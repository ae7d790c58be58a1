"""One item's way: description -> ItemSpec -> checker -> verdict, inside one run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from transom.checklist.atoms import ClaimRow
from transom.checklist.building.flow import BuiltChecker, build_checker
from transom.checklist.building.inputs import BuildInputs, BuildSettings
from transom.checklist.claiming import (
    claim_of,
    config_of_claim,
    write_claim_checker,
    write_claim_spec,
)
from transom.checklist.complexity import complexity_of
from transom.checklist.copies import export
from transom.checklist.item import Item
from transom.checklist.item_files import own_files, sizes_of_files, unusable_files
from transom.checklist.judging import (
    Doubt,
    Inputs,
    LoadedChecker,
    Occasion,
    Roots,
    Verdict,
    artifact_bytes,
    check_files,
    load_checker,
)
from transom.checklist.judging.audit import audit_waivers
from transom.checklist.judging.verdict import VERDICT_FILE
from transom.checklist.results import BuildResult, GateRow, SpecResult, WordsRow
from transom.checklist.scenarios import FOLDER, run_scenarios
from transom.checklist.writing.document import is_marked, parse_spec, section_texts
from transom.checklist.writing.gate import check_spec
from transom.checklist.writing.quality import quality_of
from transom.checklist.writing.similar import remember_spec
from transom.checklist.writing.write import WrittenSpec, send_back, write_spec
from transom.errors import InputError, NeedsModel, Paused
from transom.formats.yaml_files import read_text
from transom.llm import CallSettings
from transom.memory import Memory
from transom.runs import Artifact, ArtifactFile, Run
from transom.sandbox import Sandbox

TAKEN = "build from it as it is"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Places:
    """Folders where files are looked for, and where copies for a person go.

    Attributes:
        variables: `--var NAME=PATH`.
        search_root: the setting `paths.search_root`, which the usual variables stand for when
            nobody says.
        others: `--root`: more folders to look for logs in, and for the files that they name.
        out: the folder for a person's copies; inside the run if None.
        base: where relative input files start; the folder of the item's file if None.
    """

    variables: Mapping[str, Path] = field(default_factory=dict)
    search_root: Path | None = None
    other_roots: tuple[Path, ...] = ()
    out: Path | None = None
    base: Path | None = None

    def roots(self, item: Item | None, otherwise: Path) -> Roots:
        """Return the folders of variables, and where an item's relative input files start.

        Without an item they start at `otherwise`.
        """
        base = self.base or (item.path.absolute().parent if item else otherwise)
        return Roots.with_defaults(self.variables, self.search_root, base, self.other_roots)


@dataclass(frozen=True)
class Manner:
    """Manner of a check: how the roles ask by the tag of a round, where code runs, by which day
    waivers expire.
    """

    occasion: Occasion
    sandbox: Sandbox
    spec: Mapping[str, CallSettings] = field(default_factory=dict)
    build: BuildSettings = field(default_factory=BuildSettings)
    memory: Memory | None = None
    parallel_rounds: bool = False


async def spec_of(run: Run, item: Item, places: Places, manner: Manner) -> WrittenSpec | SpecResult:
    """Write the ItemSpec; a result alone if the rules abstain, and for a claim."""
    # A claim has its sentences ready, so no model is asked.
    claim = claim_of(item, run.chain)
    if claim is not None:
        path = await write_claim_spec(run, item, claim, places.out)
        return SpecResult(
            status="READY",
            item_id=item.item_id,
            itemspec_path=str(path),
            complexity=complexity_of(item.description),
            capability_type=config_of_claim(item, claim).capability_type,
            quality=quality_of(parse_spec(read_text(path)), ()),
            run_id=run.id,
        )
    try:
        sizes = sizes_of_files(item, places.roots(item, run.folder))
        return await write_spec(
            run,
            item,
            sizes,
            folder=places.out,
            settings=manner.spec,
            memory=manner.memory,
            parallel=manner.parallel_rounds,
            prompts=manner.build.prompts,
        )
    except NeedsModel as error:
        return SpecResult(
            status="NEEDS_MODEL", item_id=item.item_id, needs_model=_words(error), run_id=run.id
        )


async def checker_of(
    run: Run,
    spec: Artifact[str] | str,
    item: Item | None,
    places: Places,
    manner: Manner,
    *,
    folder: Path | None,
) -> BuiltChecker | BuildResult:
    """Build the checker; a result alone if the rules abstain.

    Raises:
        InputError: the ItemSpec lacks a section, a variable is not defined.
    """
    claim = claim_of(item, run.chain) if item else None
    if item is not None and claim is not None:
        checker = await write_claim_checker(run, item, claim, folder)
        result = BuildResult(
            status="done", item_id=item.item_id, checker_path=str(folder or checker), run_id=run.id
        )
        return BuiltChecker(checker, result)
    roots = places.roots(item, run.folder)
    document = parse_spec(spec.value if isinstance(spec, Artifact) else spec)
    inputs = BuildInputs(
        item_id=item.item_id if item else document.item_id,
        description=item.description if item else document.description,
        item_text=item.text if item else None,
        spec=spec,
        files=tuple(own_files(item, roots)),
        roots=tuple(roots.readable()),
        variables={**roots.defaults, **roots.values},
    )
    try:
        built = await build_checker(run, inputs, manner.sandbox, manner.build, folder)
    except NeedsModel as error:
        return BuildResult(
            status="NEEDS_MODEL", item_id=inputs.item_id, needs_model=_words(error), run_id=run.id
        )
    if manner.memory and built.done:
        await remember_spec(run, manner.memory, inputs.item_id, inputs.description, document)
    return built


async def verdict_of(
    run: Run, checker: LoadedChecker, item: Item | None, places: Places, manner: Manner
) -> Verdict:
    """Run a checker on the files of today; a person's copy of the verdict goes to `places.out`.

    Raises:
        InputError: a variable is not defined, or patterns that do not fit the checker.
    """
    item, when = item or checker.item, manner.occasion
    inputs = Inputs.of(item, places.roots(item, checker.folder))

    async def step(*_: object) -> Verdict:
        unused = when.fail_on_unused
        verdict = await check_files(
            checker, item, inputs, manner.sandbox, when.as_of, fail_on_unused=unused
        )
        # A checker that no gate saw may be right, and says so itself.
        doubt = checker.never_gated
        if doubt is not None:
            verdict = verdict.model_copy(update={"doubted": (*verdict.doubted, doubt)})
        audit_waivers(run.workspace.root, verdict, run.id)
        return verdict

    # It looks at the files of today, so it is journaled and never reused.
    declared = [
        checker.sha256,
        item.sha256 if item else None,
        [name.written for name in inputs.names],
        when.as_of,
    ]
    output: ArtifactFile[Verdict] = ArtifactFile(
        VERDICT_FILE, artifact_bytes, Verdict.model_validate_json
    )
    verdict = (await run.stage("run/verdict", step, *declared, out=output, reuse=False)).value
    if places.out:
        copy = places.out / f"{checker.config.item_id}_{VERDICT_FILE}"
        await export(run.store, copy, artifact_bytes(verdict), progress=run.progress)
    return verdict


async def try_scenarios(
    run: Run, folder: Path, item: Item, places: Places, manner: Manner
) -> list[Doubt]:
    """Run the scenarios of the test matrix (`--tests`); returns a doubt for each that fails.

    Their files lie in the folder of the checker.
    """
    if not manner.build.tests:
        return []
    checker = load_checker(folder)
    inputs = Inputs.of(item, places.roots(item, checker.folder))
    target = folder / FOLDER
    rows = await run_scenarios(checker, item, inputs, manner.sandbox, manner.occasion.as_of, target)
    wrong = []
    for row in rows:
        if row.problem:
            wrong.append(row)
    run.progress(f"{len(rows) - len(wrong)} of {len(rows)} scenarios are as expected: {target}")
    return [Doubt(gate=FOLDER, line=None, message=f"{row.file}: {row.problem}") for row in wrong]


@dataclass(frozen=True)
class Judged:
    """A verdict, and the checker folder that it was made with."""

    verdict: Verdict
    checker: Path


async def check_all(
    run: Run, item: Item, places: Places, manner: Manner
) -> SpecResult | BuildResult | Judged | None:
    """Write the ItemSpec, build and run in one go; a step that stops gives its own answer.

    None if the files show something against Section 4: its round corrects it, once, when the run
    is opened again.
    """
    # an undefined variable is said before anybody is asked
    own_files(item, places.roots(item, run.folder))
    claim = claim_of(item, run.chain)
    if claim is not None:
        return await _judge_claim(run, item, claim, places, manner)
    spec = await spec_of(run, item, places, manner)
    if isinstance(spec, SpecResult):
        return spec
    if not spec.ready and not await _is_taken(run, spec.result):
        command = f"transom answer {run.id} --choose N --by NAME" if run.state.waiting else None
        return spec.result.model_copy(update={"choose": command})
    error = _error_of_inputs(run, item, places)
    if error is not None:
        return error
    target = places.out / checker_folder(item.item_id) if places.out else None
    built = await checker_of(run, spec.document, item, places, manner, folder=target)
    if isinstance(built, BuiltChecker) and send_back(run, spec, built.result.against_spec):
        return None
    if isinstance(built, BuildResult):
        return built
    if not built.judges:
        return built.result
    return await _judge(run, built.folder, item, places, manner)


async def _judge_claim(
    run: Run, item: Item, claim: ClaimRow, places: Places, manner: Manner
) -> BuildResult | Judged:
    """Write the checker of a claim, and judge the current files by it."""
    error = _error_of_inputs(run, item, places)
    if error is not None:
        return error
    target = places.out / checker_folder(item.item_id) if places.out else None
    folder = await write_claim_checker(run, item, claim, target)
    return await _judge(run, folder, item, places, manner)


def _error_of_inputs(run: Run, item: Item, places: Places) -> BuildResult | None:
    """Return the answer if an input file cannot be read.

    Without an input there is no verdict, whatever else lies beside it, so nobody is asked to build.
    """
    unusable = unusable_files(item, places.roots(item, run.folder))
    if not unusable:
        return None
    row = GateRow(gate="inputs", passed=False, findings=unusable)
    return BuildResult(status="ERROR", item_id=item.item_id, gates=(row,), run_id=run.id)


async def _judge(run: Run, folder: Path, item: Item, places: Places, manner: Manner) -> Judged:
    """Judge the current files, with the doubts of the scenarios if they were asked for."""
    verdict = await verdict_of(run, load_checker(folder), item, places, manner)
    # Without a verdict on the files there is nothing to vary.
    if verdict.status != "ERROR":
        doubts = await try_scenarios(run, folder, item, places, manner)
        verdict = verdict.model_copy(update={"doubted": (*verdict.doubted, *doubts)})
    return Judged(verdict, folder)


async def _is_taken(run: Run, result: SpecResult) -> bool:
    """Return whether a person takes an ItemSpec in spite of its findings.

    They wait as a question until then.
    """
    first = result.findings[0]
    suffix = f" and {len(result.findings) - 1} more" if len(result.findings) > 1 else ""
    asks = (
        f"The ItemSpec of {result.item_id} has findings: {first.message}{suffix}. What is to become"
        " of it?"
    )
    # The same question on every run, so that an answer of yesterday counts today.
    try:
        word = await run.ask("review", asks, options=[TAKEN, "I mend it"])
    except Paused:
        return False
    return word.text == TAKEN


def checker_folder(item_id: str) -> str:
    """Return the name of a checker's folder."""
    return f"{item_id}_checker"


def read_spec(
    path: Path, item: Item | None, *, allow_needs_review: bool = False
) -> tuple[str, str]:
    """Read an ItemSpec that a checker may be built from, and the id of its item.

    Raises:
        InputError: not readable, not whole, with findings that nobody mended, or written for
            another item.
    """
    text = read_text(path)
    if is_marked(text) and not allow_needs_review:
        hint = "mend them, or add --allow-needs-review"
        raise InputError("the ItemSpec has findings that nobody mended", place=str(path), hint=hint)
    document = parse_spec(text, artifact=str(path))
    # Refuses an ItemSpec whose sections are there but empty.
    section_texts(text, artifact=str(path))
    # The same gate as that of `check lint`: what it refuses is not built.
    findings = check_spec(document, artifact=str(path))
    if findings and not allow_needs_review:
        suffix = f", and {len(findings) - 1} more" if len(findings) > 1 else ""
        hint = f"see: transom check lint {path}; mend it, or add --allow-needs-review"
        first = findings[0]
        place = f"{path}:{first.line}" if first.line else str(path)
        raise InputError(f"{first.message}{suffix}", place=place, hint=hint)
    if not _NAME.fullmatch(document.item_id):
        problem = f"the title names no item ({document.item_id!r})"
        raise InputError(
            problem,
            place=str(path),
            hint="write `# ItemSpec: ID` with letters, digits, `.`, `_` and `-`",
        )
    if item and document.item_id != item.item_id:
        problem = f"the ItemSpec is for {document.item_id}, not for {item.item_id}"
        raise InputError(problem, place=str(path), hint="name the item that it was written for")
    if item and " ".join(document.description.split()) != " ".join(item.description.split()):
        hint = f"run: transom check spec {item.path}"
        raise InputError(
            "the ItemSpec was written for another description", place=str(path), hint=hint
        )
    return text, document.item_id


def _words(error: NeedsModel) -> tuple[WordsRow, ...]:
    return tuple(WordsRow(text=words.text, where=words.place) for words in error.words)
