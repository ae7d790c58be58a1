"""One step from a claim to a checker: no role is asked, and nothing is parsed back."""

from __future__ import annotations

from pathlib import Path

from transom.canonical import digest, pretty_json
from transom.checklist.atoms import CheckerConfig, ClaimRow
from transom.checklist.building.checker import (
    ATOMS_FILE,
    BUILD_FILE,
    CHECKER_FILE,
    ITEM_FILE,
    SPEC_FILE,
    checker_yaml,
)
from transom.checklist.claims.absent_texts import texts_of_patterns
from transom.checklist.claims.claim_data import shipped_claims
from transom.checklist.claims.claim_files import write_claim
from transom.checklist.claims.claim_limits import limit_of
from transom.checklist.claims.claim_spec import write_claim_text
from transom.checklist.claims.file_kinds import KINDS, claim_of_row
from transom.checklist.claims.ranking import read_at_once
from transom.checklist.copies import adopt_edits, export
from transom.checklist.item import Item
from transom.checklist.judging.loading import complete_atoms
from transom.checklist.results import BuildRecord, GateRow
from transom.errors import InputError
from transom.evidence.findings import Finding
from transom.formats.reports import format_of
from transom.formats.yaml_files import parse_yaml
from transom.formats.yaml_models import nearest_key
from transom.llm import Chain
from transom.runs import ArtifactFile, Run, text_file

_FOLDER = "build/checker"
_RULES = "rules"


def claim_of(item: Item, chain: Chain) -> ClaimRow | None:
    """Return the claim that an item means, or None if nobody said it and no sentence is written.

    If a person chose a claim, it counts with every model. A sentence is read as a claim only if the
    embedded rules answer.

    Raises:
        InputError: the claim or a parameter is not known, one is missing, or the limit is none.
    """
    if item.claim is not None:
        require_known(item, item.claim)
        return _with_stated_check(item, item.claim)
    if chain.name != _RULES or chain.seats:
        return None
    row = read_at_once(item.description, has_patterns=has_patterns(item), listed=listed_texts(item))
    if row is not None:
        return _with_stated_check(item, row)
    return None


def _with_stated_check(item: Item, row: ClaimRow) -> ClaimRow:
    """Return a claim with the check that a person stated for values of which no report names it."""
    if item.stated_check is None:
        return row
    stated = {"stated_check": item.stated_check.check, "stated_by": item.stated_check.by}
    return row.model_copy(update=stated)


def has_patterns(item: Item) -> bool:
    """Return whether an item states how many values its reports must have."""
    return item.requirements is not None and item.requirements.value is not None


def listed_texts(item: Item) -> tuple[str, ...]:
    """Return the plain texts that an item lists."""
    if item.requirements is None:
        return ()
    return texts_of_patterns(item.requirements.pattern_items) or ()


def require_known(item: Item, row: ClaimRow) -> None:
    """Refuse an unknown claim, and one that lacks its measure, limit or text.

    Raises:
        InputError: with file:line, and the nearest name.
    """
    claims = shipped_claims().claims
    file = parse_yaml(item.text, item.path)
    place = file.place_of("reads_as", "claim")
    claim = claims.get(row.name)
    if claim is None:
        near = nearest_key(row.name, tuple(claims))
        hint = f"did you mean {near}?" if near else f"write one of {', '.join(claims)}"
        raise InputError(f"there is no claim {row.name!r}", place=place, hint=hint)
    unknown = []
    for name in row.parameters:
        if name not in claim.parameters:
            unknown.append(name)
    if unknown:
        hint = f"it has {', '.join(claim.parameters) or 'no parameters'}"
        raise InputError(f"{row.name} has no parameter {unknown[0]!r}", place=place, hint=hint)
    required = ("measure", "limit", "text") + (() if claim.headers and claim.says else (KINDS,))
    for name in required:
        if name in claim.parameters and name not in row.parameters:
            raise InputError(f"{row.name} lacks its {name}", place=place, hint=f"add {name}")
    if claim.headers:
        try:
            claim_of_row(row)
        except ValueError as error:
            kinds_place = file.place_of("reads_as", "parameters")
            raise InputError(
                str(error), place=kinds_place, hint='such as "netlist and spef"'
            ) from error
    try:
        limit_of(row.parameters)
    except InputError as error:
        # The limit alone does not tell which of many items it stands in.
        limit_place = file.place_of("reads_as", "parameters", "limit")
        raise InputError(error.problem, place=limit_place, hint=error.hint) from error


