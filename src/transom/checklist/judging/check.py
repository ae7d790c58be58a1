"""Check files: run a loaded checker over its inputs and return the verdict."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from transom import __version__
from transom.checklist.atoms import CheckerConfig, Waiver, checker_type
from transom.checklist.claims.claim_interest import (
    interest_of,
    is_of_headers,
    match_of_claim,
    sought_texts,
)
from transom.checklist.claims.sentences import open_alternative
from transom.checklist.item import Item
from transom.checklist.judging.accounting import CheckAccount, account_for
from transom.checklist.judging.claim_view import UnreadMatter
from transom.checklist.judging.compare import patterned_items
from transom.checklist.judging.doubtful_lines import (
    doubtful_lines,
    lines_that_read_nothing,
)
from transom.checklist.judging.evaluate import applicable_items, evaluate, unreported_files
from transom.checklist.judging.gather import GatheredEvidence, gather
from transom.checklist.judging.inputs import Inputs
from transom.checklist.judging.loading import LoadedChecker
from transom.checklist.judging.logic import BATCH_SOURCE, Logic
from transom.checklist.judging.overturning import (
    cap_of_overturned,
    note_of_overturned,
    overturned_verdict,
)
from transom.checklist.judging.pieces import with_pieces
from transom.checklist.judging.rehearse import rehearse
from transom.checklist.judging.runner import AtomRunner, declared
from transom.checklist.judging.verdict import Outcome, Status, Verdict
from transom.checklist.judging.verdict_rows import (
    AcceptedRow,
    CheckCapRow,
    ConfigDifference,
    InputRead,
    MadeBy,
    Note,
)
from transom.checklist.judging.waivers import apply_waivers
from transom.checklist.results import WordsRow
from transom.checklist.waiver_clauses import WAIVE
from transom.errors import AtomFailed, RegexFailed
from transom.evidence.caps import Cap, CappedVerdict, cap_verdict
from transom.formats.reports import format_of
from transom.formats.text_files import FileChanged
from transom.sandbox import Level

UNSAFE = (
    "the atoms ran without a sandbox, so this verdict and everything that this user can reach was"
    " in their hands"
)
_UNFINISHED = Note(
    source_file=None, message="this checker was not finished; see human_intervention_report.json"
)


@dataclass(frozen=True)
class Occasion:
    """Day and strictness of a check.

    Attributes:
        as_of: ISO date that decides which waivers have expired.
        fail_on_unused: whether a waiver that nothing needed makes the check fail.
    """

    as_of: str
    fail_on_unused: bool = False


def effective(config: CheckerConfig, item: Item | None) -> CheckerConfig:
    """Return the configuration that counts: the item's values, else the checker's."""
    if item is None:
        return config
    own = {"item_id": item.item_id, "requirements": item.requirements, "waivers": item.waivers}
    update = {key: value for key, value in own.items() if value is not None}
    return _with_waiver_of_claim(config.model_copy(update=update))


def _with_waiver_of_claim(config: CheckerConfig) -> CheckerConfig:
    """Return a configuration with the waiver that its claim has, beside those of the item."""
    pattern = config.claim.parameters.get(WAIVE) if config.claim else None
    waivers = config.waivers
    # A global waiver takes everything already.
    if not pattern or waivers.value == 0 or pattern in {w.pattern for w in waivers.waive_items}:
        return config
    own = Waiver(pattern=pattern, reason="waived by the description")
    count = (waivers.value or 0) + 1
    update = {"value": count, "waive_items": (*waivers.waive_items, own)}
    return config.model_copy(update={"waivers": waivers.model_copy(update=update)})


async def check_files(
    checker: LoadedChecker,
    item: Item | None,
    inputs: Inputs,
    runner: AtomRunner,
    as_of: str,
    *,
    fail_on_unused: bool = False,
) -> Verdict:
    """Run a checker over files, for the current item or the copy in the checker's folder.

    Whatever keeps the check from an answer (a file that cannot be read, an atom that fails) makes
    the verdict ERROR, never FAIL or PASS. `as_of` is an ISO date; it decides which waivers have
    expired.

    Raises:
        InputError: an undefined variable, or patterns that do not fit the checker.
        SandboxUnavailable: this machine cannot isolate the atoms.
    """
    # The current item counts; the copy in the folder is for a checker that is run by itself.
    item = item or checker.item
    config = effective(checker.config, item)
    # Patterns that do not fit are an error of the caller, so they are looked at first.
    patterned_items(config)
    account = CheckAccount()
    question = item.description if item else config.description
    outcome, outlook = Outcome(errors=(_UNFINISHED,)), None
    if not checker.unfinished:
        harmless = lines_that_read_nothing(item.accepted_caps, as_of) if item else frozenset()
        outcome, account = await _run(checker, config, inputs, runner, as_of, question, harmless)
        if doubtful := doubtful_lines(account.caps):
            harmless |= doubtful
            outlook, _ = await _run(checker, config, inputs, runner, as_of, question, harmless)
    warnings = _all_warnings(checker, item, outcome, account, runner.level)
    status = _status(checker, outcome, fail_on_unused=fail_on_unused)
    unread = account.unread if status == "PASS" else ()
    if unread:
        # Nothing was read, so there is no PASS that a person could let through.
        status = "NEEDS_MODEL"
    alternative = open_alternative(question, config.claim.left_out) if config.claim else ""
    if alternative and status == "FAIL":
        unread = (UnreadMatter(alternative, "an alternative that nothing checks may hold"),)
        status = "NEEDS_MODEL"
    caps = [*account.caps, *_caps_of_unmeasured(outcome, account)]
    status = _after_overturned(item, status, caps, warnings)
    capped = cap_verdict(
        status,
        caps,
        item.accepted_caps if item else (),
        date.fromisoformat(as_of),
        positive={"PASS"},
        capped="NEEDS_REVIEW",
    )
    if status == "FAIL" and account.may_be_of_other_parts:
        capped = _after_words(account.words, item, date.fromisoformat(as_of))
    # Who accepts that the lines read nothing must know that the files are then missing.
    if outlook and capped.status == "NEEDS_REVIEW" and _has_violations(outlook):
        outcome, capped = outlook, replace(capped, would_be="FAIL")
    return Verdict(
        **_outcome_fields(outcome, warnings),
        item_id=checker.config.item_id,
        **_capped_fields(capped, account),
        checker_type=checker_type(config.requirements.value, config.waivers.value),
        capability_type=config.capability_type,
        matching=config.matching,
        config_differences=tuple(_differences(checker, config, item)),
        needs_model=tuple(WordsRow(text=each.text, where=each.place) for each in unread),
        made_by=_made_by(checker, item),
        sandbox_level=runner.level.value,
        as_of=as_of,
        doubted=checker.doubts,
    )


def _all_warnings(
    checker: LoadedChecker,
    item: Item | None,
    outcome: Outcome,
    account: CheckAccount,
    level: Level,
) -> list[Note]:
    """Return the warnings of the checker, of its run, and of how it was run."""
    warnings = [*_warnings(checker, item), *outcome.warnings]
    for path, text in account.remarks:
        warnings.append(Note(source_file=path, message=text))
    # The warning stands in the verdict itself, since nobody reads the log of an old run.
    if level is Level.NONE:
        warnings.append(Note(message=UNSAFE))
    return warnings


def _after_overturned(
    item: Item | None, status: Status, caps: list[Cap], warnings: list[Note]
) -> Status:
    """Return the status after a verdict that a person overturned is weighed.

    A cap or a warning that follows from it is added to the lists.
    """
    overturned = overturned_verdict(item, status)
    if item is None or overturned is None:
        return status
    warnings.insert(0, note_of_overturned(item, overturned))
    if status == "PASS":
        caps.append(cap_of_overturned(overturned))
        return status
    # There is nothing to accept in a FAIL: a person says what is meant.
    return "NEEDS_REVIEW"


def _after_words(words: Sequence[Cap], item: Item | None, today: date) -> CappedVerdict:
    """Return a FAIL that is a question until a person accepts the words that are left out."""
    accepted = item.accepted_caps if item else ()
    return cap_verdict("FAIL", words, accepted, today, positive={"FAIL"}, capped="NEEDS_REVIEW")


def _caps_of_unmeasured(outcome: Outcome, account: CheckAccount) -> Iterator[Cap]:
    """Yield a cap for what was not measured, unless the claim's account has one for that file."""
    measured_files = {cap.source_file for cap in account.caps if cap.rule == "measured"}
    for note in outcome.unmeasured:
        if note.source_file not in measured_files:
            yield Cap("measured", note.message, note.source_file or "")


