"""Reading a description word for word: every sentence must fit a form of one domain, or the
rules abstain.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from transom.checklist.rules.chart import NUMBER, SOFT, Row, is_number
from transom.checklist.rules.forms import MAX_WORDS, FormError, Match, normal, sentences
from transom.checklist.rules.grammar import Language, Speech
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.plan import items_for
from transom.checklist.rules.saying import SentenceKind
from transom.checklist.rules.shapes import Domain, KnownItem
from transom.errors import InputError, NeedsModel, NotUnderstood

WHERE: Final = "description"

# Where a sentence may fall into clauses that must each be understood by itself. No word of a
# condition is among them.
_JOINTS: Final = frozenset({"and", "but", "while", "whereas", "with", "where"}) | SOFT
# What follows these explains; a claim behind them would be a condition of the one before.
_EXPLAINING: Final = frozenset({"with", "where"})

# In longer sentences nothing is sought that would make them shorter.
_SHORT: Final = 40

_BRACKETED: Final = re.compile(r"\(([^()]*)\)")


@dataclass(frozen=True)
class Clause:
    """A sentence, or a part of one, and what it does."""

    text: str
    kind: SentenceKind
    means: str
    match: Match


@dataclass(frozen=True)
class Reading:
    """Meaning of a description: items and things in the order of the domain, and what narrows
    it.
    """

    domain: Domain
    items: tuple[KnownItem, ...]
    entities: tuple[str, ...]
    choices: Mapping[str, str]
    clauses: tuple[Clause, ...]

    @property
    def waive_hints(self) -> tuple[str, ...]:
        return tuple(clause.text for clause in self.clauses if clause.kind == "waive")


def read_description(text: str, knowledge: Knowledge) -> Reading:
    """Read a description.

    Raises:
        NeedsModel: no domain understands all of it, or more than one does; with the words.
        InputError: a form of a knowledge file cannot be read.
    """
    told = sentences(text)
    if not told:
        raise NeedsModel([NotUnderstood(text.strip() or "(nothing)", WHERE)])
    readers = [_Reader(language, knowledge) for language in knowledge.languages]
    readings = [(reader, [reader.read(sentence) for sentence in told]) for reader in readers]
    full = [
        (reader, [clauses for clauses in found if clauses])
        for reader, found in readings
        if all(found)
        and any(clause.kind == "claim" for clauses in found for clause in clauses or ())
    ]
    if len(full) > 1:
        names = " and ".join(reader.domain.title for reader, _ in full)
        raise NeedsModel([NotUnderstood(text.strip(), f"{WHERE}, read as {names}")])
    if not full:
        words = [
            NotUnderstood(words, f"{WHERE}: it would change what is asked")
            for words, _ in _shorter(told, readings)
        ]
        raise NeedsModel(words[:1] or _not_understood(told, readings))
    return _reading(full[0][0].domain, full[0][1])


def shorter_readings(text: str, knowledge: Knowledge) -> list[Reading]:
    """Readings of a description without one or two of its words, the fewest first."""
    told = sentences(text)
    readers = [_Reader(language, knowledge) for language in knowledge.languages]
    found = [
        reading
        for _, reading in _shorter(
            told, [(one, [one.read(said) for said in told]) for one in readers]
        )
    ]
    return [reading for reading in found if reading]


# What a row of clauses says -> the first such row that was found. Its length is the same for all
# that are kept.
_Parses: TypeAlias = dict[tuple[object, ...], tuple[Clause, ...]]


class _Reader:
    """One domain, reading a sentence."""

    def __init__(self, language: Language, knowledge: Knowledge) -> None:
        self.domain = language.domain
        self._language = language
        self._file = knowledge.files[language.domain.domain]

    @cached_property
    def _speeches(self) -> tuple[Speech, ...]:
        try:
            return self._language.speeches
        except FormError as error:
            raise InputError(str(error), place=self._file) from error

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Every word of a sentence that can be read."""
        return (self._language.vocabulary if self._speeches else frozenset()) | _JOINTS

    def read(self, sentence: str) -> list[Clause] | None:
        """The clauses of a sentence; None where a word is left over, or where it can be read in
        two ways.
        """
        words = normal(sentence)
        spelled = self._language.spelled | _JOINTS
        if any(word.isalpha() and word not in spelled for word in words):
            return None  # nothing of the domain needs to be compiled for that
        if not words or len(words) > MAX_WORDS or any(map(self.foreign, words)):
            return None
        parses = _Clauses(words, self._speeches).parses()
        if len(parses) == 1:
            return list(next(iter(parses.values())))
        return None if parses else self._lifted(sentence)

    def foreign(self, word: str) -> bool:
        return word not in self.vocabulary and not (NUMBER in self.vocabulary and is_number(word))

    def shortened(self, words: Sequence[str], length: int) -> tuple[str, tuple[Clause, ...]] | None:
        """So many words in a row without which the rest would be read, and as what; None where
        there are none.
        """
        foreign = {at for at, word in enumerate(words) if self.foreign(word)}
        for at in range(len(words) - length + 1) if len(words) <= _SHORT else ():
            run = words[at : at + length]
            if foreign <= set(range(at, at + length)) and all(word.isalpha() for word in run):
                rest = [*words[:at], *words[at + length :]]
                parses = _Clauses(rest, self._speeches).parses() if rest else {}
                if len(parses) == 1:
                    return " ".join(filter(self.foreign, run)) or " ".join(run), next(
                        iter(parses.values())
                    )
        return None

    def _lifted(self, sentence: str) -> list[Clause] | None:
        """The sentence without what stands in brackets, and that by itself."""
        inner = _BRACKETED.findall(sentence)
        told = [_BRACKETED.sub(" ", sentence), *inner] if inner else []
        found = [self.read(part) for part in told]
        return (
            [clause for clauses in found for clause in clauses or ()]
            if found and all(found)
            else None
        )


