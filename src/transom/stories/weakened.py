"""Tests that were weakened or removed: what a test checked before, held against what it checks now."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

_TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|spec|__tests__)/|(?:^|/)(?:test_[^/]+|[^/]+_test|[^/]+[._-](?:test|spec))\.\w+$", re.I
)
_CHECKS = re.compile(r"\b(?:assert\w*|expect|should|require|verify)\b\s*[.(!]|\bassert\b", re.IGNORECASE)
_CASES = re.compile(r"^\s*(?:it|test|describe|func Test\w*|#\[test\]|@Test)\b", re.MULTILINE)
_SKIPS = re.compile(r"\b(?:skip\w*|xfail|xit|xtest|xdescribe|@Ignore\w*|@Disabled|t\.Skip\w*|\.only)\b")


@dataclass
class _Facts:
    """What one Python test checks."""

    checks: Counter[str] = field(default_factory=Counter)
    skipped: bool = False


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
    now: dict[str, _Facts] = {}
    for path, text in after.items():
        if path.endswith(".py") and text is not None:
            for name, facts in (_python(text) or {}).items():
                now.setdefault(name.rpartition(".")[2], facts)  # a test may move to another file or class
    found: list[tuple[str, str]] = []
    for path, old in before.items():
        text = after.get(path)
        known = _python(old) if path.endswith(".py") else None
        if known is None:
            found += [(path, what) for what in _by_lines(old, text)]
            continue
        mine = _python(text) if text is not None else {}
        if mine is None:
            found.append((path, "cannot be parsed any more"))
            continue
        for name, facts in known.items():
            held = mine.get(name) or now.get(name.rpartition(".")[2])
            if what := _less(facts, held, free=path in may_change):
                found.append((path, f"{name} {what}"))
    return found


def _less(old: _Facts, new: _Facts | None, *, free: bool) -> str:
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
    for what, pattern in (("checks", _CHECKS), ("cases", _CASES)):
        had, has = len(pattern.findall(old)), len(pattern.findall(new))
        if has < had:
            found.append(f"has {has} {what}, and had {had}")
    if len(_SKIPS.findall(new)) > len(_SKIPS.findall(old)):
        found.append("skips more than it did")
    return found


def _python(text: str) -> dict[str, _Facts] | None:
    """Test name, with its class -> what it checks; None where the text is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    skipped = any(_is_skip(one.value) for one in tree.body if isinstance(one, ast.Assign | ast.Expr))
    found: dict[str, _Facts] = {}
    _gather(tree.body, "", skipped, found)
    return found


def _gather(body: list[ast.stmt], prefix: str, skipped: bool, found: dict[str, _Facts]) -> None:
    for node in body:
        if isinstance(node, ast.ClassDef):
            _gather(node.body, f"{prefix}{node.name}.", skipped or any(map(_is_skip, node.decorator_list)), found)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            facts = found.setdefault(f"{prefix}{node.name}", _Facts())
            facts.skipped = skipped or any(map(_is_skip, node.decorator_list))
            _read(node.body, facts)


def _read(body: list[ast.stmt], facts: _Facts) -> None:
    """The checks that are reached: none behind a return, under `if False`, or whose failure is caught."""
    for node in body:
        if isinstance(node, ast.Return | ast.Raise):
            return
        if isinstance(node, ast.Expr) and _is_skip(node.value):
            facts.skipped = True
        if isinstance(node, ast.Assert) and not _constant(node.test):
            facts.checks[ast.unparse(node.test)] += 1
        elif isinstance(node, ast.With | ast.AsyncWith):
            facts.checks.update(ast.unparse(one.context_expr) for one in node.items if _is_check(one.context_expr))
        elif isinstance(node, ast.Expr) and _is_check(node.value):
            facts.checks[ast.unparse(node.value)] += 1
        caught = isinstance(node, ast.Try) and bool(node.handlers)
        dead = isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and not node.test.value
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(node, name, None)
            nested = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            if inner and not nested and not (name == "body" and (caught or dead)):
                _read(inner, facts)


def _is_check(node: ast.expr) -> bool:
    inner = node.value if isinstance(node, ast.Await) else node
    if not isinstance(inner, ast.Call) or (inner.args and all(map(_constant, inner.args))):
        return False
    name = inner.func.attr if isinstance(inner.func, ast.Attribute) else getattr(inner.func, "id", "")
    return name.startswith("assert") or name in ("raises", "warns", "fail")


def _is_skip(node: ast.expr) -> bool:
    text = ast.unparse(node)
    return bool(re.match(r"(?:@?[\w.]*\.)?(?:skip\w*|xfail\w*|importorskip|expectedFailure)\b", text))


def _constant(node: ast.expr) -> bool:
    """Whether it is the same whatever the program does."""
    return not any(isinstance(one, ast.Name | ast.Attribute | ast.Call | ast.Await) for one in ast.walk(node))
