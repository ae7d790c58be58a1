"""Test files: recognises their paths, and extracts what each test checks, as far as the text
shows it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

_TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|spec|__tests__)/|(?:^|/)(?:test_[^/]+|[^/]+_test|[^/]+[._-](?:test|spec))\.\w+$",
    re.I,
)
_CHECKS = re.compile(
    r"\b(?:assert\w*|expect|should|require|verify)\b\s*[.(!]|\bassert\b"
    r"|\b[tb]\.(?:Error|Fatal|Fail)\w*\(",  # of Go
    re.IGNORECASE,
)
_CASES = re.compile(r"^\s*(?:it|test|describe|func Test\w*|#\[test\]|@Test)\b", re.MULTILINE)
_EXACT = re.compile(
    r"\.(?:toBe|toEqual|toStrictEqual|toThrow\w*)\((?=.)|assert\.(?:\w*[eE]qual|throws|rejects)\("
    r"|\bassert_eq!|\b(?:assert|require)\.Equal\w*\("
)
_SKIPS = re.compile(
    r"\b(?:skip\w*|xfail|xit|xtest|xdescribe|@Ignore\w*|@Disabled|t\.Skip\w*|\.only)\b"
)


def is_test_file(path: str) -> bool:
    """Whether a path has the name of a test file."""
    return bool(_TEST_FILE.search(path)) and PurePosixPath(path).suffix not in (".md", ".txt")


def read_checks(path: str, text: str) -> dict[str, Counter[str]] | None:
    """Return test name, with its class -> its checks; none for a skipped test. None: the file is
    not Python.
    """
    try:
        body = ast.parse(text).body if path.endswith(".py") else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return None if body is None else _tests(body, "", skipped=any(map(_is_skip, body)))


def fewer_by_lines(old: str, new: str | None) -> list[str]:
    """Return messages on lost checks and cases and on new skips, counted by text, for other
    languages.
    """
    if new is None:
        return ["is gone"]
    losses = []
    forms = (
        ("checks", _CHECKS, 1),
        ("exact checks", _EXACT, 1),
        ("cases", _CASES, 1),
        ("skips", _SKIPS, -1),
    )
    for noun, form, sign in forms:
        had, has = len(form.findall(old)), len(form.findall(new))
        # More skips are a loss, and more of the others are none.
        if (had - has) * sign > 0:
            losses.append(f"has {has} {noun}, and had {had}")
    return losses


def shadowed_tests(path: str, text: str) -> list[str]:
    """Return the Python tests that a later definition or assignment of the same scope hides."""
    try:
        body = ast.parse(text).body if path.endswith(".py") else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    hidden: list[str] = []
    scopes = [("", body)]
    while scopes:
        prefix, statements = scopes.pop()
        names: set[str] = set()
        for node in statements:
            if isinstance(node, ast.ClassDef):
                scopes.append((f"{prefix}{node.name}.", node.body))
            hidden += [f"{prefix}{name}" for name in _bound(node) if name in names]
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                is_test = node.name.lower().startswith("test")
                names |= {node.name} if is_test and not _is_variant(node) else set()
    return hidden


def _bound(node: ast.stmt) -> list[str]:
    """Return the names that a statement binds or deletes in its scope."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [] if _is_variant(node) else [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.Delete | ast.For):
        return [
            inner.id
            for inner in ast.walk(node)
            if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load)
        ]
    return []


def _is_variant(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a decorator may register a definition, so that a later one does not hide it."""
    names = [ast.unparse(decorator) for decorator in node.decorator_list]
    return any(
        re.search(r"\.(?:register|setter|getter|deleter)\b|overload", name) for name in names
    )


def _tests(body: Sequence[ast.stmt], prefix: str, *, skipped: bool) -> dict[str, Counter[str]]:
    checks: dict[str, Counter[str]] = {}
    for node in body:
        marked = skipped or any(map(_is_skip, getattr(node, "decorator_list", ())))
        if isinstance(node, ast.ClassDef):
            checks |= _tests(node.body, f"{prefix}{node.name}.", skipped=marked)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
            "test"
        ):
            reached = _reached(node.body)
            name = f"{prefix}{node.name}"
            checks[name] = Counter()
            # A test that is skipped checks nothing.
            expressions = [item for item in reached if isinstance(item, ast.Expr)]
            if not marked and not any(map(_is_skip, expressions)):
                for statement in reached:
                    checks[name].update(_checks(statement))
    return checks


def _reached(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the statements that count: not behind a return, under `if False`, or with their
    failure caught.
    """
    statements: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.Return | ast.Raise):
            break
        statements.append(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        caught = isinstance(node, ast.Try) and node.handlers
        dead = (
            isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and not node.test.value
        )
        for name in ("orelse", "finalbody") if caught or dead else ("body", "orelse", "finalbody"):
            statements += _reached(getattr(node, name, ()))
    return statements


def _checks(node: ast.stmt) -> list[str]:
    """Return the checks of a statement."""
    if isinstance(node, ast.Assert):
        return [] if _constant(node.test) else [ast.unparse(node.test)]
    expressions: list[ast.expr] = []
    if isinstance(node, ast.With | ast.AsyncWith):
        expressions += [item.context_expr for item in node.items]
    if isinstance(node, ast.Expr):
        expressions.append(node.value)
    return [ast.unparse(expression) for expression in expressions if _is_check(expression)]


def _is_check(node: ast.expr) -> bool:
    inner = node.value if isinstance(node, ast.Await) else node
    if not isinstance(inner, ast.Call) or (inner.args and all(map(_constant, inner.args))):
        return False
    name = (
        inner.func.attr if isinstance(inner.func, ast.Attribute) else getattr(inner.func, "id", "")
    )
    return name.startswith("assert") or name in ("raises", "warns", "fail")


def _is_skip(node: ast.stmt | ast.expr) -> bool:
    """Whether a statement is a mark or a call that skips, or an assignment of such a mark."""
    value = node.value if isinstance(node, ast.Expr | ast.Assign) else node
    if not isinstance(value, ast.expr):
        return False
    return bool(
        re.match(
            r"(?:[\w.]*\.)?(?:skip\w*|xfail\w*|importorskip|expectedFailure)\b", ast.unparse(value)
        )
    )


def _constant(node: ast.expr) -> bool:
    """Whether an expression is constant."""
    variable = ast.Name | ast.Attribute | ast.Call | ast.Await
    return not any(isinstance(inner, variable) for inner in ast.walk(node))
