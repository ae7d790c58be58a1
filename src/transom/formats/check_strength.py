"""How much the checks of a Python test say: their strength, and the difference that they allow.

A check is the text that `test_files.read_checks` returns, e.g. `total([]) == 0`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

EXACT, LIMIT, SOME, NOTHING = 3, 2, 1, 0
"""Exact: one value, one kind of error. Limit: a range, a member, a near value. Some: it is there,
of a type, true, or not one value. Nothing: it always holds."""

_EXACT_CALLS = re.compile(
    r"(?<!\w)_*assert(?:_?equals?|Is|Count_?Equal|Raises\w*|Warns\w*|\w*Equal|_array_equal|_called\w*_with"
    r"|_frame_equal|_series_equal)$|raises$|warns$",
    re.IGNORECASE,
)
_NEAR_CALLS = re.compile(
    r"almost|close|approx|Greater|Less|Regex|(?<!Not)In$|Logs|called", re.IGNORECASE
)
_TOLERANCES = ("rel", "abs", "tol", "rtol", "atol", "rel_tol", "abs_tol", "delta")
_ANY_ERROR = {"Exception", "BaseException"}
_PLACES = 7  # of assertAlmostEqual
_APPROX = 1e-6  # of pytest.approx


def strength(check: str) -> int:
    """Return how much a check says: EXACT, LIMIT, SOME or NOTHING."""
    try:
        node = ast.parse(check, mode="eval").body
    except SyntaxError:
        return SOME
    return _of_call(node) if isinstance(node, ast.Call) else _of_value(node)


def is_weaker(old: Iterable[str], new: Iterable[str]) -> bool:
    """Whether checks say less than before, the strongest compared with the strongest."""
    before = sorted(map(strength, old), reverse=True)
    after = sorted(map(strength, new), reverse=True)
    # A check that is gone says less, however strong the others are.
    if len(after) < len(before):
        return True
    pairs = zip(before, after, strict=False)
    return any(old_strength > new_strength for old_strength, new_strength in pairs)


def tolerance(checks: Iterable[str]) -> float:
    """Return the largest difference that checks allow; 0 where all are exact."""
    largest = 0.0
    for check in checks:
        try:
            tree = ast.parse(check, mode="eval").body
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            largest = max(largest, _allowed(node))
    return largest


def _of_value(node: ast.expr) -> int:
    """Return the strength of an asserted value."""
    if isinstance(node, ast.BoolOp):
        strengths = [_of_value(value) for value in node.values]
        if isinstance(node.op, ast.And):
            return max(strengths)
        # `a or b` holds if the weaker one does, and says less than that.
        return max(min(strengths) - 1, NOTHING)
    # `assert True`, or a text: it always holds.
    if isinstance(node, ast.Constant):
        return NOTHING
    if isinstance(node, ast.Compare):
        # `total == total` holds whatever the total is.
        if ast.dump(node.left) == ast.dump(node.comparators[0]):
            return NOTHING
        operator, other = node.ops[0], node.comparators[0]
        if isinstance(operator, ast.Eq):
            return EXACT
        if isinstance(operator, ast.Is):
            return EXACT
        if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE | ast.In):
            return LIMIT
        return EXACT if isinstance(other, ast.Constant) and other.value is False else SOME
    return SOME


def _of_call(node: ast.Call) -> int:
    """Return the strength of a call that checks, such as assertEqual or raises."""
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    first = node.args[0] if node.args else None
    if name in ("assertTrue", "assertFalse", "assert_") and first is not None:
        return max(_of_value(first), SOME) if not isinstance(first, ast.Constant) else NOTHING
    if _NEAR_CALLS.search(name):
        return LIMIT
    if _EXACT_CALLS.search(name) and "Not" not in name:
        names = [inner for inner in ast.walk(first or node) if isinstance(inner, ast.Name)]
        # `pytest.raises(Exception)` is met by any error, a typing mistake included.
        kinds = {inner.id for inner in names}
        if re.search("raises|warns", name, re.IGNORECASE) and _ANY_ERROR.intersection(kinds):
            return SOME
        return EXACT
    return SOME


def _allowed(node: ast.AST) -> float:
    """Return the difference that one expression allows."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt | ast.LtE):
        difference, limit = node.left, node.comparators[0]
        if isinstance(difference, ast.Call) and ast.unparse(difference.func) in (
            "abs",
            "math.fabs",
            "np.abs",
        ):
            return _number(limit) or 0.0
    if not isinstance(node, ast.Call):
        return 0.0
    name = ast.unparse(node.func).rpartition(".")[2]
    options: Mapping[str, ast.expr] = {word.arg: word.value for word in node.keywords if word.arg}
    stated = [value for key in _TOLERANCES if (value := _number(options.get(key)))]
    if stated:
        return max(stated)
    if name == "approx":
        tolerances: list[float] = []
        for argument in node.args[1:]:
            if value := _number(argument):
                tolerances.append(value)
        return max(tolerances, default=_APPROX)
    if name == "assertAlmostEqual":
        places = options.get("places") or (node.args[2] if len(node.args) > 2 else None)
        return 10.0 ** -(_PLACES if places is None else _number(places))
    return 0.0


def _number(node: ast.expr | None) -> float:
    """Return the number that an expression is, or 0."""
    try:
        return float(ast.literal_eval(node)) if node is not None else 0.0
    except (ValueError, TypeError, SyntaxError):
        return 0.0
