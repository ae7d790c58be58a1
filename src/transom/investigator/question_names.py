"""Whether a question means a feature, or something whose name has the feature's name in it.

"Parcel Tracking Claims Desk" and "insurance for parcel tracking" are no "Parcel Tracking". The
words that share a noun phrase with the name decide: each must be a part of the feature's own names,
a function word, or a word for readiness. Any other word names something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Any

from transom.investigator.question_restrictions import Restriction, RestrictionReader
from transom.investigator.question_words import (
    ASKED_WORDS,
    ATTACHING_BEHIND,
    ATTRIBUTE_LEADS,
    AUXILIARIES,
    DAYS,
    DETERMINERS,
    EDITIONS,
    INTERROGATIVES,
    JOINING_BEFORE,
    JOINING_BEHIND,
    JUDGING_WORDS,
    PRONOUNS,
    ROMANCE_MODALS,
    QuestionToken,
    grammar,
    is_grammar,
    is_known,
    is_noun,
    is_status,
    tokens_of,
)
from transom.investigator.reading.speech import lexicons
from transom.investigator.reading.vocabulary import word_set
from transom.investigator.subject import without_requirements

_ASKING_FOR_PEOPLE = word_set("who whom whose wer wem wen wessen qui quién chi quem")
_ORDERS = word_set("give show tell write print send gib zeige donne donnez dame dammi")
_ASKING_FOR_THINGS = word_set(
    "which what was welche welcher welches quel quelle qué cuál quale qual welke"
)


@dataclass(frozen=True)
class _Phrase:
    """The words of a clause around a name, without those of the name."""

    before: Sequence[str]
    behind: Sequence[str]

    def foreign(self) -> Iterator[str]:
        """Yield the words that make the name a part of another name."""
        yield from self._foreign_before()
        yield from self._foreign_behind()

    def _foreign_before(self) -> Iterator[str]:
        place = len(self.before)
        # "The release of the feature NAME": the nouns between belong to the name.
        while place and is_noun(self.before[place - 1]):
            place -= 1
        if not place:
            return
        last = self.before[place - 1]
        if not is_grammar(last):
            if not self._is_verb_before(place - 1):
                yield last
            return
        # "Payment for the feature NAME": the preposition, then the word that it belongs to.
        start = place
        while start and self.before[start - 1] in grammar():
            start -= 1
        if not start:
            return
        previous_word = self.before[start - 1]
        is_joined = _joins(self.before[start:place], JOINING_BEFORE) or (
            self.before[start - 2] in DETERMINERS
            and start > 1
            and _joins(self.before[start:place], ATTACHING_BEHIND)
        )
        if not is_joined or is_known(previous_word) or self._is_verb_of_subject(start - 1):
            return
        if not self._is_asked_for(start - 1):
            yield previous_word

    def _is_verb_of_subject(self, place: int) -> bool:
        """Whether a subject stands before a word: "what we need for NAME", "podemos lançar"."""
        if not place:
            return False
        previous = self.before[place - 1]
        if previous == "on" and place > 1 and not is_grammar(self.before[place - 2]):
            # "The work on refunds for NAME", not the French "on doit livrer NAME".
            return False
        # "Who has to act on NAME?"
        is_deed = self.before[0] in _ASKING_FOR_PEOPLE and previous in AUXILIARIES | {"to"}
        return is_deed or previous in PRONOUNS | ROMANCE_MODALS

    def _is_asked_for(self, place: int) -> bool:
        """Whether a word says what is asked about a feature: "what changed in NAME", "give me a
        summary of NAME", but not "is the summary of NAME ready".
        """
        first = self.before[0]
        is_order = "verb look" in lexicons()["en"].classes(first) or first in _ORDERS
        is_question = first in INTERROGATIVES | _ASKING_FOR_PEOPLE
        return self.before[place] in ASKED_WORDS and (is_question or is_order)

    def _is_verb_before(self, place: int) -> bool:
        word = self.before[place]
        previous = self.before[place - 1] if place else ""
        if self._is_verb_of_subject(place):
            return True
        if word.endswith("ing") and self.before[0] in INTERROGATIVES:
            # "What is delaying NAME?"
            return all(map(is_grammar, self.before[:place]))
        if is_status(word):
            # "Can we approve NAME", but not "is the open NAME".
            return previous not in ATTRIBUTE_LEADS | DETERMINERS
        # "Please assess NAME."
        english = lexicons()["en"]
        is_order = all(other in english.leads for other in self.before[:place])
        return is_order and bool({"verb judge", "verb look"} & english.classes(word))

    def _foreign_behind(self) -> Iterator[str]:
        place = 0
        while place < len(self.behind) and is_noun(self.behind[place]):
            place += 1
        if place == len(self.behind):
            return
        word, words_behind = self.behind[place], self.behind[place + 1 :]
        if word in JOINING_BEHIND or word in ATTACHING_BEHIND:
            noun = next((other for other in words_behind if other not in DETERMINERS), "")
            is_attached = word in JOINING_BEHIND or any(map(is_status, words_behind[1:]))
            if noun and is_attached and not is_known(noun):
                yield noun
        elif is_grammar(word):
            return
        elif is_status(word):
            # A clause has one predicate: "is NAME Pass ready", "can we ship NAME Pass".
            if (words_behind and is_status(words_behind[0])) or any(map(is_status, self.before)):
                yield word
        elif not self._is_predicate(word, words_behind):
            yield word
            yield from takewhile(lambda other: not is_known(other), words_behind)

    def _is_predicate(self, word: str, rest: Sequence[str]) -> bool:
        """Whether an unknown word must be the predicate, since the clause has no other."""
        if not self.before or set(self.before) & INTERROGATIVES:
            return False
        if self.before[-1] not in AUXILIARIES | PRONOUNS or word[0].isdigit():
            return False
        if re.fullmatch(r"v\d.*", word):
            return False
        if rest and not is_grammar(rest[0]) and not is_noun(rest[0]):
            return False
        # "The release" is no predicate.
        states = (
            other
            for article, other in zip(["", *rest], rest, strict=False)
            if article not in DETERMINERS
        )
        return not any(map(is_status, [*self.before, *states]))


def _joins(function_words: Sequence[str], prepositions: frozenset[str]) -> bool:
    """Whether a preposition ties a name to the word before: "confident are we in NAME" does not."""
    for word in function_words:
        if word in prepositions:
            return True
        if word in PRONOUNS | AUXILIARIES:
            return False
    return False


def foreign_words(
    question: str,
    feature: Mapping[str, Any],
    fits: Callable[[str], bool],
    *,
    words_of_others: Collection[str] = (),
) -> list[str]:
    """Return the words beside a feature's name that make it the name of something else.

    Args:
        question: the question as it was asked.
        feature: the feature's row with its names.
        fits: tells whether a word, in the singular, may be meant for one of the feature's name; it
            counts if the question has no name of the feature as a whole.
        words_of_others: the words of other features' names, in lower case.
    """
    tokens = tokens_of(without_requirements(question))
    own_places = _own_places(tokens, feature, fits)
    foreign = list[str]()
    for first, last in _groups(sorted(own_places)):
        foreign += _phrase(tokens, first, last).foreign()
        foreign += _capitals_beside(tokens, first, last)
        for part in _restrictions(tokens, own_places, first, last):
            foreign += part.narrower(words_of_others)
    return list(dict.fromkeys(foreign))


def phrases_left_out(
    question: str, feature: Mapping[str, Any], fits: Callable[[str], bool]
) -> list[str]:
    """Return the phrases of a question that may restrict a name, but name no narrower product.

    The feature as a whole is judged, and the asker is told that these were not considered.
    """
    tokens = tokens_of(without_requirements(question))
    own_places = _own_places(tokens, feature, fits)
    left_out = list[str]()
    for first, last in _groups(sorted(own_places)):
        for part in _restrictions(tokens, own_places, first, last):
            if not part.is_certain and not list(part.narrower(())):
                left_out.append(part.text)
    return list(dict.fromkeys(left_out))


def _own_places(
    tokens: Sequence[QuestionToken], feature: Mapping[str, Any], fits: Callable[[str], bool]
) -> set[int]:
    """Return the places of the words that stand for a feature's name."""
    names = [str(feature[name] or "") for name in ("summary", "feature_id", "jira_key", "folder")]
    own_places = _whole_names(tokens, names)
    if own_places:
        own_words = {word.text for name in names for word in tokens_of(name)} - grammar()
        for place, token in enumerate(tokens):
            if token.text in own_words:
                own_places.add(place)
        return own_places
    for place, token in enumerate(tokens):
        if fits(token.text):
            own_places.add(place)
    return own_places | _shortened_places(tokens, own_places, names[0])


