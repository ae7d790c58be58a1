"""The shape of a report format's YAML file.

Patterns are regular expressions that are searched in one line without its trailing blanks; anchor
them with `^` and `$`. Named groups of a pattern become the scope of a measurement, or a fact of the
identity. These groups have a meaning of their own:

- `value`: the printed number of a row.
- `text`: the status of a row, such as `MET`.
- `free`: free text, such as the text of a message. The rule does not explain it, so it is searched
  for trouble; a row keeps it as its text.
- `unit`: the unit of the rows that take it, or of the row itself.
- `columns` and `cells`: the heads of a table's columns, and the values of a row below them,
  separated by `|`.

A tree (XML, JSON) is read as lines, too, which `trees` makes of it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, model_validator

from transom.evidence.regex_fields import MatchedBy

Provenance = Literal["tool", "file", "documentation"]
"""From where a format is known: output that the tool printed for its makers, files of other people,
or the tool's documentation alone.
"""


TRUSTED: Final = "trusted"
"""The context of a validation in which patterns are not compiled."""


@lru_cache(maxsize=8192)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a compiled pattern; the formats have more of them than `re` remembers.

    Raises:
        re.error: it does not compile.
    """
    return re.compile(pattern)


def _checked_pattern(pattern: str, info: ValidationInfo) -> str:
    """Return a pattern that compiles.

    The patterns of the shipped formats are checked by tests, and compiled when they are needed.

    Raises:
        ValueError: it does not.
    """
    # A command loads all shipped formats and meets few of them in its files.
    if info.context == TRUSTED:
        return pattern
    try:
        compiled(pattern)
    except re.error as error:
        message = f"{pattern!r} is not a regular expression: {error}"
        raise ValueError(message) from error
    return pattern


Pattern = Annotated[str, AfterValidator(_checked_pattern), MatchedBy()]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NumberForm(_Part):
    """How the value of a row is printed.

    Attributes:
        unit: the unit that the tool prints the value in, or "" for a count.
        is_count: the value counts things.
        is_share: the value is a share of a whole.
        sentinels: values that stand for "not measured" beside the usual ones.
    """

    unit: str = ""
    is_count: bool = False
    is_share: bool = False
    sentinels: tuple[str, ...] = ()


class RowMeasure(NumberForm):
    """One of several measurements that a row yields.

    Attributes:
        value: the group that holds the value.
        name: the name of the measurement.
        scope: scope that the row gives it.
    """

    value: str
    name: str
    scope: dict[str, str] = {}


class ReportRow(NumberForm):
    """A kind of line that yields measurements.

    Attributes:
        pattern: matches the line.
        name: the name of the measurement; empty if `measures` names several.
        measures: the measurements of a line with several values.
        scope: scope that the row gives its measurements; `assumed` names the key that the tool
            means if neither the line nor the context says it, which proves nothing.
        takes: keys of the context that the measurements take.
        each_column: the scope key under which each of the `cells` keeps the head of its column.
        part: the part of the report that the row belongs to.
        is_trouble: the line itself is bad news for each claim that does not judge it.
    """

    pattern: Pattern
    name: str = ""
    measures: tuple[RowMeasure, ...] = ()
    scope: dict[str, str] = {}
    takes: tuple[str, ...] = ()
    each_column: str = ""
    part: str = ""
    is_trouble: bool = False

    @model_validator(mode="after")
    def _check_groups(self) -> ReportRow:
        """Raise a `ValueError` if the row names no measurement, or a group that it lacks."""
        groups = compiled(self.pattern).groupindex
        # Both would leave open which name the value of the row gets.
        if bool(self.name) == bool(self.measures):
            message = "a row has either a name or measures"
            raise ValueError(message)
        for measure in self.measures:
            if measure.value not in groups:
                message = f"the pattern has no group {measure.value!r}"
                raise ValueError(message)
        if self.each_column and "cells" not in groups:
            message = "each_column needs a group 'cells' in the pattern"
            raise ValueError(message)
        return self


class ReportPart(_Part):
    """A part of a report, such as a table, in which each line must be known.

    Attributes:
        begins: matches its first line.
        ends: matches the line that ends it.
        is_last: the report is complete when the part is.
    """

    begins: Pattern
    ends: Pattern
    is_last: bool = False


class ExpectedMeasurement(_Part):
    """A measurement that an example must yield; what is left out may be anything.

    Attributes:
        value: the printed value.
        not_measured: the value says that nothing was measured.
    """

    name: str
    value: str | None = None
    text: str | None = None
    scope: dict[str, str] = {}
    not_measured: bool | None = None


