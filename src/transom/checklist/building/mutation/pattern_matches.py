"""The ItemSpec beside the real files: what its patterns match, and which names of theirs only
atom A knows.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final, TypeAlias

from pydantic import TypeAdapter, ValidationError

from transom.checklist.atoms import CheckerConfig, Entry
from transom.checklist.building.artifacts import split, tree_of
from transom.checklist.building.logic_gates import literals
from transom.checklist.building.prober import Prober, RealFile, quoted
from transom.checklist.writing.shapes import SpecDocument, SpecPattern
from transom.errors import AtomFailed

_SCAN: Final = (
    resources.files("transom.checklist.building.mutation").joinpath("scan.py").read_text("utf-8")
)
_SHOWN: Final = 3
_LONGEST: Final = 120  # of a pattern in a question
Hits: TypeAlias = list[tuple[int, int]]
"""Line and index of a pattern that matches there."""

_HITS: Final = TypeAdapter(Hits)
_WORD: Final = re.compile(r"[A-Za-z_]\w{2,}")
_NO_TEXT: Final = re.compile(r"\\.|\(\?P?<\w+>")  # escapes and names of groups
_GROUP: Final = re.compile(r"\(\?P<(\w+)>")
# What Section 4.1 says of a pattern whose lines have no entry each.
_NO_OWN_ENTRY: Final = re.compile(r"\bno entry of its own\b|\bcounted\b", re.IGNORECASE)
_EXAMPLES: Final = re.compile(r"^#+ Examples[ \t]*$.*?^```\w*$.*?^```$", re.MULTILINE | re.DOTALL)
# how designs call things; what tools say are mostly plain words
_NAME: Final = re.compile(r"[A-Za-z]\w*[\d_]")


@dataclass(frozen=True)
class PatternTrial:
    """Results of Section 4.1's patterns on the real files.

    Attributes:
        questions: one for each pattern that fills a judged field, at the first line that it matches
            and on which no entry stands; and for each name that only atom A knows.
        keyed: names that the patterns let vary and without which atom A reads nothing.
        missed: one for each category that atom A reads from lines that none of its patterns
            matches.
        untried: what could not be tried: a category of which these files may say nothing, or the
            patterns themselves.
    """

    questions: tuple[str, ...] = ()
    keyed: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    untried: tuple[str, ...] = ()


Read: TypeAlias = Sequence[tuple[RealFile, Sequence[Entry]]]
"""The files, and what atom A sees in them."""


async def try_patterns(
    spec: SpecDocument, config: CheckerConfig, files: Read, prober: Prober
) -> PatternTrial:
    """Search for the patterns in the sandbox: they are others' work and may run without end."""
    judged = _judged(spec, config)
    patterns: list[SpecPattern] = []
    for extraction in spec.guide.extractions:
        patterns += extraction.patterns
    names = _names_of_atom_a(prober.code, spec)
    asked_names = _questions_about(names, files)
    # Names can be asked about without any pattern.
    if not patterns or not files:
        return PatternTrial(asked_names)
    questions: dict[str, str] = {}
    hit: set[int] = set()
    keyed: list[str] = []
    try:
        async with prober.sandbox.worker(_SCAN) as worker:

            async def hits(text: str) -> list[tuple[int, int]]:
                request = {"text": text, "patterns": [pattern.regex for pattern in patterns]}
                return _HITS.validate_python(await worker.call("scan", request))

            for file, entries in files:
                matches = await hits(file.text)
                entry_lines = {entry.line_number for entry in entries}
                hit |= {index for _, index in matches}
                settled = _without_own_entries(spec, entries)
                for line, index in matches:
                    pattern = patterns[index]
                    if line not in entry_lines and pattern in judged and pattern not in settled:
                        questions.setdefault(pattern.regex, _question(pattern, file, line))
                for name in sorted(names.intersection(_WORD.findall(file.text))):
                    if _NAME.match(name) and await _is_keyed(prober, file, name, matches, hits):
                        message = (
                            f"{file.name}: atom A reads less when {name} has another name there"
                        )
                        keyed.append(
                            f"{message}, although the patterns of Section 4.1 match the same lines"
                        )
    except AtomFailed as error:
        return PatternTrial(
            asked_names, untried=(f"a pattern of Section 4.1 cannot be tried: {error.problem}",)
        )
    except ValidationError:
        return PatternTrial(
            asked_names, untried=("the patterns of Section 4.1 cannot be tried on the files",)
        )
    missed, untried = _unmatched(spec, {patterns[index] for index in hit}, files)
    return PatternTrial((*questions.values(), *asked_names), tuple(keyed[:_SHOWN]), missed, untried)


def without_examples(text: str) -> str:
    """Return the text of an ItemSpec without its examples, which may be copied from a report."""
    return _EXAMPLES.sub("", text)


