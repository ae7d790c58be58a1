"""Questions on features that are similar to one, such as "which features had issues like X"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from transom.investigator.features import Feature
from transom.investigator.question_words import NEUTRAL_WORDS, OPENING, is_grammar
from transom.investigator.reading.dependency_sentences import NamedThing
from transom.investigator.reading.vocabulary import plain_words
from transom.investigator.sources import DataFolder

_SIMILAR: Final = r"\b(?:similar|comparable|alike|resembl\w+|ähnlich\w*|vergleichbar\w*)"
_FEATURES: Final = r"\b(?:features?|products?|epics?|projects?|ones|produkte?n?|funktionen)\b"
_ISSUES: Final = r"\b(?:issues?|problems?|findings?|failures?|gaps?|probleme?|fehler)\b"
_BETWEEN: Final = rf"(?: (?!{_FEATURES}|{_ISSUES})[\w-]+){{0,3}}? "
# "Similar payment features": the words between are the topic.
_ATTRIBUTE: Final = re.compile(
    rf"{_SIMILAR}(?P<topic>(?: [\w'-]+){{0,4}}?) {_FEATURES}", re.IGNORECASE
)
_PREDICATE: Final = re.compile(rf"{_FEATURES}{_BETWEEN}{_SIMILAR}", re.IGNORECASE)
_SAME_ISSUES: Final = re.compile(
    rf"(?:{_SIMILAR}|\bsame){_BETWEEN}{_ISSUES}|{_ISSUES}{_BETWEEN}{_SIMILAR}", re.IGNORECASE
)
# "Similar to payments that failed UAT": the name ends before the clause.
_NAME: Final = (
    r"(?P<name>[^?!.,;]{1,80}?) ?"
    r"(?=$|[?!.,;]|\b(?:that|which|who|with|and|or|had|have|has|in|for|when|die|mit)\b)"
)
_COMPARED: Final = re.compile(rf"{_SIMILAR} (?:to|with|zu)\b {_NAME}", re.IGNORECASE)
# "Features like X", "issues as bad as those of X".
_LIKE: Final = re.compile(
    rf"(?:{_FEATURES}|(?P<issues>{_ISSUES})){_BETWEEN}(?:like|as(?: \w+ as)?|wie)\b {_NAME}",
    re.IGNORECASE,
)
_ASKS_FOR_VERDICT: Final = re.compile(
    OPENING + r"(?:is|are|can|could|should|may|was|were|has|does|did|ist)(?: (?:the|our|we))* ",
    re.IGNORECASE,
)
_THIS_FEATURE: Final = frozenset(
    ("it", "this", "this feature", "this one", "that", "the feature", "ours", "us")
)
_NO_TOPIC: Final = NEUTRAL_WORDS | {"other", "most", "earlier", "past", "previous", "older", "all"}


@dataclass(frozen=True)
class SimilarQuestion:
    """What a question on similar features asks for.

    Attributes:
        rest: the question without the words for similar, the names and the topic.
        reference: the feature that others are compared with; None if none is known.
        topic: what the features are about; "" for anything.
        wants_same_issues: whether the open criteria are compared, not the dependencies.
    """

    rest: str
    reference: Feature | None
    topic: str
    wants_same_issues: bool


def asks_for_similar(question: str) -> bool:
    """Whether a question is about features that are similar to one."""
    text = " ".join(question.split())
    if _ATTRIBUTE.search(text) or _PREDICATE.search(text):
        return True
    # "Who had similar issues" may ask for people, so the features must be spoken of.
    return _speaks_of_features(text) and _SAME_ISSUES.search(text) is not None


def _speaks_of_features(text: str) -> bool:
    return re.search(_FEATURES, text, re.IGNORECASE) is not None


def similar_question(question: str, data: DataFolder, own_name: str) -> SimilarQuestion | None:
    """Return what a question on similar features asks for; None for another question.

    Args:
        own_name: the feature that was spoken of, for which "it" and a bare "similar" stand.
    """
    text = " ".join(question.split())
    own = [feature for feature in data.features if own_name and own_name == feature.summary]
    like = _LIKE.search(text) if _speaks_of_features(text) else None
    # "Like" compares with a feature; "not ready as of today" does not.
    if like and not (own and _is_this_feature(like["name"])):
        like = like if any(_find(feature, like["name"]) for feature in data.features) else None
    if not like and not asks_for_similar(text):
        return None
    named_features = [feature for feature in data.features if _find(feature, text)]
    for feature in named_features:
        # "Is NAME as ready as similar features?" asks for the verdict on NAME.
        match = _find(feature, text)
        if match and _ASKS_FOR_VERDICT.fullmatch(text[: match.start()]):
            return None
    attribute, compared = _ATTRIBUTE.search(text), _COMPARED.search(text)
    topic = _topic(attribute["topic"]) if attribute else ""
    if not named_features and compared and not _is_this_feature(compared["name"]):
        # What no feature is called is looked for in their names and documents.
        topic = _topic(compared["name"])
        if not topic:
            return None
        own = []
    reference = next(reversed(named_features or own), None)
    is_on_issues = _SAME_ISSUES.search(text) is not None or bool(like and like["issues"])
    return SimilarQuestion(_rest(text, named_features, topic), reference, topic, is_on_issues)


def _is_this_feature(name: str) -> bool:
    return name.strip().casefold() in _THIS_FEATURE


def _topic(text: str) -> str:
    """Return the words of a phrase that say what features are about."""
    topic_words = []
    for word in plain_words(text):
        if not is_grammar(word) and word not in _NO_TOPIC:
            topic_words.append(word)
    return " ".join(topic_words)


def _names(feature: Feature) -> list[str]:
    names = (feature.summary, feature.feature_id, feature.jira_key, feature.folder)
    usable = list[str]()
    for name in dict.fromkeys(names):
        if NamedThing(name).is_named:
            usable.append(name)
    return usable


def _find(feature: Feature, text: str) -> re.Match[str] | None:
    for name in _names(feature):
        match = NamedThing(name).find(text)
        if match:
            return match
    return None


def _rest(text: str, named: list[Feature], topic: str) -> str:
    """Return a question without what was understood of it."""
    for feature in named:
        while match := _find(feature, text):
            text = f"{text[: match.start()]} {text[match.end() :]}"
    for word in topic.split():
        text = re.sub(rf"\b{re.escape(word)}\b", " ", text, flags=re.IGNORECASE)
    understood = rf"{_SIMILAR}|{_FEATURES}|\b(?:like|those|found|find|finds|same|past|earlier)\b"
    return re.sub(understood, " ", text, flags=re.IGNORECASE)
