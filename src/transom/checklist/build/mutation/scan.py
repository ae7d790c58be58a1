"""Where patterns match in a text. Complete in itself: it runs in the sandbox, since others write the patterns.

A pattern that backtracks without end then costs a worker and not the build.
"""

import re

MOST_HITS = 4000
LONGEST = 2000


def scan(text: str, patterns: list[str]) -> list[list[object]]:
    """`[line number, index of the pattern, {group: [start, end]}]` for every match, in the order of the lines.

    A line is tried as it is and without the marks of a comment. Groups are named as in the pattern, else by number.
    """
    compiled = [_compiled(pattern) for pattern in patterns]
    found: list[list[object]] = []
    for number, whole in enumerate(text.split("\n"), 1):
        line = whole[:LONGEST]
        inner = line.lstrip("/*#-;! \t")
        for index, pattern in enumerate(compiled):
            if pattern is None or len(found) >= MOST_HITS:
                continue
            shift, match = 0, pattern.search(line)
            if match is None and inner != line:
                shift, match = len(line) - len(inner), pattern.search(inner)
            if match is not None:
                found.append([number, index, _spans(match, shift)])
    return found


def _compiled(pattern: str) -> "re.Pattern[str] | None":
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None


def _spans(match: "re.Match[str]", shift: int) -> dict[str, list[int]]:
    names = {index: name for name, index in match.re.groupindex.items()}
    spans = {names.get(index, str(index)): match.span(index) for index in range(1, match.re.groups + 1)}
    return {name: [start + shift, end + shift] for name, (start, end) in spans.items() if start >= 0}
