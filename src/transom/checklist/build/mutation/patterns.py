"""Section 4.1's patterns on the real files: what they match beside the entries, and which of them match nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

from pydantic import TypeAdapter, ValidationError

from transom.checklist.atoms import Entry
from transom.checklist.build.mutation.probe import RealFile, quoted
from transom.checklist.spec.shapes import SpecDocument, SpecPattern
from transom.errors import AtomFailed
from transom.sandbox import Sandbox

_SCAN: Final = resources.files("transom.checklist.build.mutation").joinpath("scan.py").read_text("utf-8")
_SHOWN: Final = 3
_HITS = TypeAdapter(list[tuple[int, int]])


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
