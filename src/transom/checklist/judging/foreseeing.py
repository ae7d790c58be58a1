"""Foresee what a claim leaves open in today's files, before a person chooses it.

Whoever says what a description means sees in the same question what that answer would leave open,
and may take it over at once. Only what a person can judge by reading it is offered: words that
narrow the question, a name that no report states, and mild messages about other matters. What was
not measured, a report that is cut, an error, and a line that speaks of the matter itself are never
part of such an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, cast

from transom.canonical import Json
from transom.checklist.atoms import ClaimRow, Entry
from transom.checklist.claims.claim_data import (
    bad_facts,
    limited_measure,
    measure_name,
    shipped_claims,
)
from transom.checklist.claims.claim_files import write_claim
from transom.checklist.claims.claim_limits import limit_of
from transom.checklist.claims.other_matters import names_matter, names_other_matter
from transom.checklist.claims.stated_checks import with_stated_check
from transom.checklist.item import Item
from transom.checklist.judging.accounting import UNKNOWN_LINE, CheckAccount, account_for
from transom.checklist.judging.claim_account import checks_to_choose
from transom.checklist.judging.claim_view import ClaimView
from transom.checklist.judging.gather import File, GatheredEvidence
from transom.checklist.judging.mild_lines import (
    MildLine,
    TakenLines,
    in_few_forms,
    is_mild,
    is_plain,
)
from transom.checklist.taught_format import NO_END
from transom.evidence.numbers import PrintedNumber, convert
from transom.formats.reports import FileReading
from transom.formats.text_files import TextFile

_UNEXPLAINED: Final = "no rule explains "
# The units in which tools print what they do not print the unit of, the usual one first.
_UNITS_OF_TOOLS: Final = {"time": ("ns", "ps"), "power": ("mW", "W"), "frequency": ("MHz",)}
_UNREAD: Final = "it is trouble (unread line)"
_NOT_CHECKED: Final = re.compile(r'not checked: "(?P<words>.*)"', re.DOTALL)


class TaughtLine(Protocol):
    """A line that an answer teaches."""

    @property
    def own_words(self) -> frozenset[str]:
        """Return words that narrow the matter and are no other one, in the singular."""
        ...

    @property
    def report_format(self) -> dict[str, Json]:
        """Return the report format that it becomes."""
        ...

    def is_matter(self, line: str) -> bool:
        """Return whether another line may speak of the same matter."""
        ...


@dataclass(frozen=True)
class OpenPoints:
    """What a claim leaves open, as far as the answer that chooses it may take it over.

    Attributes:
        accepts: the texts of caps that the answer accepts.
        check: the check that the answer states for values of which the reports name none, or "".
        shown: how a question shows what the answer accepts.
    """

    accepts: tuple[str, ...] = ()
    check: str = ""
    shown: tuple[str, ...] = ()


def open_points(
    item: Item,
    row: ClaimRow,
    readings: Sequence[FileReading],
    taught: TaughtLine | None = None,
) -> OpenPoints:
    """Return what the answer that chooses a claim may take over with it.

    A claim that today's files break leaves nothing open, and one that they do not speak of leaves
    everything open.

    Args:
        item: the item.
        row: the claim.
        readings: what was read of the item's files.
        taught: the line that the answer teaches, if it teaches one.
    """
    if not readings or row.name not in shipped_claims().claims:
        return OpenPoints()
    check = _check_to_state(row, readings)
    if check:
        # Who answers is known later; the account needs a name.
        row = row.model_copy(update={"stated_check": check, "stated_by": "a person"})
    account = _account(item, row, readings, taught.report_format if taught else None)
    is_wrong = any(file.wrong for file in account.files)
    if is_wrong or account.unread or _is_broken(row, readings):
        return OpenPoints(check=check)
    taken = _acceptable(account, row, taught)
    return OpenPoints(taken.accepts, check, taken.shown)


def rows_by_unit(row: ClaimRow, readings: Sequence[FileReading]) -> list[tuple[ClaimRow, str]]:
    """Return what a claim with a limit may mean in the unit of the reports.

    "Below 60000" is below 60000 um2 where each report prints um2. Where the reports print no unit,
    that of the limit is left out, and a person states in which one the values are: "at least 100
    ps" is 0.1 among values in ns.

    Returns:
        Each claim with a clause that says so, or "".
    """
    limit = limit_of(row.parameters)
    measure = limited_measure(row.parameters)
    if limit is None or limit.number.value == 0 or measure is None:
        return [(row, "")]
    units = set[str]()
    for reading in readings:
        view = _view(row, reading)
        for fact in view.matching(view.proving):
            units.add(fact.number.unit if isinstance(fact.number, PrintedNumber) else "")
    wanted = limit.number.unit
    if not wanted and len(units) == 1 and (unit := units.pop()):
        parameters = {**row.parameters, "limit": f"{row.parameters['limit']} {unit}"}
        return [(row.model_copy(update={"parameters": parameters}), f"; {unit} as in the report")]
    if not wanted or units != {""}:
        return [(row, "")]
    rows = list[tuple[ClaimRow, str]]()
    for unit in _UNITS_OF_TOOLS.get(measure.quantity or "", (wanted,)):
        number = convert(limit.number, unit)
        if not isinstance(number, PrintedNumber):
            continue
        parameters = {**row.parameters, "limit": f"{limit.comparator} {number.value.normalize():f}"}
        if measure.quantity:
            parameters["values_in"] = unit
        update = {"parameters": parameters, "left_out": (*row.left_out, f"the unit {unit}")}
        clause = f"; {unit} is assumed, since the report has no unit"
        rows.append((row.model_copy(update=update), clause))
    return rows or [(row, "")]


def _check_to_state(row: ClaimRow, readings: Sequence[FileReading]) -> str:
    """Return the one check of a claim, if values of which no report names it wait for it, or ""."""
    claim = shipped_claims().claims[row.name]
    check = claim.fixed.get("check") or row.parameters.get("check", "")
    return check if check in checks_to_choose(row, readings) else ""


def _account(
    item: Item,
    row: ClaimRow,
    readings: Sequence[FileReading],
    own_format: dict[str, Json] | None,
) -> CheckAccount:
    """Return the account of a claim, as its checker would lead to it."""
    config = write_claim(item, row, own_format).config
    entries = list[Entry]()
    files = list[File]()
    for reading in readings:
        name = reading.path
        files.append(File(name, pieces=TextFile(Path(name)).pieces))
        view = _view(row, reading)
        for fact in view.matching(view.patterns):
            fields: dict[str, Json] = {**fact.scope, "value": fact.value or fact.text}
            entry = Entry(
                value=fact.name,
                source_file=name,
                line_number=fact.line,
                matched_content=fact.content,
                parsed_fields={"measurement": {**fields, "holds": True}},
            )
            entries.append(entry)
    evidence = GatheredEvidence(
        tuple(files), tuple(entries), readings={each.path: each for each in readings}
    )
    return account_for(item.description, config.items, evidence, row)


def _view(row: ClaimRow, reading: FileReading) -> ClaimView:
    """Return a claim's view of a file, with the check that a person states."""
    claim = shipped_claims().claims[row.name]
    names = {measure_name(pattern, row.parameters) for pattern in bad_facts(claim, row.parameters)}
    measurements, _ = with_stated_check(row, reading.measurements, names)
    return ClaimView(claim, row, reading.path, measurements, limit_of(row.parameters))


