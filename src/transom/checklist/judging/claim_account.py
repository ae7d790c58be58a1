"""Account for a claim: whether its matter was measured, and what speaks against it.

The checker of a claim emits what it judged. This module says what a PASS of it would rest on: a
measurement that proves it, a count of what was looked at, no value that is no number, and no words
of the description that nothing checks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.claim_data import (
    Claim,
    FactPattern,
    bad_facts,
    is_in_scope,
    measure_name,
    proof_facts,
    scope_of_claim,
    shipped_claims,
)
from transom.checklist.claims.claim_files import holds_limit, limit_of
from transom.checklist.claims.stated_checks import with_stated_check
from transom.evidence.caps import Cap
from transom.evidence.numbers import NumberLimit, PrintedNumber, UnknownNumber
from transom.evidence.trouble import TroubleFinder
from transom.evidence.units import quantity_of
from transom.formats.reports import FileReading, Measurement
from transom.formats.reports.readings import WHOLE

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
    """

    caps: tuple[Cap, ...] = ()
    other_facts: str = ""
    unread: tuple[UnreadMatter, ...] = ()
    stated: str = ""


@dataclass(frozen=True)
class UnreadMatter:
    """Something that nobody could read: what stands there, where, and why it is no measurement."""

    text: str
    place: str


def account_for_claim(row: ClaimRow, path: str, reading: FileReading) -> ClaimAccount:
    """Return what a claim finds in a file."""
    claim = shipped_claims().claims.get(row.name)
    if claim is None:
        return ClaimAccount((Cap("words", f"there is no claim {row.name}"),))
    limit = limit_of(row.parameters)
    view = _ClaimView(claim, row, path, reading.measurements, limit)
    names = {measure_name(pattern, row.parameters) for pattern in view.patterns}
    measurements, stated = with_stated_check(row, reading.measurements, names)
    view = _ClaimView(claim, row, path, measurements, limit)
    caps = [
        *view.caps_of_proof(),
        *view.caps_of_parts(),
        *view.caps_of_numbers(),
        *view.caps_of_unnamed_checks(),
        *view.caps_of_alarms(),
    ]
    unread = tuple(view.unread())
    return ClaimAccount(tuple(dict.fromkeys(caps)), view.other_facts(), unread, stated)


def checks_to_choose(row: ClaimRow, readings: Iterable[FileReading]) -> dict[str, str]:
    """Return the checks that a person may state for values of which the reports name none.

    Returns:
        For each check, the evidence: the line of the first such value. Nothing if the claim needs
        no check, or if different values without a check stand in one file: they may be of both.
    """
    claim = shipped_claims().claims.get(row.name)
    if claim is None or row.stated_check:
        return {}
    checks = dict[str, str]()
    for reading in readings:
        view = _ClaimView(claim, row, reading.path, reading.measurements, limit_of(row.parameters))
        unnamed = view.unproven_values()
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


def evidence_of_claim(row: ClaimRow, readings: Iterable[FileReading]) -> str:
    """Return what files give for a claim, in one clause: a line that counts, or what is lacking."""
    lacking = list[str]()
    claim = shipped_claims().claims[row.name]
    for reading in readings:
        view = _ClaimView(claim, row, reading.path, reading.measurements)
        name = Path(reading.path).name
        for fact in view.matching(view.patterns):
            return f"{name}:{fact.line} {fact.content.strip()}"
        lacking.append(f"{name} holds nothing of it")
    return "; ".join(lacking) or "no file can be read"


def caps_of_words(row: ClaimRow, readings: Iterable[FileReading]) -> tuple[Cap, ...]:
    """Return a cap for the words of the description that neither the claim nor a report checks.

    "All reg2reg paths" narrows nothing if each path that was measured is of the group reg2reg.
    """
    claim = shipped_claims().claims.get(row.name)
    scopes = list[Mapping[str, str]]()
    tools = set[str]()
    if claim is not None and row.left_out:
        for reading in readings:
            tools.update(section.tool for section in reading.sections if not section.inside)
            view = _ClaimView(claim, row, reading.path, reading.measurements)
            patterns = [pattern for group in view.proof for pattern in group]
            scopes += [fact.scope for fact in view.matching(patterns)]
    caps = list[Cap]()
    for text in row.left_out:
        if not _is_step_of(text, tools) and not _is_stated(text, scopes):
            caps.append(Cap("words", f'not checked: "{text}"'))
    return tuple(caps)


