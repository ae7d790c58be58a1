"""What `rules` knows: one YAML file a domain, and `_common.yaml` with the words that all domains share.

A domain is data. A file of a person's own folder adds one, or takes the place of the shipped one of the same name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from pathlib import Path
from typing import Final

from transom.canonical import Json, digest
from transom.checklist.rules.forms import FormError
from transom.checklist.rules.grammar import Language
from transom.checklist.rules.saying import Common
from transom.checklist.rules.shapes import Domain
from transom.errors import InputError
from transom.formats.yaml_files import YamlFile, parse_yaml, read_text
from transom.formats.yaml_models import validate_yaml

SHIPPED: Final = Path(__file__).parents[1] / "knowledge"

_SOURCE_REGEXES: Final = frozenset(
    {"signs", "must_be_read", "may_be_skipped", "counts", "mentions", "known_by", "called", "ends"}
)
_RULE_REGEXES: Final = frozenset(
    {
        *("rows", "match", "keys", "from", "to", "before", "head", "row", "above", "until", "join", "goes_on", "steps"),
        *("strip", "must_be_read", "may_be_skipped", "patterns", "begins", "ends", "anyone", "after", "other"),
        *("further", "grave", "strange", "alarm", "aside", "spoken", "quoted", "counts", "severities", "hidden"),
    }
)


@dataclass(frozen=True)
class Knowledge:
    """All domains, and where each comes from.

    Attributes:
        files: domain -> name of its file.
        commons: names of the files of common words.
        digests: file name -> SHA-256 of its text.
    """

    common: Common
    domains: tuple[Domain, ...]
    files: dict[str, str]
    commons: tuple[str, ...]
    digests: dict[str, str]

    def domain(self, name: str) -> Domain | None:
        return next((d for d in self.domains if d.domain == name), None)

    @cached_property
    def languages(self) -> tuple[Language, ...]:
        """What each domain can be told, in the order of `domains`; compiled once and only when it is read."""
        return tuple(Language(domain, self.common) for domain in self.domains)

    def to_json(self) -> Json:
        return {
            "common": self.common.model_dump(mode="json", by_alias=True),
            "domains": [domain.model_dump(mode="json", by_alias=True) for domain in self.domains],
            "digests": dict(self.digests),
        }


def load_knowledge(dirs: Sequence[Path] = ()) -> Knowledge:
    """The shipped knowledge and that of the given folders; a later file of the same name takes the earlier one's place.

    Raises:
        InputError: a folder or a file cannot be read, or a file does not fit the schema; with file:line.
    """
    return _knowledge(tuple((name, path, read_text(path)) for name, path in _paths(dirs).items()))


@lru_cache(maxsize=4)
def _knowledge(texts: tuple[tuple[str, Path, str], ...]) -> Knowledge:
    """Knowledge of (name, path, text) of each file: what a process was given once, it need not read again."""
    commons: dict[str, Common] = {}
    domains: dict[str, Domain] = {}
    files: dict[str, str] = {}
    added: list[tuple[Domain, YamlFile]] = []
    for name, path, text in texts:
        file = parse_yaml(text, path)
        if isinstance(file.data, dict) and "common" in file.data:
            commons[name] = validate_yaml(Common, file)
            continue
        domain = _domain(file)
        if domain.domain in domains:
            raise InputError(
                f"the domain {domain.domain} stands in {files[domain.domain]} already",
                where=file.where("domain"),
                hint="name this file like that one to take its place, or give the domain another name",
            )
        domains[domain.domain], files[domain.domain] = domain, name
        if path.parent != SHIPPED:
            added.append((domain, file))
    if not commons:
        raise InputError("holds no common words", where=str(SHIPPED), hint="install transom again")
    common = reduce(_merged, commons.values())
    known = {name: _with_shared(domain, common, files[name]) for name, domain in domains.items()}
    for domain, file in added:
        _check_forms(known[domain.domain], common, file)
    digests = {name: digest(text) for name, _, text in texts}
    return Knowledge(common, tuple(known.values()), files, tuple(commons), digests)


def _with_shared(domain: Domain, common: Common, where: str) -> Domain:
    """The domain with the shared lists that it names among its own."""
    if strange := [name for name in domain.shared if name not in common.shared]:
        raise InputError(
            f"there is no shared list {strange[0]}", where=where, hint=f"there are {', '.join(common.shared)}"
        )
    known = domain.model_copy(update={"lists": {name: common.shared[name] for name in domain.shared} | domain.lists})
    if not common.stages.keys().isdisjoint(known.choices()) and not any(source.stage for source in domain.sources):
        raise InputError("a stage can be asked about, and no source says how its files are held to it", where=where)
    return known


def _paths(dirs: Sequence[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in (SHIPPED, *dirs):
        if not folder.is_dir():
            raise InputError("is not a folder", where=str(folder), hint="mend paths.knowledge_dirs")
        found |= {path.name: path for path in sorted(folder.glob("*.yaml"))}
    return found


def _check_forms(domain: Domain, common: Common, file: YamlFile) -> None:
    """Compile a person's templates at once, so that a slip is told with its line and not with the first description."""
    _check_lists(domain, common, file)
    try:
        language = Language(domain, common)
    except FormError as error:
        raise InputError(f"the words of an entity: {error}", where=file.where("entities")) from error
    told = [
        (language.of_claim(claim), say, ("claims", n, slot, position))
        for n, claim in enumerate(domain.claims)
        for slot, templates in claim.slots().items()
        for position, say in enumerate(templates)
    ]
    told += [
        (language.grammar, say, ("forms", n, "say", position))
        for n, form in enumerate(domain.forms)
        for position, say in enumerate(form.say)
    ]
    for grammar, say, at in told:
        try:
            grammar.compile(say)
        except FormError as error:
            raise InputError(f"{error}: {say}", where=file.where(*at)) from error


