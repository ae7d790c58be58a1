"""Reads a report in one pass: sections, measurements and unexplained lines.

A format may begin in any line. If several formats begin with the same line, the lines that follow
are held until one of the formats is confirmed, and are read then. A log holds the sections of other
formats; a section in it that meets a line that only the log knows ends there.

Most lines of a long report repeat apart from their digits. Each shape of a line (the line with
zeros for its digits) is tried against the rules once for each state of the pass. A shape that can
have no effect in a state is skipped from then on, without regard to its digits.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from transom.evidence.identity import Identity, IdentityFact
from transom.evidence.trouble import TroubleFinder
from transom.formats.reports.format_rules import CompiledFormat, LineRule
from transom.formats.reports.line_plans import (
    HeldLines,
    LinePlan,
    PassState,
    matches_begin,
    may_begin,
    pattern_of_begins,
    plan_of_output,
    rest_of_shape,
    rules_for,
)
from transom.formats.reports.printed_lines import PrintedLines, may_print
from transom.formats.reports.readings import (
    FileReading,
    SectionReading,
    UnexplainedLines,
    UnexplainedShape,
)
from transom.formats.reports.report_commands import command_of, head_options, is_command, is_step
from transom.formats.reports.section import SectionPass
from transom.formats.reports.sought_texts import TextSearch
from transom.formats.reports.trees import json_lines, kind_of_tree, xml_lines
from transom.formats.text_files import STREAMED_BYTES, TextFile, clean

LONGEST_LINE: Final = 20_000
"""Characters of a line, at most; a longer line is not read, and is listed as unexplained."""

_ZEROS: Final = bytes.maketrans(b"123456789", b"000000000")
_MOST_HELD: Final = 100
# A JSON document is held as a whole; a cut one is not well-formed, and is reported as such.
_MOST_PIECES_OF_JSON: Final = 64
_SHOWN_OF_LONG_LINE: Final = 200
# Rules, underlines and empty rows of tables belong to any report, and a stray letter says nothing.
_WORD_OR_DIGIT: Final = re.compile(r"[^\W\d_]{2}|\d")


def read_report(path: Path, formats: Sequence[CompiledFormat]) -> FileReading:
    """Recognise and read a file.

    Raises:
        InputError: missing, a folder, unreadable, cut short, too large, or changed.
    """
    file = TextFile(path, limit=STREAMED_BYTES)
    reading = read_report_pieces(file.pieces(), str(path), formats)
    reading.facts = file.facts
    return reading


def read_report_text(
    text: str, formats: Sequence[CompiledFormat], path: str = "report"
) -> FileReading:
    """Recognise and read a report that is held in memory."""
    return read_report_pieces(iter([clean(text)] if text else []), path, formats)


def read_report_pieces(
    pieces: Iterator[str],
    path: str,
    formats: Sequence[CompiledFormat],
    sought: Sequence[str] = (),
    *,
    of_reading: bool = False,
) -> FileReading:
    """Recognise and read a report that comes in pieces of whole lines.

    Args:
        pieces: the pieces.
        path: the path, for the reading.
        formats: the formats that it may have.
        sought: texts to look for in each of its lines.
        of_reading: look only in lines that may tell of a file that was read.

    Raises:
        InputError: as the pieces do.
    """
    if sought:
        search = TextSearch(sought, of_reading=of_reading)
        reading = read_report_pieces(search.passing(pieces), path, formats)
        search.finish(reading)
        return reading
    file_pass = FilePass(path, formats)
    first = next(pieces, "")
    kind = kind_of_tree(first)
    if kind is None:
        for piece in itertools.chain([first] if first else [], pieces):
            file_pass.take_piece(piece)
        return file_pass.finish()
    everything = itertools.chain([first], pieces)
    if kind == "xml":
        lines = xml_lines(everything)
    else:
        lines = json_lines("".join(itertools.islice(everything, _MOST_PIECES_OF_JSON)))
    for number, line in lines:
        file_pass.take_line(number, line)
    # The rest of a document that is too long is passed over, for the digest of the file.
    for _ in everything:
        pass
    return file_pass.finish()


# A command of Tcl; what is quoted belongs to it as a whole.
_COMMAND: Final = re.compile(r"(?:\{[^{}]*\}|\[[^][]*\]|\"[^\"]*\"|[^][{}\";])+")
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*+[A-Za-z]")


class FilePass:
    """The state of the pass over one file.

    Args:
        path: the path, for the reading.
        formats: the formats that a section may have.
    """

    def __init__(self, path: str, formats: Sequence[CompiledFormat]) -> None:
        self._reading = FileReading(path)
        self._formats = tuple(formats)
        self._any_begin = pattern_of_begins(formats)
        self._by_name = {each.name: each for each in formats}
        self._number = 0
        self._line = ""
        # `log` may hold `report`; either may be missing.
        self._log: SectionPass | None = None
        self._report: SectionPass | None = None
        self._shared_scope: dict[str, str] = {}
        self._repeated: dict[tuple[CompiledFormat, SectionPass | None], SectionPass] = {}
        self._held: HeldLines | None = None
        # Line in which no section may begin, since no format was confirmed there.
        self._refused_line = 0
        # The beginning of a command that goes on in the next line.
        self._unfinished = ""
        # The command that narrows the report which follows: its line, and the options.
        self._narrowing: tuple[int, str, tuple[str, ...]] | None = None
        self._has_head = False
        self._printed = PrintedLines()
        self._unexplained = UnexplainedLines()
        self._outside = UnexplainedLines()
        self._finder = TroubleFinder("eda")
        self._states: dict[object, PassState] = {}
        self._state = self._state_now()

    def take_piece(self, piece: str) -> None:
        """Read a piece of whole lines."""
        text = piece.removesuffix("\n")
        shapes = _zeroed(text).split("\n")
        lines = text.split("\n")
        first = self._number
        skipped, direct = self._state.skipped, self._state.direct
        for index, shape in enumerate(shapes):
            if shape in skipped:
                continue
            self._number = number = first + index + 1
            plan = direct.get(shape)
            if plan is not None and self._narrowing is None:
                # Most lines with an effect are of few shapes, which need no other treatment.
                self._take_by(plan, number, lines[index].rstrip(), shape)
                if plan.may_change_state:
                    self._state = self._state_now()
            else:
                self._take(number, lines[index], shape)
            if self._held is not None or self._unfinished:
                # While lines are held, each one is wanted.
                skipped, direct = set(), {}
            else:
                skipped, direct = self._state.skipped, self._state.direct
        self._number = first + len(shapes)

    def take_line(self, number: int, line: str) -> None:
        """Read a line that stands for a part of line `number` of the file."""
        self._number = max(self._number, number)
        self._take(number, line, _zeroed(line))

    def finish(self) -> FileReading:
        """Return the reading of the whole file."""
        if self._unfinished:
            line, self._unfinished = self._unfinished, ""
            self._take(self._number, line, _zeroed(line))
        # Lines that are read at last may be held anew.
        while self._held is not None:
            self._resolve(self._held.undemanding())
        self._close_report(self._number)
        if self._log is not None:
            self._log.close(self._number)
        reading = self._reading
        reading.lines = self._number
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
        self._line = line
        # Behind an unfinished line, a line is no longer read as it is.
        raw_shape = self._unfinished + shape
        tidy = _tidied(line)
        if tidy != line:
            line, shape = tidy, _zeroed(tidy)
        if len(line) > LONGEST_LINE:
            # The rest of the line is not searched, so nobody may rely on it.
            self._unexplained.add(number, line[:_SHOWN_OF_LONG_LINE], "unknown")
            return
        if self._held is not None:
            self._hold(number, line, shape)
            return
        if self._unfinished or line.endswith("\\"):
            line = self._joined(line)
            if not line:
                return
            shape = _zeroed(line)
        commands = self._commands_of(line)
        if commands != [line]:
            for command in commands:
                self._take(number, command, _zeroed(command))
            return
        plan = self._plan_of(shape)
        if not plan.has_effect:
            return
        self._state.keep_direct(raw_shape, plan)
        if plan.may_be_command:
            self._note_command(number, line)
        if self._narrowing is None:
            self._take_by(plan, number, line, shape)
        else:
            self._take_narrowed(self._narrowing, plan, number, line, shape)
        if plan.may_change_state:
            self._state = self._state_now()

    def _note_command(self, number: int, line: str) -> None:
        """Note whether a command narrows the report that follows it."""
        command = command_of(line)
        if line.startswith("Report :"):
            # The head of a report belongs to the command above it.
            self._has_head = True
        elif command is not None:
            self._has_head = False
            options = command.narrowing
            self._narrowing = (number, line, options) if options else None
        elif is_step(line):
            self._narrowing = None
        elif (options := head_options(line)) and self._has_head:
            self._narrowing = (number, line, options)

    def _take_narrowed(
        self,
        narrowing: tuple[int, str, tuple[str, ...]],
        plan: LinePlan,
        number: int,
        line: str,
        shape: str,
    ) -> None:
        """Read a line behind a command that narrows; the first measurement of it is a part only."""
        before = self._count_measurements()
        self._take_by(plan, number, line, shape)
        if self._count_measurements() > before:
            command_number, command_line, options = narrowing
            self._unexplained.add(command_number, command_line, "narrowed", options)
            self._narrowing = None

    def _joined(self, line: str) -> str:
        """Return a line behind those that it continues, or nothing while the next continues it."""
        joined = f"{self._unfinished} {line}".strip()
        self._unfinished = ""
        current = self._report or self._log
        joining = [each for each in self._formats if each.model.joins_lines]
        if current is not None:
            goes_on = current.format in joining
        else:
            goes_on = any(matches_begin(each, joined) for each in joining)
        if not goes_on or not joined.endswith("\\") or len(joined) > LONGEST_LINE:
            return joined
        self._unfinished = joined[:-1].rstrip()
        return ""

    def _commands_of(self, line: str) -> list[str]:
        """Return the commands on a line, if the report parts them; else the line alone.

        A separator in braces, brackets or quotes parts nothing.
        """
        if ";" not in line:
            return [line]
        current = self._report or self._log
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

    def _take_by(self, plan: LinePlan, number: int, line: str, shape: str) -> None:
        """Read a line by its plan, unless it is what a command prints."""
        source = self._printed.source_of(number, line) if self._printed else None
        if source is None:
            if plan.may_print:
                self._printed.note(number, line)
            self._take_by_rules(plan, number, line, shape)
        else:
            before = self._count_measurements()
            plan = plan_of_output(plan) if source.is_certain else plan
            self._take_by_rules(plan, number, line, shape)
            if self._count_measurements() > before:
                self._unexplained.add(source.number, source.command, "printed", [line.strip()])

    def _count_measurements(self) -> int:
        return sum(len(section.measurements) for section in self._reading.sections)

    def _take_by_rules(self, plan: LinePlan, number: int, line: str, shape: str) -> None:
        """Read a line by the rules of its plan."""
        current = self._report or self._log
        command = line
        if current is not None:
            if current.format.prompt is not None:
                command = current.format.prompt.sub("", line)
            if plan.may_restart and matches_begin(current.format, command):
                self._begin(current.format, number, command)
                current = self._report or self._log
                assert current is not None
            is_known = current.take(number, command, plan.rules, rest_is_quiet=plan.rest_is_quiet)
            if is_known:
                return
            if current is self._report and current.is_finished:
                # What follows the end of a report belongs to what holds it.
                self._close_report(number - 1)
                self._state = self._state_now()
                self._take(number, line, shape)
                return
        if plan.outer_rules and self._log is not None and current is not self._log:
            is_known = self._log.take(number, command, plan.outer_rules, rest_is_quiet=False)
            if is_known:
                self._close_report(number - 1)
                return
        if plan.begins and number != self._refused_line:
            beginning = [
                each
                for each in plan.begins
                if matches_begin(each, command) and not self._is_echoed(each)
            ]
            if beginning:
                self._hold_from(beginning, number, line, shape)
                return
        if plan.may_be_command and self._is_quiet_command(line):
            return
        if current is not None:
            current.take_unknown(number, command)
        else:
            self._take_outside(number, line)

    def _is_echoed(self, report_format: CompiledFormat) -> bool:
        """Return whether a log that has not come to its end echoes a file of a format.

        A tool prints the constraints and the netlists that it reads, which end no log.
        """
        model = report_format.model
        is_file = model.is_log and not model.tool and report_format.ends == 0
        if not is_file or self._log is None or self._log.format is report_format:
            return False
        return self._log.format.ends > 0 and not self._log.is_finished

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

    def _plan_of(self, shape: str) -> LinePlan:
        """Return what may happen to lines of a shape in the present state, made once."""
        plan = self._state.plans.get(shape)
        if plan is None:
            plan = self._plan(shape.rstrip())
            if may_print(shape.rstrip()):
                plan.may_print = plan.has_effect = True
            self._state.keep(shape, plan)
        return plan

    def _plan(self, shape: str) -> LinePlan:
        """Return what may happen to lines of a shape in the present state."""
        current = self._report or self._log
        rules = outer_rules = tuple[LineRule, ...]()
        if current is not None:
            if current.format.prompt is not None:
                shape = current.format.prompt.sub("", shape)
            rules = rules_for(current, shape)
            if self._report is not None and self._log is not None:
                outer_rules = rules_for(self._log, shape)
        begins = tuple[CompiledFormat, ...]()
        if self._any_begin.search(shape):
            begins = tuple(each for each in self._formats if may_begin(each, shape))
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
        has_effect = bool(rules or outer_rules or begins) or self._is_noted(current, shape)
        return LinePlan(rules, outer_rules, begins, has_effect)

    def _is_noted(self, current: SectionPass | None, shape: str) -> bool:
        """Return whether an unknown line of a shape may be listed."""
        if not self._never_speaks(shape):
            return True
        if current is None:
            # One line of each shape outside of all sections is enough.
            self._outside.add(self._number, self._line, "unknown")
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

    def _state_now(self) -> PassState:
        """Return the shapes seen in the present state."""
        log, report = self._log, self._report
        key = (
            log and (log.format, log.part, log.needs_each_line),
            report and (report.format, report.part, report.needs_each_line),
        )
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = PassState()
        return state

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
            self._state = self._state_now()
            lines = lines[1:]
        else:
            self._refused_line = first
            if chosen:
                self._reading.ambiguous[first] = tuple(each.name for each in chosen)
        for held_line in lines:
            self._take(*held_line)

    def _take_first(self, number: int, line: str, shape: str) -> None:
        """Read the first line of a section, which is known since the section begins with it."""
        current = self._report or self._log
        assert current is not None
        if current.format.prompt is not None:
            line = current.format.prompt.sub("", line)
        self._state = self._state_now()
        plan = self._plan_of(shape)
        current.take(number, line, plan.rules, rest_is_quiet=plan.rest_is_quiet)

    def _begin(self, report_format: CompiledFormat, number: int, line: str) -> None:
        """Begin a section; a report that repeats goes on in its earlier section."""
        self._close_report(number - 1)
        model = report_format.model
        if model.is_log and self._log is not None:
            self._log.close(number - 1)
            self._log = None
        repeated = self._repeated.get((report_format, self._log))
        if model.repeats and repeated is not None:
            repeated.begin_again(number)
            self._report = repeated
            return
        reading = self._new_reading(report_format, number)
        reading.evidence = line.strip()
        section = SectionPass(
            report_format, reading, self._reading.path, self._unexplained, self._shared_scope
        )
        if model.is_log:
            self._log = section
        else:
            self._report = section
            self._repeated[report_format, self._log] = section

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
        if self._log is not None:
            log = self._log.reading
            reading.inside = log.format
            reading.tool = log.tool
            reading.identity = self._log.identity_for_report()
        elif model.tool:
            tool = IdentityFact("tool", model.tool, self._reading.path)
            reading.identity = Identity((tool,))
        self._reading.sections.append(reading)
        return reading

    def _close_report(self, last_line: int) -> None:
        """Go back to the log that holds the present report."""
        if self._report is not None:
            self._report.close(last_line)
            self._report = None


def _tidied(line: str) -> str:
    """Return a line without a terminal's colours and the blanks that alone make it long."""
    tidy = line.replace("\0", " ").rstrip()
    if "\x1b" in tidy:
        # A terminal's colours are no part of the report.
        tidy = _COLOURS.sub("", tidy)
    if len(tidy) > LONGEST_LINE:
        tidy = " ".join(tidy.split())
    return tidy


def _zeroed(text: str) -> str:
    """Return a text with zeros for its digits."""
    zeroed = text.encode("utf-8", "surrogatepass").translate(_ZEROS)
    return zeroed.decode("utf-8", "surrogatepass")
