"""What the documents of each feature say that it consists of, and what it depends on.

Lists, tables and labels name both; the feature's issue may list components, too. A sentence counts
as a dependency if it names a thing that some feature lists, or another feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from transom.formats.measurements import Observation
from transom.investigator.features import Feature, SourceFile
from transom.investigator.reading.dependency_sentences import NamedThing
from transom.investigator.reading.documents import lines_of, read_document
from transom.investigator.reading.vocabulary import singular
from transom.investigator.sources import DataFolder

DEPENDS, COMPONENT = "document.depends", "document.component"


@dataclass
class FeatureParts:
    """The parts of one feature; each name has the places that say so: `FILE#line:N`, or the key
    of an issue.
    """

    components: dict[str, list[str]] = field(default_factory=dict)
    dependencies: dict[str, list[str]] = field(default_factory=dict)

    def dependencies_shared_with(self, other: FeatureParts) -> dict[str, list[str]]:
        """Return the dependencies that another feature has, too, with this one's places."""
        other_keys = set(map(key_of, other.dependencies))
        shared = dict[str, list[str]]()
        for name, places in self.dependencies.items():
            if key_of(name) in other_keys:
                shared[name] = places
        return shared

    def add_dependency(self, name: str, place: str) -> None:
        """Add a place that says that the feature depends on a thing."""
        places = self.dependencies.setdefault(name, [])
        if place not in places:
            places.append(place)


def key_of(name: str) -> str:
    """Return what all usual writings of a name have in common."""
    return "".join(map(singular, NamedThing(name).words)) or name


def parts_by_feature(
    data: DataFolder, features: Iterable[Feature] | None = None
) -> dict[str, FeatureParts]:
    """Return the parts of features by their ids, from the documents and issues of today.

    Args:
        features: those whose documents are read; None: all.
    """
    chosen = list(data.features if features is None else features)
    parts = {feature.feature_id: FeatureParts() for feature in data.features}
    # The first writing of a name stands for all.
    names = {key_of(feature.summary): feature.summary for feature in data.features}
    for feature in chosen:
        own = parts[feature.feature_id]
        for component in feature.components:
            name = names.setdefault(key_of(component), component)
            own.components.setdefault(name, []).append(feature.jira_key)
        for file in data.docs(feature):
            for row in listed(file):
                name = names.setdefault(key_of(str(row.value)), str(row.value))
                place = f"{file.source}#{row.locator}"
                if row.measure == COMPONENT:
                    own.components.setdefault(name, []).append(place)
                else:
                    own.add_dependency(name, place)
    name_things = {name: NamedThing(name) for name in names.values()}
    for feature in chosen:
        for file in data.docs(feature):
            _add_sentences(data, feature, file, name_things, parts)
    return parts


def listed(file: SourceFile) -> list[Observation]:
    """Return the components and dependencies that a document lists."""
    reading = read_document(file.path, file.source, file.recognition.name)
    return [row for row in reading.observations if row.measure in (DEPENDS, COMPONENT)]


def _add_sentences(
    data: DataFolder,
    feature: Feature,
    file: SourceFile,
    things: Mapping[str, NamedThing],
    parts: Mapping[str, FeatureParts],
) -> None:
    """Add the dependencies that the sentences of a document state, to those they are about."""
    lines = list(lines_of(file.path))
    text = "\n".join(lines).casefold()
    for name, item in things.items():
        # Most things are named in few documents, and the expressions are slow.
        if not item.is_named or not all(singular(word).casefold() in text for word in item.words):
            continue
        for mention in item.mentions(lines):
            if mention.kind != "depends":
                continue
            for subject in subjects_of(mention.subject, feature, data.features):
                if not item.find(subject.summary):
                    place = f"{file.source}#line:{mention.line}"
                    parts[subject.feature_id].add_dependency(name, place)


def subjects_of(subject: str, feature: Feature, features: Iterable[Feature]) -> list[Feature]:
    """Return the features that a sentence is about: those it names, else the document's."""
    named_features = list[Feature]()
    for other in features:
        if NamedThing(other.summary).find(subject):
            named_features.append(other)
    return named_features or [feature]
