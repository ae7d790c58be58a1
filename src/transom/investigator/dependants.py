"""What depends on a thing that a question names, and what a named feature depends on.

The documents of all features of the data folder are read when the question is asked, so the answer
is of today. The memory adds features of earlier investigations that are not in the folder.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence, Set
from typing import Final, Literal, NamedTuple

from transom.errors import MemoryUnavailable
from transom.investigator.feature_parts import (
    DEPENDS,
    FeatureParts,
    key_of,
    listed,
    parts_by_feature,
    subjects_of,
)
from transom.investigator.features import Feature
from transom.investigator.question_words import OPENING
from transom.investigator.reading.dependency_sentences import NamedThing
from transom.investigator.reading.documents import lines_of
from transom.investigator.remembering import DEPENDS_ON, slug_of
from transom.investigator.sources import DataFolder
from transom.memory import Memory, MemoryEntry

_log = logging.getLogger(__name__)

Direction = Literal["in", "out"]

_MOST_QUOTES: Final = 8
_FEATURES: Final = (
    r"(?:features?|services?|components?|modules?|products?|systems?|teams?|projects?|epics?"
    r"|dinge|komponenten|dienste)"
)
_ON: Final = (
    r"(?:(?:depends?|depending|dependent|rely|relies|relying|based|builds?|built) (?:up)?on"
    r"|uses?|using)"
)
# The subject of the question is asked for; "what does it depend on" asks for the object. Only the
# beginning counts: "is the feature ready that uses SSO" asks for a verdict.
_ASKS_FOR_DEPENDANTS: Final = tuple(
    re.compile(OPENING + pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:(?:does|is|do|are) )?(?:what|who|anything|everything|anyone)"
        rf"(?: (?:else|all|other|that|is|are))* {_ON} (?P<thing>[^?!\n]+)",
        rf"(?:is|are) there (?:a|an|any|other)(?: other)? {_FEATURES}"
        rf" (?:that|which)(?: (?:are|is|still))* {_ON} (?P<thing>[^?!\n]+)",
        rf"how many (?:other )?{_FEATURES} {_ON} (?P<thing>[^?!\n]+)",
        rf"(?:what|which)(?: other)? {_FEATURES} (?:needs?|requires?|calls?|consumes?)"
        r" (?!(?:a|an|any|more|to|another|no|approval|sign) )(?P<thing>[^?!\n]+)",
        r"(?:(?:what|which|who) (?:is|are) )?(?:(?:the|all) )?"
        r"(?:dependants?|dependents?|consumers?) of (?P<thing>[^?!\n]+)",
        r"(?:what (?:is|would be) )?(?:the )?(?:impact|effects?|consequences?) (?:of|on|if)"
        r" (?P<thing>[^?!\n]+)",
        r"what (?:would )?happens? (?:if|when) (?P<thing>[^?!\n]+)",
        r"(?:if|when) (?P<thing>[^?!,\n]{1,80}), (?:what|which|who)\b[^?!\n]{0,60}?"
        r"\b(?:affected|impacted|breaks?|broken|stops?|fails?|suffers?|hit)\b",
        rf"(?:what|which)(?: other)? {_FEATURES} (?:does|would|will|do) (?P<thing>[^?!\n]{{1,80}}?)"
        r" (?:affect|impact|break)\b",
        rf"(?:what|which)(?: [\w-]+){{0,3}}? {_FEATURES}"
        rf"(?: (?:that|which|do|are|is|all|also|still))* {_ON} (?P<thing>[^?!\n]+)",
        rf"(?:all|the|every|any) (?:[\w-]+ )?{_FEATURES} (?:that|which)(?: (?:are|is|still))* {_ON}"
        r" (?P<thing>[^?!\n]+)",
        rf"(?:what|who|which(?: other)? {_FEATURES})\b[^?!\n]{{0,60}}?"
        r"\b(?:affected|impacted|breaks?|broken|stops?|fails?|suffers?|hit)\b(?: working)?"
        r",? (?:if|when|by|once|without|should) (?P<thing>[^?!\n]+)",
        rf"(?:was|wer|welche[rs]?)(?: {_FEATURES})? (?:hängt|hängen)(?: alles)? von"
        r" (?P<thing>[^?!\n]+?) ab\b",
        rf"(?:was|wer|welche {_FEATURES}) (?:nutzt|nutzen|benutzen|verwendet|verwenden|braucht"
        r"|brauchen|benötigt|benötigen) (?P<thing>[^?!\n]+)",
    )
)
_ASKS_FOR_DEPENDENCIES: Final = (
    re.compile(
        OPENING + r"(?:(?:what|which|are|is|all|the) )*dependenc(?:y|ies) of"
        r" (?P<thing>[^?!\n]+)",
        re.IGNORECASE,
    ),
    re.compile(
        OPENING + r"on what (?:does|do) (?P<thing>[^?!\n]{2,120}?) (?:depend|rely)\b", re.IGNORECASE
    ),
    re.compile(
        OPENING + r"what(?: [\w-]+){0,2}? (?:does|do|is|are) (?P<thing>[^?!\n]{2,120}?)"
        r" (?:depend|rely|based|dependent|built) (?:up)?on\b",
        re.IGNORECASE,
    ),
)
# "A change of X", "X is down": the thing is X.
_CHANGE_OF: Final = re.compile(
    r"^(?:(?:we|they|you|somebody|someone) (?:remove|change|drop|replace|lose|stop|switch off) "
    r"|(?:(?:a|an|the|any) )?(?:changes?|outages?|loss|failures?|removal|update|upgrade|downtime)"
    r" (?:of|to|in|at) )",
    re.IGNORECASE,
)
_TAIL: Final = re.compile(
    r",? \b(?:is|are|goes|go|fails?|breaks?|changes?|would|will|were|was|has|had|went|stops?"
    r"|crash\w*|disappears?|gets?|and (?:why|how|what|where)|today|now|currently|ausfällt)\b.*",
    re.IGNORECASE,
)
_PARTS: Final = re.compile(r"\b(?:components?|modules?|komponenten)\b", re.IGNORECASE)
_THIS_FEATURE: Final = frozenset(("it", "this", "this feature", "that", "the feature", "us", "we"))


class DependencyQuestion(NamedTuple):
    """A question on dependencies: `in` asks what depends on a thing, `out` on what it depends.

    Attributes:
        asks_for_parts: whether it asks for components, not for features.
    """

    direction: Direction
    thing: str
    asks_for_parts: bool = False


def dependency_question(question: str, own_name: str = "") -> DependencyQuestion | None:
    """Return what a question on dependencies asks for; None if it is another question.

    Args:
        own_name: the feature for which "it" stands; "" if no feature was spoken of.
    """
    text = " ".join(question.split())
    for pattern in _ASKS_FOR_DEPENDANTS:
        if match := pattern.match(text):
            asked_for = _question("in", match["thing"], own_name)
            asks_for_parts = _PARTS.search(text[: match.start("thing")]) is not None
            return asked_for and asked_for._replace(asks_for_parts=asks_for_parts)
    for pattern in _ASKS_FOR_DEPENDENCIES:
        if match := pattern.match(text):
            return _question("out", match["thing"], "")
    return None


def _question(direction: Direction, thing: str, own_name: str) -> DependencyQuestion | None:
    name = _TAIL.sub("", _CHANGE_OF.sub("", thing.strip(" .")))
    name = re.sub(r"^(?:the|a|an|our|der|die|das|dem) ", "", name, flags=re.IGNORECASE)
    name = name.strip(" .,`'\"“”")
    if name.casefold() in _THIS_FEATURE:
        name = own_name
    return DependencyQuestion(direction, name) if NamedThing(name).is_named else None


async def dependants(
    memory: Memory | None, question: str, data: DataFolder | None = None, own_name: str = ""
) -> list[str]:
    """Return sentences on what depends on a thing that a question names, with their sources.

    Args:
        data: the data of all features, whose documents are read.
        own_name: the feature for which "it" stands.

    Returns:
        No sentence for a question that asks for something else.
    """
    asked_for = dependency_question(question, own_name)
    if asked_for is None:
        return []
    features = data.features if data is not None else ()
    remembered = await _remembered(memory, asked_for, features)
    if data is None:
        return remembered
    if asked_for.direction == "out":
        return _dependencies(data, asked_for.thing) or remembered
    return _DocumentSearch(data, asked_for).sentences(remembered)


class _DocumentSearch:
    """Searches the documents of all features for a thing."""

    def __init__(self, data: DataFolder, asked_for: DependencyQuestion) -> None:
        self._data = data
        self._asked_for = asked_for
        self._thing = NamedThing(asked_for.thing)
        self._parts = parts_by_feature(data)
        # Features with the places that say that they depend on it.
        self._depending = dict[str, list[str]]()
        self._named = list[str]()
        self._silent = list[str]()

    def sentences(self, remembered: Sequence[str]) -> list[str]:
        """Return the answer: who depends, what else names the thing, and who says nothing."""
        name = self._asked_for.thing
        own_parts = list[str]()
        for feature in self._data.features:
            # The feature itself names itself in every document.
            if self._thing.find(feature.summary):
                own_parts += self._components(feature)
            elif not self._search(feature):
                self._silent.append(feature.summary)
        lines = list[str]()
        for summary, places in self._depending.items():
            lines.append(f"{summary} depends on {name} ({', '.join(dict.fromkeys(places))}).")
        indirect = self._indirect()
        lines += indirect.values()
        lines += remembered
        if not lines:
            lines.append(f"No document says that something depends on {name}.")
        lines = [*own_parts, *lines]
        for feature in self._data.features:
            if feature.summary in {*self._depending, *indirect}:
                lines += self._components(feature)
        if self._named:
            hidden_count = len(self._named) - _MOST_QUOTES
            lines.append(f"These sentences name {name}, and say nothing or something else:")
            lines += self._named[:_MOST_QUOTES]
            lines += [f"  ... and {hidden_count} more"] * (hidden_count > 0)
        silent = list[str]()
        for summary in self._silent:
            if summary not in self._depending and summary not in indirect:
                silent.append(summary)
        if silent:
            lines.append(f"No document names {name} for: {'; '.join(silent)}.")
        return lines

    def _components(self, feature: Feature) -> list[str]:
        """Return the line on a feature's components, if the question asks for components."""
        if not self._asked_for.asks_for_parts:
            return []
        components = self._parts[feature.feature_id].components
        if not components:
            return [f"No document and no issue lists the components of {feature.summary}."]
        named_parts = [f"{name} ({', '.join(places)})" for name, places in components.items()]
        return [f"Components of {feature.summary}: {'; '.join(named_parts)}."]

    def _indirect(self) -> dict[str, str]:
        """Return the features that depend on one that depends on the thing, each with a line."""
        name = self._asked_for.thing
        lines = dict[str, str]()
        reached = list(self._depending)
        for between in reached:
            for feature in self._data.features:
                summary = feature.summary
                places = self._dependencies(feature).get(key_of(between))
                if not places or summary in reached or self._thing.find(summary):
                    continue
                reached.append(summary)
                cited = ", ".join(places)
                lines[summary] = (
                    f"{summary} depends on {between} ({cited}), and so indirectly on {name}."
                )
        return lines

    def _dependencies(self, feature: Feature) -> dict[str, list[str]]:
        dependencies = self._parts[feature.feature_id].dependencies
        return {key_of(name): places for name, places in dependencies.items()}

    def _search(self, feature: Feature) -> bool:
        """Search the documents of a feature; tells whether one names the thing."""
        is_named = False
        for file in self._data.docs(feature):
            listed_lines = set[int]()
            for observation in listed(file):
                if observation.measure == DEPENDS and self._thing.find(str(observation.value)):
                    self._add(feature.summary, f"{file.source}#{observation.locator}")
                    listed_lines.add(int(observation.locator.removeprefix("line:")))
            is_named = is_named or bool(listed_lines)
            for mention in self._thing.mentions(lines_of(file.path)):
                is_named = True
                place = f"{file.source}#line:{mention.line}"
                if mention.kind == "depends":
                    for subject in subjects_of(mention.subject, feature, self._data.features):
                        self._add(subject.summary, place)
                elif mention.line not in listed_lines:
                    self._named.append(f"  {place}: {mention.quote}")
        return is_named

    def _add(self, summary: str, place: str) -> None:
        self._depending.setdefault(summary, []).append(place)


