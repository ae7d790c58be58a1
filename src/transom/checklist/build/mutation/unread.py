"""Lines that a pattern of Section 4.1 matches and on which no entry stands: a question to whoever wrote the parser."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Final

from pydantic import TypeAdapter, ValidationError

from transom.checklist.atoms import Entry
from transom.checklist.build.mutation.probe import RealFile
from transom.checklist.spec.shapes import SpecDocument, SpecPattern
from transom.errors import AtomFailed
from transom.sandbox import Sandbox

_SCAN: Final = resources.files("transom.checklist.build.mutation").joinpath("scan.py").read_text("utf-8")
_HITS = TypeAdapter(list[tuple[int, int]])


async def unread(spec: SpecDocument, files: Sequence[tuple[RealFile, Sequence[Entry]]], sandbox: Sandbox) -> list[str]:
    """One question for each pattern, at its first such line, and for each category none of whose patterns matches.

    Patterns are others' work and may run without end, so they are searched for in the sandbox.
    """
    patterns = [pattern for extraction in spec.guide.extractions for pattern in extraction.patterns]
    if not patterns or not files:
        return []
    asked: dict[str, str] = {}
    hit: set[int] = set()
    try:
        async with sandbox.worker(_SCAN) as worker:
            for file, entries in files:
                told = {"text": file.text, "patterns": [pattern.regex for pattern in patterns]}
                read = {entry.line_number for entry in entries}
                for line, index in _HITS.validate_python(await worker.call("scan", told)):
                    hit.add(index)
                    if line not in read:
                        asked.setdefault(patterns[index].regex, _question(patterns[index], file, line))
    except AtomFailed as error:
        return [f"a pattern of Section 4.1 cannot be tried on the files: {error.what}"]
    except ValidationError:
        return ["the patterns of Section 4.1 cannot be tried on the files"]
    names = ", ".join(file.name for file, _ in files)
    matched = {patterns[index] for index in hit}
    missed = [one.name for one in spec.guide.extractions if one.patterns and not matched & {*one.patterns}]
    return [*asked.values(), *(f"no pattern of Section 4.1 for {name} matches a line of {names}" for name in missed)]


def _question(pattern: SpecPattern, file: RealFile, line: int) -> str:
    return (
        f"Section 4.1's pattern `{pattern.regex}` also matches {file.name}:{line}, on which no entry stands; "
        "say why it is left out, or emit it"
    )
