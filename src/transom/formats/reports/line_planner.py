"""Finds out once for each shape of a line what may happen to lines of that shape.

That depends on the open sections and on the part of the report that is open, so plans are kept for
each such state of the pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from transom.evidence.trouble import TroubleFinder
from transom.formats.reports.format_rules import CompiledFormat, LineRule
from transom.formats.reports.line_plans import (
    LinePlan,
    PassState,
    may_begin,
    pattern_of_begins,
    rest_of_shape,
    rules_for,
)
from transom.formats.reports.printed_lines import may_print
from transom.formats.reports.readings import UnexplainedLines
from transom.formats.reports.report_commands import command_of, head_options, is_command, is_step
from transom.formats.reports.section import SectionPass

# A stray letter says nothing.
_WORD_OR_DIGIT: Final = re.compile(r"[^\W\d_]{2}|\d")


@dataclass
class OpenSections:
    """The sections of a file that are open at a line; either may be missing.

    Attributes:
        log: a log, which may hold reports.
        report: a report, in the log or alone.
    """

    log: SectionPass | None = None
    report: SectionPass | None = None

    @property
    def innermost(self) -> SectionPass | None:
        """The section that a line belongs to at first."""
        return self.report or self.log


class LinePlanner:
    """Plans for the shapes of lines, in each state of a pass.

    Args:
        formats: the formats that a section may have.
        finder: finds words of trouble.
        outside: where lines that belong to no section are noted.
    """

    def __init__(
        self,
        formats: Sequence[CompiledFormat],
        finder: TroubleFinder,
        outside: UnexplainedLines,
    ) -> None:
        self._formats = tuple(formats)
        self._any_begin = pattern_of_begins(formats)
        self._finder = finder
        self._outside = outside
        self._states: dict[object, PassState] = {}

    def state_of(self, sections: OpenSections) -> PassState:
        """Return the shapes seen so far while the same sections and parts were open."""
        log, report = sections.log, sections.report
        key = (
            log and (log.format, log.part, log.needs_each_line),
            report and (report.format, report.part, report.needs_each_line),
        )
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = PassState()
        return state

    def plan_of(
        self, shape: str, sections: OpenSections, state: PassState, number: int, line: str
    ) -> LinePlan:
        """Return what may happen to lines of a shape, made once for each state.

        Args:
            shape: the line with zeros for its digits.
            sections: the sections that are open.
            state: the state of the pass while they are, see `state_of`.
            number, line: the line itself, which is listed if it stands outside of all sections.
        """
        plan = state.plans.get(shape)
        if plan is None:
            plan = self._plan(shape.rstrip(), sections, number, line)
            if may_print(shape.rstrip()):
                plan.may_print = plan.has_effect = True
            state.keep(shape, plan)
        return plan

    def _plan(self, shape: str, sections: OpenSections, number: int, line: str) -> LinePlan:
        """Return what may happen to lines of a shape in the present state."""
        current = sections.innermost
        rules = outer_rules = tuple[LineRule, ...]()
        if current is not None:
            if current.format.prompt is not None:
                shape = current.format.prompt.sub("", shape)
            rules = rules_for(current, shape)
            if sections.report is not None and sections.log is not None:
                outer_rules = rules_for(sections.log, shape)
        begins = tuple[CompiledFormat, ...]()
        if self._any_begin.search(shape):
            begins = tuple(each for each in self._formats if may_begin(each, shape))
        # Rules, underlines and empty rows of tables belong to any report.
        if not rules and not outer_rules and not begins and not _WORD_OR_DIGIT.search(shape):
            return LinePlan(has_effect=False)
        is_head = bool(head_options(shape))
        if is_head or command_of(shape) is not None or is_command(shape) or is_step(shape):
            return LinePlan(rules, outer_rules, begins, may_be_command=True)
        rest = rest_of_shape(rules, shape)
        if rules and rest is not None:
            is_quiet = self._never_speaks(rest)
            yields = any(rule.kind != "explained" for rule in rules)
            return LinePlan(rules, outer_rules, begins, yields or not is_quiet, is_quiet)
        has_effect = bool(rules or outer_rules or begins) or self._is_noted(
            current, shape, number, line
        )
        return LinePlan(rules, outer_rules, begins, has_effect)

    def _is_noted(self, current: SectionPass | None, shape: str, number: int, line: str) -> bool:
        """Return whether an unknown line of a shape may be listed."""
        if not self._never_speaks(shape):
            return True
        if current is None:
            # One line of each shape outside of all sections is enough.
            self._outside.add(number, line, "unknown")
            return False
        if current.needs_each_line:
            return True
        topic = current.format.topic
        return topic is not None and topic.search(shape.lower()) is not None

    def _never_speaks(self, shape: str) -> bool:
        """Return whether no line of a shape has words of trouble, whatever its digits are.

        Only a zero makes a number harmless, so a shape is tried with zeros and without.
        """
        ones = shape.replace("0", "1")
        return not self._finder.in_line(shape) and not self._finder.in_line(ones)
