"""Words and stems of a text, for search and for finding duplicates."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"\d++(?>(?:\.\d++)?)(?>(?:e[+-]?\d++)?)|[^\W_]+")
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_VOWEL = re.compile(r"[aeiouy]")
# As in stopp(ing), and not as in miss, fall and buzz.
_DOUBLED = re.compile(r"([b-df-hj-km-np-rtv-y])\1$")
_SHORTEST = 3  # letters of a stem
_PLURALS = (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("s", ""))
"""Endings of plurals, and what they become; the first that a word has counts."""


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case.

    `getJiraData` and `get_jira_data` are three words, `1e-8` is one.
    """
    return _WORD.findall(_HUMPS.sub(" ", text).lower())


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return a word without the most common English endings.

    Meshes, meshed and meshing get the same stem. Numbers are unchanged, and so are
    words with letters beyond ASCII.
    """
    if word[0].isdigit() or not word.isascii():
        return word
    word = _singular(word)
    for ending in ("ing", "ed"):
        start = word.removesuffix(ending)
        # "string" has no vowel in front of its ending: it is not a form of a verb.
        if start != word and len(start) >= _SHORTEST and _VOWEL.search(start):
            return _DOUBLED.sub(r"\1", start)
    # "cache" has to get the stem of "caching".
    return word.removesuffix("e") if len(word) > _SHORTEST + 1 else word


def _singular(word: str) -> str:
    for ending, replacement in _PLURALS:
        singular = word.removesuffix(ending) + replacement
        if not word.endswith(ending) or len(singular) < _SHORTEST:
            continue
        # "class", "status" and "analysis" are not plurals.
        if ending == "s" and word.endswith(("ss", "us", "is")):
            return word
        return singular
    return word


def stems_of(text: str) -> list[str]:
    """Return the stems of a text's words, in order."""
    return [stem(word) for word in words_of(text)]
