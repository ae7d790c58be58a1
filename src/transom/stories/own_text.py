"""The text of one test, found by its name in a report, and whether it checks anything."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from transom.formats.brace_functions import braces_of, without_comments

# Where another test or function begins, in languages that are not parsed.
_NEXT = re.compile(
    r"^[ \t]*(?:it|test|describe|context|suite)\s*[.(]|^func |^[ \t]*#\[(?:\w+::)?test\b"
    r"|^[ \t]*(?:pub )?(?:async )?fn |^(?:export )?(?:async )?function ",
    re.MULTILINE,
)
_GROUP = re.compile(r"\b(?:describe|suite|context|mod|class)\b[^\n]{0,200}")
_DOCUMENTATION = re.compile(r"[^\s:]{1,300}\.rs - ")
_JOINT = re.compile(r" > | › | - |[.:/]+")
# Names that checks have in the languages that are run here.
_CHECK_NAME = re.compile(
    r"_*(?:assert|expect|should|verify|check|ensure|raises|warns|throws|rejects|fail|snapshot"
    r"|panic$|(?:Error|Fatal)f?$)",
    re.IGNORECASE,
)
_CHECK_OWNERS = {"assert", "expect", "should", "require", "t", "chai"}
_REPORTING_OWNERS = {"fmt", "console", "log", "logger", "logging", "errors"}
_PASSIVE = {
    "Log",
    "Logf",
    "Run",
    "Helper",
    "Parallel",
    "Cleanup",
    "Setenv",
    "TempDir",
    "Skip",
    "plan",
}
_CALL = re.compile(r"(?:\b(\w{1,60})\s*\.\s*)?\b(\w{1,100})!?\s*\(")
_STATEMENT = re.compile(
    r"\bassert\s+(?!(?:True|1)\s*(?:$|[,;#]))|\braise\b|\bthrow\b|#\[should_panic|\.should\b",
    re.MULTILINE,
)
_HEADER = re.compile(r"\b(?:def|fn|func|function|class)\s+(?:\([^()\n]{0,80}\)\s*)?\w+")
_STRING = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`[^`]{0,2000}`")
_HELPER_IMPORT = re.compile(
    r"^from (?:\.\S{0,80}|\S{0,80}(?:test|helper|support|util|fixture)\S{0,40})"
    r" import ([^\n]{1,300})"
    r"|\b(?:import|const)[ \t]{0,4}\{([^}]{1,200})\}[^\n]{0,60}"
    r"[\"']\.{1,2}/[^\"'\n]{0,80}(?:test|helper|support|util)",
    re.MULTILINE,
)
_COMMENT = re.compile(r"^[ \t]*(?://|#(?!\[))[^\n]*|(?<=\s)//[^\n]*", re.MULTILINE)
_GO_OUTPUT = re.compile(r"^[ \t]*//[ \t]*(?:unordered )?output:", re.IGNORECASE | re.MULTILINE)
_HELPERS = 4
_DEFINED = re.compile(r"(?:\b(?:func|fn|function)\s+(?:\([^()\n]{0,80}\)\s*)?|\(\s{0,20}[\"'`])$")
"""What stands before the name of a test: the word of a function, or a call with a text."""
_DEFINED_SCORE = 4


def program_text(path: str, text: str) -> str:
    """Return a file without its comments: what a comment says is neither done nor checked."""
    # Go compares what an example prints with a comment of it.
    if path.endswith(".go") and _GO_OUTPUT.search(text):
        return text
    language = braces_of(path)
    if language is not None:
        return without_comments(language, text)
    return _without_comments(text) if path.endswith(".py") else text


def text_of_test(case: str, texts: Mapping[str, str]) -> str:
    """Return the text of a test; that of all test files if it is not found.

    Args:
        case: a name of the report, such as `tests.test_a.T.test_x[1]`.
        texts: path of a test file -> its text.
    """
    return _own_text(case, texts) or "\n".join(texts.values())


def has_check(case: str, texts: Mapping[str, str], code: str) -> bool:
    """Whether a test, or a function that it calls, checks anything. A test whose text is not found
    may check.

    Args:
        code: the changed code: a function of it is called, whatever its name, and checks nothing.
    """
    text = _own_text(case, texts)
    if not text:
        return True
    # Go compares what an example prints with a comment of it.
    if text.startswith("Example") and _GO_OUTPUT.search(text):
        return True
    helpers = _functions(texts)
    foreign = set[str]()
    for match in _HELPER_IMPORT.finditer("\n".join(texts.values())):
        foreign |= {*re.findall(r"\w+", match[1] or match[2])}
    seen = set[str]()
    for _ in range(_HELPERS):
        bare = _HEADER.sub("", _STRING.sub('""', _COMMENT.sub("", text)))
        if _checks(bare, code, helpers, foreign):
            return True
        further = ({*re.findall(r"\w+", bare)} & {*helpers}) - seen
        seen |= further
        text = "\n".join(map(helpers.__getitem__, sorted(further)))
    return False


def _own_text(case: str, texts: Mapping[str, str]) -> str:
    # A documentation test of Rust has the name of the function that it documents.
    if _DOCUMENTATION.match(case):
        return ""
    full_name = case.partition("[")[0]
    parts = [part for part in re.split(r"[.:/]+", full_name) if part]
    if text := _named_python(parts, texts):
        return text
    others = {path: text for path, text in texts.items() if not path.endswith(".py")}
    # A longer part of the name says more; a name may hold the signs that join names.
    starts = [0, *(match.end() for match in _JOINT.finditer(full_name))]
    names = []
    for start in starts:
        names.append((full_name[start:], full_name[:start]))
    # A row of a table in Go has the name of its test before it.
    names += [(part, "") for part in reversed(parts[:-1]) if part.startswith("Test")]
    for name, groups in names:
        for path, text in others.items():
            if own := _text_from(name, groups, path, text):
                return own
    return ""


def _named_python(parts: list[str], texts: Mapping[str, str]) -> str:
    """Return the functions whose full names have the most parts in common with a name."""
    best = 1
    found = dict[str, None]()
    for path, text in texts.items():
        for name, own in _python_tests(path, text) if path.endswith(".py") else ():
            score = _common_end(parts, name)
            if score > best:
                best, found = score, {}
            if score == best:
                found[own] = None
    return "\n".join(found)


def _common_end(parts: list[str], name: list[str]) -> int:
    """Return how many parts at the end of two names are the same."""
    count = 0
    for one, other in zip(reversed(parts), reversed(name), strict=False):
        if one != other:
            break
        count += 1
    return count


def _python_tests(path: str, text: str) -> Iterator[tuple[list[str], str]]:
    """Yield the functions of a file: the parts of the full name, and the text without comments."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = _without_comments(text).splitlines()
    scopes: list[tuple[list[str], list[ast.stmt]]] = [
        ([*PurePosixPath(path).with_suffix("").parts], tree.body)
    ]
    while scopes:
        prefix, body = scopes.pop(0)
        for node in body:
            if isinstance(node, ast.ClassDef):
                scopes.append(([*prefix, node.name], node.body))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield [*prefix, node.name], _python_text(node, lines)
            else:
                for name in ("body", "orelse", "finalbody"):
                    scopes.append((prefix, getattr(node, name, [])))


