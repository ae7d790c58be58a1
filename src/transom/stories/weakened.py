"""Tests that were weakened or removed: what a test checked before, held against what it checks now."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

_TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|spec|__tests__)/|(?:^|/)(?:test_[^/]+|[^/]+_test|[^/]+[._-](?:test|spec))\.\w+$", re.I
)
_CHECKS = re.compile(r"\b(?:assert\w*|expect|should|require|verify)\b\s*[.(!]|\bassert\b", re.IGNORECASE)
_CASES = re.compile(r"^\s*(?:it|test|describe|func Test\w*|#\[test\]|@Test)\b", re.MULTILINE)
_SKIPS = re.compile(r"\b(?:skip\w*|xfail|xit|xtest|xdescribe|@Ignore\w*|@Disabled|t\.Skip\w*|\.only)\b")


class _Test(NamedTuple):
    """What one Python test checks."""

    checks: Counter[str]
    skipped: bool


def is_test_file(path: str) -> bool:
    """Whether a path is one of tests by its name."""
    return bool(_TEST_FILE.search(path)) and PurePosixPath(path).suffix not in (".md", ".txt")


def weakened(
    before: Mapping[str, str], after: Mapping[str, str | None], may_change: frozenset[str]
) -> list[tuple[str, str]]:
    """`(path, what is wrong)` for tests that check less than they did.

    Args:
        before: path -> text of the test files that changed, as they were.
        after: path -> text now, None where it is gone; files that are new included.
        may_change: files whose checks the story says may change; fewer checks are wrong there, too.
    """
    parsed = {path: _python(text or "") for path, text in after.items() if path.endswith(".py")}
    moved = {name.rpartition(".")[2]: test for tests in parsed.values() for name, test in (tests or {}).items()}
    found: list[tuple[str, str]] = []
    for path, old in before.items():
        known = _python(old) if path.endswith(".py") else None
        if known is None:
            found += [(path, what) for what in _by_lines(old, after[path])]
        elif (mine := parsed[path]) is None:
            found.append((path, "cannot be parsed any more"))
        else:
            for name, test in known.items():  # a test may move to another file or class
                new = mine.get(name) or moved.get(name.rpartition(".")[2])
                if what := _less(test, new, free=path in may_change):
                    found.append((path, f"{name} {what}"))
    return found


def _less(old: _Test, new: _Test | None, *, free: bool) -> str:
    if new is None:
        return "is gone"
    if new.skipped and not old.skipped:
        return "is skipped now"
    if new.checks.total() < old.checks.total():
        return f"makes {new.checks.total()} checks, and made {old.checks.total()}"
    lost = old.checks - new.checks
    return f"no longer checks: {next(iter(lost))[:120]}" if lost and not free else ""


def _by_lines(old: str, new: str | None) -> list[str]:
    """For languages that are not parsed here: counts of checks, cases and skips."""
    if new is None:
        return ["is gone"]
    found = []
    for what, form, sign in (("checks", _CHECKS, 1), ("cases", _CASES, 1), ("skips", _SKIPS, -1)):
        had, has = len(form.findall(old)), len(form.findall(new))
        if (had - has) * sign > 0:
            found.append(f"has {has} {what}, and had {had}")
    return found


def _python(text: str) -> dict[str, _Test] | None:
    """Test name, with its class -> what it checks; None where the text is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    skipped = any(_is_skip(one.value) for one in tree.body if isinstance(one, ast.Assign | ast.Expr))
    return _tests(tree.body, "", skipped=skipped)


def _tests(body: Sequence[ast.stmt], prefix: str, *, skipped: bool) -> dict[str, _Test]:
    found: dict[str, _Test] = {}
    for node in body:
        if isinstance(node, ast.ClassDef):
            found |= _tests(
                node.body, f"{prefix}{node.name}.", skipped=skipped or any(map(_is_skip, node.decorator_list))
            )
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            reached = [*_reached(node.body)]
            skips = [*node.decorator_list, *(one.value for one in reached if isinstance(one, ast.Expr))]
            checks = Counter(check for one in reached for check in _checks(one))
            found[f"{prefix}{node.name}"] = _Test(checks, skipped or any(map(_is_skip, skips)))
    return found


def _reached(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements that count: none behind a return, under `if False`, or whose failure is caught."""
    found: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.Return | ast.Raise):
            break
        found.append(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        caught = isinstance(node, ast.Try) and node.handlers
        dead = isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and not node.test.value
        for name in ("orelse", "finalbody") if caught or dead else ("body", "orelse", "finalbody"):
            found += _reached(getattr(node, name, ()))
    return found


def _checks(node: ast.stmt) -> list[str]:
    """What a statement checks."""
    if isinstance(node, ast.Assert):
        return [] if _constant(node.test) else [ast.unparse(node.test)]
    asked = [one.context_expr for one in node.items] if isinstance(node, ast.With | ast.AsyncWith) else []
    asked += [node.value] if isinstance(node, ast.Expr) else []
    return [ast.unparse(one) for one in asked if _is_check(one)]


def _is_check(node: ast.expr) -> bool:
    inner = node.value if isinstance(node, ast.Await) else node
    if not isinstance(inner, ast.Call) or (inner.args and all(map(_constant, inner.args))):
        return False
    name = inner.func.attr if isinstance(inner.func, ast.Attribute) else getattr(inner.func, "id", "")
    return name.startswith("assert") or name in ("raises", "warns", "fail")


def _is_skip(node: ast.expr) -> bool:
    return bool(re.match(r"(?:@?[\w.]*\.)?(?:skip\w*|xfail\w*|importorskip|expectedFailure)\b", ast.unparse(node)))


def _constant(node: ast.expr) -> bool:
    """Whether it is the same whatever the program does."""
    return not any(isinstance(one, ast.Name | ast.Attribute | ast.Call | ast.Await) for one in ast.walk(node))