def config_of_claim(item: Item, row: ClaimRow) -> CheckerConfig:
    """Return `checker.yaml` of an item's claim."""
    return write_claim(item, row).config


async def write_claim_spec(run: Run, item: Item, row: ClaimRow, folder: Path | None) -> Path:
    """Write the ItemSpec of a claim in a run, and return its path; in `folder` if that is given."""
    spec = write_claim_text(item, row, config_of_claim(item, row))

    async def as_it_is(_: object, text: str) -> str:
        return text

    name = f"{item.item_id}_{SPEC_FILE}"
    written = await run.stage("spec/document", as_it_is, spec, out=text_file(name))
    if folder is None:
        return written.path
    data = written.value.encode("utf-8")
    return await export(
        run.store, folder / name, data, artifact=written.path, progress=run.progress
    )


async def write_claim_checker(run: Run, item: Item, row: ClaimRow, target: Path | None) -> Path:
    """Write the checker of a claim in a run, and return its folder.

    Args:
        run: the run of the item.
        item: the item.
        row: its claim.
        target: the folder of a copy for a person, if one is wanted.
    """
    files = write_claim(item, row)
    spec = write_claim_text(item, row, files.config)
    config = checker_yaml(files.config)
    gate = GateRow(gate="claim", passed=True)
    if unproven := unproven_findings(files.config):
        gate = GateRow(gate="claim", passed=False, findings=unproven)
    record = _record(item, spec, files.atoms, config, gate)

    async def as_it_is(_: object, text: str) -> str:
        return text

    if target is not None:
        adopt_edits(run, target, (ATOMS_FILE, CHECKER_FILE))
    folder = run.folder / _FOLDER
    # Of these files only the two that decide are stages: each stage leaves two more in the run.
    for name, text in {ATOMS_FILE: files.atoms, CHECKER_FILE: config}.items():
        output: ArtifactFile[str] = text_file(name, _FOLDER)
        written = await run.stage(f"build/{Path(name).stem.lower()}", as_it_is, text, out=output)
        if target is not None:
            data = written.value.encode("utf-8")
            await export(
                run.store, target / name, data, artifact=written.path, progress=run.progress
            )
    about = {
        SPEC_FILE: spec.encode("utf-8"),
        BUILD_FILE: pretty_json(record).encode("utf-8"),
    }
    for name, data in about.items():
        await export(run.store, folder / name, data, progress=run.progress)
    if target is not None:
        # The copy holds all that `check lint` and `check run` need without the run.
        about[ITEM_FILE] = item.text.encode("utf-8")
        for name, data in about.items():
            await export(run.store, target / name, data, progress=run.progress)
    return target or folder


def unproven_findings(config: CheckerConfig) -> tuple[Finding, ...]:
    """Return a finding if the item's own report format knows no bad line, so nothing can fail."""
    if config.report_format is None:
        return ()
    rows = format_of(config.report_format).model.rows
    if any(row.name == "bad_line" for row in rows):
        return ()
    message = "nothing shows how a bad line looks, so a person must look at it"
    return (Finding("untested", CHECKER_FILE, None, message),)


def _record(item: Item, spec: str, atoms: str, config: str, gate: GateRow) -> BuildRecord:
    """Return how the checker came to be; the tests of the claims and formats are its gate."""
    record = BuildRecord.of((gate,), item.text, spec, "none", item.item_id, _RULES, None)
    passed = {ATOMS_FILE: digest(complete_atoms(atoms)), CHECKER_FILE: digest(config)}
    return record.model_copy(update={"files": passed})
