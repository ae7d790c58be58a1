"""Gates that read a checker without running it: syntax, signatures, forbidden calls, the locked layer, the YAML."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from transom.checklist.atoms import LOCKED_LAYER, SIGNATURES, CheckerConfig
from transom.gates import Finding

ATOMS = "atoms.py"
CHECKER = "checker.yaml"
PLACEHOLDER = "<TO_BE_INFERRED>"

# Feedback for whoever writes the code; the boundary is the sandbox.
ALLOWED_IMPORTS = frozenset(
    {"re", "fnmatch", "json", "math", "datetime", "collections", "itertools", "functools", "string", "typing"}
)
FORBIDDEN_CALLS = frozenset(
    {"open", "print", "input", "eval", "exec", "compile", "__import__", "globals", "locals", "vars", "breakpoint"}
)


def check_syntax(code: str) -> list[Finding]:
    """Whether the code parses."""
    try:
        ast.parse(code)
    except SyntaxError as error:
        return [Finding("syntax", ATOMS, error.lineno, f"does not parse: {error.msg}")]
    except ValueError as error:
        return [Finding("syntax", ATOMS, None, f"does not parse: {error}")]
    return []


def check_signatures(code: str) -> list[Finding]:
    """Whether the three functions stand at module level with exactly the contract's parameters."""
    found = {node.name: node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}
    findings: list[Finding] = []
    for name, signature in SIGNATURES.items():
        wanted = ast.parse(f"{signature}: ...").body[0]
        assert isinstance(wanted, ast.FunctionDef)
        node = found.get(name)
        if node is None:
            findings.append(Finding("signatures", ATOMS, None, f"there is no function {name}; write {signature}"))
        elif _parameters(node) != _parameters(wanted):
            findings.append(Finding("signatures", ATOMS, node.lineno, f"{name} must be {signature}"))
    return findings


def _parameters(node: ast.FunctionDef) -> tuple[object, ...]:
    arguments = node.args
    return (
        [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)],
        [ast.dump(default) for default in arguments.defaults],
        [argument.arg for argument in arguments.kwonlyargs],
        arguments.vararg is None and arguments.kwarg is None,
    )


def check_forbidden(code: str) -> list[Finding]:
    """Imports outside the allow-list, and calls that reach for files, the terminal or the interpreter."""
    findings: list[Finding] = []
    for node in ast.walk(ast.parse(code)):
        for name in _imported(node):
            if name.split(".")[0] not in ALLOWED_IMPORTS:
                findings.append(_forbidden(node, f"imports {name}; allowed are {', '.join(sorted(ALLOWED_IMPORTS))}"))
        if isinstance(node, ast.Name) and node.id in FORBIDDEN_CALLS:
            findings.append(_forbidden(node, f"uses {node.id}; an atom works on the text that it is given"))
        if isinstance(node, ast.Attribute) and node.attr.startswith("__"):
            findings.append(_forbidden(node, f"reaches for {node.attr}; an atom needs no dunder attribute"))
    return findings


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield node.module or "."


def _forbidden(node: ast.AST, message: str) -> Finding:
    return Finding("forbidden_io", ATOMS, getattr(node, "lineno", None), message)


def check_locked_layer(code: str) -> list[Finding]:
    """Whether `extract_context` ends with the locked layer, compared as a syntax tree, so that layout is free."""
    wrapped = ast.parse("def f(results, source_file):\n" + LOCKED_LAYER).body[0]
    assert isinstance(wrapped, ast.FunctionDef)
    wanted = [ast.dump(node) for node in wrapped.body]
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef) and node.name == "extract_context":
            tail = [ast.dump(part) for part in node.body[-len(wanted) :]]
            if tail == wanted:
                return []
            return [
                Finding("locked_layer", ATOMS, node.body[-1].lineno, "does not end with the locked layer unchanged")
            ]
    return []


def check_yaml(config: CheckerConfig, text: str, code: str) -> list[Finding]:
    """Placeholders that are left, patterns that do not compile, ids given twice, fields that the code never names."""
    findings = [
        Finding("yaml", CHECKER, number, f"{PLACEHOLDER} is left")
        for number, line in enumerate(text.splitlines(), 1)
        if PLACEHOLDER in line
    ]
    ids = [item.id for item in config.items]
    findings += [
        _at(text, f"id {twice} is given twice", twice) for twice in sorted({i for i in ids if ids.count(i) > 1})
    ]
    for pattern in _regexes(config):
        try:
            re.compile(pattern)
        except re.error as error:
            findings.append(_at(text, f"regex {pattern!r} does not compile: {error}", pattern))
    named = {node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)}
    for item in config.items:
        for field in dict.fromkeys([item.select, *item.required, *([item.condition.field] if item.condition else [])]):
            if not set(field.split(".")) <= named:
                findings.append(_at(text, f"item {item.id} uses {field}, which atom A never emits", field))
    return findings


def _regexes(config: CheckerConfig) -> Iterable[str]:
    texts = [hint for item in config.items for hint in item.hints]
    texts += [waiver.pattern for waiver in config.waivers.waive_items if config.waivers.value]
    yield from (text.removeprefix("regex:") for text in texts if text.startswith("regex:"))
    for item in config.items:
        if item.condition and item.condition.op == "matches" and isinstance(item.condition.value, str):
            yield item.condition.value


def _at(text: str, message: str, needle: str) -> Finding:
    line = next((number for number, line in enumerate(text.splitlines(), 1) if needle in line), None)
    return Finding("yaml", CHECKER, line, message)