class _Clauses:
    """All ways in which a sentence falls into clauses; only the ways with the fewest count."""

    def __init__(self, words: Sequence[str], speeches: Sequence[Speech]) -> None:
        self._row = Row(words)
        self._words = list(words)
        self._speeches = speeches
        self._done: dict[int, _Parses] = {}

    def parses(self) -> _Parses:
        return self._from(self._past(0, SOFT))

    def _from(self, at: int) -> _Parses:
        if at not in self._done:
            found = [parse for parses in self._begun(at) for parse in parses.items()]
            fewest = min((len(clauses) for _, clauses in found), default=0)
            kept: _Parses = {}
            for says, clauses in found:
                if len(clauses) == fewest:
                    kept.setdefault(says, clauses)
            self._done[at] = kept
        return self._done[at]

    def _begun(self, at: int) -> Iterator[_Parses]:
        """Every first clause, with all that may follow it."""
        for speech in self._speeches:
            for end, match in speech.form.ends(self._row, at):
                if self._words[end - 1] in SOFT:
                    continue  # the same clause ends before its punctuation
                clause = Clause(" ".join(self._words[at:end]), speech.kind, speech.means, match)
                said = (speech.kind == "claim", match if speech.kind != "waive" else None)
                start = self._past(end, _JOINTS)
                if self._past(end, SOFT) == len(self._words):
                    yield {(said,): (clause,)}
                elif end < start < len(self._words):
                    explains = not _EXPLAINING.isdisjoint(self._words[end:start])
                    rest = self._from(start).items()
                    yield {
                        (said, *says): (clause, *clauses)
                        for says, clauses in rest
                        if not (explains and clauses[0].kind == "claim")
                    }

    def _past(self, at: int, passed: frozenset[str]) -> int:
        while at < len(self._words) and self._words[at] in passed:
            at += 1
        return at


def _reading(domain: Domain, told: Sequence[Sequence[Clause]]) -> Reading:
    """Reading that the clauses of all sentences give together."""
    clauses = [clause for sentence in told for clause in sentence]
    named = {key for clause in clauses if clause.kind == "claim" for key in clause.match.things}
    keys = [entity.key for entity in domain.entities]
    for clause in clauses:
        if (
            clause.kind not in ("claim", "waive")
            and named
            and not named.issuperset(clause.match.things)
        ):
            raise NeedsModel([NotUnderstood(clause.text, f"{WHERE}: no claim is about that")])
    choices: dict[str, str] = {}
    for clause in clauses:
        for name, value in clause.match.choices:
            if clause.kind != "waive" and choices.setdefault(name, value) != value:
                raise NeedsModel(
                    [NotUnderstood(clause.text, f"{WHERE}: {name} is {choices[name]} before it")]
                )
    # Two sentences that claim something, of which only one is narrowed, speak of different things.
    claims = [[clause for clause in sentence if clause.kind == "claim"] for sentence in told]
    if (
        len(
            {
                frozenset(choice for clause in found for choice in clause.match.choices)
                for found in claims
                if found
            }
        )
        > 1
    ):
        said = [clause.text for found in claims for clause in found][-1]
        raise NeedsModel(
            [NotUnderstood(said, f"{WHERE}: it asks for something else than what stands before")]
        )
    entities = tuple(key for key in keys if key in named or not named)
    return Reading(
        domain, tuple(items_for(domain, entities, choices)), entities, choices, tuple(clauses)
    )


def _shorter(
    told: Sequence[str], readings: Sequence[tuple[_Reader, list[list[Clause] | None]]]
) -> Iterator[tuple[str, Reading | None]]:
    """One or two words without which all would be understood, which is why they may not be
    passed over; and as what.
    """
    for length in (1, 2):
        for reader, found in readings:
            lost = [
                sentence for sentence, clauses in zip(told, found, strict=True) if clauses is None
            ]
            if len(lost) == 1 and (short := reader.shortened(normal(lost[0]), length)):
                try:
                    yield (
                        short[0],
                        _reading(reader.domain, [clauses or short[1] for clauses in found]),
                    )
                except NeedsModel:
                    yield short[0], None


def _not_understood(
    told: Sequence[str], readings: Sequence[tuple[_Reader, list[list[Clause] | None]]]
) -> list[NotUnderstood]:
    """The words that the nearest domain lacks, else the sentences that fit no form of it.

    The fewer domains know a word, the more it says of which one is meant.
    """
    lacking = [_foreign(told, reader) for reader, _ in readings]
    lacked = Counter(word for words in lacking for word in words)

    def distance(at: int) -> tuple[float, int]:
        rare = sum(
            1 / (len(readings) - lacked[word])
            for word in lacking[at]
            if lacked[word] < len(readings)
        )
        return rare, sum(clauses is None for clauses in readings[at][1])

    reader, found = readings[min(range(len(readings)), key=distance)]
    if foreign := _foreign(told, reader):
        return [NotUnderstood(word, WHERE) for word in foreign]
    lost = [sentence for sentence, clauses in zip(told, found, strict=True) if clauses is None]
    return [NotUnderstood(sentence, WHERE) for sentence in lost or told]


def _foreign(told: Sequence[str], reader: _Reader) -> list[str]:
    return list(
        dict.fromkeys(
            word for sentence in told for word in normal(sentence) if reader.foreign(word)
        )
    )
