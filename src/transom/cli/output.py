"""What goes to stdout and stderr, and the exit code of several answers."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transom.errors import InputError

if TYPE_CHECKING:
    from transom.llm.deltas import Delta

GRAVITY = (2, 3, 1, 0)
"""Exit codes, the gravest first: error, waiting, the answer is no, done."""

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_TONES = {
    "pass": "green",
    "fail": "red",
    "error": "red",
    "warn": "yellow",
    "dim": "dim",
    "head": "bold",
}
_GOOD = ("pass", "done", "ready")
_BAD = ("fail", "failed", "error", "not_ready")
_STEERING = re.compile(  # a style of ours, or any of them but the tabulator
    r"(\x1b\[(?:0|1|2|31|32|33)m)|[\x00-\x08\n-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"
)


def print_json(value: object) -> None:
    """Print one JSON document on stdout, always in UTF-8.

    Characters that UTF-8 cannot encode are written as JSON escapes.
    """
    # Imported here: most commands print text.
    from transom.canonical import pretty_json

    with unread():
        sys.stdout.flush()
        sys.stdout.buffer.write(pretty_json(value).encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()


def print_text(*lines: str) -> None:
    """Print lines for people on stdout, with escapes for what would steer their terminal."""
    with unread():
        text = "".join(printable(line, styled=coloured()) + "\n" for line in lines)
        sys.stdout.write(text)


def printable(text: str, *, styled: bool = False) -> str:
    """Return a text in one line, with an escape for each character that would steer a terminal
    or turn the line around.

    Args:
        styled: keep the styles of this module.
    """

    def escaped(match: re.Match[str]) -> str:
        if styled and match[1]:
            return match[0]
        return match[0].encode("unicode_escape").decode()

    return _STEERING.sub(escaped, text)


@contextmanager
def unread() -> Iterator[None]:
    """Write to stdout in this block. If its reader has gone (`| head`), the rest is dropped, and
    the exit code stays the same.
    """
    try:
        yield
    except BrokenPipeError:
        abandon_stdout()


def abandon_stdout() -> None:
    """Drop what is still buffered."""
    # Without this, the interpreter would complain at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_streams() -> None:
    """Prepare the standard streams.

    What a terminal of another encoding cannot show is escaped; what was closed before the start
    goes nowhere; stdout and stderr keep their common order.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # If a stream was closed by `>&-`, the next file to be opened would take its place, and
        # messages would be written into it.
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123,SIM115  it stays open
            setattr(sys, name, stream)
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            # Each line of stdout is written at once, also to a file or a pipe: so it comes before
            # all that stderr says later, whether progress, a log record or a usage error.
            output.reconfigure(errors="backslashreplace", line_buffering=True)


def say(line: str) -> None:
    """Print progress, a warning or an error on stderr."""
    # The difference between two texts has several lines.
    write_error("\n".join(map(printable, line.split("\n"))) + "\n")


