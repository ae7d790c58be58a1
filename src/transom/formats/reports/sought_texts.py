"""Texts that are looked for in every line of a file, whatever report formats it has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from transom.evidence.trouble import TroubleFinder
from transom.formats.reports.readings import FileReading, Measurement

SOUGHT_LINE = "sought_line"
SEARCHED_LOG = "searched_log"
# The name of a file, such as `saved/a.spef`, does not say what is done with it.
_WRITING = re.compile(
    r"(?<![a-z0-9/.-])(?:writ(?:e|es|ing|ten)|sav(?:e|es|ing|ed))(?![a-z])"
    r"(?![\w.-]{0,200}(?:/|\.\w))",
    re.IGNORECASE,
)
# "No parasitics", "without a SPEF", "SPEF is not available": no file is read there.
_DENYING: Final = (
    r"(?<![\w-])(?:no|without|lacks?|instead\s+of)\s+"
    r"(?:(?:an?|any|the|such|[a-z]+(?:ed|al))\s+){0,2}"
    r"(?:TEXTS)\w*"
)
_DENIED: Final = (
    r"(?:TEXTS)\w*(?:\s+(?:data|files?))?\s+(?:(?:is|are|was|were)\s+)?"
    r"(?:not\s+(?:yet\s+)?(?:there|read|loaded|available|present|extracted|used|given)"
    r"|unavailable|n/a)(?![\w-])"
)
# A reader is shown that the log was searched; a text that may be looked for must not equal it.
_TO_ITS_END = "\N{END OF PROOF}"


class TextSearch:
    """Looks for texts in the pieces of a file that pass through it.

    A line holds a text if it has its words, in whatever case; the scope of the measurement says
    whether it has the text as it is written (`case: same`), or only similar (`case: other`).

    Args:
        texts: what is looked for.
        of_reading: only lines that may tell of a file that was read; a line of trouble, and one
            that writes a file, tells of none.
    """

    def __init__(self, texts: Sequence[str], *, of_reading: bool = False) -> None:
        self._texts = tuple(texts)
        self._finder = TroubleFinder("eda") if of_reading else None
        words = [r"[ \t]+".join(map(re.escape, text.split())) for text in texts]
        self._pattern = re.compile("|".join(words), re.IGNORECASE)
        denials = f"{_DENYING}|{_DENIED}".replace("TEXTS", "|".join(words))
        self._denial = re.compile(denials, re.IGNORECASE)
        self._lines_before = 0
        self.lines: list[Measurement] = []

    def passing(self, pieces: Iterable[str]) -> Iterator[str]:
        """Yield the pieces, and note the lines that hold a text."""
        for piece in pieces:
            self._search(piece)
            yield piece

    def finish(self, reading: FileReading) -> None:
        """Add the lines to a reading, and whether a log was searched to the end that it shows."""
        reading.sought = list(self.lines)
        outer = [section for section in reading.sections if not section.inside]
        if not outer or not outer[-1].is_log:
            return
        log = outer[-1]
        if log.completeness == "complete":
            proof = Measurement(SEARCHED_LOG, log.completed_at, {}, text=_TO_ITS_END)
        else:
            content = "the log does not show its end"
            proof = Measurement(SEARCHED_LOG, log.last_line, {}, "N/A", content=content)
        reading.sought.append(proof)

    def _search(self, piece: str) -> None:
        """Note the lines of a piece of whole lines that hold a text."""
        end = 0
        counted, number = 0, self._lines_before + 1
        for match in self._pattern.finditer(piece):
            if match.start() < end:
                # The line is noted already.
                continue
            start = piece.rfind("\n", 0, match.start()) + 1
            end = piece.find("\n", match.end())
            end = len(piece) if end < 0 else end
            number += piece.count("\n", counted, start)
            counted = start
            line = piece[start:end]
            if self._finder is not None and self._reads_nothing(self._finder, line):
                continue
            is_same = any(text in line for text in self._texts)
            scope = {"case": "same" if is_same else "other"}
            self.lines.append(
                Measurement(SOUGHT_LINE, number, scope, text=line.strip(), content=line)
            )
        self._lines_before += piece.removesuffix("\n").count("\n") + 1

    def _reads_nothing(self, finder: TroubleFinder, line: str) -> bool:
        """Return whether a line tells of no file that was read."""
        if _WRITING.search(line) or finder.in_line(line):
            return True
        # What one clause denies, another one may say of a second file.
        return not self._pattern.search(self._denial.sub(" ; ", line))
