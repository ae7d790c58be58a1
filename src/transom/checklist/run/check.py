"""One checker, its item and its files: from what was loaded to a verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from transom import __version__
from transom.checklist.atoms import CheckerConfig, Requirements, Waivers, checker_type
from transom.checklist.item import Item
from transom.checklist.run.evaluate import evaluate, patterned_items
from transom.checklist.run.inputs import Inputs, gather
from transom.checklist.run.loading import SPEC, LoadedChecker
from transom.checklist.run.logic import BATCH_SOURCE, Logic
from transom.checklist.run.pieces import with_pieces
from transom.checklist.run.rehearse import rehearse
from transom.checklist.run.runner import AtomRunner, scope_of, sources_of
from transom.checklist.run.subjects import silent
from transom.checklist.run.verdict import ConfigDifference, MadeBy, Note, Outcome, Status, Verdict
from transom.checklist.run.waivers import apply_waivers
from transom.errors import AtomFailed, RegexFailed
from transom.formats.text_files import FileChanged
from transom.sandbox import Level

_UNFINISHED = Note(source_file=None, message="this checker was not finished; see human_intervention_report.json")
UNSAFE = "the atoms ran without a sandbox, so this verdict and everything that this user can reach was in their hands"
_UNGUARDED = (Note(message=UNSAFE),)


def _differences(
    config: CheckerConfig, item: Item | None, requirements: Requirements, waivers: Waivers
) -> Iterator[ConfigDifference]:
    """Where the item differs from the checker's defaults."""
    pairs = [
        ("item_id", item.item_id if item else config.item_id, config.item_id),
        ("requirements.value", _text(requirements.value), _text(config.requirements.value)),
        ("requirements.pattern_items", _list(requirements.pattern_items), _list(config.requirements.pattern_items)),
        ("waivers.value", _text(waivers.value), _text(config.waivers.value)),
        ("waivers.waive_items", _list(waivers.waive_items), _list(config.waivers.waive_items)),
    ]
    for key, own, other in pairs:
        if own != other:
            yield ConfigDifference(key=key, item=own, checker=other)


def _text(value: int | None) -> str:
    return "N/A" if value is None else str(value)


def _list(values: tuple[object, ...]) -> str:
    return json.dumps([getattr(value, "pattern", None) or str(value) for value in values], ensure_ascii=False)


async def check_files(
    checker: LoadedChecker,
    item: Item | None,
    inputs: Inputs,
    runner: AtomRunner,
    as_of: str,
    *,
    fail_on_unused: bool = False,
) -> Verdict:
    """Run a checker over files.

    Args:
        item: the item as it is today; None takes the copy in the checker's folder.
        runner: the sandbox.
        as_of: ISO date that decides which waivers have expired.
        fail_on_unused: a waiver that is not needed fails the check.

    Returns:
        The verdict. Whatever keeps the check from an answer (a file that cannot be read, an atom that fails) makes it
        ERROR, never FAIL or PASS.

    Raises:
        InputError: an undefined variable, or patterns that do not fit the checker.
        SandboxUnavailable: this machine cannot isolate the atoms.
    """
    item, config, build = item or checker.item, checker.config, checker.build
    requirements = item.requirements if item and item.requirements else config.requirements
    waivers = item.waivers if item and item.waivers else config.waivers
    patterned_items(config, requirements)
    outcome = Outcome(errors=(_UNFINISHED,))
    if not checker.unfinished:
        outcome = await _judge(checker, requirements, waivers, inputs, runner, as_of)
    built_for_it = item and build and build.item_sha256 == item.sha256
    return Verdict(
        item_id=config.item_id,
        status=_status(checker, outcome, fail_on_unused=fail_on_unused),
        checker_type=checker_type(requirements.value, waivers.value),
        capability_type=config.capability_type,
        found_items=outcome.found,
        missing_items=outcome.missing,
        extra_items=outcome.extra,
        waived=outcome.waived,
        waiver_comments=outcome.comments,
        unused_waivers=outcome.unused,
        errors=outcome.errors,
        warnings=(*_warnings(checker, item), *outcome.warnings, *(_UNGUARDED if runner.level is Level.NONE else ())),
        matching=config.matching,
        sources=outcome.sources,
        config_differences=() if built_for_it else tuple(_differences(config, item, requirements, waivers)),
        inputs=outcome.read,
        made_by=_made_by(checker, item),
        sandbox_level=runner.level.value,
        as_of=as_of,
        doubted=checker.doubts,
    )


