"""A calculator: numbers that are derived come from here, with their formula, and not from a
model.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Context, Decimal, DecimalException
from typing import Final

from transom.canonical import Json
from transom.errors import ToolRefused
from transom.tools.definition import Arguments, ToolDefinition, ToolReturn

MOST_SIGNS: Final = 500
_EXACT: Final = Context(prec=28)
_HINT: Final = "use numbers, names, + - * / ( ) and sum, min, max, mean, count, round, percent, abs"
_OPERATORS: Final[dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def _percent(values: Sequence[Decimal]) -> Decimal:
    part, whole = values
    return 100 * part / whole


def _round(values: Sequence[Decimal]) -> Decimal:
    value, digits = (values[0], int(values[1])) if len(values) > 1 else (values[0], 0)
    return round(value, max(0, min(digits, 12)))


_FUNCTIONS: Final[dict[str, Callable[[Sequence[Decimal]], Decimal]]] = {
    "sum": lambda values: sum(values, Decimal(0)),
    "min": min,
    "max": max,
    "mean": lambda values: sum(values, Decimal(0)) / len(values),
    "count": lambda values: Decimal(len(values)),
    "abs": lambda values: abs(values[0]),
    "percent": _percent,
    "round": _round,
}


def calculate(
    expression: str, names: Mapping[str, Decimal] | Callable[[str], Decimal | None]
) -> Decimal:
    """The value of an arithmetic expression.

    Args:
        expression: e.g. `100 * E3 / E4`, `sum(E1, E2)`, `percent(3, 5)`.
        names: what its names stand for.

    Raises:
        ToolRefused: it is none, too long, divides by zero, or names what is not there.
    """
    if len(expression) > MOST_SIGNS:
        raise ToolRefused(
            f"the expression has more than {MOST_SIGNS} signs", hint="calculate it in parts"
        )
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        value = _EXACT.plus(_value(tree.body, names if callable(names) else names.get))
        if not value.is_finite():
            raise ValueError("no number")
        return value
    except (SyntaxError, ValueError, TypeError, IndexError, RecursionError, MemoryError) as error:
        raise ToolRefused(f"{expression!r} cannot be calculated", hint=_HINT) from error
    except (DecimalException, ZeroDivisionError, OverflowError) as error:
        raise ToolRefused(
            f"{expression!r} has no value: {type(error).__name__}", hint="divide by no zero"
        ) from error


def _value(node: ast.expr, value_of: Callable[[str], Decimal | None]) -> Decimal:
    match node:
        case ast.Constant(value=bool()):
            raise ValueError("no number")
        case ast.Constant(value=int() | float() as number):
            return Decimal(repr(number))
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, value_of)
        case ast.BinOp() if type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](
                _value(node.left, value_of), _value(node.right, value_of)
            )
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name]([_value(one, value_of) for one in node.args])
        case ast.Name(id=name):
            found = value_of(name)
            if found is None:
                raise ToolRefused(
                    f"{name} is no number that is known", hint="name evidence that has a number"
                )
            return found
    raise ValueError("no arithmetic")


def names_in(expression: str) -> list[str]:
    """The names of an expression, each once, in order."""
    tree = ast.parse(expression.strip(), mode="eval")
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = [
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called
    ]
    return list(dict.fromkeys(found))


def calculator(
    value_of: Callable[[str], Decimal | None], record: Callable[[str, Decimal], str]
) -> ToolDefinition:
    """A tool that calculates.

    Args:
        value_of: the number behind a name such as `E3`.
        record: keeps expression and value under an id; called again when the call comes from the
            journal.
    """

    def handler(arguments: Arguments) -> ToolReturn:
        expression = str(arguments["expression"])
        value = calculate(expression, value_of)
        return ToolReturn(
            {"id": record(expression, value), "value": f"{value.normalize():f}"}, note=expression
        )

    def recall(note: object) -> None:
        with suppress(ToolRefused):
            record(str(note), calculate(str(note), value_of))

    description = (
        "Calculates, e.g. `percent(E3, E4)`, and gives the result an id that can be cited like"
        " evidence."
    )
    text: dict[str, Json] = {"type": "string", "description": _HINT}
    parameters: dict[str, Json] = {
        "type": "object",
        "properties": {"expression": text},
        "required": ["expression"],
    }
    return ToolDefinition(
        "calculate", description, parameters, handler, effect="pure", recall=recall, trust="ours"
    )
