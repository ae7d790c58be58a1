"""Gates that read a checker without running it: syntax, signatures, forbidden calls, the locked
layer, the YAML, and whether the YAML agrees with Section 2.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator

from transom.checklist.atoms import (
    LOCKED_LAYER,
    SIGNATURES,
    CheckerConfig,
    Condition,
    Entry,
    ValidationItem,
)
from transom.checklist.building.artifacts import ATOM_A, CHECKER, FUNCTIONS, Parts, tree_of
from transom.checklist.patterns import config_problems
from transom.checklist.writing.shapes import CheckSection, DescribedItem
from transom.evidence.findings import Finding
from transom.formats.yaml_files import Key, YamlFile

PLACEHOLDER = "<TO_BE_INFERRED>"

# Feedback for whoever writes the code; the boundary is the sandbox.
ALLOWED_IMPORTS = frozenset(
    {
        "re",
        "fnmatch",
        "json",
        "math",
        "datetime",
        "collections",
        "itertools",
        "functools",
        "string",
        "typing",
        "dataclasses",
        "enum",
        "__future__",
    }
)
FORBIDDEN_CALLS = frozenset(
    {
        "open",
        "print",
        "input",
        "eval",
        "exec",
        "compile",
        "__import__",
        "globals",
        "locals",
        "vars",
        "breakpoint",
        "setattr",
        "delattr",
    }
)
CLOCKS = frozenset({"now", "utcnow", "today"})


def check_syntax(atoms: Parts) -> list[Finding]:
    """Check that the code parses: atom A by itself, B and C by themselves, then all of it."""
    if tree_of(atoms.full_text):
        return []
    findings: list[Finding] = []
    for source in (atoms.a, atoms.logic):
        findings.extend(_unparsed(source, atoms))
    return findings or list(_unparsed(atoms.full_text, atoms))


def _unparsed(source: str, atoms: Parts) -> Iterator[Finding]:
    if tree_of(source):
        return
    try:
        ast.parse(source)
    except SyntaxError as error:
        # A part that just stops is at fault on its last line, which may be the next part's first.
        is_in_place = source is atoms.logic or (error.lineno or 0) < atoms.first
        line = error.lineno if is_in_place or source is atoms.full_text else atoms.first - 1
        artifact = atoms.artifact(line) if source is not atoms.a else ATOM_A
        yield Finding("syntax", artifact, line, f"does not parse: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        artifact = ATOM_A if source is not atoms.logic else atoms.artifact(atoms.first)
        yield Finding("syntax", artifact, None, f"does not parse: {error}")


def check_signatures(atoms: Parts) -> list[Finding]:
    """Check that each function of the contract stands once, with exactly its parameters.

    Nothing else may have its name, so that what is looked at is what runs.
    """
    # A function inside another one cannot be called from outside.
    top = {id(node) for tree in atoms.trees for node in tree.body}
    bound = _bound_nodes(atoms)
    findings: list[Finding] = []
    for name, signature in SIGNATURES.items():
        owner, own = FUNCTIONS[name], bound.get(name, [])
        expected = ast.parse(f"{signature}: ...").body[0]
        first = next(
            (node for node in own if isinstance(node, ast.FunctionDef) and id(node) in top), None
        )
        if first is not None and _parameters(first) != _parameters(expected):
            findings.append(
                Finding("signatures", owner, first.lineno, f"{name} must be {signature}")
            )
        elif first is None and tree_of(atoms.a if owner == ATOM_A else atoms.logic):
            findings.append(
                Finding(
                    "signatures", owner, None, f"there is no function {name}; write {signature}"
                )
            )
        for node in own:
            if node is not first:
                line = getattr(node, "lineno", None)
                message = f"{name} is defined a second time"
                findings.append(Finding("signatures", owner, line, message))
    return findings


def _bound_nodes(atoms: Parts) -> dict[str, list[ast.AST]]:
    """Return the nodes that bind each name; a method of a class hides no function."""
    methods: set[int] = set()
    for node in atoms.nodes:
        if isinstance(node, ast.ClassDef):
            methods.update(map(id, node.body))
    bound: dict[str, list[ast.AST]] = {}
    for node in atoms.nodes:
        if id(node) not in methods:
            for name in _bound(node):
                bound.setdefault(name, []).append(node)
    return bound


def _parameters(node: ast.stmt) -> tuple[object, ...]:
    assert isinstance(node, ast.FunctionDef)
    arguments = node.args
    return (
        [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)],
        [ast.dump(default) for default in arguments.defaults],
        [argument.arg for argument in arguments.kwonlyargs],
        arguments.vararg is None and arguments.kwarg is None,
    )


def check_forbidden(atoms: Parts) -> list[Finding]:
    """Report imports outside the allow-list, and calls that reach for files or the interpreter."""
    findings: list[Finding] = []
    for node in atoms.nodes:
        for problem in _forbidden(node):
            line = getattr(node, "lineno", None)
            findings.append(Finding("forbidden_io", atoms.artifact(line), line, problem))
    return findings


def _forbidden(node: ast.AST) -> Iterator[str]:
    for name in _imported(node):
        if name.split(".")[0] not in ALLOWED_IMPORTS:
            yield f"imports {name}; allowed are {', '.join(sorted(ALLOWED_IMPORTS))}"
    if isinstance(node, ast.Name) and node.id in FORBIDDEN_CALLS:
        yield f"uses {node.id}; an atom works on the text that it is given"
    if isinstance(node, ast.Attribute) and node.attr in CLOCKS:
        yield (
            f"asks for the time by {node.attr}; the same text must give the same answer on"
            " every day"
        )
    if isinstance(node, ast.Attribute) and node.attr.startswith("__") and node.attr != "__init__":
        yield f"reaches for {node.attr}; an atom needs no dunder attribute"


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield node.module or "."


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name for alias in names)
        case (
            ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
        ):
            yield name


def _returns(function: ast.FunctionDef) -> Iterator[int]:
    """Yield the lines at which a function may end or yield, without functions inside it."""
    nodes: list[ast.AST] = list(function.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom):
            yield node.lineno
        # A nested function's return does not end this one.
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            nodes += ast.iter_child_nodes(node)


def check_locked_layer(atoms: Parts) -> list[Finding]:
    """Check that `extract_context` ends with the locked layer.

    They are compared as syntax trees, so that layout is free.

    And whether it ends nowhere else.
    """
    wrapped = ast.parse("def f(results, source_file):\n" + LOCKED_LAYER).body[0]
    assert isinstance(wrapped, ast.FunctionDef)
    expected = [ast.dump(node) for node in wrapped.body]
    top_level = itertools.chain.from_iterable(tree.body for tree in atoms.trees)
    for node in top_level:
        if isinstance(node, ast.FunctionDef) and node.name == "extract_context":
            # Compared without positions, so that comments and blank lines do not matter.
            tail = [ast.dump(part) for part in node.body[-len(expected) :]]
            if tail == expected:
                early = sorted(line for line in _returns(node) if line != node.body[-1].lineno)
                message = "returns before the locked layer; collect in `results` instead"
                return [Finding("locked_layer", ATOM_A, line, message) for line in early[:1]]
            message = "does not end with the locked layer unchanged"
            return [Finding("locked_layer", ATOM_A, node.body[-1].lineno, message)]
    return []


def emitted(entries: Iterable[Entry]) -> frozenset[str]:
    """Return the dotted names of all fields of the entries."""
    names = set()
    for entry in entries:
        for category, part in entry.parsed_fields.items():
            for name in ("", *(part if isinstance(part, dict) else ())):
                names.add(f"{category}.{name}" if name else category)
    return frozenset(names)


def check_yaml(
    config: CheckerConfig, file: YamlFile, atoms: Parts, fields: frozenset[str] | None = None
) -> list[Finding]:
    """Report placeholders, patterns that do not compile, repeated ids, and fields never emitted.

    `fields` is what atom A emits for the real files, None if there are none.
    """
    findings = []
    for number, line in enumerate(file.text.splitlines(), 1):
        if PLACEHOLDER in line:
            findings.append(Finding("yaml", CHECKER, number, f"{PLACEHOLDER} is left"))
    ids = [item.id for item in config.items]
    for index, ident in enumerate(ids):
        if ident in ids[:index]:
            findings.append(_finding_at(file, f"id {ident} is given twice", "items", index, "id"))
    for problem, *keys in config_problems(config):
        findings.append(_finding_at(file, problem, *keys))
    absent = []
    for index in range(len(config.items)):
        for field, *keys in _fields(config, index):
            if fields is not None and field not in fields:
                absent.append((index, field, keys))
    tree = tree_of(atoms.a) if absent else None
    key_names = set(itertools.chain.from_iterable(map(_keys, ast.walk(tree)))) if tree else set()
    # Files show only a part of what atom A may emit; its code tells the rest.
    for index, field, keys in absent if tree else ():
        if not set(field.split(".")) <= key_names:
            message = f"item {config.items[index].id} uses {field}, which atom A never emits"
            findings.append(_finding_at(file, message, "items", index, *keys))
    return findings


def _keys(node: ast.AST) -> Iterator[str]:
    """Yield the keys that a dict may have by the code: texts, lists of words, groups, keywords."""
    if isinstance(node, ast.keyword) and node.arg:
        yield node.arg
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        # Names of fields may be made from a text like "name value unit".
        words = node.value.split()
        yield from words if all(map(str.isidentifier, words)) else [node.value]
        # Named groups become keys by `groupdict`.
        yield from re.findall(r"\(\?P<(\w+)>", node.value)


def _fields(config: CheckerConfig, index: int) -> Iterable[tuple[str, *tuple[Key, ...]]]:
    """Return every field that an item names, once, and where."""
    item = config.items[index]
    keys_by_field: dict[str, tuple[Key, ...]] = {item.select: ("select",)}
    for field in item.required:
        keys_by_field.setdefault(field, ("required",))
    if item.condition:
        keys_by_field.setdefault(item.condition.field, ("condition",))
    return [(field, *keys) for field, keys in keys_by_field.items()]


def _finding_at(file: YamlFile, message: str, *keys: Key) -> Finding:
    return Finding("yaml", CHECKER, file.line_of(*keys), message)


# -- what Section 2 says


def check_agreement(config: CheckerConfig, text: str, section: CheckSection) -> list[Finding]:
    """Compare the items of `checker.yaml`, whose text is `text`, with those of Section 2.

    What Section 2 leaves open (a label that is missing or cannot be read) is not compared.
    """
    described = {item.id: item for item in section.items}
    configured = {item.id: item for item in config.items}
    problems: list[tuple[str, str]] = []
    for ident in described:
        if ident not in configured:
            problems.append((f"item {ident} of Section 2 is not there", ident))
    for ident in configured:
        if ident not in described:
            problems.append((f"item {ident} stands not in Section 2", ident))
    if section.capability_type not in (None, config.capability_type):
        message = (
            f"capability_type is {config.capability_type}, Section 2 says {section.capability_type}"
        )
        problems.append((message, "capability_type"))
    for ident, item in described.items():
        if ident in configured:
            for difference in _differences(item, configured[ident]):
                problems.append((f"item {ident}: {difference}", ident))
    findings = []
    for message, needle in problems:
        lines = []
        for number, line in enumerate(text.splitlines(), 1):
            if needle in line:
                lines.append(number)
        findings.append(Finding("agreement", CHECKER, lines[0] if lines else None, message))
    return findings


def _differences(described: DescribedItem, configured: ValidationItem) -> Iterator[str]:
    expected, problems = described.rule, described.problems
    if "selection" in problems:
        yield f"Section 2 contradicts itself: {problems['selection']}"
    for name in ("check", "mode", "quantifier", "take", "count", "only_with", "name"):
        is_unread = name in problems and name in ("check", "mode", "quantifier")
        pair = (_comparable(configured, name), _comparable(expected, name))
        if not is_unread and pair[0] != pair[1]:
            yield f"{name} is {pair[0]!r}, Section 2 says {pair[1]!r}"
    # A condition demands its own field; to name that field as required as well changes nothing.
    conditions = (configured.condition, expected.condition)
    implied = set()
    for condition in conditions:
        if condition:
            implied.add(condition.field)
    required = [_listed(set(item.required) - implied) for item in (configured, expected)]
    if required[0] != required[1]:
        yield f"required is {required[0]}, Section 2 says {required[1]}"
    # A text that is neither a comparison nor plainly "none" leaves the condition open.
    says_none = described.condition_text.lower() in ("", "none")
    is_open = expected.condition is None and not says_none
    if not is_open and configured.condition != expected.condition:
        texts = [_condition_text(condition) for condition in conditions]
        yield f"condition is {texts[0]}, Section 2 says {texts[1]}"


def _comparable(item: ValidationItem, name: str) -> str:
    """Return a part of an item as a text in which it can be compared and shown."""
    value = getattr(item, name)
    if name == "count":
        if value:
            return f"{value.op} {value.value}"
        return "none"
    if name == "name":
        return str(value).casefold()
    absent = "all" if name == "take" else "none"
    return value or absent


def _condition_text(condition: Condition | None) -> str:
    if condition:
        return f"{condition.field} {condition.op} {condition.value!r}"
    return "none"


def _listed(fields: set[str]) -> str:
    return ", ".join(sorted(fields)) or "nothing"