def write_error(text: str) -> None:
    """Write a text to stderr, unchanged. Never raises: its reader may be gone."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def typed(question: str) -> str:
    """Return what a person types on the terminal; "" for an empty line or the end of input."""
    try:
        return input(question).strip()
    except EOFError:  # Ctrl-D
        return ""


class Live:
    """The text that a model is writing, on stderr, while it writes."""

    def __init__(self) -> None:
        self._is_in_line = False  # whether text was written without a line break

    def __call__(self, delta: Delta) -> None:
        from transom.llm.deltas import Again
        from transom.llm.turns import Text

        if isinstance(delta, Again):
            write_error(f"\n[all of this is void: {delta.why}]\n")
        elif isinstance(delta, Text):
            self._is_in_line = True
            write_error("\n".join(map(printable, delta.text.split("\n"))))

    def end(self) -> None:
        """Break the line, so that the next text on stderr begins one."""
        if self._is_in_line:
            write_error("\n")
        self._is_in_line = False


def gravest(codes: Iterable[int]) -> int:
    """Return the exit code of several answers in one command; 0 if there are none."""
    return min(codes, key=GRAVITY.index, default=0)


def coloured() -> bool:
    """Return whether stdout is a terminal that shows colours (https://no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def style(text: str, name: str) -> str:
    """Return the text in a style: `bold`, `dim`, `red`, `green` or `yellow`.

    If stdout shows no colours, the text is unchanged.
    """
    if not coloured():
        return text
    return f"\x1b[{_STYLES[name]}m{printable(text)}\x1b[0m"


def style_status(status: str) -> str:
    """Return a verdict or status in green if it is good, in red if it is bad, else in yellow."""
    name = status.strip().lower()
    if name in _GOOD:
        return style(status, "green")
    if name in _BAD:
        return style(status, "red")
    # Any other status waits for somebody.
    return style(status, "yellow")


def toned(tone: str, text: str) -> str:
    """Return a text of a product's report in the style of its tone."""
    return style(text, _TONES[tone])


def table(
    rows: Iterable[Sequence[object]], *, head: Sequence[str] = (), indent: str = ""
) -> list[str]:
    """Return rows as aligned columns below a bold head, left-justified, without trailing blanks.

    Without rows, the head is left out, too.
    """
    # Escapes are longer than what they stand for, so they come before the widths.
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    if head and cells:
        cells.insert(0, [*head])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines: list[str] = []
    for row in cells:
        lines.append(indent + "  ".join(map(str.ljust, row, widths)).rstrip())
    if head and lines:
        lines[0] = style(lines[0], "bold")
    return lines


def sections(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield a document for people.

    Its single figures come first, by name; then a section for each mapping, and for each list of
    mappings.
    """
    figures: list[tuple[str, str]] = []
    tables: dict[str, Any] = {}
    for key, value in document.items():
        first = value[0] if isinstance(value, list) and value else value
        if isinstance(first, Mapping):
            tables[key] = value
        elif key != "schema":
            figures.append((key.replace("_", " "), plain(value)))
    yield from table(figures)
    for title, section in tables.items():
        yield style(title, "bold")
        head: list[str] = []
        if isinstance(section, Mapping):
            rows: list[Any] = [*section.items()]
        else:
            rows = [entry.values() for entry in section]
            head = [name.replace("_", " ").upper() for name in section[0]]
        yield from table([list(map(plain, row)) for row in rows], head=head, indent="  ")


@dataclass(frozen=True)
class ReportFile:
    """A file that `--report FORMAT:PATH` asks for.

    Attributes:
        path: where it is written.
        render: returns its bytes for a result.
    """

    path: Path
    render: Callable[[Any], bytes]


def report_files(
    texts: Iterable[str], renderers: Mapping[str, Callable[[Any], bytes]]
) -> tuple[ReportFile, ...]:
    """Return the files of each `--report FORMAT:PATH`.

    Args:
        texts: the values of the option.
        renderers: what returns the bytes of a report, by the format's name.

    Raises:
        InputError: a value names no format, or no path.
    """
    files: list[ReportFile] = []
    for text in texts:
        kind, _, path = text.partition(":")
        if kind not in renderers or not path:
            hint = f"write FORMAT:PATH with one of {', '.join(renderers)}"
            raise InputError(f"{text!r} is no report", place="--report", hint=hint)
        files.append(ReportFile(Path(path).expanduser(), renderers[kind]))
    return tuple(files)


def day_of(as_of: str | None) -> date:
    """Return the day of `--as-of`, which is today by default."""
    if as_of is None:
        return date.today()
    try:
        return date.fromisoformat(as_of)
    except ValueError as error:
        raise InputError(
            f"{as_of!r} is no date", place="--as-of", hint="write YYYY-MM-DD"
        ) from error


def age(text: str, option: str = "--older-than") -> timedelta:
    """Return an age such as `30m`, `12h`, `7d` or `2w`; `option` is named in an error."""
    match = re.fullmatch(r"(\d{1,6})([mhdw])", text)
    if not match:
        raise InputError(f"{text!r} is no age", place=option, hint="write 30m, 12h, 7d or 2w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def plain(value: object) -> str:
    """Return a value in one line: `name value, name value` of a mapping, `one; another` of a
    list.
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {plain(part)}" for key, part in value.items()) or "-"
    if isinstance(value, list):
        return "; ".join(map(plain, value)) or "-"
    if value is None:
        return "-"
    # A truth value is a number, too, so it comes before them.
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 finding`, `2 findings`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
