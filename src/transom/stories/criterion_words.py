"""The words of a criterion that a test must hold where the runs cannot tell what it checks."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

_VALUE = re.compile(r"\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|(?<![\w.])(\d+(?:\.\d+)?)(?!\w)")
# The names that errors have in the languages that are run here.
_ERROR = re.compile(r"\b(?:[A-Z]\w*(?:Error|Exception)|Err[A-Z]\w*)\b")
# Where another test begins, in languages that are not parsed.
_NEXT_TEST = re.compile(r"^\s*(?:it|test|describe)\s*[.(]|^func Test|^\s*#\[test\]", re.MULTILINE)


def text_of_test(case: str, texts: Mapping[str, str]) -> str:
    """Return the text of a test; that of all test files if it is not found.

    Args:
        case: a name of the report, such as `tests.test_a.T.test_x[1]`.
        texts: path of a test file -> its text.
    """
    full_name = case.partition("[")[0]
    name = re.split(r"[.:/]+", full_name)[-1]
    for path, text in texts.items():
        if path.endswith(".py"):
            if own := _python_text(name, text):
                return own
        elif own := _text_from(name, text) or _text_from(full_name, text):
            return own
    return "\n".join(texts.values())


def missing_values(criterion: str, text: str) -> list[str]:
    """Return the numbers and quoted texts of a criterion that a test does not hold."""
    missing = []
    for match in _VALUE.finditer(criterion):
        value = match[1] or match[2] or match[3]
        pattern = rf"(?<!\w){re.escape(value)}(?!\w)" if match[3] else re.escape(value)
        # A long number may be written in groups.
        if not re.search(pattern, text) and not re.search(pattern, re.sub(r"(?<=\d)_", "", text)):
            missing.append(value)
    return missing


def missing_errors(criterion: str, text: str, code: str) -> list[str]:
    """Return the errors that a criterion names, if a test does not name them and no line of the
    changed code raises them.
    """
    missing = []
    for name in _ERROR.findall(criterion):
        raised = rf"\b(?:raise|throw|return|panic|class|Err)\b[^\n]{{0,200}}\b{name}\b"
        if name not in text and not re.search(raised, code):
            missing.append(name)
    return missing


def _python_text(name: str, text: str) -> str:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return "\n".join(ast.unparse(part) for part in (*node.decorator_list, node))
    return ""


def _text_from(name: str, text: str) -> str:
    place = text.find(name)
    if place < 0 or not name:
        return ""
    following = _NEXT_TEST.search(text, place)
    return text[place : following.start() if following else len(text)]
