"""The functions of a source file: which of them changed, and the same file with their bodies
replaced.

Python is read by its own parser. JavaScript, TypeScript, Go and Rust are read by their braces:
strings and comments are blanked, then a function is a head and the braces after it. A lambda with a
name and an arrow function without braces are first written as a function with a body.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Literal, cast, get_args

from transom.formats.brace_functions import (
    BraceLanguage,
    SourceFunction,
    brace_functions,
    brace_pairs,
    braces_of,
    plain_text,
    with_blocks,
)
from transom.formats.brace_results import further_files, other_results
from transom.formats.other_values import ResultKind
from transom.formats.python_functions import python_bodies, python_definitions, python_results
from transom.formats.typed_values import go_return, rust_return

BodyKind = Literal["raise", "empty", "zero", "other"] | ResultKind
"""The new body of a function: it fails; it does nothing and returns an inert value; it does nothing
and returns the zero value of its type, or another one; or it works, and its result becomes another
one. Functions of Python have no zero value, and those of Rust always return the other results.
"""
_RESULT_KINDS = get_args(ResultKind)


_TYPED = {".go": go_return, ".rs": rust_return}
"""Suffix -> the function that writes a body which returns a value of the function's type."""


_RUST_TESTS = re.compile(
    r"#\[cfg\(test\)\]\s*+(?:pub\s++)?mod\s++\w++\s*+\{"
    r"|#\[(?:\w+::)?test\b[^\]]{0,200}+\]"
    r"(?>(?:(?!\bfn\b|#\[(?:\w+::)?test\b)[^{};]){0,300})\bfn\b[^{};]{0,500}+\{"
)


def can_replace(path: str) -> bool:
    """Whether the functions of files with this name can be replaced."""
    return path.endswith(".py") or braces_of(path) is not None


def changed_functions(path: str, old: str | None, new: str) -> tuple[SourceFunction, ...]:
    """Return the innermost functions that a change touches; none if the file cannot be read.

    Args:
        old: the text before, None for a new file.
    """
    changed = changed_lines(old, new)
    functions = functions_of(path, new)
    touched: dict[SourceFunction, list[int]] = {}
    for line in changed:
        around = [
            candidate
            for candidate in functions
            if candidate.first_line <= line <= candidate.last_line
        ]
        if around:
            inner = max(around, key=lambda function: (function.first_line, -function.last_line))
            touched.setdefault(inner, []).append(line)
    return tuple(
        SourceFunction(function.name, function.first_line, function.last_line, tuple(lines))
        for function, lines in touched.items()
    )


def files_beside(path: str, text: str, kind: BodyKind, mark: str) -> dict[str, str]:
    """Return the files that a file with new bodies needs beside it: path -> text."""
    if kind not in _RESULT_KINDS:
        return {}
    return further_files(path, text, cast(ResultKind, kind), mark)


def changed_lines(old: str | None, new: str) -> tuple[int, ...]:
    """Return the 1-based lines of the new text that a change added or replaced, or that follow a
    removed line. Blank lines do not count.
    """
    after = new.splitlines()
    before = [] if old is None else old.splitlines()
    numbers: dict[int, None] = {}
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, _, _, start, stop in matcher.get_opcodes():
        if tag == "equal":
            continue
        # of removed lines only their place is left
        lines = range(start + 1, stop + 1) if stop > start else (min(start + 1, len(after)),)
        for number in lines:
            if 0 < number <= len(after) and after[number - 1].strip():
                numbers[number] = None
    return tuple(numbers)


def with_bodies(
    path: str, text: str, functions: Sequence[SourceFunction], kind: BodyKind, mark: str
) -> str | None:
    """Return the text with new bodies for some functions; None if the language has none.

    Args:
        functions: functions of this text, from `changed_functions`.
        mark: a random word. A body that raises says `MARK PATH:LINES NAME`.
    """
    messages = {
        function.first_line: f"{mark} {path}:{function.line_range} {function.name}"
        for function in functions
    }
    if path.endswith(".py"):
        if kind in _RESULT_KINDS:
            return python_results(text, messages, cast(ResultKind, kind), mark)
        return python_bodies(text, messages, kind, mark) if kind in ("raise", "empty") else None
    text = with_blocks(path, text)
    if kind in _RESULT_KINDS:
        return other_results(path, text, messages, cast(ResultKind, kind), mark)
    language = braces_of(path)
    typed = _TYPED.get(PurePosixPath(path).suffix) if kind in ("zero", "other") else None
    if language is None:
        return None
    statements = {
        "raise": language.raising,
        "empty": language.empty,
        "zero": language.zero,
        "other": language.other,
    }
    statement = statements.get(kind, "")
    if not (statement or typed):
        return None
    pieces, end = [], 0
    for function, opening, head in brace_functions(language, text):
        if message := messages.get(function.first_line):
            body = statement
            if typed is not None:
                # A function whose type has no value fails, so that no test passes with it.
                body = typed(head, mark, is_other=kind == "other") or language.raising
            pieces += [text[end : opening + 1], " ", body.replace("{}", message), " "]
            end = opening + 1
    return "".join([*pieces, text[end:]])


def functions_of(path: str, text: str) -> list[SourceFunction]:
    """Return the functions of a source file; none if it cannot be read."""
    if path.endswith(".py"):
        return [SourceFunction(*row) for row in python_definitions(text)]
    language = braces_of(path)
    if language is None:
        return []
    functions = [row[0] for row in brace_functions(language, with_blocks(path, text))]
    if not path.endswith(".rs"):
        return functions
    # Unit tests of Rust lie in the file that they test.
    tests = _rust_tests(language, text)
    return [
        function
        for function in functions
        if not any(function.first_line in lines for lines in tests)
    ]


def has_rust_tests(path: str, text: str) -> bool:
    """Whether a source file of Rust holds its own unit tests."""
    return path.endswith(".rs") and "#[test]" in text


def rust_test_lines(path: str, text: str) -> set[int]:
    """Return the lines of a source file that hold unit tests of Rust."""
    language = braces_of(path)
    if language is None or not has_rust_tests(path, text):
        return set()
    return {line for lines in _rust_tests(language, text) for line in lines}


def without_rust_tests(path: str, text: str) -> str:
    """Return a source file without the unit tests of Rust in it."""
    tests = rust_test_lines(path, text)
    if not tests:
        return text
    lines = enumerate(text.splitlines(), 1)
    return "\n".join(line for number, line in lines if number not in tests)


def _rust_tests(language: BraceLanguage, text: str) -> list[range]:
    """Return the lines of test modules, and of functions that are tests."""
    plain = plain_text(language, text)
    closing = dict(brace_pairs(plain))
    tests = []
    for match in _RUST_TESTS.finditer(plain):
        first = plain.count("\n", 0, match.start()) + 1
        end = closing.get(match.end() - 1, len(plain))
        tests.append(range(first, plain.count("\n", 0, end) + 2))
    return tests
