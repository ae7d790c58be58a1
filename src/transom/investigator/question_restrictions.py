"""What a question restricts a feature to, in an aside or behind the predicate.

"NAME, mobile edition, ready" and "NAME ready on Android" mean less than NAME. "On schedule", "by
2026-09-30", and "all things considered" do not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import attrgetter

from transom.investigator.question_words import (
    ATTACHING_BEHIND,
    AUXILIARIES,
    DETERMINERS,
    INTERROGATIVES,
    NARROWER_WORDS,
    PRONOUNS,
    QuestionToken,
    criterion_words,
    is_grammar,
    is_known,
    is_status,
    is_time,
)
from transom.investigator.reading.speech import lexicons
from transom.investigator.reading.vocabulary import word_set

_BRACKET = re.compile(r"[(\[–—]| - ")
# What follows these says how a thing is done, at what time, or by whose account, unless it is the
# name of a product: "in principle", "on schedule", but "on Android".
_LOOSE = word_set(
    "in on at from by for inside within under as en à sur su op auf bei para pour für"
)
# What these add belongs to the feature already, if it is a certain thing: "including the data".
_INCLUDING = word_set(
    "including incl inklusive einschließlich incluyendo compris incluso inclusief"
)
_COURTESY = word_set("thank cheer danke merci gracias grazie obrigado bedankt")
_PLATFORM_PREPOSITIONS = word_set("on auf sur su op")
_GERMAN_PARTICIPLE = re.compile(r"ge\w{2,}(?:t|en)")
_SHORT_NAME = 3  # letters: GA and QA are stages as well


@dataclass(frozen=True)
class Restriction:
    """Words that may restrict a name.

    Attributes:
        unknown: the words that belong to no question on readiness.
        is_certain: whether any such word makes the name another; else only one that looks like a
            narrower product does.
        text: the words as they are written, with those around them.
        preposition: the word before them.
        has_capitals: whether a capital tells a name in this question.
    """

    tokens: Sequence[QuestionToken]
    unknown: Sequence[str]
    is_certain: bool
    text: str = ""
    preposition: str = ""
    has_capitals: bool = False

    def narrower(self, words_of_others: Collection[str]) -> Iterator[str]:
        """Yield the words that name something narrower, or something else."""
        for token in self.tokens:
            if token.text not in self.unknown:
                continue
            is_of_another = token.spelling.lower() in words_of_others
            if self.is_certain or is_of_another or self._names_product(token):
                yield token.text

    def _names_product(self, token: QuestionToken) -> bool:
        if token.text in NARROWER_WORDS:
            return True
        is_plural = token.text != token.spelling.lower()
        if is_plural and self.preposition in _PLATFORM_PREPOSITIONS:
            return True
        is_short = token.spelling.isupper() and len(token.spelling) <= _SHORT_NAME
        if is_short and self.preposition == "for":
            return False
        return self.has_capitals and not token.spelling.islower()


class RestrictionReader:
    """Finds what may restrict the name of a feature in the words of a question."""

    def __init__(self, tokens: Sequence[QuestionToken], own_places: Collection[int]) -> None:
        self.tokens, self.own_places = tokens, own_places
        other_words = []
        for place, token in enumerate(tokens):
            if place not in own_places:
                other_words.append(token)
        # Where all words have capitals, capitals tell nothing.
        self.has_capitals = any(token.spelling.islower() for token in other_words[1:])
        german, english = lexicons()["de"].frequent, lexicons()["en"].frequent
        words = set(_texts(other_words))
        self.is_german = len(words & german) > len(words & english)

    def behind_predicate(self, start: int, end: int) -> Iterator[Restriction]:
        """Yield the phrases of prepositions behind the predicate: "ready on Android"."""
        state = start
        while state < end and not is_status(self.tokens[state].text):
            state += 1
        yield from self._phrases(self.tokens[state + 1 : end])

    def _phrases(self, words: Sequence[QuestionToken]) -> Iterator[Restriction]:
        prepositions = ATTACHING_BEHIND | _LOOSE
        for place, token in enumerate(words):
            if token.text not in prepositions:
                continue
            phrase = list(
                takewhile(lambda other: other.text not in prepositions, words[place + 1 :])
            )
            nouns = []
            for other in phrase:
                if not is_grammar(other.text):
                    nouns.append(other)
            unknown = _texts(nouns[:2])
            # "With further tests", "in your view", and "by the end of May" restrict nothing.
            if nouns and not _is_said(phrase) and not any(map(_is_of_readiness, unknown)):
                yield Restriction(
                    nouns[:2],
                    unknown,
                    is_certain=token.text not in _LOOSE,
                    text=_spelled([token, *phrase]),
                    preposition=token.text,
                    has_capitals=self.has_capitals,
                )

    def asides(self, first: int, last: int) -> Iterator[Restriction]:
        """Yield the asides that say what is meant by a name: "NAME, mobile edition, ready".

        An aside has no clause of its own. A name may itself be the aside: "the mobile edition,
        NAME".
        """
        tokens = self.tokens
        place = last + 1
        has_state = False
        while place < len(tokens) and not tokens[place].begins_sentence:
            token = tokens[place]
            has_state = has_state or is_status(token.text)
            # A bracket behind the predicate opens an aside, one behind the name belongs to it.
            is_bracket = has_state and bool(_BRACKET.search(token.before))
            if token.opens or is_bracket:
                end = self._end_of_segment(place)
                yield from self._of_aside(place, end)
                place = end
            else:
                place += 1
        start = first
        while start and not tokens[start].opens:
            start -= 1
        end = self._end_of_segment(last)
        tokens_beside = [*tokens[start:first], *tokens[last + 1 : end]]
        if start and not any(map(is_status, _texts(tokens_beside))):
            begin = start - 1
            while begin and not tokens[begin].opens:
                begin -= 1
            # "Is the mobile edition, NAME, ready" leaves its verb without a predicate.
            before = tokens[begin:start]
            is_open = before[0].text in AUXILIARIES and not tokens[start].begins_sentence
            if is_open and not any(map(is_status, _texts(before))):
                yield from self._of_aside(begin + 1, start)

    def _end_of_segment(self, place: int) -> int:
        """Return the place behind the part of a sentence that a word belongs to."""
        place += 1
        while place < len(self.tokens) and not self.tokens[place].opens:
            place += 1
        return place

    def _of_aside(self, start: int, end: int) -> Iterator[Restriction]:
        """Yield the unknown words of an aside; none of a clause, or of words to the reader."""
        aside = self.tokens[start:end]
        if self._is_remark(aside):
            return
        # "Based on the evidence", "in principle": a phrase as behind a predicate.
        lead = 1 if _is_participle(aside[0].text) else 0
        if lead < len(aside) and aside[lead].text in _LOOSE - {"as"}:
            yield from self._phrases(aside[lead:])
            return
        unknown = []
        for place, token in enumerate(aside, start):
            # The day of a month is no number of an edition.
            is_day = token.text.isdigit() and any(map(is_time, _texts(aside)))
            is_named = place in self.own_places or _is_of_readiness(token.text)
            if not is_named and not is_day and not is_time(token.text):
                unknown.append(token.text)
        is_definite = len(aside) > 1 and aside[1].text in DETERMINERS
        if aside[0].text in _INCLUDING and is_definite:
            rest_words = [word for word in unknown if word != aside[0].text]
            yield Restriction(
                aside,
                rest_words,
                is_certain=False,
                text=_spelled(aside),
                has_capitals=self.has_capitals,
            )
        elif unknown:
            yield Restriction(aside, unknown, is_certain=True)

    def _is_remark(self, aside: Sequence[QuestionToken]) -> bool:
        """Whether an aside is a clause of its own, or says how the question is meant."""
        words = _texts(aside)
        # "And if not, why", "or do we have to wait", "which we planned", "be honest"
        if set(words[:3]) & (PRONOUNS | AUXILIARIES | INTERROGATIVES) or words[0] == "be":
            return True
        # "In your opinion" speaks to the reader.
        if any(map(_addresses, words)) or words[0] in _COURTESY:
            return True
        # "Considering the failed tests"
        if words[0].endswith("ing") and all(map(_is_of_readiness, words[1:])):
            return True
        # "Owned by NAME" describes the whole.
        if len(words) > 1 and _is_participle(words[0]) and words[1] == "by":
            return True
        # "Strictly speaking", "all things considered"
        is_led = _is_adverb(words[0]) or "all" in lexicons()["en"].classes(words[0])
        if is_led and _tells_judgement(words[-1]):
            return True
        # "Kurz gesagt": in German each noun has a capital.
        is_german = self.is_german and all(token.spelling.islower() for token in aside)
        if is_german and _GERMAN_PARTICIPLE.fullmatch(words[-1]):
            return True
        return all(_is_adverb(word) or _is_of_readiness(word) for word in words)


def _texts(tokens: Sequence[QuestionToken]) -> list[str]:
    return list(map(attrgetter("text"), tokens))


def _spelled(tokens: Sequence[QuestionToken]) -> str:
    return " ".join(map(attrgetter("spelling"), tokens))


def _is_of_readiness(word: str) -> bool:
    """Whether a word belongs to a question on readiness, or to the evidence for it."""
    if is_known(word) or word in criterion_words():
        return True
    return any("proof" in lexicon.classes(word) for lexicon in lexicons().values())


def _addresses(word: str) -> bool:
    """Whether a word speaks to the reader: "your opinion"."""
    return any("you" in lexicon.classes(word) for lexicon in lexicons().values())


def _is_said(phrase: Sequence[QuestionToken]) -> bool:
    """Whether a phrase speaks of a time, of the reader, of the asker, or of all there is."""
    for token in phrase:
        if is_time(token.text) or _addresses(token.text) or token.text in PRONOUNS:
            return True
    return "all" in lexicons()["en"].classes(phrase[0].text)


def _is_participle(word: str) -> bool:
    return word.endswith("ed") or word in ("built", "led", "written", "run")


def _is_adverb(word: str) -> bool:
    """Whether a word says how; "monthly" tells an edition."""
    return word.endswith(("ly", "mente", "erweise")) and not is_time(word.removesuffix("ly"))


def _tells_judgement(word: str) -> bool:
    """Whether a word is one of judging or saying: "all things considered"."""
    for lexicon in lexicons().values():
        if lexicon.classes(word) & {"verb judge", "verb say"}:
            return True
    return False
