"""Canaries: tests under random names whose result is known beforehand, and tests that are made to
fail. They show whether a test run can be believed.

A run that reports a canary other than it must end says nothing about any other test: the runner
was changed, the report was rewritten, or the command does not run these tests at all.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from transom.formats.python_functions import python_insert
from transom.stories.reached_checks import TestFunction, note_checks
from transom.stories.testrun import TestRun

_JAVASCRIPT = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
_MAIN = re.compile(r"^if\s+__name__\s*==", re.MULTILINE)
_GO_PACKAGE = re.compile(r"^package\s+\w+", re.MULTILINE)
_GO_TEST = re.compile(r"\bfunc[ \w]{0,200}\(([A-Za-z]\w*) \*testing\.T\)[ \t]*\{")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class CanaryWords:
    """Random words of small letters, which are names in every language.

    The seed is recorded before the words are used, so that a resumed story knows its own canaries.
    """

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def next(self) -> str:
        """Return another word."""
        return "".join(self._random.choice(_LETTERS) for _ in range(12))


@dataclass(frozen=True)
class Canaries:
    """The canaries of one run.

    Attributes:
        passing, failing: names of the tests that must pass, and of those that must fail.
        secret: what the message of a failing one holds.
        files: path -> the text of a test file with its canaries.
    """

    passing: tuple[str, ...]
    failing: tuple[str, ...]
    secret: str
    files: Mapping[str, str] = field(default_factory=dict)

    def owns(self, case: str) -> bool:
        """Whether a case of the report is a canary."""
        return any(name in case for name in (*self.passing, *self.failing))


def add_canaries(tests: Mapping[str, str], words: CanaryWords) -> Canaries:
    """Add canaries to test files: path -> text. Files of unknown languages stay unchanged."""
    passing, failing = ((words.next(), words.next()) for _ in range(2))
    secret = words.next()
    files = {}
    packages = set[str]()
    for path, text in tests.items():
        # Two functions of one name in a package of Go do not compile.
        folder = path.rpartition("/")[0]
        if path.endswith(".go") and folder in packages:
            continue
        packages.add(folder)
        changed = _with_canaries(path, text, passing, failing, secret)
        if changed is not None:
            files[path] = changed
    return Canaries(passing, failing, secret, files)


def check_canaries(canaries: Canaries, run: TestRun) -> list[str]:
    """Return why a run with canaries cannot be believed."""
    if run.problem:
        return [f"with canaries, {run.problem}"]
    if run.only_code:
        failed = run.code != 0
        return [] if failed else ["the exit code is 0, although a canary failed"]
    results = {case: status for case, status in run.cases.items() if canaries.owns(case)}
    passing = {case: status for case, status in results.items() if _is_in(canaries.passing, case)}
    failing = {case: status for case, status in results.items() if _is_in(canaries.failing, case)}
    problems = []
    if wrong := [status for status in passing.values() if status != "passed"]:
        problems.append(f"a canary that passes was reported as {wrong[0]}")
    for case, status in failing.items():
        message = run.messages.get(case, "")
        if status not in ("failed", "error"):
            problems.append(f"a canary that fails was reported as {status}")
        elif message and len(message) > len(canaries.secret) and canaries.secret not in message:
            problems.append("the message of a canary that fails was replaced")
    # A wrong result says more of what is amiss than a missing one.
    if not passing or not failing:
        problems.append("canaries in the test files were not run, so its report proves nothing")
    if failing and run.code == 0:
        problems.append("the exit code is 0, although a canary failed")
    return list(dict.fromkeys(problems))


def without_canaries(canaries: Canaries, run: TestRun) -> TestRun:
    """Return the run without its canaries."""
    cases = {case: status for case, status in run.cases.items() if not canaries.owns(case)}
    return run.model_copy(update={"cases": cases})


def _is_in(names: Iterable[str], case: str) -> bool:
    return any(name in case for name in names)


def _with_canaries(
    path: str, text: str, passing: tuple[str, ...], failing: tuple[str, ...], secret: str
) -> str | None:
    suffix = PurePosixPath(path).suffix
    if suffix == ".py":
        return _in_python(text, passing, failing, secret)
    good, bad = passing[0], failing[0]
    if suffix in _JAVASCRIPT:
        word = "test" if re.search(r"\btest\s*\(", text) else "it"
        return (
            f"{text}\n;{word}('{good}', () => {{}});\n"
            f"{word}('{bad}', () => {{ throw new Error('{secret}'); }});\n"
        )
    if suffix == ".go":
        # A file of examples imports no `testing`; under another name it may be imported twice.
        head = _GO_PACKAGE.sub(rf'\g<0>; import {secret[::-1]} "testing"', text, count=1)
        return (
            f"{head}\nfunc Test_{good}(*{secret[::-1]}.T) {{}}\n"
            f'\nfunc Test_{bad}(t *{secret[::-1]}.T) {{ t.Fatal("{secret}") }}\n'
        )
    if suffix == ".rs":
        return (
            f"{text}\n#[cfg(test)]\nmod canaries_{secret[::-1]} {{\n"
            f"    #[test]\n    fn {good}() {{}}\n"
            f'    #[test]\n    fn {bad}() {{ panic!("{secret}"); }}\n}}\n'
        )
    return None


def _in_python(
    text: str, passing: tuple[str, ...], failing: tuple[str, ...], secret: str
) -> str | None:
    """Return a Python test file with canaries as methods, which each runner knows, and as plain
    functions, which pytest knows. They fail in the four ways in which tests fail.
    """
    (good, fine), (bad, wrong) = passing, failing
    canary = f"""
