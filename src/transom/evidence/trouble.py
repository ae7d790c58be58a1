"""Find words of trouble in lines, statuses, keys and entries of documents.

    finder = TroubleFinder("eda")
    finder.in_line("0 errors, 5 hold violations")     -> violations
    finder.in_line("buffer max_cap1762 placed")       -> nothing: a name
    TroubleFinder("release").in_status("on hold")     -> on hold
    TroubleFinder("release").in_entry("open_defects", 3)

Phrases that a rule explains are taken out of a line, and the rest is read. No line is left out
because a word in it is harmless.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from transom.evidence.denials import shipped_denials
from transom.evidence.lexicon import EXPLAINED, JOINED_SCRIPT, WordMeaning, shipped_lexicon
from transom.evidence.names import is_part_of_name, key_words
from transom.evidence.nothing_seen import shipped_nothing_finder
from transom.evidence.numbers import PrintedNumber, read_number
from transom.evidence.units import PERCENT
from transom.evidence.vocabulary import Place, TextField, shipped_vocabulary, system_messages

_CUT = " ; "
_MOST_SHAPES = 100_000
_LONGEST_STATUS = 6
# Without digits, lines that differ in their numbers only are alike.
_NO_DIGITS = str.maketrans("", "", "0123456789")
# Time stamps, brackets and signs before a message.
_BEFORE_MESSAGE = re.compile(
    r"(?:\s+|\[[^\]\n]{0,40}\]|\([^)\n]{0,40}\)|[^\w\s(\[]+|\d[\d:./T,Z+-]*)*"
)
_EXCEPTION = re.compile(r"\b[A-Za-z_.]*[a-z](?:Error|Exception|Fault|Failure)\b")
_EXCEPTION_SHAPE = r"[a-z](?:error|exception|fault|failure)\b"
_BETWEEN_WORDS = re.compile(r"[_\s-]+|(?<=[a-z])(?=[A-Z])")
_PLURAL = re.compile(r"(?<=[A-Za-z])\(s\)")
_JOINED_RUN = re.compile(rf"{JOINED_SCRIPT}+")
# `num_errors=3` in running text
_PAIR = re.compile(
    r"(?<![\w/\\.$-])([A-Za-z]\w*)[\"']?\s*[:=]\s*[\"']?(-?\d[\d.,]*|true|yes)\b", re.IGNORECASE
)
_LABELLED = re.compile(r"[^:=|]{1,40}?\s*[:=|]\s*(?P<value>[^:=|]{1,60})")


@dataclass(frozen=True)
class Trouble:
    """A word of trouble that no rule explains.

    Attributes:
        word: the word as it is written.
        state: the state that it means, such as `failed` or `partial`.
        place: where it was read.
    """

    word: str
    state: str
    place: Place


@dataclass(frozen=True)
class _Hit:
    """A word of the vocabulary in a text."""

    start: int
    end: int
    meaning: WordMeaning


class TroubleFinder:
    """Finds the trouble of one field of texts.

    Args:
        field: the field that the texts are of.
        explained: phrases that the format or the site explains; they are taken out of a line.
        with_system: also know the messages of this machine's operating system.
    """

    def __init__(
        self,
        field: TextField = "all",
        explained: Sequence[re.Pattern[str]] = (),
        *,
        with_system: bool = True,
    ) -> None:
        self._lexicon = shipped_lexicon(field, with_system=with_system)
        self._rules = _rules(field)
        # Other texts count what was looked at in words of their own.
        self._nothing = shipped_nothing_finder() if field == "eda" else None
        self._explained = (*explained, *self._rules.harmless)
        self._system = system_messages() if with_system else frozenset[str]()
        self._quiet_shapes = set[str]()

    def in_line(self, line: str) -> tuple[Trouble, ...]:
        """Return the unexplained trouble of a line of a log, a report or a document."""
        # Lines repeat apart from their numbers, so that most shapes are searched only once.
        shape = line.translate(_NO_DIGITS)
        if shape in self._quiet_shapes:
            return ()
        lower = shape.lower()
        if self._lexicon.pattern.search(lower) or self._rules.signals.search(lower):
            return self._read(line)
        if line.strip().lower() in self._system:
            return (Trouble(line.strip(), "system", "text"),)
        if self._nothing is not None and self._rules.looked_at.search(lower):
            # The number decides, so that lines of this shape are not alike.
            return self._read(line) if self._nothing.may_be_in(line) else ()
        if len(self._quiet_shapes) >= _MOST_SHAPES:
            self._quiet_shapes.clear()
        self._quiet_shapes.add(shape)
        return ()

    def in_status(self, value: str) -> tuple[Trouble, ...]:
        """Return the trouble of a status, a decision or a result, such as `on hold`."""
        if self.is_nothing(value):
            return (Trouble(value.strip(), "denied", "status"),)
        # InProgress, CHANGES_REQUESTED and on-hold are written as words.
        words = _BETWEEN_WORDS.sub(" ", value.replace("'", ""))
        if len(words.split()) > _LONGEST_STATUS:
            return self._read(value)
        return self._words_in(self._without_explained(words.lower()), ["status"])

    def in_key(self, key: str) -> tuple[Trouble, ...]:
        """Return the trouble that a key names, such as `open_defects`; a setting names none."""
        words = key_words(key)
        if self._rules.settings.intersection(words):
            return ()
        return self._words_in(self._without_explained(" ".join(words)), ["key"])

    def in_entry(self, key: str, value: object) -> tuple[Trouble, ...]:
        """Return the trouble of a key with its value, as in a JSON document.

        `failed: 0` is none, `failed: 3` is; `approved: false` is, since it denies a good state.
        """
        troubles = self.in_key(key)
        if self.is_nothing(value):
            words = set(key_words(key))
            is_good = bool(words & self._rules.good) and not words & self._rules.settings
            if troubles or value is None or not is_good:
                return ()
            return (Trouble(f"{key}: {value}", "denied", "key"),)
        if troubles:
            return troubles
        return self.in_status(value) if isinstance(value, str) else ()

    def is_nothing(self, value: object) -> bool:
        """Return whether a value stands for zero or nothing: 0, `none`, an empty list."""
        if value is None or value is False:
            return True
        if isinstance(value, list | tuple | dict | set):
            return not value
        if isinstance(value, str) and value.strip().casefold() in self._rules.nothing:
            return True
        number = read_number(value)
        # "0 failed" counts something, and says more than nothing.
        if not isinstance(number, PrintedNumber) or number.unit not in ("", PERCENT):
            return False
        return number.value == 0

    def _read(self, line: str) -> tuple[Trouble, ...]:
        """Return the trouble of a line that has a word of the vocabulary."""
        text = self._without_explained(line)
        # "0 error(s)" is the plural of the word.
        text = _PLURAL.sub("s  ", text)
        if not text.isascii():
            text = _JOINED_RUN.sub(r" \g<0> ", text)
        troubles = list(self._words_in(text, ["text", "prefix", "status"]))
        for pattern, state in self._rules.numbered:
            match = pattern.search(text)
            if match is not None:
                troubles.append(Trouble(match[0], state, "text"))
        if self._nothing is not None and (count := self._nothing.find(text)):
            troubles.append(Trouble(count, "nothing looked at", "text"))
        for match in _EXCEPTION.finditer(text):
            troubles.append(Trouble(match[0], "crashed", "text"))
        mark = self._rules.marks.search(text)
        if mark is not None:
            troubles.append(Trouble(mark[1], "error", "prefix"))
        for pair in _PAIR.finditer(text):
            troubles += self._in_pair(pair[1], pair[2])
        if not troubles and line.strip().lower() in self._system:
            troubles.append(Trouble(line.strip(), "system", "text"))
        return tuple(dict.fromkeys(troubles))

    def _without_explained(self, text: str) -> str:
        """Return a text without the phrases that are explained."""
        for phrase in self._explained:
            text = phrase.sub(_CUT, text)
        return text

    def _words_in(self, text: str, places: Sequence[Place]) -> tuple[Trouble, ...]:
        """Return the words of a text that mean trouble at one of these places, and are not denied.

        In a line a word of the place `prefix` must begin its message, and one of the place
        `status` must stand behind a label, unless these are the only places.
        """
        lower = text.lower()
        # The lower case of a few letters is longer; then positions count in lower case.
        original = text if len(lower) == len(text) else lower
        hits = list[_Hit]()
        opening: _Hit | None = None
        skeleton = list[str]()
        position = 0
        for match in self._lexicon.pattern.finditer(lower):
            if is_part_of_name(original, match.start(), match.end()):
                continue
            hit = _Hit(match.start(), match.end(), self._lexicon.meaning_of(match[0]))
            if hit.meaning.is_ordinary:
                continue
            # "No path" is bad news and "No errors" is good; a denial stays written in the skeleton.
            if match[0] in self._rules.denials:
                opening = opening or hit
                continue
            hits.append(hit)
            skeleton += [lower[position : hit.start], hit.meaning.kind]
            position = hit.end
        skeleton.append(lower[position:])
        explained = shipped_denials().explain("".join(skeleton))
        signs = [sign for sign in explained if "\ue000" <= sign <= EXPLAINED]
        message = _BEFORE_MESSAGE.match(original)
        label = _LABELLED.fullmatch(original.rstrip(" .;\n"))
        spans = {
            "key": (0, 0),
            "text": (0, len(original)),
            "prefix": (message.end(), message.end()) if message else (0, 0),
            "status": label.span("value") if label else (-1, -1),
        }
        troubles = list[Trouble]()
        if opening is not None and "prefix" in places and opening.start == spans["prefix"][0]:
            state = opening.meaning.states.get("prefix")
            if state is not None and _begins_with(explained, lower[opening.start : opening.end]):
                word = original[opening.start : opening.end]
                troubles.append(Trouble(word, state, "prefix"))
        for hit, sign in zip(hits, signs, strict=True):
            if sign == EXPLAINED:
                continue
            for place in places:
                begin, end = spans[place] if len(places) > 1 else (0, len(original))
                state = hit.meaning.states.get(place)
                if state is not None and begin <= hit.start <= end:
                    troubles.append(Trouble(original[hit.start : hit.end], state, place))
                    break
        return tuple(troubles)

    def _in_pair(self, key: str, value: str) -> tuple[Trouble, ...]:
        """Return the trouble of `num_errors=3`; the names of instances and nets are none."""
        words = key_words(key)
        if len(words) < 2 or self.is_nothing(value):
            return ()
        troubles = self.in_key(key)
        trouble_words = {word for trouble in troubles for word in trouble.word.split()}
        other_words = set(words) - trouble_words - self._rules.counting
        return () if other_words else troubles


def _begins_with(explained: str, word: str) -> bool:
    """Return whether a message still begins with a word after its denials were explained."""
    before = _BEFORE_MESSAGE.match(explained)
    return before is not None and explained.startswith(word, before.end())


@dataclass(frozen=True)
class _Rules:
    """The parts of the vocabulary beside its words, compiled.

    Attributes:
        signals: finds in a shape in lower case what else the vocabulary knows beside words.
        looked_at: finds in it a verb of what a check does.
    """

    signals: re.Pattern[str]
    looked_at: re.Pattern[str]
    numbered: tuple[tuple[re.Pattern[str], str], ...]
    marks: re.Pattern[str]
    harmless: tuple[re.Pattern[str], ...]
    good: frozenset[str]
    settings: frozenset[str]
    counting: frozenset[str]
    nothing: frozenset[str]
    denials: frozenset[str]


@lru_cache(maxsize=4)
def _rules(field: TextField) -> _Rules:
    """Return the compiled rules of the shipped vocabulary for a field of texts."""
    vocabulary = shipped_vocabulary()
    patterns = [pattern for pattern in vocabulary.patterns if pattern.is_of(field)]
    marks = [re.escape(mark) for mark in vocabulary.marks]
    hints = [re.escape(word) for pattern in patterns for word in pattern.words]
    signals = [*hints, *(mark.lower() for mark in marks), _EXCEPTION_SHAPE]
    numbered = [(re.compile(pattern.pattern, re.IGNORECASE), pattern.state) for pattern in patterns]
    return _Rules(
        signals=re.compile("|".join(signals)),
        # An underscore parts the words of a key.
        looked_at=re.compile(
            rf"(?<![a-z0-9])(?:{'|'.join(shipped_nothing_finder().signals)})(?![a-z0-9])"
        ),
        numbered=tuple(numbered),
        marks=re.compile(rf"^\s*(?:\S+\s+){{0,3}}?({'|'.join(marks)})(?!\w)"),
        harmless=tuple(re.compile(phrase, re.IGNORECASE) for phrase in vocabulary.harmless),
        good=frozenset(vocabulary.good),
        settings=frozenset(vocabulary.settings),
        counting=frozenset(vocabulary.counting),
        nothing=frozenset(vocabulary.nothing),
        denials=frozenset(word for words in vocabulary.denials.values() for word in words),
    )
