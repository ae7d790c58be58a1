"""Formulas of a study: arithmetic over named numbers, and comparisons; other code is refused."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import TypeAlias

_FUNCTIONS = {name: getattr(math, name) for name in ("sqrt", "exp", "log", "sin", "cos", "tan")}
_FUNCTIONS |= {"abs": abs, "min": min, "max": max}
_KNOWN = {**_FUNCTIONS, "pi": math.pi}
_SYNTAX = (
    ast.Expression,
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.UnaryOp,
    ast.USub,
    ast.UAdd,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.Pow,
    ast.Compare,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.Call,
)
_PLACEHOLDER = re.compile(r"\{\{([^{}:]+)(?::([^{}]*))?\}\}")

_Values: TypeAlias = Mapping[str, float | int | str]


@dataclass(frozen=True)
class Formula:
    """A checked formula: its text, the names of the numbers that it needs, and whether it
    compares.
    """

    text: str
    names: frozenset[str]
    compares: bool
    code: CodeType

    @staticmethod
    @lru_cache(maxsize=1000)
    def parse(text: str) -> Formula:
        """Read a formula such as `2*hole + 3` or `2*hole < width`.

        Raises:
            ValueError: the text is not a formula; says what is allowed.
        """
        try:
            tree = ast.parse(text.strip(), mode="eval")
            _check(tree)
            code = compile(tree, "formula", "eval")
        except (SyntaxError, OverflowError, RecursionError, MemoryError) as error:
            raise ValueError(f"{text!r} is not a formula; write e.g. 2*radius <= width") from error
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - _KNOWN.keys()
        return Formula(text, frozenset(names), isinstance(tree.body, ast.Compare), code)

    def __call__(self, values: _Values) -> float:
        """Return the value, nan if it is undefined (a division by 0); a comparison gives 1 or 0."""
        try:
            # Only the names that occur: a choice elsewhere in the study may be a word.
            numbers = {name: float(values[name]) for name in self.names}
            # `_check` allows only arithmetic
            return float(eval(self.code, {"__builtins__": {}, **_KNOWN}, numbers))
        # a TypeError for the root of a negative number
        except (ArithmeticError, ValueError, TypeError):
            return math.nan


@lru_cache(maxsize=1000)
def shortfalls(text: str) -> tuple[Formula, ...]:
    """Return for each comparison of a formula by how much it is missed: above 0 if it is."""
    body = ast.parse(text.strip(), mode="eval").body
    if not isinstance(body, ast.Compare):
        return ()
    formulas = []
    left = body.left
    for operator, right in zip(body.ops, body.comparators, strict=True):
        smaller, larger = ast.unparse(left), ast.unparse(right)
        if isinstance(operator, ast.Gt | ast.GtE):
            smaller, larger = larger, smaller
        formulas.append(Formula.parse(f"({smaller}) - ({larger})"))
        left = right
    return tuple(formulas)


def _check(tree: ast.Expression) -> None:
    """Refuse everything but arithmetic; numbers become floats, so that no power becomes huge."""
    for node in ast.walk(tree):
        fine = isinstance(node, _SYNTAX)
        if isinstance(node, ast.Call):
            fine = (
                isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and not node.keywords
            )
        elif isinstance(node, ast.Constant):
            fine = isinstance(node.value, int | float) and not isinstance(node.value, bool)
            # `9**9**9` of integers would fill the memory; of floats it overflows.
            if fine and isinstance(node.value, int):
                node.value = float(node.value)
        if not fine:
            problem, functions = ast.unparse(node) or ast.unparse(tree), ", ".join(_FUNCTIONS)
            raise ValueError(
                f"{problem} is not allowed in a formula; use + - * / ** < <= > >= and {functions}"
            )


def fill(text: str, values: _Values) -> str:
    """Fill the `{{name}}`, `{{2*radius}}` and `{{width:8.3f}}` of a template.

    Raises:
        ValueError: a name is unknown, or a formula or format is invalid.
    """

    def substitute(match: re.Match[str]) -> str:
        inner, form = match[1].strip(), match[2]
        value = values.get(inner)
        # It is no plain name, so it is a formula.
        if value is None:
            formula = Formula.parse(inner)
            if missing := sorted(formula.names - values.keys()):
                raise ValueError(
                    f"{match[0]}: unknown name {missing[0]}; known: {', '.join(sorted(values))}"
                )
            value = formula(values)
        try:
            return (
                format(value, form.strip())
                if form
                else repr(value)
                if isinstance(value, float)
                else str(value)
            )
        except ValueError as error:
            raise ValueError(f"{match[0]}: {error}") from error

    return _PLACEHOLDER.sub(substitute, text)
