"""Rules for the text of every section: no placeholder, no comment, no absolute path, English."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence

from transom.checklist.writing.document import SECTION_TITLES
from transom.checklist.writing.gate.problems import Problems
from transom.checklist.writing.review_mark import REVIEW_MARK
from transom.formats.markdown import (
    Comment,
    Fence,
    InlineText,
    MarkdownPart,
    MarkdownTable,
    Paragraph,
    iter_lines,
    iter_nodes,
    parse,
)

_PLACEHOLDER = re.compile(r"\{\s*TODO\b[^}]*\}?|\{(?:ITEM_ID|DESCRIPTION)\}|<TO_BE_[A-Z]+>")
_UNFILLED = re.compile(r"(?:[^:;.,]+:\s*)?TODO:")
_POSIX = re.compile(
    r"(?<![\w/.*\\)\]}$<>])"
    r"(?:~?/[A-Za-z_][\w.-]*(?:/[\w.*-]+)+|/(?:home|tmp|usr|opt|mnt|etc|var)\b)"
)
_WINDOWS = re.compile(r"(?<![\w?(])[A-Za-z]:[\\/](?=\w)|(?<!\\)\\\\\w+\\\w+")
_QUOTED = re.compile(r"`[^`]*`|[\"“”][^\"“”]*[\"“”]")
_LETTERS = (
    "LATIN",
    "GREEK",
    "MICRO",
    "OHM",
    "KELVIN",
    "ANGSTROM",
    "FEMININE",
    "MASCULINE",
    "MODIFIER",
    "SUPERSCRIPT",
)


def check_text(problems: Problems, text: str, patterns: Collection[str] = ()) -> None:
    """Check a Markdown text. `patterns` are its regular expressions: in them a slash is no path.

    What precedes Section 1 is the person's own description, which no round can mend; only its
    comments count.
    """
    every = parse(text)
    first = 0
    for index, part in enumerate(every):
        if part.number == "1" and 1 <= part.level <= 2:
            first = index
            break
    lines = list(_lines(every[first:]))
    for line in [*lines, *_fenced(every[first:])]:
        for match in _PLACEHOLDER.finditer(line.text):
            problems.add("spec.placeholders", line.line, f"unfilled placeholder {match[0][:60]}")
        _paths(problems, line, patterns)
    for line in lines:
        _script(problems, line)
        # A sentence may speak of the mark; a text that begins with it is not written yet.
        if _UNFILLED.match(_QUOTED.sub("-", line.text)):
            problems.add("spec.placeholders", line.line, f"not filled in: {line.text[:60]}")
    for part in every:
        _comments(problems, part)


def check_headings(problems: Problems, text: str) -> None:
    """Check that the main headings are those of the four sections, each once and in order."""
    expected = list(SECTION_TITLES)
    mains = []
    for part in parse(text):
        if part.number in SECTION_TITLES and 1 <= part.level <= 2:
            mains.append(part)
    for position, part in enumerate(mains):
        right = position < len(expected) and part.number == expected[position]
        problems.unless(
            right,
            "spec.sections",
            part.line,
            f"section {part.number} is out of order or there twice",
        )


def _lines(parts: Sequence[MarkdownPart]) -> Iterator[InlineText]:
    for part in parts:
        yield InlineText(part.title, (), part.line)
        yield from iter_lines(part.blocks)
        for node in iter_nodes(part.blocks):
            if isinstance(node, MarkdownTable):
                yield from node.header


def _fenced(parts: Sequence[MarkdownPart]) -> Iterator[InlineText]:
    for part in parts:
        for node in iter_nodes(part.blocks):
            if isinstance(node, Fence):
                for offset, row in enumerate(node.text.split("\n")):
                    yield InlineText(row, (), node.line + offset)


def _paths(problems: Problems, line: InlineText, patterns: Collection[str]) -> None:
    text = line.text
    # A slash inside a pattern is no path.
    for code in line.codes:
        if code.removeprefix("regex:") in patterns:
            text = text.replace(f"`{code}`", " ")
    for match in (*_POSIX.finditer(text), *_WINDOWS.finditer(text)):
        message = f"absolute path {match[0][:60]}; name files by pattern or relative to a variable"
        problems.add("spec.paths", line.line, message)


def _script(problems: Problems, line: InlineText) -> None:
    """Report letters of another script outside code and quotations.

    The ItemSpec is written in English.
    """
    plain = _QUOTED.sub(" ", line.text)
    strange = ""
    for character in plain:
        script = unicodedata.name(character, "")
        if character.isalpha() and not script.startswith(_LETTERS):
            strange += character
    problems.unless(
        not strange, "spec.english", line.line, f"must be written in English; found {strange[:12]}"
    )


def _comments(problems: Problems, part: MarkdownPart) -> None:
    for node in (node for node in iter_nodes(part.blocks) if not isinstance(node, Paragraph)):
        # The comment of a review at the top is ours.
        first = part.level == 0 and node is part.blocks[0]
        if isinstance(node, Comment) and not (first and REVIEW_MARK in node.text):
            problems.add(
                "spec.comments", node.line, "comment left in the text; a finished section has none"
            )
