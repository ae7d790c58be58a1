"""Patterns of a JSON Schema as servers take them: many refuse a whole request for one that their grammars do not know.

An answer, and what a tool is called with, is held to the pattern here in any case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from transom.canonical import Json
from transom.llm.hosted.schema import Schema, with_parts

Taken = Callable[[str], str | None]
"""A pattern as a server takes it; None where it would refuse it."""

_SIGNS = re.compile(r"\\.|\(\?:|.", re.S)
_SETS: Mapping[str, str] = {"\\d": "0-9", "\\w": "A-Za-z0-9_"}
_OPENAI = re.compile(r"(?:[^\\(]|\((?!\?)|\(\?:|\\[^A-Za-z0-9]|\\[dDwWsSnrtfv])*")
_STRICTER = frozenset({"not", "if", "then", "else", "maxContains"})
_QUANTITY = r"(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})?(?![*+?{])"
_GRAMMAR = re.compile(
    rf'\^(?:(?:[^\\^$.|?*+()\[\]{{}}"]|\.|\\[.^$|?*+()\[\]{{}}]|\[\^?[^\[\]\\"^]+\]|\)){_QUANTITY}|\((?!\?)|\|)*\$'
)
"""What llama.cpp's server and Ollama's make a grammar of: anchored at both ends, and of letters' classes no names."""


def openai_pattern(pattern: str) -> str | None:
    """As OpenAI and Azure take it: without lookaround, references back and what else is not regular."""
    return pattern if _OPENAI.fullmatch(pattern) else None


def grammar_pattern(pattern: str) -> str | None:
    """As servers take it that make a grammar of it by themselves; such a server may be behind any address."""
    made, inside = [], False
    for sign in _SIGNS.findall(pattern):
        inside = sign == "[" or (inside and sign != "]")
        if sign in _SETS:
            made.append(_SETS[sign] if inside else f"[{_SETS[sign]}]")
        else:
            made.append("(" if sign == "(?:" and not inside else sign)
    text = "".join(made)
    return text if _GRAMMAR.fullmatch(text) else None


def with_patterns(schema: Schema, taken: Taken) -> dict[str, Json]:
    """The schema with such patterns alone as a server takes; the others are told in descriptions."""
    refused: list[str] = []
    made = _with_patterns(schema, taken, refused)
    return _loosened(made) if refused else made


def _with_patterns(schema: Schema, taken: Taken, refused: list[str]) -> dict[str, Json]:
    """See `with_patterns`; `refused`: takes in the others."""
    made = with_parts(schema, lambda part: _with_patterns(part, taken, refused))
    if not isinstance(pattern := made.get("pattern"), str):
        return made
    if (kept := taken(pattern)) is not None:
        return {**made, "pattern": kept}
    refused.append(pattern)
    del made["pattern"]
    about = made.get("description")
    told = f"It matches the regular expression {pattern}"
    return {**made, "description": f"{about} {told}" if isinstance(about, str) and about else told}


def _loosened(schema: Schema) -> dict[str, Json]:
    """The schema without what becomes stricter where a part says less: one of several alone, none, not so many."""
    made = with_parts(schema, _loosened)
    several = made.pop("oneOf", None)
    if several is not None:
        made.setdefault("anyOf", several)
    return {key: value for key, value in made.items() if key not in _STRICTER}
