"""Draw the pictures of README and pages: what a terminal shows after one command.

    python -m scripts.draw_pictures            run the commands and write the pictures
    python -m scripts.draw_pictures --check    exit with 1 if a command prints something else

A command runs on a pseudo-terminal, so that it prints colours. Lines after the evidence of a check
differ from run to run (ids, digests, versions), so that picture ends before them.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"


class Picture(NamedTuple):
    """A picture of a terminal.

    Attributes:
        name: of its file.
        command: what is typed.
        label: what it shows, for people who do not see it.
        folder: where the command runs, from the repository; "" for a folder with the examples.
        end: pattern before which the output is cut; "" for all of it.
        typed: lines that a person types at the prompts of the command; Ctrl-D follows them.
    """

    name: str
    command: str
    label: str
    folder: str = ""
    end: str = ""
    typed: tuple[str, ...] = ()


CHECK = Picture(
    "check.svg",
    "transom check all examples/checks/VER-02.yaml --var CHECKLIST_ROOT=examples/checks/data",
    "A terminal: transom check all prints a verdict with the lines that decided it",
    end=r"\n\n(?:\x1b\[\d*m)*Inputs ",
)
AGENT = Picture(
    "agent.svg",
    "transom agent show shop:clerk",
    "A terminal: transom agent show prints an agent with its tools and its sub-agent",
    folder="examples/agents",
)
CHAT = Picture(
    "chat.svg",
    "transom chat --agent shop:clerk",
    "A terminal: transom chat shows a question, the call of a tool, its result, and the answer",
    folder="examples/agents",
    typed=("How many bolts?", "And how many nuts?"),
)
PICTURES = (CHECK, AGENT, CHAT)

_COLUMNS = 110
_LINE_HEIGHT = 18
_CHARACTER_WIDTH = 8.0
_MARGIN = 16
# Colours of the codes that Transom prints, readable on the dark background.
_CLASSES = {"1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow"}
_STYLE = """\
    text { font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #e4e8ed; }
    .bold { font-weight: 600; } .dim { fill: #9ba6b3; }
    .red { fill: #ff8078; } .green { fill: #57c278; } .yellow { fill: #e0ae4a; }"""
_PROMPT = b"> "
# The editor of lines asks the terminal to mark what is pasted.
_LINE_EDITING = re.compile(r"\x1b\[\?\d+[hl]\r?")
_CODE = re.compile(r"\x1b\[(\d*)m")


def terminal_output(picture: Picture = CHECK) -> str:
    """Return what the command of a picture prints on a terminal, as far as it is shown."""
    with tempfile.TemporaryDirectory() as empty:
        folder = ROOT / picture.folder if picture.folder else Path(empty)
        if not picture.folder:
            Path(folder, "examples").symlink_to(ROOT / "examples")
        parent, child = pty.openpty()
        environment = {**os.environ, "COLUMNS": str(_COLUMNS), "TERM": "xterm"}
        environment.pop("NO_COLOR", None)
        # Runs of a command are nothing for the repository.
        environment["TRANSOM_WORKSPACE"] = str(Path(empty, ".transom"))
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
        with subprocess.Popen(
            picture.command.split(),
            cwd=folder,
            env=environment,
            stdin=child if picture.typed else subprocess.DEVNULL,
            stdout=child,
            stderr=subprocess.DEVNULL,
        ):
            os.close(child)
            chunks = []
            keys = [f"{line}\n" for line in picture.typed]
            if keys:
                keys.append("\x04")
            # Linux reports the end of a terminal as an error.
            while chunk := _read(parent):
                chunks.append(chunk)
                # What is typed before the prompt would be shown twice.
                if keys and b"".join(chunks).endswith(_PROMPT):
                    os.write(parent, keys.pop(0).encode())
        os.close(parent)
    text = _LINE_EDITING.sub("", b"".join(chunks).decode()).replace("\r\n", "\n")
    if picture.typed:
        text = text.removesuffix("\n").removesuffix(_PROMPT.decode())
    if picture.end:
        text = re.split(picture.end, text)[0]
    return text.rstrip("\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def draw(output: str, picture: Picture = CHECK) -> str:
    """Return the picture of a command and its output as SVG."""
    lines = [f"\x1b[2m$\x1b[0m {picture.command}", *output.split("\n")]
    width = int(_COLUMNS * _CHARACTER_WIDTH) + 2 * _MARGIN
    height = len(lines) * _LINE_HEIGHT + 2 * _MARGIN
    rows = []
    for number, line in enumerate(lines):
        top = _MARGIN + (number + 1) * _LINE_HEIGHT - 5
        rows.append(f'  <text x="{_MARGIN}" y="{top}" xml:space="preserve">{_spans(line)}</text>')
    body = "\n".join(rows)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
  aria-label="{picture.label}">
  <style>
{_STYLE}
  </style>
  <rect width="{width}" height="{height}" rx="6" fill="#101419"/>
{body}
</svg>
"""


def _spans(line: str) -> str:
    """Return a line with colour codes as spans."""
    spans = []
    style = ""
    for index, part in enumerate(_CODE.split(line)):
        # The pattern has one group, so every second part is a code.
        if index % 2:
            style = _CLASSES.get(part, "")
        elif part and style:
            spans.append(f'<tspan class="{style}">{escape(part)}</tspan>')
        else:
            spans.append(escape(part))
    return "".join(spans)


def main(arguments: list[str] | None = None) -> int:
    """Write the pictures, or only compare them; return the exit code."""
    parser = argparse.ArgumentParser(prog="draw_pictures")
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args(arguments).check
    code = 0
    for picture in PICTURES:
        path, drawing = IMAGES / picture.name, draw(terminal_output(picture), picture)
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(drawing, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != drawing:
            sys.stdout.write(f"{path.relative_to(ROOT)} is out of date; run: make generated\n")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
