"""Formulas that a person writes into a study: arithmetic over named numbers, and comparisons; nothing else is run."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "abs": abs,
    "min": min,
    "max": max,
}
_NUMBERS = {"pi": math.pi}
_PLACEHOLDER = re.compile(r"\{\{\s*([^{}:]+?)\s*(?::([^{}]*))?\}\}")
_MAX_POWER = 64


@dataclass(frozen=True)
class Formula:
    """A checked formula.

    Attributes:
        text: as written.
        names: the numbers that it needs.
        tree: its parsed body.
    """

    text: str
    names: frozenset[str]
    tree: ast.expr

    @staticmethod
    def parse(text: str) -> Formula:
        """Read a formula such as `2*hole + 3` or `2*hole < width`.

        Raises:
            ValueError: it is none, with what may be written.
        """
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"{text!r} is no formula; write e.g. 2*radius <= width") from error
        names: set[str] = set()
        _check(tree, names, text)
        return Formula(text, frozenset(names), tree)

    def __call__(self, values: Mapping[str, float | str]) -> float:
        """The value, nan where it is not defined (a division by 0); a comparison gives 1 or 0."""
        try:
            return float(_value(self.tree, values))
        except (ArithmeticError, ValueError, TypeError):
            return math.nan

    @property
    def compares(self) -> bool:
        return isinstance(self.tree, ast.Compare)

    def violation(self, values: Mapping[str, float | str]) -> float:
        """How far a comparison is from holding: at most 0 where it holds, in the unit of its sides."""
        assert isinstance(self.tree, ast.Compare)
        try:
            sides = [float(_value(side, values)) for side in (self.tree.left, *self.tree.comparators)]
        except (ArithmeticError, ValueError, TypeError):
            return math.inf
        pairs = zip(self.tree.ops, sides, sides[1:], strict=False)
        worst = max(left - right if isinstance(op, ast.Lt | ast.LtE) else right - left for op, left, right in pairs)
        strict = any(isinstance(op, ast.Lt | ast.Gt) for op in self.tree.ops)
        return math.nextafter(0, 1) if worst == 0 and strict else worst if not math.isnan(worst) else math.inf


def _check(node: ast.AST, names: set[str], text: str) -> None:
    if isinstance(node, ast.Name):
        if node.id not in _NUMBERS:
            names.add(node.id)
        return
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        parts: list[ast.expr] = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        parts = [node.operand]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
    elif isinstance(node, ast.Compare) and all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops):
        parts = [node.left, *node.comparators]
    else:
        part = ast.get_source_segment(text.strip(), node) if isinstance(node, ast.expr) else None
        known = ", ".join(_FUNCTIONS)
        raise ValueError(f"{part or text!r} may not stand in a formula; there are + - * / ** < <= > >= and {known}")
    for part_ in parts:
        _check(part_, names, text)


def _value(node: ast.expr, values: Mapping[str, float | str]) -> float:
    match node:
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]  # `_check` let numbers pass only
        case ast.Name(id=name):
            return _NUMBERS[name] if name in _NUMBERS else float(values[name])
        case ast.UnaryOp(op=op, operand=operand):
            value = _value(operand, values)
            return -value if isinstance(op, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right):
            one, other = _value(left, values), _value(right, values)
            if isinstance(op, ast.Pow) and abs(other) > _MAX_POWER:
                raise ValueError("the power is too high")
            result = _BINARY[type(op)](one, other)
            if isinstance(result, complex):
                raise ValueError("the result is no real number")
            return result
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name](*(_value(argument, values) for argument in args))
        case ast.Compare(left=left, ops=ops, comparators=rest):
            sides = [_value(side, values) for side in (left, *rest)]
            tests = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
            return float(all(tests[type(op)](a, b) for op, a, b in zip(ops, sides, sides[1:], strict=False)))
    raise ValueError(ast.dump(node))


def fill(text: str, values: Mapping[str, float | int | str]) -> str:
    """Fill the `{{name}}`, `{{2*radius}}` and `{{width:8.3f}}` of a template.

    Raises:
        ValueError: a name that is not there, or a formula or format that cannot be used.
    """

    def one(match: re.Match[str]) -> str:
        inner, form = match[1], match[2]
        value: float | int | str
        if inner in values:
            value = values[inner]
        else:
            formula = Formula.parse(inner)
            if missing := sorted(formula.names - values.keys()):
                raise ValueError(f"{match[0]}: there is no {missing[0]}; there are {', '.join(sorted(values))}")
            value = formula(values)
        try:
            return format(value, form.strip()) if form else repr(value) if isinstance(value, float) else str(value)
        except ValueError as error:
            raise ValueError(f"{match[0]}: {error}") from error

    return _PLACEHOLDER.sub(one, text)


def placeholders(text: str) -> frozenset[str]:
    """The names that a template needs.

    Raises:
        ValueError: a placeholder holds no formula.
    """
    inner = (match[1] for match in _PLACEHOLDER.finditer(text))
    return frozenset(name for text in inner for name in Formula.parse(text).names)
