"""What the spec says of fields: which decide an item, where a pattern puts them, which values they take."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from transom.canonical import Json
from transom.checklist.atoms import Operator
from transom.checklist.spec.shapes import Category, Extraction, SpecDocument, SpecItem, SpecPattern

LIMITS = (Operator.LT, Operator.LE, Operator.GT, Operator.GE)
_SHORT = 2  # so few characters stand in any text
_FLAGS = re.compile(r"^(?:\(\?[aiLmsux]+\))?")


@dataclass(frozen=True)
class Topic:
    """One category with all that the spec says of it.

    Attributes:
        patterns: the item's, where the run has any.
        naming: fields whose text stands in the value of an entry, as the spec's example shows it.
    """

    category: Category
    extraction: Extraction
    items: tuple[SpecItem, ...]
    is_file: bool
    examples: tuple[tuple[str, dict[str, Json]], ...]
    patterns: tuple[str, ...] = ()
    naming: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.category.key or ""

    @cached_property
    def item_ids(self) -> frozenset[str]:
        return frozenset(item.id for item in self.items)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.category.fields)

    @cached_property
    def regexes(self) -> tuple[str, ...]:
        return tuple(pattern.regex for pattern in self.extraction.patterns)

    def decisive(self, item: SpecItem | None = None) -> set[str]:
        """The fields that an item is judged by; those of all items where none is given."""
        return {name for one in ([item] if item else self.items) for name in decisive_fields(one)}

    def groups(self, index: int) -> dict[str, str]:
        """Group of a pattern -> field. Unnamed groups are read from the words beside the pattern, where they agree."""
        return _groups(self.extraction.patterns[index], self.fields)

    def number(self, hit: Mapping[str, str]) -> str | None:
        """The group that stands for a compared number which no pattern names: the only one with a number in it."""
        compared = any(item.condition and item.condition.op in LIMITS for item in self.items)
        mapped = {name for index in range(len(self.regexes)) for name in self.groups(index).values()}
        if not compared or mapped & self.decisive():
            return None
        numbers = [group for group, text in hit.items() if re.fullmatch(r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?", text)]
        return numbers[0] if len(numbers) == 1 else None

    @cached_property
    def telling(self) -> frozenset[int]:
        """The patterns whose lines are evidence: those that yield a deciding field, else any field, else all."""
        count = range(len(self.regexes))
        mapped = {index: set(self.groups(index).values()) for index in count}
        for wanted in (self.decisive(), set(self.fields)):
            chosen = frozenset(index for index, names in mapped.items() if names & wanted)
            if chosen:
                return chosen
        return frozenset(count)

    @cached_property
    def anchored(self) -> frozenset[int]:
        return frozenset(i for i, regex in enumerate(self.regexes) if _FLAGS.sub("", regex).startswith("^"))

    def linked(self) -> Iterator[tuple[str, str]]:
        """`(keyword, field)` where the spec's words on a field name the keyword, as `the DATE directive` does."""
        mapped = {name for index in range(len(self.regexes)) for name in self.groups(index).values()}
        for one in self.category.fields:
            for keyword in self.extraction.keywords:
                core = keyword.strip(" *#:-=\"'`")
                if one.name not in mapped and len(core) > 2 and re.search(rf"\b{re.escape(core)}\b", one.meaning):
                    yield keyword, one.name

    def found_by_text(self) -> set[str]:
        """The fields of which the spec says where their text stands."""
        mapped = {name for index in range(len(self.regexes)) for name in self.groups(index).values()}
        return mapped | {name for _, name in self.linked()}

    def meaning(self, name: str) -> str:
        """The spec's words on a field."""
        return next((one.meaning for one in self.category.fields if one.name == name), "")

    def words(self, name: str) -> set[str]:
        """What a field may say without being read: the words on it and what it is compared with, in lower case."""
        wanted = [item.condition.value for item in self.items if item.condition and last(item.condition.field) == name]
        listed = [one for value in wanted for one in (value if isinstance(value, list) else [value])]
        return {word.casefold() for word in [*re.findall(r"\w+", self.meaning(name)), *map(str, listed)]}

    def values(self, name: str) -> list[str]:
        """The values that the spec knows of a field: from its examples, its meaning and the items' conditions."""
        texts = [text for _, fields in self.examples if isinstance(text := fields.get(name), str)]
        for quoted in re.findall(r"`([^`]+)`|\"([^\"]+)\"|\b([A-Z]{2,})\b", self.meaning(name)):
            texts += [text for text in quoted if text]
        for item in self.items:
            if item.condition and last(item.condition.field) == name:
                value = item.condition.value
                texts += [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str)]
        return list(dict.fromkeys(texts))


