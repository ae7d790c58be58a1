"""Tests for an error whose calls have usual values for all arguments of which the criterion says
nothing: the error must be the same. Otherwise it is that of another rule.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from transom.formats.brace_functions import closing_brackets
from transom.stories.written_checks import split_at

_LITERAL = re.compile(r"-?\d[\d_.]*|\"[^\"\n]*\"|'[^'\n]*'|True|False|None|true|false|null|nil")
_NAMED = re.compile(r"(\w+)\s?=\s?(?!=)")
_EXPECTS = {
    "py": re.compile(r"\braises\(|\bassertRaises\w*+\("),
    "js": re.compile(r"\b(?:throws|rejects)\(|\.toThrow\w*\(|\.rejects\b"),
    "go": re.compile(r"\berrors\.(?:Is|As)\(|\berr == nil"),
    "rs": re.compile(r"\bErr\(|\bis_err\(|\bunwrap_err\(|\bexpect_err\("),
}
_AHEAD = {"py": 0, "js": 0, "go": 2, "rs": 0}
"""Lines behind a call that may say that it must fail."""


@dataclass(frozen=True)
class ErrorRule:
    """An error that a criterion states of some arguments of a function.

    Attributes:
        criterion: its text, whose values stay.
        tests: the tests that are claimed for it.
        function: the function that it calls for the error.
        named: the positions of the arguments that the criterion names.
        unnamed: the names of the other arguments.
    """

    criterion: str
    tests: frozenset[str]
    function: str
    named: frozenset[int]
    unnamed: tuple[str, ...]


def error_rules(
    criterion: str, tests: Collection[str], code: str, functions: Collection[str]
) -> Iterator[ErrorRule]:
    """Yield the rules of a criterion: the functions that have some arguments which it names, and
    others.

    Args:
        code: the changed code.
        functions: the names of its functions.
    """
    words = {*map(_stem, re.findall(r"[a-z]+", criterion.lower()))}
    for function in sorted(functions):
        names = _parameters(function, code)
        named = set[int]()
        unnamed: list[str] = []
        for place, name in enumerate(names):
            if words & {*map(_stem, re.findall(r"[a-z]+", _spaced(name)))}:
                named.add(place)
            else:
                unnamed.append(name)
        if named and unnamed:
            yield ErrorRule(criterion, frozenset(tests), function, frozenset(named), tuple(unnamed))


def with_usual_arguments(texts: Mapping[str, str], rule: ErrorRule) -> dict[str, str | None]:
    """Return path -> text of the test files in which a call for the error gets usual values for
    the arguments that the criterion does not name. Values that it states stay.
    """
    calls = {path: [*_calls(path, text, rule.function)] for path, text in texts.items()}
    usual: list[str] = []
    for rows in calls.values():
        for call in rows:
            if not call.expects_error and not usual:
                usual = [value for _, value in call.arguments]
    changed: dict[str, str | None] = {}
    for path, rows in calls.items():
        text = texts[path]
        for call in reversed(rows):
            if not call.expects_error or len(call.arguments) != len(usual):
                continue
            for place in reversed(range(len(usual))):
                start, value = call.arguments[place]
                is_stated = value.strip("\"'-").lower() in rule.criterion.lower()
                if place in rule.named or is_stated or _kind(value) != _kind(usual[place]):
                    continue
                text = text[:start] + usual[place] + text[start + len(value) :]
        if text != texts[path]:
            changed[path] = text
    return changed


@dataclass(frozen=True)
class _Call:
    """A call with literal arguments: the place and the text of each."""

    arguments: tuple[tuple[int, str], ...]
    expects_error: bool


def _calls(path: str, text: str, function: str) -> Iterator[_Call]:
    """Yield the calls of a function in a test file, without those that have other arguments."""
    language = PurePosixPath(path).suffix[1:]
    language = language if language in _EXPECTS else "js"
    for match in re.finditer(rf"\b{re.escape(function)}\(", text):
        end = closing_brackets(text[: match.end() + 300], match.end() - 1)
        arguments: list[tuple[int, str]] = []
        place = match.end()
        for part in split_at(text[match.end() : max(end, match.end())], ","):
            value = part.strip()
            # By name, an argument may be anywhere.
            if not _LITERAL.fullmatch(value) or _NAMED.match(value):
                break
            arguments.append((place + part.index(value), value))
            place += len(part) + 1
        else:
            yield _Call((*arguments,), _expects_error(language, text, function, match.start()))


def _expects_error(language: str, text: str, function: str, place: int) -> bool:
    """Whether a call at a place of a test file must fail."""
    before = text[:place].splitlines(keepends=True)
    behind = text[place:].splitlines()
    own = (before[-1] if before else "") + behind[0]
    near = [own]
    for line in behind[1 : 1 + _AHEAD[language]]:
        # What follows the next call is said of that one.
        if f"{function}(" in line:
            break
        near.append(line)
    if _EXPECTS[language].search("\n".join(near)):
        return True
    # The block of an expected error is deeper than its head.
    depth = len(own) - len(own.lstrip())
    head = next(
        (line for line in reversed(before[:-1]) if len(line) - len(line.lstrip()) < depth), ""
    )
    return language == "py" and bool(_EXPECTS["py"].search(head))


def _parameters(function: str, code: str) -> list[str]:
    """Return the names of the parameters of a function as the code declares them."""
    declared = re.search(
        rf"\b(?:def|fn|func|function)\s+(?:\([^()\n]{{0,80}}\)\s*)?{re.escape(function)}\s*\("
        rf"|\b{re.escape(function)}\s*=\s*(?:async\s*)?\(",
        code,
    )
    if declared is None:
        return []
    end = closing_brackets(code[: declared.end() + 500], declared.end() - 1)
    names = []
    for part in split_at(code[declared.end() : max(end, declared.end())], ","):
        name = re.search(r"\b(?!mut\b)\w+", part)
        if name and name[0] not in ("self", "cls"):
            names.append(name[0])
    return names


def _kind(value: str) -> str:
    return "text" if value[:1] in "\"'" else "number" if value[-1:].isdigit() else value


def _spaced(name: str) -> str:
    """Return the words of a name in small letters."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name).lower()


def _stem(word: str) -> str:
    return word.removesuffix("s") if len(word) > 3 else word
