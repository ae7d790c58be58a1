"""The values that a change declares outside of functions: constants, defaults of fields, members of
enumerations, and settings in files of data; and the same file with other values.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection
from decimal import Decimal
from typing import Literal

from transom.formats.brace_functions import braces_of, plain_text
from transom.formats.source_functions import changed_lines, functions_of, rust_test_lines

DeclaredKind = Literal["lower", "higher"]

# A key of a table stays: the file would be of another form.
_LITERAL = re.compile(
    r"\"((?:[^\"\\\n]|\\.){1,500})\"(?!\s*:)|'((?:[^'\\\n]|\\.){1,500})'(?!\s*:)"
    r"|(?<![\w.$-])(\d{1,15}(?:\.\d{1,15})?)(?![\w.])"
    r"|(?<=: )([A-Za-z][\w -]{0,200})$",
    re.MULTILINE,
)
# What a file loads is no value of it.
_LOADS = re.compile(
    r"(?:import|from|use|package|module|go|extern|require)\b|#|//|@|\}[ \t]*+from\b"
)
_NUMBER = re.compile(r"(?<![\w.$])(\d[\d_]{0,20}(?:\.\d{1,15})?)(?![\w.]|\d)")
_LITERAL_SIGNS = ("", *"0123456789-\"'`[{(&")
_PYTHON_NAME = re.compile(r"([A-Za-z_]\w{0,100}+)[ \t]*+(?::[^=\n]{0,200}+)?=(?!=)")
_BRACES_NAME = re.compile(
    r"(?:(?:export|pub|public|static|default)[ \t]++){0,3}(?:const|let|var|static)[ \t]++"
    r"(?:mut[ \t]++)?([A-Za-z_$][\w$]*+)"
)


def with_other_values(
    path: str, old: str | None, new: str, kind: DeclaredKind, mark: str
) -> str | None:
    """Return the text after a change with other values on its changed lines outside of functions.
    A file of data without any is empty then; None if a file of code has none.

    Args:
        old: the text before, None for a new file.
        mark: a random word of letters.
    """
    lines = _declared_lines(path, old, new)
    if path.endswith(".py"):
        return _of_python(new, lines, kind, mark)
    is_code = braces_of(path) is not None
    rows = new.splitlines(keepends=True)
    for number in lines:
        row = rows[number - 1]
        if not (is_code and _LOADS.match(row.strip())):
            rows[number - 1] = _LITERAL.sub(lambda match: _other_text(match, kind, mark), row)
    changed = "".join(rows)
    if changed != new:
        return changed
    return None if is_code or not lines else ""


def with_other_number(
    path: str, old: str | None, new: str, values: Collection[Decimal], kind: DeclaredKind
) -> str | None:
    """Return the text after a change with another number for each of certain ones on its changed
    lines; None if they hold none of them.
    """
    language = braces_of(path)
    lines = {*changed_lines(old, new)} - rust_test_lines(path, new)
    plain = new
    if language is not None:
        plain = plain_text(language, new)
    elif path.endswith(".py"):
        plain = _without_strings(new)
    rows = new.splitlines(keepends=True)
    for number, shown in enumerate(plain.splitlines(keepends=True), 1):
        if number not in lines:
            continue
        for match in reversed([*_NUMBER.finditer(shown)]):
            written = match[1].replace("_", "")
            if Decimal(written) in values:
                value = float(written) if "." in written else int(written)
                other = str(_other_number(value, kind))
                row = rows[number - 1]
                rows[number - 1] = f"{row[: match.start(1)]}{other}{row[match.end(1) :]}"
    changed = "".join(rows)
    return changed if changed != new else None


def _without_strings(text: str) -> str:
    """Return a text of Python with blanks for its strings and comments."""
    rows = text.splitlines(keepends=True)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.STRING, tokenize.COMMENT):
                for number in range(token.start[0], token.end[0] + 1):
                    row = rows[number - 1]
                    start = token.start[1] if number == token.start[0] else 0
                    end = token.end[1] if number == token.end[0] else len(row.rstrip("\n"))
                    rows[number - 1] = f"{row[:start]}{' ' * (end - start)}{row[end:]}"
    except (tokenize.TokenError, SyntaxError, IndexError):
        return ""
    return "".join(rows)


def declared_names(path: str, old: str | None, new: str) -> set[str]:
    """Return the names that a change gives to literals outside of functions."""
    lines = _declared_lines(path, old, new)
    rows = new.splitlines()
    pattern = _BRACES_NAME
    if path.endswith(".py"):
        pattern = _PYTHON_NAME
    names = set[str]()
    for number in lines:
        row = rows[number - 1].strip()
        match = pattern.match(row)
        # What is called makes an object, such as an error to compare with, and no value.
        if match and row.partition("=")[2].strip()[:1] in _LITERAL_SIGNS:
            names.add(match[1])
    return names


def _declared_lines(path: str, old: str | None, new: str) -> set[int]:
    """Return the changed lines outside of functions and tests."""
    lines = {*changed_lines(old, new)} - rust_test_lines(path, new)
    fields = _field_lines(path, new)
    for function in functions_of(path, new):
        lines -= {*range(function.first_line, function.last_line + 1)} - fields
    return lines


def _field_lines(path: str, text: str) -> set[int]:
    """Return the lines of the statements of Python classes that are no methods."""
    lines: set[int] = set()
    if not path.endswith(".py"):
        return lines
    tree = _parsed(text)
    if tree is None:
        return lines
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for child in node.body:
                if isinstance(child, ast.Assign | ast.AnnAssign):
                    lines |= {*range(child.lineno, (child.end_lineno or child.lineno) + 1)}
    return lines


def _other_text(match: re.Match[str], kind: DeclaredKind, mark: str) -> str:
    number = match[3]
    if number is None:
        text = match[1] or match[2] or match[4]
        quote = match[0][0] if match[4] is None else ""
        return f"{quote}{_other_word(text, kind, mark)}{quote}"
    if "." in number:
        return str(_other_number(float(number), kind))
    return str(_other_number(int(number), kind))


def _other_word(text: str, kind: DeclaredKind, mark: str) -> str:
    if kind == "lower":
        return mark
    return text + mark


def _other_number(value: float, kind: DeclaredKind) -> float:
    if kind == "higher":
        return 2 * value + 3
    # Languages differ in the signs that they allow.
    if value < 2:
        return value + 5
    # A whole number stays one.
    return value / 2 if value % 1 else value // 2


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _of_python(text: str, lines: Collection[int], kind: DeclaredKind, mark: str) -> str | None:
    tree = _parsed(text)
    if tree is None:
        return None
    values = _OtherLiterals(lines, kind, mark)
    changed: ast.Module = values.visit(tree)
    if not values.count:
        return None
    return f"{ast.unparse(changed)}\n"


class _OtherLiterals(ast.NodeTransformer):
    """Replaces the literals of some lines. Documentation and the keys of dictionaries stay."""

    def __init__(self, lines: Collection[int], kind: DeclaredKind, mark: str) -> None:
        self.lines, self.kind, self.mark = lines, kind, mark
        self.count = 0

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        node.values = [self.visit(value) for value in node.values]
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value = node.value
        if node.lineno not in self.lines or isinstance(value, bool):
            return node
        other: object = value
        if isinstance(value, int | float):
            other = _other_number(value, self.kind)
        elif isinstance(value, str):
            other = _other_word(value, self.kind, self.mark)
        elif isinstance(value, bytes):
            other = self.mark.encode()
        if other is value:
            return node
        self.count += 1
        return ast.copy_location(ast.Constant(other), node)  # type: ignore[arg-type]
