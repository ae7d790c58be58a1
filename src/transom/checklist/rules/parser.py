"""The Parser role: Atom A from Section 1, Section 4.1 and views of the real files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from transom.checklist.atoms import Source
from transom.checklist.file_kinds import kind_by_name
from transom.checklist.rules.extract import Asked, Wanted, about_file, make_atom, make_rules, read_with, shown_patterns
from transom.checklist.rules.fragments.main import Account, Known
from transom.checklist.rules.fragments.stage import Stage
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.plan import block, plan_fields, reply
from transom.checklist.rules.sections import NARROWED, ONLY_OF
from transom.checklist.rules.shapes import Domain, KnownSource
from transom.checklist.spec.document import parse_section1, parse_section4
from transom.checklist.spec.shapes import GuideSection, ParsingSection
from transom.errors import NeedsModel, NotUnderstood
from transom.llm import Reply, Request

_FILE: Final = re.compile(r"### FILE (?P<name>.+) \((?P<bytes>\d+) bytes, (?P<lines>\d+) lines\)")
_LINE: Final = re.compile(r"\s*(\d+)\| ?(.*)")


@dataclass(frozen=True)
class View:
    """What was shown of a file: its lines by number, those that were left out blank."""

    name: str
    lines: tuple[str, ...]
    whole: bool

    @property
    def base(self) -> str:
        return self.name.replace("\\", "/").rsplit("/", 1)[-1]


def answer_parser(request: Request, knowledge: Knowledge) -> Reply:
    """Answer `<atom_a>`.

    Raises:
        NeedsModel: a field, a kind of file or a pattern that no knowledge has, or a file whose text is of a dialect
            that the rules do not read; with file:line.
    """
    section1 = block(request, "section_1")
    parsing = parse_section1(section1)
    domain, used = plan_fields(knowledge, parsing.dotted_fields(), "section 1")
    guide = parse_section4(block(request, "section_4_1"))
    _check_patterns(domain, guide)
    wanted = Wanted(
        {category.key: [field.name for field in fields] for category, fields in used},
        _sources(domain, guide),
        _narrowed(domain, parsing),
        _stage(knowledge, section1),
    )
    views = read_views(request.window.text("log_snippets"))
    if strange := _strange(domain, wanted, views):
        raise NeedsModel(strange)
    return reply(knowledge, f"<atom_a>\n```python\n{make_atom(domain, wanted)}```\n</atom_a>\n", domain)


def read_views(text: str) -> list[View]:
    """The files of `log_snippets`."""
    views: list[View] = []
    for part in re.split(r"(?m)^(?=### FILE )", text):
        head = _FILE.match(part)
        if head is None:
            continue
        shown = {int(m[1]): m[2] for line in part.split("\n")[1:] if (m := _LINE.fullmatch(line))}
        lines = tuple(shown.get(number, "") for number in range(1, max(shown, default=0) + 1))
        views.append(View(head["name"], lines, len(shown) >= int(head["lines"])))
    return views


def _sources(domain: Domain, guide: GuideSection) -> list[Source]:
    """The spec's sources, by the knowledge's kinds: a person may have changed names and ranks."""
    kinds = {source.kind for source in domain.sources}
    told = [source for source in guide.sources if source.kind]
    if strange := [source.kind for source in told if source.kind not in kinds]:
        raise NeedsModel([NotUnderstood(str(kind), "section 4.1, data sources") for kind in strange])
    if not told:
        raise NeedsModel([NotUnderstood("no kind of file", "section 4.1, data sources")])
    return [Source(kind=str(source.kind), rank=source.rank, files=source.files) for source in told]


def _check_patterns(domain: Domain, guide: GuideSection) -> None:
    for extraction in guide.extractions:
        known = {p for rule in domain.extraction for p in shown_patterns(rule, extraction.category or "")}
        strange = [pattern.regex for pattern in extraction.patterns if pattern.regex not in known]
        if strange:
            raise NeedsModel([NotUnderstood(text, f"section 4.1, {extraction.name}") for text in strange])


def _narrowed(domain: Domain, parsing: ParsingSection) -> dict[str, str]:
    found: dict[str, str] = {}
    for choice, dotted in ((name, one) for name in domain.narrows for one in domain.narrowed({name: ""})):
        for category in parsing.categories:
            for field in category.fields:
                chosen = NARROWED.search(field.meaning) if f"{category.key}.{field.name}" == dotted else None
                if chosen and chosen[1] not in domain.choices()[choice]:
                    raise NeedsModel([NotUnderstood(chosen[0], f"section 1, {dotted}")])
                if chosen:
                    found[dotted] = chosen[1]
    return found


def _stage(knowledge: Knowledge, text: str) -> Asked | None:
    """The stage of which alone the files must be, by Section 1."""
    said = ONLY_OF.search(text)
    names = knowledge.common.stages.get(said[1], {}) if said else {}
    if said and said[2] not in names:
        raise NeedsModel([NotUnderstood(said[0], "section 1")])
    return Asked(said[2], names) if said else None


def _strange(domain: Domain, wanted: Wanted, views: Sequence[View]) -> list[NotUnderstood]:
    """What in the shown files the rules would not read for certain.

    Files that another one names are followed as references or not read at all, so only the others must be of a
    dialect that is known.
    """
    about = {source.kind: source for source in domain.sources}
    found: list[NotUnderstood] = []
    for view in views:
        if not any(line.strip() for line in view.lines):
            continue
        kind = kind_by_name(view.base, [source.model_dump(mode="json") for source in wanted.sources])
        named = any(view.base in line for other in views if other is not view for line in other.lines)
        if kind is None and named:
            continue
        source = about[kind or wanted.sources[0].kind]
        found += _unread(domain, wanted, view, source, kind_known=kind is not None, followed=named)
    return found


def _unread(
    domain: Domain, wanted: Wanted, view: View, source: KnownSource, *, kind_known: bool, followed: bool
) -> list[NotUnderstood]:
    """What the atom's guards and readers refuse in what was shown; of a kind that is guessed the end tells nothing."""
    about = about_file(source, domain.extraction, wanted)
    rules = [rule for rule in make_rules(domain, wanted) if rule["file"] == source.kind]
    try:
        known, account, stage = Known(source.kind, about), Account(about), Stage(view.name, about)
        for number, line in enumerate(view.lines, 1):
            account.line(number, line)
            for guard in () if followed else (known, stage):
                guard.line(number, line)
        if not followed:
            known.begun = known.begun if view.whole else {}  # the end may stand in what is not shown
            known.end()
        for rule in rules if view.whole else ():  # what begins in one view may end in another
            made, took = read_with(rule, list(view.lines))
            account.read(made, took)
            stage.read(made)
        if view.whole and (kind_known or not any(one.signs for one in domain.sources)):
            account.end()
    except ValueError as error:
        return [_located(view, str(error))]
    return []


def _located(view: View, message: str) -> NotUnderstood:
    found = re.match(r"line (\d+): (.*)", message)
    if found is None:
        return NotUnderstood(message, view.name)
    number = int(found[1])
    text = view.lines[number - 1].strip() if number <= len(view.lines) else message
    return NotUnderstood(text, f"{view.name}:{number}, {found[2]}")


__all__ = ["View", "answer_parser", "read_views"]
