"""What the words of a sentence do in it: orders, addresses, verdicts, rules, and the language.

A sentence is cut into words. Each word, or phrase, belongs to classes of its language, such as
`bad` (a finding, a failure) or `paper` (a report, a verdict). A verb that begins a clause, or that
follows words such as *please* or *must not*, is an order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from transom.formats.yaml_files import load_yaml

_FILE: Final = Path(__file__).parent / "speech.yaml"
_DEFAULT: Final = "en"
_WORD: Final = re.compile(r"[^\W_]{1,12}n['’]t(?![^\W_])|[^\W_]+")
_CLAUSE: Final = re.compile(r"[.!?,;:–—()\[\]\"«»“”|>…]| - |--")
_CLAUSE_OF_SIGNS: Final = re.compile(r"[，。；：、,;:!?！？“”\"「」\s]+")
_KANA: Final = re.compile(r"[\u3040-\u30ff]")
_HAN: Final = re.compile(r"[\u4e00-\u9fff]")
_CYRILLIC: Final = re.compile(r"[\u0400-\u04ff]")
# Letters that hardly another of the languages has.
_LETTERS: Final = {
    "de": re.compile(r"[äöüß]"),
    "es": re.compile(r"[ñ¿¡íóáú]"),
    "fr": re.compile(r"[èêçàùâî]"),
}
_WITHOUT_SPACES: Final = frozenset({"zh", "ja"})
# Endings of forms that are no order: participles and forms of the past.
_NO_ORDER: Final = {
    "fr": ("é", "ée", "és", "ées", "ait"),
    "es": ("ado", "ada", "ados", "adas", "ido", "ida", "idos", "idas", "é", "ó", "aron"),
    "it": ("ato", "ata", "ati", "ate", "uto"),
    "de": (),
}
_RUSSIAN_ORDERS: Final = ("й", "йте", "и", "ите", "ь", "ьте", "ть", "ти", "ться", "тся", "йся")
_LONGEST_ENDING: Final = 7
# Verbs that are nouns as often: test, report. They count as orders alone.
_WEAK: Final = frozenset({"verb say", "verb look"})
_LONGEST_GAP: Final = 5
_MOST_UNKNOWN: Final = 4


class SpokenLanguage(BaseModel):
    """The words of one language, each entry a text of words parted by spaces."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    frequent: str = ""
    leads: str = ""
    verbs: dict[str, str] = Field(default_factory=dict)
    words: dict[str, str] = Field(default_factory=dict)


class Token(NamedTuple):
    """One word of a sentence in lower case; `opens` if a clause begins with it."""

    text: str
    opens: bool


@dataclass
class SpeechLexicon:
    """The classes of a language's words, by exact words, by beginnings, and by phrases."""

    name: str
    frequent: frozenset[str]
    leads: frozenset[str]
    exact: dict[str, set[str]] = field(default_factory=dict)
    beginnings: dict[str, set[str]] = field(default_factory=dict)
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = field(default_factory=dict)
    # English has orders that only the bare form of a verb can give.
    bare: frozenset[str] = frozenset()

    def add(self, entry: str, name: str) -> None:
        """Add a word or phrase to a class."""
        words = tuple(entry.lower().split("_")) if entry not in {"_", ""} else ()
        words = tuple(word for word in words if word) or (entry,)
        if len(words) > 1 or self.name in _WITHOUT_SPACES:
            self.phrases.setdefault(words[0], []).append((words, name))
        elif entry.endswith("*"):
            self.beginnings.setdefault(words[0][:-1], set()).add(name)
        else:
            self.exact.setdefault(words[0], set()).add(name)

    def classes(self, word: str) -> set[str]:
        """Return the classes of one word."""
        classes = set(self.exact.get(word, ()))
        for end in range(2, len(word) + 1):
            classes |= self.beginnings.get(word[:end], set())
        return classes


class Mention(NamedTuple):
    """A class that a word, or a phrase of `length` words, at a position has."""

    position: int
    length: int
    name: str


@lru_cache(maxsize=1)
def lexicons() -> Mapping[str, SpeechLexicon]:
    """Return the shipped lexicons by language."""
    file = load_yaml(_FILE)
    languages = {
        name: SpokenLanguage.model_validate(words) for name, words in _entries(file.data).items()
    }
    return {name: _lexicon(name, language) for name, language in languages.items()}


