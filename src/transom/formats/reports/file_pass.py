"""The pass over one file: which section each line belongs to, and what that section makes of it.

A format may begin in any line. If several formats begin with the same line, the lines that follow
are held until one of the formats is confirmed, and are read then. A log holds the sections of other
formats; a section in it that meets a line that only the log knows ends there.

Most lines of a long report repeat apart from their digits. Each shape of a line (the line with
zeros for its digits) is tried against the rules once for each state of the pass. A shape that can
have no effect in a state is skipped from then on, without regard to its digits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from transom.evidence.identity import Identity, IdentityFact
from transom.evidence.trouble import TroubleFinder
from transom.formats.reports.command_lines import (
    LONGEST_LINE,
    CommandLines,
    NarrowingCommand,
    NarrowingCommands,
)
from transom.formats.reports.fact_interest import FactInterest, FactKeeper
from transom.formats.reports.file_reading import begins_by_reading
from transom.formats.reports.format_rules import CompiledFormat
from transom.formats.reports.line_planner import LinePlanner, OpenSections
from transom.formats.reports.line_plans import (
    HeldLines,
    LinePlan,
    has_value_in,
    matches_begin,
    plan_of_output,
)
from transom.formats.reports.printed_lines import PrintedLines
from transom.formats.reports.readings import (
    FileReading,
    SectionReading,
    UnexplainedLines,
    UnexplainedShape,
)
from transom.formats.reports.report_commands import command_of, is_command
from transom.formats.reports.section import SectionPass

_ZEROS: Final = bytes.maketrans(b"123456789", b"000000000")
_MOST_HELD: Final = 100
_SHOWN_OF_LONG_LINE: Final = 200
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*+[A-Za-z]")


class FilePass:
    """The state of the pass over one file.

    Args:
        path: the path, for the reading.
        formats: the formats that a section may have.
        interest: the measurements to keep; all of them if None.
    """

    def __init__(
        self,
        path: str,
        formats: Sequence[CompiledFormat],
        interest: FactInterest | None = None,
    ) -> None:
        self._reading = FileReading(path)
        self._facts = FactKeeper(interest)
        self._formats = tuple(formats)
        self._by_name = {each.name: each for each in formats}
        self._number = 0
        self._open = OpenSections()
        self._shared_scope: dict[str, str] = {}
        self._repeated: dict[tuple[CompiledFormat, SectionPass | None], SectionPass] = {}
        self._held: HeldLines | None = None
        # Line in which no section may begin, since no format was confirmed there.
        self._refused_line = 0
        self._commands = CommandLines(formats)
        self._narrowing = NarrowingCommands()
        self._printed = PrintedLines()
        self._unexplained = UnexplainedLines()
        self._outside = UnexplainedLines()
        self._finder = TroubleFinder("eda")
        self._planner = LinePlanner(formats, self._finder, self._outside)
        self._state = self._planner.state_of(self._open)

    def take_piece(self, piece: str) -> None:
        """Read a piece of whole lines."""
        text = piece.removesuffix("\n")
        shapes = zeroed(text).split("\n")
        lines = text.split("\n")
        first = self._number
        skipped, direct = self._state.skipped, self._state.direct
        for index, shape in enumerate(shapes):
            if shape in skipped:
                continue
            self._number = number = first + index + 1
            plan = direct.get(shape)
            if plan is not None and self._narrowing.last is None:
                # Most lines with an effect are of few shapes, which need no other treatment.
                self._take_by(plan, number, lines[index].rstrip(), shape)
                if plan.may_change_state:
                    self._state = self._planner.state_of(self._open)
            else:
                self._take(number, lines[index], shape)
            if self._held is not None or self._commands.unfinished:
                # While lines are held, each one is wanted.
                skipped, direct = set(), {}
            else:
                skipped, direct = self._state.skipped, self._state.direct
        self._number = first + len(shapes)

    def take_line(self, number: int, line: str) -> None:
        """Read a line that stands for a part of line `number` of the file."""
        self._number = max(self._number, number)
        self._take(number, line, zeroed(line))

    def finish(self) -> FileReading:
        """Return the reading of the whole file."""
        if self._commands.unfinished:
            line, self._commands.unfinished = self._commands.unfinished, ""
            self._take(self._number, line, zeroed(line))
        # Lines that are read at last may be held anew.
        while self._held is not None:
            self._resolve(self._held.undemanding())
        self._close_report(self._number)
        if self._open.log is not None:
            self._open.log.close(self._number)
        reading = self._reading
        reading.lines = self._number
        self._facts.finish()
        reading.fact_count, reading.unlisted = self._facts.count, self._facts.unlisted
        reading.sections.sort(key=lambda section: section.first_line)
        reading.unexplained = self._unexplained.shapes
        has_log = any(section.is_log for section in reading.sections)
        for shape in self._outside.shapes:
            # In front of a log anything may stand, but around other reports each line counts.
            counts = shape.reason == "trouble" or (reading.sections and not has_log)
            if counts and not self._precedes_report(shape):
                reading.unexplained.append(shape)
        reading.unexplained.sort(key=lambda shape: shape.lines[0])
        return reading

    def _precedes_report(self, shape: UnexplainedShape) -> bool:
        """Return whether lines of a shape belong to a report that follows all of them.

        What an author remarks there is no news of a tool; other words of trouble count.
        """
        if shape.count > len(shape.lines):
            return False
        return any(
            pattern.search(shape.text)
            and (shape.reason != "trouble" or "remark" in pattern.groupindex)
            for section in self._reading.sections
            if section.first_line > shape.lines[-1]
            for pattern in self._by_name[section.format].preceded_by
        )

    def _take(self, number: int, line: str, shape: str) -> None:
        """Read one line."""
        # Behind an unfinished line, a line is no longer read as it is.
        raw_line, raw_shape = line, self._commands.unfinished + shape
        is_whole = not self._commands.unfinished
        tidy = tidied(line)
        if tidy != line:
            line, shape = tidy, zeroed(tidy)
        if len(line) > LONGEST_LINE:
            # The rest of the line is not searched, so nobody may rely on it.
            self._unexplained.add(number, line[:_SHOWN_OF_LONG_LINE], "unknown")
            return
        if self._held is not None:
            self._hold(number, line, shape)
            return
        if self._commands.unfinished or line.endswith("\\"):
            line = self._commands.joined(line, self._open.innermost)
            if not line:
                return
            shape = zeroed(line)
        commands = self._commands.commands_of(line, self._open.innermost)
        if commands != [line]:
            for command in commands:
                self._take(number, command, zeroed(command))
            return
        plan = self._planner.plan_of(shape, self._open, self._state, number, raw_line)
        if plan.has_effect:
            self._state.keep_direct(raw_shape, plan)
            self._take_planned(plan, number, line, shape)
        elif is_whole:
            # The line as it is printed, with its colours and the blanks at its end.
            self._state.skip(raw_shape)

    def _take_planned(self, plan: LinePlan, number: int, line: str, shape: str) -> None:
        """Read a line that has an effect."""
        if plan.may_be_command:
            self._narrowing.note(number, line)
        if self._narrowing.last is None:
            self._take_by(plan, number, line, shape)
        else:
            self._take_narrowed(self._narrowing.last, plan, number, line, shape)
        if plan.may_change_state:
            self._state = self._planner.state_of(self._open)

    def _take_narrowed(
        self,
        command: NarrowingCommand,
        plan: LinePlan,
        number: int,
        line: str,
        shape: str,
    ) -> None:
        """Read a line behind a command that narrows; the first measurement of it is a part only."""
        before = self._facts.count
        self._take_by(plan, number, line, shape)
        if self._facts.count > before:
            self._unexplained.add(command.number, command.line, "narrowed", command.options)
            self._narrowing.last = None

    def _take_by(self, plan: LinePlan, number: int, line: str, shape: str) -> None:
        """Read a line by its plan, unless it is what a command prints."""
        source = self._printed.source_of(number, line) if self._printed else None
        if source is None:
            if plan.may_print:
                self._printed.note(number, line)
            self._take_by_rules(plan, number, line, shape)
        else:
            before = self._facts.count
            # What a command is known to print is no result of the tool, whoever accepts it.
            has_value = source.is_certain and has_value_in(plan, line)
            plan = plan_of_output(plan) if source.is_certain else plan
            self._take_by_rules(plan, number, line, shape)
            if has_value or self._facts.count > before:
                self._unexplained.add(source.number, source.command, "printed", [line.strip()])

    def _take_by_rules(self, plan: LinePlan, number: int, line: str, shape: str) -> None:
        """Read a line by the rules of its plan."""
        current = self._open.innermost
        command = line
        if current is not None:
            if current.format.prompt is not None:
                command = current.format.prompt.sub("", line)
            goes_on = plan.is_explained and not current.awaits_run
            if plan.may_restart and not goes_on and matches_begin(current.format, command):
                self._begin(current.format, number, command)
                current = self._open.innermost
                assert current is not None
            is_known = current.take(number, command, plan.rules, rest_is_quiet=plan.rest_is_quiet)
            if is_known:
                return
            if current is self._open.report and current.is_finished:
                # What follows the end of a report belongs to what holds it.
                self._close_report(number - 1)
                self._state = self._planner.state_of(self._open)
                self._take(number, line, shape)
                return
        if plan.outer_rules and self._open.log is not None and current is not self._open.log:
            is_known = self._open.log.take(number, command, plan.outer_rules, rest_is_quiet=False)
            if is_known:
                self._close_report(number - 1)
                return
        if plan.begins and number != self._refused_line:
            beginning = self._beginning(plan, command)
            if beginning:
                self._hold_from(beginning, number, line, shape)
                return
        if plan.may_be_command and self._is_quiet_command(line):
            return
        if current is not None:
            current.take_unknown(number, command)
        else:
            self._take_outside(number, line)

    def _beginning(self, plan: LinePlan, line: str) -> list[CompiledFormat]:
        """Return the formats of which a section begins with a line."""
        formats = list[CompiledFormat]()
        for each in plan.begins:
            if matches_begin(each, line) and not self._is_echoed(each, line):
                formats.append(each)
        if len(formats) > 1 and begins_by_reading(line):
            # That a file is read may begin any log, unless a tool's own line does.
            own = [each for each in formats if each.model.reads_files != "begins"]
            return own or formats
        return formats

    def _is_echoed(self, report_format: CompiledFormat, line: str) -> bool:
        """Return whether a log that has not come to its end echoes a file of a format.

        A tool prints the constraints and the netlists that it reads, which end no log; and that it
        reads one begins no other log.
        """
        model = report_format.model
        if self._open.log is not None and model.reads_files and begins_by_reading(line):
            return True
        is_file = model.is_log and not model.tool and report_format.ends == 0
        if not is_file or self._open.log is None or self._open.log.format is report_format:
            return False
        return self._open.log.format.ends > 0 and not self._open.log.is_finished

    def _is_quiet_command(self, line: str) -> bool:
        """Return whether a line echoes a command and says nothing more."""
        if command_of(line) is not None:
            return True
        return is_command(line) and not self._finder.in_line(line)

    def _take_outside(self, number: int, line: str) -> None:
        """Note a line that belongs to no section."""
        troubles = self._finder.in_line(line)
        if troubles:
            words = [trouble.word for trouble in troubles]
            self._outside.add(number, line, "trouble", words)
        else:
            self._outside.add(number, line, "unknown")

    def _hold_from(
        self, beginning: list[CompiledFormat], number: int, line: str, shape: str
    ) -> None:
        """Begin a section, or hold the lines until it is clear of which format it is."""
        if len(beginning) == 1 and not beginning[0].confirmed_by:
            self._begin(beginning[0], number, line)
            self._take_first(number, line, shape)
            return
        self._held = HeldLines({each: list(each.confirmed_by) for each in beginning})
        self._hold(number, line, shape)

    def _hold(self, number: int, line: str, shape: str) -> None:
        """Hold a line until a format is confirmed, but not for ever."""
        assert self._held is not None
        self._held.take(number, line, shape)
        confirmed = self._held.confirmed()
        if confirmed:
            self._resolve(confirmed)
        elif len(self._held.lines) >= _MOST_HELD:
            self._resolve(self._held.undemanding())

    def _resolve(self, chosen: list[CompiledFormat]) -> None:
        """Read the held lines as a section of the chosen format, if there is one."""
        assert self._held is not None
        lines = self._held.lines
        self._held = None
        first = lines[0][0]
        if len(chosen) == 1:
            self._begin(chosen[0], first, lines[0][1])
            self._take_first(*lines[0])
            self._state = self._planner.state_of(self._open)
            lines = lines[1:]
        else:
            self._refused_line = first
            if chosen:
                self._reading.ambiguous[first] = tuple(each.name for each in chosen)
        for held_line in lines:
            self._take(*held_line)

    def _take_first(self, number: int, line: str, shape: str) -> None:
        """Read the first line of a section, which is known since the section begins with it."""
        current = self._open.innermost
        assert current is not None
        if current.format.prompt is not None:
            line = current.format.prompt.sub("", line)
        self._state = self._planner.state_of(self._open)
        plan = self._planner.plan_of(shape, self._open, self._state, number, line)
        current.take(number, line, plan.rules, rest_is_quiet=plan.rest_is_quiet)

    def _begin(self, report_format: CompiledFormat, number: int, line: str) -> None:
        """Begin a section; a report that repeats goes on in its earlier section."""
        self._close_report(number - 1)
        model = report_format.model
        if model.is_log and self._open.log is not None:
            self._open.log.close(number - 1)
            self._open.log = None
        repeated = self._repeated.get((report_format, self._open.log))
        if model.repeats and repeated is not None:
            repeated.begin_again(number)
            self._open.report = repeated
            return
        reading = self._new_reading(report_format, number)
        reading.evidence = line.strip()
        section = SectionPass(
            report_format,
            reading,
            self._reading.path,
            self._unexplained,
            self._shared_scope,
            self._facts,
        )
        if model.is_log:
            self._open.log = section
        else:
            self._open.report = section
            self._repeated[report_format, self._open.log] = section

    def _new_reading(self, report_format: CompiledFormat, number: int) -> SectionReading:
        """Return the reading of a new section, which has the identity of its log."""
        model = report_format.model
        reading = SectionReading(
            model.name,
            model.tool,
            model.title,
            model.seen,
            number,
            is_log=model.is_log,
            has_end=report_format.ends > 0,
            end_is_last=model.is_log and model.end_is_last,
        )
        if self._open.log is not None:
            log = self._open.log.reading
            reading.inside = log.format
            reading.tool = log.tool
            reading.identity = self._open.log.identity_for_report()
        elif model.tool:
            tool = IdentityFact("tool", model.tool, self._reading.path)
            reading.identity = Identity((tool,))
        self._reading.sections.append(reading)
        return reading

    def _close_report(self, last_line: int) -> None:
        """Go back to the log that holds the present report."""
        if self._open.report is not None:
            self._open.report.close(last_line)
            self._open.report = None


def tidied(line: str) -> str:
    """Return a line without a terminal's colours and the blanks that alone make it long."""
    tidy = line.replace("\0", " ").rstrip()
    if "\x1b" in tidy:
        # A terminal's colours are no part of the report.
        tidy = _COLOURS.sub("", tidy)
    if len(tidy) > LONGEST_LINE:
        tidy = " ".join(tidy.split())
    return tidy


def zeroed(text: str) -> str:
    """Return a text with zeros for its digits."""
    zeroed = text.encode("utf-8", "surrogatepass").translate(_ZEROS)
    return zeroed.decode("utf-8", "surrogatepass")
