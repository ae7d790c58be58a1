"""Commands in scripts and logs: those that go on in the next line, and several on one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from transom.formats.reports.format_rules import CompiledFormat
from transom.formats.reports.line_plans import matches_begin
from transom.formats.reports.report_commands import command_of, head_options, is_step
from transom.formats.reports.section import SectionPass

LONGEST_LINE: Final = 20_000
"""Characters of a line, at most; a longer line is not read, and is listed as unexplained."""

# A command of Tcl; what is quoted belongs to it as a whole.
_COMMAND: Final = re.compile(r"(?:\{[^{}]*\}|\[[^][]*\]|\"[^\"]*\"|[^][{}\";])+")


class CommandLines:
    """Joins lines that end with a backslash, and parts lines with several commands.

    Args:
        formats: the formats that a section may have.

    Attributes:
        unfinished: the beginning of a command that goes on in the next line, or "".
    """

    def __init__(self, formats: Sequence[CompiledFormat]) -> None:
        self._formats = tuple(formats)
        self.unfinished = ""

    def joined(self, line: str, current: SectionPass | None) -> str:
        """Return a line behind those that it continues, or nothing while the next continues it."""
        joined = f"{self.unfinished} {line}".strip()
        self.unfinished = ""
        joining = [each for each in self._formats if each.model.joins_lines]
        if current is not None:
            goes_on = current.format in joining
        else:
            goes_on = any(matches_begin(each, joined) for each in joining)
        if not goes_on or not joined.endswith("\\") or len(joined) > LONGEST_LINE:
            return joined
        self.unfinished = joined[:-1].rstrip()
        return ""

    def commands_of(self, line: str, current: SectionPass | None) -> list[str]:
        """Return the commands on a line, if the report parts them; else the line alone.

        A separator in braces, brackets or quotes parts nothing.
        """
        if ";" not in line:
            return [line]
        formats = [current.format] if current is not None else self._formats
        parting = [each for each in formats if each.model.separator]
        if current is None:
            parting = [each for each in parting if matches_begin(each, line)]
        if not parting:
            return [line]
        commands = _COMMAND.findall(line)
        if sum(map(len, commands)) + len(commands) - 1 < len(line.rstrip(";")):
            return [line]
        return [command.strip() for command in commands if command.strip()]


class NarrowingCommand(NamedTuple):
    """A command that shows only a part of a design.

    Attributes:
        number: its 1-based line.
        line: the line.
        options: the options that leave something out.
    """

    number: int
    line: str
    options: tuple[str, ...]


class NarrowingCommands:
    """Watches the commands before reports.

    Attributes:
        last: the command that narrows the report which follows; None if none does.
    """

    def __init__(self) -> None:
        self.last: NarrowingCommand | None = None
        self._has_head = False

    def note(self, number: int, line: str) -> None:
        """Note whether a command narrows the report that follows it."""
        command = command_of(line)
        if line.startswith("Report :"):
            # The head of a report belongs to the command above it.
            self._has_head = True
        elif command is not None:
            self._has_head = False
            options = command.narrowing
            self.last = NarrowingCommand(number, line, options) if options else None
        elif is_step(line):
            self.last = None
        elif (options := head_options(line)) and self._has_head:
            self.last = NarrowingCommand(number, line, options)