import unittest as _{wrong}


class Test_{secret[::-1]}(_{wrong}.TestCase):
    def test_{good}(self):
        self.assertEqual("{secret}", "{secret}")
        with self.assertRaises(ValueError):
            int("{secret}")

    def test_{bad}_1(self):
        self.assertEqual("{secret}", "")

    def test_{bad}_2(self):
        assert "{secret}" == ""[:1], "{secret}"

    def test_{bad}_3(self):
        with self.assertRaises(ValueError, msg="{secret}"):
            int("0")

    def test_{bad}_4(self):
        raise ValueError("{secret}")


def test_{fine}():
    assert "{secret}" == "".join("{secret}")


def test_{wrong}():
    assert "{secret}" == ""[:1], "{secret}"

"""
    if main := _MAIN.search(text):
        return f"{text[: main.start()]}{canary}\n{text[main.start() :]}"
    return f"{text}\n{canary}"


def with_recovery(tests: Mapping[str, str]) -> dict[str, str]:
    """Return path -> text of the Go test files whose tests fail alone if the code panics.

    A panic else ends all tests of a package, and nobody knows how the others would have ended.
    """
    files = {}
    for path, text in tests.items():
        guarded = _GO_TEST.sub(
            r"\g<0> defer func() { if why := recover(); why != nil { \g<1>.Fatal(why) } }();", text
        )
        if path.endswith(".go") and guarded != text:
            files[path] = guarded
    return files


def made_to_fail(
    path: str, text: str, secret: str, values: frozenset[str] = frozenset()
) -> tuple[str, tuple[str, ...]] | None:
    """Return a Python test file whose tests all fail at their end and tell which checks they
    reached, and the names of these tests; None for other files.

    The bodies run as before, under their own names: a runner that was told by name what to report
    reports these as passed.

    Args:
        values: see `note_checks`.
    """
    try:
        tree = ast.parse(text) if path.endswith(".py") else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if tree is None:
        return None
    names = []
    # Before they are changed: a test inside of another one keeps its own failure.
    tests = [node for node in ast.walk(tree) if isinstance(node, TestFunction)]
    store = f"checks_{secret}"
    for node in tests:
        if node.name.startswith("test"):
            failure = note_checks(node, store, secret, values)
            node.body = [ast.Try(body=node.body, handlers=[], orelse=[], finalbody=failure)]
            names.append(node.name)
    python_insert(tree, f"{store} = {{}}")
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n", tuple(names)
