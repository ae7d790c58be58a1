"""Checks in blocks of a test, for JavaScript, TypeScript, Go and Rust: each is made to fail.

A test that passes with these failures reaches none of its checks in branches, loops and callbacks.
For Python see `reached_checks`, which is more exact: there the whole text is parsed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from transom.formats.brace_functions import (
    JAVASCRIPT,
    BraceLanguage,
    brace_functions,
    brace_pairs,
    braces_of,
    closing_brackets,
    plain_text,
)
from transom.stories.written_numbers import holds_value

_TITLED = re.compile(
    r"(?<![\w$.])(?:test|it|specify|t\.test)\s*\(\s*"
    r"([\"'`])((?:\\[^\n]|(?!\1)[^\\\n]){1,300})\1\s*,"
)
_GO_TEST = re.compile(r"func\s+Test\w*\((\w+)\s+\*testing\.T\)\s*$")
_RUST_TEST = re.compile(r"#\[(?:\w{1,40}::)?test\b")
_CHECKS = {
    "js": re.compile(
        r"(?<![\w$.])(?:assert(?:\.(?!fail\b)\w+)*|expect(?=\s*\()"
        r"|t\.(?:is|not|deepEqual|equals?|same|ok|notOk|true|false|truthy|falsy|throws\w*|regex"
        r"|like|match))(?=\s*\()"
    ),
    "rust": re.compile(r"(?<!\w)(?:debug_)?assert(?:_eq|_ne)?(?=!\s*[(\[])"),
    "go": re.compile(
        r"(?<!\w)if[ ](?P<condition>[^{}\n]{1,300}+)\{\s*+"
        r"(?P<name>\w+)\.(?:Errorf?|Fatalf?|Fail(?:Now)?)\("
        r"|^[ \t]*+(?:assert|require)\.\w+\((?P<owner>\w+)\s*,",
        re.MULTILINE,
    ),
}
# What stands before a check in the same line, if the check may not be reached.
_GUARD = re.compile(r"(?:=>|&&|\|\||\?|\belse|\bif\b[^\n]{0,200}\)|\|)\s*(?:(?:await|return)\s+)?$")
_LEAVES = re.compile(r"\breturn\b")
# A branch for another system is not taken here, and its checks are right there.
_PLACE = re.compile(
    r"platform|version|GOOS|GOARCH|\bcfg!|process\.env|Getenv|testing\.Short", re.IGNORECASE
)
# A first condition that says whether there is a result at all.
_IS_THERE = re.compile(r"(?:==\s*nil|!=\s*\"\"|\bok|\blen\([^()]{1,80}\)\s*(?:>|!=)\s*0)\s*$")


_Change = tuple[int, int, str]
"""A change of a text: start, end, and what is put there."""
_LONGEST = 2_000
"""Characters of a check, at most."""
_JOINTS = (" > ", " › ", " - ", "::", ".", "/", " ")


@dataclass(frozen=True)
class NestedChecks:
    """Test files whose checks in blocks fail.

    Attributes:
        files: path -> the changed text.
        tests: name or title of a test that has such checks -> the line of the first.
    """

    files: Mapping[str, str]
    tests: Mapping[str, int]

    def unreached(self, cases: Mapping[str, str]) -> dict[str, int]:
        """Return test -> the line of a check that it does not reach.

        Args:
            cases: test -> its result in a run with the changed files.
        """
        unreached: dict[str, int] = {}
        for case, status in cases.items():
            for name, line in self.tests.items() if status == "passed" else ():
                if case == name or case.endswith(tuple(f"{joint}{name}" for joint in _JOINTS)):
                    unreached[case] = line
        return unreached


def with_failing_checks(
    texts: Mapping[str, str], word: str, values: frozenset[str] | None = None
) -> NestedChecks:
    """Let the checks in blocks of tests fail.

    Args:
        texts: path of a test file -> its text.
        word: a random name, which the failure has.
        values: only checks that hold one of these values, which no other check of the test holds.
    """
    files: dict[str, str] = {}
    tests: dict[str, int] = {}
    names = Counter[str]()
    for path, text in texts.items():
        language = braces_of(path)
        if language is None:
            continue
        changes: list[_Change] = []
        plain = plain_text(language, text)
        for test in _tests(path, language, text, plain):
            names[test.name] += 1
            checks = [*_checks_of(test, path, plain, word)]
            if values is not None:
                checks = _holding(checks, text, values)
            replaced = [change for check in checks if check.is_nested for change in check.changes]
            if replaced:
                changes += replaced
                tests[test.name] = plain.count("\n", 0, replaced[0][0]) + 1
        if changes:
            files[path] = _declared(path, _replaced(text, changes), word)
    # One result for two tests of the same name tells of neither.
    return NestedChecks(files, {name: line for name, line in tests.items() if names[name] == 1})


@dataclass(frozen=True)
class _Test:
    """A test: its name, and the positions of its braces."""

    name: str
    opening: int
    closing: int


def _tests(path: str, language: BraceLanguage, text: str, plain: str) -> Iterator[_Test]:
    """Yield the tests of a file that have a name of their own and hold no other test."""
    closing = dict(brace_pairs(plain))
    if PurePosixPath(path).suffix in JAVASCRIPT:
        listed = []
        for match in _TITLED.finditer(text):
            head = language.head.search(plain, match.end(), match.end() + 300)
            if head is None or "${" in match[2] or (head.end() - 1) not in closing:
                continue
            # The function of the test follows its title, or its options.
            if not re.search(r"[;)]", re.sub(r"\([^()]*\)", "", plain[match.end() : head.start()])):
                listed.append(_Test(match[2], head.end() - 1, closing[head.end() - 1]))
        for titled in listed:
            if not any(titled.opening < other.opening < titled.closing for other in listed):
                yield titled
        return
    for function, opening, head_text in brace_functions(language, text):
        if path.endswith(".go"):
            if _GO_TEST.search(head_text):
                yield _Test(function.name, opening, closing[opening])
        else:
            start = opening - len(head_text)
            # The attributes of a function stand between it and what ends before it.
            attributes = re.split(r"[{};]", plain[max(0, start - 400) : start])[-1]
            if _RUST_TEST.search(attributes):
                yield _Test(function.name, opening, closing[opening])


@dataclass(frozen=True)
class _Check:
    """A check of a test: where its text starts and ends, and the changes that let it fail."""

    start: int
    end: int
    is_nested: bool
    changes: tuple[_Change, ...]


def _holding(checks: list[_Check], text: str, values: frozenset[str]) -> list[_Check]:
    """Return the checks with a value that all checks in blocks, and no others, hold."""
    holding: list[_Check] = []
    for value in sorted(values):
        rows = [check for check in checks if holds_value(text[check.start : check.end], value)]
        if all(check.is_nested for check in rows):
            holding += rows
    return [check for check in checks if check in holding]


def _checks_of(test: _Test, path: str, plain: str, word: str) -> Iterator[_Check]:
    """Yield the checks of a test."""
    kind = {".go": "go", ".rs": "rust"}.get(PurePosixPath(path).suffix, "js")
    body = plain[test.opening + 1 : test.closing]
    pairs = [
        (opening, end)
        for opening, end in brace_pairs(plain)
        if test.opening < opening and end < test.closing
    ]
    leaves = [
        match.start() + test.opening + 1
        for match in _LEAVES.finditer(body)
        if any(opening < match.start() + test.opening + 1 < end for opening, end in pairs)
    ]
    for match in _CHECKS[kind].finditer(plain, test.opening + 1, test.closing):
        start = match.start()
        around = [opening for opening, end in pairs if opening < start < end]
        line = plain[plain.rindex("\n", 0, start) + 1 : start]
        heads = [plain[plain.rindex("\n", 0, opening) + 1 : opening] for opening in around]
        is_nested = bool(around or _GUARD.search(line) or any(place < start for place in leaves))
        if kind == "go":
            changes = (*_in_go(match, line, word, is_nested=is_nested),)
            end = plain.find("}", match.end())
            yield _Check(start, max(end, match.end()), bool(changes), changes)
            continue
        end = closing_brackets(plain[: start + _LONGEST], plain.find("(", match.end()))
        is_nested = is_nested and not any(map(_PLACE.search, (*heads, line)))
        changes = ((start, match.end(), word),)
        yield _Check(start, max(end, match.end()), is_nested, changes)


def _in_go(match: re.Match[str], line: str, word: str, *, is_nested: bool) -> Iterator[_Change]:
    """Yield what replaces a check in Go: an `if` whose block reports an error."""
    name = match["name"] or match["owner"]
    failure = f'{name}.Fatal("{word}"); '
    if match["owner"]:
        if is_nested:
            place = match.end() - len(match[0].lstrip())
            yield place, place, failure
        return
    condition = match["condition"]
    # The condition of an `else` is reached only if the one before it is not met.
    if "else" in line or _PLACE.search(condition):
        return
    if is_nested:
        yield match.start(), match.start(), failure
        return
    first, joint, _ = condition.rpartition("&&")
    if joint and _IS_THERE.search(first.rstrip()) and "||" not in condition:
        start = match.start("condition") + len(first) + len(joint)
        end = match.end("condition")
        yield start, start, " (true || ("
        yield end, end, ")) "


def _replaced(text: str, changes: list[_Change]) -> str:
    pieces, end = [], 0
    for start, stop, added in sorted(changes):
        if start >= end:
            pieces += [text[end:start], added]
            end = stop
    return "".join([*pieces, text[end:]])


def _declared(path: str, text: str, word: str) -> str:
    """Return a file that declares the failing check."""
    suffix = PurePosixPath(path).suffix
    if suffix == ".go":
        return text
    if suffix == ".rs":
        rule = f'($($any:tt)*) => {{ panic!("{word}") }}'
        macro = f"#[allow(unused)]\nmacro_rules! {word} {{ {rule} }}\n"
        head = re.match(r"(?:[ \t]*(?:#!\[[^\n]*|//[^\n]*)?\n)*", text)
        place = head.end() if head else 0
        return f"{text[:place]}{macro}{text[place:]}"
    return f'{text}\n;function {word}() {{ throw new Error("{word}"); }}\n'
