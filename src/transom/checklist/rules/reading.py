"""Reading a description word for word: every sentence must fit a form of one domain, or the rules abstain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from transom.checklist.rules.forms import MAX_WORDS, Form, FormError, Match, normal, sentences
from transom.checklist.rules.knowledge import Knowledge, grammar_of
from transom.checklist.rules.shapes import Domain, SentenceKind
from transom.errors import InputError, NeedsModel, NotUnderstood

WHERE: Final = "description"

# Where a sentence may fall into clauses that must each be understood by itself. No word of a condition is among them.
_JOINTS: Final = frozenset({",", ":", "and", "but", "while", "whereas", "with", "where"})


@dataclass(frozen=True)
class Clause:
    """A sentence, or a part of one, and what it does."""

    text: str
    kind: SentenceKind
    means: str
    match: Match


@dataclass(frozen=True)
class Reading:
    """What a description says.

    Attributes:
        entities: keys of the things it is about, in the order of the domain; empty where the domain names none.
        choices: what narrows it, e.g. `{"check": "setup"}`.
    """

    domain: Domain
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
    readers = [_Reader(domain, knowledge) for domain in knowledge.domains]
    readings = [(reader, [reader.read(sentence) for sentence in told]) for reader in readers]
    full = [
        (reader, [clause for clauses in found for clause in clauses or ()])
        for reader, found in readings
        if all(found) and any(clause.kind == "claim" for clauses in found for clause in clauses or ())
    ]
    if len(full) > 1:
        names = " and ".join(reader.domain.title for reader, _ in full)
        raise NeedsModel([NotUnderstood(text.strip(), f"{WHERE}, read as {names}")])
    if not full:
        raise NeedsModel(_not_understood(told, readings))
    reader, clauses = full[0]
    return _reading(reader.domain, clauses)


class _Reader:
    """One domain's forms, compiled when a sentence has no word that they lack."""

    def __init__(self, domain: Domain, knowledge: Knowledge) -> None:
        self.domain = domain
        self._file = knowledge.files[domain.domain]
        self._grammar = grammar_of(domain, knowledge.common)
        self._compiled: dict[str, Form] = {}
        forms = (*domain.forms, *knowledge.common.forms)
        things = [word for entity in domain.entities for word in entity.words]
        base = self._grammar.vocabulary([*things, "{each}", "and / , : nor as well as plus also of for in from"])
        try:
            self._forms = [
                (
                    form.kind,
                    form.means,
                    say,
                    self._grammar.vocabulary([say]) | (base if "{entities" in say else {",", ":"}),
                )
                for form in forms
                for say in form.say
            ]
            known: frozenset[str] = frozenset().union(*(vocabulary for *_, vocabulary in self._forms))
        except FormError as error:
            raise InputError(str(error), where=self._file) from error
        self.vocabulary = known | base | _JOINTS

    def read(self, sentence: str) -> list[Clause] | None:
        words = normal(sentence).split()
        if not words or len(words) > MAX_WORDS or not self.vocabulary.issuperset(words):
            return None
        return self._clauses(words, {})

    def _clauses(self, words: Sequence[str], done: dict[int, list[Clause] | None]) -> list[Clause] | None:
        """The words as one clause, else as a first clause, a joint and the rest; `done` is by the words left."""
        if len(words) not in done:
            done[len(words)] = self._split(words, done)
        return done[len(words)]

    def _split(self, words: Sequence[str], done: dict[int, list[Clause] | None]) -> list[Clause] | None:
        while words and words[-1] in (",", ":"):
            words = words[:-1]
        if (whole := self._clause(words)) is not None:
            return [whole]
        for at in range(len(words) - 2, 0, -1):
            if words[at] in _JOINTS and (first := self._clause(words[:at])) is not None:
                rest = list(words[at + 1 :])
                while rest and rest[0] in _JOINTS:
                    rest = rest[1:]
                if rest and (others := self._clauses(rest, done)) is not None:
                    return [first, *others]
        return None

    def _clause(self, words: Sequence[str]) -> Clause | None:
        present = frozenset(words)
        text = "".join(f"{word} " for word in words)
        for kind, means, say, vocabulary in self._forms:
            if vocabulary.issuperset(present) and (match := self._form(say).match(text)) is not None:
                return Clause(" ".join(words), kind, means, match)
        return None

    def _form(self, say: str) -> Form:
        if say not in self._compiled:
            try:
                self._compiled[say] = self._grammar.compile(say)
            except FormError as error:
                raise InputError(f"{error}: {say}", where=self._file) from error
        return self._compiled[say]


def _reading(domain: Domain, clauses: Sequence[Clause]) -> Reading:
    claims = [clause for clause in clauses if clause.kind == "claim"]
    named = {key for clause in claims for key in clause.match.things}
    keys = [entity.key for entity in domain.entities]
    choices: dict[str, str] = {}
    for clause in clauses:
        for name, value in clause.match.choices:
            if clause.kind != "waive" and choices.setdefault(name, value) != value:
                raise NeedsModel([NotUnderstood(clause.text, f"{WHERE}: {name} is {choices[name]} before it")])
    # Two claims of which only one is narrowed speak of different things.
    if len({clause.match.choices for clause in claims}) > 1:
        raise NeedsModel(
            [NotUnderstood(claims[-1].text, f"{WHERE}: it asks for something else than what stands before")]
        )
    return Reading(domain, tuple(key for key in keys if key in named or not named), choices, tuple(clauses))


def _not_understood(
    told: Sequence[str], readings: Sequence[tuple[_Reader, list[list[Clause] | None]]]
) -> list[NotUnderstood]:
    """The words that the nearest domain lacks, else the sentences that fit no form of it."""
    reader, found = min(
        readings,
        key=lambda pair: (len(_foreign(told, pair[0])), sum(clauses is None for clauses in pair[1])),
    )
    if foreign := _foreign(told, reader):
        return [NotUnderstood(word, WHERE) for word in foreign]
    lost = [sentence for sentence, clauses in zip(told, found, strict=True) if clauses is None]
    return [NotUnderstood(sentence, WHERE) for sentence in lost or told]


def _foreign(told: Sequence[str], reader: _Reader) -> list[str]:
    return list(dict.fromkeys(word for word in _words(told) if word not in reader.vocabulary))


def _words(told: Sequence[str]) -> Iterator[str]:
    for sentence in told:
        yield from normal(sentence).split()
