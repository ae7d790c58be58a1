"""How files are read, as data: the rules that become Atom A (fragments/)."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from transom.canonical import Json
from transom.checklist.rules.log_rules import Commands, Messages
from transom.checklist.rules.rule import Rule
from transom.checklist.rules.saying import Key, Line


class Lines(Rule):
    """One entry a line: groups of `pattern` are fields; groups of `context` lines hold for the lines after them.

    `{line}` in `value` is the line itself, its blanks collapsed. `where` says which groups must have which text.
    """

    kind: Literal["lines"]
    category: Key
    pattern: Line
    context: tuple[Line, ...] = ()
    value: Line
    maps: dict[Key, dict[str, Json]] = Field(default_factory=dict)
    numbers: tuple[Key, ...] = ()
    where: dict[Key, Line] = Field(default_factory=dict)


class Records(Rule):
    """One entry for the lines from `start` to `end`: groups of `patterns` are fields.

    Its evidence is the line that `end` matches. A record without an end is an error, also at the next `start` and at
    the end of the file.
    """

    kind: Literal["records"]
    category: Key
    start: Line
    patterns: tuple[Line, ...]
    end: Line
    value: Line
    maps: dict[Key, dict[str, Json]] = Field(default_factory=dict)
    numbers: tuple[Key, ...] = ()


class Timing(Rule):
    """A timing report: every line that speaks of timing is read, known to be harmless, or an error.

    Groups of `row`, `path` and `slack` lines are fields; `name`, `slack` and `status` are among them.

    Attributes:
        heading: heads the rows of a block, up to the next blank line; its group `check` is a key of `maps.check`.
        usual: the head of a report, whose group `check` holds where no heading stands; None ends it.
        foreign: headings of checks that are neither setup nor hold; `other_path`: lines that make a path such a check.
        table: the columns of an endpoint table; below them up to a blank line every line is a row.
        start, path, slack: the first line of a path, lines that tell of it, and the line that ends it.
        worst, total: summaries; a negative one, which must be that of the rows, and which of them are sums.
        command: an echoed command, which ends a block.
        harmless: lines that tell nothing.
        alarm: what makes any other line an error, as `negative` does: a number where no flag stands.
    """

    kind: Literal["timing"]
    category: Key
    heading: Line
    usual: Line
    foreign: Line
    other_path: Line
    table: Line
    row: Line
    start: Line
    path: tuple[Line, ...]
    slack: tuple[Line, ...]
    worst: Line
    total: Line
    command: Line
    harmless: tuple[Line, ...]
    alarm: Line
    negative: Line
    value: Line
    maps: dict[Key, dict[str, Json]]
    numbers: tuple[Key, ...] = ()


class Measured(Rule):
    """Numbers that a limit of the description is about: every line that speaks of them is read, harmless, or an error.

    A number stands for all that are rounded to it: where the limit lies among these, it is an error. So it is where
    numbers before and behind a line of `stages` lie on both sides of the limit.

    Attributes:
        forms: lines with a number: groups `printed`, `unit` and `check`, which says what it is the number of.
        only: of which numbers this rule is, where the report has several kinds; `words` are the texts of `check`.
        context: headings with a group `check`, for the lines below up to a line of `ends`.
        denials: lines that must agree with the numbers, groups `clipped` (a worst slack that is cut off at zero),
            `slack` and `flag`, `total`, `count`, `check`.
        told: lines with the `unit` of the numbers that have none.
        field: the number in the fixed unit; `units` maps a unit as printed to a power of ten. Its text is `printed`.
        harmless, alarm: lines that tell nothing, and what makes any other line an error.
        most: from here on a number stands for none.
    """

    kind: Literal["measured"]
    category: Key
    forms: Annotated[tuple[Line, ...], Field(min_length=1)]
    only: Key | None = None
    words: dict[str, Key] = Field(default_factory=dict)
    context: tuple[Line, ...] = ()
    ends: Line | None = None
    denials: tuple[Line, ...] = ()
    told: tuple[Line, ...] = ()
    field: Key
    units: dict[str, int]
    harmless: tuple[Line, ...] = ()
    alarm: Line
    stages: Line
    most: float = 1e12
    value: Line
    numbers: tuple[Key, ...] = ()


class Header(Rule):
    """The comments before the code: groups of `patterns` are fields; the topmost header counts.

    A line of comment that is neither a field nor `keyed` ends a header; what follows it is in doubt, and where the
    verdict would hang on that, it is an error.

    Attributes:
        formats: language -> a regex for the beginning of its first module, where the comments of interest end.
        keyed: other lines that may stand in a header.
        placeholder: how a text begins that says nothing.
        tools: what only names of tools hold; `people`: what a name of a person looks like, if it is no tool's.
        certain: lines that name nothing but a tool.
        forms: `tool_version` and `timestamp` -> what such a text looks like; its group `said` is kept.
        omits: fields of the category that the file itself cannot tell.
    """

    kind: Literal["header"]
    category: Key
    patterns: tuple[Line, ...]
    formats: dict[str, Line]
    keyed: Line
    placeholder: Line
    tools: Line
    people: Line
    certain: Line
    forms: dict[Key, Line]
    omits: tuple[Key, ...] = ()
    value: Line


class Directives(Rule):
    """Words such as `*NAME` and the texts after them, over lines and comments, up to a `stop` word.

    `names` maps a directive to a field, most telling first; a text that is a `placeholder` counts as none. `omits` are
    fields of the category that the file itself cannot tell.
    """

    kind: Literal["directives"]
    category: Key
    stop: Line
    pattern: Line
    names: dict[str, Key]
    placeholder: Line
    omits: tuple[Key, ...] = ()
    value: Line


Extraction: TypeAlias = Annotated[
    Lines | Records | Timing | Measured | Header | Directives | Commands | Messages, Field(discriminator="kind")
]