def _restrictions(
    tokens: Sequence[QuestionToken], own_places: set[int], first: int, last: int
) -> Iterator[Restriction]:
    """Yield what may restrict a name, in asides and behind the predicate."""
    reader = RestrictionReader(tokens, own_places)
    end = last + 1
    while end < len(tokens) and not tokens[end].opens:
        end += 1
    yield from reader.behind_predicate(last + 1, end)
    yield from reader.asides(first, last)


def asks_for_more(question: str, names: Sequence[str]) -> bool:
    """Whether a question asks for a thing or a person, and not only whether a feature is ready.

    "Which components", "who approved", but not "what about" and "what is the status".

    Args:
        names: the names of the feature that the question is about.
    """
    tokens = tokens_of(without_requirements(question))
    own_places = _whole_names(tokens, names)
    for place, token in enumerate(tokens[:-1]):
        word, behind = token.text, tokens[place + 1].text
        if word not in INTERROGATIVES | PRONOUNS or not (token.opens or place == 0):
            continue
        if word in _ASKING_FOR_PEOPLE:
            return True
        if word in _ASKING_FOR_THINGS and place + 1 not in own_places:
            return not is_known(behind)
    return False


def _whole_names(tokens: Sequence[QuestionToken], names: Sequence[str]) -> set[int]:
    """Return the places of the words that together are one of the names."""
    texts = [token.text for token in tokens]
    places = set[int]()
    for name in names:
        name_words = [token.text for token in tokens_of(name)]
        for start in range(len(texts) - len(name_words) + 1):
            # Names are compared word by word: "tracking" is no part of "backtracking".
            if name_words and texts[start : start + len(name_words)] == name_words:
                places.update(range(start, start + len(name_words)))
    return places


