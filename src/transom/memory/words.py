"""Words and stems of a text, for search and for finding duplicates."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"\d++(?:\.\d++)?+(?:e[+-]?\d++)?+|[^\W_]+")
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DOUBLED = re.compile(r"([b-df-hj-km-np-rtv-y])\1$")  # as in stopp(ing); not in miss, fall and buzz
_SHORTEST = 3


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case; `getJiraData` and `get_jira_data` are three,
    `1e-8` is one.
    """
    return _WORD.findall(_HUMPS.sub(" ", text).lower())


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Strip the most common English endings: meshes, meshed and meshing are one word; numbers
    stay whole.
    """
    if word[0].isdigit() or not word.isascii():
        return word
    for ending, instead in (
        ("ies", "y"),
        ("sses", "ss"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("xes", "x"),
        ("s", ""),
    ):
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= _SHORTEST:
            word = (
                word
                if word.endswith(("ss", "us", "is")) and ending == "s"
                else word.removesuffix(ending) + instead
            )
            break
    for ending in ("ing", "ed"):
        cut = word.removesuffix(ending)
        if cut != word and len(cut) >= _SHORTEST and any(letter in "aeiouy" for letter in cut):
            return _DOUBLED.sub(r"\1", cut)
    return word.removesuffix("e") if len(word) > _SHORTEST + 1 else word


def stems_of(text: str) -> list[str]:
    """Return the stems of a text's words, in order."""
    return [stem(word) for word in words_of(text)]
