"""Account for a claim: whether its matter was measured, and what speaks against it.

The checker of a claim emits what it judged. This module says what a PASS of it would rest on: a
measurement that proves it, a count of what was looked at, no value that is no number, and no words
of the description that nothing checks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.claim_data import (
    Claim,
    measure_name,
    shipped_claims,
)
from transom.checklist.claims.claim_limits import limit_of
from transom.checklist.claims.file_kinds import claim_of_row, known_claim
from transom.checklist.claims.ranking import same_word
from transom.checklist.claims.stated_checks import with_stated_check
from transom.checklist.judging.claim_view import ClaimView, UnreadMatter
from transom.evidence.caps import Cap
from transom.evidence.number_words import NUMBER_WORDS
from transom.evidence.trouble import TroubleFinder
from transom.formats.reports import FileReading, Measurement

# Trouble that a message of a lower severity cannot excuse.
_GRAVE_STATES = frozenset({"crashed", "ended early", "hangs", "exhausted", "partial"})


@dataclass(frozen=True)
class ClaimAccount:
    """What a claim finds in a file.

    Attributes:
        caps: what holds a PASS back.
        other_facts: why the file is not a report of the claim, or "".
        unread: what the file has instead of a measurement of the claim; empty if it has one.
        stated: what a person states of the file's values, as a sentence of the verdict, or "".
        measured_at: the line at which all that proves the claim was measured, or None.
    """

    caps: tuple[Cap, ...] = ()
    other_facts: str = ""
    unread: tuple[UnreadMatter, ...] = ()
    stated: str = ""
    measured_at: int | None = None


def account_for_claim(
    row: ClaimRow, path: str, reading: FileReading, others: Collection[FileReading] = ()
) -> ClaimAccount:
    """Return what a claim finds in a file.

    Args:
        row: the claim.
        path: the path, as the verdict shows it.
        reading: what was read of the file.
        others: what was read of the other inputs of the item.
    """
    claim = claim_of_row(row)
    # An older checker may name a claim that this version does not ship any more.
    if claim is None:
        return ClaimAccount((Cap("words", f"there is no claim {row.name}"),))
    limit = limit_of(row.parameters)
    view = ClaimView(claim, row, path, reading.measurements, limit)
    # Without the limit first: what a person states of values decides which of them are compared.
    names = {measure_name(pattern, row.parameters) for pattern in view.patterns}
    measurements, stated = with_stated_check(row, reading.measurements, names)
    view = ClaimView(claim, row, path, measurements, limit)
    caps = [
        *view.caps_of_proof(_groups_of_other_half(view, reading, others)),
        *view.caps_of_parts(),
        *view.caps_of_numbers(),
        *view.caps_of_unnamed_checks(),
        *view.caps_of_alarms(),
        *view.caps_of_unread_files(),
    ]
    unread = tuple(view.unread())
    other_facts, measured_at = view.other_facts(), view.measured_at()
    # The file may be of that part of the description which the claim does not check.
    if other_facts and row.left_out and holds_matter(row, others):
        caps.append(Cap("files", f"{path} was given, and the claim does not check it", path))
        other_facts = ""
    if other_facts:
        open_lines = tuple(_unread_lines(row, path, reading))
        # A report that speaks of the matter in words which nothing reads is no wrong file.
        if open_lines:
            unread, other_facts = open_lines, ""
    return ClaimAccount(tuple(dict.fromkeys(caps)), other_facts, unread, stated, measured_at)


def _unread_lines(row: ClaimRow, path: str, reading: FileReading) -> Iterator[UnreadMatter]:
    """Yield the unexplained lines of a file that have a word by which a claim is known."""
    claim = shipped_claims().claims.get(row.name)
    for shape in reading.unexplained:
        words = _NAME_PARTS.findall(shape.text.lower())
        if claim and any(same_word(word, need) for word in words for need in claim.needs):
            yield UnreadMatter(shape.text, f"{Path(path).name}:{shape.lines[0]}")


def _groups_of_other_half(
    view: ClaimView, reading: FileReading, others: Iterable[FileReading]
) -> set[int]:
    """Return the groups of a proof that another file of the same design measures.

    A report of setup and one of hold are halves: each measures what the other one lacks.
    """
    groups = set[int]()
    own, design = view.measured_groups(), _designs_of(reading)
    for other in others:
        if len(design) != 1 or _designs_of(other) != design:
            continue
        measured = replace(view, path=other.path, measurements=other.measurements).measured_groups()
        if own - measured:
            groups |= measured
    return groups


def _designs_of(reading: FileReading) -> set[str]:
    """Return the designs that the reports of a file are of."""
    designs = set[str]()
    for section in reading.sections:
        designs.update(fact.text for fact in section.identity.facts if fact.facet == "design")
    return designs


def checks_to_choose(row: ClaimRow, readings: Iterable[FileReading]) -> dict[str, str]:
    """Return the checks that a person may state for values of which the reports name none.

    Returns:
        For each check, the evidence: the line of the first such value. Nothing if the claim needs
        no check, or if different values without a check stand in one file: they may be of both.
    """
    claim = claim_of_row(row)
    if claim is None or row.stated_check:
        return {}
    checks = dict[str, str]()
    for reading in readings:
        view = ClaimView(claim, row, reading.path, reading.measurements, limit_of(row.parameters))
        unnamed = view.unproven_values()
        # One answer of a person cannot be right for a setup and a hold value at once.
        if len({(fact.name, fact.value) for fact in unnamed}) > len({f.name for f in unnamed}):
            return {}
        for fact in unnamed:
            evidence = f"{Path(reading.path).name}:{fact.line} {fact.content.strip()}"
            for check in view.asked_checks():
                checks.setdefault(check, evidence)
    if not checks:
        return {}
    # The check that the claim asks about is the nearest answer, but either may be right.
    evidence = next(iter(checks.values()))
    return {**checks, **{check: evidence for check in _CHECKS if check not in checks}}


def claim_of_one_check(row: ClaimRow, readings: Iterable[FileReading]) -> ClaimRow | None:
    """Return the claim of the one check that files measure, for a claim of several checks, or None.

    A synthesis report has no hold slack, so "no violating paths" can only be of setup there.
    """
    claims = shipped_claims().claims
    claim = claims[row.name]
    checks = {pattern.check for group in claim.proof for pattern in group if pattern.check}
    if len(checks) < _FEWEST_CHECKS:
        return None
    measured = set[str]()
    for reading in readings:
        view = ClaimView(claim, row, reading.path, reading.measurements)
        # A violation of the other check measures that, too.
        for fact in view.matching(view.patterns):
            measured.add(fact.scope.get("check", ""))
    for name, other in claims.items():
        if measured == {other.fixed.get("check")} and other.proof[0][0].name == "worst_slack":
            return row.model_copy(update={"name": name})
    return None


def evidence_of_claim(row: ClaimRow, readings: Iterable[FileReading]) -> str:
    """Return what files give for a claim, in one clause: a line that counts, or what is lacking."""
    lacking = list[str]()
    claim = known_claim(row)
    # The first line that counts is enough for a person to choose by.
    for reading in readings:
        view = ClaimView(claim, row, reading.path, reading.measurements)
        name = Path(reading.path).name
        kinds = {kind for part in claim.headers for kind in (part.kind, *part.read_as)}
        for fact in view.matching(view.patterns):
            if fact.name == "file_read" and kinds and fact.scope.get("kind") not in kinds:
                continue
            return f"{name}:{fact.line} {fact.content.strip()}"
        lacking.append(f"{name} holds nothing of it")
    return "; ".join(lacking) or "no file can be read"


def holds_matter(row: ClaimRow, readings: Iterable[FileReading]) -> bool:
    """Return whether one of the files holds a measurement that proves or breaks a claim."""
    claim = shipped_claims().claims[row.name]
    for reading in readings:
        view = ClaimView(claim, row, reading.path, reading.measurements)
        if next(view.matching(view.patterns), None) or next(view.without_check(), None):
            return True
    return False


def share_of_proof(row: ClaimRow, readings: Iterable[FileReading]) -> float:
    """Return of how many of the groups that prove a claim files have a measurement, 0..1."""
    claim = shipped_claims().claims[row.name]
    measured = set[int]()
    for reading in readings:
        measured |= ClaimView(claim, row, reading.path, reading.measurements).measured_groups()
    return len(measured) / len(claim.proof)


def caps_of_words(row: ClaimRow, readings: Iterable[FileReading]) -> tuple[Cap, ...]:
    """Return a cap for the words of the description that neither the claim nor a report checks.

    "All reg2reg paths" narrows nothing if each path that was measured is of the group reg2reg.
    """
    claim = claim_of_row(row)
    readings = tuple(readings)
    scopes = list[Mapping[str, str]]()
    tools = set[str]()
    # Reading all measurements again costs time, so only for words that are left over.
    if claim is not None and row.left_out:
        for reading in readings:
            tools.update(section.tool for section in reading.sections if not section.inside)
            view = ClaimView(claim, row, reading.path, reading.measurements)
            for fact in view.matching(view.proving):
                scopes.append(fact.scope)
    caps = list[Cap]()
    for text in row.left_out:
        stated = _is_step_of(text, tools) or _is_stated(text, scopes)
        stated = stated or _is_title(text, readings) or _is_design(text, readings)
        if not stated:
            caps.append(Cap("words", f'not checked: "{text}"'))
    return tuple(caps)


def _is_title(text: str, readings: Collection[FileReading]) -> bool:
    """Return whether words name each of the reports as its kind and the name of its file do.

    "In the final QoR" is said by a report of the kind `genus.qor` in a file `qor_final.rpt`. A word
    that the name of a file alone has may be of the design or of anything.
    """
    words = set(_words_that_count(text))
    claims = shipped_claims()
    # Words of denial, news and extent say more than a name does.
    is_narrow = words & {*claims.denials, *claims.bad_news, *claims.good_news, *_EXTENT}
    if not readings or not words or is_narrow:
        return False
    for reading in readings:
        kinds = {*_NOUNS_OF_REPORTS}
        for section in reading.sections:
            kinds.update(_NAME_PARTS.findall(section.format.partition(".")[2]))
        names = set(_NAME_PARTS.findall(Path(reading.path).stem.lower()))
        if not words & kinds or not words <= kinds | names:
            return False
    return True


def _is_design(text: str, readings: Collection[FileReading]) -> bool:
    """Return whether words are the name of the one design that each report states, or a part of it.

    "Of the FIFO" is said by a report of the design `sync_fifo_top`.
    """
    words = {name for word in _words_that_count(text) for name in _DESIGN_WORDS.findall(word)}
    if not readings or not words:
        return False
    for reading in readings:
        designs = _designs_of(reading)
        if len(designs) != 1 or not words <= {*_DESIGN_WORDS.findall(min(designs).lower())}:
            return False
    return True


def _words_that_count(text: str) -> list[str]:
    """Return the words of a phrase that are no grammar."""
    words = []
    for word in text.lower().split():
        if word not in shipped_claims().grammar:
            words.append(word)
    return words


def _is_stated(text: str, scopes: Sequence[Mapping[str, str]]) -> bool:
    """Return whether words name what the scope of each proving measurement says.

    "All corners" is said by a report that tells more than one corner apart.
    """
    written = text.lower().split()
    words = [word for word in _words_that_count(text) if word != "and"]
    # Words of grammar alone narrow nothing, but they prove nothing either.
    if not scopes or not words:
        return False
    counts = [number for word in written if (number := _COUNTS.get(word))]
    quantified = bool(_QUANTIFIERS & set(written))
    checks = {scope.get("check") for scope in scopes}
    for word in words:
        keys = _SPLITS.get(word.rstrip("s"), ())
        is_split = (quantified or bool(counts)) and _is_split_by(keys, scopes, counts)
        # Of both checks each value is held, as far as one was measured.
        is_check = len(checks) > 1 and word in checks
        if word not in NUMBER_WORDS and not (is_split or is_check or _is_named(word, scopes)):
            return False
    return True


def excused_lines(row: ClaimRow, measurements: Iterable[Measurement]) -> Mapping[int, str]:
    """Return the messages of lower severities than the one that a claim asks about.

    The tool itself says that they are not errors; a crash or a cut is never excused.
    """
    claim = claim_of_row(row)
    if claim is not None and any(part.is_any for part in claim.headers):
        return _lost_alternatives(claim, measurements)
    severity = claim.fixed.get("severity") if claim else None
    if claim is not None and ("text" in claim.parameters or claim.list == "forbidden"):
        # Of the messages that a log may have, only errors are trouble for such a question.
        severity = "error"
    # A claim about warnings must not excuse them.
    if severity != "error":
        return {}
    finder = TroubleFinder("eda")
    excused = dict[int, str]()
    for fact in measurements:
        if fact.name != "message" or fact.scope.get("severity", severity) == severity:
            continue
        states = {trouble.state for trouble in finder.in_line(fact.content)}
        if not states & _GRAVE_STATES:
            excused[fact.line] = fact.content
    return excused


def _lost_alternatives(claim: Claim, measurements: Iterable[Measurement]) -> Mapping[int, str]:
    """Return the errors about files of which another one is enough for the claim."""
    kinds = {kind for part in claim.headers if part.is_any for kind in part.read_as}
    paths, lost = set[str](), dict[int, str]()
    for fact in measurements:
        path = fact.scope.get("object", "")
        if fact.name == "file_read" and fact.scope.get("kind") in kinds:
            paths.add(path)
        elif fact.name == "file_not_read" and path in paths:
            lost[fact.line] = fact.content
    return lost


def _is_step_of(text: str, tools: Collection[str]) -> bool:
    """Return whether words name a step of the flow, which each tool of the reports carries out."""
    words = " ".join(word for word in text.lower().split() if word not in ("the", "a", "an"))
    step_names = shipped_claims().steps.get(words, ())
    return bool(tools) and all(tool in step_names for tool in tools)


def _is_split_by(
    keys: Iterable[str], scopes: Sequence[Mapping[str, str]], counts: Sequence[int]
) -> bool:
    """Return whether measurements differ in one of the keys of their scope, in as many values."""
    for key in keys:
        values = {scope.get(key) for scope in scopes}
        values.discard(None)
        if len(values) > 1 and all(count == len(values) for count in counts):
            return True
    return False


def _is_named(word: str, scopes: Iterable[Mapping[str, str]]) -> bool:
    """Return whether each scope has a word as the name of a part of the report."""
    for scope in scopes:
        names = {scope.get(key, "").lower() for key in _NAMED_PARTS}
        if word not in names:
            return False
    return True


# What a report may be split by, as a description calls it and as its measurements name it.
_SPLITS: Final = {
    "corner": ("corner", "scenario", "view"),
    "scenario": ("scenario", "view", "corner"),
    "view": ("view", "scenario", "corner"),
    "mode": ("mode", "scenario", "view"),
    "model": ("corner", "scenario", "view"),
    "clock": ("clock", "path_group", "group"),
}
_NAMED_PARTS: Final = frozenset({"group", "path_group", "corner", "scenario", "view", "clock"})
_CHECKS: Final = ("setup", "hold")
_FEWEST_CHECKS: Final = 2
_QUANTIFIERS: Final = frozenset({"all", "every", "each"})
_COUNTS: Final = {**NUMBER_WORDS, "both": 2}
_DESIGN_WORDS: Final = re.compile(r"[a-z0-9]+")
_NAME_PARTS: Final = re.compile(r"[a-z]+")
_NOUNS_OF_REPORTS: Final = frozenset({"report", "reports", "log", "summary"})
_EXTENT: Final = frozenset(
    {"only", "except", "excluding", "most", "least", "less", "more", "than", "never", "some"}
)