def _shortened_places(
    tokens: Sequence[QuestionToken], own_places: set[int], summary: str
) -> set[int]:
    """Return the places of words that stand for words of a name: "QR code kiosk" for "QR Check-Out
    Kiosk". Between two words that are neighbours in the name, a word makes another name.
    """
    texts = [token.text for token in tokens]
    name = [token.text for token in tokens_of(summary)]
    neighbours = set(pairwise(name))
    places = set[int]()
    for place in range(1, len(texts) - 1):
        if {place - 1, place + 1} <= own_places and (
            texts[place - 1],
            texts[place + 1],
        ) not in neighbours:
            places.add(place)
    return places


def _groups(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last of each row of places that follow each other."""
    first = 0
    for number, place in enumerate(places):
        if number + 1 == len(places) or places[number + 1] != place + 1:
            yield places[first], place
            first = number + 1


def _phrase(tokens: Sequence[QuestionToken], first: int, last: int) -> _Phrase:
    start, end = first, last + 1
    while start and not tokens[start].opens:
        start -= 1
    # A colon behind the name opens no clause: "NAME: mobile".
    while end < len(tokens) and (
        not tokens[end].opens or (end == last + 1 and tokens[end].before.strip() == ":")
    ):
        end += 1
    behind = []
    for token in tokens[last + 1 : end]:
        if not token.is_possessive:
            behind.append(token.text)
    return _Phrase([token.text for token in tokens[start:first]], behind)


def _capitals_beside(tokens: Sequence[QuestionToken], first: int, last: int) -> Iterator[str]:
    """Yield usual words beside a name that are written as a part of it: "NAME Go", "Our NAME"."""
    other_tokens = [token for place, token in enumerate(tokens) if not first <= place <= last]
    if not any(token.spelling.islower() for token in other_tokens[1:]):
        return
    for place in (first - 1, last + 1):
        if not 0 < place < len(tokens) or tokens[max(place, first)].opens:
            continue
        token = tokens[place]
        if token.text in DAYS or tokens[place].opens:
            continue
        is_function_word = is_grammar(token.text)
        is_usual = is_status(token.text) or token.text in EDITIONS | JUDGING_WORDS
        is_usual = is_usual or is_function_word
        # "IT NAME", "NAME US": a country or a department, no pronoun.
        is_acronym = is_function_word and token.spelling.isupper() and len(token.spelling) == 2
        if is_acronym or (is_usual and token.spelling.istitle()):
            yield token.text
