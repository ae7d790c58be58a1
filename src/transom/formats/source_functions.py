"""The functions of a source file: which of them changed, and the same file with their bodies
replaced.

Python is read by its own parser. JavaScript, TypeScript, Go and Rust are read by their braces:
strings and comments are blanked, then a function is a head and the braces after it. A lambda with a
name and an arrow function without braces are first written as a function with a body.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, cast, get_args

from transom.formats.other_values import (
    INERT,
    ValueKind,
    javascript_functions,
    python_decorator,
)
from transom.formats.typed_values import go_return, rust_return

BodyKind = Literal["raise", "empty", "zero", "other"] | ValueKind
"""The new body of a function: it fails; it does nothing and returns an inert value; it does nothing
and returns the zero value of its type, or another one; or it works and returns another value. Only
functions of Python and JavaScript have the last kinds, and those of Python not the two before them.
"""
_VALUE_KINDS = get_args(ValueKind)

_JAVASCRIPT = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")


@dataclass(frozen=True)
class SourceFunction:
    """A function of a source file.

    Attributes:
        name: its name with that of its class, e.g. `Till.total`.
        first_line, last_line: its lines, 1-based, its decorators included.
        changed_lines: the lines in it that a change added, replaced or closed up to.
    """

    name: str
    first_line: int
    last_line: int
    changed_lines: tuple[int, ...] = ()

    @property
    def line_range(self) -> str:
        """The changed lines, for people: `4-12`."""
        lines = self.changed_lines or (self.first_line, self.last_line)
        return str(lines[0]) if lines[0] == lines[-1] else f"{lines[0]}-{lines[-1]}"


@dataclass(frozen=True)
class _BraceLanguage:
    """A language with braces: where its functions begin, and the statements of the new bodies.

    Attributes:
        quoted: matches a string or a comment.
        head: matches up to and with the opening brace of a function; may have a group `name`.
        raising, empty, zero, other: the statement at the beginning of the body for each kind;
            `{}` is the message. An empty text: the language has no such statement that always
            compiles.
    """

    quoted: re.Pattern[str]
    head: re.Pattern[str]
    raising: str
    empty: str = ""
    zero: str = ""
    other: str = ""


# A comment that is not closed reaches to the end of the file.
_COMMENT = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
# Parameters with parentheses in them, twice nested. What was taken is never given back: otherwise a
# file of unclosed parentheses would take time that grows as its square.
_PARAMETERS = r"\((?>(?:[^{};()]|\{\s*+\}|\((?>(?:[^{};()]|\{\s*+\}|\([^{};()]*+\))*)\))*)\)"
# The head of a Go function up to a `func` in it: a parameter or a result may be a function too. At
# most four of them are read, so that a line of many takes time in proportion to its length.
_GO_HEAD = r"(?>(?:(?!\bfunc\b)[^{}\n]|\{\})*)"
# A regular expression of JavaScript begins where a value may; a division never does.
_REGEX = (
    r"(?:(?<=[=(,:\[!&|?{;])|(?<==>)|(?<=\breturn))[ \t]{0,100}+/(?![/*])"
    r"(?>(?:[^/\\\n\[]|\\[^\n]|\[(?>(?:[^\]\\\n]|\\[^\n]){0,200})\]){1,300})/"
)
_NO_METHODS = r"(?!(?:if|for|while|switch|catch|with|return|function)\b)"
_BRACES: Mapping[tuple[str, ...], _BraceLanguage] = {
    _JAVASCRIPT: _BraceLanguage(
        re.compile(
            rf"{_COMMENT}|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|{_REGEX}",
            re.DOTALL,
        ),
        re.compile(
            rf"(?:\bfunction\b\s*+(?:\*\s*+)?(?P<name>[\w$]*+)\s*+{_PARAMETERS}"
            rf"|(?<![\w$.]){_NO_METHODS}(?P<method>[A-Za-z_$#][\w$]*+)\s*+{_PARAMETERS}"
            r"|=>)\s*+(?::[^={}();]++)?\{"
        ),
        'throw new Error("{}");',
        "return undefined;",
        # A function has no type that would name its zero value.
        zero="return 0;",
        other='return "{}";',
    ),
    (".go",): _BraceLanguage(
        re.compile(rf"{_COMMENT}|\"(?:\\.|[^\"\\\n])*\"|`[^`]*`", re.DOTALL),
        re.compile(
            r"\bfunc\b\s*+(?:\([^()]*+\)\s*+)?(?P<name>\w*+)"
            rf"(?>(?:{_GO_HEAD}\bfunc\b(?!\s+\w)){{0,4}}){_GO_HEAD}\{{"
        ),
        'panic("{}");',
    ),
    (".rs",): _BraceLanguage(
        re.compile(rf"{_COMMENT}|r#*\".*?\"#*|\"(?:\\.|[^\"\\])*\"", re.DOTALL),
        re.compile(r"\bfn\s++(?P<name>\w++)(?>(?:(?!\bfn\s)[^{};])*)\{"),
        'panic!("{}");',
    ),
}

_TYPED = {".go": go_return, ".rs": rust_return}
"""Suffix -> the function that writes a body which returns a value of the function's type."""

