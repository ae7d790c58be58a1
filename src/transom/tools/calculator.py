"""A calculator: derived numbers come from here, with their formula, and not from a model."""

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
    part, total = values
    return 100 * part / total


def _round(values: Sequence[Decimal]) -> Decimal:
    digits = int(values[1]) if len(values) > 1 else 0
    return round(values[0], max(0, min(digits, 12)))


# A model may call these and nothing else: no attribute, no name of Python's.
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
    """Return the value of an arithmetic expression.

    Args:
        expression: e.g. `100 * E3 / E4`, `sum(E1, E2)`, `percent(3, 5)`.
        names: the numbers of its names.

    Raises:
        ToolRefused: it is not arithmetic, is too long, divides by zero, or has an unknown name.
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
    # A syntax tree of deep brackets exhausts the parser's stack or its memory.
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
            return _FUNCTIONS[name]([_value(argument, value_of) for argument in node.args])
        case ast.Name(id=name):
            operand = value_of(name)
            if operand is None:
                raise ToolRefused(
                    f"{name} is no number that is known", hint="name evidence that has a number"
                )
            return operand
    raise ValueError("no arithmetic")


def names_in(expression: str) -> list[str]:
    """Return the names of an expression, each once, in the order in which they are written."""
    nodes = list(ast.walk(ast.parse(expression.strip(), mode="eval")))
    # The name of a function is no operand.
    function_ids = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    operands = []
    for node in nodes:
        if isinstance(node, ast.Name) and id(node) not in function_ids:
            operands.append(node)
    # `ast.walk` goes level by level.
    operands.sort(key=lambda node: (node.lineno, node.col_offset))
    return list(dict.fromkeys([node.id for node in operands]))


def calculator(
    value_of: Callable[[str], Decimal | None], record: Callable[[str, Decimal], str]
) -> ToolDefinition:
    """Return a tool that calculates.

    Args:
        value_of: returns the number of a name such as `E3`.
        record: keeps expression and value, and returns their id; it is called again for a call
            that comes from the journal.
    """

    def handler(arguments: Arguments) -> ToolReturn:
        expression = str(arguments["expression"])
        value = calculate(expression, value_of)
        content: dict[str, Json] = {"id": record(expression, value)}
        # Without an exponent, which a model would copy into its answer.
        content["value"] = f"{value.normalize():f}"
        return ToolReturn(content, note=expression)

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
