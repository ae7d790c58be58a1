"""Atom A from a domain's extraction rules: the rules as literals, and the readers that they need as source."""

from __future__ import annotations

import functools
import inspect
import pprint
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from transom.checklist.atoms import LOCKED_LAYER, Source
from transom.checklist.file_kinds import kind_by_name
from transom.checklist.rules.fragments import (
    ending,
    main,
    messages,
    rows,
    shared,
    stage,
    tally,
)
from transom.checklist.rules.literals import gate
from transom.checklist.rules.log_rules import Messages
from transom.checklist.rules.reading_rules import Extraction, Rows
from transom.checklist.rules.shapes import Domain, KnownSource

Piece = Callable[..., Any]

_PIECES: Final[Mapping[str, tuple[Piece, ...]]] = {
    "messages": (ending.Ending, tally.Tally, messages.MessageReader),
    "rows": (rows.RowReader,),
}

_TOP = '''\
"""Atom A: reads {title}. Pure: text in, entries out."""

{json}import re
from typing import Any, Dict, List

SCOPE = "line"
SOURCES = {sources}
FILES: dict[str, Any] = {files}
RULES: list[dict[str, Any]] = {rules}
'''

_BOTTOM = '''\
READERS = {readers}


def begin_context(source_file: str) -> File:
    """A file that comes in pieces, as the runtime gives it; they are seen as `extract_context` sees the whole."""
    readers = {{kind: [READERS[rule["kind"]](rule) for rule in RULES if rule["file"] == kind] for kind in FILES}}
    return File(source_file, SOURCES, FILES, readers{watchers})


def extract_context(text: str, source_file: str) -> List[Dict]:
    """Everything that the rules for this kind of file see, good and bad alike."""
    file = begin_context(source_file)
    results = file.feed(text) + file.finish()
'''


@dataclass(frozen=True)
class Asked:
    """A stage or a step; `names` are the regexes of all by which they are told apart."""

    key: str
    names: Mapping[str, str]


@dataclass(frozen=True)
class Wanted:
    """What a spec asks an atom to read.

    Attributes:
        fields: category -> the fields that the spec names; other categories and fields are left out.
        sources: kinds of files in order of trust, with the spec's globs.
        narrow: dotted field -> the only value that the check accepts.
        stage: of which stage or step alone the files must be.
    """

    fields: Mapping[str, Sequence[str]]
    sources: Sequence[Source]
    narrow: Mapping[str, str] = field(default_factory=dict)
    stage: Asked | None = None


_literal = functools.partial(pprint.pformat, width=118, sort_dicts=False, compact=True)


def make_atom(domain: Domain, wanted: Wanted) -> str:
    """The source of Atom A."""
    sources, files, rules = _parts(domain, wanted)
    used = list(dict.fromkeys(rule["kind"] for rule in rules))
    pieces: list[Piece] = [
        shared.colourless,
        shared.entry,
        *dict.fromkeys(piece for kind in used for piece in _PIECES[kind]),
        kind_by_name,
        main.Known,
        main.Account,
        main.Reading,
        main.Gate,
        main.File,
    ]
    staged = any("stage" in told for told in files.values())
    pieces += [stage.stages_named, stage.Stage] if staged else []
    top = _TOP.format(
        title=domain.title,
        json="import json\n" if "rows" in used else "",
        sources=_literal(sources),
        files=_literal(files),
        rules=_literal(rules),
    )
    readers = "{" + ", ".join(f'"{kind}": {_PIECES[kind][-1].__name__}' for kind in used) + "}"
    functions = "\n\n".join(inspect.getsource(piece).rstrip() + "\n" for piece in pieces)
    bottom = _BOTTOM.format(readers=readers, watchers=", (Stage,)" if staged else "")
    return f"{top}\n\n{functions}\n\n{bottom}{LOCKED_LAYER}"


def reader_of(domain: Domain, wanted: Wanted, name: str) -> main.File:
    """What reads a file of this name, as the atom's `begin_context` makes it."""
    sources, files, rules = _parts(domain, wanted)
    readers = {kind: [_PIECES[one["kind"]][-1](one) for one in rules if one["file"] == kind] for kind in files}
    return main.File(name, sources, files, readers)