def _entries(data: object) -> dict[str, object]:
    if not isinstance(data, dict):
        raise TypeError("speech.yaml is no mapping")
    return data


def _lexicon(name: str, language: SpokenLanguage) -> SpeechLexicon:
    lexicon = SpeechLexicon(
        name,
        frozenset(language.frequent.split()),
        frozenset(language.leads.split()),
        bare=frozenset(
            word for verbs in language.verbs.values() for word in verbs.replace("_", " ").split()
        )
        if name == "en"
        else frozenset(),
    )
    for kind, verbs in language.verbs.items():
        for verb in verbs.split():
            for form in _english_forms(verb) if name == "en" else (verb,):
                lexicon.add(form, f"verb {kind}")
    for kind, words in language.words.items():
        for word in words.split():
            lexicon.add(word, kind)
    return lexicon


def _english_forms(verb: str) -> Iterator[str]:
    """Yield the forms of a regular verb; a phrase changes in its first word."""
    first, mark, particle = verb.partition("_")
    stem = first[:-1] if first.endswith(("e", "y")) else first
    endings = {"e": ("e", "es", "ed", "ing"), "y": ("y", "ies", "ied", "ying", "ys", "yed")}.get(
        first[-1], ("", "s", "es", "ed", "ing")
    )
    for ending in endings:
        yield f"{stem}{ending}{mark}{particle}"
    # The last consonant is doubled: skip, skipped.
    if first[-1] not in "eywx" and len(first) < 7:
        for ending in ("ed", "ing"):
            yield f"{first}{first[-1]}{ending}{mark}{particle}"


def language_of(text: str) -> str:
    """Return the language of a text: by its script, else by its words; English by default."""
    # Japanese has Chinese signs, too, so its own are looked for first.
    for name, script in (("ja", _KANA), ("zh", _HAN), ("ru", _CYRILLIC)):
        if script.search(text):
            return name
    words = [word.lower() for word in _WORD.findall(text)]
    best, highest_score = _DEFAULT, 0.0
    for name, lexicon in lexicons().items():
        if name in _WITHOUT_SPACES or name == "ru":
            continue
        score = sum(1.0 for word in words if word in lexicon.frequent)
        # Words of the lexicon are shared by languages, frequent ones hardly.
        score += sum(0.6 for word in words if lexicon.classes(word))
        letters = _LETTERS.get(name)
        if letters and letters.search(text):
            score += 2
        if score > highest_score:
            best, highest_score = name, score
    return best


@lru_cache(maxsize=4096)
def speech_of(passage: str, language: str) -> frozenset[str]:
    """Return what a passage says: the classes of its words, `order to hide`, `order not to say`."""
    lexicon = lexicons()[language]
    if language in _WITHOUT_SPACES:
        return frozenset(_features_of_signs(passage, lexicon))
    return frozenset(_features(_tokens(passage), lexicon))


def _tokens(passage: str) -> list[Token]:
    tokens: list[Token] = []
    end = 0
    for match in _WORD.finditer(passage):
        opens = not tokens or bool(_CLAUSE.search(passage, end, match.start()))
        tokens.append(Token(match[0].lower().replace("’", "'"), opens))
        end = match.end()
    return tokens


def _features(tokens: Sequence[Token], lexicon: SpeechLexicon) -> Iterator[str]:
    mentions = list(_mentions(tokens, lexicon))
    explained = set()
    for mention in mentions:
        for position in range(mention.position, mention.position + mention.length):
            explained.add(position)
    bound = any(mention.name == "order" for mention in mentions)
    for mention in mentions:
        if mention.name not in _WEAK:
            yield mention.name
        if mention.name.startswith("verb ") and _is_order(mention, tokens, lexicon, bound):
            yield f"order to {mention.name.removeprefix('verb ')}"
            if _is_negated(mention.position, tokens):
                yield f"order not to {mention.name.removeprefix('verb ')}"
    content = []
    for number, token in enumerate(tokens):
        if token.text not in lexicon.frequent and len(token.text) > 1:
            content.append(number)
    unknown = sum(number not in explained for number in content)
    yield from _strangeness(unknown, len(content))