def _outcome_fields(outcome: Outcome, warnings: Sequence[Note]) -> dict[str, Any]:
    """Return the fields of a verdict that its outcome gives."""
    fields = vars(replace(outcome, warnings=tuple(warnings))).copy()
    # What was not measured becomes a cap; a verdict has no list of it.
    del fields["unmeasured"]
    return fields


def _capped_fields(capped: CappedVerdict, account: CheckAccount) -> dict[str, Any]:
    """Return the fields of a verdict that its caps and its account give."""
    rows = [CheckCapRow.model_validate(cap.to_json()) for cap in capped.capped_by]
    accepted = list[AcceptedRow]()
    for entry in capped.accepted:
        until = entry.acceptance.until.isoformat() if entry.acceptance.until else None
        accepted.append(AcceptedRow(text=entry.cap.text, by=entry.acceptance.by, until=until))
    return {
        "status": capped.status,
        "would_be": capped.would_be,
        "capped_by": tuple(rows),
        "accepted_caps": tuple(accepted),
        "account": account.account.to_json() if account.files else None,
    }


async def _run(
    checker: LoadedChecker,
    config: CheckerConfig,
    inputs: Inputs,
    runner: AtomRunner,
    as_of: str,
    question: str,
    harmless: frozenset[str],
) -> tuple[Outcome, CheckAccount]:
    """Return what the atoms saw, judged, and the account of the files.

    Any failure is an error of the outcome.
    """
    gathered = Outcome()
    try:
        # One worker for the whole run: it keeps what atom A has begun, and starting a sandbox takes
        # longer than most checks.
        async with runner.worker(with_pieces(checker.atoms) + BATCH_SOURCE) as worker:
            scope, sources = await declared(worker)
            if config.report_format is not None:
                scope = replace(scope, formats=(format_of(config.report_format),))
            scope = replace(
                scope,
                sought=sought_texts(config),
                sought_of_reading=is_of_headers(config),
                harmless=harmless,
                interest=interest_of(config, checker.atoms),
            )
            evidence, gathered = await gather(inputs, worker, scope, sources)
            # With a file missing, everything that was not seen could be in it.
            if gathered.errors:
                return gathered, CheckAccount()
            # From here on expressions run in this process, where nothing could stop a slow one.
            await rehearse(runner, config, evidence)
            logic = Logic(worker if config.atoms == "own" else None, match_of_claim(config))
            judged = await evaluate(config, evidence, logic)
            judged = apply_waivers(judged, config.waivers, config, evidence, as_of)
            # Only known after the waivers: a waived violation no longer keeps the check from
            # passing.
            errors = _unreported(judged, config, evidence)
            if errors:
                return replace(gathered, errors=errors), CheckAccount()
            items, _ = applicable_items(config.items, evidence)
            # Reading long reports again takes seconds, in which other checks of the batch go on.
            account = await asyncio.to_thread(account_for, question, items, evidence, config.claim)
            read = _with_identity(gathered.inputs, account)
            # A verdict on the wrong file would be right by accident at best.
            wrong = _wrong_files(account)
            if wrong:
                return replace(gathered, errors=wrong, inputs=read), account
            warnings = (*gathered.warnings, *judged.warnings)
            return replace(judged, warnings=warnings, inputs=read), account
    except RegexFailed as error:
        message = str(error)
    except AtomFailed as error:
        message = f"the atoms failed ({error.kind}): {error}"
    # A file is read again to show the nearest line, so it may have changed.
    except FileChanged as error:
        message = f"an input {error.problem}; {error.hint}"
    return replace(gathered, errors=(Note(source_file=None, message=message),)), CheckAccount()


