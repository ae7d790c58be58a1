"""Text of unknown origin is opened by `formats/text_files.py` alone, and decoded by
`formats/text_decoding.py` alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repository.tracked import ROOT

SOURCE = ROOT / "src" / "transom"
OPENERS = {"formats/text_files.py", "formats/text_decoding.py"}
NOT_FILES_OF_USERS = {
    "cli/mcp_server.py": "decodes the output of Transom's own commands",
    "errors/installing.py": "reads what pip keeps of an installed package",
    "canonical.py": "repairs a text in memory",
    "sandbox/commands.py": "decodes a command's output",
    "sandbox/levels.py": "decodes a command's output",
    "sandbox/openly.py": "decodes a command's output",
    "sandbox/worker.py": "decodes a worker's output",
    "server/door.py": "decodes a header",
    "stories/git.py": "decodes the output of git",
    "store/damage.py": "decodes what SQLite says of a database",
    "store/network.py": "reads the kernel's list of mount points",
    "workers/hands.py": "decodes the output of Transom's own commands",
    "telemetry/encoded.py": "decodes a value in memory",
    "telemetry/read.py": "reads trace files that Transom wrote",
    "runs/workspace.py": "reads lock files that Transom wrote",
    "runs/checkpoints.py": "reads artifacts that Transom wrote",
}
READING = {"decode", "open", "read_text", "TextIOWrapper"}
STRICT = {"utf-8", "utf8", "utf-8-sig", "ascii", "strict", "surrogatepass"}
WRITING_MODES = {"w", "wb", "a", "ab", "x", "xb", "r+", "rb+", "r+b", "ab+"}
COMPRESSION = {"gzip", "bz2", "lzma"}


def guesses_of(code: str) -> Iterator[int]:
    """Yield the lines that read text in another way than as strict UTF-8, or decompress it."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            if COMPRESSION & {name.name for name in node.names}:
                yield node.lineno
        elif isinstance(node, ast.ImportFrom):
            if node.module in COMPRESSION:
                yield node.lineno
        elif isinstance(node, ast.Call) and _name(node.func) in READING:
            words = [word.value for word in node.keywords if word.arg in ("encoding", "errors")]
            # The positional arguments of open() are names and modes.
            arguments = words if _name(node.func) == "open" else [*node.args, *words]
            options = {one.value for one in arguments if isinstance(one, ast.Constant)}
            writes = _name(node.func) == "open" and _is_writing(node)
            if options - STRICT and not writes:
                yield node.lineno


def _is_writing(call: ast.Call) -> bool:
    modes = {one.value for one in call.args if isinstance(one, ast.Constant)}
    return bool(modes & WRITING_MODES)


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


@pytest.mark.parametrize(
    ("code", "is_guess"),
    [
        ("import gzip", True),
        ("from lzma import open", True),
        ("data.decode('utf-8', 'replace')", True),
        ("data.decode(errors='ignore')", True),
        ("data.decode('latin-1')", True),
        ("path.read_text(encoding='utf-8', errors='replace')", True),
        ("path.open('r', encoding='cp1252')", True),
        ("path.open(errors='surrogateescape')", True),
        ("path.read_text('utf-8')", False),
        ("data.decode()", False),
        ("path.open('rb')", False),
        ("path.open('w', encoding='utf-8', errors='backslashreplace')", False),
    ],
)
def test_a_guess_is_noticed(code: str, *, is_guess: bool) -> None:
    assert bool(list(guesses_of(code))) == is_guess


def test_two_modules_open_and_decode_text_of_unknown_origin() -> None:
    modules = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    guessing = {name for name, path in modules.items() if list(guesses_of(_code(path)))}
    assert guessing >= OPENERS
    assert sorted(guessing - OPENERS - NOT_FILES_OF_USERS.keys()) == []
    assert sorted(NOT_FILES_OF_USERS.keys() - guessing) == [], "remove these from the list"


def _code(path: Path) -> str:
    return path.read_text("utf-8")
