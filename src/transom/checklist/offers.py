"""What a person is offered whose description the rules do not understand.

These are claims that come close, and lines of the files, each with what the files give for it and
with what the answer takes over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from transom.canonical import Json
from transom.checklist.claiming import has_patterns, listed_texts
from transom.checklist.claims.claim_data import Claim, shipped_claims
from transom.checklist.claims.ranking import MOST_CANDIDATES, ClaimCandidate, candidates, same_word
from transom.checklist.claims.several_limits import Alternative, alternatives_of
from transom.checklist.claims.written_limits import limit_in
from transom.checklist.item import Item
from transom.checklist.item_files import own_files
from transom.checklist.joined_lines import candidates_of_all, candidates_of_each
from transom.checklist.judging.claim_account import (
    claim_of_one_check,
    evidence_of_claim,
    holds_matter,
)
from transom.checklist.judging.foreseeing import open_points, rows_by_unit
from transom.checklist.judging.named_parts import row_of_named_object
from transom.checklist.line_candidates import line_candidates
from transom.checklist.manner import Places
from transom.checklist.marking import format_path
from transom.checklist.measured_claims import measured_claims
from transom.checklist.offered_lines import LineCandidate
from transom.checklist.results import ReadingRow
from transom.checklist.status_lines import status_candidates
from transom.checklist.teach import Lesson
from transom.checklist.waiver_clauses import WAIVE, waiver_clauses, words_waived
from transom.errors import InputError
from transom.formats.reports import FileReading, format_of, read_report, shipped_formats

_MOST_MEASURED = 2


@dataclass(frozen=True)
class Offer:
    """An interpretation that is offered.

    Attributes:
        lesson: what it teaches, if it is a line of a file.
        has_evidence: whether the files hold anything of it.
    """

    row: ReadingRow
    lesson: Lesson | None = None
    has_evidence: bool = True


def offers_of(item: Item, places: Places, folder: Path) -> list[Offer]:
    """Return the interpretations that come close, each with what the current files give for it.

    First come the claims of which the files hold something, then those that the words do not name
    and the files measure, or else the nearest claim, and then a line of the files.
    """
    alternatives = () if has_patterns(item) else alternatives_of(item.description)
    if alternatives:
        return _offers_of_alternatives(item, alternatives, places, folder)
    return _offers_of(item, item.description, places, folder)


def _offers_of_alternatives(
    item: Item, alternatives: Sequence[Alternative], places: Places, folder: Path
) -> list[Offer]:
    """Return the best interpretation with each alternative of a limit, and those of each line."""
    paths = _files_of(item, places, folder)
    each_line = _offers_of_lines(item, paths, candidates_of_each(alternatives, paths))
    offers = list[Offer]()
    # Which of them is meant nobody can guess, so each is an answer of its own.
    for alternative in alternatives:
        near = _offers_of(item, alternative.description, places, folder)
        # A line alone says nothing of those beside it.
        if each_line:
            near = list(filter(_is_claim, near))
        for offer in sorted(near, key=_lacks_evidence)[:1]:
            others = " or ".join(each.limit for each in alternatives if each != alternative)
            says = f'{offer.row.says}; instead of "{others}"'
            offers.append(replace(offer, row=offer.row.model_copy(update={"says": says})))
    return sorted([*offers, *each_line], key=_lacks_evidence)


def _is_claim(offer: Offer) -> bool:
    return offer.lesson is None


def _lacks_evidence(offer: Offer) -> bool:
    return not offer.has_evidence


def _offers_of(item: Item, asked: str, places: Places, folder: Path) -> list[Offer]:
    """Return the interpretations of an item's description, or of one of its alternatives."""
    description, clause = _parted(asked)
    is_listed, listed = has_patterns(item), listed_texts(item)
    close = candidates(description, has_patterns=is_listed, listed=listed)
    readings = readings_of_files(item, places, folder)
    offers = list[Offer]()
    for close_claim in close:
        offers.extend(_offers_of_claim(item, close_claim, clause, readings))
        part = claim_of_one_check(close_claim.row, readings)
        # What the files measure of one check alone is offered as a claim of that check.
        if part is not None and all(other.row.name != part.name for other in close):
            title = f"{shipped_claims().claims[part.name].title} (the files measure no other check)"
            narrower = ClaimCandidate(part, title, close_claim.score)
            offers.extend(_offers_of_claim(item, narrower, clause, readings))
    # A claim that leaves nothing out needs no line beside it.
    is_whole = any(offer.has_evidence and "left_out" not in offer.row.reads_as for offer in offers)
    lines = list[Offer]()
    if not is_whole and not is_listed:
        paths = _files_of(item, places, folder)
        of_files = [*candidates_of_all(asked, paths), *line_candidates(asked, paths)]
        lines = _offers_of_lines(item, paths, [*of_files, *status_candidates(asked, paths)])
    shown, hidden = list[Offer](), list[Offer]()
    for offer in offers:
        (shown if offer.has_evidence else hidden).append(offer)
    measured = list[Offer]()
    if not is_whole:
        names = {str(offer.row.reads_as["claim"]) for offer in offers}
        found = measured_claims(description, readings, has_patterns=is_listed, listed=listed)
        others = [candidate for candidate in found if candidate.row.name not in names]
        for candidate in others[:_MOST_MEASURED]:
            measured.extend(_offers_of_claim(item, candidate, clause, readings))
    if not shown and not _drops_limit(description, hidden[:1]):
        # The nearest claim, of which the files hold nothing, stands behind those that they measure.
        measured, hidden = [*measured, *hidden[:1]], hidden[1:]
    return [*shown, *measured, *lines, *hidden][:MOST_CANDIDATES]


