"""A line of today's files that is offered as what a description means, and the lines of a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from transom.canonical import Json
from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.claim_data import ASKED, PART_SEPARATOR, shipped_claims
from transom.checklist.labelled_limits import WORD, plain_word, words_in
from transom.checklist.taught_format import NO_END, claim_name, format_text
from transom.checklist.teach import Lesson
from transom.errors import InputError
from transom.evidence.account import words_of_question
from transom.evidence.trouble import TroubleFinder
from transom.formats.reports.trees import csv_lines, json_lines, kind_of_tree, xml_lines
from transom.formats.text_files import TextFile
from transom.formats.yaml_files import parse_yaml

_NAME: Final = "taught.line"
_LARGEST_FILE: Final = 20_000_000
_LONGEST: Final = 200
_ECHO: Final = re.compile(r"^\s*(?:puts |echo |set |if |\$display|[\w./-]*[>%] )")


@dataclass(frozen=True)
class LineCandidate:
    """A line that may be what a description means.

    Attributes:
        means: what an answer that chooses it means.
        lesson: what that answer teaches.
        left_out: words of the description that neither the line nor its limit has.
        evidence: the file, the line's number and its text.
        label: the words that another line of the same matter has.
        states: whether another line with these words says how the matter stands.
        own_words: words of a description that narrow the matter and are no other one.
    """

    means: str
    lesson: Lesson
    left_out: tuple[str, ...]
    evidence: str
    label: frozenset[str]
    states: Callable[[str], bool]
    own_words: frozenset[str] = frozenset()

    @property
    def says(self) -> str:
        """Return what an answer that chooses it means, with its claim and all that it leaves open.

        The same words stand in the answer's text and in the item, so that a person sees them twice.
        """
        sentence = f"{self.means} [{claim_name(self.lesson)}]"
        words = [f'"{text}"' for text in self.left_out if text != NO_END]
        if words:
            sentence += f"; not checked: {', '.join(words)}"
        # Only an answer with a name takes this over, and the item keeps it.
        return f"{sentence}; {NO_END}" if NO_END in self.left_out else sentence

    def is_matter(self, line: str) -> bool:
        """Return whether another line may speak of the matter: as this one does, or by trouble."""
        if not self.label <= words_in(line):
            return False
        return self.states(line) or bool(TroubleFinder("eda").in_line(line))

    def row(self, path: str) -> ClaimRow:
        """Return the claim, with the path of its report format."""
        asked = PART_SEPARATOR.join(dict.fromkeys(filter(None, self.lesson.parts)))
        return ClaimRow(
            name=claim_name(self.lesson),
            parameters={ASKED: asked} if asked else {},
            left_out=self.left_out,
            format=path,
        )

    @property
    def report_format(self) -> dict[str, Json]:
        """The report format that it teaches."""
        data = parse_yaml(format_text(_NAME, self.says, self.lesson), Path(_NAME)).data
        return cast("dict[str, Json]", data)


def words_of_line(description: str, line: str) -> list[str]:
    """Return the words of a description that a line has, in any spelling and number."""
    words, words_there = list[str](), words_in(line)
    for word in WORD.findall(description):
        if plain_word(word) in words_there:
            words.append(word)
    return words


def words_not_used(description: str, used: list[str], lesson: Lesson) -> tuple[str, ...]:
    """Return what a line leaves open of a description, in parts.

    Args:
        description: the description.
        used: its words that the line or the limit has.
        lesson: what the line teaches; without an end of the file, that is left open as well.
    """
    words = words_of_question(description, used, ignored=shipped_claims().grammar)
    left_out = tuple(word.text for word in words if not word.is_used and word.could_matter)
    return left_out if lesson.complete else (*left_out, NO_END)


def is_printed(text: str) -> bool:
    """Return whether a line may be a result: it is no long one, and no echo of a command."""
    return len(text) <= _LONGEST and not _ECHO.match(text)


def lines_of(path: Path) -> list[tuple[int, str]]:
    """Return the numbered lines of a file as a report format reads them; none of a huge file."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            return []
        text = TextFile(path).whole()
    except (InputError, OSError):
        return []
    kind = kind_of_tree(text)
    if kind == "xml":
        return list(xml_lines([text]))
    if kind == "json":
        return list(json_lines(text))
    if kind == "csv":
        return list(csv_lines(text))
    return list(enumerate((line.rstrip() for line in text.split("\n")), 1))