def _parts(domain: Domain, wanted: Wanted) -> tuple[list[Any], dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """An atom's sources, what it knows of their files, and its rules."""
    about = {source.kind: source for source in domain.sources}
    files = {source.kind: about_file(about[source.kind], domain.extraction, wanted) for source in wanted.sources}
    return [source.model_dump(mode="json") for source in wanted.sources], files, make_rules(domain, wanted)


def make_rules(domain: Domain, wanted: Wanted) -> list[dict[str, Any]]:
    """The domain's rules as the readers take them, without what the spec does not name."""
    kinds = {source.kind for source in wanted.sources}
    return [
        rule
        for told in domain.extraction
        if told.file in kinds and (rule := _rule(told, wanted.fields, wanted.narrow)) is not None
    ]


def about_file(source: KnownSource, rules: Sequence[Extraction], wanted: Wanted) -> dict[str, Any]:
    """What an atom knows of a kind of file beside its rules, for the categories that a spec names."""
    fields = wanted.fields
    used = [rule for rule in rules if isinstance(rule, Rows) and rule.file == source.kind and rule.category in fields]
    plain = {"signs", "mentions", "error_if_nothing_read", "known_by", "refuse", "ends"}
    told: dict[str, Any] = source.model_dump(mode="json", include=plain)
    told["must_be_read"] = [*source.must_be_read, *(one for rule in used for one in rule.must_be_read)]
    told["may_be_skipped"] = [*source.may_be_skipped, *(one for rule in used for one in rule.may_be_skipped)]
    told["counts"] = {key: list(regexes) for key, regexes in source.counts.items() if key in fields}
    told["gate"] = _gate(source, used, rules)
    if source.stage and wanted.stage:
        told["stage"] = {"by": source.stage, "asked": wanted.stage.key, "names": dict(wanted.stage.names)}
    return {name: value for name, value in told.items() if value}


def _gate(source: KnownSource, used: Sequence[Rows], rules: Sequence[Extraction]) -> list[str]:
    """What shows the lines that some reader or guard must see, as the atom's `Gate` takes it; empty where each must."""
    guards = [*source.must_be_read, *source.known_by, *source.refuse, *source.ends, *source.ends.values(), "\x1b"]
    guards += [one for regexes in source.counts.values() for one in regexes]
    guards += [one for rule in used for one in rule.must_be_read]
    guards += [source.mentions] if source.mentions != "." else []  # the first line is always seen
    if any(rule.keys for rule in used):
        return []
    messages = (rule for rule in rules if isinstance(rule, Messages) and rule.file == source.kind)
    guards += [one for rule in used for one in rule.watched()] + [one for rule in messages for one in rule.watched()]
    return gate(guards)


def read_with(rule: dict[str, Any], lines_: list[str]) -> tuple[list[dict[str, Any]], set[int]]:
    """What one rule reads in a text, as the atom will: its entries, and the numbers of all lines that it read.

    Raises:
        ValueError: the text cannot be read for certain.
    """
    reader = _PIECES[rule["kind"]][-1](rule)
    found: list[dict[str, Any]] = []
    took: set[int] = set()
    for number, line in enumerate(lines_, 1):
        found += reader.line(number, line)
        took |= getattr(reader, "took", set())
    found += reader.end()
    return found, took | getattr(reader, "took", set())


def shown_patterns(told: Extraction, category: str) -> list[str]:
    """The regexes of a rule that a person would want to see in Section 4.1."""
    match told:
        case Messages():
            named = [regex for target in told.targets if target.category == category for regex in target.patterns]
            return [*named, told.run.begins] if told.run.category == category else named
        case Rows():
            return [*told.above, *(row.match for row in told.rows)] if told.category == category else []


def _rule(told: Extraction, fields: Mapping[str, Sequence[str]], narrow: Mapping[str, str]) -> dict[str, Any] | None:
    """The rule as the atom's readers take it, or None where the spec names nothing that it yields."""
    rule = told.model_dump(mode="json", by_alias=True, exclude={"about"}, exclude_none=True)
    if isinstance(told, Rows):
        guards = ("must_be_read", "may_be_skipped")
        rule = {name: value for name, value in rule.items() if name not in guards and value not in ({}, [])}
        if told.rows:
            rule["rows"] = [{name: value for name, value in row.items() if value} for row in rule["rows"]]
    if isinstance(told, Messages):
        parts = [*rule["targets"], rule["run"]]
        *targets, run = [
            _fielded(part, fields, narrow) if part["category"] in fields else {**part, "fields": []} for part in parts
        ]
        return {**rule, "targets": targets, "run": run}
    return _fielded(rule, fields, narrow) if told.category in fields else None


def _fielded(rule: dict[str, Any], fields: Mapping[str, Sequence[str]], narrow: Mapping[str, str]) -> dict[str, Any]:
    category = rule["category"]
    own = {name.partition(".")[2]: value for name, value in narrow.items() if name.partition(".")[0] == category}
    omitted = rule.pop("omits", ())
    kept = [name for name in fields[category] if name not in omitted]
    rule = {**rule, "fields": kept}
    return {**{name: value for name, value in rule.items() if value not in ({}, [])}, "narrow": own} if own else rule