def _is_broken(row: ClaimRow, readings: Iterable[FileReading]) -> bool:
    """Return whether a measurement breaks a claim, so that nothing holds its verdict back."""
    claim = shipped_claims().claims[row.name]
    # Of a list or of iterations, one measurement alone breaks nothing.
    if claim.list or claim.last:
        return False
    for reading in readings:
        view = _view(row, reading)
        for pattern in bad_facts(claim, row.parameters):
            for fact in view.matching([pattern]):
                if not view.why_unread(fact) and view.is_bad(pattern, fact):
                    return True
    return False


def _acceptable(account: CheckAccount, row: ClaimRow, taught: TaughtLine | None) -> TakenLines:
    """Return the texts of the caps that a person can judge by reading them."""

    def is_matter(line: str) -> bool:
        return taught.is_matter(line) if taught else names_matter(line, row)

    own_words = taught.own_words if taught else frozenset[str]()
    mild_lines = dict[str, MildLine]()
    for line in cast("list[dict[str, Any]]", account.account.to_json()["lines"]):
        text, reason = str(line["text"]).strip(), str(line["reason"])
        # A line that looks like a taught one is trouble until somebody has read it.
        is_open = reason.startswith(_UNEXPLAINED) or (taught is not None and reason == _UNREAD)
        takes = is_plain if reason == UNKNOWN_LINE else is_mild
        if (is_open or takes is is_plain) and takes(text, is_matter=is_matter(text)):
            mild_lines[f"{text}: {reason}"] = MildLine(text, reason, int(line["count"]))
    others, lines = list[str](), list[MildLine]()
    for cap in account.caps:
        words = _NOT_CHECKED.fullmatch(cap.text) if cap.rule == "words" else None
        narrows = words is not None and (
            words["words"] == NO_END or not names_other_matter(words["words"], row, own_words)
        )
        if cap.rule == "trouble" and cap.text in mild_lines:
            lines.append(mild_lines[cap.text])
        elif (cap.rule == "identity" and _is_silent(cap.text)) or narrows:
            others.append(cap.text)
    taken = in_few_forms(lines)
    return TakenLines((*others, *taken.accepts), (*others, *taken.shown))


def _is_silent(text: str) -> bool:
    """Return whether a file says nothing at all of what a description names.

    What its name says otherwise, such as `post_cts.rpt`, is no silence.
    """
    return text.startswith("the file does not say ")
