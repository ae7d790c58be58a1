"""Readings that come near a description which no grammar understands: shown to a person, and
never chosen here.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rapidfuzz import fuzz, process

from transom.checklist.item import ReadsAs
from transom.checklist.rules.analysis import write_analysis
from transom.checklist.rules.chart import Row
from transom.checklist.rules.forms import normal
from transom.checklist.rules.grammar import Language
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.meaning import needed, parameters_of, read_as
from transom.checklist.rules.reading import Reading, shorter_readings
from transom.checklist.rules.shapes import Domain, KnownItem
from transom.errors import NeedsModel

MOST: Final = 3

_ALIKE: Final = 80  # of 100: so much alike are a slip and the word that was meant
_LONG: Final = 4  # letters of a word that may be a slip, a plural, or a name among small words
_CONTEXT: Final = 0.5  # what a word counts that a domain uses, and that names nothing of it
_STRANGE: Final = 0.7  # what a word weighs that no domain uses; the rarest known one weighs about 2
_NEAR: Final = 0.3  # the least share of a description that a reading must explain


@dataclass(frozen=True)
class _Topic:
    """Subject that a reading may have: items of one domain.

    Attributes:
        names: words by which they are called.
        context: other words of the domain.
        things: of each thing that they are of, words by which no other thing of the domain is
            called.
    """

    language: Language
    items: tuple[KnownItem, ...]
    names: frozenset[str]
    context: frozenset[str]
    things: tuple[frozenset[str], ...]

    @property
    def domain(self) -> Domain:
        return self.language.domain


def near_readings(
    text: str, knowledge: Knowledge, *, requirements: int | None = None, waivers: int | None = None
) -> list[ReadsAs]:
    """Up to three readings that come near, the nearest first; none where nothing does.

    `requirements` and `waivers` are the item's values, None for N/A: what knows no patterns is not
    proposed for some.
    """
    small = _small(knowledge)
    named = [one for one in knowledge.languages if re.search(one.domain.called or "", text)]
    topics = [topic for language in named for topic in _topics(language, small)]
    words = _respelled(normal(text), knowledge, topics)
    weights = _weights(words, topics, small)
    found: list[tuple[float, int, int, int, ReadsAs]] = []
    for topic in topics:
        things = len({item.entity for item in topic.items})
        for turn, told in enumerate(_parametrised(topic, words, knowledge)):
            score = _score(topic, told, weights)
            if score >= _NEAR:
                found.append((-round(score, 3), turn, things, -len(topic.items), told))
    ranked = [told for *_, told in sorted(found, key=lambda one: one[:-1])]
    near = [*_shorter(text, knowledge), *ranked]
    single = (told for at, told in enumerate(near) if told not in near[:at])
    fitting = (
        told for told in single if _fits(read_as(told, text, knowledge), requirements, waivers)
    )
    return list(itertools.islice(fitting, MOST))


def _shorter(text: str, knowledge: Knowledge) -> Iterator[ReadsAs]:
    """Readings of the description without a word or two."""
    for reading in shorter_readings(text, knowledge):
        known = parameters_of(reading.domain, reading.items, knowledge)
        given = {name: value for name, value in reading.choices.items() if name in known}
        yield ReadsAs(reading.domain.domain, tuple(item.key for item in reading.items), given)


def _fits(reading: Reading, requirements: int | None, waivers: int | None) -> bool:
    try:
        write_analysis(reading, requirements, waivers)
    except NeedsModel:
        return False
    return True


def _respelled(words: Sequence[str], knowledge: Knowledge, topics: Sequence[_Topic]) -> list[str]:
    """The words, each that nobody knows replaced by a known one that is spelled almost alike."""
    spoken = (language.vocabulary for language in knowledge.languages)
    known = frozenset[str]().union(*spoken, *(topic.names | topic.context for topic in topics))
    long = sorted(word for word in known if len(word) >= _LONG and word.isalpha())

    def meant(word: str) -> str:
        if word in known or len(word) < _LONG or not word.isalpha():
            return word
        found = process.extractOne(word, long, scorer=fuzz.ratio, score_cutoff=_ALIKE)
        return found[0] if found else word

    return [meant(word) for word in words]


def _weights(words: Sequence[str], topics: Sequence[_Topic], small: set[str]) -> dict[str, float]:
    """Weight of each word: the fewer domains use it the more, and a small word nothing."""
    spoken = {(t.domain.domain, word) for t in topics for word in t.names | t.context}
    used = Counter(word for _, word in sorted(spoken))
    domains = len({topic.domain.domain for topic in topics})
    told = [word for word in words if word.isalpha() and (word in used or word not in small)]
    return {word: math.log(1 + domains / used[word]) if word in used else _STRANGE for word in told}


def _score(topic: _Topic, told: ReadsAs, weights: Mapping[str, float]) -> float:
    """The share of the description's weight that a reading explains; 0 where nothing of it is
    called by its name.
    """
    chosen = _words(_templates(topic.domain, told.parameters.items()))
    by_name = sum(weight for word, weight in weights.items() if word in topic.names | chosen)
    around = sum(
        weight for word, weight in weights.items() if word in topic.context - topic.names - chosen
    )
    narrowing = [
        (name, value) for name, value in told.parameters.items() if name in topic.domain.narrows
    ]
    named = any(
        word in weights for word in topic.names | _words(_templates(topic.domain, narrowing))
    )
    if len({thing.isdisjoint(weights) for thing in topic.things}) > 1:
        return 0.0  # one of its things is named, and another one is not
    return (by_name + _CONTEXT * around) / sum(weights.values()) if named else 0.0


def _parametrised(topic: _Topic, words: Sequence[str], knowledge: Knowledge) -> Iterator[ReadsAs]:
    """The topic with what the description says of its parameters: both relations of a limit
    where it names none.
    """
    known = parameters_of(topic.domain, topic.items, knowledge)
    row = Row(words)
    amount = _said(topic.language, row, "{number:limit} {unit_word}")
    if amount and "zero" in known:
        return  # a number is named, so zero is not meant
    wanted = {name for item in topic.items for name in needed(item)}
    usual = [item.limit.usual for item in topic.items if item.limit]
    given: dict[str, list[str]] = {}
    for name, values in known.items():
        found = (
            amount.get(name)
            or (_said(topic.language, row, f"{{{name}}}").get(name) if values else None)
            or []
        )
        if name == "relation":
            found = found or list(dict.fromkeys([*usual, "ge", "le"]))
        elif name in wanted:
            found = found or list(values)
        if len(found) == 1 or (found and name == "relation"):
            given[name] = found
    if wanted <= given.keys():
        for each in itertools.product(*given.values()):
            chosen = dict(zip(given, each, strict=True))
            keys = [
                item.key for item in topic.items if item.when in (None, *chosen, *chosen.values())
            ]
            left = [
                item
                for item in topic.domain.items
                if item.when in chosen.values() and item.key not in keys
            ]
            if keys and not left:
                yield ReadsAs(topic.domain.domain, tuple(keys), chosen)


def _said(language: Language, row: Row, template: str) -> dict[str, list[str]]:
    """The choices that the words make by a template; a longer way of saying one hides the
    shorter ones within it.
    """
    form = language.grammar.compile(template)
    found: dict[str, list[str]] = {}
    at = 0
    while at < len(row.words) - 1:
        end, match = max(form.ends(row, at), key=lambda one: one[0], default=(at + 1, None))
        for name, value in match.choices if match else ():
            found[name] = list(dict.fromkeys([*found.get(name, []), value]))
        at = end
    return found


def _topics(language: Language, small: set[str]) -> Iterator[_Topic]:
    """All things of a domain together, each by itself, and each item by itself; items of one
    `when` at a time.
    """
    domain = language.domain
    told = {
        entity.key: _words(_called(domain, (entity.name, *entity.words)))
        for entity in domain.entities
    }
    every = Counter(word for words in told.values() for word in words)
    things = {
        key: frozenset(word for word in words if every[word] == 1) for key, words in told.items()
    }
    told_of = (text for item in domain.items for text in (item.purpose, item.passes, item.fails))
    around = {*language.vocabulary, *_words([domain.question, domain.extracts, *told_of])} - small
    claimed = _words(_needed(say) for one in domain.claims for say in one.subject)
    groups: dict[tuple[str, ...], list[KnownItem]] = {}
    for when in dict.fromkeys(item.when for item in domain.items):
        about = [item for item in domain.items if item.when in (None, when)]
        by_thing = [[item for item in about if item.entity == key] for key in things]
        groups |= {
            tuple(one.key for one in group): group
            for group in (about, *by_thing, *([one] for one in about))
        }
    for items in filter(None, groups.values()):
        keys = dict.fromkeys(item.entity for item in items if item.entity)
        mine = set[str]().union(*(told[key] for key in keys))
        called = (
            _words([domain.title, *(text for item in items for text in (item.name, *item.hints))])
            | mine
        )
        names = {word for word in called if word not in small or len(word) >= _LONG} | (
            claimed - small
        )
        others = every.keys() - mine
        own = tuple(things[key] for key in keys)
        yield _Topic(
            language,
            tuple(items),
            frozenset(names - others),
            frozenset(around - names - others),
            own,
        )


def _templates(domain: Domain, chosen: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Templates that say choices."""
    for name, value in chosen:
        words = domain.lists.get(name)
        yield from words.get(value, ()) if isinstance(words, dict) else ()


def _small(knowledge: Knowledge) -> set[str]:
    """Words of the language that say nothing of a matter."""
    common = knowledge.common
    lists = [words for words in common.lists.values() if not isinstance(words, dict)]
    return _words(
        [*common.waiver_words, *common.frames, *(say for words in lists for say in words)]
    )


def _called(domain: Domain, templates: Iterable[str]) -> Iterator[str]:
    """Templates without their optional parts, and the words of the choices that they name."""
    choices = domain.choices()
    for template in map(_needed, templates):
        yield template
        named = [name for name in re.findall(r"\{(\w+)", template) if name in choices]
        yield from _templates(domain, ((name, value) for name in named for value in choices[name]))


def _needed(template: str) -> str:
    """A template without its optional parts."""
    while (shorter := re.sub(r"\[[^\[\]]*\]", " ", template)) != template:
        template = shorter
    return template


def _words(told: Iterable[str]) -> set[str]:
    """The words of templates and sentences, each also without the s of a plural."""
    found = {
        word
        for text in told
        for word in normal(re.sub(r"\{[^{}]*\}|[\[\]()|]", " ", text))
        if word.isalpha()
    }
    return found | {word[:-1] for word in found if word.endswith("s") and len(word) > _LONG}
