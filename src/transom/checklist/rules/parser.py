"""The Parser role: Atom A from Section 1, Section 4.1 and views of the real files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from transom.canonical import Json
from transom.checklist.atoms import Source
from transom.checklist.file_kinds import kind_by_name
from transom.checklist.rules.extract import Wanted, make_atom, reader_of
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.plan import block, plan_fields, reply
from transom.checklist.rules.sections import NARROWED, ONLY_OF
from transom.checklist.rules.shapes import Domain
from transom.checklist.writing.document import parse_section1, parse_section4
from transom.checklist.writing.shapes import GuideSection, ParsingSection
from transom.errors import NeedsModel, NotUnderstood
from transom.llm import Reply, Request

_FILE: Final = re.compile(r"### FILE (?P<name>.+) \((?P<bytes>\d+) bytes, (?P<lines>\d+) lines\)")
# Guards that tell a dialect or a stage, and what only a whole text can tell.
_OF_DIALECT: Final = ("known_by", "refuse", "ends", "stage")
_OF_ALL: Final = ("read", "must_be_read", "counts", "error_if_nothing_read", "ends")
_LINE: Final = re.compile(r"\s*(\d+)\| ?(.*)")


@dataclass(frozen=True)
class View:
    """What was shown of a file: its lines by number, those that were left out blank."""

    name: str
    lines: tuple[str, ...]
    whole: bool


def answer_parser(request: Request, knowledge: Knowledge) -> Reply:
    """Answer `<atom_a>`.

    Raises:
        NeedsModel: a field, a kind of file or a pattern that no knowledge has, or a file whose text
            is of a dialect that the rules do not read; with file:line.
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
    return reply(
        knowledge, f"<atom_a>\n```python\n{make_atom(domain, wanted)}```\n</atom_a>\n", domain
    )


def read_views(text: str) -> list[View]:
    """The files of `log_snippets`."""
    views: list[View] = []
    for part in re.split(r"(?m)^(?=### FILE )", text):
        if head := _FILE.match(part):
            shown = {
                int(m[1]): m[2] for line in part.split("\n")[1:] if (m := _LINE.fullmatch(line))
            }
            lines = tuple(shown.get(number, "") for number in range(1, max(shown, default=0) + 1))
            views.append(View(head["name"], lines, len(shown) >= int(head["lines"])))
    return views


def _sources(domain: Domain, guide: GuideSection) -> list[Source]:
    """The spec's sources, by the knowledge's kinds: a person may have changed names and ranks."""
    kinds = {source.kind for source in domain.sources}
    sources = [described.source for described in guide.sources if described.source.kind]
    strange = [source.kind for source in sources if source.kind not in kinds]
    _known(strange if sources else ["no kind of file"], "section 4.1, data sources")
    return sources


def _check_patterns(domain: Domain, guide: GuideSection) -> None:
    for extraction in guide.extractions:
        known = {
            regex for rule in domain.extraction for regex in rule.shown(extraction.category or "")
        }
        strange = [pattern.regex for pattern in extraction.patterns if pattern.regex not in known]
        _known(strange, f"section 4.1, {extraction.name}")


def _narrowed(domain: Domain, parsing: ParsingSection) -> dict[str, str]:
    """The fields that must have one value, by Section 1."""
    means = {
        f"{one.key}.{field.name}": field.meaning
        for one in parsing.categories
        for field in one.fields
    }
    found: dict[str, str] = {}
    for choice in domain.narrows:
        for dotted in domain.narrowed({choice: ""}):
            if said := NARROWED.search(means.get(dotted, "")):
                _known(
                    [said[0]] if said[1] not in domain.choices()[choice] else [],
                    f"section 1, {dotted}",
                )
                found[dotted] = said[1]
    return found


def _stage(knowledge: Knowledge, text: str) -> dict[str, Json] | None:
    """The stage of which alone the files must be, by Section 1."""
    said = ONLY_OF.search(text)
    names = knowledge.common.stages.get(said[1], {}) if said else {}
    _known([said[0]] if said and said[2] not in names else [], "section 1")
    return {"asked": said[2], "names": {**names}} if said else None


def _known(strange: Sequence[str], where: str) -> None:
    if strange:
        raise NeedsModel([NotUnderstood(text, where) for text in strange])


def _strange(domain: Domain, wanted: Wanted, views: Sequence[View]) -> list[NotUnderstood]:
    """What in the shown files the atom would refuse.

    A file that another one names is followed as a reference or not read at all, so it may be of any
    dialect. Of one that is not shown whole only the lines themselves tell: what begins in one part
    may end in another.
    """
    found: list[NotUnderstood] = []
    for view in views:
        base = re.split(r"[\\/]", view.name)[-1]
        named = any(base in line for other in views if other is not view for line in other.lines)
        kind = kind_by_name(base, [source.model_dump(mode="json") for source in wanted.sources])
        if not any(line.strip() for line in view.lines) or (named and kind is None):
            continue
        # what tells a dialect goes first
        for without in (_OF_ALL, ()) if view.whole else (_OF_ALL,):
            try:
                file = reader_of(
                    domain, wanted, view.name, without=[*without, *(_OF_DIALECT if named else ())]
                )
                file.feed("\n".join(view.lines))
                file.finish()
            except ValueError as error:
                found.append(_located(view, str(error)))
                break
    return found


def _located(view: View, message: str) -> NotUnderstood:
    at = re.match(r"line (\d+): ", message)
    if at is None:
        return NotUnderstood(message, view.name)
    text, why = view.lines[int(at[1]) - 1].strip(), message[at.end() :]
    return NotUnderstood(text, f"{view.name}:{at[1]}, {why}")