def _strangeness(unknown: int, total: int) -> Iterator[str]:
    """Yield how much of a passage is about something else than an evaluation."""
    yield f"unknown {min(unknown, _MOST_UNKNOWN)}"
    if total:
        yield f"strange {min(4, int(5 * unknown / total))}"


def _mentions(tokens: Sequence[Token], lexicon: SpeechLexicon) -> Iterator[Mention]:
    for position, token in enumerate(tokens):
        for name in lexicon.classes(token.text):
            yield Mention(position, 1, name)
        for words, name in lexicon.phrases.get(token.text, ()):
            yield from _phrase(position, words, name, tokens)
        # A phrase may begin with a beginning of a word: "fai*_abstraction".
        for end in range(2, len(token.text) + 1):
            for words, name in lexicon.phrases.get(token.text[:end] + "*", ()):
                yield from _phrase(position, words, name, tokens)


def _phrase(
    position: int, words: Sequence[str], name: str, tokens: Sequence[Token]
) -> Iterator[Mention]:
    """Yield the mention of a phrase; `~` in it stands for up to five words: leave ... out."""
    end = position + 1
    gap = 0
    for word in words[1:]:
        if word == "~":
            gap = _LONGEST_GAP
            continue
        places = range(end, min(end + gap + 1, len(tokens)))
        place = next((place for place in places if _is_word(tokens[place].text, word)), None)
        if place is None:
            return
        end, gap = place + 1, 0
    yield Mention(position, end - position if "~" not in words else 1, name)


def _is_word(text: str, word: str) -> bool:
    return text.startswith(word[:-1]) if word.endswith("*") else text == word


def _is_order(
    mention: Mention, tokens: Sequence[Token], lexicon: SpeechLexicon, bound: bool
) -> bool:
    """Tell whether a verb is an order: by its form, and by the words before it in its clause."""
    word = tokens[mention.position].text
    if lexicon.name == "ru":
        words = tokens[mention.position : mention.position + mention.length]
        return any(token.text.endswith(_RUSSIAN_ORDERS) for token in words)
    before = mention.position - 1
    if lexicon.name == "en" and word not in lexicon.bare:
        return bound and any(
            tokens[number].text in {"be", "as"} for number in range(max(0, before), before + 1)
        )
    if word.endswith(_NO_ORDER.get(lexicon.name, ())):
        return False
    # "Die Fehler sind nicht zu melden": the infinitive at the end of a German clause.
    if lexicon.name == "de" and bound and word.endswith("n"):
        return True
    if tokens[mention.position].opens:
        return True
    # An adverb may stand between: "please simply approve", "please kindly now approve".
    for _ in range(3):
        lead = tokens[before].text
        if lead not in lexicon.leads and not lead.endswith("ly"):
            return False
        if tokens[before].opens or lead in lexicon.leads - {"and", "or", "to", "y", "et", "und"}:
            return lead != "to" or bound
        before -= 1
    return False


def _is_negated(position: int, tokens: Sequence[Token]) -> bool:
    before = {token.text for token in tokens[max(0, position - 2) : position]}
    return bool(before & {"not", "never", "don't", "nicht", "ne", "n", "no", "не", "non", "nor"})


def _features_of_signs(passage: str, lexicon: SpeechLexicon) -> Iterator[str]:
    """Yield the classes of a passage in a script without spaces."""
    explained: set[int] = set()
    for clause in re.finditer(r"[^，。；：,;:!?！？\s]+", passage):
        text, start = clause[0], clause.start()
        texts: list[tuple[int, str]] = []
        for words in lexicon.phrases.values():
            for (word, *_), name in words:
                place = text.lower().find(word)
                if place >= 0:
                    texts.append((place, name))
                    explained.update(range(start + place, start + place + len(word)))
        for place, name in texts:
            if name not in _WEAK:
                yield name
            if not name.startswith("verb "):
                continue
            kind = name.removeprefix("verb ")
            head = text[max(0, place - 10) : place]
            if place == 0 or any(lead in head for lead in lexicon.leads) or lexicon.name == "ja":
                yield f"order to {kind}"
            if any(mark in head[-3:] for mark in ("不", "别", "勿")):
                yield f"order not to {kind}"
    letters = []
    for number, sign in enumerate(passage):
        if sign.isalnum():
            letters.append(number)
    unknown = sum(number not in explained for number in letters)
    yield from _strangeness(unknown // 3, len(letters) // 3)
