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

    `{line}` in `value` is the line itself, its blanks collapsed.
    """

    kind: Literal["lines"]
    category: Key
    pattern: Line
    context: tuple[Line, ...] = ()
    value: Line
    maps: dict[Key, dict[str, Json]] = Field(default_factory=dict)
    numbers: tuple[Key, ...] = ()


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


class Header(_Rule):
    """The comments before the code: groups of `patterns` are fields; the topmost header counts."""

    kind: Literal["header"]
    category: Key
    within: int
    stop: Line
    patterns: tuple[Line, ...]
    formats: dict[str, Line]
    constants: dict[Key, Json] = Field(default_factory=dict)
    value: Line
    empty: Line


class Directives(_Rule):
    """Lines such as `*NAME "text"`: `names` maps a directive to a field, most telling first."""

    kind: Literal["directives"]
    category: Key
    within: int
    stop: Line
    pattern: Line
    names: dict[str, Key]
    constants: dict[Key, Json] = Field(default_factory=dict)
    value: Line
    empty: Line


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


Extraction: TypeAlias = Annotated[Lines | Records | Header | Directives | Commands, Field(discriminator="kind")]
