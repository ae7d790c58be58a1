"""Lines of a log that a command in it only prints, so that they prove nothing.

    printed = PrintedLines()
    printed.note(7, '% puts "read_spef lamp.spef"')
    printed.source_of(8, "read_spef lamp.spef")
        -> PrintingCommand(7, 'puts "read_spef lamp.spef"', is_certain=True)

A log that echoes its commands shows the text twice: in the command, and as its output. The output
reads like a command, or like a result of the tool. What a variable holds is not known, so a line
that a text with a variable may have printed is only perhaps its output.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Final

# A command stands first in its line, behind a prompt, or in the body of another command.
_PRINTING: Final = re.compile(
    r"(?P<before>^|[;{\[>%#\]])\s*(?P<command>(?:puts|echo|printf?)(?=[\s(])(?P<text>.*))$",
    re.IGNORECASE,
)
# A procedure of the script's author may print its text as well.
_WITH_TEXT: Final = re.compile(r'(?:^|[>%])\s*(?P<command>[A-Za-z_][\w:]*(?P<text>\s+"[^"]+"))$')
_LOOP: Final = re.compile(r"\b(?:foreach\w*|for|while|proc)\b")
_OPTIONS: Final = re.compile(r"^(?:\s*(?:-\w+|--|stdout|stderr)(?=\s))+")
_CHANNEL: Final = re.compile(r"^\s*(?:\$\S+|file\d+)\s+(?=[\"{])")
_REDIRECTED: Final = re.compile(r"\s>>?\s*[\w$./]\S*$")
_QUOTED: Final = re.compile(r"\"((?:[^\"\\]|\\.)*)(\"?)")
_VARIABLE: Final = re.compile(
    r"\\(?P<escape>.)|\$\{[^{}]*\}|\$[\w:]+(?:\([^()]*\))?|\[[^][]*\]|%[-+\d.]*[a-z]"
)
_FIELD: Final = re.compile(r"\{[^{}]*\}")
_TIME: Final = re.compile(r"^\[[^][]*\d\d:\d\d[^][]*\]\s?")
_UNKNOWN: Final = "\0"
_MOST_UNCERTAIN: Final = 200
_MOST_TEXTS: Final = 10_000


@dataclass(frozen=True)
class PrintingCommand:
    """A command that prints a text.

    Attributes:
        number: its line.
        command: the command as the log shows it.
        is_certain: whether it is clear that it prints the line.
    """

    number: int
    command: str
    is_certain: bool


@dataclass(frozen=True)
class _UncertainText:
    """A text with unknown parts, or one that may be printed again and again.

    Attributes:
        pieces: what stands between the unknown parts.
        goes_on: whether it may be printed more than once.
    """

    source: PrintingCommand
    pieces: tuple[str, ...]
    goes_on: bool

    def may_print(self, number: int, line: str) -> bool:
        """Return whether a line may be this text."""
        if not any(self.pieces):
            # Of a text that is a variable as a whole, nothing but its place tells.
            return number == self.source.number + 1
        first, *others = self.pieces
        if not others:
            return line == first
        if not line.startswith(first) or not line.endswith(others[-1]):
            return False
        position = len(first)
        for piece in others[:-1]:
            position = line.find(piece, position)
            if position < 0:
                return False
            position += len(piece)
        return position <= len(line) - len(others[-1])


class PrintedLines:
    """The texts that commands of a log print, until their output has been met."""

    def __init__(self) -> None:
        self._certain = defaultdict[str, list[PrintingCommand]](list)
        self._uncertain: list[_UncertainText] = []
        # The command and the texts of a text that goes on in the next line.
        self._open: tuple[PrintingCommand, list[str]] | None = None
        self._last: tuple[int, PrintingCommand | None] = (0, None)

    def __bool__(self) -> bool:
        return bool(self._certain or self._uncertain or self._open)

    def note(self, number: int, line: str) -> None:
        """Note what a command prints; any other line says nothing."""
        match = _PRINTING.search(line)
        is_print = match is not None
        match = match or _WITH_TEXT.search(line)
        if match is None:
            return
        text = match["text"].strip()
        is_certain = is_print and match["before"] != "#"
        text = _OPTIONS.sub("", f" {text}").strip()
        plain = _CHANNEL.sub("", text)
        if plain != text or _REDIRECTED.search(text):
            # The text goes into some file, which may be the log.
            is_certain = False
            text = _REDIRECTED.sub("", plain)
        source = PrintingCommand(number, match["command"].strip(), is_certain)
        goes_on = _LOOP.search(line[: match.start("command")]) is not None
        shown, is_open = _shown(text)
        if is_open:
            self._open = (source, [shown])
            return
        self._add(source, shown, goes_on=goes_on)

    def source_of(self, number: int, line: str) -> PrintingCommand | None:
        """Return the command whose output a line is, or perhaps is; each text is met once."""
        if self._last[0] == number:
            return self._last[1]
        plain = " ".join(_TIME.sub("", line).split())
        source = self._continued(line) or self._source(number, plain)
        self._last = (number, source)
        return source

    def _continued(self, line: str) -> PrintingCommand | None:
        """Return the command of which a line is one more line of its text."""
        if self._open is None:
            return None
        source, texts = self._open
        sign = '"' if texts[0].startswith('"') else "}"
        texts.append(line)
        if sign in line:
            self._open = None
            for text in texts:
                self._add(source, text.strip(' "{}'), goes_on=False)
        return source

    def _source(self, number: int, line: str) -> PrintingCommand | None:
        sources = self._certain.get(line)
        if sources:
            source = sources.pop(0)
            if not sources:
                del self._certain[line]
            return source
        for position, text in enumerate(self._uncertain):
            if text.may_print(number, line):
                if not text.goes_on:
                    del self._uncertain[position]
                return text.source
        return None

    def _add(self, source: PrintingCommand, shown: str, *, goes_on: bool) -> None:
        """Add the lines of a text."""
        for part in shown.split("\n"):
            pieces = tuple(" ".join(part.split()).split(_UNKNOWN))
            if pieces == ("",):
                continue
            if source.is_certain and len(pieces) == 1 and not goes_on:
                if len(self._certain) < _MOST_TEXTS:
                    self._certain[pieces[0]].append(source)
                continue
            unclear = replace(source, is_certain=False)
            self._uncertain.append(_UncertainText(unclear, pieces, goes_on))
            del self._uncertain[:-_MOST_UNCERTAIN]


def may_print(shape: str) -> bool:
    """Return whether a line may hold a command that prints a text."""
    return _PRINTING.search(shape) is not None or _WITH_TEXT.search(shape) is not None


def _shown(text: str) -> tuple[str, bool]:
    """Return what the argument of a printing command shows, and whether it goes on below.

    Unknown parts are one sign.
    """
    if text.startswith("("):
        inner = text[1:].strip().rstrip(")").strip()
        quoted = re.match(r"[A-Za-z]?(['\"])(.*)\1", inner)
        if quoted is None:
            return _UNKNOWN, False
        is_filled = not inner.startswith(quoted[1])
        shown = _FIELD.sub(_UNKNOWN, quoted[2]) if is_filled else quoted[2]
        return shown.replace("\\n", "\n"), False
    if text.startswith("{"):
        inner, is_closed = _braced(text)
        return (inner, False) if is_closed else (text, True)
    quoted = _QUOTED.match(text)
    if quoted is None:
        # Words without quotes end where the body or the command does.
        return _filled(re.split(r"[;}]", text)[0]), False
    if not quoted[2]:
        return _filled(text), True
    behind = text[quoted.end() :].strip()
    words = re.split(r"[;}\]]", behind)[0].replace('"', "")
    return _filled(f"{quoted[1]} {words}".strip(" ")), False


def _braced(text: str) -> tuple[str, bool]:
    """Return what stands between the first brace of a text and its counterpart."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if not depth:
            return text[1:position], True
    return text, False


def _filled(text: str) -> str:
    """Return a text with its escapes resolved, and one sign for each part that is not known."""

    def shown(match: re.Match[str]) -> str:
        escape = match["escape"]
        if escape is None:
            return _UNKNOWN
        return {"n": "\n", "t": " "}.get(escape, escape)

    return _VARIABLE.sub(shown, text)
