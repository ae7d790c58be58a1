"""`check spec`: the five rounds, the document, the substance gate, the file for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from transom.checklist.complexity import complexity_of
from transom.checklist.copies import adopt, export, retract
from transom.checklist.item import Item
from transom.checklist.results import RoundRow, SpecResult
from transom.checklist.writing.document import assemble, needs_review, parse_spec, shifted
from transom.checklist.writing.gate import check_analysis, check_spec
from transom.checklist.writing.quality import quality_of
from transom.checklist.writing.review_mark import clean
from transom.checklist.writing.round_copies import debug_folder, take_back_rounds
from transom.checklist.writing.rounds import OBSERVED, ROUNDS, observed_file, write_sections
from transom.checklist.writing.shapes import SpecDocument
from transom.errors import InputError
from transom.evidence.findings import Finding
from transom.llm import CallSettings
from transom.memory import Memory
from transom.runs import A_PERSON, Artifact, Run, Stage, text_file, write_file

READY_NAME = "{}_ItemSpec.md"
REVIEW_NAME = "{}_ItemSpec_NEEDS_REVIEW.md"


@dataclass(frozen=True)
class WrittenSpec:
    """An ItemSpec and what the gate says of it."""

    document: Artifact[str]
    path: Path
    result: SpecResult
    section4: Artifact[str]

    @property
    def ready(self) -> bool:
        return self.result.status == "READY"


async def write_spec(
    run: Run,
    item: Item,
    sizes: Mapping[str, int],
    *,
    folder: Path | None = None,
    settings: Mapping[str, CallSettings] | None = None,
    memory: Memory | None = None,
    parallel: bool = False,
    prompts: Path | None = None,
) -> WrittenSpec:
    """Write an item's ItemSpec.

    `sizes` has the bytes of those input files that were found, by the name as written. With
    `parallel`, sections 1 to 3 are written side by side; `prompts` is a person's folder of prompts.

    The file for a person goes to `folder`, else into the run; an edit of it counts like an edit in
    the run.

    Raises:
        NeedsModel: the embedded rules do not understand the description.
    """
    folder = folder or run.folder / "spec"
    name = READY_NAME.format(item.item_id)
    run_file = run.folder / "spec" / "document" / name
    copies = [folder / form.format(item.item_id) for form in (READY_NAME, REVIEW_NAME)]
    # Edits come first, since the rounds below are made from them.
    edited = []
    for copy in copies:
        if _adopt_edit(run, copy, run_file):
            edited.append(copy)
    await take_back_rounds(run, debug_folder(folder, item.item_id))
    sections = await write_sections(
        run, item, sizes, settings, memory, parallel=parallel, prompts=prompts
    )
    written = [sections[tag] for tag in ("section1", "section2", "section3", "section4")]
    document = await run.stage(
        "spec/document", _assemble, item.item_id, item.description, *written, out=text_file(name)
    )
    parsed = _parsed(document, edited)
    findings = [
        *check_analysis(sections["analysis"].value, artifact=ROUNDS[0].file),
        *check_spec(parsed, artifact=name),
    ]
    path = await _export_for_person(run, document, findings, copies, edited)
    result = SpecResult(
        status="NEEDS_REVIEW" if findings else "READY",
        item_id=item.item_id,
        itemspec_path=str(path),
        complexity=complexity_of(item.description),
        capability_type=parsed.check.capability_type,
        rounds=tuple(_round(each.number, sections[each.tag]) for each in ROUNDS),
        findings=tuple(_placed_in(path.name, name, findings)),
        quality=quality_of(parsed, findings),
        run_id=run.id,
    )
    return WrittenSpec(document, path, result, sections["section4"])


async def _export_for_person(
    run: Run,
    document: Artifact[str],
    findings: Sequence[Finding],
    copies: Sequence[Path],
    edited: Sequence[Path],
) -> Path:
    """Write the file for a person, and return its path.

    Args:
        copies: its two names, without findings and with them.
        edited: those of them that a person edited.
    """
    # The name of the file says whether somebody has to look at it.
    path, twin = reversed(copies) if findings else copies
    text = needs_review(document.value, findings) if findings else document.value
    await export(
        run.store, path, text.encode("utf-8"), artifact=document.path, progress=run.progress
    )
    retract(run.store, twin)
    if twin in edited:
        _remove_if_contained(twin, document.value)
    return path


def _remove_if_contained(twin: Path, text: str) -> None:
    """Remove an edited copy of the other name, if all of its text is in the new one."""
    if twin.is_file() and clean(twin.read_text(encoding="utf-8")) == text:
        twin.unlink()


def send_back(run: Run, spec: WrittenSpec, findings: Sequence[str]) -> bool:
    """Leave word of what real files showed against Section 4.

    `write_spec` then has it corrected, once.

    Returns:
        False if nobody may: a person or the embedded rules wrote it, or it was corrected
            already.
    """
    # The file is the request: the next walk through the rounds finds it.
    section = spec.section4
    observed = observed_file(run, section.value)
    # A stage of a correction has this ending.
    mended = section.path.parent.name.endswith(OBSERVED) or observed.exists()
    if (
        not findings
        or mended
        or A_PERSON in (section.by, spec.document.by)
        or section.by in ("", "rules")  # nobody, or the embedded rules
    ):
        return False
    write_file(observed, "".join(f"- {finding}\n" for finding in findings).encode("utf-8"))
    return True


def _placed_in(copy: str, name: str, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield findings with the lines of a person's copy, if they are about the document.

    The copy begins with a comment that lists the findings, so its text lies lower in it.
    """
    for finding, moved in zip(findings, shifted(findings), strict=True):
        if finding.artifact == name:
            yield replace(moved, artifact=copy)
        else:
            yield finding


def _adopt_edit(run: Run, copy: Path, run_file: Path) -> bool:
    """Take over what a person changed in her copy, and return whether she changed it."""
    changed = adopt(run.store, copy, run_file, clean=clean)
    if changed:
        run.progress(f"{copy.name} was changed by hand; the change counts")
    return changed


async def _assemble(stage: Stage, item_id: str, description: str, *sections: str) -> str:
    del stage
    return assemble(item_id, description, dict(zip("1234", sections, strict=True)))


def _parsed(document: Artifact[str], edited: list[Path]) -> SpecDocument:
    try:
        return parse_spec(document.value)
    except InputError as error:  # a person cut a section out
        artifact = edited[-1] if edited else document.path
        hint = f"mend it, or delete {document.path} to have it made anew"
        raise InputError(error.problem, place=str(artifact), hint=hint) from error


def _round(number: int, section: Artifact[str]) -> RoundRow:
    # The other fields have the same names in both. The cost depends on prices of today, so a result
    # does not repeat it.
    tokens = {}
    for name, count in asdict(section.usage).items():
        if name != "cost":
            tokens[name] = count
    return RoundRow(round=number, by=section.by, **tokens)
