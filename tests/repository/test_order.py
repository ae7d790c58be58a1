"""The order of a set of texts differs from process to process: nothing that is shown, kept or
asked may follow it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repository.tracked import ROOT

ORDERLESS = {"sorted", "set", "frozenset", "any", "all", "sum", "min", "max", "len"}
"""What becomes the same whatever the order is."""


def is_set(node: ast.expr) -> bool:
    """Whether an expression makes a set, as far as its form tells."""
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.BinOp(left, ast.BitAnd() | ast.BitOr() | ast.Sub() | ast.BitXor(), right):
            return any(
                is_set(side) or ast.unparse(side).endswith(".keys()") for side in (left, right)
            )
        case ast.Call(ast.Name("set" | "frozenset")):
            return True
        case ast.Call(ast.Attribute(attr="intersection" | "union" | "difference")):
            return True
    return False


def walked(tree: ast.Module) -> Iterator[ast.expr]:
    """Every set whose order decides something."""
    orderless = {
        id(argument)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ORDERLESS
        for argument in node.args
    }
    for node in ast.walk(tree):
        over: list[ast.expr] = []
        if isinstance(node, ast.For):
            over = [node.iter]
        elif (
            isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp)
            and id(node) not in orderless
        ):
            over = [part.iter for part in node.generators]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in (
            "list",
            "tuple",
            "join",
        ):
            over = node.args[:1]
        yield from (one for one in over if is_set(one))


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("for x in a.keys() & b.keys(): pass", 1),
        ("[x for x in {1, 2}]", 1),
        ("', '.join(set(names))", 1),
        ("sorted(x for x in {1, 2})", 0),
        ("for x in sorted(a.keys() - b.keys()): pass", 0),
        ("{x for x in {1, 2}}", 0),
    ],
)
def test_what_counts_as_walking_a_set(code: str, found: int) -> None:
    assert len(list(walked(ast.parse(code)))) == found


@pytest.mark.slow
def test_no_order_of_a_set_decides_anything() -> None:
    places = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for path in sorted(Path(ROOT, "src").rglob("*.py"))
        for node in walked(ast.parse(path.read_text("utf-8")))
    ]
    assert places == []
