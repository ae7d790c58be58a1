"""Formulas that a person writes into a study: arithmetic over named numbers, and comparisons; nothing else is run."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
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


@dataclass(frozen=True)
class Formula:
    """A checked formula: its text, and the names of the numbers that it needs."""

    text: str
    names: frozenset[str]
    tree: ast.expr

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
        for node in ast.walk(tree):
            match node:
                case ast.Name() | ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.Load():
                    continue
                case ast.Constant(value=int() | float()):
                    continue
                case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
                    continue
            if type(node) not in _OPERATORS:
                known = ", ".join(_FUNCTIONS)
                part = ast.unparse(node)
                raise ValueError(f"{part} may not stand in a formula; there are + - * / ** < <= > >= and {known}")
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        return Formula(text, frozenset(names - _FUNCTIONS.keys() - {"pi"}), tree)

    def __call__(self, values: Mapping[str, float | str]) -> float:
        """The value, nan where it is not defined (a division by 0); a comparison gives 1 or 0."""
        try:
            return float(_value(self.tree, values))
        except (ArithmeticError, ValueError, TypeError):
            return math.nan

    @property
    def compares(self) -> bool:
        return isinstance(self.tree, ast.Compare)


def _value(node: ast.expr, values: Mapping[str, float | str]) -> float:
    match node:
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]  # `parse` lets numbers pass only
        case ast.Name(id=name):
            return math.pi if name == "pi" else float(values[name])
        case ast.UnaryOp(op=op, operand=operand):
            return float(_OPERATORS[type(op)](_value(operand, values)))
        case ast.BinOp(left=left, op=op, right=right):
            one, other = _value(left, values), _value(right, values)
            if isinstance(op, ast.Pow) and abs(other) > _MAX_POWER:
                raise ValueError("the power is too high")
            return float(_OPERATORS[type(op)](one, other))  # a TypeError where the root of a negative number is taken
        case ast.Call(func=ast.Name(id=name), args=args):
            return float(_FUNCTIONS[name](*(_value(argument, values) for argument in args)))
        case ast.Compare(left=left, ops=ops, comparators=rest):
            sides = [_value(side, values) for side in (left, *rest)]
            return float(all(_OPERATORS[type(op)](a, b) for op, a, b in zip(ops, sides, sides[1:], strict=False)))
    raise ValueError(ast.dump(node))


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