def _with_identity(inputs: Sequence[InputRead], account: CheckAccount) -> tuple[InputRead, ...]:
    """Return the inputs, each with the formats and the identity that were read from it."""
    by_path = {file.path: file for file in account.files}
    rows = list[InputRead]()
    for row in inputs:
        file = by_path.get(row.path)
        if file is not None:
            update = {"formats": file.formats, "identity": file.identity.to_json()}
            row = row.model_copy(update=update)
        rows.append(row)
    return tuple(rows)


def _wrong_files(account: CheckAccount) -> tuple[Note, ...]:
    """Return an error for each file that says that it is of something else than the question."""
    notes = list[Note]()
    for file in account.files:
        if file.wrong is not None:
            notes.append(Note(source_file=file.path, message=file.wrong))
    return tuple(notes)


def _unreported(
    judged: Outcome, config: CheckerConfig, evidence: GatheredEvidence
) -> tuple[Note, ...]:
    """Return an error for each file that keeps a check from passing by not reporting."""
    if judged.missing_items or judged.extra_items:
        return ()
    notes = []
    for file, category in unreported_files(config.items, evidence):
        message = f"names no {category}, as others of its kind do: it cannot be judged"
        notes.append(Note(source_file=file.shown_name, message=message))
    return tuple(notes)


