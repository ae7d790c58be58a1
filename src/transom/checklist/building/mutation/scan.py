"""Places where patterns match in a text. Complete in itself: it runs in the sandbox, as others
write the patterns.
"""

import re

MOST_HITS = 4000
LONGEST = 2000


def scan(text: str, patterns: list[str]) -> list[list[int]]:
    """Return `[line number, index of the pattern]` for every match, in the order of the lines."""
    # Patterns that do not compile keep their index, so that hits name the right one.
    compiled = [_compiled(pattern) for pattern in patterns]
    matches: list[list[int]] = []
    for number, line in enumerate(text.split("\n"), 1):
        for index, pattern in enumerate(compiled):
            if pattern is not None and len(matches) < MOST_HITS and pattern.search(line[:LONGEST]):
                matches.append([number, index])
    return matches


def _compiled(pattern: str) -> "re.Pattern[str] | None":
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None
