"""No regular expression in the source or in a data file takes more than linear time.

Expressions of modules are found as objects, also within tuples, dictionaries and instances; those
within functions are found as the first argument of `re.search` and its like. What an f-string fills
in is measured as one letter. In a data file, each text that holds the signs of an expression is
measured, whichever program reads it.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

from tests.repository.tracked import ROOT, tracked
from transom.evidence.regex_growth import Method, growth_of
from transom.formats.yaml_files import load_yaml

SOURCE = ROOT / "src" / "transom"
ROOMS = [".", *sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file())]
FUNCTIONS = {
    "search",
    "match",
    "fullmatch",
    "findall",
    "finditer",
    "sub",
    "split",
    "subn",
}
FLAGS = ("IGNORECASE", "MULTILINE", "DOTALL", "VERBOSE", "ASCII")
SHORT_TEXTS = {
    "transom.evidence.facts:_IN_A_WORD": "is matched on the five characters around a position",
    "transom.evidence.facts:_IN_A_NUMBER": "is matched on the five characters around a position",
}
DATA_FILES = [path for path in tracked() if path.suffix == ".yaml" and SOURCE in path.parents]
SIGNS_OF_AN_EXPRESSION = re.compile(r"\\[sSdDwWbB]|\(\?[:=!<>P(i]|[.\])][*+]")
"""An escape, the head of a group, or a repeated group or class."""
PLACEHOLDER = re.compile(r"\{[a-z_]+\}")
METHODS: Mapping[str, Method] = {
    "keys": "fullmatch",
    "severities": "fullmatch",
    "signs": "match",
    "starts": "match",
    "placeholder": "match",
}
"""Keys whose expressions are not searched for."""
Expressions = Iterator[tuple[str, re.Pattern[str], Method]]


# An expression such as (?:...)*+ or (?:...){1,3}+, in which an f-string doubles the braces.
POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{\{?\d+,\d*\}?\})\+")


@pytest.mark.parametrize("suffix", [".py", ".yaml"])
def test_no_group_is_repeated_possessively(suffix: str) -> None:
    """Python before 3.11.5 (Debian 12 has 3.11.2) misses matches of a group that is repeated
    possessively and holds a look-ahead. An atomic group around a usual repeat says the same.
    """
    paths = [path for path in tracked() if path.suffix == suffix and SOURCE in path.parents]
    assert paths
    texts = {path: path.read_text("utf-8") for path in paths}
    assert [str(path) for path, text in texts.items() if POSSESSIVE_GROUP.search(text)] == []


def modules_of(room: str) -> Iterator[ModuleType]:
    files = SOURCE.glob("*.py") if room == "." else (SOURCE / room).rglob("*.py")
    for path in sorted(files):
        if path.name == "__main__.py":
            continue
        name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        yield importlib.import_module(name.removesuffix(".__init__"))


@cache
def tree_of(module: ModuleType) -> ast.Module:
    return ast.parse(Path(str(module.__file__)).read_text("utf-8"))


def expressions_of(module: ModuleType) -> Expressions:
    methods = methods_of(tree_of(module))
    for name, value in vars(module).items():
        for pattern in patterns_within(value):
            for method in methods.get(name, ["search"]):
                yield f"{module.__name__}:{name}", pattern, method
    for call in calls_of_re(tree_of(module)):
        text = _text_of(call.args[0])
        if text is not None:
            pattern = re.compile(text, _flags_of(call))
            yield f"{module.__name__}:{call.lineno}", pattern, _method(_name_of(call))


def calls_of_re(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield the calls of functions of `re`; of `re.compile` those within functions, as the others
    are found as objects.
    """
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for root, names in (*((function, {"compile"}) for function in functions), (tree, FUNCTIONS)):
        for node in ast.walk(root):
            if isinstance(node, ast.Call) and node.args and _name_of(node) in names:
                yield node


def methods_of(tree: ast.Module) -> Mapping[str, list[Method]]:
    """Return the methods that are called of each name, `search` for any other use."""
    methods: dict[str, list[Method]] = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            methods[node.value.id].append(_method(node.attr))
    return {name: sorted(set(called)) for name, called in methods.items()}