_LONGEST = 5_000
"""Characters of an expression that are read, so that a file of unclosed ones takes linear time."""
_DEEPEST = 50
_ARROW = re.compile(
    rf"(?P<before>[=:]|\bdefault\b)\s*+(?:async\b\s*+)?(?:{_PARAMETERS}|[A-Za-z_$][\w$]*+)\s*+"
    r"(?::[^=;{}()\n]{1,200}+)?=>\s*+(?![\s{])"
)
_GOES_ON_AFTER = re.compile(r"[-+*/%&|^<>=?:.,!~]$|\b(?:await|typeof|new|in|of)$")
_GOES_ON_WITH = re.compile(r"[-+*/%&|^<>=?:.,(\[`]|(?:instanceof|in)\b")

_RUST_TESTS = re.compile(
    r"#\[cfg\(test\)\]\s*+(?:pub\s++)?mod\s++\w++\s*+\{"
    r"|#\[(?:\w+::)?test\b[^\]]{0,200}+\](?>(?:(?!\bfn\b)[^{};]){0,300})\bfn\b[^{};]{0,500}+\{"
)

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


def can_replace(path: str) -> bool:
    """Whether the functions of files with this name can be replaced."""
    return path.endswith(".py") or _braces_of(path) is not None


def changed_functions(path: str, old: str | None, new: str) -> tuple[SourceFunction, ...]:
    """Return the innermost functions that a change touches; none if the file cannot be read.

    Args:
        old: the text before, None for a new file.
    """
    changed = changed_lines(old, new)
    functions = _functions(path, new)
    touched: dict[SourceFunction, list[int]] = {}
    for line in changed:
        around = [
            candidate
            for candidate in functions
            if candidate.first_line <= line <= candidate.last_line
        ]
        if around:
            inner = max(around, key=lambda function: (function.first_line, -function.last_line))
            touched.setdefault(inner, []).append(line)
    return tuple(
        SourceFunction(function.name, function.first_line, function.last_line, tuple(lines))
        for function, lines in touched.items()
    )


def changed_lines(old: str | None, new: str) -> tuple[int, ...]:
    """Return the 1-based lines of the new text that a change added or replaced, or that follow a
    removed line. Blank lines do not count.
    """
    after = new.splitlines()
    before = [] if old is None else old.splitlines()
    numbers: dict[int, None] = {}
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, _, _, start, stop in matcher.get_opcodes():
        if tag == "equal":
            continue
        # of removed lines only their place is left
        lines = range(start + 1, stop + 1) if stop > start else (min(start + 1, len(after)),)
        for number in lines:
            if 0 < number <= len(after) and after[number - 1].strip():
                numbers[number] = None
    return tuple(numbers)


def with_bodies(
    path: str, text: str, functions: Sequence[SourceFunction], kind: BodyKind, mark: str
) -> str | None:
    """Return the text with new bodies for some functions; None if the language has none.

    Args:
        functions: functions of this text, from `changed_functions`.
        mark: a random word. A body that raises says `MARK PATH:LINES NAME`.
    """
    messages = {
        function.first_line: f"{mark} {path}:{function.line_range} {function.name}"
        for function in functions
    }
    if path.endswith(".py"):
        if kind in ("zero", "other"):
            return None
        return _python_bodies(text, messages, kind, mark)
    if kind in _VALUE_KINDS:
        text = _with_blocks(path, text)
        return _javascript_values(path, text, messages, cast(ValueKind, kind), mark)
    text = _with_blocks(path, text)
    language = _braces_of(path)
    typed = _TYPED.get(PurePosixPath(path).suffix) if kind in ("zero", "other") else None
    if language is None:
        return None
    statements = {
        "raise": language.raising,
        "empty": language.empty,
        "zero": language.zero,
        "other": language.other,
    }
    statement = statements.get(kind, "")
    if not (statement or typed):
        return None
    pieces, end = [], 0
    for function, opening, head in _brace_functions(language, text):
        if message := messages.get(function.first_line):
            body = statement
            if typed is not None:
                # A function whose type has no value fails, so that no test passes with it.
                body = typed(head, mark, is_other=kind == "other") or language.raising
            pieces += [text[end : opening + 1], " ", body.replace("{}", message), " "]
            end = opening + 1
    return "".join([*pieces, text[end:]])


