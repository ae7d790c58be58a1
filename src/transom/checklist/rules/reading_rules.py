"""How files are read, as data: the rules that become Atom A (fragments/)."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from transom.canonical import Json
from transom.checklist.atoms import Shape
from transom.checklist.rules.saying import Key, Line


class _Rule(Shape):
    """What every extraction rule has. `about` explains its patterns, in Section 4.1's words."""

    file: Key
    about: Line


class Lines(_Rule):
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


class Records(_Rule):
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


class Timing(_Rule):
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


class Measured(_Rule):
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


class Header(_Rule):
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
    constants: dict[Key, Json] = Field(default_factory=dict)
    value: Line


class Directives(_Rule):
    """Words such as `*NAME` and the texts after them, over lines and comments, up to a `stop` word.

    `names` maps a directive to a field, most telling first; a text that is a `placeholder` counts as none.
    """

    kind: Literal["directives"]
    category: Key
    stop: Line
    pattern: Line
    names: dict[str, Key]
    placeholder: Line
    constants: dict[Key, Json] = Field(default_factory=dict)
    value: Line


class Target(Shape):
    """What a read command reads.

    Attributes:
        names: a regex of command names; `messages` tell the same in other words.
        endings: a regex of the endings of such files' names.
        undone: a regex of commands after which what was read may be gone.
    """

    category: Key
    names: Line
    messages: tuple[Line, ...] = ()
    formats: tuple[Line, ...] = ()
    endings: Line
    undone: Line
    value: Line


class Commands(_Rule):
    """Echoed read commands of a log, and whether an error follows them; the fields are `path`, `loaded`, `how`.

    Attributes:
        glance: one of these, in lower case, stands in every line of interest; others are passed over outside of blocks.
        colour, stamp, prompt: what is taken off a line before it is read; the group `prompt` tells a prompt.
        continued: a regex of prompts behind which a command goes on, which may then not have run.
        control: a regex of words that open a block which may not run.
        command: a regex of what is certainly a command, where an error's reach ends; `maybe` of what may be one.
        echo, sets, writes: regexes of commands that print, that set a variable, and that write files.
        known: a regex of commands by which a log that `speaks` of the matter is understood at all.
        refused: regexes of lines after which the log cannot be trusted; `refusal` says why.
        hides: a regex of commands whose own commands are not echoed.
        failed: regexes of lines that say that a command failed.
        alarm: words -> a regex of lines with them, in lower case, that may say so.
        denied, harmless: regexes of what is taken out of a line before, and of lines that are no alarm.
        valued, flags: options with and without a value; others are not understood.
    """

    kind: Literal["commands"]
    glance: tuple[str, ...]
    colour: Line
    stamp: Line
    prompt: Line
    continued: Line
    control: Line
    command: Line
    maybe: Line
    echo: Line
    sets: Line
    writes: Line
    known: Line
    speaks: Line
    refused: tuple[Line, ...] = ()
    refusal: Line = "not understood"
    hides: Line
    failed: tuple[Line, ...]
    alarm: dict[str, Line]
    denied: Line
    harmless: tuple[Line, ...]
    valued: tuple[str, ...]
    flags: tuple[str, ...]
    targets: Annotated[tuple[Target, ...], Field(min_length=1)]


class MessageTarget(Shape):
    """Messages of one severity; each line that one of `patterns` fits from its head on is an entry."""

    category: Key
    patterns: Annotated[tuple[Line, ...], Field(min_length=1)]
    value: Line
    maps: dict[Key, dict[str, Json]] = Field(default_factory=dict)


class Run(Shape):
    """How a tool names itself when it begins, and what it says when it is done.

    Attributes:
        begins: a regex with a group `tool`, which `maps.tool` brings to the keys of `ends` and `always`; each such
            line is an entry, whose field `end` is `complete`, `open` where nothing tells, or null at an error.
        ends: tool -> a regex of its last words; `anyone` of those of any tool, which only `after` may follow.
        always: tools that always say it, so that a log without is an error.
        once: whether the same beginning a second time is another run.
    """

    category: Key
    begins: Line
    maps: dict[Key, dict[str, Json]]
    value: Line
    ends: dict[Key, Line]
    anyone: Line
    after: Line
    always: tuple[Key, ...]
    once: bool = True


class Messages(_Rule):
    """The messages of a log, in which no other line may speak of the matter.

    Regexes of whole lines (`patterns`, `other`, `further`, `spoken`, `row`, those of `run`) fit from a line's head on.

    Attributes:
        targets: the gravest first; those that a spec does not ask for are recognised and left out.
        other: a regex of messages of no target; `further` of lines that go on with the message above them.
        grave: a regex of what is no mere warning, whatever the line calls itself.
        colour, strange: what is taken off a line, and which characters make it an error.
        alarm: category -> words -> a regex, in lower case, of what no other line with that word may hold.
        aside: regexes of what is taken out of a line before that: names, counts of none, terms of art.
        spoken, quoted: echoed commands and shown source code, and what more is taken out of these.
        counts: category -> regexes with a group `count`; one above what was seen is an error.
        severities: category -> a regex of what a table of messages calls it; those of no target need no account.
        row: a row of such a table without lines between its columns.
        hidden: a regex, with a group `code`, of a line that says that such messages are not shown any more.
    """

    kind: Literal["messages"]
    targets: Annotated[tuple[MessageTarget, ...], Field(min_length=1)]
    run: Run
    other: Line
    further: Line
    grave: Line
    colour: Line
    strange: Line
    alarm: dict[Key, dict[str, Line]]
    aside: tuple[Line, ...]
    spoken: Line
    quoted: tuple[Line, ...]
    counts: dict[Key, tuple[Line, ...]]
    severities: dict[Key, Line]
    row: Line
    hidden: Line


Extraction: TypeAlias = Annotated[
    Lines | Records | Timing | Measured | Header | Directives | Commands | Messages, Field(discriminator="kind")
]
