"""The rules of a report format, compiled for the reader.

Lines repeat apart from their digits, so each rule has a second, loose pattern in which every digit
of the rule stands for any digit. If the loose pattern does not match a line whose digits are
replaced by zeros, the rule matches no line of that shape.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from transom.evidence.subject_names import FACETS, Facet
from transom.evidence.trouble import TroubleFinder
from transom.evidence.units import UnitSource
from transom.formats.reports.file_reading import with_file_reading
from transom.formats.reports.readings import NumberRule
from transom.formats.reports.report_format import (
    NumberForm,
    Provenance,
    ReportFormat,
    ReportRow,
    RowMeasure,
    compiled,
)

RuleKind = Literal[
    "begin", "end", "end_due", "identity", "context", "part_begin", "part_end", "row", "explained"
]
RESERVED_GROUPS = frozenset({"value", "text", "free", "unit", "cells", "columns"})

_COUNT = re.compile(r"\{\d*(?:,\d*)?\}")
_GROUP_NAME = re.compile(r"\(\?P[<=]\w+[>)]")
_GROUP = re.compile(r"\(\?P<(\w+)>")
_CLASS_DIGITS = re.compile(r"\d-\d|\d")


def loosen(pattern: str) -> str:
    """Return a pattern that matches at least what this one does, with any digit for a digit.

    Raises:
        ValueError: a digit stands in a negative lookaround or a negated class, where any digit
            would match less.
    """
    loose = list[str]()
    # For each open group, whether it is a negative lookaround.
    groups = list[bool]()
    position = 0
    while position < len(pattern):
        character = pattern[position]
        remainder = pattern[position:]
        # An escape is taken whole: `\1` and `\d` hold no digit of a line.
        if character == "\\":
            token = pattern[position : position + 2]
        elif character == "[":
            token = _character_class(remainder)
        # A repetition, `{2,5}`: its digits are not matched.
        elif character == "{" and (count := _COUNT.match(remainder)):
            token = count[0]
        elif character == "(":
            # The name of a group may have digits, too.
            name = _GROUP_NAME.match(remainder)
            token = name[0] if name else character
            groups.append(remainder.startswith(("(?!", "(?<!")))
            if token.endswith(")"):
                groups.pop()
        else:
            token = character
            if character == ")" and groups:
                groups.pop()
        position += len(token)
        if character == "[":
            token = _loose_class(token, pattern)
        elif token.isdigit() and token.isascii():
            # `(?!0)` would become `(?!\d)`, which refuses lines that the rule matches.
            if any(groups):
                message = f"a negative lookaround may hold no digit: {pattern}"
                raise ValueError(message)
            token = r"\d"
        loose.append(token)
    return "".join(loose)


def _character_class(remainder: str) -> str:
    """Return the character class with which a text begins."""
    position = 2 if remainder.startswith("[^") else 1
    # A bracket in the first place is a member.
    if remainder[position : position + 1] == "]":
        position += 1
    while position < len(remainder) and remainder[position] != "]":
        position += 2 if remainder[position] == "\\" else 1
    return remainder[: position + 1]


def _loose_class(token: str, pattern: str) -> str:
    """Return a character class with any digit for each of its digits."""
    if not token.startswith("[^"):
        return _CLASS_DIGITS.sub(r"\\d", token)
    # `[^0-9]` excludes all digits either way, so it stays the same.
    loose = token.replace("0-9", r"\d")
    if re.search(r"(?<!\\)\d", loose):
        message = f"a negated class may hold no single digit: {pattern}"
        raise ValueError(message)
    return loose


@dataclass(frozen=True, eq=False)
class MeasureRule:
    """How one measurement is taken from the groups of a row.

    Attributes:
        group: the group of its value.
        number: how the value is printed, with the unit that the format states.
    """

    name: str
    group: str
    scope: Mapping[str, str]
    number: NumberRule


@dataclass(frozen=True, eq=False)
class LineRule:
    """One pattern of a format.

    Attributes:
        pattern: the pattern as written.
        loose_pattern: see `loosen`; it is compiled when a report is read by its format.
        index: its place among the rules of its kind.
        part: the part that it opens or closes, or in which alone it holds.
        row: the row, if it is one.
        measures: what the row yields.
        scope_groups: groups that become scope.
        context_keys: groups that become context.
        has_columns: whether it heads the columns of a table.
        facets: groups that become identity.
        free: whether it has free text.
    """

    kind: RuleKind
    pattern: str
    loose_pattern: str
    index: int = 0
    part: str = ""
    row: ReportRow | None = None
    measures: tuple[MeasureRule, ...] = ()
    scope_groups: tuple[str, ...] = ()
    context_keys: tuple[str, ...] = ()
    has_columns: bool = False
    facets: tuple[Facet, ...] = ()
    has_free_text: bool = False

    @property
    def depends_on_digits(self) -> bool:
        """Whether two lines of one shape may differ in whether they match."""
        return self.pattern != self.loose_pattern

    # Most formats are never met in a file, so their patterns are compiled when they are needed.
    @cached_property
    def exact(self) -> re.Pattern[str]:
        """The pattern as written, compiled."""
        return compiled(self.pattern)

    @cached_property
    def loose(self) -> re.Pattern[str]:
        """The pattern in which any digit stands for a digit."""
        return compiled(self.loose_pattern)


@dataclass(eq=False)
class CompiledFormat:
    """A report format, ready for the reader.

    Attributes:
        model: the format as written.
        rules: its rules, in the order in which a line is tried.
        finder: finds trouble that no phrase explains.
        topic: finds words of the matter in a shape in lower case, or None.
    """

    model: ReportFormat
    rules: tuple[LineRule, ...]
    begins: tuple[LineRule, ...]
    finder: TroubleFinder
    topic: re.Pattern[str] | None
    prompt: re.Pattern[str] | None
    ends: int = 0
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.model.name

    @cached_property
    def confirmed_by(self) -> tuple[re.Pattern[str], ...]:
        """Patterns that must all follow the beginning."""
        return tuple(compiled(pattern) for pattern in self.model.confirmed_by)

    @cached_property
    def preceded_by(self) -> tuple[re.Pattern[str], ...]:
        """Patterns of lines that may stand in front of the report."""
        return tuple(compiled(pattern) for pattern in self.model.preceded_by)

    @property
    def seen(self) -> Provenance:
        return self.model.seen


def compile_format(model: ReportFormat) -> CompiledFormat:
    """Return the compiled rules of a format.

    Raises:
        ValueError: a pattern has a digit where it may have none (see `loosen`), or an identity has
            a group that is no facet.
    """
    if model.reads_files:
        model = with_file_reading(model)
    begins = _rules("begin", model.begins)
    rules = list(_rules("end", model.ends))
    ends = len(model.ends)
    for name, part in model.parts.items():
        if part.is_last:
            # The end of the part is one more line of the report's end, while the part is open.
            rules += [_rule("end", part.ends, ends, part=name)]
            ends += 1
        rules += [_rule("part_end", part.ends, part=name)]
        rules += [_rule("part_begin", part.begins, part=name)]
    rules += _rules("end_due", model.ends_after)
    rules += _rules("identity", model.identity)
    rules += _rules("context", model.context)
    rules += [_row_rule(row) for row in model.rows]
    rules += [*begins, *_rules("explained", model.explained)]
    topic = None
    if model.topic:
        words = "|".join(re.escape(word.lower()) for word in model.topic)
        # A topic word inside a name does not speak of the matter.
        topic = re.compile(rf"(?<![\w/\\.$])(?:{words})(?![a-z_])")
    return CompiledFormat(
        model=model,
        rules=tuple(rules),
        begins=begins,
        finder=TroubleFinder("eda"),
        topic=topic,
        prompt=re.compile(model.prompt) if model.prompt else None,
        ends=ends,
        words=model.words,
    )


def _rules(kind: RuleKind, patterns: tuple[str, ...]) -> tuple[LineRule, ...]:
    """Return a rule for each pattern."""
    rules = list[LineRule]()
    for index, pattern in enumerate(patterns):
        rules.append(_rule(kind, pattern, index))
    return tuple(rules)


def _rule(kind: RuleKind, pattern: str, index: int = 0, part: str = "") -> LineRule:
    groups = _GROUP.findall(pattern)
    scope_groups = tuple(name for name in groups if name not in RESERVED_GROUPS)
    facets = tuple(facet for facet in FACETS if facet in groups)
    if kind == "identity" and set(facets) != set(groups):
        message = f"a group of an identity is one of {', '.join(FACETS)}: {pattern}"
        raise ValueError(message)
    return LineRule(
        kind,
        pattern,
        loosen(pattern),
        index,
        part,
        scope_groups=scope_groups,
        context_keys=(*scope_groups, "unit") if "unit" in groups else scope_groups,
        has_columns="columns" in groups,
        facets=facets,
        has_free_text="free" in groups,
    )


def _row_rule(row: ReportRow) -> LineRule:
    """Return the rule of a row."""
    rule = _rule("row", row.pattern, part=row.part)
    value_groups = {measure.value for measure in row.measures}
    measures = list[MeasureRule]()
    if row.measures:
        for measure in row.measures:
            scope = {**row.scope, **measure.scope}
            measures.append(MeasureRule(measure.name, measure.value, scope, _number_rule(measure)))
    else:
        measures.append(MeasureRule(row.name, "value", row.scope, _number_rule(row)))
    return LineRule(
        rule.kind,
        rule.pattern,
        rule.loose_pattern,
        part=row.part,
        row=row,
        measures=tuple(measures),
        scope_groups=tuple(name for name in rule.scope_groups if name not in value_groups),
        has_free_text=rule.has_free_text,
    )


def _number_rule(form: NumberForm | RowMeasure) -> NumberRule:
    """Return how a value is printed; the unit counts as stated by its heading."""
    units = (UnitSource(form.unit, "heading", text=form.unit),) if form.unit else ()
    return NumberRule(units, form.is_count, form.is_share, form.sentinels)
