"""Echoed commands before a report, and the options with which they show only a part of a design.

    command_of("OpenSTA> report_checks -path_delay max -to r2/D")
        -> ReportCommand("report_checks", narrowing=("-to r2/D",))

A report does not say that its command left something out, so the command must: a worst slack of one
corner or one path group proves nothing of the design. An option that nobody knows may narrow the
report as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

# `# Command: report_timing -to r2/D` in the head of a report counts as the command itself.
_ECHO: Final = re.compile(
    r"^\s*+(?:#++\s*+|\*\s*+|;\s*+)?(?:Command\s*+:\s*+)?"
    r"(?:[\w.]++(?: [\w/~.]++)?[>%#]|%)?\s*+"
    # The heading of a step of OpenROAD's flow: `detailed route report_checks -path_delay min`.
    r"(?:(?:[a-z]+ ){1,3}(?=report_))?"
    r"(?P<name>report_\w+|timeDesign|check_\w+|verify(?:_|[A-Z])\w+)(?P<options>(?:\s.*)?)$"
)
# PrimeTime lists the options of its command in the head of its report, one a line.
_HEAD: Final = re.compile(r"^Report : (?P<name>timing|power|constraint|qor|global timing)$")
_HEAD_OPTION: Final = re.compile(r"^\s+(?P<options>-[a-z_]+(?:\s.*)?)$")
_PROMPT: Final = r"^\s*(?:[\w.]+(?: [\w/~.]+)?> ?|% )?"
_WITH_OPTION: Final = re.compile(_PROMPT + r"[a-z]+(?:_[a-z0-9]+)+ +-[a-z_]+\b[^:=]*$")
# A command with the path that it reads or writes: `write_db results/a.odb`.
_WITH_PATH: Final = re.compile(
    _PROMPT + r"(?:read|write|load|save|source)(?:_\w+)? [\w.~-]*/[\w./-]+$"
)
# A step after which the reports that follow are no longer those of an earlier command.
_STEP: Final = re.compile(
    _PROMPT + r"(?:read|link|set|create|write|define|current|get|source|puts|exit|initialize)\b"
    r"|" + _PROMPT + r"(?:read|link|set|create|write|define|current|get|initialize)_\w+"
)
_WORD: Final = re.compile(r"\{[^{}]*\}|\[[^][]*\]|\"[^\"]*\"|\S+")
# OpenLane writes the check behind its command: `report_worst_slack -max (Setup)`.
_REMARK: Final = re.compile(r"\((?:Setup|Hold)\)$", re.IGNORECASE)

# Options that say what is checked and how it is printed, but leave nothing of it out.
_WITHOUT_VALUE: Final = frozenset(
    {
        *("-max", "-min", "-setup", "-hold", "-late", "-early", "-all", "-verbose", "-summary"),
        *("-nosplit", "-no_line_splits", "-no_header", "-header", "-nets", "-input_pins"),
        *("-input", "-capacitance", "-cap", "-transition_time", "-slew", "-crosstalk_delta"),
        *("-derate", "-sort_by_slack", "-unique", "-unique_paths_to_endpoint", "-max_slew"),
        *("-max_capacitance", "-max_cap", "-max_fanout", "-max_transition", "-max_tran"),
        *("-max_delay", "-min_delay", "-recovery", "-removal", "-min_pulse_width"),
        *("-min_period", "-max_skew", "-clock_gating_setup", "-clock_gating_hold"),
        *("-violators", "-all_violators", "-violation", "-unconstrained", "-no_clock"),
        *("-unconstrained_endpoints", "-multiple_clock", "-generated_clocks", "-loops"),
        *("-no_input_delay", "-full_clock", "-full_clock_expanded", "-expandedviews"),
        *("-preplace", "-prects", "-postcts", "-postroute", "-signoff", "-hierarchy", "-hier"),
        *(
            "-reportonly",
            "-drvreports",
            "-slackreports",
            "-idealclock",
            "-proto",
            "-timingdebugreport",
        ),
        *("-significant_digits_auto", "-csv", "-json", "-append", "-a", "-return_string"),
        "-warn_on_violation",
    }
)
_WITH_VALUE: Final = frozenset(
    {
        *("-path_delay", "-delay_type", "-path_type", "-type", "-format", "-fields", "-field"),
        *("-digits", "-significant_digits", "-group_count", "-path_count", "-endpoint_count"),
        *("-endpoint_path_count", "-max_paths", "-nworst", "-n_worst", "-npaths", "-sort_by"),
        *("-outdir", "-outfile", "-file", "-prefix", "-rpx", "-name", "-numpaths", "-pathreports"),
        *("-path", "-report_by", "-crosstalk", "-pb", "-analysis_effort", "-levels"),
        # The kind of violation is printed in the report; the limit counts what was found.
        *("-drv_violation_type", "-limit"),
        *("-analysis_type", "-delay", "-unit", "-units", "-power_unit", "-report", "-report_file"),
    }
)
# A check of the layout checks less with most options, such as `-noSpacing` and `-nets VDD`.
_OF_LAYOUT: Final = re.compile(r"verify|check_(?:drc|connectivity|process_antenna|antenna)$")
_WITHOUT_VALUE_OF_LAYOUT: Final = frozenset(
    {"-verbose", "-check_all", "-stacked_via", "-stackedVia"}
)
_WITH_VALUE_OF_LAYOUT: Final = frozenset(
    {"-limit", "-error", "-warning", "-report", "-reportfile", "-report_file", "-outfile", "-file"}
)
# A report of what is worse than a limit shows each violation if the limit is not negative.
_UPPER_BOUNDS: Final = frozenset(
    {"-slack_max", "-slack_lesser_than", "-slack_less_than", "-max_slack"}
)


@dataclass(frozen=True)
class ReportCommand:
    """An echoed command.

    Attributes:
        name: the command.
        narrowing: the options with which its report shows only a part.
    """

    name: str
    narrowing: tuple[str, ...] = ()


def command_of(line: str) -> ReportCommand | None:
    """Return the command that a line echoes if it is one that prints a report, or None."""
    head = _HEAD.match(line)
    if head is not None:
        return ReportCommand(f"report_{head['name']}")
    match = _ECHO.match(line)
    if match is None:
        return None
    options = _REMARK.sub("", match["options"].strip())
    # What follows `>` is the file that the report is written to.
    options = re.split(r"\s>{1,2}\s|;", options)[0]
    words = _WORD.findall(options)
    if words and not words[0].startswith(("-", "[", "{", "\\")):
        # "report_tns 0.00" or "check_setup passed" is no command but a result.
        return None
    name = match["name"]
    if _OF_LAYOUT.match(name):
        return ReportCommand(name, tuple(_narrowing_of_layout(words)))
    return ReportCommand(name, tuple(_narrowing(words)))


def head_options(line: str) -> tuple[str, ...]:
    """Return the options with which a line of a report's head narrows it."""
    match = _HEAD_OPTION.match(line)
    return tuple(_narrowing(_WORD.findall(match["options"]))) if match else ()