def _judged(spec: SpecDocument, config: CheckerConfig) -> set[SpecPattern]:
    """Return the patterns that fill a field by which an item is judged.

    If no group names a field, the category counts.
    """
    conditions = []
    for item in config.items:
        if item.condition:
            conditions.append(item.condition.field)
    questions = {
        *conditions,
        *(name for item in config.items for name in (item.select, *item.required)),
    }
    categories = {name.partition(".")[0] for name in questions}
    fields = {*spec.parsing.dotted_fields()}
    matching: set[SpecPattern] = set()
    for extraction in spec.guide.extractions:
        for pattern in extraction.patterns:
            filled = fields & {
                f"{extraction.category}.{group}" for group in _GROUP.findall(pattern.regex)
            }
            if filled & questions if filled else extraction.category in categories:
                matching.add(pattern)
    return matching


def _without_own_entries(spec: SpecDocument, entries: Sequence[Entry]) -> set[SpecPattern]:
    """Return the patterns whose lines need no entry each, as Section 4.1 says of them.

    Such a line opens a block, or is counted into an entry that stands elsewhere. The file must have
    an entry of the category; otherwise the words of Section 4.1 would hide that nothing is read.
    """
    silent_patterns: set[SpecPattern] = set()
    for extraction in spec.guide.extractions:
        if any(extraction.category in entry.parsed_fields for entry in entries):
            for pattern in extraction.patterns:
                if _NO_OWN_ENTRY.search(pattern.note):
                    silent_patterns.add(pattern)
    return silent_patterns


async def _is_keyed(
    prober: Prober, file: RealFile, name: str, before: Hits, hits: Callable[[str], Awaitable[Hits]]
) -> bool:
    """Return whether entries go if a name becomes another one.

    The same patterns must match the same lines.
    """
    renamed = re.sub(
        rf"(?<!\w){re.escape(name)}(?!\w)",
        f"{name[:-1]}{'q' if name[-1] != 'q' else 'p'}",
        file.text,
    )
    before_renaming, after = (
        await prober.answer(file.name, file.text),
        await prober.answer(file.name, renamed),
    )
    lost = (
        {entry.line_number for entry in before_renaming.entries}
        - {entry.line_number for entry in after.entries}
        - {None}
    )
    if after.refused is not None or not lost:
        return False
    still = set(await hits(renamed))
    matched = []
    for placed in before:
        if placed[0] in lost:
            matched.append(placed)
    return bool(matched) and all(placed in still for placed in matched)


def _unmatched(
    spec: SpecDocument, matched: set[SpecPattern], files: Read
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the extractions none of whose patterns matches, those that atom A reads apart."""
    names = ", ".join(file.name for file, _ in files)
    missed: list[str] = []
    untried: list[str] = []
    for extraction in spec.guide.extractions:
        if extraction.patterns and not matched & {*extraction.patterns}:
            remark = f"no pattern of Section 4.1 for {extraction.name} matches a line of {names}"
            read = _read(extraction.category, files)
            if read:
                missed.append(f"{remark}; atom A reads it from {read}")
            else:
                # The files may hold nothing of it, which is no fault of the ItemSpec.
                untried.append(remark)
    return tuple(missed), tuple(untried)


def _read(category: str | None, files: Read) -> str:
    """Return the lines from which atom A takes that category all the same."""
    read = []
    for file, entries in files:
        for entry in entries:
            if entry.line_number and category in entry.parsed_fields:
                read.append(f"{file.name}:{entry.line_number} {quoted(file, entry.line_number)}")
    return " and ".join(read[:_SHOWN])


def _question(pattern: SpecPattern, file: RealFile, line: int) -> str:
    regex = pattern.regex if len(pattern.regex) <= _LONGEST else f"{pattern.regex[:_LONGEST]}..."
    return (
        f"Section 4.1's pattern `{regex}` also matches {file.name}:{line}, on which no entry"
        f" stands: {quoted(file, line)}; why is it left out?"
    )


def _names_of_atom_a(code: str, spec: SpecDocument) -> set[str]:
    """Return words of atom A that the ItemSpec has in examples only, which may be copied."""
    spec_text, tree, logic = (
        without_examples(spec.text).casefold(),
        tree_of(code),
        split(code).first,
    )
    texts = [text for line, text in literals(tree) if line < logic] if tree else []
    words = set()
    for text in texts:
        words.update(_WORD.findall(_NO_TEXT.sub(" ", text)))
    names: set[str] = set()
    for word in words:
        if word.casefold() not in spec_text:
            names.add(word)
    return names


def _questions_about(names: set[str], files: Read) -> tuple[str, ...]:
    """Return a question for each such name.

    An atom that looks for one design's own names reads no other.
    """
    questions: dict[str, str] = {}
    for file, entries in files:
        emitted = set(
            _WORD.findall(" ".join(f"{entry.value} {entry.parsed_fields}" for entry in entries))
        )
        for word in sorted(names.intersection(_WORD.findall(file.text))):
            if word in emitted or _NAME.match(word):
                remark = (
                    f"atom A looks for {word!r}, a name of {file.name} that the ItemSpec says"
                    " nothing of"
                )
                questions.setdefault(
                    word, f"{remark}; how does it read a design that has another name there?"
                )
    return tuple(questions.values())[:_SHOWN]
