"""How the messages of logs are read, as data; and every kind of rule by which a file is read."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from transom.checklist.rules.reading_rules import Made, Read, Rows
from transom.checklist.rules.saying import Key, Regex, WholeRegex


class MessageTarget(Made):
    """Messages of one severity; each line that one of `patterns` fits from its head on is an
    entry.
    """

    patterns: Annotated[tuple[Regex, ...], Field(min_length=1)]


class Run(Made):
    """How a tool names itself when it begins, and what it says when it is done.

    Attributes:
        begins: a regex with a group `tool`, which `maps.tool` brings to the keys of `ends` and
            `always`; each such line is an entry, whose field `end` is `complete`, `open` where
            nothing tells, or null at an error.
        ends: tool -> a regex of its last words; `anyone` of those of any tool, which only `after`
            may follow.
        always: tools that always say it, so that a log without is an error.
        once: whether the same beginning a second time is another run.
    """

    begins: Regex
    ends: dict[Key, Regex]
    anyone: Regex
    after: Regex
    always: tuple[Key, ...]
    once: bool = True


class Messages(Read):
    """The messages of a log, in which no other line may speak of the matter.

    Regexes of whole lines (`patterns`, `other`, `further`, `spoken`, `row`, those of `run`) fit
    from a line's head on.

    Attributes:
        targets: the gravest first; those that a spec does not ask for are recognised and left out.
        other: a regex of messages of no target; `further` of lines that go on with the message
            above them.
        grave: a regex of what is no mere warning, whatever the line calls itself.
        alarm: category -> words -> a regex, in lower case, of what no other line with that word may
            hold.
        aside: regexes of what is taken out of a line before that: names, counts of none, terms of
            art. spoken, quoted: echoed commands and shown source code, and what more is taken out
            of these.
        counts: category -> regexes with a group `count`; one above what was seen is an error.
        severities: category -> a regex of what a table of messages calls it; those of no target
            need no account.
        row: a row of such a table without lines between its columns.
        hidden: a regex, with a group `code`, of a line that says that such messages are not shown
            any more.
    """

    kind: Literal["messages"]
    targets: Annotated[tuple[MessageTarget, ...], Field(min_length=1)]
    run: Run
    other: Regex | None = None
    further: Regex | None = None
    grave: Regex | None = None
    alarm: dict[Key, dict[str, Regex]]
    aside: tuple[Regex, ...] = ()
    spoken: Regex | None = None
    quoted: tuple[Regex, ...] = ()
    counts: dict[Key, tuple[Regex, ...]] = Field(default_factory=dict)
    severities: dict[Key, WholeRegex] = Field(default_factory=dict)
    row: Regex | None = None
    hidden: Regex | None = None

    def watched(self) -> list[str]:
        """As of rows."""
        alarms = [f"(?i){regex}" for words in self.alarm.values() for regex in words.values()]
        told = [regex for target in self.targets for regex in target.patterns]
        told += [self.run.begins, self.run.anyone, *self.run.ends.values()]
        told += [regex for regex in (self.other, self.row, self.hidden) if regex]
        return [*told, *alarms, "sev"]  # which heads a table of counts

    def categories(self) -> tuple[str, ...]:
        """As of rows."""
        return (*(target.category for target in self.targets), self.run.category)

    def shown(self, category: str) -> list[str]:
        """As of rows."""
        named = [
            regex
            for target in self.targets
            if target.category == category
            for regex in target.patterns
        ]
        return [*named, self.run.begins] if self.run.category == category else named


Extraction: TypeAlias = Annotated[Rows | Messages, Field(discriminator="kind")]