def _status(checker: LoadedChecker, outcome: Outcome, *, fail_on_unused: bool) -> Status:
    # The order matters: an error hides nothing, a changed checker must not fail a design.
    if outcome.errors:
        return "ERROR"
    if checker.unreviewed:
        return "NEEDS_REVIEW"
    unused = outcome.unused_waivers if fail_on_unused else ()
    return "FAIL" if _has_violations(outcome) or unused else "PASS"


def _has_violations(outcome: Outcome) -> bool:
    return bool(outcome.missing_items or outcome.extra_items)


def _differences(
    checker: LoadedChecker, config: CheckerConfig, item: Item | None
) -> Iterator[ConfigDifference]:
    """Yield the settings that the item has otherwise than the checker."""
    build = checker.build
    if item and build and build.item_sha256 == item.sha256:
        return  # the checker was built for this very item
    built_with = _comparable(checker.config)
    for key, text in _comparable(config).items():
        if text != built_with[key]:
            yield ConfigDifference(key=key, item=text, checker=built_with[key])


def _comparable(config: CheckerConfig) -> dict[str, str]:
    """Return the settings that an item may have otherwise than a checker, as texts."""
    # As texts, since N/A and 0 differ in meaning and a report has to print both.
    requirements, waivers = config.requirements, config.waivers
    return {
        "item_id": config.item_id,
        "requirements.value": _number_text(requirements.value),
        "requirements.pattern_items": _list_text(
            [str(pattern) for pattern in requirements.pattern_items]
        ),
        "waivers.value": _number_text(waivers.value),
        "waivers.waive_items": _list_text([waiver.pattern for waiver in waivers.waive_items]),
    }


def _number_text(number: int | None) -> str:
    if number is None:
        return "N/A"
    return str(number)


def _list_text(texts: Sequence[str]) -> str:
    return json.dumps(texts, ensure_ascii=False)


def _warnings(checker: LoadedChecker, item: Item | None) -> Iterator[Note]:
    """Yield what a reader must know about the checker and the item."""
    hint = ""
    if checker.unreviewed:
        hint = "; hold it to them again with check lint, or approve it with check approve"
    for name in checker.edited:
        message = f"was changed by hand after the gates passed the checker{hint}"
        yield Note(source_file=name, message=message)
    if checker.approved.void:
        yield Note(message=f"the approval of the checker is void: {checker.approved.why_not}")
    if item:
        for warning in item.warnings:
            yield Note(
                source_file=item.path.name, line_number=warning.line, message=warning.message
            )


def _made_by(checker: LoadedChecker, item: Item | None) -> MadeBy:
    build = checker.build
    made_by = MadeBy(
        transom=__version__,
        item_sha256=item.sha256 if item else None,
        checker_sha256=checker.sha256,
        approved_by=checker.approved.by,
    )
    # A checker that was written by hand has no author to name.
    if build is None:
        return made_by
    update: dict[str, object] = {
        "itemspec_sha256": build.itemspec_sha256,
        "provider": build.provider,
        "model": build.model,
    }
    if build.mutation:
        update["mutation_kinds"] = build.mutation.kinds
        # Without an applicable alteration there is no score.
        if build.mutation.applicable:
            update["mutation_score"] = build.mutation.killed / build.mutation.applicable
    return made_by.model_copy(update=update)