async def _judge(
    checker: LoadedChecker,
    requirements: Requirements,
    waivers: Waivers,
    inputs: Inputs,
    runner: AtomRunner,
    as_of: str,
) -> Outcome:
    """What the atoms saw and what follows from it."""
    config, outcome = checker.config, Outcome()
    try:
        async with runner.worker(with_pieces(checker.atoms) + BATCH_SOURCE) as worker:
            evidence, outcome = await gather(inputs, worker, await scope_of(worker), await sources_of(worker))
            if outcome.errors:
                return outcome
            await rehearse(runner, config, requirements, waivers, evidence)
            logic = Logic(worker if config.atoms == "own" else None)
            judged = await evaluate(config, evidence, requirements, logic)
            judged = apply_waivers(judged, waivers, config, evidence, as_of)
            unheard = () if judged.missing or judged.extra else silent(config.items, evidence)
            if unheard:  # of several runs one does not say what the others do: no reason to pass
                why = "names no {}, as others of its kind do: it cannot be judged"
                notes = (Note(source_file=file.shown, message=why.format(category)) for file, category in unheard)
                return replace(outcome, errors=tuple(notes))
            return replace(judged, warnings=(*outcome.warnings, *judged.warnings), read=outcome.read)
    except RegexFailed as error:
        why = str(error)
    except AtomFailed as error:
        why = f"the atoms failed ({error.kind}): {error}"
    except FileChanged as error:  # a file is read again where something is missing, to show the nearest line
        why = f"an input {error}"
    return replace(outcome, errors=(Note(source_file=None, message=why),))


def _status(checker: LoadedChecker, outcome: Outcome, *, fail_on_unused: bool) -> Status:
    if outcome.errors:
        return "ERROR"
    if checker.unreviewed:
        return "NEEDS_REVIEW"
    return "FAIL" if outcome.missing or outcome.extra or (fail_on_unused and outcome.unused) else "PASS"


def _warnings(checker: LoadedChecker, item: Item | None) -> Iterator[Note]:
    """What a reader must know of the checker and of the item."""
    hint = "; hold it to them again with check lint, or approve it with check approve" if checker.unreviewed else ""
    for name in checker.edited:
        yield Note(source_file=name, message=f"was changed by hand after the gates passed the checker{hint}")
    if checker.build is None and SPEC in checker.digests:
        command = f"transom check lint {checker.folder.name}"
        yield Note(message=f"no gate has seen this checker; hold it to them with: {command}")
    if checker.approved.void:
        yield Note(message=f"the approval of the checker is void: {checker.approved.why_not}")
    if item:
        for one in item.warnings:
            yield Note(source_file=item.path.name, line_number=one.line, message=one.message)


def _made_by(checker: LoadedChecker, item: Item | None) -> MadeBy:
    build = checker.build
    tried = build.mutation if build else None
    return MadeBy(
        transom=__version__,
        item_sha256=item.sha256 if item else None,
        itemspec_sha256=build.itemspec_sha256 if build else None,
        checker_sha256=checker.sha256,
        provider=build.provider if build else None,
        model=build.model if build else None,
        mutation_score=tried.killed / tried.applicable if tried and tried.applicable else None,  # of none there is none
        mutation_kinds=tried.kinds if tried else (),
        approved_by=checker.approved.by,
    )
