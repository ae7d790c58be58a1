"""The functions of a Python file, read by Python's own parser, and the file with other bodies.

A class without an own `__init__` whose fields are declared counts as a function: what it makes is
its result. So does a lambda with a name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import cast

from transom.formats.other_values import ResultKind, python_tools

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_EMPTY_VALUES = {
    "__init__": "None",
    "__post_init__": "None",
    "__init_subclass__": "None",
    "__set_name__": "None",
    "__setattr__": "None",
    "__setitem__": "None",
    "__delitem__": "None",
    "__str__": "''",
    "__repr__": "''",
    "__format__": "''",
    "__len__": "0",
    "__hash__": "0",
    "__int__": "0",
    "__index__": "0",
    "__float__": "0.0",
    "__bool__": "False",
    "__iter__": "iter(())",
}
"""Methods whose result Python itself checks, and an empty result of the right type."""

# Other decorators may need a generator that goes on, such as `contextmanager`.
_PLAIN_DECORATORS = ("property", "staticmethod", "classmethod", "override", "cached_property")


def python_definitions(text: str) -> list[tuple[str, int, int]]:
    """Return the name, the first and the last line of each function; none if the text cannot be
    read.
    """
    tree = _parsed(text)
    if tree is None:
        return []
    return [*_definitions(tree, "")]


def python_bodies(text: str, messages: Mapping[int, str], kind: str, mark: str) -> str | None:
    """Return a text whose functions raise, or return nothing; None if it cannot be read.

    Args:
        messages: first line of a function -> what it says when it raises.
        kind: `raise` or `empty`.
        mark: a random word of letters.
    """

    def change(node: Definition, message: str) -> None:
        if isinstance(node, ast.ClassDef):
            decorator = f"lambda kind: Inert_{mark}"
            if kind == "raise":
                decorator = f"broken_class_{mark}({message!r})"
            # The outermost decorator sees the class with the methods that others add.
            node.decorator_list.insert(0, ast.parse(decorator, mode="eval").body)
            return
        # not an Exception: a test that expects any exception must not take it for its own
        body = f"raise type('Broken', (BaseException,), {{}})({message!r})"
        if kind == "empty":
            body = f"return {_EMPTY_VALUES.get(node.name, f'Inert_{mark}()')}"
        # Its documentation may hold examples that are tests.
        documentation = node.body[:1] if ast.get_docstring(node) is not None else []
        statements = cast(ast.FunctionDef, ast.parse(f"def f():\n    {body}").body[0]).body
        node.body = [*documentation, *statements]

    return _changed(text, messages, change, python_tools("inert", mark))


def python_results(
    text: str, messages: Mapping[int, str], kind: ResultKind, mark: str
) -> str | None:
    """Return a text whose functions work, and return something else; None if it cannot be read,
    or if no function is of the kind. Arguments as for `python_bodies`.
    """
    takes_arguments = kind in ("arguments", "no-arguments")
    is_changed = False

    def change(node: Definition, _: str) -> None:
        nonlocal is_changed
        if isinstance(node, ast.ClassDef):
            decorator = f"other_class_{mark}"
            node.decorator_list.insert(0, ast.parse(decorator, mode="eval").body)
            is_changed = is_changed or not takes_arguments
            return
        has_result = _has_result(node) or _is_special(node)
        # A function without a result is known by what it does with its arguments.
        is_changed = is_changed or not takes_arguments or not has_result
        streams = all(_name_of(row) in _PLAIN_DECORATORS for row in node.decorator_list)
        decorator = f"other_{mark}(has_result={has_result}, has_streams={streams})"
        node.decorator_list.append(ast.parse(decorator, mode="eval").body)

    changed = _changed(text, messages, change, python_tools(kind, mark))
    if not is_changed:
        return None
    return changed


def _parsed(text: str) -> ast.Module | None:
    try:
        return cast(ast.Module, _NamedLambdas().visit(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _changed(
    text: str, messages: Mapping[int, str], change: Callable[[Definition, str], None], tools: str
) -> str | None:
    tree = _parsed(text)
    if tree is None:
        return None
    for node in ast.walk(tree):
        if not isinstance(node, Definition):
            continue
        message = messages.get(_first_line(node))
        if message and (not isinstance(node, ast.ClassDef) or _is_record(node)):
            change(node, message)
    python_insert(tree, tools)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


class _NamedLambdas(ast.NodeTransformer):
    """Writes `name = lambda x: y` as a function of that name."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        targets = [target.id for target in node.targets if isinstance(target, ast.Name)]
        is_named = len(node.targets) == len(targets) == 1
        return self._function(node, targets[0], node.value) if is_named else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if not isinstance(node.target, ast.Name):
            return node
        return self._function(node, node.target.id, node.value)

    def _function(self, node: ast.stmt, name: str, value: ast.expr | None) -> ast.AST:
        if not isinstance(value, ast.Lambda):
            return node
        function = cast(ast.FunctionDef, ast.parse(f"def {name}():\n    return 0").body[0])
        function.args = value.args
        cast(ast.Return, function.body[0]).value = value.body
        return ast.copy_location(function, node)


def _definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, int, int]]:
    for child in ast.iter_child_nodes(node):
        inner = prefix
        if isinstance(child, Definition):
            inner = f"{prefix}{child.name}."
        is_record = isinstance(child, ast.ClassDef) and _is_record(child)
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or is_record:
            first = _first_line(child)
            yield inner[:-1], first, getattr(child, "end_lineno", None) or first
        yield from _definitions(child, inner)


def _is_record(node: ast.ClassDef) -> bool:
    """Whether a class declares fields, and lets others write its `__init__`."""
    names = {child.name for child in node.body if isinstance(child, ast.FunctionDef)}
    has_fields = any(isinstance(child, ast.AnnAssign) for child in node.body)
    return has_fields and not names & {"__init__", "__new__"}


def _first_line(node: ast.AST) -> int:
    lines: list[int] = [decorator.lineno for decorator in getattr(node, "decorator_list", ())]
    return min([cast(ast.stmt, node).lineno, *lines])


def _has_result(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function returns or yields anything."""
    nodes: list[ast.AST] = [*node.body]
    while nodes:
        child = nodes.pop()
        if isinstance(child, ast.Yield | ast.YieldFrom):
            return True
        if isinstance(child, ast.Return) and child.value is not None:
            return True
        # What an inner function returns is its own result.
        if not isinstance(child, Definition | ast.Lambda):
            nodes += ast.iter_child_nodes(child)
    return False


def _is_special(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return node.name.startswith("__") and node.name.endswith("__")


def _name_of(decorator: ast.expr) -> str:
    return ast.unparse(decorator).partition("(")[0].rpartition(".")[2]


def python_insert(tree: ast.Module, text: str) -> None:
    """Put code at the beginning of a module, behind what must come first there."""
    place = 0
    for number, statement in enumerate(tree.body):
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if is_docstring or (
            isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        ):
            place = number + 1
    tree.body[place:place] = ast.parse(text).body