def _is_stated(text: str, scopes: Sequence[Mapping[str, str]]) -> bool:
    """Return whether words name what the scope of each proving measurement says.

    "All corners" is said by a report that tells more than one corner apart.
    """
    written = text.lower().split()
    words = [word for word in written if word not in shipped_claims().grammar]
    if not scopes or not words:
        return False
    quantified = bool(_QUANTIFIERS & set(written))
    for word in words:
        keys = _SPLITS.get(word.rstrip("s"), ())
        if not (quantified and _is_split_by(keys, scopes)) and not _is_named(word, scopes):
            return False
    return True


def excused_lines(row: ClaimRow, measurements: Iterable[Measurement]) -> Mapping[int, str]:
    """Return the messages of lower severities than the one that a claim asks about.

    The tool itself says that they are not errors; a crash or a cut is never excused.
    """
    claim = shipped_claims().claims.get(row.name)
    severity = claim.fixed.get("severity") if claim else None
    if claim is not None and ("text" in claim.parameters or claim.list == "forbidden"):
        # Of the messages that a log may have, only errors are trouble for such a question.
        severity = "error"
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


def _is_step_of(text: str, tools: Collection[str]) -> bool:
    """Return whether words name a step of the flow, which each tool of the reports carries out."""
    words = " ".join(word for word in text.lower().split() if word not in ("the", "a", "an"))
    step_names = shipped_claims().steps.get(words, ())
    return bool(tools) and all(tool in step_names for tool in tools)


def _is_split_by(keys: Iterable[str], scopes: Sequence[Mapping[str, str]]) -> bool:
    """Return whether measurements differ in one of the keys of their scope."""
    for key in keys:
        values = {scope.get(key) for scope in scopes}
        values.discard(None)
        if len(values) > 1:
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
    "clock": ("clock", "path_group", "group"),
}
_NAMED_PARTS: Final = frozenset({"group", "path_group", "corner", "scenario", "view", "clock"})
_CHECKS: Final = ("setup", "hold")
_QUANTIFIERS: Final = frozenset({"all", "every", "each"})


def fact_words(fact: Measurement) -> str:
    """Return the name of a measurement in words."""
    return fact.name.replace("_", " ")


def _lacks_check(fact: Measurement, check: str) -> bool:
    """Return whether a report does not name a measurement's check, which may then be this one."""
    if "check" not in fact.scope:
        return True
    return fact.scope.get("assumed") == "check" and fact.scope["check"] != check


def _is_whole(fact: Measurement, key: str) -> bool:
    """Return whether a measurement is of all parts that a key of its scope tells apart."""
    return fact.scope.get(key, WHOLE) == WHOLE


