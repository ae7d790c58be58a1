"""The ItemSpec beside the real files: what its patterns match, and which names of theirs only atom A knows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

from pydantic import TypeAdapter, ValidationError

from transom.checklist.atoms import Entry
from transom.checklist.build.artifacts import split, tree_of
from transom.checklist.build.logic_gates import literals
from transom.checklist.build.prober import RealFile, quoted
from transom.checklist.spec.shapes import SpecDocument, SpecPattern
from transom.errors import AtomFailed
from transom.sandbox import Sandbox

_SCAN: Final = resources.files("transom.checklist.build.mutation").joinpath("scan.py").read_text("utf-8")
_SHOWN: Final = 3
_HITS = TypeAdapter(list[tuple[int, int]])
_WORD: Final = re.compile(r"[A-Za-z_]\w{2,}")
_NO_TEXT: Final = re.compile(r"\\.|\(\?P?<\w+>")  # escapes and names of groups
_NAME: Final = re.compile(r"[A-Za-z]\w*[\d_]")  # how designs call things; what tools say are mostly plain words


@dataclass(frozen=True)
class PatternTrial:
    """What the patterns of Section 4.1 are on the real files.

    Attributes:
        questions: one for each pattern, at the first line that it matches and on which no entry stands.
        missed: one for each category that atom A reads from lines that none of its patterns matches.
        untried: what could not be tried: a category of which these files may say nothing, or the patterns themselves.
    """

    questions: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    untried: tuple[str, ...] = ()


async def try_patterns(
    spec: SpecDocument, files: Sequence[tuple[RealFile, Sequence[Entry]]], sandbox: Sandbox
) -> PatternTrial:
    """Search for the patterns in the sandbox: they are others' work and may run without end."""
    patterns = [pattern for extraction in spec.guide.extractions for pattern in extraction.patterns]
    if not patterns or not files:
        return PatternTrial()
    asked: dict[str, str] = {}
    hit: set[int] = set()
    try:
        async with sandbox.worker(_SCAN) as worker:
            for file, entries in files:
                told = {"text": file.text, "patterns": [pattern.regex for pattern in patterns]}
                there = {entry.line_number for entry in entries}
                for line, index in _HITS.validate_python(await worker.call("scan", told)):
                    hit.add(index)
                    if line not in there:
                        asked.setdefault(patterns[index].regex, _question(patterns[index], file, line))
    except AtomFailed as error:
        return PatternTrial(untried=(f"a pattern of Section 4.1 cannot be tried on the files: {error.what}",))
    except ValidationError:
        return PatternTrial(untried=("the patterns of Section 4.1 cannot be tried on the files",))
    names = ", ".join(file.name for file, _ in files)
    matched = {patterns[index] for index in hit}
    missed: list[str] = []
    untried: list[str] = []
    for one in spec.guide.extractions:
        if one.patterns and not matched & {*one.patterns}:
            said, read = (
                f"no pattern of Section 4.1 for {one.name} matches a line of {names}",
                _read(one.category, files),
            )
            missed += [f"{said}; atom A reads it from {read}"] if read else []
            untried += [] if read else [said]
    return PatternTrial(tuple(asked.values()), tuple(missed), tuple(untried))


def _read(category: str | None, files: Sequence[tuple[RealFile, Sequence[Entry]]]) -> str:
    """The lines from which atom A takes that category all the same."""
    read = [
        f"{file.name}:{entry.line_number} {quoted(file, entry.line_number)}"
        for file, entries in files
        for entry in entries
        if entry.line_number and category in entry.parsed_fields
    ]
    return " and ".join(read[:_SHOWN])


def _question(pattern: SpecPattern, file: RealFile, line: int) -> str:
    return (
        f"Section 4.1's pattern `{pattern.regex}` also matches {file.name}:{line}, on which no entry stands: "
        f"{quoted(file, line)}; why is it left out?"
    )


def ask_about_names(
    code: str, spec: SpecDocument, files: Sequence[tuple[RealFile, Sequence[Entry]]]
) -> tuple[str, ...]:
    """A question for each name of these files that stands in atom A and nowhere in the ItemSpec.

    An atom that looks for one design's own names reads no other design.
    """
    known, asked = spec.text.casefold(), dict[str, str]()
    tree = tree_of(split(code).a)
    texts = [text for _, text in literals(tree)] if tree else []
    words = {word for text in texts for word in _WORD.findall(_NO_TEXT.sub(" ", text)) if word.casefold() not in known}
    for file, entries in files:
        emitted = set(_WORD.findall(" ".join(f"{entry.value} {entry.parsed_fields}" for entry in entries)))
        for word in sorted(words.intersection(_WORD.findall(file.text))):
            if word in emitted or _NAME.match(word):
                said = f"atom A looks for {word!r}, a name of {file.name} that stands nowhere in the ItemSpec"
                asked.setdefault(word, f"{said}; how does it read a design that has another name there?")
    return tuple(asked.values())[:_SHOWN]
