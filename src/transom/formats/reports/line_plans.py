"""What may happen to lines of one shape, found once for each state of the pass over a report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from transom.formats.reports.format_rules import CompiledFormat, LineRule
from transom.formats.reports.section import (
    SectionPass,
    explained_spans,
    holds_in_part,
    without_spans,
)

_MOST_SHAPES: Final = 100_000
# A line that may be parted, joined with the next one, or cleared of signs of a terminal.
_NEEDS_TREATMENT: Final = re.compile(r"[;\0\x1b]|\\\s*\Z")


@dataclass(eq=False)
class LinePlan:
    """What may happen to lines of one shape in one state of the pass.

    Attributes:
        rules: rules of the current section that may match.
        outer_rules: rules of the log that holds the current section.
        begins: formats that may begin with the line.
        has_effect: false if such a line can be skipped.
        may_restart: the current section may begin anew with the line.
        is_explained: the format explains the line, too, so the section goes on with it.
        may_change_state: another state of the pass may follow.
        rest_is_quiet: what the rules leave of the line has no word of trouble.
        may_be_command: the line may echo a command.
        may_print: the line may echo a command that prints a text.
    """

    rules: tuple[LineRule, ...] = ()
    outer_rules: tuple[LineRule, ...] = ()
    begins: tuple[CompiledFormat, ...] = ()
    has_effect: bool = True
    rest_is_quiet: bool = False
    may_be_command: bool = False
    may_print: bool = False
    may_restart: bool = False
    is_explained: bool = False
    may_change_state: bool = False

    def __post_init__(self) -> None:
        kinds = {rule.kind for rule in self.rules}
        self.may_restart = "begin" in kinds
        # A tool may print the line of its beginning again, such as the time of its start.
        self.is_explained = "explained" in kinds
        self.may_change_state = bool(
            self.begins or self.outer_rules or kinds & {"begin", "end", "part_begin", "part_end"}
        )


def plan_of_output(plan: LinePlan) -> LinePlan:
    """Return what of a plan holds for a line that a command prints.

    It may head what follows, and its trouble counts; but it is no command, it names no subject, it
    measures nothing, and with it no report begins or ends.
    """
    return replace(
        plan,
        rules=tuple(rule for rule in plan.rules if _holds_for_output(rule)),
        outer_rules=tuple(rule for rule in plan.outer_rules if _holds_for_output(rule)),
        begins=(),
        rest_is_quiet=False,
    )


def _holds_for_output(rule: LineRule) -> bool:
    if rule.row is not None:
        return rule.row.is_trouble
    return rule.kind in ("context", "part_begin", "part_end", "explained")


def has_value_in(plan: LinePlan, line: str) -> bool:
    """Return whether a row of a plan would read a value from a line."""
    for rule in (*plan.rules, *plan.outer_rules):
        has_value = rule.row is not None and (
            "(?P<value>" in rule.pattern or bool(rule.row.measures)
        )
        if has_value and rule.exact.search(line):
            return True
    return False


@dataclass(eq=False)
class PassState:
    """The shapes of lines seen in one state of the pass.

    Attributes:
        skipped: shapes without an effect.
        direct: plans of shapes whose lines need no other treatment before they are read.
        plans: plans of the others.
    """

    skipped: set[str] = field(default_factory=set)
    direct: dict[str, LinePlan] = field(default_factory=dict)
    plans: dict[str, LinePlan] = field(default_factory=dict)

    def keep(self, shape: str, plan: LinePlan) -> None:
        """Remember the plan of a shape, in bounded memory."""
        if plan.has_effect:
            self._make_room()
            self.plans[shape] = plan
        else:
            self.skip(shape)

    def skip(self, shape: str) -> None:
        """Remember that lines of a shape have no effect, in bounded memory."""
        self._make_room()
        self.skipped.add(shape)

    def _make_room(self) -> None:
        """Forget all shapes if they are too many."""
        if len(self.plans) + len(self.skipped) > _MOST_SHAPES:
            self.plans.clear()
            self.direct.clear()
            self.skipped.clear()

    def keep_direct(self, shape: str, plan: LinePlan) -> None:
        """Remember that the lines of a shape are read as they are, if that is so."""
        if not plan.may_be_command and not _NEEDS_TREATMENT.search(shape):
            self.direct[shape] = plan


@dataclass(eq=False)
class HeldLines:
    """Lines that wait until one of several formats is confirmed.

    Attributes:
        unconfirmed: for each candidate, the patterns that have not been seen yet.
        lines: the 1-based numbers, lines and shapes.
    """

    unconfirmed: dict[CompiledFormat, list[re.Pattern[str]]]
    lines: list[tuple[int, str, str]] = field(default_factory=list)

    def take(self, number: int, line: str, shape: str) -> None:
        """Hold a line."""
        self.lines.append((number, line, shape))
        for report_format, patterns in self.unconfirmed.items():
            self.unconfirmed[report_format] = [
                pattern for pattern in patterns if not pattern.search(line)
            ]

    def confirmed(self) -> list[CompiledFormat]:
        """Return the candidates that are confirmed by all of their patterns."""
        chosen = list[CompiledFormat]()
        for report_format, patterns in self.unconfirmed.items():
            if report_format.confirmed_by and not patterns:
                chosen.append(report_format)
        return chosen

    def undemanding(self) -> list[CompiledFormat]:
        """Return the candidates that need no confirmation."""
        return [each for each in self.unconfirmed if not each.confirmed_by]


def pattern_of_begins(formats: Sequence[CompiledFormat]) -> re.Pattern[str]:
    """Return a pattern that finds the shapes with which some section may begin."""
    # Named groups of two formats may have the same name.
    loose = [
        re.sub(r"\(\?P<\w+>", "(?:", rule.loose_pattern) for each in formats for rule in each.begins
    ]
    return re.compile("|".join(loose) if loose else r"(?!)")


def may_begin(report_format: CompiledFormat, shape: str) -> bool:
    """Return whether a section of a format may begin with some line of a shape."""
    return any(rule.loose.search(shape) for rule in report_format.begins)


def matches_begin(report_format: CompiledFormat, line: str) -> bool:
    """Return whether a section of a format may begin with a line."""
    return any(rule.exact.search(line) for rule in report_format.begins)


def rules_for(section: SectionPass, shape: str) -> tuple[LineRule, ...]:
    """Return the rules of a section that may match a line of a shape."""
    candidates = list[LineRule]()
    for rule in section.format.rules:
        if holds_in_part(rule, section.part) and rule.loose.search(shape):
            candidates.append(rule)
    return tuple(candidates)


def rest_of_shape(rules: Sequence[LineRule], shape: str) -> str | None:
    """Return what rules leave of each line of a shape, or None if that depends on its digits."""
    spans = list[tuple[int, int]]()
    has_row = False
    for rule in rules:
        if rule.depends_on_digits:
            return None
        if rule.kind == "explained" or (rule.kind == "row" and not has_row):
            match = rule.exact.search(shape)
            assert match is not None
            spans += explained_spans(rule, match)
            has_row = has_row or rule.kind == "row"
    return without_spans(shape, spans)
