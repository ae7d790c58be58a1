"""Formulas that a person writes into a study: arithmetic over named numbers, and comparisons; nothing else is run."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: lambda base, exponent: _power(base, exponent),
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS = {name: getattr(math, name) for name in ("sqrt", "exp", "log", "sin", "cos", "tan")}
_FUNCTIONS |= {"abs": abs, "min": min, "max": max}
_PLACEHOLDER = re.compile(r"\{\{\s*([^{}:]+?)\s*(?::([^{}]*))?\}\}")
_MAX_POWER = 64

_Values: TypeAlias = Mapping[str, float | int | str]
_Compute: TypeAlias = Callable[[_Values], float]


@dataclass(frozen=True)
class Formula:
    """A checked formula: its text, the names of the numbers that it needs, and whether it compares."""

    text: str
    names: frozenset[str]
    compares: bool
    compute: _Compute

    @staticmethod
    @lru_cache(maxsize=1000)
    def parse(text: str) -> Formula:
        """Read a formula such as `2*hole + 3` or `2*hole < width`.

        Raises:
            ValueError: it is none, with what may be written.
        """
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"{text!r} is no formula; write e.g. 2*radius <= width") from error
        compute, nodes = _built(tree), ast.walk(tree)
        names = {node.id for node in nodes if isinstance(node, ast.Name)} - _FUNCTIONS.keys() - {"pi"}
        return Formula(text, frozenset(names), isinstance(tree, ast.Compare), compute)

    def __call__(self, values: _Values) -> float:
        """The value, nan where it is not defined (a division by 0); a comparison gives 1 or 0."""
        try:
            return float(self.compute(values))  # a TypeError where the root of a negative number is taken
        except (ArithmeticError, ValueError, TypeError):
            return math.nan


def _built(node: ast.expr) -> _Compute:
    """What a formula's part computes; whatever else Python could do is refused."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return lambda _: float(number)
        case ast.Name(id=name):
            return lambda values: math.pi if name == "pi" else float(values[name])
        case ast.UnaryOp(op=op, operand=operand) if sign := _OPERATORS.get(type(op)):
            inner = _built(operand)
            return lambda values: sign(inner(values))
        case ast.BinOp(left=left, op=op, right=right) if operation := _OPERATORS.get(type(op)):
            one, other = _built(left), _built(right)
            return lambda values: operation(one(values), other(values))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if function := _FUNCTIONS.get(name):
            given = [_built(one) for one in args]
            return lambda values: function(*(one(values) for one in given))
        case ast.Compare(left=left, ops=ops, comparators=rest) if all(type(op) in _OPERATORS for op in ops):
            sides, signs = [_built(side) for side in (left, *rest)], [_OPERATORS[type(op)] for op in ops]

            def compare(values: _Values) -> float:
                numbers = [side(values) for side in sides]
                return float(all(sign(a, b) for sign, a, b in zip(signs, numbers, numbers[1:], strict=False)))

            return compare
    known = ", ".join(_FUNCTIONS)
    raise ValueError(f"{ast.unparse(node)} may not stand in a formula; there are + - * / ** < <= > >= and {known}")


def _power(base: float, exponent: float) -> float:
    if abs(exponent) > _MAX_POWER:
        raise ValueError("the power is too high")
    return float(base**exponent)


def fill(text: str, values: Mapping[str, float | int | str]) -> str:
    """Fill the `{{name}}`, `{{2*radius}}` and `{{width:8.3f}}` of a template.

    Raises:
        ValueError: a name that is not there, or a formula or format that cannot be used.
    """

    def one(match: re.Match[str]) -> str:
        inner, form = match[1], match[2]
        value = values.get(inner)
        if value is None:
            formula = Formula.parse(inner)
            if missing := sorted(formula.names - values.keys()):
                raise ValueError(f"{match[0]}: there is no {missing[0]}; there are {', '.join(sorted(values))}")
            value = formula(values)
        try:
            return format(value, form.strip()) if form else repr(value) if isinstance(value, float) else str(value)
        except ValueError as error:
            raise ValueError(f"{match[0]}: {error}") from error

    return _PLACEHOLDER.sub(one, text)
