"""Patterns that people write in items and checkers: what is wrong with one, before anything is
compared with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from transom.checklist.atoms import AnyOf, CheckerConfig, Condition, Operator
from transom.formats.yaml_files import Key

REGEX = "regex:"


def regex_problem(expression: str) -> str | None:
    """Return why a regular expression (without its `regex:`) does not compile, or None."""
    try:
        re.compile(expression)
    except (re.error, RecursionError, OverflowError) as error:
        return str(error)
    return None


def is_split_regex(text: str) -> bool:
    """Return whether `|` divides a `regex:`.

    Alternatives come first, so `regex:a|b` is compared with the literal texts `regex:a` and `b`.
    """
    return text.startswith(REGEX) and "|" in text


def pattern_problem(text: str, *, waiver: bool = False) -> str | None:
    """Return why a pattern or a waiver cannot be used, or None.

    A split regex can be used as a pattern; that it misleads is for the lint to say. In a waiver
    `regex:` is always one expression, `|` included.
    """
    if not text.replace("|", "").strip():  # such a text would be contained in everything
        if waiver:
            return "an empty waiver would waive everything"
        return "an empty pattern is contained in everything"
    if text.startswith(REGEX) and (waiver or not is_split_regex(text)):
        problem = regex_problem(text.removeprefix(REGEX))
        if problem:
            return f"the regular expression {text!r} is invalid: {problem}"
        return None
    return None


def condition_problem(condition: Condition) -> str | None:
    """Return why a condition's value does not go with its operator, or None."""
    value = condition.value
    if condition.op is Operator.MATCHES:
        if not isinstance(value, str) or not value:
            return "op: matches needs a regular expression as its value"
        return regex_problem(value.removeprefix(REGEX))
    if condition.op is Operator.IN and not isinstance(value, list):
        return "op: in needs a list as its value"
    if condition.op in (Operator.LT, Operator.LE, Operator.GT, Operator.GE) and (
        isinstance(value, bool) or not isinstance(value, int | float)
    ):
        return f"op: {condition.op} needs a number as its value"
    return None


def config_problems(config: CheckerConfig) -> Iterator[tuple[str, *tuple[Key, ...]]]:
    """Yield what cannot be compared with in a configuration, and the keys where it stands."""
    for index, item in enumerate(config.items):
        for number, hint in enumerate(item.hints):
            problem = regex_problem(hint.removeprefix(REGEX)) if hint.startswith(REGEX) else None
            if problem:
                yield f"{hint!r} is invalid: {problem}", "items", index, "hints", number
        problem = condition_problem(item.condition) if item.condition else None
        if problem:
            yield f"condition: {problem}", "items", index, "condition", "value"
    for number, pattern in enumerate(config.requirements.pattern_items):
        for problem in filter(None, map(pattern_problem, parts(pattern))):
            yield problem, "requirements", "pattern_items", number
    for number, waiver in enumerate(config.waivers.waive_items if config.waivers.value else ()):
        problem = pattern_problem(waiver.pattern, waiver=True)
        if problem:
            yield problem, "waivers", "waive_items", number


def parts(pattern: str | AnyOf) -> tuple[str, ...]:
    """Return the texts that a pattern consists of; any one of them suffices."""
    if isinstance(pattern, AnyOf):
        return pattern.any_of
    return (pattern,)
