"""What goes to stdout and stderr, and the exit code of several answers."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
    """One JSON document on stdout, always UTF-8; what UTF-8 cannot say is written as a JSON
    escape.
    """
    from transom.canonical import pretty_json

    with unread():
        sys.stdout.flush()
        sys.stdout.buffer.write(pretty_json(value).encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()


def print_text(*lines: str) -> None:
    """Lines for people on stdout; what would steer their terminal is shown as an escape."""
    with unread():
        text = "".join(printable(line, styled=coloured()) + "\n" for line in lines)
        sys.stdout.write(text)


def printable(text: str, *, styled: bool = False) -> str:
    """A text in one line, with an escape for each character that would steer a terminal or turn
    the line around.
    """
    return _STEERING.sub(
        lambda found: (
            found[0] if styled and found[1] else found[0].encode("unicode_escape").decode()
        ),
        text,
    )


@contextmanager
def unread() -> Iterator[None]:
    """For writing to stdout: a reader that has gone (`| head`) misses the rest, and the exit
    code stays what it is.
    """
    try:
        yield
    except BrokenPipeError:
        abandon_stdout()


def abandon_stdout() -> None:
    """What is still buffered has nowhere to go; without this the interpreter would complain at
    its end.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_streams() -> None:
    """Prepare the standard streams.

    What a terminal of another encoding cannot show is escaped; what was closed before the start
    goes nowhere; stdout and stderr keep their common order.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # closed by `>&-`: the next file that is opened would be written to in its place
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123,SIM115  it stays open
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            # Each line of stdout is written at once, also to a file or a pipe: so it comes before
            # all that stderr says later, whether progress, a log record or a usage error.
            output.reconfigure(errors="backslashreplace", line_buffering=True)


def say(line: str) -> None:
    """Progress, a warning or an error on stderr."""
    # a difference is told in several lines
    write_error("\n".join(map(printable, line.split("\n"))) + "\n")


def write_error(text: str) -> None:
    """A text as it is on stderr. Never raises: its reader may be gone."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def typed(question: str) -> str:
    """A person's words on the terminal; "" where there are none, or no more."""
    try:
        return input(question).strip()
    except EOFError:  # Ctrl-D
        return ""


class Live:
    """The text that a model is writing, on stderr, while it writes."""

    def __init__(self) -> None:
        self._begun = False

    def __call__(self, delta: Delta) -> None:
        from transom.llm.deltas import Again
        from transom.llm.turns import Text

        if isinstance(delta, Again):
            write_error(f"\n[all of this is void: {delta.why}]\n")
        elif isinstance(delta, Text):
            self._begun = True
            write_error("\n".join(map(printable, delta.text.split("\n"))))

    def end(self) -> None:
        """What comes next on stderr begins a line."""
        write_error("\n" if self._begun else "")
        self._begun = False


def gravest(codes: Iterable[int]) -> int:
    """The exit code of several answers in one command; 0 for none."""
    return min(codes, key=GRAVITY.index, default=0)


def coloured() -> bool:
    """Whether stdout is a terminal whose user did not switch colours off (https://no-color.org)."""
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def style(text: str, name: str) -> str:
    """The text in a style (`bold`, `dim`, `red`, `green`, `yellow`) where stdout shows colours,
    else as it is.
    """
    return f"\x1b[{_STYLES[name]}m{printable(text)}\x1b[0m" if coloured() else text


def style_status(status: str) -> str:
    """A verdict or status in green where it is good, in red where it is bad, else in yellow:
    somebody is waited for.
    """
    name = status.strip().lower()
    return style(status, "green" if name in _GOOD else "red" if name in _BAD else "yellow")


def toned(tone: str, text: str) -> str:
    """A text of a product's report in the style of its tone."""
    return style(text, _TONES[tone])


def table(
    rows: Iterable[Sequence[object]], *, head: Sequence[str] = (), indent: str = ""
) -> list[str]:
    """Rows as aligned columns below a bold head, left-justified, no trailing blanks; without
    rows nothing at all.
    """
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    cells = [[*head], *cells] if head and cells else cells
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [indent + "  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
    return [
        style(line, "bold") if head and not number else line for number, line in enumerate(lines)
    ]


def sections(document: Mapping[str, Any]) -> Iterator[str]:
    """A document for people: its figures by name, then a section for each mapping and each list
    of them.
    """
    wide = {
        key: one
        for key, one in document.items()
        if isinstance(one[0] if isinstance(one, list) and one else one, Mapping)
    }
    single = [(key, plain(one)) for key, one in document.items() if key not in {*wide, "schema"}]
    yield from table([(key.replace("_", " "), one) for key, one in single])
    for title, section in wide.items():
        yield style(title, "bold")
        rows, head = section, list[str]()
        if isinstance(section, Mapping):
            rows = [*section.items()]
        else:
            rows, head = (
                [one.values() for one in section],
                [name.replace("_", " ").upper() for name in section[0]],
            )
        yield from table([[plain(cell) for cell in row] for row in rows], head=head, indent="  ")


def reports_in(texts: Iterable[str], formats: Collection[str]) -> list[tuple[str, Path]]:
    """The format and the file of each `--report FORMAT:PATH`."""
    parts = [text.partition(":") for text in texts]
    for kind, colon, path in parts:
        if kind not in formats or not path:
            hint = f"write FORMAT:PATH with one of {', '.join(formats)}"
            raise InputError(f"{kind + colon + path!r} is no report", where="--report", hint=hint)
    return [(kind, Path(path).expanduser()) for kind, _, path in parts]


def day_of(as_of: str | None) -> date:
    """The day of `--as-of`; today by default."""
    try:
        return date.fromisoformat(as_of) if as_of is not None else date.today()
    except ValueError as error:
        raise InputError(
            f"{as_of!r} is no date", where="--as-of", hint="write YYYY-MM-DD"
        ) from error


def age(text: str, option: str = "--older-than") -> timedelta:
    """`30m`, `12h`, `7d`, `2w`; `option` is where it was given."""
    match = re.fullmatch(r"(\d{1,6})([mhdw])", text)
    if not match:
        raise InputError(f"{text!r} is no age", where=option, hint="write 30m, 12h, 7d or 2w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def plain(value: object) -> str:
    """A value in one line: `name value, name value` of a mapping, `one; another` of a list."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {plain(one)}" for key, one in value.items()) or "-"
    if isinstance(value, list):
        return "; ".join(map(plain, value)) or "-"
    if value is None or isinstance(value, bool):
        return {None: "-", True: "yes", False: "no"}[value]
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def counted(number: int, noun: str) -> str:
    """`1 finding`, `2 findings`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