def _drops_limit(description: str, offers: Iterable[Offer]) -> bool:
    """Return whether claims leave out the limit that a description sets on a number."""
    if limit_in(description) is None:
        return False
    return all("limit" not in str(offer.row.reads_as.get("parameters")) for offer in offers)


def _offers_of_claim(
    item: Item, close_claim: ClaimCandidate, clause: str, readings: Sequence[FileReading]
) -> list[Offer]:
    """Return a claim as it is offered: once for each unit that its values may be in."""
    candidate, advice = _with_waiver_clause(close_claim, clause, item)
    offers = list[Offer]()
    row_of_claim = row_of_named_object(candidate.row, readings)
    for claim_row, unit_clause in rows_by_unit(row_of_claim, readings):
        reads_as: dict[str, Json] = {"claim": claim_row.name}
        if claim_row.parameters:
            reads_as["parameters"] = dict(claim_row.parameters)
        if claim_row.left_out:
            reads_as["left_out"] = list(claim_row.left_out)
        points = open_points(item, claim_row, readings)
        row = ReadingRow(
            says=f"{replace(candidate, row=claim_row).sentence}{unit_clause}{advice}",
            reads_as=reads_as,
            evidence=evidence_of_claim(claim_row, readings),
            accepts=points.accepts,
            check=points.check,
            shown=points.shown,
        )
        offers.append(Offer(row, has_evidence=holds_matter(claim_row, readings)))
    return offers


def _files_of(item: Item, places: Places, folder: Path) -> Sequence[Path]:
    """Return the input files of an item, or none before a variable is defined."""
    try:
        return own_files(item, places.roots(item, folder))
    except InputError:
        return ()


def _offers_of_lines(
    item: Item, paths: Sequence[Path], found: Iterable[LineCandidate]
) -> list[Offer]:
    """Return the lines of files that may be what a description limits, as they are offered."""
    offers = list[Offer]()
    for candidate in found:
        own_format = format_of(candidate.report_format)
        row = candidate.row(format_path(item))
        readings = list[FileReading]()
        for path in paths:
            with suppress(InputError):
                readings.append(read_report(path, (own_format,)))
        points = open_points(item, row, readings, candidate)
        reads_as: dict[str, Json] = {"claim": row.name, "format": row.format}
        if row.parameters:
            reads_as["parameters"] = dict(row.parameters)
        if row.left_out:
            reads_as["left_out"] = list(row.left_out)
        shown = ReadingRow(
            says=candidate.says,
            reads_as=reads_as,
            evidence=candidate.evidence,
            accepts=points.accepts,
            shown=points.shown,
        )
        offers.append(Offer(shown, candidate.lesson))
    return offers


def _parted(description: str) -> tuple[str, str]:
    """Return a description without a clause that waives it at a stage, and that clause or ""."""
    for clause, rest in waiver_clauses(description):
        if _stage_in(clause, shipped_claims().claims) or words_waived(clause):
            return rest, clause
    return description, ""


def _stage_in(words: str, claim_names: Iterable[str]) -> str:
    """Return the stage that words name, of those at which a waiver may excuse a claim, or ""."""
    for name in claim_names:
        for part in shipped_claims().claims[name].headers:
            for stage in (*part.stages_of("loading"), *part.stages_of("version")):
                if re.search(rf"(?<![\w-]){re.escape(stage)}(?![\w-])", words, re.IGNORECASE):
                    return stage.casefold()
    return ""


def _with_waiver_clause(
    candidate: ClaimCandidate, clause: str, item: Item
) -> tuple[ClaimCandidate, str]:
    """Return a candidate with the clause as a parameter, or with the clause left out and advice.

    "Waive for the synthesis stage" becomes a waiver, which holds where a log shows the stage; "for
    legacy libs" one of the files that are named so. With an equal waiver of the item, the clause
    says nothing more.
    """
    if not clause:
        return candidate, ""
    claim = shipped_claims().claims[candidate.row.name]
    stage = _stage_in(clause, (candidate.row.name,))
    waivers = item.waivers.waive_items if item.waivers else ()
    if stage and stage in {waiver.pattern.casefold() for waiver in waivers}:
        return candidate, ""
    pattern = stage or _names_waived(clause, claim)
    if pattern and WAIVE in claim.parameters:
        parameters = {**candidate.row.parameters, WAIVE: pattern}
        row = candidate.row.model_copy(update={"parameters": parameters})
        return replace(candidate, row=row), ""
    row = candidate.row.model_copy(update={"left_out": (*candidate.row.left_out, clause)})
    return replace(candidate, row=row), ""


def _names_waived(clause: str, claim: Claim) -> str:
    """Return the pattern of what a clause waives by a part of its name, or ""."""
    known_words = {*claim.words, *(name for part in claim.headers for name in part.called)}
    words = []
    for word in words_waived(clause):
        is_known = any(same_word(word, known) for known in known_words)
        if not is_known and word not in shipped_claims().grammar:
            words.append(word)
    # Of two words nobody can tell how a name has them.
    return f"*{words[0]}*" if len(words) == 1 else ""


def readings_of_files(item: Item, places: Places, folder: Path) -> list[FileReading]:
    """Return what the report formats read of an item's files, as far as they can be read."""
    readings = list[FileReading]()
    for path in _files_of(item, places, folder):
        with suppress(InputError):  # a file that cannot be read is an error of the check
            readings.append(read_report(path, shipped_formats()))
    return readings
