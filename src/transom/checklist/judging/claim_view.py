"""A claim's view of the measurements of one file."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.claim_data import (
    ASKED,
    SCRIPT_COMMANDS,
    Claim,
    FactPattern,
    bad_facts,
    is_in_scope,
    measure_name,
    proof_facts,
    scope_of_claim,
)
from transom.checklist.claims.claim_limits import may_break
from transom.checklist.judging.doubtful_lines import text_of_doubt
from transom.evidence.caps import Cap
from transom.evidence.number_limits import NumberLimit
from transom.evidence.numbers import PrintedNumber, UnknownNumber
from transom.evidence.units import quantity_of
from transom.formats.reports import Measurement
from transom.formats.reports.readings import WHOLE
from transom.formats.reports.sought_texts import SEARCHED_LOG, SOUGHT_LINE

# A command after the prompt, the time or the number of its line, or after nothing.
_SCRIPT: Final = re.compile(
    r"\s*(?:\[[^\]]*\]\s*)?(?:(?:[^\s<>%]*(?: \d+)?[>%]|<\w+>)\s*)?"
    rf"(?:{'|'.join(SCRIPT_COMMANDS)})\s",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class UnreadMatter:
    """Something that nobody could read: what stands there, where, and why it is no measurement."""

    text: str
    place: str


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
class ClaimView:
    """A claim's view of one file's measurements."""

    claim: Claim
    row: ClaimRow
    path: str
    measurements: Sequence[Measurement]
    limit: NumberLimit | None = None

    @property
    def patterns(self) -> tuple[FactPattern, ...]:
        """Return all measurements that prove or break the claim."""
        return (*bad_facts(self.claim, self.row.parameters), *self.proving)

    @property
    def proof(self) -> tuple[tuple[FactPattern, ...], ...]:
        """Return the groups of measurements that prove the claim."""
        return proof_facts(self.claim, self.row.parameters)

    @property
    def proving(self) -> list[FactPattern]:
        """Return the measurements of all groups that prove the claim."""
        return list(itertools.chain.from_iterable(self.proof))

    def matching(self, patterns: Iterable[FactPattern]) -> Iterator[Measurement]:
        """Yield the measurements that patterns speak of."""
        claim_scope = scope_of_claim(self.claim, self.row.parameters)
        # Each measurement once, whichever of the patterns it fits.
        for fact in self.measurements:
            for pattern in patterns:
                scope = {**claim_scope, **pattern.scope}
                if pattern.check:
                    scope["check"] = pattern.check
                is_named = fact.name == measure_name(pattern, self.row.parameters)
                if is_named and is_in_scope(fact.scope, scope):
                    yield fact
                    break

    def measured_groups(self) -> set[int]:
        """Return the places of the groups of the proof of which the file measures something."""
        measured = set[int]()
        for number, group in enumerate(self.proof):
            # A fact without a number is held back for itself.
            if next(self.matching(group), None) is not None:
                measured.add(number)
        return measured

    def caps_of_proof(self, elsewhere: Collection[int] = ()) -> Iterator[Cap]:
        """Yield a cap for each group of the proof of which nothing was measured.

        Args:
            elsewhere: the groups that another file measures.
        """
        measured = {*self.measured_groups(), *elsewhere}
        for number, group in enumerate(self.proof):
            if number not in measured:
                names = " or ".join(self.names(group))
                yield Cap("measured", f"{names} was not measured", self.path)
        yield from self._cap_of_end()
        counts = list(self.matching(self.claim.looked_at))
        if counts and any(pattern.last for pattern in self.claim.looked_at):
            last_line = max(fact.line for fact in counts)
            counts = [fact for fact in counts if fact.line == last_line]
        numbers = []
        for fact in counts:
            if isinstance(fact.number, PrintedNumber):
                numbers.append(fact.number)
        # "0 errors" of 0 checked nets is no proof.
        if counts and not any(number.value > 0 for number in numbers):
            text = f"nothing was looked at: {counts[0].content.strip()}"
            yield Cap("measured", text, self.path, counts[0].line)

    def _cap_of_end(self) -> Iterator[Cap]:
        """Yield a cap if what must stand behind the last proof does not."""
        if not self.claim.ended_by:
            return
        last_line = max((fact.line for fact in self.matching(self.proving)), default=0)
        if not any(fact.line > last_line for fact in self.matching(self.claim.ended_by)):
            names = " or ".join(self.names(self.claim.ended_by))
            yield Cap("measured", f"no {names} follows", self.path, last_line or None)

    def caps_of_parts(self) -> Iterator[Cap]:
        """Yield a cap for a measurement that the report shows of some parts only, or not at all.

        A part without a value, such as a path group with no path, is covered by the whole.
        """
        for pattern in self.proving:
            facts = list(self.matching([pattern]))
            measured = []
            for fact in facts:
                if isinstance(fact.number, PrintedNumber):
                    measured.append(fact)
            key = pattern.whole
            whole_facts = []
            for fact in measured:
                if key is None or _is_whole(fact, key):
                    whole_facts.append(fact)
            # The worst of two groups out of three may be better than the design.
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
            # A claim of no check is about each value, and needs no name.
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
        return may_break(pattern, fact, self.limit)

    def names(self, patterns: Iterable[FactPattern]) -> list[str]:
        """Return what patterns speak of, in words: `worst slack of hold`."""
        claim_scope = scope_of_claim(self.claim, self.row.parameters)
        names = list[str]()
        for pattern in patterns:
            name = measure_name(pattern, self.row.parameters).replace("_", " ")
            of = pattern.check or claim_scope.get("check") or pattern.scope.get(ASKED)
            names.append(f"{name} of {of}" if of else name)
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

    def caps_of_unread_files(self) -> Iterator[Cap]:
        """Yield a cap for each line of a log that may read a file of which no row reads one."""
        read_kinds = set[str]()
        names, kinds = set[str](), set[str]()
        for fact in self.measurements:
            names.add(fact.name)
            kinds.add(fact.scope.get("kind", ""))
            if fact.name in ("file_read", SEARCHED_LOG):
                read_kinds.add(fact.scope.get("kind", ""))
        # The head of a SPEF names what the file is; it reads none.
        if "file_read" not in names and any(part.kind in kinds for part in self.claim.headers):
            return
        for part in self.claim.headers:
            # A file that is no log runs no command.
            if not read_kinds or not read_kinds.isdisjoint(part.read_as):
                continue
            for fact in self.measurements:
                if fact.name != SOUGHT_LINE:
                    continue
                is_named = any(text in fact.text.lower() for text in part.stems)
                is_script = part.kind in self.claim.optional and _SCRIPT.match(fact.text)
                if is_named or is_script:
                    text = text_of_doubt(part.title, fact.text)
                    yield Cap("measured", text, self.path, fact.line)

    def unread(self) -> Iterator[UnreadMatter]:
        """Yield what stands in place of a measurement, if nothing of the claim could be read."""
        facts = list(self.matching(self.patterns))
        name = Path(self.path).name
        if any(not self.why_unread(fact) for fact in facts):
            # A sum of slacks proves nothing while the slack itself may be of another check.
            for fact in self.unproven_values():
                place = f"{name}:{fact.line}; the report does not name its check"
                yield UnreadMatter(fact.content.strip(), place)
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
            patterns = []
            for p in bad:
                if measure_name(p, self.row.parameters) == fact.name:
                    patterns.append(p)
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
        check_of_claim = scope_of_claim(self.claim, self.row.parameters).get("check")
        checks = [pattern.check for pattern in self.proving]
        return [check for check in dict.fromkeys([check_of_claim, *checks]) if check]

    def why_unread(self, fact: Measurement) -> str:
        """Return why nobody can tell what a measurement says, or "".

        A value such as INF was read: it says that nothing was measured.
        """
        number = fact.number
        if isinstance(number, UnknownNumber):
            if number.reason in ("not_measured", "rounded"):
                return ""
            return number.message
        if number is None or self.limit is None:
            return ""
        if fact.name not in self.proof_names:
            # The negative part of a slack says nothing of one that is not negative.
            if number.value < 0:
                return ""
            return "which is zero for any value above it"
        limit, unit = self.limit.number, number.unit
        # Zero is the same in each unit, but not of each quantity.
        if limit.value == 0 and not (limit.unit and unit):
            return ""
        if (quantity_of(limit.unit) or "") != (quantity_of(unit) or ""):
            if unit:
                return f"with the unit {unit}"
            return "without a unit"
        return ""

    @property
    def proof_names(self) -> set[str]:
        """Return the names of the measurements that prove the claim."""
        return {measure_name(pattern, self.row.parameters) for pattern in self.proving}

    def measured_at(self) -> int | None:
        """Return the line at which a number of each group of the proof was measured, or None."""
        lines = list[int]()
        for group in self.proof:
            numbers = (
                fact.line for fact in self.matching(group) if isinstance(fact.number, PrintedNumber)
            )
            lines.append(min(numbers, default=0))
        return max(lines, default=0) if all(lines) else None

    def other_facts(self) -> str:
        """Return why a report holds other facts only, or ""."""
        if any(True for _ in self.matching(self.patterns)):
            return ""
        # The values are there, only of which check they are is open: that is a question, not an
        # error.
        if next(self.without_check(), None) is not None:
            return ""
        # Each report has a version, and any log can be searched, which says nothing of its matter.
        common = {"tool version", "sought line", "searched log"}
        fact_names = sorted({fact_words(fact) for fact in self.measurements} - common)
        if not fact_names:
            return ""
        listing = ", ".join(fact_names[:4]) + (", ..." if len(fact_names) > 4 else "")
        if self.claim.headers:
            # Such a log may load the files in words that its format does not know.
            kinds = " or ".join(part.title for part in self.claim.headers)
            return f"no line of it is read as the loading or the head of {kinds}, only {listing}"
        names = " or ".join(dict.fromkeys(self.names(self.patterns[-2:])))
        return f"wrong file: it holds no {names}, only {listing}"