@dataclass(frozen=True)
class _ClaimView:
    """A claim's view of one file's measurements."""

    claim: Claim
    row: ClaimRow
    path: str
    measurements: Sequence[Measurement]
    limit: NumberLimit | None = None

    @property
    def patterns(self) -> tuple[FactPattern, ...]:
        """Return all measurements that prove or break the claim."""
        proof = [pattern for group in self.proof for pattern in group]
        return (*bad_facts(self.claim, self.row.parameters), *proof)

    @property
    def proof(self) -> tuple[tuple[FactPattern, ...], ...]:
        """Return the groups of measurements that prove the claim."""
        return proof_facts(self.claim, self.row.parameters)

    def matching(self, patterns: Iterable[FactPattern]) -> Iterator[Measurement]:
        """Yield the measurements that patterns speak of."""
        claim_scope = scope_of_claim(self.claim, self.row.parameters)
        for fact in self.measurements:
            for pattern in patterns:
                scope = {**claim_scope, **pattern.scope}
                if pattern.check:
                    scope["check"] = pattern.check
                is_named = fact.name == measure_name(pattern, self.row.parameters)
                if is_named and is_in_scope(fact.scope, scope):
                    yield fact
                    break

    def caps_of_proof(self) -> Iterator[Cap]:
        """Yield a cap for each group of the proof of which nothing was measured."""
        for group in self.proof:
            # A fact without a number is held back for itself.
            if next(self.matching(group), None) is None:
                names = " or ".join(self.names(group))
                yield Cap("measured", f"{names} was not measured", self.path)
        counts = list(self.matching(self.claim.looked_at))
        numbers = [fact.number for fact in counts if isinstance(fact.number, PrintedNumber)]
        if counts and not any(number.value > 0 for number in numbers):
            text = f"nothing was looked at: {counts[0].content.strip()}"
            yield Cap("measured", text, self.path, counts[0].line)

    def caps_of_parts(self) -> Iterator[Cap]:
        """Yield a cap for a measurement that the report shows of some parts only, or not at all.

        A part without a value, such as a path group with no path, is covered by the whole.
        """
        proof = [pattern for group in self.proof for pattern in group]
        for pattern in proof:
            facts = list(self.matching([pattern]))
            measured = [fact for fact in facts if isinstance(fact.number, PrintedNumber)]
            key = pattern.whole
            whole_facts = [fact for fact in measured if key is None or _is_whole(fact, key)]
            if key is not None and measured and not whole_facts:
                parts = ", ".join(dict.fromkeys(fact.scope[key] for fact in measured))
                name = fact_words(measured[0])
                text = f"{name} was measured of parts only ({key} {parts}), not of the whole"
                yield Cap("measured", text, self.path, measured[0].line)
            for fact in facts:
                is_part = key is not None and not _is_whole(fact, key)
                if fact.is_not_measured and not (is_part and whole_facts):
                    text = f"{fact_words(fact)} was not measured: {fact.content.strip()}"
                    yield Cap("measured", text, self.path, fact.line)

    def caps_of_unnamed_checks(self) -> Iterator[Cap]:
        """Yield a cap for each bad number of which the report does not name the check."""
        claim_scope = scope_of_claim(self.claim, self.row.parameters)
        for pattern in bad_facts(self.claim, self.row.parameters):
            check = pattern.check or claim_scope.get("check")
            if check is None:
                continue
            name = measure_name(pattern, self.row.parameters)
            for fact in self.measurements:
                if fact.name != name or not _lacks_check(fact, check):
                    continue
                scope = {**fact.scope, "check": check}
                if is_in_scope(scope, {**claim_scope, "check": check}) and self.is_bad(
                    pattern, fact
                ):
                    text = f"the report does not name its check: {fact.content.strip()}"
                    yield Cap("measured", text, self.path, fact.line)

    def is_bad(self, pattern: FactPattern, fact: Measurement) -> bool:
        """Return whether a measurement may break the claim as a pattern says."""
        if pattern.text is not None:
            return fact.text == pattern.text
        if pattern.text_contains is not None:
            return pattern.text_contains in fact.text.lower()
        number = fact.number
        if not isinstance(number, PrintedNumber):
            return fact.value is None
        if pattern.below is not None and number.value >= pattern.below:
            return False
        if pattern.above is not None and number.value <= pattern.above:
            return False
        if pattern.breaks_limit and self.limit is not None:
            # What cannot be compared may break the limit.
            return not holds_limit(number, self.limit)
        return True

    def names(self, patterns: Iterable[FactPattern]) -> list[str]:
        """Return what patterns speak of, in words: `worst slack of hold`."""
        claim_scope = scope_of_claim(self.claim, self.row.parameters)
        names = list[str]()
        for pattern in patterns:
            name = measure_name(pattern, self.row.parameters).replace("_", " ")
            check = pattern.check or claim_scope.get("check")
            names.append(f"{name} of {check}" if check else name)
        return names

    def caps_of_numbers(self) -> Iterator[Cap]:
        """Yield a cap for each value that is no certain number, such as a printed -0.00."""
        for fact in self.matching(self.patterns):
            number = fact.number
            if isinstance(number, UnknownNumber) and number.reason != "not_measured":
                text = f"{fact.name.replace('_', ' ')}: {number.message}"
                yield Cap("measured", text, self.path, fact.line)

    def caps_of_alarms(self) -> Iterator[Cap]:
        """Yield a cap for each measurement that only alarms."""
        for fact in self.matching(self.claim.alarming):
            number = fact.number
            if not isinstance(number, PrintedNumber) or number.value > 0:
                text = f"{fact.name.replace('_', ' ')}: {fact.content.strip()}"
                yield Cap("trouble", text, self.path, fact.line)

    def unread(self) -> Iterator[UnreadMatter]:
        """Yield what stands in place of a measurement, if nothing of the claim could be read."""
        facts = list(self.matching(self.patterns))
        name = Path(self.path).name
        if any(not self.why_unread(fact) for fact in facts):
            # A sum of slacks proves nothing while the slack itself may be of another check.
            for fact in self.unproven_values():
                where = f"{name}:{fact.line}; the report does not name its check"
                yield UnreadMatter(fact.content.strip(), where)
            return
        for fact in facts:
            place = f"{name}:{fact.line}, {self.why_unread(fact)}"
            yield UnreadMatter(fact.content.strip(), place)
        unnamed = () if facts else tuple(self.without_check())
        for fact in unnamed:
            place = f"{name}:{fact.line}; the report does not name its check"
            yield UnreadMatter(fact.content.strip(), place)
        if not facts and not unnamed:
            names = " or ".join(dict.fromkeys(self.names(self.proof[0])))
            yield UnreadMatter(names, f"{name}: no report format finds it there")

    def without_check(self) -> Iterator[Measurement]:
        """Yield what would prove or break the claim if the report said of which check it is."""
        checks = self.asked_checks()
        bad = bad_facts(self.claim, self.row.parameters)
        for fact in self.measurements:
            if not any(_lacks_check(fact, check) for check in checks):
                continue
            if "check" not in fact.scope and fact.name in self.proof_names:
                yield fact
                continue
            patterns = [p for p in bad if measure_name(p, self.row.parameters) == fact.name]
            if any(self.is_bad(pattern, fact) for pattern in patterns):
                yield fact

    def unproven_values(self) -> list[Measurement]:
        """Return values without a check that would prove what no other measurement proves."""
        values = list[Measurement]()
        for group in self.proof:
            if next(self.matching(group), None) is not None:
                continue
            values += self.without_check()
        # Claims of both checks have the same names in two groups.
        return list({fact.line: fact for fact in values}.values())

    def asked_checks(self) -> list[str]:
        """Return the checks that the claim asks about."""
        wanted = scope_of_claim(self.claim, self.row.parameters).get("check")
        checks = [pattern.check for group in self.proof for pattern in group]
        return [check for check in dict.fromkeys([wanted, *checks]) if check]

    def why_unread(self, fact: Measurement) -> str:
        """Return why nobody can tell what a measurement says, or "".

        A value such as INF was read: it says that nothing was measured.
        """
        number = fact.number
        if isinstance(number, UnknownNumber):
            return "" if number.reason in ("not_measured", "rounded") else number.message
        if number is None or self.limit is None:
            return ""
        if fact.name not in self.proof_names:
            # The negative part of a slack says nothing of one that is not negative.
            return "" if number.value < 0 else "which is zero for any value above it"
        limit, unit = self.limit.number, number.unit
        if not limit.unit and limit.value == 0:
            return ""
        if (quantity_of(limit.unit) or "") != (quantity_of(unit) or ""):
            return f"with the unit {unit}" if unit else "without a unit"
        return ""

    @property
    def proof_names(self) -> set[str]:
        """Return the names of the measurements that prove the claim."""
        patterns = [pattern for group in self.proof for pattern in group]
        return {measure_name(pattern, self.row.parameters) for pattern in patterns}

    def other_facts(self) -> str:
        """Return why a report holds other facts only, or ""."""
        if any(True for _ in self.matching(self.patterns)):
            return ""
        if next(self.without_check(), None) is not None:
            return ""
        # Each report has a version, which says nothing of its matter.
        fact_names = sorted({fact_words(fact) for fact in self.measurements} - {"tool version"})
        if not fact_names:
            return ""
        listing = ", ".join(fact_names[:4]) + (", ..." if len(fact_names) > 4 else "")
        names = " or ".join(dict.fromkeys(self.names(self.patterns[-2:])))
        return f"wrong file: it holds no {names}, only {listing}"