def _javascript_values(
    path: str, text: str, messages: Mapping[int, str], kind: ValueKind, mark: str
) -> str | None:
    """Return the text of a JavaScript file whose functions return other values; None for other
    files.
    """
    suffix = PurePosixPath(path).suffix
    if suffix not in _JAVASCRIPT:
        return None
    language = _BRACES[_JAVASCRIPT]
    plain = _plain(language, text)
    closing = dict(_pairs(plain))
    inserted: list[tuple[int, str]] = []
    for function, opening, head in _brace_functions(language, text):
        before = plain[: opening - len(head)]
        # The body of a generator cannot be moved into another function.
        is_generator = before.endswith("*") or re.match(r"function\s*\*", head)
        if function.first_line in messages and not is_generator:
            # An arrow function has the `this`, `super` and `arguments` of the one around it.
            waits = "async " if _is_async(before, head) else ""
            inserted.append((opening + 1, f" return call_{mark}({waits}() => {{"))
            inserted.append((closing[opening], "}); "))
    pieces, end = [], 0
    for position, code in sorted(inserted):
        pieces += [text[end:position], code]
        end = position
    is_typed = suffix.endswith("ts") or suffix == ".tsx"
    return "".join([*pieces, text[end:], javascript_functions(kind, mark, is_typed=is_typed)])


def _is_async(before: str, head: str) -> bool:
    """Whether a function of JavaScript is asynchronous.

    Args:
        before: the code before its head; for an arrow function it ends with the parameters.
    """
    if head.startswith("=>"):
        before = re.sub(r":[^=;(){}]{1,100}$", "", before.rstrip()).rstrip()
        if before.endswith(")"):
            depth = 0
            for place in range(len(before) - 1, -1, -1):
                depth += (before[place] == ")") - (before[place] == "(")
                if depth == 0:
                    before = before[:place]
                    break
        else:
            # Not a pattern: one that ends at the end of a text is tried from each character.
            end = len(before)
            while end and (before[end - 1].isalnum() or before[end - 1] in "_$"):
                end -= 1
            before = before[:end]
    return bool(re.search(r"\basync\s*$", before[-30:]))


def _functions(path: str, text: str) -> list[SourceFunction]:
    if path.endswith(".py"):
        try:
            return [*_python_functions(_NamedLambdas().visit(ast.parse(text)), "")]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []
    language = _braces_of(path)
    if language is None:
        return []
    functions = [row[0] for row in _brace_functions(language, _with_blocks(path, text))]
    if not path.endswith(".rs"):
        return functions
    # Unit tests of Rust lie in the file that they test.
    tests = _rust_tests(language, text)
    return [
        function
        for function in functions
        if not any(function.first_line in lines for lines in tests)
    ]


def has_rust_tests(path: str, text: str) -> bool:
    """Whether a source file of Rust holds its own unit tests."""
    return path.endswith(".rs") and "#[test]" in text


def without_rust_tests(path: str, text: str) -> str:
    """Return a source file without the unit tests of Rust in it."""
    language = _braces_of(path)
    if language is None or not has_rust_tests(path, text):
        return text
    tests = _rust_tests(language, text)
    lines = enumerate(text.splitlines(), 1)
    return "\n".join(line for number, line in lines if not any(number in rows for rows in tests))


def _rust_tests(language: _BraceLanguage, text: str) -> list[range]:
    """Return the lines of test modules, and of functions that are tests."""
    plain = _plain(language, text)
    closing = dict(_pairs(plain))
    tests = []
    for match in _RUST_TESTS.finditer(plain):
        first = plain.count("\n", 0, match.start()) + 1
        end = closing.get(match.end() - 1, len(plain))
        tests.append(range(first, plain.count("\n", 0, end) + 2))
    return tests


# -- Python ----------------------------------------------------------------------------------------


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


