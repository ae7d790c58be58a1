"""Functions of the story that a test replaces: what it then shows is its own work."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from transom.formats.brace_functions import closing_brackets
from transom.formats.source_functions import changed_functions
from transom.stories.own_text import program_text

_PUTS = re.compile(
    r"\b(?:setattr|patch(?:\.object)?|spyOn|replace|stub|mock\.method|replaceProperty)\("
)
_PLACE = re.compile(r"[\"'.](\w{1,100})[\"'][,)]|^[^\n\"']{1,80}\.(\w{1,100}),")
_SET = re.compile(
    r"^[ \t]*(?:\w{1,60}\.){1,3}(\w{1,100})\s?=\s?(?:lambda\b|\([^()\n]{0,80}\) =>|function\b)",
    re.MULTILINE,
)
# A test may watch a call, or let it fail.
_WATCHES = re.compile(r"\bwraps=|side_effect=\w*(?:Error|Exception)|\braise\b|\bthrow\b|Rejected")
_HEAD = re.compile(
    r"\b(?:def|function)\s++\w++\s*+\(\s*+(?:self\s*+,?\s*+)?\w"
    r"|\A\s*+(?:async\s++)?\w++\s*+\(\s*+\w"
)
_IMPORTED = re.compile(
    r"^[ \t]*+from[ ](?P<of>[^\s]{1,100}+)[ ]import[ ](?P<names>[^\n]{1,300}+)"
    r"|^[ \t]*+import[ ](?P<module>[^\n]{1,200}+)"
    r"|\b(?:const|let|var)[ ](?P<local>[^=\n]{1,200}+)=[ ]?(?:await[ ]import|require)\(",
    re.MULTILINE,
)
_COMPUTING = frozenset(
    (
        *("__future__", "collections", "copy", "dataclasses", "decimal", "enum", "fractions"),
        *("functools", "itertools", "json", "math", "operator", "re", "statistics", "string"),
        *("textwrap", "typing", "unicodedata"),
    )
)
# A system, a clock, chance, or an object that the function was given before.
_OUTSIDE = re.compile(
    r"\b(?:open|input|print|fetch|await|process|Date|console|globalThis|window|document)\b"
    r"|Math\.random|\b(?:self|this|cls)\.\w+\."
)


def computing_functions(code: Mapping[str, tuple[str | None, str | None]]) -> frozenset[str]:
    """Return the changed functions that compute a result of their arguments, and nothing else, in
    Python and JavaScript.

    Args:
        code: path -> (text before, text after) of files that are no tests.
    """
    computing = set[str]()
    for path, (old, new) in code.items():
        if new is None or path.endswith((".go", ".rs")):
            continue
        text = program_text(path, new)
        lines = text.splitlines()
        imported = _imported(text)
        for function in changed_functions(path, old, new):
            body = "\n".join(lines[function.first_line - 1 : function.last_line])
            names = {*re.findall(r"\w+", body)}
            if _HEAD.search(body) and not _OUTSIDE.search(body) and not names & imported:
                computing.add(function.name.rpartition(".")[2])
    return frozenset(computing)


def replaced_functions(text: str, functions: Collection[str]) -> frozenset[str]:
    """Return the functions, of some, that a test replaces by what it holds itself."""
    replaced = {match[1] for match in _SET.finditer(text)}
    for match in _PUTS.finditer(text):
        end = closing_brackets(text[: match.end() + 1_000], match.end() - 1)
        # What follows the call may say what is done instead.
        call = text[match.end() : max(end, match.end())] + ")"
        behind = text[max(end, match.end()) :].partition("\n")[0]
        place = _PLACE.search(call)
        if place is not None and not _WATCHES.search(call + behind):
            replaced.add(place[1] or place[2])
    return frozenset(replaced & {*functions})


def _imported(text: str) -> set[str]:
    """Return the names that a file imports, apart from those of modules that compute."""
    names = set[str]()
    for match in _IMPORTED.finditer(text):
        words = {*re.findall(r"\w+", match["names"] or match["module"] or match["local"] or "")}
        module = (match["of"] or "").strip("\"'").partition(".")[0]
        if module not in _COMPUTING:
            names |= words - _COMPUTING - {"as", "from", "node"}
    return names