def topics(spec: SpecDocument, patterns: Sequence[str] = ()) -> list[Topic]:
    """The categories that Section 4.1 says how to find and Section 2 asks about."""
    kinds = {source.kind for source in spec.guide.sources}
    found: list[Topic] = []
    for category in spec.parsing.categories:
        extraction = _extraction(spec, category)
        items = tuple(item for item in spec.check.items if (item.select or "").split(".")[0] == category.key)
        if category.key and extraction and items:
            examples = tuple(_examples(spec, category.key))
            naming = _naming(spec, category.key, {last(item.condition.field) for item in items if item.condition})
            is_file = category.key in kinds
            found.append(Topic(category, extraction, items, is_file, examples, tuple(patterns), naming))
    return found


def _extraction(spec: SpecDocument, category: Category) -> Extraction | None:
    """Where Section 4.1 speaks of the category: by its key, else by its name, else as the only one that there is."""
    told = spec.guide.extractions
    keyed = [one for one in told if one.category == category.key]
    named = [one for one in told if one.name.casefold() == category.name.casefold()]
    alone = list(told) if len(told) == 1 and len([one for one in spec.parsing.categories if one.key]) == 1 else []
    return next(iter([*keyed, *named, *alone]), None)


def decisive_fields(item: SpecItem) -> list[str]:
    """The last parts of the fields that an item requires or compares."""
    names = [*item.required, *([item.condition.field] if item.condition else [])]
    return list(dict.fromkeys(last(name) for name in names))


def last(dotted: str) -> str:
    """A field's own name."""
    return dotted.rpartition(".")[2]


def _groups(pattern: SpecPattern, fields: Sequence[str]) -> dict[str, str]:
    try:
        compiled = re.compile(pattern.regex)
    except (re.error, RecursionError, OverflowError):
        return {}
    if compiled.groupindex:
        return {name: name for name in compiled.groupindex if name in fields}
    parts = [part.strip(" `\"'") for part in re.split(r",|;|\band\b", pattern.note)]
    if len(parts) != compiled.groups:
        return {}
    return {str(number): part for number, part in enumerate(parts, 1) if part in fields}


def _naming(spec: SpecDocument, key: str, compared: set[str]) -> tuple[str, ...]:
    """Fields whose text every example has in its value; what is compared is no name."""
    shown: dict[str, bool] = {}
    for entry, fields in _entries(spec, key):
        value = str(entry.get("value"))
        for name, text in fields.items():
            if isinstance(text, str) and len(text) > _SHORT and name not in compared:
                shown[name] = shown.get(name, True) and text in value
    return tuple(name for name, always in shown.items() if always)


def _examples(spec: SpecDocument, key: str) -> Iterator[tuple[str, dict[str, Json]]]:
    """`(line, fields)` of the entries of Section 1's output example that carry the category."""
    for entry, fields in _entries(spec, key):
        yield str(entry.get("matched_content") or "").split("\n")[0], fields


def _entries(spec: SpecDocument, key: str) -> Iterator[tuple[dict[str, Json], dict[str, Json]]]:
    example = spec.parsing.output_example
    for entry in example.value if example and isinstance(example.value, list) else []:
        parsed = entry.get("parsed_fields") if isinstance(entry, dict) else None
        fields = parsed.get(key) if isinstance(parsed, dict) else None
        if isinstance(entry, dict) and isinstance(fields, dict):
            yield entry, fields
