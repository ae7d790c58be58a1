"""Draw the picture of the README: what a terminal shows after one command.

    python -m scripts.draw_pictures            run the command and write the picture
    python -m scripts.draw_pictures --check    exit with 1 if the command prints something else

The command runs on a pseudo-terminal, so that it prints colours. Lines after the evidence differ
from run to run (ids, digests, versions), so the picture ends before them.
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

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "check.svg"
COMMAND = "transom check all examples/checks/VER-02.yaml --var CHECKLIST_ROOT=examples/checks/data"

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
_CODE = re.compile(r"\x1b\[(\d*)m")


def terminal_output() -> str:
    """Return what the command prints on a terminal, up to the list of inputs."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "examples").symlink_to(ROOT / "examples")
        parent, child = pty.openpty()
        environment = {**os.environ, "COLUMNS": str(_COLUMNS), "TERM": "xterm"}
        environment.pop("NO_COLOR", None)
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
        with subprocess.Popen(
            COMMAND.split(), cwd=folder, env=environment, stdout=child, stderr=subprocess.DEVNULL
        ):
            os.close(child)
            chunks = []
            # Linux reports the end of a terminal as an error.
            while chunk := _read(parent):
                chunks.append(chunk)
        os.close(parent)
    text = b"".join(chunks).decode().replace("\r\n", "\n")
    return re.split(r"\n\n(?:\x1b\[\d*m)*Inputs ", text)[0]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def draw(output: str) -> str:
    """Return the picture of a command and its output as SVG."""
    lines = [f"\x1b[2m$\x1b[0m {COMMAND}", *output.split("\n")]
    width = int(_COLUMNS * _CHARACTER_WIDTH) + 2 * _MARGIN
    height = len(lines) * _LINE_HEIGHT + 2 * _MARGIN
    rows = []
    for number, line in enumerate(lines):
        top = _MARGIN + (number + 1) * _LINE_HEIGHT - 5
        rows.append(f'  <text x="{_MARGIN}" y="{top}" xml:space="preserve">{_spans(line)}</text>')
    body = "\n".join(rows)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
  aria-label="A terminal: transom check all prints a verdict with the lines that decided it">
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
    """Write the picture, or only compare it; return the exit code."""
    parser = argparse.ArgumentParser(prog="draw_pictures")
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args(arguments).check
    picture = draw(terminal_output())
    if not check:
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(picture, encoding="utf-8")
        return 0
    if PICTURE.read_text(encoding="utf-8") == picture:
        return 0
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)} is out of date; run: make generated\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
