"""The words of a criterion that a test must hold where the runs cannot tell what it checks."""

from __future__ import annotations

import re

from transom.stories.written_numbers import NumbersOfText, written_numbers

_QUOTED = re.compile(r"\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”")
# The names that errors have in the languages that are run here.
_ERROR = re.compile(r"\b(?:[A-Z]\w*(?:Error|Exception)|Err[A-Z]\w*)\b")


def missing_values(criterion: str, text: str) -> list[str]:
    """Return the numbers and quoted texts of a criterion that a test does not hold.

    A number is the same in any notation: 1,000 is 1_000, 12.50 is 12.5, and 50 % is 0.5.
    """
    missing: list[tuple[int, str]] = []
    rest = criterion
    for match in _QUOTED.finditer(criterion):
        value = match[1] or match[2]
        if value not in text:
            missing.append((match.start(), value))
        # What is quoted is a text, with the numbers in it.
        rest = rest.replace(match[0], " " * len(match[0]), 1)
    numbers = NumbersOfText(text)
    for number in written_numbers(rest):
        if number.text not in numbers and not any(map(numbers.has, number.forms)):
            missing.append((number.place, number.text))
    return [value for _, value in sorted(missing)]


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