def _python_text(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> str:
    """Return a function as it is written, and as it is read: each shows another notation."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    rows = {number: lines[number - 1] for number in range(first, (node.end_lineno or first) + 1)}
    # What a test promises in its documentation is not checked.
    has_documentation = ast.get_docstring(node, clean=False) is not None
    documentation = node.body[0]
    if has_documentation and documentation.lineno > node.lineno and len(node.body) > 1:
        for number in range(documentation.lineno, (documentation.end_lineno or 0) + 1):
            rows.pop(number, None)
        node.body = node.body[1:]
    read = map(ast.unparse, (*node.decorator_list, node))
    return "\n".join([*rows.values(), *read])


def _without_comments(text: str) -> str:
    rows = text.splitlines()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                line, column = token.start
                rows[line - 1] = rows[line - 1][:column]
    except (tokenize.TokenError, SyntaxError, IndexError):
        return text
    return "\n".join(rows)


def _text_from(name: str, before: str, path: str, text: str) -> str:
    """Return the text of a test from its name on, with the attributes above it; the whole text if
    the name is a row of a table or of a macro, which a loop somewhere else makes a test of.

    Args:
        before: the names of the groups that it is in.
    """
    if not name.strip():
        return ""
    groups = [part for part in _JOINT.split(before) if part]
    word = rf"(?<!\w){re.escape(name)}(?!\w)"
    best, place = -1, -1
    for match in re.finditer(word, text):
        head = text[max(match.start() - 100, 0) : match.start()]
        is_defined = bool(_DEFINED.search(head))
        is_quoted = is_defined or head.endswith(("'", '"', "`"))
        is_own = _is_in_group(text[: match.start()], groups)
        score = 4 * is_defined + 2 * is_quoted + is_own
        if score > best:
            best, place = score, match.start()
    if place < 0:
        return ""
    # In Go the loop is in the function of the table.
    if best < _DEFINED_SCORE and not path.endswith(".go"):
        return text
    # A name that is a string begins with its quote.
    if text[place - 1 : place] in ("'", '"', "`") and place:
        place -= 1
    following = _NEXT.search(text, place)
    lines = text[:place].splitlines()
    start = place
    for line in reversed(lines[:-1]):
        if not line.strip().startswith(("#[", "@")):
            break
        start = text.rindex(line, 0, start)
    return text[start : following.start() if following else len(text)]


def _is_in_group(text: str, groups: list[str]) -> bool:
    headers = _GROUP.findall(text)
    if not headers or not groups:
        return False
    return bool(re.search(rf"(?<!\w){re.escape(groups[-1])}(?!\w)", headers[-1]))


def _functions(texts: Mapping[str, str]) -> dict[str, str]:
    """Return name -> text of the functions of test files that are no tests."""
    functions: dict[str, str] = {}
    for path, text in texts.items():
        if path.endswith(".py"):
            for parts, own in _python_tests(path, text):
                functions.setdefault(parts[-1], own)
            continue
        pattern = (
            r"\b(?:func|fn|function)\s+(?:\([^()\n]{0,80}\)\s*)?(\w+)"
            r"|\b(?:const|let)\s+(\w+)\s*=[^=]"
        )
        for match in re.finditer(pattern, text):
            name = match[1] or match[2]
            following = _NEXT.search(text, match.end())
            functions.setdefault(name, text[match.end() : following.start() if following else None])
    for name in [*functions]:
        if name.lower().startswith("test"):
            del functions[name]
    return functions


def _checks(text: str, code: str, helpers: Mapping[str, str], foreign: set[str]) -> bool:
    """Whether a text without strings holds a check.

    Args:
        helpers: what the tests define, which is looked into.
        foreign: what they import from files that are not known.
    """
    if _STATEMENT.search(text):
        return True
    is_go = "testing.T" in text
    for match in _CALL.finditer(text):
        owner, name = match[1] or "", match[2]
        arguments = text[match.end() : match.end() + 40].lstrip()
        if re.match(r"(?:true|True)\s*[,)]", arguments) or name in helpers:
            continue
        if owner in _REPORTING_OWNERS or (owner == "t" and name in _PASSIVE):
            continue
        is_check = bool(_CHECK_NAME.match(name)) or owner in _CHECK_OWNERS or name in foreign
        # In Go a helper of another file gets the test.
        is_check = is_check or (is_go and bool(re.match(r"t\s*[,)]", arguments)))
        if is_check and not _defines(code, name):
            return True
    return False


def _defines(code: str, name: str) -> bool:
    words = (
        r"\b(?:def|fn|func|function|const|let|var|class|macro_rules!)\s+(?:\([^()\n]{0,80}\)\s*)?"
    )
    return bool(re.search(rf"{words}{re.escape(name)}\b", code))