def is_command(line: str) -> bool:
    """Return whether a line echoes some command with its options, and says nothing of its own."""
    return any(pattern.match(line) is not None for pattern in (_WITH_OPTION, _WITH_PATH))


def is_step(line: str) -> bool:
    """Return whether a line echoes a command that prints no report."""
    return _STEP.match(line) is not None


def _narrowing(words: list[str]) -> list[str]:
    """Return the options that narrow a report, each with its value."""
    narrowing = list[str]()
    position = 0
    while position < len(words):
        option, value = _option_at(words, position)
        position += 1
        if option in _WITHOUT_VALUE:
            continue
        if option in _WITH_VALUE:
            position += bool(value)
            continue
        if option in _UPPER_BOUNDS and re.fullmatch(r"\+?\d[\d.]*", value):
            position += 1
            continue
        narrowing.append(f"{option} {value}".strip())
        position += bool(value)
    return narrowing


def _narrowing_of_layout(words: list[str]) -> list[str]:
    """Return the options that narrow a check of the layout, each with its value."""
    narrowing = list[str]()
    position = 0
    while position < len(words):
        option, value = _option_at(words, position)
        position += 1 + bool(value)
        is_whole = option in _WITH_VALUE_OF_LAYOUT or (option, value) == ("-type", "all")
        if not is_whole and option not in _WITHOUT_VALUE_OF_LAYOUT:
            narrowing.append(f"{option} {value}".strip())
    return narrowing


def _option_at(words: list[str], position: int) -> tuple[str, str]:
    """Return the option at a position in lower case, and the value behind it or ""."""
    following = words[position + 1] if position + 1 < len(words) else ""
    # Innovus takes its options in any case.
    return words[position].lower(), "" if _is_option(following) else following


def _is_option(word: str) -> bool:
    """Return whether a word is an option, not a negative number."""
    return re.match(r"-[A-Za-z_]", word) is not None