class ReportExample(_Part):
    """A report in the format, which is a test of it.

    Attributes:
        text: the report.
        yields: measurements that must be read from it.
        identity: facts that must be read from it.
        unexplained: texts of lines that must be left unexplained.
    """

    text: str
    yields: tuple[ExpectedMeasurement, ...] = ()
    identity: dict[str, str] = {}
    unexplained: tuple[str, ...] = ()


class ReportExamples(_Part):
    """The examples of a format.

    Attributes:
        good: complete, each line explained, nothing bad.
        bad: complete or not, with bad news as a measurement or an unexplained line.
        cut: recognised and not complete.
        empty: recognised, and nothing was looked at.
        foreign: looks similar and is not of this format.
    """

    good: tuple[ReportExample, ...] = Field(min_length=1)
    bad: tuple[ReportExample, ...] = Field(min_length=1)
    cut: tuple[ReportExample, ...] = ()
    empty: tuple[ReportExample, ...] = ()
    foreign: tuple[ReportExample, ...] = ()


class ReportFormat(_Part):
    """A report format: how it is recognised, identified and read.

    A file consists of sections. A section begins with a line that matches one of `begins`, wherever
    that line stands. A log may hold sections of other formats.

    Attributes:
        name: `tool.report`, such as `opensta.paths`.
        tool: the program that prints it; empty if a flow or a person may have written it.
        title: what the report is, for people.
        seen: from where the format is known.
        is_log: most lines are not about the matter and may be unknown. In other formats each line
            must be known.
        repeats: the report is printed many times, such as a path; all of them are one section.
        begins: lines with which a section begins.
        preceded_by: lines that may stand in front of the report, such as messages of the command
            that prints it. A word of trouble in them counts, unless the pattern has a group
            `remark`: what the author of a file wrote.
        confirmed_by: lines that must all follow, or it is another format.
        ends: lines that must all come before the section is complete; none if the tool prints no
            end.
        ends_after: lines of which one announces the end, such as a heading or an echoed command;
            without one of them the report is an excerpt, or the tool prints no end. None if the end
            is always printed.
        shares: keys of the context that hold for later reports of the file, too.
        restarts: a line that `begins` matches begins another run behind the end, though the format
            explains it, too; else a tool may print it again.
        end_is_last: behind the end of a log no line may be unknown.
        prompt: matches the prompt before a command, which is taken away.
        remark: matches a comment of a script that the log echoes. What it denies is an instruction
            or a reason, no result; each fault that it names counts.
        separator: parts two commands on one line, such as `;`; blank if one line is one command.
        joins_lines: a line that ends with a backslash goes on in the next one.
        topic: words of the matter; a line of a log that has one must be known.
        reads_files: the log reads files as `file_reading` says it: `inside`, or it may begin so.
        identity: lines that say what the report is of: version, design, stage, corner, date.
        context: lines that say something of the rows below them, until another line does.
        parts: parts of the report, by name.
        rows: lines that yield measurements.
        explained: phrases that mean nothing bad and yield nothing.
        words: for a key of scope or identity, the word that stands for each printed one.
    """

    schema_: Literal["transom.report_format/1"] = Field(alias="schema")
    name: str = Field(pattern=r"^[a-z0-9]+\.[a-z0-9_]+$")
    tool: str
    title: str
    seen: Provenance
    is_log: bool = False
    repeats: bool = False
    begins: tuple[Pattern, ...] = Field(min_length=1)
    preceded_by: tuple[Pattern, ...] = ()
    confirmed_by: tuple[Pattern, ...] = ()
    ends: tuple[Pattern, ...] = ()
    ends_after: tuple[Pattern, ...] = ()
    shares: tuple[str, ...] = ()
    end_is_last: bool = True
    restarts: bool = False
    prompt: Pattern = ""
    remark: Pattern = ""
    separator: Literal["", ";"] = ""
    joins_lines: bool = False
    topic: tuple[str, ...] = ()
    reads_files: Literal["", "inside", "begins"] = ""
    identity: tuple[Pattern, ...] = ()
    context: tuple[Pattern, ...] = ()
    parts: dict[str, ReportPart] = {}
    rows: tuple[ReportRow, ...] = ()
    explained: tuple[Pattern, ...] = ()
    words: dict[str, dict[str, str]] = {}
    examples: ReportExamples

    @model_validator(mode="after")
    def _check(self) -> ReportFormat:
        """Raise a `ValueError` if the parts of the format do not fit together."""
        for row in self.rows:
            if row.part and row.part not in self.parts:
                message = f"there is no part {row.part!r}"
                raise ValueError(message)
        # Lines are compared without their digits, so a digit in a topic word would never match.
        for word in self.topic:
            if re.search(r"\d", word):
                message = f"the topic word {word!r} has a digit"
                raise ValueError(message)
        return self
