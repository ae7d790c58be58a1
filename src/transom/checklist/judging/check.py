"""One checker, its item and its files: from what was loaded to a verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from transom import __version__
from transom.checklist.atoms import CheckerConfig, checker_type
from transom.checklist.item import Item
from transom.checklist.judging.evaluate import evaluate, patterned_items
from transom.checklist.judging.inputs import Inputs, gather
from transom.checklist.judging.loading import SPEC, LoadedChecker
from transom.checklist.judging.logic import BATCH_SOURCE, Logic
from transom.checklist.judging.pieces import with_pieces
from transom.checklist.judging.rehearse import rehearse
from transom.checklist.judging.runner import AtomRunner, declared
from transom.checklist.judging.subjects import silent
from transom.checklist.judging.verdict import (
    ConfigDifference,
    MadeBy,
    Note,
    Outcome,
    Status,
    Verdict,
)
from transom.checklist.judging.waivers import apply_waivers
from transom.errors import AtomFailed, RegexFailed
from transom.formats.text_files import FileChanged
from transom.sandbox import Level

_UNFINISHED = Note(
    source_file=None, message="this checker was not finished; see human_intervention_report.json"
)
UNSAFE = (
    "the atoms ran without a sandbox, so this verdict and everything that this user can reach was"
    " in their hands"
)
_UNGUARDED = (Note(message=UNSAFE),)
_DIFFER = (
    "item_id",
    "requirements.value",
    "requirements.pattern_items",
    "waivers.value",
    "waivers.waive_items",
)


@dataclass(frozen=True)
class Occasion:
    """Day and strictness of a check: `as_of` is an ISO date that decides which waivers have
    expired.
    """

    as_of: str
    fail_on_unused: bool = False


def effective(config: CheckerConfig, item: Item | None) -> CheckerConfig:
    """The configuration that counts in a run: the item's values where it has them, else the
    checker's.
    """
    if item is None:
        return config
    own = {"item_id": item.item_id, "requirements": item.requirements, "waivers": item.waivers}
    return config.model_copy(update={key: value for key, value in own.items() if value is not None})


def _told(config: CheckerConfig) -> dict[str, str]:
    """Settings that an item may have otherwise than a checker."""

    def written(value: int | None, texts: Sequence[str]) -> tuple[str, str]:
        return "N/A" if value is None else str(value), json.dumps(texts, ensure_ascii=False)

    required = written(
        config.requirements.value, [str(one) for one in config.requirements.pattern_items]
    )
    waived = written(config.waivers.value, [one.pattern for one in config.waivers.waive_items])
    return dict(zip(_DIFFER, (config.item_id, *required, *waived), strict=True))


async def check_files(
    checker: LoadedChecker,
    item: Item | None,
    inputs: Inputs,
    runner: AtomRunner,
    as_of: str,
    *,
    fail_on_unused: bool = False,
) -> Verdict:
    """Run a checker over files, for the item as it is today or the copy in the checker's folder.

    Whatever keeps the check from an answer (a file that cannot be read, an atom that fails) makes
    the verdict ERROR, never FAIL or PASS. `as_of` is an ISO date; it decides which waivers have
    expired.

    Raises:
        InputError: an undefined variable, or patterns that do not fit the checker.
        SandboxUnavailable: this machine cannot isolate the atoms.
    """
    item, build = item or checker.item, checker.build
    config = effective(checker.config, item)
    patterned_items(config)
    outcome = Outcome(errors=(_UNFINISHED,))
    if not checker.unfinished:
        outcome = await _judge(checker, config, inputs, runner, as_of)
    own, other = _told(config), _told(checker.config)
    if item and build and build.item_sha256 == item.sha256:  # it was built for this very item
        own = other
    warnings = (
        *_warnings(checker, item),
        *outcome.warnings,
        *(_UNGUARDED if runner.level is Level.NONE else ()),
    )
    return Verdict(
        **vars(replace(outcome, warnings=warnings)),
        item_id=checker.config.item_id,
        status=_status(checker, outcome, fail_on_unused=fail_on_unused),
        checker_type=checker_type(config.requirements.value, config.waivers.value),
        capability_type=config.capability_type,
        matching=config.matching,
        config_differences=tuple(
            ConfigDifference(key=key, item=text, checker=other[key])
            for key, text in own.items()
            if text != other[key]
        ),
        made_by=_made_by(checker, item),
        sandbox_level=runner.level.value,
        as_of=as_of,
        doubted=checker.doubts,
    )


async def _judge(
    checker: LoadedChecker, config: CheckerConfig, inputs: Inputs, runner: AtomRunner, as_of: str
) -> Outcome:
    """Outcome of what the atoms saw."""
    outcome = Outcome()
    try:
        async with runner.worker(with_pieces(checker.atoms) + BATCH_SOURCE) as worker:
            evidence, outcome = await gather(inputs, worker, *await declared(worker))
            if outcome.errors:
                return outcome
            await rehearse(runner, config, evidence)
            logic = Logic(worker if config.atoms == "own" else None)
            judged = await evaluate(config, evidence, logic)
            judged = apply_waivers(judged, config.waivers, config, evidence, as_of)
            unheard = (
                () if judged.missing_items or judged.extra_items else silent(config.items, evidence)
            )
            if unheard:  # of several runs one does not say what the others do: no reason to pass
                why = "names no {}, as others of its kind do: it cannot be judged"
                notes = (
                    Note(source_file=file.shown, message=why.format(category))
                    for file, category in unheard
                )
                return replace(outcome, errors=tuple(notes))
            return replace(
                judged, warnings=(*outcome.warnings, *judged.warnings), inputs=outcome.inputs
            )
    except RegexFailed as error:
        why = str(error)
    except AtomFailed as error:
        why = f"the atoms failed ({error.kind}): {error}"
    # a file is read again where something is missing, to show the nearest line
    except FileChanged as error:
        why = f"an input {error.what}; {error.hint}"
    return replace(outcome, errors=(Note(source_file=None, message=why),))


def _status(checker: LoadedChecker, outcome: Outcome, *, fail_on_unused: bool) -> Status:
    if outcome.errors:
        return "ERROR"
    if checker.unreviewed:
        return "NEEDS_REVIEW"
    unused = outcome.unused_waivers if fail_on_unused else ()
    return "FAIL" if outcome.missing_items or outcome.extra_items or unused else "PASS"


def _warnings(checker: LoadedChecker, item: Item | None) -> Iterator[Note]:
    """Notes that a reader must know on the checker and on the item."""
    hint = (
        "; hold it to them again with check lint, or approve it with check approve"
        if checker.unreviewed
        else ""
    )
    for name in checker.edited:
        yield Note(
            source_file=name,
            message=f"was changed by hand after the gates passed the checker{hint}",
        )
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
        # of none there is none
        mutation_score=tried.killed / tried.applicable if tried and tried.applicable else None,
        mutation_kinds=tried.kinds if tried else (),
        approved_by=checker.approved.by,
    )
