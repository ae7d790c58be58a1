"""The pass over one section of a file: identity, context, rows and the end of one report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from transom.evidence.identity import Identity, IdentityFact
from transom.evidence.numbers import UnknownNumber
from transom.evidence.subject_names import FACETS
from transom.evidence.units import UnitSource, find_unit
from transom.formats.reports.fact_interest import FactKeeper
from transom.formats.reports.format_rules import CompiledFormat, LineRule, MeasureRule
from transom.formats.reports.readings import (
    Measurement,
    NumberRule,
    SectionReading,
    UnexplainedReason,
)
from transom.formats.reports.report_format import compiled

Span = tuple[int, int]

_INSTRUCTION = re.compile(r"\b(?:do not|don't)\b", re.IGNORECASE)
_NUMBER_BEGINS = re.compile(r"[-+]?[.,]?\d")
# It keeps two words apart that would otherwise read as one phrase of trouble.
_CUT = " ; "


class LineSink(Protocol):
    """Takes lines that no rule explains."""

    def add(
        self, number: int, text: str, reason: UnexplainedReason, words: Iterable[str] = ()
    ) -> None: ...


class SectionPass:
    """The state of the pass over one section.

    Args:
        report_format: the format of the section.
        reading: what the section yields.
        path: the file, for the facts of its identity.
        unexplained: takes the lines that no rule explains.
        shared_scope: the context that holds for all reports of the file.
        facts: keeps the measurements.

    Attributes:
        part: the open part of the report, or "".
    """

    def __init__(
        self,
        report_format: CompiledFormat,
        reading: SectionReading,
        path: str,
        unexplained: LineSink,
        shared_scope: dict[str, str],
        facts: FactKeeper,
    ) -> None:
        self.format = report_format
        self.reading = reading
        self.part = ""
        self._path = path
        self._identity_facts = list[IdentityFact]()
        self._facts_of_reading = 0
        self._shares = report_format.model.shares
        self._stated = set[tuple[str, str]]()
        self._unexplained = unexplained
        self._shared_scope = shared_scope
        self._facts = facts
        self._scope: dict[str, str] = {}
        # The line that stated each key of the scope.
        self._scope_lines: dict[str, int] = {}
        self._columns: list[str] = []
        self._ends_seen: set[int] = set()
        self._end_is_due = not report_format.model.ends_after
        self._begun_at = reading.first_line

    @property
    def is_finished(self) -> bool:
        """Whether the report has been read to its end."""
        return self.format.ends > 0 and len(self._ends_seen) == self.format.ends

    @property
    def awaits_run(self) -> bool:
        """Whether it is a log at its end behind which another run may begin."""
        return self.format.model.restarts and self.is_finished

    @property
    def needs_each_line(self) -> bool:
        """Whether each line at this place must be known."""
        model = self.format.model
        if not model.is_log or self.part:
            return True
        return model.end_is_last and self.is_finished

    def begin_again(self, number: int) -> None:
        """Begin the report anew in the same section."""
        self.part = ""
        self._scope.clear()
        self._columns = []
        self._ends_seen.clear()
        self._end_is_due = not self.format.model.ends_after
        self._begun_at = number

    def close(self, last_line: int) -> None:
        """End the section; a report that did not come to its end is cut."""
        if len(self._identity_facts) > self._facts_of_reading:
            # A report that repeats is closed many times, and seldom says anything new.
            self._facts_of_reading = len(self._identity_facts)
            self.reading.identity = self.reading.identity.of_section(self.identity)
        self.reading.last_line = last_line
        if not self._end_is_due:
            self.reading.has_end = False
        is_open = bool(self.part)
        if not self.format.model.is_log:
            is_open |= self._end_is_due and self.format.ends > 0 and not self.is_finished
        if is_open:
            self.reading.cut_at.append(self._begun_at)

    def take(
        self, number: int, line: str, rules: Sequence[LineRule], *, rest_is_quiet: bool
    ) -> bool:
        """Read a line by the rules that may match it; return whether one does.

        Args:
            rest_is_quiet: what the rules leave of the line has no word of trouble.
        """
        explained = list[Span]()
        is_known = has_row = part_ends = False
        for rule in rules:
            kind = rule.kind
            # The first row that fits counts, so a format lists its special rows first.
            if (kind == "row" and has_row) or (rule.part and not holds_in_part(rule, self.part)):
                continue
            match = rule.exact.search(line)
            if match is None:
                continue
            is_known = True
            if kind == "row":
                has_row = True
                self._add_row(number, line, rule, match)
            elif kind == "part_end":
                part_ends = True
            elif kind == "context":
                self._note_context(number, rule, match)
            elif kind != "explained":
                self._take_match(number, rule, match)
            if not rest_is_quiet and kind in ("row", "explained"):
                explained += explained_spans(rule, match)
        if part_ends:
            # The line that ends a part still belongs to it.
            self.part = ""
        if is_known and not rest_is_quiet:
            self._search(number, line, without_spans(line, explained))
        return is_known

    def _take_match(self, number: int, rule: LineRule, match: re.Match[str]) -> None:
        """Note what a line says beside its facts."""
        if rule.kind == "identity":
            self._note_identity(number, rule, match)
        elif rule.kind == "end":
            self._note_end(number, rule)
        elif rule.kind == "end_due":
            self._end_is_due = True
        elif rule.kind == "part_begin":
            self.part = rule.part

    def take_unknown(self, number: int, line: str) -> None:
        """Read a line that no rule matches."""
        is_remark = self._is_remark(line)
        # "# do not verify scan ports" is an instruction, not a result.
        said = _INSTRUCTION.sub(" ", line) if is_remark else line
        troubles = self.format.finder.in_line(said)
        if is_remark and all(trouble.state == "denied" for trouble in troubles):
            return
        if troubles:
            self._unexplained.add(number, line, "trouble", [trouble.word for trouble in troubles])
        # In a table, an unknown line may be a row that nobody reads, perhaps a violation.
        elif self.needs_each_line:
            self._unexplained.add(number, line, "unknown")
        elif self.format.topic is not None:
            words = self.format.topic.findall(line.lower())
            if words:
                self._unexplained.add(number, line, "topic", words)

    def _is_remark(self, line: str) -> bool:
        """Return whether a line is a comment of a script that the log echoes."""
        remark = self.format.model.remark
        return bool(remark) and compiled(remark).search(line) is not None

    def _search(self, number: int, line: str, remainder: str) -> None:
        """List the line if what the rules leave of it has words of trouble."""
        troubles = self.format.finder.in_line(remainder)
        if troubles:
            self._unexplained.add(number, line, "trouble", [trouble.word for trouble in troubles])

    def _note_identity(self, number: int, rule: LineRule, match: re.Match[str]) -> None:
        for facet in rule.facets:
            value = match[facet]
            if value is None or not value.strip():
                continue
            # A log states its design again and again.
            text = self._word(facet, value)
            key = (facet, text)
            if key not in self._stated:
                self._stated.add(key)
                self._identity_facts.append(IdentityFact(facet, text, self._path, number))
                if facet == "version":
                    self._add_version(number, text, match.string)

    def _add_version(self, number: int, version: str, line: str) -> None:
        """Append the version of the tool as a measurement, which a list of versions may hold."""
        name = f"{self.reading.tool} {version}".strip()
        fact = Measurement(
            "tool_version", number, {"tool": self.reading.tool}, text=name, content=line
        )
        self._facts.add(self.reading, fact)

    @property
    def identity(self) -> Identity:
        """What the lines of this section have said so far of its subject."""
        return Identity(tuple(self._identity_facts))

    def identity_for_report(self) -> Identity:
        """Return the identity of a report that begins here: this log's, and what it last said.

        A log that runs through several stages says before each report of which one it is.
        """
        # Facets among the context change along the log: the stage, for instance.
        latest = list[IdentityFact]()
        for facet in FACETS:
            if facet in self._scope:
                line = self._scope_lines[facet]
                latest.append(IdentityFact(facet, self._scope[facet], self._path, line))
        combined = self.reading.identity.of_section(self.identity)
        return combined.of_section(Identity(tuple(latest)))

    def _note_context(self, number: int, rule: LineRule, match: re.Match[str]) -> None:
        if rule.has_columns and match["columns"] is not None:
            self._columns = [column.strip() for column in match["columns"].split("|")]
        for key in rule.context_keys:
            value = match[key]
            if value is None:
                continue
            self._scope[key] = self._word(key, value)
            self._scope_lines[key] = number
            if key in self._shares:
                self._shared_scope[key] = self._scope[key]

    def _note_end(self, number: int, rule: LineRule) -> None:
        self._ends_seen.add(rule.index)
        if self.is_finished:
            self.reading.completed_at = number

    def _add_row(self, number: int, line: str, rule: LineRule, match: re.Match[str]) -> None:
        """Append the measurements of a row."""
        assert rule.row is not None
        row = rule.row
        scope = dict[str, str]()
        for key in row.takes:
            if key in self._scope:
                scope[key] = self._scope[key]
            elif key in self._shared_scope:
                scope[key] = self._shared_scope[key]
        # What the line says itself comes after what it takes, and replaces it.
        groups = match.groupdict()
        for key in rule.scope_groups:
            value = groups[key]
            if value is not None:
                scope[key] = self._word(key, value)
        text = groups.get("text") or groups.get("free") or ""
        unit = groups.get("unit") or scope.pop("unit", "") or scope.pop("time_unit", "")
        if row.each_column:
            cells = groups["cells"].split("|")
            for column, cell in zip(self._columns, cells, strict=False):
                own = {**scope, row.each_column: column}
                self._add(number, line, rule, rule.measures[0], own, cell, text, unit)
            # A cell without a column, or a column without a cell, was not read.
            if len(cells) != len(self._columns):
                self._unexplained.add(number, line, "unknown")
            return
        for measure in rule.measures:
            self._add(number, line, rule, measure, scope, groups.get(measure.group), text, unit)

    def _add(
        self,
        number: int,
        line: str,
        rule: LineRule,
        measure: MeasureRule,
        scope: Mapping[str, str],
        value: str | None,
        text: str,
        unit: str,
    ) -> None:
        """Append one measurement; a value that is no number leaves its line unexplained."""
        assert rule.row is not None
        number_rule = measure.number
        if unit:
            number_rule = _with_unit(number_rule, unit)
        if measure.scope:
            # The line outranks what the format says of all such lines.
            own = scope
            scope = {**measure.scope, **own}
            # The line says it, so nothing is assumed.
            if scope.get("assumed") in own:
                del scope["assumed"]
        if value is not None:
            value = value.strip()
        fact = Measurement(
            measure.name,
            number,
            scope,
            value,
            text.strip(),
            rule.row.is_trouble,
            number_rule,
            line,
        )
        self._facts.add(self.reading, fact)
        # Looked at once for each row, so the common case, a number, is told by its first character.
        if value is not None and not _NUMBER_BEGINS.match(value):
            printed = fact.number
            if isinstance(printed, UnknownNumber) and printed.reason != "not_measured":
                self._unexplained.add(number, line, "not_a_number", [value])

    def _word(self, key: str, value: str) -> str:
        """Return the word of the shared vocabulary for a printed value."""
        value = value.strip()
        words = self.format.words.get(key)
        if words is None or value in words:
            return value if words is None else words[value]
        return words.get(" ".join(value.lower().split()), value)


def _with_unit(rule: NumberRule, unit: str) -> NumberRule:
    """Return a number's rule with the unit that the report prints."""
    canonical = find_unit(unit.strip())
    # A unit that nobody knows leaves the number without one; a claim about it is then capped.
    units = (UnitSource(canonical, "title", text=unit.strip()),) if canonical else ()
    return rule._replace(units=units)


def holds_in_part(rule: LineRule, part: str) -> bool:
    """Return whether a rule holds while a part is open, or none if `part` is empty."""
    return rule.kind == "part_begin" or rule.part in ("", part)


def explained_spans(rule: LineRule, match: re.Match[str]) -> list[Span]:
    """Return the parts of a line that a match explains: all but its free text.

    The free text of a message of trouble needs no search, since the message is bad news itself.
    """
    is_trouble = rule.row is not None and rule.row.is_trouble
    if not rule.has_free_text or is_trouble or match["free"] is None:
        return [match.span()]
    return [(match.start(), match.start("free")), (match.end("free"), match.end())]


def without_spans(line: str, spans: list[Span]) -> str:
    """Return a line without what is explained."""
    # From the end, so that the earlier places stay right.
    for start, end in sorted(spans, reverse=True):
        line = line[:start] + _CUT + line[end:]
    return line
