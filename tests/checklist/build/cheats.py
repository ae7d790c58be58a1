"""Checkers that look right and are not: the rules' own, with words before or after theirs."""

from __future__ import annotations

from tests.acceptance.common import EXAMPLES
from tests.checklist.build.made import Made, made
from transom.checklist.atoms import LOCKED_LAYER

LOCK = LOCKED_LAYER.splitlines()[0] + "\n"


def example(name: str) -> Made:
    return made(EXAMPLES / f"{name}.yaml")


def altered(checker: Made, before: str, after: str) -> str:
    assert before in checker.code
    return checker.code.replace(before, after, 1)


def with_last_word(checker: Made, *lines: str) -> str:
    """Atom A for whole files, with lines that change its results at the end."""
    assert 'SCOPE = "line"' in checker.code
    code = altered(checker, LOCK, "".join(f"    {line}\n" for line in lines) + LOCK)
    return code.replace('SCOPE = "line"', 'SCOPE = "file"')


def with_first_word(checker: Made, *lines: str) -> str:
    """Atom A for whole files, with lines that change its text at the beginning."""
    begins = "    file = begin_context(source_file)\n"
    code = altered(checker, begins, "".join(f"    {line}\n" for line in lines) + begins)
    return code.replace('SCOPE = "line"', 'SCOPE = "file"')
