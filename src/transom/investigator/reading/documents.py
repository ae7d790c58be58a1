"""Reads planning documents of any length line by line: substance, placeholders, claims, attempts
to steer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from transom.errors import InputError
from transom.formats.data_text import data_suffix
from transom.formats.measurements import Observation, Reading, State
from transom.formats.office_text import OFFICE_SUFFIXES, text_bytes
from transom.formats.text_decoding import decode_text
from transom.formats.text_files import TextFile
from transom.investigator.reading.document_lines import MOST_REMARKS, DocumentReader
from transom.investigator.reading.vocabulary import words

MOST_BYTES = 64 << 20
"""Bytes of a document that are read; the reading tells if there are more."""
_MOST_STATES = 4


def read_document(path: Path, source: str, name: str) -> Reading:
    """Read a document; errors in the file become the reading's state and reason."""
    reader = DocumentReader(name)
    words()  # load it first: an error in the vocabulary is not the document's
    try:
        _read(lines_of(path), reader)
        reader.end()
    except InputError as error:
        return _unreadable(path, source, name, error.problem)
    if reader.binary:
        size = path.stat().st_size
        return _unreadable(path, source, name, "is binary, not text").model_copy(
            update={"size": size}
        )
    state, why = _state_of(reader)
    return Reading(
        source=source,
        kind="document",
        name=name,
        state=state,
        why=why,
        sha256=_digest(path),
        size=path.stat().st_size,
        title=reader.title,
        words=reader.words,
        observations=(
            _counted("words", reader.words, reader.line),
            _counted("hollow", reader.hollow, reader.line),
            *reader.states[:_MOST_STATES],
            *reader.claims,
        ),
        subject=tuple(reader.subject),
        remarks=tuple(reader.remarks[:MOST_REMARKS]),
    )


def _unreadable(path: Path, source: str, name: str, reason: str) -> Reading:
    return Reading(
        source=source,
        kind="document",
        name=name,
        state="unreadable",
        why=reason,
        sha256=_digest(path),
    )


def _state_of(reader: DocumentReader) -> tuple[State, str]:
    """Return whether a document was read, and why not, or why only in part."""
    if reader.stopped:
        limit = f"{MOST_BYTES >> 20} MiB"
        return "in_part", f"is longer than {limit}; read up to line {reader.line}"
    if reader.words or reader.hollow:
        return "read", ""
    # Headings without a text are a template that nobody filled in.
    if reader.line and reader.title:
        return "placeholder", "has no text of its own"
    return "empty", "is empty"


def _counted(problem: str, number: int, lines: int) -> Observation:
    formula = f"count of {'words of substance' if problem == 'words' else 'open passages'}"
    measure, place = f"document.{problem}", f"lines:1-{lines}"
    return Observation(measure=measure, value=float(number), locator=place, formula=formula)


def _digest(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def lines_of(path: Path) -> Iterator[str]:
    """Yield the lines of a document; those of Word, PDF and HTML are converted to Markdown."""
    # The locator of evidence is a line, so other forms are given lines first.
    if data_suffix(path.name) in OFFICE_SUFFIXES:
        yield from decode_text(text_bytes(path.read_bytes(), path.name)).split("\n")
    else:
        yield from TextFile(path, limit=256 << 20).lines()


def _read(lines: Iterable[str], reader: DocumentReader) -> None:
    for line in lines:
        reader.take(line)
        if reader.size > MOST_BYTES or reader.binary:
            reader.stopped = not reader.binary
            return
