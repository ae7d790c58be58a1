"""One checker, its item and its files: from what was loaded to a verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from transom import __version__
from transom.canonical import Json
from transom.checklist.atoms import CheckerConfig, Requirements, Waivers, checker_type
from transom.checklist.item import Item
from transom.checklist.run.evaluate import Outcome, evaluate, patterned_items
from transom.checklist.run.files import Evidence
from transom.checklist.run.inputs import Gathered, Inputs, gather
from transom.checklist.run.loading import SPEC, LoadedChecker
from transom.checklist.run.logic import BATCH_SOURCE, Logic, OwnLogic, StandardLogic
from transom.checklist.run.pieces import with_pieces
from transom.checklist.run.rehearse import rehearse
from transom.checklist.run.runner import AtomRunner, AtomWorker, scope_of, sources_of
from transom.checklist.run.subjects import silent
from transom.checklist.run.verdict import CheckedItem, ConfigDifference, MadeBy, Status, Trouble, Verdict, Warned
from transom.checklist.run.waivers import Waived, apply_waivers
from transom.errors import AtomFailed, RegexFailed
from transom.formats.text_files import FileChanged
from transom.sandbox import Level

_UNFINISHED = Trouble(source_file=None, message="this checker was not finished; see human_intervention_report.json")
UNSAFE = "the atoms ran without a sandbox, so this verdict and everything that this user can reach was in their hands"

E = TypeVar("E", bound=CheckedItem)


@dataclass(frozen=True)
class Settled:
    """What counts in one run: the item's values where it has them, else the checker's."""

    requirements: Requirements
    waivers: Waivers
    differences: tuple[ConfigDifference, ...]

    @property
    def type(self) -> int:
        return checker_type(self.requirements.value, self.waivers.value)


def settle(config: CheckerConfig, item: Item | None) -> Settled:
    """Which requirements and waivers count, and where the item differs from the checker's defaults."""
    requirements = item.requirements if item and item.requirements else config.requirements
    waivers = item.waivers if item and item.waivers else config.waivers
    pairs = [
        ("item_id", item.item_id if item else config.item_id, config.item_id),
        ("requirements.value", _text(requirements.value), _text(config.requirements.value)),
        ("requirements.pattern_items", _list(requirements.pattern_items), _list(config.requirements.pattern_items)),
        ("waivers.value", _text(waivers.value), _text(config.waivers.value)),
        ("waivers.waive_items", _list(waivers.waive_items), _list(config.waivers.waive_items)),
    ]
    differences = tuple(ConfigDifference(key=key, item=own, checker=other) for key, own, other in pairs if own != other)
    return Settled(requirements, waivers, differences)


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
    item = item or checker.item
    settled = settle(checker.config, item)
    patterned_items(checker.config, settled.requirements)
    judged = _Judged(errors=(_UNFINISHED,))
    if not checker.unfinished:
        judged = await _judge(checker, settled, inputs, runner, as_of)
    outcome, waived = judged.outcome, judged.waived
    return Verdict(
        item_id=checker.config.item_id,
        status=_status(checker, judged.errors, waived, fail_on_unused=fail_on_unused),
        checker_type=settled.type,
        capability_type=checker.config.capability_type,
        found_items=_with_mode(outcome.found, checker.config),
        missing_items=_with_mode(waived.missing, checker.config),
        extra_items=_with_mode(waived.extra, checker.config),
        waived=_with_mode(waived.waived, checker.config),
        waiver_comments=waived.comments,
        unused_waivers=waived.unused,
        errors=judged.errors,
        warnings=(*_checker_warnings(checker), *_item_warnings(item), *judged.warnings, *_unguarded(runner)),
        matching=checker.config.matching,
        sources=outcome.sources,
        config_differences=() if _is_built_for(checker, item) else settled.differences,
        inputs=judged.gathered.read,
        made_by=_made_by(checker, item),
        sandbox_level=runner.level.value,
        as_of=as_of,
        doubted=checker.doubts,
    )


def _with_mode(entries: tuple[E, ...], config: CheckerConfig) -> tuple[E, ...]:
    """The entries, those of forbidding items marked as such."""
    forbidding = {item.id for item in config.items if item.mode == "forbid"}
    return tuple(one.model_copy(update={"mode": "forbid"}) if one.id in forbidding else one for one in entries)


def _is_built_for(checker: LoadedChecker, item: Item | None) -> bool:
    """Whether the checker was built for this very item: then its defaults are no other word than the item's."""
    return item is not None and checker.build.get("item_sha256") == item.sha256


@dataclass(frozen=True)
class _Judged:
    """What the atoms saw and what follows from it; with errors nothing follows."""

    gathered: Gathered = field(default_factory=lambda: Gathered(Evidence((), ())))
    outcome: Outcome = field(default_factory=Outcome)
    waived: Waived = field(default_factory=Waived)
    errors: tuple[Trouble, ...] = ()

    @property
    def warnings(self) -> tuple[Warned, ...]:
        return (*self.gathered.warnings, *self.outcome.warnings, *self.waived.warnings)


