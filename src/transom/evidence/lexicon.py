"""One search pattern for the vocabulary of trouble, and what each word that it finds means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from transom.evidence.vocabulary import (
    Place,
    TextField,
    Vocabulary,
    shipped_vocabulary,
    system_messages,
)

# Scripts without blanks between words: a word begins and ends anywhere.
JOINED_SCRIPT = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
_JOINED = re.compile(JOINED_SCRIPT)
_DIGIT = re.compile(r"\d")
_PLURALS = ("s", "es", "n", "en")

# The kind of a word in a sentence, written as a sign of the private use area.
STATE, NOUN, NOUNS, NEGATION, FIRM, JOINED = (
    "\ue000",
    "\ue001",
    "\ue002",
    "\ue003",
    "\ue004",
    "\ue005",
)
EXPLAINED = "\ue006"
ANY_SIGN = f"[{STATE}-{EXPLAINED}]"


@dataclass(frozen=True)
class WordMeaning:
    """The meaning of a word.

    Attributes:
        kind: `STATE` (failed, broken), `NOUN` (error), `NOUNS` (errors), `NEGATION` (not), `FIRM`
            (a state that a negation does not make good), or `JOINED` (a word of a script without
            blanks).
        states: the state of trouble that it means, by place; without an entry it means none there.
    """

    kind: str
    states: dict[Place, str]

    @property
    def is_ordinary(self) -> bool:
        """Whether the word means nothing anywhere."""
        return self.kind == STATE and not self.states


class Lexicon:
    """The words of a vocabulary that matter in one field.

    Attributes:
        pattern: finds any of the words in a text in lower case.
    """

    def __init__(self, vocabulary: Vocabulary, field: TextField, system: frozenset[str]) -> None:
        self._meanings: dict[str, WordMeaning] = {}
        states: dict[str, dict[Place, str]] = {}
        for entry in vocabulary.entries:
            if entry.is_of(field):
                for word in _words_of(entry.words):
                    for place in entry.places:
                        states.setdefault(word, {}).setdefault(place, entry.state)
        for message in system:
            # A single word, such as "Quit", is an ordinary word, too; no word has a digit.
            if " " in message and not _DIGIT.search(message):
                states.setdefault(message, {}).setdefault("text", "system")
        nouns = frozenset(_words_of(vocabulary.countable))
        plurals = {f"{noun}{ending}" for noun in nouns for ending in _PLURALS}
        plurals |= {f"{noun[:-1]}ies" for noun in nouns if noun.endswith("y")}
        for word in vocabulary.ordinary:
            states.setdefault(word, {})
        negations = frozenset(_words_of(vocabulary.negations))
        firm = frozenset(vocabulary.undeniable)
        for word in sorted({*states, *nouns, *plurals, *negations}):
            kind = _kind_of(word, nouns, plurals, negations, firm)
            self._meanings[word] = WordMeaning(kind, _states_of(word, states))
        self._forms = [
            (re.compile(_letters(word)), word) for word in self._meanings if "*" in word[:-1]
        ]
        self.pattern = re.compile(_word_pattern(self._meanings))

    def meaning_of(self, text: str) -> WordMeaning:
        """Return the meaning of a text that the pattern found."""
        word = " ".join(text.replace("’", "'").split())
        meaning = self._meanings.get(word)
        length = len(word)
        while meaning is None and length > 0:
            meaning = self._meanings.get(f"{word[:length]}*")
            length -= 1
        for form, listed in self._forms:
            if meaning is None and form.fullmatch(word):
                meaning = self._meanings[listed]
        if meaning is None:
            raise LookupError(f"{text!r} is not a word of the vocabulary")
        return meaning


def _states_of(word: str, states: dict[str, dict[Place, str]]) -> dict[Place, str]:
    """Return the states of a word; a noun that is counted may be listed by its stem alone."""
    for length in range(len(word), 2, -1):
        stem = f"{word[:length]}*"
        if word not in states and stem in states:
            return states[stem]
    return states.get(word, {})


def _words_of(words: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield the words of all languages, in lower case."""
    for listed in words.values():
        for word in listed:
            yield word.lower()


def _kind_of(
    word: str,
    nouns: frozenset[str],
    plurals: set[str],
    negations: frozenset[str],
    firm: frozenset[str],
) -> str:
    """Return the kind of a word."""
    if _JOINED.search(word):
        return JOINED
    if word in negations:
        return NEGATION
    # "not found" is a state that no second negation makes good.
    if word in firm or word.startswith("not "):
        return FIRM
    if word in nouns:
        return NOUN
    return NOUNS if word in plurals else STATE


def _word_pattern(words: Iterable[str]) -> str:
    """Return the pattern of any of these words, grouped by their first letter.

    At most places of a text no group begins, so that no alternative is tried.
    """
    groups: dict[str, list[str]] = {}
    joined = list[str]()
    # Longest first, since the first alternative that fits is taken.
    for word in sorted(words, key=lambda word: (-len(word), word)):
        if _JOINED.search(word):
            joined.append(_letters(word))
        else:
            groups.setdefault(word[0], []).append(_letters(word[1:]))
    alternatives = [
        f"{re.escape(first)}(?:{'|'.join(endings)})" for first, endings in groups.items()
    ]
    spaced = rf"(?<![^\W\d_])(?:{'|'.join(alternatives)})(?![^\W\d_])"
    return "|".join([spaced, *joined])


def _letters(word: str) -> str:
    """Return the pattern of a word, in which a `*` stands for letters."""
    pattern = re.escape(word).replace(r"\ ", r"\s+").replace("'", "['’]")
    return pattern.replace(r"\*", r"[^\W\d_]*")


@lru_cache(maxsize=16)
def shipped_lexicon(field: TextField, *, with_system: bool = True) -> Lexicon:
    """Return the lexicon of the shipped vocabulary for a field."""
    system = system_messages() if with_system else frozenset[str]()
    return Lexicon(shipped_vocabulary(), field, system)
