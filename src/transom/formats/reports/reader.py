"""Reads a report from a file, a text, or pieces of text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from transom.formats.reports.fact_interest import FactInterest
from transom.formats.reports.file_pass import FilePass
from transom.formats.reports.format_rules import CompiledFormat
from transom.formats.reports.readings import FileReading
from transom.formats.reports.sought_texts import TextSearch
from transom.formats.reports.trees import csv_lines, json_lines, kind_of_tree, xml_lines
from transom.formats.text_decoding import clean
from transom.formats.text_files import STREAMED_BYTES, TextFile

# A JSON document is held as a whole; a cut one is not well-formed, and is reported as such.
_MOST_PIECES_OF_JSON: Final = 64


def read_report(path: Path, formats: Sequence[CompiledFormat]) -> FileReading:
    """Recognise and read a file.

    Raises:
        InputError: missing, a folder, unreadable, cut short, too large, or changed.
    """
    file = TextFile(path, limit=STREAMED_BYTES)
    reading = read_report_pieces(file.pieces(), str(path), formats)
    reading.facts = file.facts
    return reading


def read_report_text(
    text: str, formats: Sequence[CompiledFormat], path: str = "report"
) -> FileReading:
    """Recognise and read a report that is held in memory."""
    return read_report_pieces(iter([clean(text)] if text else []), path, formats)


def read_report_pieces(
    pieces: Iterator[str],
    path: str,
    formats: Sequence[CompiledFormat],
    sought: Sequence[str] = (),
    *,
    of_reading: bool = False,
    interest: FactInterest | None = None,
) -> FileReading:
    """Recognise and read a report that comes in pieces of whole lines.

    Args:
        pieces: the pieces.
        path: the path, for the reading.
        formats: the formats that it may have.
        sought: texts to look for in each of its lines.
        of_reading: look only in lines that may tell of a file that was read.
        interest: the measurements to keep; all of them if None.

    Raises:
        InputError: as the pieces do.
    """
    if sought:
        search = TextSearch(sought, of_reading=of_reading)
        reading = read_report_pieces(search.passing(pieces), path, formats, interest=interest)
        search.finish(reading)
        return reading
    file_pass = FilePass(path, formats, interest)
    first = next(pieces, "")
    kind = kind_of_tree(first)
    if kind is None:
        for piece in itertools.chain([first] if first else [], pieces):
            file_pass.take_piece(piece)
        return file_pass.finish()
    everything = itertools.chain([first], pieces)
    if kind == "xml":
        lines = xml_lines(everything)
    elif kind == "csv":
        lines = csv_lines("".join(everything))
    else:
        lines = json_lines("".join(itertools.islice(everything, _MOST_PIECES_OF_JSON)))
    for number, line in lines:
        file_pass.take_line(number, line)
    # The rest of a document that is too long is passed over, for the digest of the file.
    for _ in everything:
        pass
    return file_pass.finish()