def _python_functions(node: ast.AST, prefix: str) -> Iterator[SourceFunction]:
    for child in ast.iter_child_nodes(node):
        inner = prefix
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{prefix}{child.name}."
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            first = _first_line(child)
            yield SourceFunction(inner[:-1], first, child.end_lineno or first)
        yield from _python_functions(child, inner)


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _python_bodies(text: str, messages: Mapping[int, str], kind: BodyKind, mark: str) -> str | None:
    try:
        tree = _NamedLambdas().visit(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if kind in _VALUE_KINDS:
        return _with_other_values(tree, messages, cast(ValueKind, kind), mark)
    inert = f"Inert_{mark}"
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        message = messages.get(_first_line(node))
        if message is None:
            continue
        # not an Exception: a test that expects any exception must not take it for its own
        body = f"raise type('Broken', (BaseException,), {{}})({message!r})"
        if kind == "empty":
            body = f"return {_EMPTY_VALUES.get(node.name, f'{inert}()')}"
        node.body = ast.parse(f"def f():\n    {body}").body[0].body  # type: ignore[attr-defined]
    if kind == "empty":
        _insert(tree, INERT.replace("{name}", inert))
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _insert(tree: ast.Module, text: str) -> None:
    """Put code at the beginning of a module, behind what must come first there."""
    place = 0
    for number, statement in enumerate(tree.body):
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if is_docstring or (
            isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        ):
            place = number + 1
    tree.body[place:place] = ast.parse(text).body


def _with_other_values(
    tree: ast.Module, messages: Mapping[int, str], kind: ValueKind, mark: str
) -> str:
    """Return the text with a decorator that changes what the functions return."""
    name = f"other_{mark}"
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        # Python itself checks what its special methods return.
        is_special = node.name.startswith("__") and node.name.endswith("__")
        if _first_line(node) in messages and not is_special:
            node.decorator_list.append(ast.Name(name, ast.Load()))
    _insert(tree, python_decorator(name, kind, mark))
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


# -- languages with braces -------------------------------------------------------------------------


def _braces_of(path: str) -> _BraceLanguage | None:
    suffix = PurePosixPath(path).suffix
    return next((language for names, language in _BRACES.items() if suffix in names), None)


def _plain(language: _BraceLanguage, text: str) -> str:
    """Return a text with blanks for its strings and comments."""
    return language.quoted.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _brace_functions(
    language: _BraceLanguage, text: str
) -> Iterator[tuple[SourceFunction, int, str]]:
    """Yield each function of a text, with the position of its brace and the head before it."""
    plain = _plain(language, text)
    closing = dict(_pairs(plain))
    for match in language.head.finditer(plain):
        opening = match.end() - 1
        if opening not in closing:
            continue
        groups = match.groupdict()
        name = groups.get("name") or groups.get("method") or "function"
        first = plain.count("\n", 0, match.start()) + 1
        last = plain.count("\n", 0, closing[opening]) + 1
        yield SourceFunction(name, first, last), opening, plain[match.start() : opening]


def _with_blocks(path: str, text: str) -> str:
    """Return a text of JavaScript whose arrow functions with a name have braces. Lines stay."""
    suffix = PurePosixPath(path).suffix
    if suffix not in _JAVASCRIPT:
        return text
    is_typed = suffix.endswith("ts") or suffix == ".tsx"
    # A string is part of an expression, and a comment behind it is not.
    code = _BRACES[_JAVASCRIPT].quoted.sub(_filled, text)
    inserted: list[tuple[int, str]] = []
    for match in _ARROW.finditer(code):
        line = code[max(0, match.start() - 300) : match.start()].rpartition("\n")[2]
        # In TypeScript a type may look like a function.
        if is_typed and (match["before"] == ":" or re.match(r"\s*(?:export\s+)?type\b", line)):
            continue
        end = _expression_end(code, match.end())
        closes = "" if end is None else code[end : end + 1]
        # A default of a parameter stays as it is.
        if end is not None and closes not in (")", "]") and (closes, match["before"]) != (",", "="):
            last = match.end() + len(code[match.end() : end].rstrip())
            inserted += [(match.end(), "{ return "), (last, "; }")]
    pieces, end = [], 0
    for position, added in sorted(inserted):
        pieces += [text[end:position], added]
        end = position
    return "".join([*pieces, text[end:]])


def _filled(match: re.Match[str]) -> str:
    if match[0].startswith(("//", "/*")):
        return re.sub(r"[^\n]", " ", match[0])
    return '"' * len(match[0])


def _expression_end(code: str, start: int) -> int | None:
    """Return the place behind an expression of JavaScript; None if it is not closed."""
    depth = 0
    for match in re.compile(r"[()\[\]{};,\n]").finditer(code, start, start + _LONGEST):
        place, sign = match.start(), match[0]
        if sign in "([{":
            depth += 1
            if depth > _DEEPEST:
                return None
        elif sign in ")]}":
            if depth == 0:
                return place
            depth -= 1
        elif depth == 0 and sign != "\n":
            return place
        elif depth == 0:
            line = code[max(start, place - 200) : place].rstrip()
            following = code[place : place + 500].lstrip()
            if line and not _GOES_ON_AFTER.search(line) and not _GOES_ON_WITH.match(following):
                return place
    return len(code) if depth == 0 and start + _LONGEST >= len(code) else None


def _pairs(plain: str) -> Iterable[tuple[int, int]]:
    """Return the positions of each opening brace and of its closing one."""
    opened: list[int] = []
    pairs: list[tuple[int, int]] = []
    for match in re.finditer(r"[{}]", plain):
        if match[0] == "{":
            opened.append(match.start())
        elif opened:
            pairs.append((opened.pop(), match.start()))
    return pairs