def _check_lists(domain: Domain, common: Common, file: YamlFile) -> None:
    """A slip in a word list is told where it stands, not where the list is named first."""
    grammar = Language(domain.model_copy(update={"entities": ()}), common).grammar
    broken: list[tuple[str, str, int, FormError]] = []
    own = {name: words for name, words in domain.lists.items() if name not in domain.shared}
    for name, words in own.items():
        for line, say in _listed(file, name, words):
            try:
                grammar.compile(say)
            except FormError as error:
                broken.append((name, say, line, error))
    names = {name for name, *_ in broken}
    # One that only names a list with a slip in it is not where the slip is.
    first = [one for one in broken if not any(f"{{{name}" in one[1] for name in names)]
    for _, say, line, slip in first or broken:
        raise InputError(f"{slip}: {say}", where=f"{file.path}:{line}") from slip


def _listed(
    file: YamlFile, name: str, words: tuple[str, ...] | dict[str, tuple[str, ...]]
) -> Iterator[tuple[int, str]]:
    """Line and template of each element of a list, also of one with keys."""
    if isinstance(words, dict):
        for key, templates in words.items():
            yield from ((file.line_of("lists", name, key, n), say) for n, say in enumerate(templates))
    else:
        yield from ((file.line_of("lists", name, n), say) for n, say in enumerate(words))


def _merged(old: Common, new: Common) -> Common:
    return new.model_copy(
        update={
            "lists": {**old.lists, **new.lists},
            "shared": {**old.shared, **new.shared},
            "stages": {**old.stages, **new.stages},
            "leads": {**old.leads, **new.leads},
            "tails": {**old.tails, **new.tails},
            "frames": (*old.frames, *new.frames),
            "forms": (*old.forms, *new.forms),
            "waiver_words": (*old.waiver_words, *new.waiver_words),
            "waiver_modes": new.waiver_modes or old.waiver_modes,
            "waiver_guidance": new.waiver_guidance or old.waiver_guidance,
        }
    )


def _domain(file: YamlFile) -> Domain:
    domain = validate_yaml(Domain, file)
    told = [(text, at) for at, text in file.written.items() if _is_regex(at)]
    for n, source in enumerate(domain.sources):
        told += [(pattern, ("sources", n)) for pattern in (*source.refuse, *source.ends)]
    for text, at in told:
        try:
            re.compile(text)
        except re.error as error:
            raise InputError(f"the regex {text!r} cannot be read: {error}", where=file.where(*at)) from error
    return domain


def _is_regex(at: tuple[str | int, ...]) -> bool:
    """Whether a value of the file is a regex: by the names of the keys that it stands under."""
    names = {"sources": _SOURCE_REGEXES, "read": _RULE_REGEXES}.get(str(at[0]) if at else "", frozenset())
    return any(part in names for part in at[2:]) and not {"says", "columns", "cells"}.intersection(at)
