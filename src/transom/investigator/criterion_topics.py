"""Tells which criteria the words of a sentence are about."""

from __future__ import annotations

import re
from collections.abc import Mapping

from transom.investigator.reading.vocabulary import singular
from transom.investigator.result import CriterionResult
from transom.investigator.wording import fold, words

# Shorter beginnings are shared by chance: "test" and "testify".
LEAST_COGNATE = 5
_SHARED = 0.6


def topic_words(row: CriterionResult) -> frozenset[str]:
    """Return the words of a criterion's name, id and source that say what it is about."""
    text = fold(f"{row.name} {row.id} {row.source.rpartition('/')[2]}".replace("_", " "))
    states = {match.start() for match in words().marks.finditer(text)}
    topics = set()
    for match in re.finditer(r"\S+", text):
        word = singular(match[0])
        spoken = _canonical(match[0])
        if spoken:
            topics.add(spoken)
        elif match.start() not in states and word not in words().generic and not word.isdigit():
            topics.add(word)
    return frozenset(topics)


def _canonical(word: str) -> str:
    """Return the policy's word for one that people use, "" if there is none."""
    singulars = (word, singular(word))
    for topic, pattern in words().spoken.items():
        if topic in singulars or pattern.fullmatch(word):
            return topic
    return ""


def spoken_words(text: str, recognised: Mapping[str, float]) -> frozenset[str]:
    """Return the words of criteria that a clause uses, also in another language or form."""
    spoken = set()
    for word in text.split():
        own = singular(word)
        for topic, pattern in words().spoken.items():
            if topic in recognised and (topic == own or pattern.fullmatch(word)):
                spoken.add(topic)
        for other in recognised:
            if other == own or _is_cognate(own, other):
                spoken.add(other)
    return frozenset(spoken)


def _is_cognate(word: str, other: str) -> bool:
    """Whether two words begin alike, as "acceptation" and "acceptance" do."""
    shared = 0
    for sign, counterpart in zip(word, other, strict=False):
        if sign != counterpart:
            break
        shared += 1
    return shared >= max(LEAST_COGNATE, _SHARED * max(len(word), len(other)))
