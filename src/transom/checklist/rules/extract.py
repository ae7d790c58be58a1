"""Atom A from a domain's extraction rules: the rules as literals, and the readers that they need
as source.
"""

from __future__ import annotations

import inspect
import pprint
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from transom.canonical import Json
from transom.checklist.atoms import LOCKED_LAYER, Source
from transom.checklist.file_kinds import kind_by_name
from transom.checklist.rules.fragments import main, messages, rows, shared
from transom.checklist.rules.literals import gate
from transom.checklist.rules.log_rules import Extraction
from transom.checklist.rules.shapes import Domain, KnownSource

_READERS: Final[Mapping[str, type]] = {"messages": messages.MessageReader, "rows": rows.RowReader}
_SHARED: Final = (shared.colourless, shared.compiled, shared.mapped, shared.entry)
_AROUND: Final = (kind_by_name, main.Guards, main.Gate, main.File)

_ATOM = '''\
"""Atom A: reads {title}. Pure: text in, entries out."""

{json}import re
from typing import Any, Dict, List

SCOPE = "line"
SOURCES = {sources}
FILES: dict[str, Any] = {files}
RULES: list[dict[str, Any]] = {rules}


{functions}

READERS = {{{readers}}}


def begin_context(source_file: str) -> File:
    """A file that comes in pieces; they are read as `extract_context` reads the whole."""
    return File(source_file, SOURCES, FILES, RULES, READERS)


def extract_context(text: str, source_file: str) -> List[Dict]:
    """Everything that the rules for this kind of file see, good and bad alike."""
    file = begin_context(source_file)
    results = file.feed(text) + file.finish()
'''


@dataclass(frozen=True)
class Wanted:
    """What a spec asks an atom to read.

    Attributes:
        fields: category -> the fields that the spec names; other categories and fields are left
            out.
        sources: kinds of files in order of trust, with the spec's globs.
        narrow: dotted field -> the only value that the check accepts.
        stage: the stage or step that is `asked` about, of which the files must be; `names` has the
            regexes of all.
    """

    fields: Mapping[str, Sequence[str]]
    sources: Sequence[Source]
    narrow: Mapping[str, str] = field(default_factory=dict)
    stage: Mapping[str, Json] | None = None


def make_atom(domain: Domain, wanted: Wanted) -> str:
    """The source of Atom A."""
    parts = _parts(domain, wanted)
    sources, files, rules = (
        pprint.pformat(one, width=118, sort_dicts=False, compact=True) for one in parts
    )
    used = sorted({rule.kind for rule in _used(domain, wanted)})
    pieces: list[Callable[..., Any]] = [*_SHARED, *(_READERS[kind] for kind in used), *_AROUND]
    text = _ATOM.format(
        title=domain.title,
        json="import json\n" if "rows" in used else "",
        sources=sources,
        files=files,
        rules=rules,
        functions="\n\n".join(inspect.getsource(piece).rstrip() + "\n" for piece in pieces),
        readers=", ".join(f'"{kind}": {_READERS[kind].__name__}' for kind in used),
    )
    return text + LOCKED_LAYER


def reader_of(
    domain: Domain, wanted: Wanted, name: str, *, without: Sequence[str] = ()
) -> main.File:
    """What reads a file of this name, as the atom's `begin_context` makes it.

    Args:
        without: guards that do not hold here, as `KnownSource` names them; `read` leaves out the
            rules.
    """
    sources, files, rules = _parts(domain, wanted)
    kept = {
        kind: {key: told for key, told in about.items() if key not in without}
        for kind, about in files.items()
    }
    return main.File(name, sources, kept, [] if "read" in without else rules, dict(_READERS))


def _parts(
    domain: Domain, wanted: Wanted
) -> tuple[list[Any], dict[str, Any], list[dict[str, Any]]]:
    """An atom's sources, what it knows of their files, and its rules without what the spec does
    not name.
    """
    about, used = {source.kind: source for source in domain.sources}, _used(domain, wanted)
    files = {source.kind: _about(about[source.kind], used, wanted) for source in wanted.sources}
    return (
        [source.model_dump(mode="json") for source in wanted.sources],
        files,
        [_rule(rule, wanted) for rule in used],
    )


def _used(domain: Domain, wanted: Wanted) -> list[Extraction]:
    """The domain's rules that yield something which the spec names."""
    kinds = {source.kind for source in wanted.sources}
    return [
        one
        for one in domain.extraction
        if one.file in kinds and wanted.fields.keys() & {*one.categories()}
    ]


def _about(source: KnownSource, rules: Sequence[Extraction], wanted: Wanted) -> dict[str, Any]:
    """What an atom knows of a kind of file beside its rules, for the categories that a spec
    names.
    """
    used = [rule for rule in rules if rule.file == source.kind]
    plain = {"signs", "mentions", "error_if_nothing_read", "known_by", "refuse", "ends"}
    told: dict[str, Any] = source.model_dump(mode="json", include=plain, exclude_defaults=True)
    told["must_be_read"] = [one for part in (source, *used) for one in part.must_be_read]
    told["may_be_skipped"] = [one for part in (source, *used) for one in part.may_be_skipped]
    told["counts"] = {
        key: list(regexes) for key, regexes in source.counts.items() if key in wanted.fields
    }
    guards = [
        *told["must_be_read"],
        *source.known_by,
        *source.refuse,
        *source.ends,
        *source.ends.values(),
    ]
    guards += [one for regexes in told["counts"].values() for one in regexes]
    guards += [told["mentions"]] if "mentions" in told else []  # the first line is always seen
    told["gate"] = gate([*guards, *(one for rule in used for one in rule.watched())])
    told["stage"] = {"by": source.stage, **wanted.stage} if source.stage and wanted.stage else {}
    return {name: value for name, value in told.items() if value}


def _rule(told: Extraction, wanted: Wanted) -> dict[str, Any]:
    """A rule as the atom's reader takes it."""
    guards = {"about", "must_be_read", "may_be_skipped"}
    rule = told.model_dump(mode="json", by_alias=True, exclude=guards, exclude_defaults=True)
    for part in (rule, *rule.get("targets", ()), *([rule["run"]] if "run" in rule else ())):
        if category := part.get("category"):
            omitted = part.pop("omits", ())
            part["fields"] = [
                name for name in wanted.fields.get(category, ()) if name not in omitted
            ]
            narrow = {key.partition("."): value for key, value in wanted.narrow.items()}
            own = {name: value for (key, _, name), value in narrow.items() if key == category}
            part |= {"narrow": own} if own else {}
    return rule
