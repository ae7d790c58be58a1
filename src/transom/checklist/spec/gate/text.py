"""What holds for the text of every section: no placeholder, no comment, no absolute path, English."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence

from transom.checklist.spec.document import REVIEW_MARK, SECTION_TITLES
from transom.checklist.spec.gate.problem import SpecProblem
from transom.formats.markdown import Comment, Fence, Node, Paragraph, Part, Table, Text, iter_lines, iter_nodes, parse

_PLACEHOLDER = re.compile(r"\{\s*TODO\b[^}]*\}?|\{(?:ITEM_ID|DESCRIPTION)\}|<TO_BE_[A-Z]+>")
_POSIX = re.compile(r"(?<![\w/.*\\)\]}$<>])(?:~?/[A-Za-z_][\w.-]*(?:/[\w.*-]+)+|/(?:home|tmp|usr|opt|mnt|etc|var)\b)")
_WINDOWS = re.compile(r"(?<![\w?(])[A-Za-z]:[\\/](?=\w)|(?<!\\)\\\\\w+\\\w+")
_QUOTED = re.compile(r"`[^`]*`|[\"“”][^\"“”]*[\"“”]")
_LETTERS = ("LATIN", "GREEK", "MICRO", "OHM", "KELVIN", "ANGSTROM", "FEMININE", "MASCULINE", "MODIFIER", "SUPERSCRIPT")


def text_says(text: str, patterns: Collection[str] = ()) -> Iterator[SpecProblem]:
    """Check a Markdown text. `patterns` are its regular expressions: in them a slash is no path.

    What precedes Section 1 is the person's own description, which no round can mend; only its comments count.
    """
    every = parse(text)
    first = next((at for at, part in enumerate(every) if part.number == "1" and 1 <= part.level <= 2), 0)
    parts = every[first:]
    lines = list(_lines(parts))
    fenced = list(_fenced(parts))
    for line in [*lines, *fenced]:
        yield from _placeholders(line)
        yield from _paths(line, patterns)
    for line in lines:
        yield from _script(line)
    for part in every:
        yield from _comments(part)


def headings_say(text: str) -> Iterator[SpecProblem]:
    """The main headings of a whole ItemSpec are those of the four sections, each once and in order."""
    mains = [part for part in parse(text) if part.number in SECTION_TITLES and 1 <= part.level <= 2]
    for position, part in enumerate(mains):
        if part.number != list(SECTION_TITLES)[min(position, len(SECTION_TITLES) - 1)] or position >= len(
            SECTION_TITLES
        ):
            yield SpecProblem("spec.sections", part.line, f"section {part.number} is out of order or there twice")


def _lines(parts: Sequence[Part]) -> Iterator[Text]:
    for part in parts:
        yield Text(part.title, (), part.line)
        yield from iter_lines(part.blocks)
        for node in iter_nodes(part.blocks):
            if isinstance(node, Table):
                yield from node.header


def _fenced(parts: Sequence[Part]) -> Iterator[Text]:
    for part in parts:
        for node in iter_nodes(part.blocks):
            if isinstance(node, Fence):
                for offset, row in enumerate(node.text.split("\n")):
                    yield Text(row, (), node.line + offset)


def _placeholders(line: Text) -> Iterator[SpecProblem]:
    for match in _PLACEHOLDER.finditer(line.text):
        yield SpecProblem("spec.placeholders", line.line, f"unfilled placeholder {match[0][:60]}")


def _paths(line: Text, patterns: Collection[str]) -> Iterator[SpecProblem]:
    text = line.text
    for code in line.codes:
        if code.removeprefix("regex:") in patterns:
            text = text.replace(f"`{code}`", " ")
    for match in (*_POSIX.finditer(text), *_WINDOWS.finditer(text)):
        yield SpecProblem(
            "spec.paths", line.line, f"absolute path {match[0][:60]}; name files by pattern or relative to a variable"
        )


def _script(line: Text) -> Iterator[SpecProblem]:
    """Letters of another script outside code and quotations: the ItemSpec is written in English."""
    plain = _QUOTED.sub(" ", line.text)
    strange = [c for c in plain if c.isalpha() and not unicodedata.name(c, "").startswith(_LETTERS)]
    if strange:
        yield SpecProblem("spec.english", line.line, f"must be written in English; found {''.join(strange[:12])}")


def _comments(part: Part) -> Iterator[SpecProblem]:
    for node in _all(part.blocks):
        first = part.level == 0 and node is part.blocks[0]
        if isinstance(node, Comment) and not (first and REVIEW_MARK in node.text):
            yield SpecProblem("spec.comments", node.line, "comment left in the text; a finished section has none")


def _all(blocks: Sequence[Node]) -> Iterator[Node]:
    yield from (node for node in iter_nodes(blocks) if not isinstance(node, Paragraph))