def _dependencies(data: DataFolder, thing: str) -> list[str]:
    """Return what the documents of a named feature say that it depends on."""
    name = NamedThing(thing)
    for feature in data.features:
        if not any(map(name.find, (feature.summary, feature.feature_id, feature.folder))):
            continue
        own: FeatureParts = parts_by_feature(data)[feature.feature_id]
        lines = list[str]()
        for dependency, places in own.dependencies.items():
            lines.append(f"{feature.summary} depends on {dependency} ({', '.join(places)}).")
        return lines or [f"No document of {feature.summary} says what it depends on."]
    return []


async def _remembered(
    memory: Memory | None, asked_for: DependencyQuestion, features: Sequence[Feature]
) -> list[str]:
    """Return what the memory knows of features whose documents are not in the data folder."""
    if memory is None:
        return []
    kind = "dependency" if asked_for.direction == "in" else "feature"
    name = NamedThing(asked_for.thing)
    read_now = {f"feature/{feature.feature_id}" for feature in features}
    folders = {feature.folder for feature in features}
    sentences = list[str]()
    try:
        for entry in await _entries(memory, asked_for.thing, kind):
            label = str(entry.metadata.get("name") or entry.content)
            if entry.metadata.get("kind") != kind or not name.find(label):
                continue
            related = await memory.neighbours(
                entry.id, None, relationship=DEPENDS_ON, direction=asked_for.direction
            )
            names = []
            for neighbour in related:
                if neighbour.entry.id not in read_now:
                    names.append(neighbour.entry.content)
            if names:
                listing = "; ".join(dict.fromkeys(names))
                sentences.append(_sentence(asked_for.direction, label, listing, entry, folders))
    except MemoryUnavailable as error:
        _log.warning("%s; the answer leaves out earlier investigations", error)
        return []
    return sentences


async def _entries(memory: Memory, thing: str, kind: str) -> list[MemoryEntry]:
    """Return the entries that may stand for a thing."""
    # A key needs no search; a search finds other writings.
    entries = dict[str, MemoryEntry]()
    if exact := await memory.get(f"dependency/{slug_of(thing)}"):
        entries[exact.id] = exact
    for neighbour in await memory.retrieve(thing, _MOST_QUOTES, {"kind": kind}):
        entries[neighbour.entry.id] = neighbour.entry
    return list(entries.values())


def _sentence(
    direction: Direction, label: str, listing: str, entry: MemoryEntry, folders: Set[str]
) -> str:
    """Return what the memory says of a thing, with the places outside the folders read now."""
    if direction == "out":
        return f"{label} depends on: {listing}."
    places = list[str]()
    listed = entry.metadata.get("sources")
    for place in listed if isinstance(listed, list) else ():
        if str(place).partition("/")[0] not in folders:
            places.append(str(place))
    sources = f" ({', '.join(places)})" if places else ""
    return f"As investigated before, {listing} depends on {label}{sources}."