def patterns_within(value: object, depth: int = 0) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif depth == 4 or isinstance(value, type | ModuleType):
        return
    elif isinstance(value, Mapping):
        for inner in (*value.keys(), *value.values()):
            yield from patterns_within(inner, depth + 1)
    elif isinstance(value, tuple | list | set | frozenset):
        for inner in value:
            yield from patterns_within(inner, depth + 1)
    elif type(value).__module__.startswith("transom."):
        for inner in getattr(value, "__dict__", {}).values():
            yield from patterns_within(inner, depth + 1)


def _method(name: str) -> Method:
    for method in get_args(Method):
        if name == method:
            return method  # type: ignore[no-any-return]  # of a Literal
    return "search"


def _name_of(call: ast.Call) -> str:
    """Return the name of a function of `re`, "" for any other call."""
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.attr if function.value.id == "re" else ""
    return ""


def _text_of(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.JoinedStr):
        return None
    parts = [_text_of(part) if isinstance(part, ast.Constant) else "x" for part in node.values]
    text = "".join(part or "" for part in parts)
    return text.replace("{x}", "{3}").replace("{x,x}", "{3,9}")


def _flags_of(node: ast.Call) -> int:
    written = " ".join(ast.unparse(part) for part in (*node.args[1:], *node.keywords))
    return sum(getattr(re, flag) for flag in FLAGS if f"re.{flag}" in written)


def texts_within(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield each text of a data file, with the key below which it stands."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield key, name
            yield from texts_within(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_within(inner, key)


def looks_like_an_expression(text: str) -> bool:
    if not SIGNS_OF_AN_EXPRESSION.search(text) or PLACEHOLDER.search(text):
        return False
    with suppress(re.error):
        re.compile(text)
        return True
    return False


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.parametrize("room", ROOMS)
def test_no_expression_of_a_room_takes_more_than_linear_time(room: str) -> None:
    measured: dict[tuple[str, int, Method], str] = {}
    for module in modules_of(room):
        for name, pattern, method in expressions_of(module):
            measured.setdefault((pattern.pattern, pattern.flags, method), name)
    slow = []
    for (text, flags, method), name in measured.items():
        growth = growth_of(re.compile(text, flags), method)
        if growth is not None and name not in SHORT_TEXTS:
            slow.append(f"{name}: {text!r} {growth}")
    assert slow == []


@pytest.mark.fence
@pytest.mark.slow
@pytest.mark.parametrize("path", DATA_FILES, ids=[path.stem for path in DATA_FILES])
def test_no_expression_of_a_data_file_takes_more_than_linear_time(path: Path) -> None:
    slow = []
    for key, text in dict.fromkeys(texts_within(load_yaml(path).data)):
        if looks_like_an_expression(text):
            growth = growth_of(re.compile(text), METHODS.get(key, "search"))
            if growth is not None:
                slow.append(f"{key}: {text!r} {growth}")
    assert slow == []


def test_expressions_of_data_files_are_told_from_prose_and_file_patterns() -> None:
    expressions = [r"^error\b", r"(?i)fatal", "a.*b", "[a-z]+-[0-9]+", r"\d{3}"]
    others = ["Is it done?", "*.rpt", "reports/*.log", "a (b) c", "1.5", "*?.*", "(?:unclosed"]
    others.append("({word})* {noun}")
    assert list(filter(looks_like_an_expression, expressions + others)) == expressions
    data = {"rules": [{"a.*b": {"deep": ["[x]+"]}}, "plain", 3, None]}
    assert list(texts_within(data)) == [
        ("", "rules"),
        ("rules", "a.*b"),
        ("a.*b", "deep"),
        ("deep", "[x]+"),
        ("rules", "plain"),
    ]


def test_expressions_in_every_form_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = """
import re
NAMED = re.compile("named")
SHELF = {"a": (re.compile("shelved"), 1), re.compile("key"): None}
BYTES = re.compile(b"bytes")

def work(text, word):
    re.sub("substituted", "", text)
    re.search(rf"filled{word}in", text, re.IGNORECASE)
    NAMED.fullmatch(text)
    re.compile(f"{word}made")
    text.split("no expression")
"""
    (tmp_path / "expressions.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("expressions")
    found = [(pattern.pattern, method) for _, pattern, method in expressions_of(module)]
    assert sorted(found) == [
        ("filledxin", "search"),
        ("key", "search"),
        ("named", "fullmatch"),
        ("shelved", "search"),
        ("substituted", "search"),
        ("xmade", "search"),
    ]
