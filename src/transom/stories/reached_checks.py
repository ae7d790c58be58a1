"""The checks of a test that a run reaches, for tests in Python.

A check behind an early `return`, in a loop over nothing or in a branch that is never taken proves
nothing, although its test passes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping

from transom.stories.written_numbers import holds_value

TestFunction = ast.FunctionDef | ast.AsyncFunctionDef

_CHECK = re.compile(r"_?assert|raises$|warns$|expect|verify|check", re.IGNORECASE)
_OF_ERRORS = re.compile(r"raises|warns|assertRaises|assertWarns", re.IGNORECASE)
# A branch for another system or version is not taken here, and its checks are right there.
_PLACE = re.compile(r"platform|version|environ|\bos\.name\b|TYPE_CHECKING|find_spec", re.IGNORECASE)
# Other decorators may call a test with examples of their own, and end at the first failure.
_PLAIN_DECORATORS = ("pytest", "mock", "patch", "unittest", "staticmethod", "classmethod")


def note_checks(
    node: TestFunction, store: str, secret: str, values: Collection[str] = ()
) -> list[ast.stmt]:
    """Make a test note which of its checks it reaches; returns the statements of the failure that
    tells it.

    The message is `SECRET checks 4|7.9 ran 4`: of the lines 7 and 9 one must be reached, too.

    Args:
        store: the name of a dictionary of the module.
        secret: the beginning of the message.
        values: of the checks that hold one of these, one must be reached.
    """
    groups: list[set[int]] = []
    if all(_is_plain(decorator) for decorator in node.decorator_list):
        groups = _groups(node.body)
        groups += _groups_of_values(node, {line for group in groups for line in group}, values)
    wanted = "|".join(".".join(map(str, sorted(group))) for group in groups)
    lines = {line for group in groups for line in group}
    _Noting(lines, f"{store}.setdefault({node.lineno}, set()).add").change(node)
    ran = f"'.'.join(map(str, sorted({store}.get({node.lineno}, ()))))"
    # In pieces: a trace that shows this line must not be taken for the message.
    words = f"('{secret}', 'checks', '{wanted}', 'ran', {ran})"
    return ast.parse(f"raise AssertionError(' '.join({words}))").body


def unreached_checks(messages: Mapping[str, str], secret: str) -> dict[str, int]:
    """Return test -> the line of a check that it does not reach.

    Args:
        messages: test -> what the failures of `note_checks` say. All rows of a table are one test.
    """
    wanted: dict[str, str] = {}
    reached: dict[str, set[str]] = {}
    for case, message in messages.items():
        match = re.search(rf"{secret} checks ([\d.|]*) ran ?([\d.]*)", message)
        if match is not None:
            name = case.partition("[")[0]
            wanted[name] = match[1]
            reached.setdefault(name, set()).update(match[2].split("."))
    unreached: dict[str, int] = {}
    for case in messages:
        name = case.partition("[")[0]
        for group in filter(None, wanted.get(name, "").split("|")):
            lines = group.split(".")
            if not reached[name] & {*lines}:
                unreached.setdefault(case, int(lines[0]))
    return unreached


def _is_plain(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).partition("(")[0].partition(".")[0] in _PLAIN_DECORATORS


def _groups(body: list[ast.stmt]) -> list[set[int]]:
    """Return the lines of checks, of which each set needs one that is reached."""
    groups: list[set[int]] = []
    for node in body:
        if _is_check(node):
            groups.append({node.lineno})
        # What follows an expected error in its block is never reached.
        if _is_check(node) or isinstance(node, TestFunction | ast.ClassDef):
            continue
        inner: list[set[int]] = []
        for block in _blocks(node):
            inner += _groups(block)
        is_branch = isinstance(node, ast.If | ast.Match | ast.Try)
        if is_branch and inner:
            # One branch of several is enough.
            inner = [set[int]().union(*inner)]
        if isinstance(node, ast.If) and _PLACE.search(ast.unparse(node.test)):
            inner = []
        groups += inner
    return groups


def _groups_of_values(
    node: TestFunction, lines: set[int], values: Collection[str]
) -> list[set[int]]:
    """Return, for each value, the lines of the checks that hold it."""
    checks: dict[int, str] = {}
    for part in ast.walk(node):
        if isinstance(part, ast.stmt) and part.lineno in lines and _is_check(part):
            checks[part.lineno] = ast.unparse(part)
    groups = []
    for value in sorted(values):
        group = {line for line, text in checks.items() if holds_value(text, value)}
        if group:
            groups.append(group)
    return groups


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, [])
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _is_check(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)
    if isinstance(node, ast.With | ast.AsyncWith):
        return any(_OF_ERRORS.search(_called(item.context_expr)) for item in node.items)
    return isinstance(node, ast.Expr) and bool(_CHECK.match(_called(node.value)))


def _called(node: ast.expr) -> str:
    """Return the name of the function that an expression calls, or ""."""
    if isinstance(node, ast.Await):
        node = node.value
    if not isinstance(node, ast.Call):
        return ""
    return ast.unparse(node.func).rpartition(".")[2]


class _Noting(ast.NodeTransformer):
    """Adds a note before each check."""

    def __init__(self, lines: set[int], note: str) -> None:
        self._lines = lines
        self._note = note

    def change(self, node: TestFunction) -> None:
        """Change the body of a function."""
        self.generic_visit(node)

    def visit(self, node: ast.AST) -> object:
        """Return a statement, or a note and the statement."""
        if isinstance(node, TestFunction | ast.ClassDef):
            return node
        self.generic_visit(node)
        if not isinstance(node, ast.stmt) or not _is_check(node) or node.lineno not in self._lines:
            return node
        return [*ast.parse(f"{self._note}({node.lineno})").body, node]
