"""Knowledge of `rules`: one YAML file a domain, and `_common.yaml` with the words that all domains
share.

A domain is data. A file of a person's own folder adds one, or takes the place of the shipped one of
the same name.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from pathlib import Path
from typing import Any, Final

from transom.canonical import digest
from transom.checklist.rules.forms import FormError, flat
from transom.checklist.rules.grammar import Language
from transom.checklist.rules.saying import TRIED, Common
from transom.checklist.rules.shapes import Domain
from transom.errors import InputError
from transom.formats.yaml_files import YamlFile, parse_yaml, read_text
from transom.formats.yaml_models import validate_yaml

SHIPPED: Final = Path(__file__).parents[1] / "knowledge"


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

    def is_shipped(self, name: str) -> bool:
        """Return whether the file of a domain is Transom's own."""
        file = self.files[name]
        shipped = SHIPPED / file
        return shipped.is_file() and digest(read_text(shipped)) == self.digests[file]

    @cached_property
    def languages(self) -> tuple[Language, ...]:
        """Language of each domain, in the order of `domains`; compiled once and only when it is
        read.
        """
        return tuple(Language(domain, self.common) for domain in self.domains)


def load_knowledge(dirs: Sequence[Path] = ()) -> Knowledge:
    """The shipped knowledge and that of the given folders; a later file of a name takes the earlier
    one's place.

    Raises:
        InputError: a folder or a file cannot be read, or a file does not fit the schema; with
            file:line.
    """
    return _knowledge(tuple((name, path, read_text(path)) for name, path in _paths(dirs).items()))


@lru_cache(maxsize=4)
def _knowledge(texts: tuple[tuple[str, Path, str], ...]) -> Knowledge:
    """Knowledge of (name, path, text) of each file: what a process was given once, it need not
    read again.
    """
    commons: dict[str, Common] = {}
    domains: dict[str, Domain] = {}
    files: dict[str, str] = {}
    added: list[tuple[Domain, YamlFile]] = []
    for name, path, text in texts:
        file, ours = parse_yaml(text, path), path.parent == SHIPPED
        if isinstance(file.data, dict) and "common" in file.data:
            commons[name] = validate_yaml(Common, file)
            continue
        domain = (
            Domain.model_validate(file.data, context=TRIED) if ours else validate_yaml(Domain, file)
        )
        if domain.domain in domains:
            raise InputError(
                f"the domain {domain.domain} stands in {files[domain.domain]} already",
                place=file.place_of("domain"),
                hint=(
                    "name this file like that one to take its place, or give the domain another"
                    " name"
                ),
            )
        domains[domain.domain], files[domain.domain] = domain, name
        if not ours:
            added.append((domain, file))
    if not commons:
        raise InputError("holds no common words", place=str(SHIPPED), hint="install transom again")
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
            f"there is no shared list {strange[0]}",
            place=where,
            hint=f"there are {', '.join(common.shared)}",
        )
    known = domain.model_copy(
        update={"lists": {name: common.shared[name] for name in domain.shared} | domain.lists}
    )
    if not common.stages.keys().isdisjoint(known.choices()) and not any(
        source.stage for source in domain.sources
    ):
        raise InputError(
            "a stage can be asked about, and no source says how its files are held to it",
            place=where,
        )
    return known


def _paths(dirs: Sequence[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in (SHIPPED, *dirs):
        if not folder.is_dir():
            raise InputError("is not a folder", place=str(folder), hint="mend paths.knowledge_dirs")
        found |= {path.name: path for path in sorted(folder.glob("*.yaml"))}
    return found


def _check_forms(domain: Domain, common: Common, file: YamlFile) -> None:
    """Compile a person's templates at once, so that a slip is told with its line and not with
    the first description.
    """
    try:
        language = Language(domain, common)
        for claim in domain.claims:
            for template in itertools.chain(*claim.slots().values()):
                language.of_claim(claim).compile(template)
        listed = (template for words in domain.lists.values() for template in flat(words))
        for template in (*listed, *(say for form in domain.forms for say in form.say)):
            language.grammar.compile(template)
    except FormError as error:
        at = next((at for at, text in file.written.items() if text == error.template), ())
        raise InputError(f"{error}: {error.template}", place=file.place_of(*at)) from error


def _merged(old: Common, new: Common) -> Common:
    """Both together: a key adds or takes the place of the same one, and lists add."""
    told: dict[str, Any] = {}
    for name in Common.model_fields:
        mine, others = getattr(old, name), getattr(new, name)
        told[name] = (
            mine | others
            if isinstance(mine, dict)
            else (*mine, *others)
            if isinstance(mine, tuple)
            else mine
        )
    return old.model_copy(update=told)
