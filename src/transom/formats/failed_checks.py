"""How a test failed: by a check of its own, or by an error of the code that it ran.

The text of a failure is all that a runner reports of it: its type, message and trace. Runners of
Python, JavaScript, Go and Rust are known; a text of another form counts as a failed check.
"""

from __future__ import annotations

import re

from transom.formats.test_files import is_test_file

_ERROR_NAME = r"[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Iteration|Failed|Failure|Warning)"
_CHECK_NAME = re.compile(r"Assert|Failed$|Failure$|Expect|Comparison", re.IGNORECASE)
# Pytest's last line: `app.py:3: KeyError`.
_PYTEST_END = re.compile(r"^([^\s:]{1,300}\.py):\d+: ([A-Za-z_]\w*)$", re.MULTILINE)
_PYTEST_LINE = re.compile(r"^>[ \t]+(raise|assert)\b", re.MULTILINE)
_PYTHON_FRAME = re.compile(r"^[ ]{0,8}File \"([^\"\n]{1,300})\", line \d+", re.MULTILINE)
_JAVASCRIPT_FRAME = re.compile(
    r"^[ \t]*(?:at )?(?:async )?(?:[^\s(][^(\n]{0,200}\()?(?:file://)?"
    r"(/[^\s():]{1,300}):\d+:\d+\)?",
    re.MULTILINE,
)
# What Node writes in JUnit and in TAP, and what others write at the beginning of a line.
_NODE_NAME = re.compile(r"^[ \t]*(?:cause: \[?|name: ')([A-Z]\w*)", re.MULTILINE)
_NAME = re.compile(rf"^(?:\w+\.){{0,9}}({_ERROR_NAME}|Error)\b(?: \[\w+\])?(?::|$)", re.MULTILINE)
_JEST = re.compile(r"\bexpect(?:\.\w+)?\(")
_GO_PANIC = re.compile(r"^[ \t]*panic: ", re.MULTILINE)
# Panics of the language and of its library; those of a check say what the check says.
_RUST_ERROR = re.compile(
    r"panicked at (?:[^\n]{0,200}:\n|')(?:called `(?:Result|Option)::|index out of bounds"
    r"|attempt to "
    r"|byte index|range |slice index|already (?:mutably )?borrowed|not implemented|not yet)"
)
_RUST_RETURNED = re.compile(r"^Error: ", re.MULTILINE)
_RUST_PLACE = re.compile(r"panicked at (?:'[^\n]{0,300}', )?([^\s:]{1,200}\.rs):(\d+)")
_HELPER = re.compile(r"test|spec|conftest|helper|support|fixture|site-packages|node_modules", re.I)


def is_failed_check(text: str) -> bool:
    """Return whether a check of the test failed, and not the code that it ran."""
    if _GO_PANIC.search(text) and "goroutine " in text:
        return False
    if "panicked at " in text:
        return not _RUST_ERROR.search(text)
    if ends := _PYTEST_END.findall(text):
        path, name = ends[-1]
        lines = _PYTEST_LINE.findall(text)
        is_check = bool(_CHECK_NAME.search(name)) or lines[-1:] == ["raise"]
        return is_check and _is_of_tests(path)
    name = _error_name(text)
    if not name:
        return not _RUST_RETURNED.search(text)
    frames = _PYTHON_FRAME.findall(text) or _JAVASCRIPT_FRAME.findall(text)[:1]
    in_tests = not frames or _is_of_tests(frames[-1])
    # A plain error of JavaScript is a check if the test itself throws it.
    if name == "Error":
        return bool(_JEST.search(text)) or (bool(frames) and in_tests)
    return bool(_CHECK_NAME.search(name)) and in_tests


def rust_place(text: str) -> tuple[str, int] | None:
    """Return path and line of a panic of Rust; None if the text has none."""
    match = _RUST_PLACE.search(text)
    return (match[1], int(match[2])) if match else None


def _error_name(text: str) -> str:
    match = _NODE_NAME.search(text) or _NAME.search(text)
    return match[1] if match else ""


def _is_of_tests(path: str) -> bool:
    """Return whether a line of a trace lies in a test, its helpers or a library."""
    return is_test_file(path) or bool(_HELPER.search(path))