async def _judge(checker: LoadedChecker, settled: Settled, inputs: Inputs, runner: AtomRunner, as_of: str) -> _Judged:
    gathered = Gathered(Evidence((), ()))
    try:
        async with runner.worker(with_pieces(checker.atoms) + BATCH_SOURCE) as worker:
            gathered = await gather(inputs, worker, await scope_of(worker), await sources_of(worker))
            if gathered.errors:
                return _Judged(gathered, errors=gathered.errors)
            await rehearse(runner, checker.config, settled.requirements, settled.waivers, gathered.evidence)
            logic = _logic(checker.config, worker)
            outcome = await evaluate(checker.config, gathered.evidence, settled.requirements, logic)
            waived = apply_waivers(outcome, settled.waivers, checker.config, gathered.evidence, as_of)
            if not (waived.missing or waived.extra) and (unheard := _unheard(checker.config, gathered.evidence)):
                return _Judged(gathered, errors=unheard)
            return _Judged(gathered, outcome, waived)
    except RegexFailed as error:
        return _Judged(gathered, errors=(*gathered.errors, Trouble(source_file=None, message=str(error))))
    except AtomFailed as error:
        failed = Trouble(source_file=None, message=f"the atoms failed ({error.kind}): {error}")
        return _Judged(gathered, errors=(*gathered.errors, failed))
    except FileChanged as error:  # a file is read again where something is missing, to show the nearest line
        return _Judged(gathered, errors=(Trouble(source_file=None, message=f"an input {error}"),))


def _unheard(config: CheckerConfig, evidence: Evidence) -> tuple[Trouble, ...]:
    """What would be an error if the check passed: of several runs, one does not say what the others do."""
    return tuple(
        Trouble(source_file=file.shown, message=f"names no {category}, as others of its kind do: it cannot be judged")
        for file, category in silent(config.items, evidence)
    )


def _logic(config: CheckerConfig, worker: AtomWorker) -> Logic:
    return OwnLogic(worker) if config.atoms == "own" else StandardLogic()


def _status(checker: LoadedChecker, errors: tuple[Trouble, ...], waived: Waived, *, fail_on_unused: bool) -> Status:
    if errors:
        return "ERROR"
    if checker.unreviewed:
        return "NEEDS_REVIEW"
    if waived.missing or waived.extra or (fail_on_unused and waived.unused):
        return "FAIL"
    return "PASS"


def _checker_warnings(checker: LoadedChecker) -> Iterator[Warned]:
    """What a reader must know of the checker itself: nobody held a hand's edit to the gates."""
    hint = "; hold it to them again with check lint, or approve it with check approve" if checker.unreviewed else ""
    for name in checker.edited:
        yield Warned(source_file=name, message=f"was changed by hand after the gates passed the checker{hint}")
    if not checker.build and SPEC in checker.digests:
        yield Warned(
            message=f"no gate has seen this checker; hold it to them with: transom check lint {checker.folder.name}"
        )
    if checker.approved.void:
        yield Warned(message=f"the approval of the checker is void: {checker.approved.why_not}")


def _unguarded(runner: AtomRunner) -> tuple[Warned, ...]:
    """What a reader of the verdict must know where the atoms could have done more than read."""
    return (Warned(message=UNSAFE),) if runner.level is Level.NONE else ()


def _item_warnings(item: Item | None) -> tuple[Warned, ...]:
    if item is None:
        return ()
    return tuple(
        Warned(source_file=item.path.name, line_number=notice.line, message=notice.message) for notice in item.warnings
    )


def _made_by(checker: LoadedChecker, item: Item | None) -> MadeBy:
    def told(key: str) -> str | None:
        value = checker.build.get(key)
        return value if isinstance(value, str) else None

    return MadeBy(
        transom=__version__,
        item_sha256=item.sha256 if item else None,
        itemspec_sha256=told("itemspec_sha256"),
        checker_sha256=checker.sha256,
        provider=told("provider"),
        model=told("model"),
        mutation_score=_mutation_score(checker.build.get("mutation")),
        mutation_kinds=_mutation_kinds(checker.build.get("mutation")),
        approved_by=checker.approved.by,
    )


def _mutation_kinds(mutation: Json) -> tuple[str, ...]:
    kinds = mutation.get("kinds") if isinstance(mutation, dict) else None
    return tuple(str(kind) for kind in kinds) if isinstance(kinds, list) else ()


def _mutation_score(mutation: Json) -> float | None:
    """Killed of applicable mutants, 0..1; None where none was tried."""
    match mutation:
        case {"killed": int(killed), "applicable": int(applicable)} if applicable:
            return killed / applicable
    return None
