"""One item's way: description -> ItemSpec -> checker -> verdict, inside one run."""

from __future__ import annotations

import re
from pathlib import Path

from transom.checklist.building.flow import BuiltChecker, build_checker
from transom.checklist.building.inputs import BuildInputs
from transom.checklist.claiming import (
    claim_of,
    config_of_claim,
    write_claim_checker,
    write_claim_spec,
)
from transom.checklist.complexity import complexity_of
from transom.checklist.item import Item
from transom.checklist.item_files import own_files, sizes_of_files
from transom.checklist.manner import Manner, Places
from transom.checklist.results import BuildResult, SpecResult, WordsRow
from transom.checklist.verdicts import Judged, checker_folder, error_of_inputs, judge, judge_claim
from transom.checklist.writing.document import parse_spec, section_texts
from transom.checklist.writing.gate import check_spec
from transom.checklist.writing.quality import quality_of
from transom.checklist.writing.review_mark import is_marked
from transom.checklist.writing.similar import remember_spec
from transom.checklist.writing.write import WrittenSpec, send_back, write_spec
from transom.errors import InputError, NeedsModel, Paused
from transom.formats.yaml_files import read_text
from transom.runs import Artifact, Run

TAKEN = "build from it as it is"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


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
    inputs = build_inputs(spec, item, places, run.folder)
    try:
        built = await build_checker(run, inputs, manner.sandbox, manner.build, folder)
    except NeedsModel as error:
        return BuildResult(
            status="NEEDS_MODEL", item_id=inputs.item_id, needs_model=_words(error), run_id=run.id
        )
    if manner.memory and built.done:
        document = parse_spec(inputs.spec_text)
        await remember_spec(run, manner.memory, inputs.item_id, inputs.description, document)
    return built


def build_inputs(
    spec: Artifact[str] | str, item: Item | None, places: Places, folder: Path
) -> BuildInputs:
    """Return the inputs of a build; without an item, relative paths start at `folder`.

    Raises:
        InputError: the ItemSpec lacks a section, a variable is not defined.
    """
    roots = places.roots(item, folder)
    document = parse_spec(spec.value if isinstance(spec, Artifact) else spec)
    return BuildInputs(
        item_id=item.item_id if item else document.item_id,
        description=item.description if item else document.description,
        item_text=item.text if item else None,
        spec=spec,
        files=tuple(own_files(item, roots)),
        roots=tuple(roots.readable()),
        variables={**roots.defaults, **roots.values},
    )


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
        return await judge_claim(run, item, claim, places, manner)
    spec = await spec_of(run, item, places, manner)
    if isinstance(spec, SpecResult):
        return spec
    if not spec.ready and not await _is_taken(run, spec.result):
        command = f"transom answer {run.id} --choose N --by NAME" if run.state.waiting else None
        return spec.result.model_copy(update={"choose": command})
    error = error_of_inputs(run, item, places)
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
    return await judge(run, built.folder, item, places, manner)


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
